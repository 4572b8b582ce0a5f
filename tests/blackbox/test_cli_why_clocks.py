"""`belfry why` of times that the clocks skip: what was there instead, or that nothing was."""
import pytest

from cli_support import belfry

TARGET = {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}


def why(server, name, time):
    result = belfry('why', name, time, url=server.url)
    assert (result.returncode, result.stderr) == (0, '')
    return result.stdout.splitlines()


def create(server, name, cron, gap):
    server.post('/v1/deployments', {'name': name, 'rule': {'cron': cron}, 'timezone': 'Europe/Berlin', 'target': TARGET,
                                    'policies': {'dst': {'gap': gap}}}, 201)


SKIPPED = ': the clocks of Europe/Berlin skip 02:00 to 03:00 on 2035-03-25, and what the rule names there is not due'


def test_what_is_skipped_says_so_by_both_clocks(server):
    create(server, 'nightly', '30 2 * * *', 'skip')
    lines = why(server, 'nightly', '2035-03-25 02:30')
    assert lines[0] == '2035-03-25 02:30 does not exist: the clocks go from 02:00 to 03:00'
    assert lines[1].startswith('2035-03-25T01:30:00Z: ') and SKIPPED in lines[1]
    assert SKIPPED in why(server, 'nightly', '2035-03-25 03:00')[0]
    assert 'skip 02:00' not in why(server, 'nightly', '2035-03-26 03:00')[0]


def test_an_interval_that_is_skipped_says_so(server):
    create(server, 'often', '*/20 2 * * *', 'at_end')
    assert SKIPPED in why(server, 'often', '2035-03-25T01:20:00Z')[0]


@pytest.mark.parametrize('gap,at', [('at_end', '2035-03-25T01:00:00Z'), ('shift', '2035-03-25T01:30:00Z')])
def test_what_is_moved_is_told_at_its_place(server, gap, at):
    create(server, 'nightly', '30 2 * * *', gap)
    lines = why(server, 'nightly', '2035-03-25 02:30')
    assert lines[0].startswith('2035-03-25 02:30 does not exist')
    assert lines[1].startswith(at + ': ') and 'not a due time' not in lines[1]
