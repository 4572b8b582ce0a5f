"""`belfry next`, from outside: every row of tests/data/calendar.tsv, the statuses and the forms."""
import datetime
import json
import re

import pytest

from cli_support import ROOT, belfry, belfry_on_terminal

ESCAPE = re.compile(r'\\(n|t|\\|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})')
PLAIN = {'n': '\n', 't': '\t', '\\': '\\'}


def unescape(text):
    return ESCAPE.sub(lambda m: PLAIN.get(m[1]) or chr(int(m[1][1:], 16)), text)


def rows():
    lines = (ROOT / 'tests' / 'data' / 'calendar.tsv').read_text().splitlines()
    header = None
    for line in lines:
        if line.startswith('#'):
            continue
        fields = line.split('\t')
        if header is None:
            header = fields
            continue
        yield pytest.param(dict(zip(header, fields)), id=fields[0])


def to_utc(line):
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)', line), line
    time = datetime.datetime.fromisoformat(line.replace('Z', '+00:00'))
    return time.astimezone(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


@pytest.mark.parametrize('row', rows())
def test_golden_row(row):
    result = belfry('next', unescape(row['expr']), '--tz', unescape(row['tz']), '--from', row['from'],
                    '-n', row['n'])
    if row['expected'] == 'INVALID':
        assert result.returncode == 1
        assert result.stdout == ''
        assert result.stderr.startswith('error: ')
    else:
        assert (result.returncode, result.stderr) == (0, '')
        assert [to_utc(line) for line in result.stdout.splitlines()] == row['expected'].split(',')


def test_offsets_are_the_zone_s_and_utc_is_z():
    result = belfry('next', '0 9 * * *', '--tz', 'Asia/Shanghai', '--from', '2026-12-01', '-n', '1')
    assert result.stdout == '2026-12-01T09:00:00+08:00\n'
    result = belfry('next', '0 9 * * *', '--from', '2026-12-01', '-n1')
    assert result.stdout == '2026-12-01T09:00:00Z\n'


def test_an_offset_with_seconds_keeps_the_instant():
    result = belfry('next', '0 0 * * *', '--tz', 'Europe/Amsterdam', '--from', '1930-01-01T12:00:00Z',
                    '-n', '1')
    assert to_utc(result.stdout.strip()) == '1930-01-01T23:40:28Z'


def test_the_default_is_five_from_now_on():
    result = belfry('next', '* * * * *')
    times = [datetime.datetime.fromisoformat(t.replace('Z', '+00:00')) for t in result.stdout.split()]
    assert len(times) == 5
    left = (times[0] - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    assert -30 < left <= 60


def test_json():
    result = belfry('next', '{"cron": "0 9 * * *"}', '--from', '2026-12-01', '-n', '2', '--json')
    assert json.loads(result.stdout) == {'items': ['2026-12-01T09:00:00Z', '2026-12-02T09:00:00Z']}


@pytest.mark.parametrize('policy,wanted', [
    ('at_end', '2026-03-29T03:00:00+02:00'), ('skip', '2026-03-30T02:30:00+02:00'),
    ('shift', '2026-03-29T03:30:00+02:00')])
def test_gap_policies(policy, wanted):
    result = belfry('next', '30 2 * * *', '--tz', 'Europe/Berlin', '--from', '2026-03-28T12:00:00Z',
                    '-n', '1', '--gap', policy)
    assert result.stdout.strip() == wanted


@pytest.mark.parametrize('policy,wanted', [
    ('first', ['2026-10-25T02:30:00+02:00', '2026-10-26T02:30:00+01:00']),
    ('last', ['2026-10-25T02:30:00+01:00', '2026-10-26T02:30:00+01:00']),
    ('both', ['2026-10-25T02:30:00+02:00', '2026-10-25T02:30:00+01:00'])])
def test_fold_policies(policy, wanted):
    result = belfry('next', '30 2 * * *', '--tz', 'Europe/Berlin', '--from', '2026-10-24T12:00:00Z',
                    '-n', '2', '--fold', policy)
    assert result.stdout.split() == wanted


def test_the_fault_is_shown_with_its_place():
    result = belfry('next', '0 24 * * *')
    assert result.returncode == 1
    message, shown, caret = result.stderr.splitlines()
    assert '24' in message
    assert shown == '  0 24 * * *'
    assert caret == '    ^'


@pytest.mark.parametrize('rule', ['', ' ', '\n', '\x1b[31m', '- * * * *', '-1 * * * *', '--x * * * *',
                                  '\udcff\udcfe', 'a' * 5000, '{', '{}', '{"cron": 1}', '[]',
                                  '{"cron": "* * * * *", "cron": "* * * * *"}',
                                  '{"any": ' * 10000])
def test_any_bytes_are_refused_plainly(rule):
    result = belfry('next', rule)
    assert result.returncode == 1
    assert result.stdout == ''
    assert '\x1b' not in result.stderr
    assert all(line.isprintable() for line in result.stderr.splitlines())


@pytest.mark.parametrize('zone', ['../../etc/passwd', '/etc/passwd', '', 'Mars/Olympus', 'Europe/\nBerlin'])
def test_a_zone_that_is_none_is_refused(zone):
    result = belfry('next', '* * * * *', '--tz', zone)
    assert result.returncode == 1
    assert 'time zone' in result.stderr


@pytest.mark.parametrize('arguments', [
    [], ['* * * * *', 'more'], ['* * * * *', '-n', '0'], ['* * * * *', '-n', '10001'],
    ['* * * * *', '-n', 'x'], ['* * * * *', '-n'], ['* * * * *', '--from', 'yesterday'],
    ['* * * * *', '--gap', 'jump'], ['* * * * *', '--fold', ''], ['* * * * *', '--form', 'now'],
    ['* * * * *', '--tz', 'UTC', '--tz', 'UTC']])
def test_wrong_usage(arguments):
    result = belfry('next', *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith('error: ')


def test_a_mistyped_option_gets_a_suggestion():
    assert 'did you mean --from?' in belfry('next', '* * * * *', '--form', 'now').stderr


def test_many_are_printed():
    result = belfry('next', '* * * * * *', '-n', '10000')
    lines = result.stdout.splitlines()
    assert result.returncode == 0
    assert len(lines) == len(set(lines)) == 10000


def test_the_zone_database_is_where_tzdir_says(tmp_path):
    result = belfry('next', '* * * * *', '--tz', 'Europe/Berlin', TZDIR=str(tmp_path))
    assert result.returncode == 1
    assert result.stdout == ''


def test_a_full_disk_is_reported():
    import subprocess
    from cli_support import BINARY
    with open('/dev/full', 'w') as full:
        result = subprocess.run([BINARY, 'next', '* * * * *', '-n', '5000'], stdout=full,
                                stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert 'could not be written' in result.stderr


def test_colour_is_for_terminals_alone():
    _, with_colour = belfry_on_terminal('next', '0 24 * * *')
    _, without = belfry_on_terminal('next', '0 24 * * *', NO_COLOR='1')
    assert '\x1b[31m' in with_colour
    assert '\x1b' not in without
    assert '\x1b' not in belfry('next', '0 24 * * *').stderr


def recipes():
    """The rows of docs/calendar.md below "Recipes": a rule, and when it is first due in 2027."""
    text = (ROOT / 'docs' / 'calendar.md').read_text().split('**Recipes**')[1].split('## In words')[0]
    found = [(row[1].split('`')[1], row[2].strip()) for row in (line.split(' | ') for line in text.splitlines())
             if len(row) == 3 and '`' in row[1]]
    assert len(found) >= 6
    return [(rule, due.rstrip(' |')) for rule, due in found]


@pytest.mark.parametrize('rule,due', recipes())
def test_the_recipes_are_due_as_they_say(rule, due):
    result = belfry('next', rule, '--tz', 'Europe/Berlin', '--from', '2026-12-31T23:59:59', '-n', '1')
    assert (result.returncode, result.stdout) == (0, due + '\n')
