#!/usr/bin/env python3
"""Compiles every public header alone, as C99 and as C++11, pedantic, warnings as errors.

Each is included twice, so that a missing guard shows, and its initializer macros are used once.
Usage: check_headers.py INCLUDE_FOLDER C_COMPILER...
"""
import pathlib
import re
import shutil
import subprocess
import sys

FLAGS = ['-pedantic', '-Wall', '-Wextra', '-Wshadow', '-Wundef', '-Werror', '-fsyntax-only']
INIT = re.compile(r'^#define\s+(BELFRY_(\w+)_INIT)\b', re.MULTILINE)


def translation_unit(folder, header):
    """The header twice, and one object for each initializer macro that it defines."""
    lines = [f'#include <belfry/{header.name}>'] * 2 + ['extern int not_empty;']
    for macro, noun in INIT.findall(header.read_text()):
        name = noun.lower()
        lines.append(f'const struct belfry_{name} *use_{name}(void);')
        lines.append(f'const struct belfry_{name} *use_{name}(void)')
        lines.append(f'{{ static const struct belfry_{name} it = {macro}; return &it; }}')
    return '\n'.join(lines) + '\n'


def compile_unit(command, text):
    result = subprocess.run(command + ['-'], input=text, text=True, capture_output=True)
    return None if result.returncode == 0 else result.stderr


def main():
    folder = pathlib.Path(sys.argv[1])
    languages = {'C99': [*sys.argv[2:], '-x', 'c', '-std=c99']}
    cxx = shutil.which('c++') or shutil.which('g++') or shutil.which('clang++')
    if cxx is None:
        print('no C++ compiler: the C++ half cannot be proved', file=sys.stderr)
        return 77
    languages['C++11'] = [cxx, '-x', 'c++', '-std=c++11']
    headers = sorted((folder / 'belfry').glob('*.h'))
    faults = 0
    for header in headers:
        for language, compiler in languages.items():
            fault = compile_unit([*compiler, *FLAGS, f'-I{folder}'], translation_unit(folder, header))
            if fault is not None:
                faults += 1
                print(f'{header.name} as {language}:\n{fault}', file=sys.stderr)
    print(f'{len(headers)} headers in {len(languages)} languages, {faults} faults')
    return 1 if faults or not headers else 0


if __name__ == '__main__':
    sys.exit(main())
