"""Shared calendars over the API and the command line: a change reaches whoever uses one as an edit does, also
where the host is killed in between."""
import http.client

import pytest

import belfry
import cli_support
from test_events import open_stream

CROWD = 3


def put(server, name, except_, status=None, headers=()):
    reply = server.api('PUT', f'/v1/calendars/{name}', {'except': except_}, dict(headers))
    if status is not None:
        assert reply.status == status, reply.body
    return reply


def create(server, name, rule, url='http://127.0.0.1:9/', **more):
    body = {'name': name, 'rule': rule, 'target': {'kind': 'webhook', 'url': url}, **more}
    reply = server.api('POST', '/v1/deployments', body)
    assert reply.status == 201, reply.body
    return reply.json


def next_due(server, deployment):
    return server.get(f'/v1/deployments/{deployment["id"]}')['next_due']


def uses(*names, **rule):
    return {**(rule or {'cron': '0 9 * * *'}), 'except': [{'calendar': n} for n in names]}


def test_a_calendar_is_made_changed_listed_and_removed(shared_server):
    made = put(shared_server, 'round', ['2026-12-25'], 201, {'If-None-Match': '*'})
    assert (made.headers['ETag'], made.headers['Location']) == ('"1"', '/v1/calendars/round')
    assert (made.json['planned'], made.json['pending']) == (0, False)
    assert put(shared_server, 'round', [], 412, {'If-None-Match': '*'}).code == 'PRECONDITION_FAILED'
    assert put(shared_server, 'round', [], 412, {'If-Match': '"2"'}).code == 'PRECONDITION_FAILED'
    assert put(shared_server, 'never', [], 412, {'If-Match': '*'}).code == 'PRECONDITION_FAILED'
    assert put(shared_server, 'round', [], 400, {'If-None-Match': '"1"'}).code == 'INVALID_REQUEST'
    assert put(shared_server, 'round', ['2026-12-25'], 200).headers['ETag'] == '"1"'
    assert put(shared_server, 'round', ['2026-12-26'], 200, {'If-Match': '"7", "1"'}).headers['ETag'] == '"2"'
    shown = shared_server.get('/v1/calendars/round')
    assert (shown['except'], shown['revision'], shown['used_by']['count']) == (['2026-12-26'], 2, 0)
    items = shared_server.get('/v1/calendars?q=rou')['items']
    assert [(c['name'], c['except_count']) for c in items] == [('round', 1)]
    assert shared_server.api('DELETE', '/v1/calendars/round', None, {'If-Match': '"1"'}).status == 412
    assert shared_server.api('DELETE', '/v1/calendars/round').status == 204
    assert shared_server.api('GET', '/v1/calendars/round').status == 404


@pytest.mark.parametrize('name,body,pointer,words', [
    ('a', {'except': ['2026-12-25', '2026-02-30']}, '/except/1', 'item 1'),
    ('a', {'except': [{'cron': '0 9 * *'}]}, '/except/0/cron', 'field'),
    ('a', {'except': [{'calendar': 'b'}]}, '/except/0', 'another calendar'),
    ('a', {'except': [{'cron': '* * * * *'}]}, '/except', 'leave nothing'),
    ('a', {'except': '2026-12-25'}, '/except', 'must be a list'),
    ('a', {'except': [], 'used_by': {}}, '/used_by', 'read-only'),
    ('a', {}, '/except', 'except'),
    ('a%2Fb', {'except': []}, None, 'letters'),
    ('x' * 65, {'except': []}, None, 'letters')])
def test_what_is_no_calendar_is_refused_with_its_place(shared_server, name, body, pointer, words):
    reply = shared_server.api('PUT', f'/v1/calendars/{name}', body)
    assert reply.status == 400, reply.body
    assert reply.json.get('pointer') == pointer and words in reply.json['detail'], reply.body
    assert shared_server.api('GET', '/v1/calendars/a').status == 404


def test_a_rule_that_names_no_calendar_of_this_host_is_refused_everywhere(shared_server):
    rule = {'any': [{'every': 'PT1H'}, uses('nowhere')]}
    for path, body in (('/v1/deployments', {'name': 'x', 'rule': rule, 'target': {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}}),
                       ('/v1/preview', {'rule': rule})):
        reply = shared_server.api('POST', path, body)
        assert (reply.status, reply.code) == (400, 'INVALID_SCHEDULE')
        assert reply.json['pointer'] == '/rule/any/1/except/0/calendar'
        assert '`belfry calendars set`' in reply.json['detail']
    reply = shared_server.api('POST', '/v1/apply', {'deployments': [
        {'name': 'x', 'rule': rule, 'target': {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}}]})
    assert reply.json['pointer'] == '/deployments/0/rule/any/1/except/0/calendar'


def test_a_change_moves_what_comes_next_of_those_that_use_it_alone(shared_server):
    put(shared_server, 'moves', ['2030-01-01'], 201)
    rule = {'cron': '0 9 * * *', 'not_before': '2030-01-01T00:00:00Z', 'except': [{'calendar': 'moves'}]}
    using = create(shared_server, 'moves', rule)
    off = create(shared_server, 'moves-off', rule, enabled=False)
    other = create(shared_server, 'moves-other', {'cron': '0 9 1 1 *'})
    assert using['rule'] == rule and using['next_due'] == ['2030-01-02T09:00:00Z']
    reply = put(shared_server, 'moves', ['2030-01-02', {'cron': '* * 1 1 *'}], 200)
    assert (reply.json['planned'], reply.json['pending']) == (2, False)
    assert reply.json['used_by'] == {'count': 2, 'at_least': False, 'deployments': ['moves', 'moves-off']} or \
        set(reply.json['used_by']['deployments']) == {'moves', 'moves-off'}
    assert next_due(shared_server, using) == ['2030-01-03T09:00:00Z']
    assert shared_server.get(f'/v1/deployments/{using["id"]}')['revision'] == 2
    assert shared_server.get(f'/v1/deployments/{off["id"]}')['revision'] == 2
    assert shared_server.get(f'/v1/deployments/{other["id"]}')['revision'] == 1
    shared_server.post(f'/v1/deployments/{off["id"]}/enable')
    assert next_due(shared_server, off) == ['2030-01-03T09:00:00Z']
    refused = shared_server.api('DELETE', '/v1/calendars/moves')
    assert (refused.status, refused.code) == (409, 'CONFLICT') and '"moves"' in refused.json['detail']
    refused = put(shared_server, 'moves', [{'cron': '* 9 * * *'}], 409)
    assert refused.code == 'CONFLICT' and '"moves' in refused.json['detail']
    assert shared_server.get('/v1/calendars/moves')['revision'] == 2


def test_b03_the_due_time_that_a_calendar_takes_away_does_not_fire_and_nothing_else_does(server, receiver):
    """Every two seconds; a coming due time is taken away, and why tells who did it."""
    put(server, 'pause', [], 201)
    deployment = create(server, 'ticks', {'cron': '*/2 * * * * *', 'except': [{'calendar': 'pause'}]}, receiver.url)
    at = belfry.next_second(5)
    at += at % 2
    text, later = belfry.text_of(at), belfry.text_of(at + 2)
    assert put(server, 'pause', [text], 200).json['planned'] == 1
    path = f'/v1/deployments/{deployment["id"]}'
    belfry.wait_for(lambda: later in [r['due_at'] for r in server.get(path + '/runs?limit=200')['items']], 'the next one')
    due = [r['due_at'] for r in server.get(path + '/runs?limit=200')['items']]
    assert text not in due and len(due) == len(set(due))
    seconds = sorted(int(belfry.instant_of(d)) for d in due)
    assert all(b - a in (2, 4) for a, b in zip(seconds, seconds[1:])), due
    why = server.get(f'{path}/why?at={text}')
    assert why['outcome'] == 'not_due' and why['reason'].startswith('not a due time of revision 2: excluded by the calendar pause;')


def test_why_tells_the_rules_own_exceptions_too(shared_server):
    deployment = create(shared_server, 'own', {'cron': '0 9 * * *', 'except': ['2030-01-05']})
    why = shared_server.get(f'/v1/deployments/{deployment["id"]}/why?at=2030-01-05T09:00:00Z')
    assert "excluded by the rule's except" in why['reason']
    why = shared_server.get(f'/v1/deployments/{deployment["id"]}/why?at=2030-01-05T10:00:00Z')
    assert why['outcome'] == 'not_due' and 'excluded' not in why['reason']


@pytest.mark.parametrize('point', ['calendar-marked', 'calendar-saved', 'calendar-user-saved', 'calendar-user-saved:2',
                                   'calendar-user-planned', 'calendar-user-planned:2', 'calendar-planned'])
def test_t071_a_kill_within_a_change_is_finished_by_the_next_start(make_server, point):
    server = make_server(binary=belfry.TEST_BINARY)
    put(server, 'a', ['2030-01-01'], 201)
    rule = {'cron': '0 9 * * *', 'not_before': '2030-01-01T00:00:00Z', 'except': [{'calendar': 'a'}]}
    users = [create(server, f'u{i}', rule) for i in range(CROWD)]
    server.stop()
    server.start(crash_point=point)
    with pytest.raises((OSError, http.client.HTTPException)):
        put(server, 'a', ['2030-01-01', '2030-01-02'])
    server.wait_death()
    server.start()
    calendar = server.get('/v1/calendars/a')
    is_stored = point != 'calendar-marked'
    assert calendar['revision'] == 1 + is_stored
    for user in users:
        assert next_due(server, user) == ['2030-01-03T09:00:00Z' if is_stored else '2030-01-02T09:00:00Z']
        assert server.get(f'/v1/deployments/{user["id"]}')['revision'] == 1 + is_stored
    assert put(server, 'a', ['2030-01-01'] if is_stored else ['2030-01-05'], 200).json['planned'] == CROWD


def test_the_largest_calendar_is_taken_by_the_engine_and_survives_a_start(server):
    items = [f'{2030 + n // 336}-{1 + n // 28 % 12:02}-{1 + n % 28:02}T09:00:00' for n in range(1000)]
    put(server, 'large', items, 201)
    assert put(server, 'large', [*items, items[0]], 400).json['pointer'] == '/except'
    rule = {'any': [uses('large'), {'cron': '0 9 * * 1'}], 'except': ['2030-01-02', {'calendar': 'large'}],
            'not_before': '2030-01-01T00:00:00Z'}
    deployment = create(server, 'large', rule)
    assert deployment['next_due'] == ['2030-01-29T09:00:00Z']
    server.kill()
    server.start()
    assert next_due(server, deployment) == ['2030-01-29T09:00:00Z']
    assert put(server, 'large', items[:-1], 200).json['planned'] == 1
    assert server.get(f'/v1/deployments/{deployment["id"]}')['rule'] == rule
    twice = {**rule, 'any': [uses('large', 'large') for _ in range(2)]}
    refused = server.api('POST', '/v1/deployments', {'name': 'x', 'rule': twice, 'target': HOOK})
    assert (refused.status, refused.json['pointer']) == (400, '/rule/except'), refused.body


def test_more_users_than_a_request_plans_follow_at_once(server):
    """1,000 are planned before the answer, and the others without being asked for."""
    put(server, 'crowd', ['2030-01-01'], 201)
    rule = {'cron': '0 9 * * *', 'not_before': '2030-01-01T00:00:00Z', 'except': [{'calendar': 'crowd'}]}
    names = [f'c{n:04}' for n in range(1030)]
    for start in (0, 515):
        apply(server, {'deployments': [{'name': n, 'rule': rule, 'target': HOOK} for n in names[start:start + 515]]})
    reply = put(server, 'crowd', ['2030-01-01', '2030-01-02'], 200)
    assert (reply.json['planned'], reply.json['pending']) == (1000, True)
    assert reply.json['used_by']['count'] == len(names)

    def due():
        return [d['next_due'] for d in server.items('/v1/deployments')]
    belfry.wait_for(lambda: due() == [['2030-01-03T09:00:00Z']] * len(names), 'the others', every=0.2)
    assert {d['revision'] for d in server.items('/v1/deployments')} == {2}
    belfry.wait_for(lambda: not put(server, 'crowd', ['2030-01-01', '2030-01-02'], 200).json['pending'], 'the end of the mark', every=0.2)
    assert put(server, 'crowd', ['2030-01-01', '2030-01-02'], 200).json == {**reply.json, 'planned': 0, 'pending': False}


# --- sets ---

HOOK = {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}


def apply(server, body, query='', status=200):
    reply = server.api('POST', '/v1/apply' + query, body)
    assert reply.status == status, reply.body
    return reply.json


def outcomes(answer):
    return [c['outcome'] for c in answer['calendars']], [i['outcome'] for i in answer['items']]


def test_a_set_brings_the_calendars_that_its_deployments_name(server):
    rule = {'cron': '0 9 * * *', 'not_before': '2030-01-01T00:00:00Z', 'except': [{'calendar': 'set'}]}
    body = {'calendars': [{'name': 'set', 'except': ['2030-01-01']}],
            'deployments': [{'name': 'a', 'rule': rule, 'target': HOOK}, {'name': 'b', 'rule': {'cron': '0 9 * * *'}, 'target': HOOK}]}
    looked = apply(server, body, '?dry_run=true')
    assert outcomes(looked) == (['created'], ['created', 'created'])
    assert looked['items'][0]['appears'][0] == '2030-01-02T09:00:00Z'
    assert server.api('GET', '/v1/calendars/set').status == 404
    made = apply(server, body)
    assert outcomes(made) == (['created'], ['created', 'created']) and made['calendars'][0]['revision'] == 1
    assert outcomes(apply(server, body)) == (['unchanged'], ['unchanged', 'unchanged'])
    # One set that changes a calendar and who uses it.
    body['calendars'][0]['except'] = ['2030-01-01', '2030-01-02']
    body['deployments'][0]['prompt'] = 'p'
    assert outcomes(apply(server, body, '?dry_run=true')) == (['changed'], ['changed', 'unchanged'])
    changed = apply(server, body)
    assert outcomes(changed) == (['changed'], ['changed', 'unchanged'])
    shown = server.get(f'/v1/deployments/{changed["items"][0]["id"]}')
    assert (shown['prompt'], shown['next_due'], shown['revision']) == ('p', ['2030-01-03T09:00:00Z'], 3)
    assert outcomes(apply(server, body)) == (['unchanged'], ['unchanged', 'unchanged'])
    # Calendars alone, and what uses it anew without being named.
    apply(server, {'calendars': [{'name': 'set', 'except': []}], 'deployments': []})
    assert next_due(server, shown) == ['2030-01-01T09:00:00Z']


def test_a_set_whose_calendar_is_refused_changes_nothing(server):
    put(server, 'kept', ['2030-01-01'], 201)
    create(server, 'user', {'at': '2030-01-05T09:00:00', 'except': [{'calendar': 'kept'}]})
    new = {'name': 'n', 'rule': {'cron': '0 9 * * *', 'except': [{'calendar': 'x'}]}, 'target': HOOK}
    for calendars, status, pointer in (
            ([{'name': 'x', 'except': ['2030-13-01']}], 400, '/calendars/0/except/0'),
            ([{'name': 'x', 'except': []}, {'name': 'x', 'except': []}], 400, '/calendars/1/name'),
            ([{'except': []}], 400, '/calendars/0/name'),
            ([{'name': 'x', 'except': []}, {'name': 'kept', 'except': ['2030-01-05']}], 409, '/calendars/1/except')):
        for query in ('?dry_run=true', ''):
            answer = apply(server, {'calendars': calendars, 'deployments': [new]}, query, status)
            assert answer['pointer'] == pointer and answer['detail'].startswith('calendar '), answer
            assert answer['calendars'][-1]['error']['detail']
    assert [c['name'] for c in server.get('/v1/calendars')['items']] == ['kept']
    assert [d['name'] for d in server.get('/v1/deployments')['items']] == ['user']
    assert server.get('/v1/calendars/kept')['revision'] == 1


@pytest.mark.parametrize('form', ['yaml', 'json'])
def test_what_is_exported_is_applied_as_it_was_on_this_host_and_another(make_server, form):
    server, other = make_server(), make_server()
    put(server, 'a', ['2030-01-01', {'cron': '* * 2 1 *'}, '2030-01-03T09:00:00'], 201)
    put(server, 'b', [], 201)
    put(server, 'unused', ['2030-01-01'], 201)
    server.api('PUT', '/v1/calendars/b', {'description': 'no: text', 'except': []})
    create(server, 'x', {'any': [uses('a'), {'every': 'PT1H', 'except': [{'calendar': 'b'}, '2030-01-01']}]})
    create(server, 'y', {'cron': '0 9 * * *'})
    text = cli_support.belfry('export', '--format', form, url=server.url).stdout
    for host, words in ((server, ('0 created, 0 changed, 5 unchanged',)), (other, ('5 created, 0 changed, 0 unchanged',))):
        looked = cli_support.belfry('apply', '-', '--dry-run', url=host.url, stdin=text)
        assert looked.returncode == 0 and all(w in looked.stdout for w in words), (looked.stdout, looked.stderr)
    assert cli_support.belfry('apply', '-', url=other.url, stdin=text).returncode == 0
    assert cli_support.belfry('export', '--format', form, url=other.url).stdout == text
    some = cli_support.belfry('export', 'x', '--format', form, url=server.url).stdout
    assert 'unused' not in some and 'no: text' in some and '2030-01-03T09:00:00' in some
    assert 'calendars' not in cli_support.belfry('export', 'y', '--format', form, url=server.url).stdout


def test_a_dry_run_of_a_set_shows_the_dates_that_change_and_changes_none(shared_server):
    put(shared_server, 'dry', ['2030-01-01', '2030-01-02'], 201)
    create(shared_server, 'dry-user', uses('dry'))
    text = 'calendars:\n  - name: dry\n    except: [2030-01-02, 2030-01-03]\n'
    shown = cli_support.belfry('apply', '-', '--dry-run', url=shared_server.url, stdin=text)
    assert shown.returncode == 0 and shown.stdout.splitlines()[:4] == [
        'calendar dry', '  no longer left out 2030-01-01', '  now left out 2030-01-03', '  used by 1 deployment: dry-user']
    assert shared_server.get('/v1/calendars/dry')['revision'] == 1


def test_a_change_tells_the_streams_of_events(server):
    put(server, 'told', ['2030-01-01'], 201)
    deployment = create(server, 'told', uses('told'))
    stream = open_stream(server)
    put(server, 'told', ['2030-01-02'], 200)
    stream.expect_change(deployment['id'])
    stream.close()


def test_the_command_line_sets_shows_lists_and_removes(shared_server, tmp_path):
    file = tmp_path / 'holidays.txt'
    file.write_text('# closed\n2030-12-25\n2030-12-26  # second day\n')

    def call(*words):
        return cli_support.belfry('calendars', *words, url=shared_server.url)
    assert call('set', 'cli-a', str(file)).stdout == 'set cli-a: 2 items (0 gone, 2 new), 0 deployments planned anew\n'
    create(shared_server, 'cli-user', uses('cli-a'))
    assert call('set', 'cli-a', str(file)).stdout == 'unchanged cli-a: 2 items\n'
    assert call('set', 'cli-a', '--date', '2030-12-25', '--description', 'd').stdout == \
        'set cli-a: 1 item (1 gone, 0 new), description added, 1 deployment planned anew\n'
    assert call('set', 'cli-a', '--add', '2030-12-31').stdout == 'set cli-a: 2 items (0 gone, 1 new), 1 deployment planned anew\n'
    assert call('set', 'cli-a', '--drop', '2030-12-31').stdout == 'set cli-a: 1 item (1 gone, 0 new), 1 deployment planned anew\n'
    assert shared_server.get('/v1/calendars/cli-a')['description'] == 'd'
    assert call('show', 'cli-a', '--json').returncode == 0
    shown = cli_support.belfry('calendars', 'set', 'cli-a', '-', url=shared_server.url, stdin=call('show', 'cli-a', '--json').stdout)
    assert shown.stdout == 'unchanged cli-a: 1 item\n'
    shown = call('show', 'cli-a').stdout
    assert 'cli-user' in shown and shown.endswith('\n2030-12-25\n')
    assert 'cli-a  1      1' in call('list', 'cli-a').stdout
    file.write_text('2030-12-25\n\n2030-12-32\n')
    refused = call('set', 'cli-a', str(file))
    assert refused.returncode == 1 and f'{file}: line 3: "2030-12-32": ' in refused.stderr
    refused = call('remove', 'cli-a')
    assert refused.returncode == 1 and '"cli-user"' in refused.stderr
    assert call('set', 'cli-b', '--date', '2030-12-25', '--if-revision', '4').returncode == 1
    refused = call('set', 'cli-a', '--date', '2030-12-25', '--if-revision', '1')
    assert refused.returncode == 1 and '--if-revision 1: it is at revision 4' in refused.stderr
    assert call('set', 'cli-b', '--date', '2030-12-25').returncode == 0
    assert call('remove', 'cli-b').stdout == 'removed cli-b\n'
    for words in ('show', 'remove'):
        missing = call(words, 'cli-b')
        assert missing.returncode == 3 and 'there is no calendar "cli-b": `belfry calendars list`' in missing.stderr
