"""`belfry forecast`: the plot, the names, and the proposal, whose commands are carried out."""
import json
import shlex

import pytest

import cli_support
from cli_support import belfry, belfry_on_terminal
from test_forecast import FROM, set_up


@pytest.fixture
def loaded(server):
    set_up(server, (40, 'nightly', '0 2 * * *', {'labels': {'team': 'data'}}), (6, 'hourly', '0 * * * *'),
           (1, "it's", '30 2 * * *'))
    return server


def lines(server, *options, zone='UTC'):
    result = belfry('forecast', '--from', FROM, '--tz', zone, *options, url=server.url)
    assert (result.returncode, result.stderr) == (0, '')
    return result.stdout.splitlines()


def test_the_plot_has_a_row_for_each_hour_and_the_peaks_below(loaded):
    shown = lines(loaded)
    assert shown[:2] == ['185 due in 24 hours from Mon 00:00, UTC', '46 in the busiest minute; 47 deployments in all']
    assert shown[4] == 'Mon 7 Jan'
    rows = shown[5:29]
    assert [row.split()[0] for row in rows] == [f'{hour:02}:00' for hour in range(24)]
    assert rows[2] == ' 02:00 47 #' + ' ' * 29 + '.' and rows[3] == ' 03:00  6 :'
    assert shown[29] == '          # = 46'
    peaks = shown[shown.index('Busiest minutes') + 1:]
    assert peaks[0] == '  Mon 02:00  46 due: nightly-000, nightly-001, nightly-002 and 43 more'
    assert all(len(line) <= 80 for line in shown[:35]) and all(line.isascii() for line in shown)


def test_the_zone_moves_the_hours(loaded):
    shown = lines(loaded, zone='Asia/Kolkata')
    assert shown[0] == '185 due in 24 hours from Mon 05:30, Asia/Kolkata'
    assert any(line.startswith('  Mon 07:30  46 due') for line in shown)


def test_b11_the_commands_of_the_proposal_halve_the_peak(loaded):
    shown = lines(loaded)
    head = next(line for line in shown if line.startswith('Proposal: '))
    commands = lines(loaded, '--commands')
    assert head == (f'Proposal: spread {len(commands)} deployments; the peak of these 24 hours falls from 46 '
                    'to ' + head.split()[-1])
    assert int(head.split()[-1]) <= 23
    assert [line.strip() for line in shown if line.startswith('  belfry ')] == commands[:5]
    for command in commands:
        words = shlex.split(command)
        assert words[:3] == ['belfry', 'deployments', 'edit'] and words[4:] == ['--spread', 'PT5M']
        assert belfry(*words[1:], url=loaded.url).returncode == 0
    after = json.loads('\n'.join(lines(loaded, '--json')))
    assert max(after['counts']) == int(head.split()[-1])


def test_a_part_of_the_deployments_and_other_hours(loaded):
    assert lines(loaded, '--label', 'team=data')[0].startswith('40 due in 24 hours')
    assert lines(loaded, 'hourly', '--hours', '2')[0].startswith('12 due in 2 hours')
    assert lines(loaded, 'none') == ['no enabled deployment begins with "none"']
    assert lines(loaded, '--label', 'team=none') == ['no enabled deployment has the label team=none']
    assert lines(loaded, 'none', '--label', 'team=x') == [
        'no enabled deployment begins with "none" and has the label team=x']
    assert lines(loaded, "it's", '--hours', '1') == [
        '0 due in 1 hour from Mon 00:00, UTC', '0 in the busiest minute; 1 deployment in all', '',
        'No proposal: no minute has more than one']
    assert lines(loaded, 'none', '--commands') == []


def test_names_that_a_shell_would_read_are_quoted(server):
    set_up(server, (8, "it's $HOME", '0 2 * * *'), (8, '-n', '0 2 * * *'))
    for command in lines(server, '--commands'):
        words = shlex.split(command)
        assert len(words) == 6 and not words[3].startswith('-')
        assert belfry(*words[1:], url=server.url).returncode == 0


def test_why_there_is_no_proposal_is_told_with_time_and_name(server):
    set_up(server, (1, 'busy', '*/2 0 2 * * *'), (9, 'b', '0 2 * * *'))
    assert lines(server)[-1].startswith('No proposal for Mon 02:00: one deployment alone has more than half')
    assert lines(server)[-1].endswith('(busy-000)')


def test_a_terminal_gets_blocks_and_the_peak_in_red(loaded):
    status, shown = belfry_on_terminal('forecast', '--from', FROM, '--tz', 'UTC', url=loaded.url, NO_COLOR='1')
    assert status == 0 and ' 02:00 47 \u2588' in shown and ' 03:00  6 \u2582' in shown
    _, shown = belfry_on_terminal('forecast', '--from', FROM, '--tz', 'UTC', url=loaded.url)
    assert ' 02:00 47 \x1b[31m\u2588\x1b[0m' in shown


@pytest.mark.parametrize('options,words', [(['--hours', '0'], '--hours'), (['--from', 'soon'], '--from: "soon"'),
                                           (['--tz', 'Mars/Olympus'], 'Mars/Olympus')])
def test_what_cannot_be_asked_is_refused(options, words):
    result = belfry('forecast', *options)
    assert result.returncode in (1, 2) and words in result.stderr


@pytest.fixture
def fake():
    server = cli_support.Server()
    yield server
    server.close()


def test_what_was_not_counted_is_told(fake):
    fake.fake.answers[('GET', '/v1/forecast')] = 200, cli_support.forecast(complete=False, left_out=3, deployments=9)
    shown = belfry('forecast', '--tz', 'UTC', url=fake.url).stdout
    assert '3 enabled deployments do not fire as they are, and are left out: paused' in shown
    assert 'more deployments than could be counted in time' in shown


def test_one_is_said_as_one(fake):
    fake.fake.answers[('GET', '/v1/forecast')] = 200, cli_support.forecast(left_out=1, deployments=1)
    shown = belfry('forecast', '--tz', 'UTC', url=fake.url).stdout
    assert '; 1 deployment in all\n' in shown
    assert '1 enabled deployment does not fire as it is, and is left out: paused' in shown


def test_a_server_without_deployments_says_so(server):
    assert lines(server) == ['no enabled deployment is there']


@pytest.mark.parametrize('answer', [{}, {'counts': 5}, {'counts': []}, {'counts': [0] * 10081},
                                    {'counts': [None, 'x', -1], 'from': 'x', 'peaks': [5, {}], 'proposal': []},
                                    {'counts': [1], 'from': '0001-01-01T00:00:00Z', 'peaks': [{'at': 7}],
                                     'proposal': {'changes': [{}, 5], 'reason': {}}}])
def test_an_answer_of_another_kind_breaks_nothing(fake, answer):
    fake.fake.answers[('GET', '/v1/forecast')] = 200, answer
    for options in ([], ['--commands']):
        result = belfry('forecast', '--tz', 'UTC', *options, url=fake.url)
        assert result.returncode in (0, 5), (result.returncode, result.stderr)
    if not isinstance(answer.get('counts'), list) or len(answer['counts']) not in (1, 3):
        result = belfry('forecast', '--tz', 'UTC', url=fake.url)
        assert result.returncode == 5 and 'the answer is not a forecast' in result.stderr
