"""Bad input over the API: every refusal says what is wrong, where, and what to do, and nothing of it is
stored. And who is answered at all without a token."""
import json
import os
import subprocess
import urllib.parse

import pytest

import belfry

GOOD = {'name': 'new', 'rule': {'cron': '0 9 * * 1-5'}, 'target': {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}}
TOLD = {'type', 'title', 'status', 'code', 'detail', 'request_id'}
UNKNOWN = object()


class Kept:
    """A deployment that no refusal may change."""

    def __init__(self, server):
        self.server = server
        self.id = server.create('kept', '0 0 1 1 *', 'http://127.0.0.1:9/', prompt='as it was',
                                labels={'team': 'ops'}, timezone='Europe/Berlin')['id']
        self.before = self.look()

    def look(self):
        return self.server.items('/v1/deployments'), self.server.runs()


@pytest.fixture(scope='module')
def one_kept(shared_server):
    return Kept(shared_server)


@pytest.fixture
def kept(one_kept):
    one_kept.before = one_kept.look()
    return one_kept


def expect_refusal(reply, status, code, words=(), pointer=None):
    assert reply.status == status, (reply.status, reply.body[:500])
    assert reply.headers['Content-Type'] == 'application/problem+json'
    problem = reply.json
    assert TOLD <= set(problem) <= TOLD | {'pointer', 'position'}, problem
    assert (problem['status'], problem['code'], problem['type']) == (status, code, 'about:blank')
    assert len(problem['detail']) > 10
    for word in words:
        assert word in problem['detail'] + problem.get('pointer', ''), (word, problem)
    if pointer is not None:
        assert problem.get('pointer') == pointer, problem


def merged(path, value):
    """GOOD with the member at /a/b/c set."""
    body = json.loads(json.dumps(GOOD))
    place = body
    *parents, last = path.strip('/').split('/')
    for parent in parents:
        place = place.setdefault(parent, {})
    place[last] = value
    return body


INVALID = (400, 'INVALID_REQUEST')
SCHEDULE = (400, 'INVALID_SCHEDULE')
NOT_TEXT = [None, 1, 1.5, True, [], {}]
NOT_OBJECT = [1, True, 'x', []]
# member, values, what is answered, where the pointer shows, a word that the answer holds
TABLE = [
    ('/name', [*NOT_TEXT, '', 'n' * 201, 'é' * 101, 'a\nb', '\u001b[2J'], INVALID, '/name', 'name'),
    ('/name', ['a\u0000b'], INVALID, None, 'position 12'),
    ('/enabled', [0, 1, 'true', [], {}], INVALID, '/enabled', 'enabled'),
    ('/rule', [None, 1, '* * * * *', [], True], INVALID, '/rule', 'rule'),
    ('/rule', [{}, {'cron': 1}, {'cron': None}, {'cron': '* * * * *', 'extra': 1}, {'corn': '* * * * *'}],
     None, None, ''),
    ('/rule/cron', ['', '* * * *', '* * * * * * *', '60 * * * *', '0 24 * * *', '0 0 30 2 *', '0 0 1 13 *',
                    '@reboot', '5-1 * * * *', '*/0 * * * *', '0 0 * * FOO', 'a' * 300, '* * * * *\n',
                    '０ * * * *', "0 0 1 1 *'; DROP TABLE runs"], SCHEDULE, None, ''),
    ('/rule/cron', ['a' * 5000], INVALID, '/rule', 'rule'),
    ('/timezone', [1, True, [], {}, '', 'z' * 5000], INVALID, '/timezone', 'timezone'),
    ('/timezone', ['../../etc/passwd', '/etc/passwd', 'Europe/../Europe/Berlin', 'Mars/Base', 'europe/berlin/',
                   'UTC\n', '.', '..', 'posixrules/x', 'Europe', '%2e%2e', 'C:\\x', 'Etc/GMT+99', ' UTC', 'é'],
     SCHEDULE, None, ''),
    ('/prompt', [1, True, [], {}], INVALID, '/prompt', 'prompt'),
    ('/target', [None, *NOT_OBJECT, {}], INVALID, None, 'target'),
    ('/target/kind', [None, 1, '', 'Webhook', 'webhook ', 'ftp'], INVALID, '/target/kind', 'kind'),
    ('/target/kind', ['remote', 'chat'], INVALID, '/target/kind', 'this version does not offer'),
    ('/target/kind', ['exec'], INVALID, '/target/command', 'command'),
    ('/target/url', [*NOT_TEXT, '', 'x', 'http://', 'ftp://h/', 'file:///etc/passwd', 'http://u:pw@h/',
                     'http://h:99999/', 'http://h\r\nX: y/', 'http://h /', 'javascript:1',
                     'http://h/' + 'a' * 3000], None, '/target/url', ''),
    ('/target/method', [1, '', 'post', 'CONNECT', 'TRACE', 'POST\r\n'], INVALID, '/target/method', 'method'),
    ('/target/headers', [1, 'x', [], {'A\r\nB': 'x'}, {'A': 'x\r\ny'}, {'Host': 'x'}, {'Content-Length': '1'},
                         {'Idempotency-Key': 'x'}, {'Belfry-Fence': '1'}, {'': 'x'}, {'A': 1}, {'A': None},
                         {'A': {'secret': '../x'}}, {'A': {'secret': 'X', 'y': 1}},
                         {f'A{i}': 'x' for i in range(40)}], INVALID, None, 'headers'),
    ('/target/secret', [1, True, [], {}, '', '../../etc/passwd', '/etc/passwd', 'a b', 'a/b', '.'],
     INVALID, '/target/secret', 'secret'),
    ('/target/timeout', ['PT1S'], INVALID, '/target/timeout', 'timeout'),
    ('/policies', NOT_OBJECT, INVALID, '/policies', 'policies'),
    ('/policies/grace', [1, True, [], '', 'x', '-1m', 'P1Y', 'PT', '1', '1e9s', 'P500000D', 'PT9999999999999S'],
     INVALID, '/policies/grace', 'grace'),
    ('/policies/late_limit', [1, 'x', 'P500000D'], INVALID, '/policies/late_limit', 'late_limit'),
    ('/policies/timeout', [1, 'x', '-PT1S'], INVALID, '/policies/timeout', 'timeout'),
    ('/policies/session_timeout', [1, 'x', 'PT0S'], INVALID, '/policies/session_timeout', 'session_timeout'),
    ('/policies/retry', NOT_OBJECT, INVALID, '/policies/retry', 'retry'),
    ('/policies/retry/max_attempts', [0, -1, 1.5, '8', True, 10**9], INVALID,
     '/policies/retry/max_attempts', 'max_attempts'),
    ('/policies/retry/max_attempts', [10**30], INVALID, None, 'a number does not fit'),
    ('/policies/retry/first_delay', ['PT0S', 'x', 1], INVALID, '/policies/retry/first_delay', 'first_delay'),
    ('/policies/retry/max_delay', ['PT0.01S', 'x', 1], INVALID, '/policies/retry/max_delay', 'max_delay'),
    ('/policies/retry/jitter', [1], INVALID, '/policies/retry/jitter', 'jitter'),
    ('/policies/missed', NOT_OBJECT, INVALID, '/policies/missed', 'missed'),
    ('/policies/missed/policy', ['fire_once', 'catch_up'], INVALID, '/policies/missed/policy', 'this version'),
    ('/policies/missed/policy', ['Skip', '', 1], INVALID, '/policies/missed/policy', 'policy'),
    ('/policies/missed/max_count', [0, -1, 'x', 1.5], INVALID, '/policies/missed/max_count', 'max_count'),
    ('/policies/overlap', ['skip', 'queue', 'queue_latest', 'cancel_previous'], INVALID, '/policies/overlap',
     'this version'),
    ('/policies/overlap', ['', 'ALLOW', 1, [], {}], INVALID, '/policies/overlap', 'overlap'),
    ('/policies/interrupted', ['', 'restart', 1], INVALID, '/policies/interrupted', 'interrupted'),
    ('/policies/on_exhausted', ['disable'], INVALID, '/policies/on_exhausted', 'this version'),
    ('/policies/on_failure', NOT_OBJECT, INVALID, '/policies/on_failure', 'on_failure'),
    ('/policies/on_failure/disable_after', [3], INVALID, '/policies/on_failure/disable_after', 'this version'),
    ('/policies/on_failure/disable_after', [0, -1, 'x'], INVALID, '/policies/on_failure/disable_after',
     'disable_after'),
    ('/policies/deadline', ['PT1M'], INVALID, '/policies/deadline', 'this version'),
    ('/policies/dst', NOT_OBJECT, INVALID, '/policies/dst', 'dst'),
    ('/policies/dst/gap', ['', 'x', 1], INVALID, '/policies/dst/gap', 'gap'),
    ('/policies/dst/fold', ['', 'x', 1], INVALID, '/policies/dst/fold', 'fold'),
    ('/policies/priority', [1], INVALID, '/policies/priority', 'priority'),
    ('/notify', [[{'on': ['failed'], 'to': 'X'}], {}, 1], INVALID, '/notify', 'notify'),
    ('/labels', [1, 'x', [], {'': 'x'}, {'k' * 64: 'x'}, {'k': 1}, {'k': 'v' * 201},
                 {f'k{i}': 'v' for i in range(65)}], INVALID, None, 'label'),
    *[(f'/{name}', ['x', 1], INVALID, f'/{name}', name)
      for name in ('id', 'owner', 'phase', 'phase_reason', 'managed_by', 'paused_until', 'next_due', 'last_error',
                   'revision', 'created_at', 'updated_at', 'timezone_used')],
    *[(f'/{name}', [1, None], INVALID, None, name) for name in ('cron', 'schedule', 'Name', 'spread', 'é')],
]
ROWS = [(path, value, answer, pointer, word) for path, values, answer, pointer, word in TABLE for value in values]


def test_every_bad_member_is_refused_on_create_and_nothing_is_stored(shared_server, kept):
    client = shared_server.client()
    wrong = []
    for path, value, answer, pointer, word in ROWS:
        reply = client.ask('POST', '/v1/deployments', merged(path, value))
        try:
            if answer is None:
                assert reply.status in (400, 422), (reply.status, reply.body[:300])
                answer = (reply.status, reply.code)
            expect_refusal(reply, *answer, [word], pointer)
        except (AssertionError, ValueError) as failure:
            wrong.append(f'{path} = {str(value)[:60]!r}: {str(failure)[:300]}')
    client.close()
    assert not wrong, f'{len(wrong)} of {len(ROWS)}:\n' + '\n'.join(wrong)
    assert kept.look() == kept.before


def test_t071_every_bad_member_is_refused_on_edit_and_nothing_changes(shared_server, kept):
    client = shared_server.client()
    wrong = []
    for path, value, answer, _, word in ROWS:
        if value is None and answer == INVALID and path not in ('/name', '/rule', '/target', '/target/kind',
                                                                '/target/url'):
            continue  # null takes a member away in a merge patch
        body = merged(path, value)
        top = path.split('/')[1]
        reply = client.ask('PATCH', f'/v1/deployments/{kept.id}', {top: body[top]})
        try:
            if value in ({}, {'A': None}) and path in ('/target', '/rule', '/target/headers'):
                assert reply.status == 200  # as a patch it changes nothing
                continue
            if answer is None or reply.status != answer[0]:
                assert reply.status in (400, 422), (reply.status, reply.body[:300])
                answer = (reply.status, reply.code)
            expect_refusal(reply, *answer, [word] if value is not None else [])
        except (AssertionError, ValueError) as failure:
            wrong.append(f'{path} = {str(value)[:60]!r}: {str(failure)[:300]}')
    client.close()
    assert not wrong, f'{len(wrong)}:\n' + '\n'.join(wrong)
    items, runs = kept.look()
    before, runs_before = kept.before
    assert runs == runs_before
    assert [(d['rule'], d['prompt'], d['target'], d['policies'], d['timezone'], d['labels'], d['name'])
            for d in items] == [(d['rule'], d['prompt'], d['target'], d['policies'], d['timezone'], d['labels'],
                                 d['name']) for d in before]


@pytest.mark.parametrize('member', ['name', 'rule', 'target'])
def test_what_is_needed_is_asked_for(shared_server, kept, member):
    body = {k: v for k, v in GOOD.items() if k != member}
    expect_refusal(shared_server.api('POST', '/v1/deployments', body), *INVALID, [member])
    assert kept.look() == kept.before


def nested(depth, opening='[', closing=']'):
    return opening * depth + closing * depth


BODIES = {
    'nothing': (b'', *INVALID),
    'a blank': (b' ', *INVALID),
    'no JSON': (b'name=x', *INVALID),
    'half a document': (b'{"name": "x"', *INVALID),
    'two documents': (b'{} {}', *INVALID),
    'an array': (b'[]', *INVALID),
    'a text': (b'"x"', *INVALID),
    'null': (b'null', *INVALID),
    'a number': (b'1', *INVALID),
    'NaN': (b'{"name": NaN}', *INVALID),
    'a huge number': (b'{"name": 1e999999}', *INVALID),
    'duplicate keys': (b'{"name": "a", "name": "b", "rule": {"cron": "* * * * *"}}', *INVALID),
    'duplicate keys within': (json.dumps(GOOD).replace('"kind"', '"url": "http://h/", "kind"').encode(), *INVALID),
    'bad UTF-8': (b'{"name": "\xff\xfe"}', *INVALID),
    'a cut character': (b'{"name": "\xf0\x9f\x98"}', *INVALID),
    'an overlong character': (b'{"name": "\xc0\xaf"}', *INVALID),
    'a lone surrogate': (b'{"name": "\\ud800"}', *INVALID),
    'a surrogate in bytes': (b'{"name": "\xed\xa0\x80"}', *INVALID),
    'a NUL': (b'{"name": "a\\u0000b"}', *INVALID),
    'a byte order mark': (b'\xef\xbb\xbf' + json.dumps(GOOD).encode(), *INVALID),
    'depth 10,000': (nested(10000).encode(), *INVALID),
    'depth 10,000 of objects': (('{"a":' * 10000 + '1' + '}' * 10000).encode(), *INVALID),
    'depth 10,000 in input': (json.dumps(GOOD)[:-1].encode() + b', "input": ' + nested(10000).encode() + b'}', *INVALID),
    'a prompt of 10 MB': (json.dumps({**GOOD, 'prompt': 'x' * 10_000_000}).encode(), 413, 'PAYLOAD_TOO_LARGE'),
    'blanks of 10 MB': (b' ' * 10_000_000, 413, 'PAYLOAD_TOO_LARGE'),
    'an input of 2 MiB': (json.dumps({**GOOD, 'input': 'x' * (2 << 20)}).encode(), 413, 'PAYLOAD_TOO_LARGE'),
    'a body of 2 MiB': (json.dumps({**GOOD, 'target': {**GOOD['target'], 'body': 'x' * (2 << 20)}}).encode(),
                        413, 'PAYLOAD_TOO_LARGE'),
}


@pytest.mark.parametrize('name', BODIES)
def test_bad_bodies_are_refused(shared_server, kept, name):
    body, status, code = BODIES[name]
    expect_refusal(shared_server.api('POST', '/v1/deployments', body), status, code)
    reply = shared_server.api('PATCH', f'/v1/deployments/{kept.id}', body)
    if name != 'a prompt of 10 MB':
        assert reply.status in (400, 413), (reply.status, reply.body[:200])
    assert kept.look() == kept.before


PARAMETERS = [
    ('/v1/deployments', 'limit', ['x', '', '1.5', '1' * 40]),
    ('/v1/deployments', 'enabled', ['yes', '', '1']),
    ('/v1/deployments', 'name', ['']),
    ('/v1/deployments', 'label', ['', 'a', '=b']),
    ('/v1/deployments', 'cursor', ['x' * 3000, '\x00', '../..']),
    ('/v1/runs', 'limit', ['x', '']),
    ('/v1/runs', 'status', ['x', '', 'completed', 'COMPLETED,', ',']),
    ('/v1/runs', 'trigger', ['x', '', 'cron']),
    ('/v1/runs', 'since', ['x', '', '-2h', '2026-13-01T00:00:00Z', '2026-01-01', '1764000000']),
    ('/v1/runs', 'cursor', ['x', '%', '01890a5d', "'; DROP TABLE runs"]),
    ('{}/why', 'at', ['x', '', 'now', '2026-02-30T00:00:00Z', '9' * 400]),
    ('{}/due', 'from', ['x', '']),
    ('{}/due', 'to', ['x', '']),
    ('{}/due', 'n', ['x', '']),
    ('{}', 'x', ['1']),
    ('/v1/settings', 'x', ['1']),
    ('/healthz', 'x', ['1']),
    ('/metrics', 'x', ['1']),
]


@pytest.mark.parametrize('path,name,values', PARAMETERS)
def test_bad_parameters_are_refused_by_name(shared_server, kept, path, name, values):
    path = path.replace('{}', f'/v1/deployments/{kept.id}')
    for value in values:
        reply = shared_server.api('GET', f'{path}?{name}={urllib.parse.quote(value, safe="%")}')
        assert reply.status == 400, (path, name, value, reply.status)
        expect_refusal(reply, *INVALID)
    for query in ('unknown=1', 'Limit=1', f'{name}=1&{name}=1', '=1', '%ff=1', '%00=1'):
        reply = shared_server.api('GET', f'{path}?{query}')
        assert reply.status == 400, (path, query, reply.status)


@pytest.mark.parametrize('path', ['', '/', '/v2/deployments', '/v1', '/v1/', '/v1/deployments/', '/v1/Deployments',
                                  '/v1/deployments/x/y/z', '/v1/../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd',
                                  '/v1/deployments/%00', '/v1/deployments/..%2f..', '//v1/deployments', '/index.html',
                                  '/v1/deployments;x', '/v1/runs/' + 'a' * 4000])
def test_what_is_not_there_is_not_found(shared_server, path):
    reply = shared_server.api('GET', path or '*')
    assert reply.status in (400, 404), reply.status
    assert reply.headers['Content-Type'] == 'application/problem+json'


LATER = [('POST', '/v1/deployments/{}/backfill'), ('PUT', '/v1/deployments/{}/occurrences/2030-01-01T00:00:00Z'),
         ('GET', '/v1/sessions/{}'),
         ('POST', '/v1/pause'), ('POST', '/v1/resume'),
         ('GET', '/v1/owners'), ('GET', '/v1/tokens'), ('GET', '/v1/audit'),
         ('GET', '/v1/replicas'), ('POST', '/v1/login'), ('POST', '/v1/logout')]


@pytest.mark.parametrize('method,path', LATER)
def test_what_a_later_version_offers_is_refused_by_name(shared_server, kept, method, path):
    body = {} if method in ('POST', 'PUT', 'PATCH') else None
    reply = shared_server.api(method, path.replace('{}', kept.id), body)
    expect_refusal(reply, 404, 'NOT_FOUND', ['this version does not offer'])


@pytest.mark.parametrize('method,path', [('PUT', '/v1/deployments'), ('POST', '/v1/deployments/{}'),
                                         ('GET', '/v1/deployments/{}/enable'), ('DELETE', '/v1/runs'),
                                         ('POST', '/healthz'), ('PATCH', '/v1/deployments')])
def test_other_methods_are_told_which_are_offered(shared_server, kept, method, path):
    reply = shared_server.api(method, path.replace('{}', kept.id))
    expect_refusal(reply, 405, 'METHOD_NOT_ALLOWED', ['these are'])
    assert reply.headers['Allow']


def test_run_now_and_replay_refuse_what_they_do_not_know(shared_server, kept):
    before = kept.look()
    runs = f'/v1/deployments/{kept.id}/runs'
    for body in ({'x': 1}, {'respect_overlap': 1}, {'respect_overlap': 'yes'}, [], 'x', 1):
        expect_refusal(shared_server.api('POST', runs, body if not isinstance(body, (str, int)) else
                                         json.dumps(body)), *INVALID)
    for key in ('', ' ' * 0, 'k' * 256, 'é', 'a\tb'):
        reply = shared_server.api('POST', runs, None, {'Idempotency-Key': key.encode('utf-8').decode('latin-1')})
        assert reply.status == 400, (key, reply.status)
    for body in ({'as_of': '2026-01-01T00:00:00Z'}, {'dry_run': True}, {'x': 1}):
        expect_refusal(shared_server.api('POST', f'/v1/runs/{kept.id}/replay', body), *INVALID)
    for id_ in ('01890a5d-ac96-774b-bcce-b302099a8057', 'x', kept.id[:-1]):
        expect_refusal(shared_server.api('POST', f'/v1/deployments/{id_}/runs'), 404, 'NOT_FOUND')
    assert kept.look() == before


def test_an_edit_with_an_old_etag_changes_nothing(shared_server, kept):
    path = f'/v1/deployments/{kept.id}'
    etag = shared_server.api('GET', path).headers['ETag']
    for match in ('"999"', '3', '"x"', '""', 'W/' + etag, etag + ' "1"', '"998", "999"'):
        reply = shared_server.api('PATCH', path, {'prompt': 'x'}, {'If-Match': match})
        expect_refusal(reply, 412, 'PRECONDITION_FAILED')
    assert kept.look() == kept.before
    for method, body in (('DELETE', None), ('POST', None)):
        where = path if method == 'DELETE' else path + '/disable'
        assert shared_server.api(method, where, body, {'If-Match': '"999"'}).status == 412
    assert kept.look() == kept.before
    assert shared_server.api('PATCH', path, {'labels': {'team': 'ops'}}, {'If-Match': etag}).status == 200


def test_a_name_is_unique(shared_server, kept):
    expect_refusal(shared_server.api('POST', '/v1/deployments', {**GOOD, 'name': 'kept'}), 409, 'CONFLICT', ['name'])
    assert kept.look() == kept.before


def test_targets_at_private_addresses_name_their_setting(make_server):
    server = make_server(arguments=('--allow-target', '127.0.0.1:9'))
    server.create('allowed', '0 0 1 1 *', 'http://127.0.0.1:9/')
    for url in ('http://127.0.0.1:10/', 'http://localhost/', 'http://10.0.0.1/', 'http://192.168.1.1/',
                'http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/',
                'http://0.0.0.0/', 'http://2130706433/', 'http://0x7f.1/', 'http://[fe80::1]/', 'http://224.0.0.1/'):
        reply = server.api('POST', '/v1/deployments', {**GOOD, 'target': {'kind': 'webhook', 'url': url}})
        assert reply.status in (400, 422), (url, reply.status)
        if reply.status == 422:
            expect_refusal(reply, 422, 'TARGET_NOT_ALLOWED', ['--allow-target'])
    assert [d['name'] for d in server.items('/v1/deployments')] == ['allowed']


def test_t072_a_bad_rule_is_refused_while_disabled_and_the_old_one_keeps_firing(server, receiver):
    id_ = server.create('bell', '* * * * * *', receiver.url)['id']
    receiver.wait_calls(1)
    before = server.show(id_)
    for changes in ({'enabled': False, 'rule': {'cron': '0 0 30 2 *'}}, {'enabled': False, 'timezone': 'Mars/Base'},
                    {'rule': {'cron': 'x'}, 'prompt': 'new'}):
        expect_refusal(server.api('PATCH', f'/v1/deployments/{id_}', changes), *SCHEDULE)
    after = server.show(id_)
    assert {k: v for k, v in after.items() if k != 'next_due'} == {k: v for k, v in before.items() if k != 'next_due'}
    receiver.wait_calls(1, due_at=float(belfry.next_second(1)))
    assert {c.prompt for c in receiver.calls} == {''}
    body = {**GOOD, 'enabled': False, 'rule': {'cron': '0 0 30 2 *'}}
    expect_refusal(server.api('POST', '/v1/deployments', body), *SCHEDULE)
    assert len(server.items('/v1/deployments')) == 1


# --- who is answered (B15) ---

@pytest.mark.parametrize('host', ['example.org', 'localhost.example.org', '127.0.0.1.example.org', '127.0.0.2',
                                  '0.0.0.0', '[::2]', 'LOCALHOST', '127.1', 'localhost:', 'localhost:99999999',
                                  'localhost@example.org', ' ', 'localhost, example.org'])
def test_b15_a_foreign_host_is_refused(shared_server, kept, host):
    for method, path, body in (('GET', '/v1/deployments', None), ('POST', '/v1/deployments', GOOD),
                               ('GET', '/healthz', None), ('GET', '/metrics', None),
                               ('DELETE', f'/v1/deployments/{kept.id}', None)):
        reply = shared_server.api(method, path, body, {'Host': host})
        assert reply.status in (400, 403), (method, path, reply.status)
        assert 'kept' not in reply.body.decode()
    assert kept.look() == kept.before


def test_b15_two_hosts_or_none_are_refused(shared_server, kept):
    for fields in (b'', b'Host: localhost\r\nHost: example.org\r\n', b'Host: localhost\r\nHost: localhost\r\n'):
        answer = belfry.send_raw(shared_server.url, b'GET /v1/deployments HTTP/1.1\r\n' + fields +
                                 b'Connection: close\r\n\r\n')
        assert answer.split(b' ')[1] in (b'400', b'403'), answer[:200]


@pytest.mark.parametrize('host', ['localhost', '127.0.0.1', '[::1]', 'localhost:1', '127.0.0.1:65535', '[::1]:8377'])
def test_b15_ones_own_host_is_answered(shared_server, host):
    assert shared_server.api('GET', '/v1/deployments', headers={'Host': host}).status == 200


@pytest.mark.parametrize('origin', ['https://example.org', 'null', 'http://localhost:1', 'https://localhost', '',
                                    'http://localhost.example.org', 'file://'])
def test_b15_a_foreign_origin_is_refused(shared_server, kept, origin):
    for method, path, body in (('GET', '/v1/deployments', None), ('POST', '/v1/deployments', GOOD),
                               ('POST', f'/v1/deployments/{kept.id}/disable', None)):
        reply = shared_server.api(method, path, body, {'Host': 'localhost', 'Origin': origin})
        expect_refusal(reply, 403, 'FORBIDDEN', ['Origin'])
        assert not [name for name in reply.headers if name.lower().startswith('access-control')]
    assert kept.look() == kept.before


def test_b15_ones_own_origin_is_answered(shared_server):
    reply = shared_server.api('GET', '/v1/deployments', headers={'Host': 'localhost:7', 'Origin': 'http://localhost:7'})
    assert reply.status == 200
    assert not [name for name in reply.headers if name.lower().startswith('access-control')]
    # what a browser asks before a foreign page may send
    reply = shared_server.api('OPTIONS', '/v1/deployments', headers={
        'Origin': 'https://example.org', 'Access-Control-Request-Method': 'POST'})
    assert reply.status >= 400
    assert not [name for name in reply.headers if name.lower().startswith('access-control')]


@pytest.mark.parametrize('kind', ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x',
                                  '', 'application/jsonp', 'application/json, text/plain', 'text/json'])
def test_b15_a_body_that_is_no_json_is_refused(shared_server, kept, kind):
    for method, path in (('POST', '/v1/deployments'), ('PATCH', f'/v1/deployments/{kept.id}'),
                         ('POST', f'/v1/deployments/{kept.id}/runs')):
        reply = shared_server.api(method, path, json.dumps(GOOD), {'Content-Type': kind})
        expect_refusal(reply, 415, 'UNSUPPORTED_MEDIA_TYPE')
    assert kept.look() == kept.before


@pytest.mark.parametrize('arguments,word', [
    (('--allow-exec', 'true'), '--allow-exec'),
    (('--listen', '0.0.0.0:0'), '0.0.0.0'), (('--listen', '[::]:0'), 'loopback'),
    (('--listen', '10.0.0.1:0'), 'loopback'), (('--listen', 'example.org:0'), 'loopback'),
    (('--listen', '8377'), 'ADDRESS:PORT'), (('--listen', '127.0.0.1:99999'), 'ADDRESS:PORT'),
    (('--listen', '127.evil.example:0'), 'loopback'), (('--listen', '127.0.0.1.evil.example:0'), 'loopback'),
    (('--listen', '[::2]:0'), 'loopback'), (('--listen', '[]:0'), 'ADDRESS:PORT'),
    (('--listen', ':0'), 'ADDRESS:PORT'), (('--listen', '::1:0'), 'ADDRESS:PORT'),
    (('--listen', '[127.0.0.1]:0'), 'ADDRESS:PORT'), (('--listen', '127.0.0.1:-0'), 'ADDRESS:PORT'),
    (('--plain-http', '--listen', 'belfry.invalid:0'), 'no address'),
    (('--config', 'x'), '--config'), (('--preset', 'ticker'), '--preset'),
    (('--store', 'postgres://h/d'), 'sqlite:PATH'), (('--store', 'x'), 'store'), (('--data', ''), '--data'),
    (('--allow-target', 'x/y/z'), 'allow-target'), (('--allow-target', '10.0.0.0/99'), 'allow-target'),
    (('--no-such-flag',), 'no-such-flag'), (('surplus',), 'surplus')])
def test_b15_flags_that_cannot_hold_are_refused_at_start(tmp_path, arguments, word):
    given = () if '--data' in arguments else ('--data', str(tmp_path / 'data'))
    listen = () if '--listen' in arguments else ('--listen', '127.0.0.1:0')
    result = subprocess.run([belfry.BINARY, 'serve', *given, *listen, *arguments], timeout=20, text=True,
                            env=belfry.clean_environment(), capture_output=True)
    assert result.returncode in (1, 2), result
    assert 'address' not in result.stdout
    last = result.stderr.splitlines()[-1]
    assert last.startswith('error: ') and word in last, result.stderr


@pytest.mark.parametrize('listen', ['localhost:0', '127.0.0.1:0', '127.3.2.1:0'])
def test_b15_every_loopback_address_may_be_listened_on(tmp_path, listen):
    process = subprocess.Popen([belfry.BINARY, 'serve', '--data', str(tmp_path / 'data'), '--listen', listen],
                               env=belfry.clean_environment(), text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        # The output ends with the process at the latest.
        assert any('http://127.' in line for line in process.stdout)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize('name,value', [
    ('MAX_CONCURRENT', '0'), ('MAX_CONCURRENT', 'x'), ('PER_HOST', '-1'), ('LEASE', '0'), ('LEASE', 'P9999D'),
    ('BEAT', 'PT7S'), ('GRACE', '-1m'), ('STOP_TIME', 'soon'), ('KEEP_AGE', ''), ('MAX_ACTIVE_SCHEDULES', '0'),
    ('RECOVERY_LIMIT', '1.5'), ('ENABLED', 'false'), ('EXEC_CONCURRENT', '10001'), ('OUTPUT_LIMIT', '10')])
def test_settings_that_cannot_hold_are_refused_at_start(tmp_path, name, value):
    result = subprocess.run([belfry.BINARY, 'serve', '--data', str(tmp_path / 'data'), '--listen', '127.0.0.1:0'],
                            env=belfry.clean_environment(**{f'BELFRY_{name}': value}), timeout=20, text=True,
                            capture_output=True)
    assert result.returncode in (1, 2), result
    assert name.lower() in result.stderr or name in result.stderr or 'answer_limit' in result.stderr, result.stderr
    assert not os.path.exists(tmp_path / 'data' / 'belfry.db')
