#!/usr/bin/env python3
"""Due times a second beside those of other calendars, in one run: four expressions in America/New_York.

Prints for each expression how many answers Belfry, croner, cron-parser and croniter give a second of processor
time, and how many times as many Belfry gives. All go forward from 2026 to the end of 2045 and start again; each is
parsed once. Belfry's figures are those of bench-calendar-next, which also knows the floors. A library that is not
installed (tools/setup bench) is an error.

Usage: calendar_peers.py BENCH_CALENDAR_NEXT PEERS_FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys

ZONE = 'America/New_York'
EXPRESSIONS = ['*/5 * * * *', '0 9 * * 1-5', '0 0 29 2 *', '30 2 * * *']
SECONDS = '1'
LINE = re.compile(r'^(\S.*\S) +([0-9]+) /s +[0-9.]+ ns')
HERE = pathlib.Path(__file__).parent / 'peers'


def ask_belfry(program):
    """Rates by expression."""
    output = subprocess.run([program, SECONDS], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {match[1].strip(): float(match[2]) for match in map(LINE.match, output.splitlines()) if match}


def ask_others(command, folder=None):
    """Rates by library and expression."""
    output = subprocess.run([*command, SECONDS, ZONE, *EXPRESSIONS], check=True, cwd=folder,
                            stdout=subprocess.PIPE, text=True).stdout
    rows = (line.split('\t') for line in output.splitlines())
    return {(library, expression): float(rate) for library, expression, rate in rows}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    node = shutil.which('node') or shutil.which('nodejs')
    modules, python = folder / 'node/node_modules', folder / 'bin/python'
    if node is None or not modules.is_dir() or not python.exists():
        sys.exit('calendar-peers: the other calendars are not installed: tools/setup bench')
    script = folder / 'node/next.mjs'  # beside the modules, where node looks for them
    shutil.copyfile(HERE / 'next.mjs', script)
    ours = ask_belfry(program)
    others = ask_others([node, script]) | ask_others([python, HERE / 'next.py'])
    for expression in EXPRESSIONS:
        print(f'{expression:16} belfry {ours[expression]:12,.0f}/s', end='')
        for library in ('croner', 'cron-parser', 'croniter'):
            rate = others[library, expression]
            print(f'   {library} {rate:9,.0f}/s ({ours[expression] / rate:,.0f} times)', end='')
        print()


main()
