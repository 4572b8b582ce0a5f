#!/usr/bin/env python3
"""Every relative link of the project's Markdown leads to a file, and no page names a machine's folder.

Usage: check_links.py ROOT
"""
import pathlib
import re
import sys

LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
MACHINE = re.compile(r'(?<![\w.])/(?:work|home|root)/')


def page_faults(root, page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        where = f'{page.relative_to(root)}:{number}'
        for target in LINK.findall(line):
            if '://' not in target and not (page.parent / target).exists():
                yield f'{where}: there is no {target}'
        if MACHINE.search(line):
            yield f'{where}: names a folder of one machine'


def main():
    root = pathlib.Path(sys.argv[1])
    pages = sorted([*root.glob('*.md'), *root.glob('docs/**/*.md')])
    faults = [fault for page in pages for fault in page_faults(root, page)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(pages)} pages, {len(faults)} faults')
    return 1 if faults or not pages else 0


if __name__ == '__main__':
    sys.exit(main())
