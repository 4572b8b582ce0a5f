"""`belfry explain`, from outside: the sentence, the class, warnings, and what is refused."""
import json

import pytest

from cli_support import belfry, belfry_on_terminal

NOW = '2026-12-01T10:00:00Z'


def explain(rule, *options):
    result = belfry('explain', rule, '--from', NOW, *options)
    assert (result.returncode, result.stderr) == (0, '')
    return result.stdout.splitlines()


def test_the_sentence_the_class_and_the_next_due_times():
    assert explain('0 9 * * 1-5', '--tz', 'Asia/Shanghai') == [
        'At 09:00 on Monday to Friday, Shanghai time; next: tomorrow 09:00 (01:00 UTC)',
        'class    fixed-time',
        'due      2026-12-02T09:00:00+08:00',
        '         2026-12-03T09:00:00+08:00',
        '         2026-12-04T09:00:00+08:00']


def test_warnings_have_their_codes():
    lines = explain('*/7 * * * *')
    assert lines[0].startswith('Every 7 minutes from the hour (at :00, :07, ..., :56), UTC; next: today 10:07')
    assert lines[1] == 'class    interval-like: a skipped hour has no due times, a repeated hour has them twice'
    assert lines[5:] == ['warning  UNEVEN_STEP: a step of 7 minutes does not divide the hour: '
                         'the last one is 4 minutes, from :56 to :00']


@pytest.mark.parametrize('policy,words', [
    ('at_end', 'it is due at 03:00 instead (gap: at_end)'), ('skip', 'it is not due that day (gap: skip)'),
    ('shift', 'it is due at 03:30 instead (gap: shift)')])
def test_a_gap_says_what_the_policy_does(policy, words):
    text = '\n'.join(explain('30 2 * * *', '--tz', 'Europe/Berlin', '--gap', policy))
    assert f'02:30 does not exist on 28 March 2027, where the clocks go from 02:00 to 03:00: {words}' in text


def test_a_fold_says_what_the_policy_does():
    text = '\n'.join(explain('30 2 * * *', '--tz', 'Europe/Berlin', '--fold', 'both'))
    assert 'it is due both times, at 00:30 UTC and 01:30 UTC (fold: both)' in text


def test_an_interval_in_hours_that_the_clocks_skip_is_warned_of():
    warnings = [line for line in explain('*/20 2 * * *', '--tz', 'Europe/Berlin') if line.startswith('warning')]
    assert warnings == [
        'warning  DST_GAP: the clocks go from 02:00 to 03:00 on 28 March 2027, and nothing is due between: '
        '0 due that day instead of 3',
        'warning  DST_FOLD: the clocks show 02:00 to 03:00 twice on 31 October 2027, and it is due in both: '
        '6 due that day instead of 3']


def test_json():
    result = belfry('explain', '0 0 13 * 5', '--from', NOW, '--json')
    answer = json.loads(result.stdout)
    assert set(answer) == {'sentence', 'class', 'timezone', 'due', 'warnings'}
    assert answer['sentence'] == ('At midnight on the 13th of the month and also every Friday, UTC; '
                                  'next: Friday 00:00')
    assert (answer['class'], answer['timezone']) == ('fixed-time', 'UTC')
    assert answer['due'] == ['2026-12-04T00:00:00Z', '2026-12-11T00:00:00Z', '2026-12-13T00:00:00Z']
    assert [w['code'] for w in answer['warnings']] == ['EITHER_DAY']


def test_a_rule_that_is_never_due_again_is_told_so():
    lines = explain('{"at": "2026-01-01T00:00:00Z"}')
    assert lines == ['Once, at midnight on 1 January 2026, UTC; never again', 'class    fixed-time',
                     'warning  NEVER: it is not due any more']


def test_the_fault_is_shown_with_its_place():
    result = belfry('explain', '0 24 * * *')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.splitlines()[1:] == ['  0 24 * * *', '    ^']


@pytest.mark.parametrize('rule', ['', '\x1b[31m', '{', '{"any": ' * 10000, '0 0 30 2 *'])
def test_what_is_no_rule_is_refused(rule):
    result = belfry('explain', rule)
    assert (result.returncode, result.stdout) == (1, '')
    assert all(line.isprintable() for line in result.stderr.splitlines())


@pytest.mark.parametrize('arguments', [[], ['* * * * *', 'more'], ['* * * * *', '--gap', 'jump'],
                                       ['* * * * *', '--from', 'yesterday'], ['* * * * *', '-n', '5']])
def test_wrong_usage(arguments):
    assert belfry('explain', *arguments).returncode == 2


def test_colour_is_for_terminals_alone():
    _, with_colour = belfry_on_terminal('explain', '*/7 * * * *')
    assert '\x1b[33mUNEVEN_STEP' in with_colour
    assert '\x1b' not in belfry('explain', '*/7 * * * *').stdout


def test_a_deployment_is_explained_by_its_server(server):
    assert server.api('PUT', '/v1/calendars/holidays-de', {'except': ['2026-12-25']}).status == 201
    target = {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}
    server.post('/v1/deployments', {'name': 'nightly', 'timezone': 'Europe/Berlin', 'target': target,
                                    'policies': {'dst': {'gap': 'skip'}},
                                    'rule': {'cron': '30 2 * * *', 'except': [{'calendar': 'holidays-de'}]}}, 201)
    made = server.post('/v1/deployments', {'name': 'every', 'target': target, 'rule': {'any': [{'every': 'PT6H'}]}}, 201)
    result = belfry('explain', '--deployment', 'nightly', '--from', '2026-12-24 12:00', url=server.url)
    lines = result.stdout.splitlines()
    assert (result.returncode, result.stderr) == (0, '')
    assert lines[:5] == ['At 02:30 every day, Berlin time, except on the days of the calendar "holidays-de"; '
                         'next: Saturday 02:30 (01:30 UTC)', 'class    fixed-time', 'due      2026-12-26T02:30:00+01:00',
                         '         2026-12-27T02:30:00+01:00', '         2026-12-28T02:30:00+01:00']
    assert lines[5].startswith('warning  DST_GAP: 02:30 does not exist') and lines[5].endswith('(gap: skip)')
    answer = json.loads(belfry('explain', '--deployment', 'every', '--json', url=server.url).stdout)
    assert set(answer) == {'sentence', 'class', 'timezone', 'due', 'warnings'} and len(answer['due']) == 3
    assert answer['due'][0][14:19] == made['created_at'][14:19]
    assert belfry('explain', '--deployment', 'none', url=server.url).returncode == 3


@pytest.mark.parametrize('arguments,words', [
    (['0 9 * * *', '--deployment', 'x'], 'RULE and --deployment are two rules'),
    (['--deployment', 'x', '--tz', 'UTC'], '--tz: the deployment has its own'), ([], 'RULE is missing')])
def test_what_is_beside_a_deployment_is_refused(arguments, words):
    result = belfry('explain', *arguments)
    assert result.returncode == 2 and words in result.stderr


def test_an_unknown_calendar_is_refused_with_the_way_to_ask():
    result = belfry('explain', '{"cron": "0 9 * * *", "except": [{"calendar": "x"}]}')
    assert result.returncode == 1 and 'POST /v1/preview' in result.stderr
