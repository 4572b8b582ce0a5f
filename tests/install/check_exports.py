#!/usr/bin/env python3
"""Compares what libbelfry exports with library/exports.txt, the headers and the tests.

A public symbol stands in the list, is declared with BELFRY_API, is defined in the shared and in the static
library under exactly that name and version, and is called by a test (docs/style.md, rule 56); the libraries
show nothing else. Each difference is printed with the line to add or remove, and the exit status is 1.

Usage: check_exports.py LIST INCLUDE_FOLDER TESTS_FOLDER SHARED STATIC [NM]
"""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)
DECLARATION = re.compile(r'\bBELFRY_API\b([^;{]*);')
NAME = re.compile(r'\b(belfry_\w+)\s*(?:\(|$)')
NODE = 'BELFRY_0'  # library/libbelfry.map


def list_names(path):
    return path.read_text().split()


def declared_names(folder):
    """Functions and objects that the headers declare with BELFRY_API."""
    names = set()
    for header in sorted(folder.rglob('*.h')):
        code = re.sub(r'^\s*#.*(?:\\\n.*)*$', '', COMMENT.sub('', header.read_text()), flags=re.M)
        for declaration in DECLARATION.findall(code):
            match = NAME.search(declaration)
            if match is None:
                sys.exit(f'{header}: no name in "BELFRY_API{declaration};"')
            names.add(match.group(1))
    return names


def defined_names(nm, path, *options):
    """Global names that a library defines, with the version node where there is one."""
    output = subprocess.run([nm, '--defined-only', '--extern-only', '--format=posix', *options, path],
                            check=True, capture_output=True, text=True).stdout
    words = (line.split() for line in output.splitlines())
    return {line[0] for line in words if len(line) > 2 and line[1] != 'A'}


def called_names(folder):
    """Names that are followed by a parenthesis in some test."""
    names = set()
    for source in sorted(folder.rglob('*.[ch]')):
        names.update(re.findall(r'\b(belfry_\w+)\s*\(', COMMENT.sub('', source.read_text())))
    return names


def differences(listed, declared, shared, static, called):
    names = set(listed)
    if listed != sorted(names):
        yield 'the list is not sorted, or has a line twice: LC_ALL=C sort -u'
    for name in sorted(declared - names):
        yield f'declared in a header, not in the list: add the line "{name}"'
    for name in sorted(names - declared):
        yield f'in the list, declared in no header with BELFRY_API: remove the line "{name}"'
    wanted = {f'{name}@@{NODE}' for name in names}
    for kind, found, asked in (('shared', shared, wanted), ('static', static, names)):
        for name in sorted(found - asked):
            yield f'the {kind} library shows {name}, which is not in the list'
        for name in sorted(asked - found):
            yield f'the {kind} library does not define {name}'
    for name in sorted((names | declared) - called):
        yield f'no test calls {name}'


def main():
    exports, include, tests, shared, static = (pathlib.Path(word) for word in sys.argv[1:6])
    nm = sys.argv[6] if len(sys.argv) > 6 else 'nm'
    listed = list_names(exports)
    faults = list(differences(listed, declared_names(include), defined_names(nm, shared, '--dynamic'),
                              defined_names(nm, static), called_names(tests)))
    for fault in faults:
        print(f'{exports.name}: {fault}', file=sys.stderr)
    print(f'{len(listed)} exported names, {len(faults)} faults')
    return 1 if faults or not listed else 0


if __name__ == '__main__':
    sys.exit(main())
