"""The load of the coming hours: counts against due times that are asked for one by one, the peaks with who makes
them, and the proposal, which is carried out and measured."""
import pytest

import belfry

FROM = '2030-01-07T00:00:00Z'  # a Monday
TARGET = {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}


def set_up(server, *groups):
    """Each group: (how many, name, rule[, more]). Returns {name: id}."""
    deployments = []
    for count, name, rule, *more in groups:
        deployments += [{'name': f'{name}-{i:03}', 'rule': rule if isinstance(rule, dict) else {'cron': rule},
                         'target': TARGET, **(more[0] if more else {})} for i in range(count)]
    items = []
    for at in range(0, len(deployments), 1000):
        items += server.post('/v1/apply', {'deployments': deployments[at:at + 1000]})['items']
    assert {item['outcome'] for item in items} <= {'created'}
    return {item['name']: item['id'] for item in items}


def forecast(server, query='', status=200):
    return server.get(f'/v1/forecast?from={FROM}{query}', status)


def test_counts_peaks_and_totals_are_those_of_the_due_times(server):
    ids = set_up(server, (3, 'nightly', '0 2 * * *'), (2, 'hourly', '0 * * * *'), (1, 'weekly', '30 9 * * 1'),
                 (1, 'berlin', '0 9 * * *', {'timezone': 'Europe/Berlin'}),
                 (1, 'off', '* * * * *', {'enabled': False}),
                 (1, 'every', {'every': 'PT6H', 'anchor': '2030-01-01T00:00:30Z'}))
    answer = forecast(server)
    assert (answer['from'], answer['to'], answer['bucket']) == (FROM, '2030-01-08T00:00:00Z', 'PT1M')
    assert (answer['deployments'], answer['left_out'], answer['complete']) == (8, 0, True)
    wanted = [0] * 1440
    for name, id_ in ids.items():
        if not name.startswith('off'):
            due = server.get(f'/v1/deployments/{id_}/due?from=2030-01-06T23:59:59Z&to=2030-01-07T23:59:59Z&n=200')
            for item in due['items']:
                at = item['at'] if 'at' in item else item['due_at']
                wanted[int(at[11:13]) * 60 + int(at[14:16])] += 1
    assert answer['counts'] == wanted and answer['total'] == sum(wanted) == 3 + 48 + 1 + 1 + 4
    peak = answer['peaks'][0]
    assert (peak['at'], peak['count'], peak['minutes'], peak['deployment_count']) == ('2030-01-07T02:00:00Z', 5, 1, 5)
    assert [d['name'] for d in peak['deployments']] == ['nightly-000', 'nightly-001', 'nightly-002', 'hourly-000',
                                                       'hourly-001']
    hours = forecast(server, '&bucket=PT1H')
    assert hours['counts'] == [sum(wanted[h * 60:h * 60 + 60]) for h in range(24)]
    assert (hours['peaks'], hours['proposal']) == (answer['peaks'], answer['proposal'])
    odd = forecast(server, '&hours=2&bucket=50m')
    assert odd['counts'] == [sum(wanted[:50]), sum(wanted[50:100]), sum(wanted[100:120])]


def test_parts_of_the_deployments_by_name_and_label(server):
    set_up(server, (3, 'a', '0 2 * * *', {'labels': {'team': 'ops'}}), (2, 'b', '0 2 * * *'),
           (1, 'ab', '0 2 * * *', {'labels': {'team': 'web'}}))
    for query, wanted in (('', 6), ('&q=a', 4), ('&label=team%3Dops', 3), ('&label=team%3Dweb&q=a', 1),
                          ('&label=team%3D', 0), ('&q=c', 0)):
        answer = forecast(server, query)
        assert (answer['deployments'], answer['total'], answer['counts'][120]) == (wanted,) * 3, query


def test_b11_the_proposal_halves_the_peak_once_it_is_carried_out(server):
    ids = set_up(server, (90, 'nightly', '0 2 * * *'), (12, 'hourly', '0 * * * *'), (5, 'quarter', '*/15 * * * *'),
                 (4, 'spread', {'cron': '0 2 * * *', 'spread': 'PT1H'}))
    before = forecast(server)
    proposal = before['proposal']
    assert proposal['reason'] is None
    assert proposal['before'] == max(before['counts']) and proposal['after'] <= proposal['before'] // 2
    assert 50 <= len(proposal['changes']) <= 90
    for change in proposal['changes']:
        assert ids[change['name']] == change['id'] and not change['name'].startswith('spread')
        server.edit(change['id'], {'rule': {'spread': change['spread']}})
        assert server.show(change['id'])['rule']['spread'] == change['spread']
    after = forecast(server)
    assert max(after['counts']) == proposal['after']
    assert after['deployments'] == before['deployments']


@pytest.mark.parametrize('code,groups', [
    ('NO_PEAK', []),
    ('NO_PEAK', [(1, 'a', '0 2 * * *'), (1, 'b', '0 3 * * *')]),
    ('FLAT', [(4, 'a', '* * * * *'), (3, 'b', '0 2 * * *')]),
    ('ONE_ALONE', [(1, 'a', '*/2 0 2 * * *'), (9, 'b', '0 2 * * *')]),
    ('TOO_CLOSE', [(9, 'a', '0-9 2 * * *')]),
    ('IS_SPREAD', [(9, 'a', {'cron': '0 2 * * *', 'max_fires': 5})]),
])
def test_where_nothing_halves_the_peak_the_reason_is_told(server, code, groups):
    ids = set_up(server, *groups)
    proposal = forecast(server)['proposal']
    assert proposal['reason']['code'] == code and proposal['changes'] == []
    assert proposal['before'] == proposal['after']
    assert proposal['reason']['deployment'] == ({'id': ids['a-000'], 'name': 'a-000'} if code == 'ONE_ALONE' else None)
    assert code == 'NO_PEAK' or proposal['reason']['at'].startswith('2030-01-07T02:0')


@pytest.mark.parametrize('query,words', [
    ('hours=0', 'hours: 0 is not within 1 to 168'), ('hours=169', 'hours: 169'), ('hours=x', 'hours: "x"'),
    ('bucket=PT30S', 'bucket: it must be whole minutes'), ('bucket=PT1M30S', 'bucket:'), ('bucket=P2D', 'bucket:'),
    ('bucket=x', 'bucket: "x" is not a duration'), ('bucket=-PT1M', 'bucket:'), ('from=yesterday', 'from:'),
    ('from=1960-01-01T00:00:00Z', 'from:'), ('from=9999-12-31T00:00:00Z', 'from:'), ('label=x', 'label: "x"'),
    ('until=x', 'until: there is no such parameter'), ('hours=1&hours=2', 'hours: it is given twice')])
def test_what_cannot_be_asked_is_refused_by_name(shared_server, query, words):
    reply = shared_server.api('GET', '/v1/forecast?' + query)
    assert (reply.status, reply.code) == (400, 'INVALID_REQUEST')
    assert words in reply.detail


def test_what_has_fired_its_last_time_is_left_out(server, receiver):
    id_ = server.create('twice', '* * * * * *', receiver.url, rule={'cron': '* * * * * *', 'max_fires': 2})['id']
    set_up(server, (1, 'other', '0 2 * * *'))
    belfry.wait_for(lambda: server.show(id_)['phase'] == 'exhausted', 'the last firing')
    answer = forecast(server)
    assert (answer['deployments'], answer['left_out'], answer['total']) == (1, 1, 1)


def test_nothing_is_due_before_a_deployment_was_made_or_at_that_instant(server):
    id_ = set_up(server, (1, 'every', {'every': 'PT6H'}), (1, 'minutely', '* * * * *'))['every-000']
    made = server.show(id_)['created_at']
    answer = server.get(f'/v1/forecast?from={made}&hours=7&q=every')
    assert answer['from'] == made[:17] + '00Z' and answer['total'] == 1 and answer['counts'][0] == 0
    assert sum(answer['counts'][359:362]) == 1
    made = server.show(set_up(server, (1, 'again', '* * * * *'))['again-000'])['created_at']
    before = server.get(f'/v1/forecast?from={made[:17]}00Z&hours=2&q=again')
    assert before['counts'] == [0] + [1] * 119 and before['total'] == 119
