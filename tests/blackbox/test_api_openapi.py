"""docs/openapi.json against the server: every route is in it and nothing else, real answers and real refusals
are what it says, and its words are those of the sources."""
import json
import re
import socket
import urllib.parse

import pytest

import belfry
import openapi

NEVER = '0 0 1 1 *'
SCHEMAS = openapi.DOCUMENT['components']['schemas']


def fill(path, word):
    """The path with a word for each of its parameters."""
    return re.sub(r'\{\w+\}', word, path)


# --- the document and the table of routes ---

def routes():
    """{(METHOD, path)} that the table offers, words as {}."""
    text = (belfry.ROOT / 'src' / 'http' / 'routes.c').read_text()
    found = re.findall(r'\{BF_HTTP_METHOD_([A-Z]+),\s*"([^"]*)",\s*(\w+)\}', text)
    assert len(found) > 40
    return {(method, '/' + path) for method, path, function in found if function != 'NULL'}


def test_the_document_has_every_route_and_nothing_else():
    documented = {(m, re.sub(r'\{\w+\}', '{}', path)) for m, path in openapi.operations()}
    assert documented == routes()


def test_every_path_offers_exactly_the_documented_methods(shared_server):
    for path, item in openapi.DOCUMENT['paths'].items():
        offered = {m.upper() for m in openapi.METHODS if m in item}
        allowed = offered | ({'HEAD'} if 'GET' in offered else set())
        for method in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE'):
            reply = shared_server.api(method, fill(path, 'x')) if path != '/v1/events' or method != 'GET' else None
            if method not in offered:
                assert (reply.status, reply.code) == (405, 'METHOD_NOT_ALLOWED'), (method, path)
                assert set(reply.headers['Allow'].split(', ')) == allowed, (method, path)
            elif reply is not None:
                assert reply.status != 405 and b'this version does not offer it' not in reply.body, (method, path)


def test_the_server_serves_the_document(shared_server):
    reply = shared_server.api('GET', '/openapi.json')
    assert reply.json == openapi.DOCUMENT
    assert reply.headers['Content-Type'] == 'application/json'


def test_every_reference_leads_somewhere_and_every_schema_is_used():
    seen = set()

    def walk(value):
        if isinstance(value, dict):
            if '$ref' in value:
                openapi.resolve(value)
                seen.add(value['$ref'])
            for member in value.values():
                walk(member)
        elif isinstance(value, list):
            for member in value:
                walk(member)
    walk(openapi.DOCUMENT)
    for kind in ('schemas', 'parameters'):
        for name in openapi.DOCUMENT['components'][kind]:
            assert f'#/components/{kind}/{name}' in seen, name
    ids = [item[m]['operationId'] for item in openapi.DOCUMENT['paths'].values() for m in item]
    assert len(ids) == len(set(ids))


def test_every_path_parameter_is_declared():
    for method, path in openapi.operations():
        operation = openapi.DOCUMENT['paths'][path][method.lower()]
        declared = {p['name'] for p in map(openapi.resolve, operation.get('parameters', [])) if p['in'] == 'path'}
        assert declared == set(re.findall(r'\{(\w+)\}', path)), (method, path)


def test_the_validator_finds_what_is_wrong():
    good = {'code': 'TIMEOUT', 'message': 'x'}
    assert not list(openapi.check(SCHEMAS['RunError'], good))
    for bad in ({}, {**good, 'more': 1}, {**good, 'code': 'timeout'}, {**good, 'message': None}, [], None):
        assert list(openapi.check(SCHEMAS['RunError'], bad)), bad
    assert list(openapi.check({'type': 'string', 'format': 'date-time'}, '2026-01-01'))
    assert list(openapi.check({'type': 'integer', 'minimum': 1}, True))
    assert list(openapi.check({'type': ['integer', 'null'], 'minimum': 1}, 0))
    assert not list(openapi.check({'type': ['integer', 'null'], 'minimum': 1}, None))
    assert list(openapi.check(SCHEMAS['Target'], {'kind': 'mail'}))
    with pytest.raises(AssertionError):
        list(openapi.check({'pattern': 'x'}, 'x'))


# --- its words ---

def entries(name):
    """The arguments of every entry of a list of include/belfry."""
    text = (belfry.ROOT / 'include' / 'belfry' / name).read_text()
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    return [re.findall(r'"[^"]*"|[^,\s][^,]*', line) for line in re.findall(r'^BELFRY_\w+\((.*)', text, re.M)]


def texts(name, place):
    return {entry[place].strip().strip('"').rstrip(')').rstrip('"') for entry in entries(name)}


def test_every_list_of_words_is_that_of_the_sources():
    assert set(SCHEMAS['RunStatus']['enum']) == texts('run_status.def', 0)
    assert set(SCHEMAS['DispatchState']['enum']) == texts('run_state.def', 1)
    assert set(SCHEMAS['RunErrorCode']['enum']) == texts('run_error.def', 0) - {'NONE'}
    assert set(SCHEMAS['GapReason']['enum']) == texts('gap_reason.def', 1)
    assert set(SCHEMAS['Code']['enum']) == texts('status.def', 4) - {'OK'}


def test_the_settings_are_those_that_are_shown(shared_server):
    assert set(SCHEMAS['Settings']['properties']) == set(shared_server.get('/v1/settings'))
    changeable = {name for name, setting in shared_server.get('/v1/settings').items() if setting['changeable']}
    assert set(SCHEMAS['SettingsPatch']['properties']) == changeable


def words_in(path, name):
    text = (belfry.ROOT / path).read_text()
    return set(re.findall(r'"(\w+)"', re.search(rf'{name}\[\] = \{{(.*?)\}};', text, re.S)[1]))


def test_the_reasons_of_forecasts_are_those_that_are_given():
    text = (belfry.ROOT / 'src' / 'host' / 'forecast.c').read_text()
    reason = SCHEMAS['ForecastProposal']['properties']['reason']['anyOf'][0]
    assert set(reason['properties']['code']['enum']) == set(re.findall(r'\[BF_LOAD_(\w+)\] = ', text))


def test_the_words_of_policies_are_those_that_are_read():
    policies = SCHEMAS['Policies']['properties']
    read = 'src/host/deployment_read.c'
    assert set(policies['missed']['properties']['policy']['enum']) == words_in(read, 'missed_words')
    assert set(policies['overlap']['enum']) == words_in(read, 'overlap_words')
    assert set(policies['interrupted']['enum']) == words_in(read, 'interrupted_words')
    assert set(policies['on_exhausted']['enum']) == words_in(read, 'exhausted_words')
    assert set(policies['dst']['properties']['gap']['enum']) == words_in(read, 'gap_words')
    assert set(policies['dst']['properties']['fold']['enum']) == words_in(read, 'fold_words')
    assert set(SCHEMAS['WebhookTarget']['properties']['method']['enum']) == \
        words_in('src/host/deployment_target.c', 'methods')


# --- real answers ---

def read_events(server):
    """The head and the first event of the stream."""
    parts = urllib.parse.urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(b'GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
        got = b''
        while b'event: resync' not in got:
            piece = connection.recv(4096)
            assert piece, got
            got += piece
    return got


def test_real_answers_of_every_operation_are_what_the_document_says(server, receiver):
    judge = openapi.Judge(server)
    hook = {'kind': 'webhook', 'url': receiver.url}
    for path in ('/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/settings'):
        judge.ask('GET', path, expect=200)
    made = judge.ask('POST', '/v1/deployments', {'name': 'a', 'rule': {'cron': NEVER}, 'target': hook}, expect=201)
    path = made.headers['Location']
    full = judge.ask('POST', '/v1/deployments', {
        'name': 'b', 'enabled': False, 'rule': {'any': [{'every': 'PT1H', 'anchor': '2026-01-01T00:00:00Z'},
                                                         {'at': '2030-01-01T00:00:00', 'not_after': '2031-01-01T00:00:00Z'}]},
        'timezone': 'Europe/Berlin', 'prompt': 'p', 'input': {'x': [None]}, 'labels': {'team': 'ops'}, 'notify': [],
        'target': {**hook, 'method': 'PUT', 'headers': {'X-A': 'b', 'X-S': {'secret': 'KEY'}}, 'body': None, 'secret': 'KEY'},
        'policies': {'grace': 'PT2M', 'retry': {'max_attempts': 1}, 'dst': {'gap': 'skip', 'fold': None},
                     'deadline': None, 'on_failure': {'disable_after': None}}}, expect=201)
    judge.ask('GET', path, expect=200)
    judge.ask('PATCH', path, {'prompt': 'q'}, {'If-Match': '"1"', 'Content-Type': 'application/merge-patch+json'},
              expect=200)
    judge.ask('POST', path + '/disable', {'reason': 'holidays'}, expect=200)
    judge.ask('POST', path + '/enable', expect=200)
    for query in ('', '?limit=1', '?q=a&enabled=true&owner=default', '?label=team%3Dops', '?name=b'):
        page = judge.ask('GET', '/v1/deployments' + query, expect=200).json
        assert page['items'], query
    judge.ask('GET', '/v1/deployments?limit=1&cursor=' + judge.ask('GET', '/v1/deployments?limit=1').json['next_cursor'])

    receiver.answer = lambda call: belfry.Answer(status=400) if call.path == '/bad' else None
    run = judge.ask('POST', path + '/runs', None, {'Idempotency-Key': 'k'}, expect=202)
    server.wait_run(run.json['id'])
    shown = judge.ask('GET', run.headers['Location'], expect=200).json
    assert shown['status'] == 'COMPLETED'
    again = judge.ask('POST', run.headers['Location'] + '/replay', {'deployment_id': shown['deployment_id']}, expect=202)
    server.wait_run(again.json['id'])
    output = run.headers['Location'] + '/output'
    judge.ask('GET', output, expect=200)
    judge.ask('GET', output, None, {'Range': 'bytes=0-2'}, expect=206)
    judge.ask('GET', output, None, {'Range': 'bytes=999-'}, expect=416)
    judge.ask('PATCH', path, {'target': {'url': receiver.url + '/bad'}}, expect=200)
    failed = judge.ask('POST', path + '/runs', {'respect_overlap': False}, expect=202).json['id']
    server.wait_run(failed, 'FAILED')
    assert judge.ask('GET', f'/v1/runs/{failed}', expect=200).json['attempts']
    for place in ('/v1/runs', path + '/runs'):
        for query in ('', '?status=COMPLETED,FAILED&trigger=manual,replay&since=2020-01-01T00:00:00Z', '?limit=1'):
            assert judge.ask('GET', place + query, expect=200).json['items']
    judge.ask('GET', path + '/due?n=3', expect=200)
    judge.ask('GET', path + '/due?from=2020-01-01T00:00:00Z&to=2029-01-01T00:00:00Z', expect=200)
    for at in ('', '?at=2020-01-01T00:00:00Z', '?at=2030-01-01T00:00:00Z', '?at=2030-06-01T12:00:00Z'):
        judge.ask('GET', path + '/why' + at, expect=200)

    judge.ask('POST', '/v1/preview', {'rule': {'cron': '30 2 31 * *'}, 'timezone': 'Europe/Berlin', 'n': 20,
                                      'from': '2026-01-01T00:00:00Z', 'dst': {'gap': 'shift', 'fold': 'last'}}, expect=200)
    for query in ('', '?from=2030-01-01T00:00:00Z&hours=2&bucket=PT1H', '?q=a&label=team%3Dops'):
        judge.ask('GET', '/v1/forecast' + query, expect=200)
    judge.ask('PATCH', '/v1/settings', {'grace': 'PT2M', 'keep_runs': 7, 'max_active_schedules': None}, expect=200)
    deployments = [{'name': 'c', 'rule': {'cron': NEVER}, 'target': hook}, {'name': 'a', 'rule': {'every': 'PT1H'}, 'target': hook}]
    judge.ask('POST', '/v1/apply?dry_run=true', {'deployments': deployments}, expect=200)
    assert {i['outcome'] for i in judge.ask('POST', '/v1/apply', {'deployments': deployments}, expect=200).json['items']} == \
        {'created', 'changed'}
    judge.ask('POST', '/v1/apply', {'deployments': [{**deployments[0], 'colour': 1}, deployments[1]]}, expect=400)
    shared = {'name': 'set', 'description': 'd', 'except': ['2030-01-01', {'cron': '* * 2 1 *'}]}
    judge.ask('POST', '/v1/apply', {'deployments': [], 'calendars': [shared]}, expect=200)
    judge.ask('POST', '/v1/apply?dry_run=true', {'deployments': deployments, 'calendars': [{**shared, 'except': ['x']}]}, expect=400)
    calendar = judge.ask('PUT', '/v1/calendars/holidays-de', {'except': []}, {'If-None-Match': '*'}, expect=201)
    user = judge.ask('POST', '/v1/deployments', {
        'name': 'user', 'target': hook, 'rule': {
            'cron': NEVER, 'not_before': '2030-01-01T00:00:00Z', 'not_after': '2040-01-01T00:00:00Z', 'max_fires': 3, 'spread': 'PT5M',
            'except': ['2031-01-01', '2032-01-01T00:00:00', {'cron': '* * * 2 *'}, {'calendar': 'holidays-de'}]}}, expect=201)
    judge.ask('GET', user.headers['Location'] + '/why?at=2031-01-01T00:00:00Z', expect=200)
    judge.ask('DELETE', calendar.headers['Location'], expect=409)
    judge.ask('DELETE', user.headers['Location'], expect=204)
    judge.ask('PUT', '/v1/calendars/holidays-de', {'name': 'holidays-de', 'description': 'd', 'except': []},
              {'If-Match': calendar.headers['ETag']}, expect=200)
    judge.ask('GET', '/v1/calendars/holidays-de', expect=200)
    assert judge.ask('GET', '/v1/calendars?limit=1&q=hol', expect=200).json['items']
    judge.ask('DELETE', calendar.headers['Location'], expect=204)
    judge.ask('DELETE', full.headers['Location'], None, {'If-Match': full.headers['ETag']}, expect=204)
    head = read_events(server)
    assert b' 200 ' in head.split(b'\r\n')[0] and b'text/event-stream' in head
    judge.taken.add(('GET', '/v1/events'))
    cancel_one(judge, receiver, path)
    assert judge.taken == openapi.operations()


def cancel_one(judge, receiver, path):
    """A Run that waits for its second attempt."""
    receiver.answer = lambda call: belfry.Answer(status=503)
    judge.ask('PATCH', path, {'policies': {'retry': {'first_delay': 'PT1H', 'max_delay': 'PT1H'}}}, expect=200)
    run = judge.ask('POST', path + '/runs', expect=202).headers['Location']
    belfry.wait_for(lambda: judge.ask('GET', run).json['dispatch_state'] == 'delayed', 'the first attempt')
    ended = judge.ask('POST', run + '/cancel', {'reason': 'no need any more'}, expect=200).json
    assert (ended['status'], ended['error']['code']) == ('CANCELLED', 'CANCELLED')
    assert 'no need any more' in json.dumps(ended['error'])
    assert judge.ask('POST', run + '/cancel', expect=200).json['status'] == 'CANCELLED'


# --- real refusals ---

def test_real_refusals_are_what_the_document_says(shared_server):
    judge = openapi.Judge(shared_server)
    id_ = shared_server.create('refused', NEVER, 'http://127.0.0.1:9/')['id']
    for method, path in sorted(openapi.operations()):
        place = fill(path, id_)
        if path == '/v1/events':
            place += '?x=1'
        else:
            judge.ask(method, place + '?x=1', expect=400)
            judge.ask(method, fill(path, 'x'), {'x': 1} if method in ('POST', 'PUT', 'PATCH') else None)
        body = {'x': 1} if method in ('POST', 'PUT', 'PATCH') else None
        if body:
            assert judge.ask(method, place, body).status in (400, 404), (method, path)
        judge.ask(method, place, None, {'Host': 'evil.example'}, expect=403)
        if method in ('POST', 'PUT', 'PATCH'):
            judge.ask(method, place, b'x', {'Content-Type': 'text/plain'}, expect=415)


def test_with_tokens_every_operation_but_health_needs_one_and_commands_are_what_the_document_says(make_server):
    server = make_server(arguments=('--allow-exec', '/bin/echo'))
    judge = openapi.Judge(server)
    for method, path in sorted(openapi.operations()):
        open_to_all = openapi.DOCUMENT['paths'][path][method.lower()].get('security') == []
        reply = judge.ask(method, fill(path, 'x'), expect=200 if open_to_all else 401)
        assert open_to_all or (reply.code, reply.headers['WWW-Authenticate']) == ('UNAUTHENTICATED', 'Bearer')
    token = {'Authorization': 'Bearer ' + (server.data / 'admin.token').read_text().strip()}
    made = judge.ask('POST', '/v1/deployments', {
        'name': 'a', 'rule': {'cron': NEVER}, 'prompt': 'p', 'target': {'kind': 'exec', 'command': ['/bin/echo', 'x'],
                                                                      'env': {'A': 'b'}, 'permanent_exit': [2]}},
        token, expect=201)
    run = judge.ask('POST', made.headers['Location'] + '/runs', None, token, expect=202).headers['Location']
    belfry.wait_for(lambda: judge.ask('GET', run, None, token).json['status'] == 'COMPLETED', 'the command')
    assert judge.ask('GET', run + '/output', None, token, expect=200).body == b'x\n'
    refused = judge.ask('PATCH', made.headers['Location'], {'target': {'command': ['/bin/sh']}}, token, expect=422)
    assert refused.code == 'TARGET_NOT_ALLOWED'
    applied = judge.ask('POST', '/v1/apply', {'deployments': [{'name': 'a', 'rule': {'cron': NEVER}, 'target': {
        'kind': 'exec', 'command': ['/bin/echo', 'y'], 'env': {'A': 'c'}}}]}, token, expect=200).json['items'][0]
    assert [c['pointer'] for c in applied['changes']] == \
        ['/prompt', '/target/command', '/target/env/A', '/target/permanent_exit']
