"""The commands that talk to a server, against one that answers from memory."""
import hashlib
import json
import subprocess

import pytest

from cli_support import (BINARY, D1, D2, Server, belfry, belfry_on_terminal, deployment, environment,
                         problem, run, wait_for)

R1 = '0193c0de-0000-7000-8000-000000000001'
R2 = '0193c0de-0000-7000-8000-000000000002'
HOSTILE = 'evil\x1b[2J\x1b]0;owned\x07\u202e\nsecond'


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


def due_id(deployment_id, microseconds):
    """contract.md: the id of the Run of a due time."""
    digest = hashlib.sha256(deployment_id.encode() + b'\0' + microseconds.to_bytes(8, 'big')).digest()
    raw = bytearray((microseconds // 1000).to_bytes(6, 'big') + digest[:10])
    raw[6] = 0x80 | (raw[6] & 0x0f)
    raw[8] = 0x80 | (raw[8] & 0x3f)
    text = raw.hex()
    return '-'.join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


# --- reaching the server ---

def test_a_server_that_is_not_there():
    result = belfry('deployments', 'list', url='http://127.0.0.1:1')
    assert result.returncode == 5
    assert result.stderr == ('error: cannot reach Belfry at http://127.0.0.1:1: is `belfry serve` '
                             'running?\n')


@pytest.mark.parametrize('url', ['ftp://h', 'h:80', 'http://u:pw@h/', 'http://h/?q', 'http://h h', 'http://'])
def test_an_address_that_is_none(url):
    result = belfry('deployments', 'list', url=url)
    assert result.returncode == 2
    assert 'BELFRY_URL' in result.stderr
    assert 'pw' not in result.stderr


def test_the_token_is_sent_and_never_shown(server):
    server.fake.answers[('GET', '/v1/deployments')] = problem(401, 'UNAUTHENTICATED', 'a token is needed')
    result = belfry('deployments', 'list', url=server.url, BELFRY_TOKEN='s3cret')
    assert result.returncode == 4
    assert server.fake.requests[0].headers['Authorization'] == 'Bearer s3cret'
    assert 's3cret' not in result.stdout + result.stderr
    assert 'BELFRY_TOKEN' in result.stderr


def test_no_token_no_header(server):
    belfry('deployments', 'list', url=server.url)
    assert 'Authorization' not in server.fake.requests[0].headers


@pytest.mark.parametrize('token', ['a\nX-Evil: 1', 'a b'])
def test_a_token_that_would_break_the_request_is_refused(server, token):
    result = belfry('deployments', 'list', url=server.url, BELFRY_TOKEN=token)
    assert result.returncode == 2
    assert server.fake.requests == []


@pytest.mark.parametrize('status,code,wanted', [
    (400, 'INVALID_REQUEST', 1), (401, 'UNAUTHENTICATED', 4), (403, 'FORBIDDEN', 4),
    (404, 'NOT_FOUND', 3), (405, 'METHOD_NOT_ALLOWED', 1), (409, 'CONFLICT', 1),
    (412, 'PRECONDITION_FAILED', 1), (413, 'PAYLOAD_TOO_LARGE', 1),
    (415, 'UNSUPPORTED_MEDIA_TYPE', 1), (422, 'TARGET_NOT_ALLOWED', 1), (429, 'RATE_LIMITED', 1),
    (500, 'INTERNAL', 1), (503, 'SCHEDULE_EXECUTION_UNAVAILABLE', 5)])
def test_refusals_keep_their_status_and_words(server, status, code, wanted):
    server.fake.answers[('GET', '/v1/deployments')] = problem(status, code, 'what is wrong',
                                                              pointer='/rule')
    result = belfry('deployments', 'list', url=server.url)
    assert result.returncode == wanted
    assert result.stdout == ''
    if status == 401:
        assert 'BELFRY_TOKEN' in result.stderr
        return
    assert 'what is wrong' in result.stderr
    assert '(at /rule)' in result.stderr


@pytest.mark.parametrize('answer', [
    (200, b''), (200, b'<html>'), (200, b'[]'), (200, b'{"items": 3}'), (200, b'{"a":1,"a":2}'),
    (200, b'{"items": ' * 5000), (301, b''), (502, b'<html>bad gateway'), (500, b'\xff\xff')])
def test_what_is_not_belfry_is_said_so(server, answer):
    server.fake.answers[('GET', '/v1/deployments')] = answer
    result = belfry('deployments', 'list', url=server.url)
    assert result.returncode in (1, 5)
    assert 'check BELFRY_URL' in result.stderr
    assert len(server.fake.requests) == 1


def test_text_of_the_server_cannot_drive_a_terminal(server):
    server.fake.deployments = [deployment(name=HOSTILE, prompt=HOSTILE)]
    for command in (['list'], ['show', D1], ['enable', D1]):
        _, shown = belfry_on_terminal('deployments', *command, url=server.url, NO_COLOR='1')
        assert '\x1b' not in shown and '\x07' not in shown and '\u202e' not in shown
        assert '\\x1b[2J' in shown
    server.fake.answers[('GET', '/v1/deployments')] = problem(400, 'INVALID_REQUEST', HOSTILE)
    _, shown = belfry_on_terminal('deployments', 'list', url=server.url, NO_COLOR='1')
    assert '\x1b' not in shown
    assert '\\x1b[2J' in shown


# --- deployments ---

def test_list_follows_the_pages(server):
    server.fake.deployments = [deployment(f'{i:08x}-0000-7000-8000-000000000000', f'n{i}')
                               for i in range(450)]
    result = belfry('deployments', 'list', '--json', url=server.url)
    assert [d['name'] for d in json.loads(result.stdout)['items']] == [f'n{i}' for i in range(450)]
    assert len(server.fake.requests) == 3
    result = belfry('deployments', 'list', '--json', '-n', '3', url=server.url)
    assert len(json.loads(result.stdout)['items']) == 3


def test_list_is_aligned_and_its_filters_are_passed_on(server):
    server.fake.deployments.append(deployment(D2, 'morning-with-a-longer-name', enabled=False, next_due=[]))
    result = belfry('deployments', 'list', 'mor', '--enabled', '--owner', 'o', '--label', 'a=b',
                    url=server.url)
    heading, first, second = result.stdout.splitlines()
    assert heading.index('STATE') == first.index('active') == second.index('disabled')
    query = server.fake.requests[0].query
    assert {k: query[k] for k in ('q', 'enabled', 'owner', 'label')} == {
        'q': 'mor', 'enabled': 'true', 'owner': 'o', 'label': 'a=b'}


def test_an_empty_list_says_what_to_do(server):
    server.fake.deployments = []
    result = belfry('deployments', 'list', url=server.url)
    assert (result.returncode, result.stdout) == (0, '')
    assert 'deployments create' in result.stderr


def test_a_deployment_is_found_by_id_name_and_owner(server):
    server.fake.deployments = [deployment(D1, 'x', owner='ann'), deployment(D2, 'x', owner='bob'),
                               deployment(R1, 'a/b', owner='ann')]

    def shown(text):
        result = belfry('deployments', 'show', text, '--json', url=server.url)
        return json.loads(result.stdout)['id'] if result.returncode == 0 else result

    assert shown(D1) == D1
    assert shown('ann/x') == D1
    assert shown('bob/x') == D2
    assert shown('a/b') == R1
    assert shown('ann/a/b') == R1
    assert shown('x').returncode == 1
    assert 'OWNER/x' in shown('x').stderr
    for missing in ('y', 'ann/y', '', D1[:-1] + '9', '../x', 'a?b=c&d', '\udcff'):
        assert shown(missing).returncode == 3, missing


def test_create_sends_what_was_said(server):
    result = belfry('deployments', 'create', 'brief "x"', '--cron', '0 9 * * *', '--tz', 'Asia/Tokyo',
                    '--webhook', 'http://t/h', '--prompt', '@-', '--label', 'team=ops', '--disabled',
                    '--missed', 'catch_up', '--overlap', 'queue', url=server.url,
                    stdin='say "hi"\n🔔')
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith('created brief "x"')
    request, = server.fake.asked('POST')
    assert request.headers['Content-Type'] == 'application/json'
    assert request.json == {
        'name': 'brief "x"', 'enabled': False, 'rule': {'cron': '0 9 * * *'}, 'timezone': 'Asia/Tokyo',
        'target': {'kind': 'webhook', 'url': 'http://t/h'}, 'prompt': 'say "hi"\n🔔',
        'labels': {'team': 'ops'},
        'policies': {'missed': {'policy': 'catch_up'}, 'overlap': 'queue'}}


def test_a_refused_rule_is_shown_with_its_place(server):
    server.fake.answers[('POST', '/v1/deployments')] = problem(
        400, 'INVALID_SCHEDULE', 'hour 24 is past 23', pointer='/rule/cron', position=2)
    result = belfry('deployments', 'create', 'x', '--cron', '0 24 * * *', '--webhook', 'http://t/',
                    url=server.url)
    assert result.returncode == 1
    assert result.stderr.splitlines() == ['error: hour 24 is past 23 (at /rule/cron)',
                                          '  0 24 * * *', '    ^']


def test_a_prompt_file_is_bounded(server, tmp_path):
    path = tmp_path / 'prompt'
    path.write_bytes(b'x' * (1 << 20))
    good = belfry('deployments', 'create', 'x', '--cron', '* * * * *', '--webhook', 'http://t/',
                  '--prompt', f'@{path}', url=server.url)
    assert good.returncode == 0, good.stderr
    assert len(server.fake.asked('POST')[0].json['prompt']) == 1 << 20
    path.write_bytes(b'x' * ((1 << 20) + 1))
    for content in (b'x' * ((1 << 20) + 1), b'\xff', b'a\0b'):
        path.write_bytes(content)
        result = belfry('deployments', 'create', 'x', '--cron', '* * * * *', '--webhook', 'http://t/',
                        '--prompt', f'@{path}', url=server.url)
        assert result.returncode == 1
        assert '--prompt' in result.stderr
    assert len(server.fake.asked('POST')) == 1


def test_edit_patches(server):
    result = belfry('deployments', 'edit', 'morning', '--every', '10m', '--prompt', 'new',
                    '--if-revision', '3', url=server.url)
    assert result.returncode == 0, result.stderr
    request, = server.fake.asked('PATCH', f'/v1/deployments/{D1}')
    assert request.json == {'rule': {'every': 'PT10M', 'cron': None}, 'prompt': 'new'}
    assert request.headers['If-Match'] == '"3"'
    nothing = belfry('deployments', 'edit', 'morning', url=server.url)
    assert nothing.returncode == 2
    assert 'nothing to change' in nothing.stderr


def test_enable_disable_delete(server):
    assert belfry('deployments', 'disable', 'morning', '--reason', 'moves', url=server.url).stdout == (
        'disabled morning\n')
    assert server.fake.asked('POST')[0].json == {'reason': 'moves'}
    assert belfry('deployments', 'enable', 'morning', url=server.url).stdout.startswith('enabled morning')
    result = belfry('deployments', 'delete', 'morning', '--json', url=server.url)
    assert json.loads(result.stdout) == {'deleted': D1}
    assert [r.path for r in server.fake.asked('DELETE')] == [f'/v1/deployments/{D1}']


# --- trigger and replay ---

def trigger_answers(server, *statuses):
    """POST answers the first status, each GET of the Run the next, the last for ever."""
    left = list(statuses)

    def answer(_):
        status = left.pop(0) if len(left) > 1 else left[0]
        error = {'code': 'TARGET_ANSWERED', 'message': 'it said 418'} if status == 'FAILED' else None
        return 200, run(R1, status=status, error=error, due_at=None, trigger='manual')

    server.fake.answers[('POST', f'/v1/deployments/{D1}/runs')] = answer
    server.fake.answers[('GET', f'/v1/runs/{R1}')] = answer


def test_trigger_answers_at_once(server):
    trigger_answers(server, 'QUEUED')
    result = belfry('trigger', 'morning', '--request-key', 'k 1', url=server.url)
    assert (result.returncode, result.stdout) == (0, f'Run {R1} QUEUED\n')
    request, = server.fake.asked('POST')
    assert request.headers['Idempotency-Key'] == 'k 1'
    assert request.json == {}
    assert server.fake.asked('GET', f'/v1/runs/{R1}') == []


def test_trigger_waits_for_the_end(server):
    trigger_answers(server, 'QUEUED', 'RUNNING', 'WAITING_INPUT', 'COMPLETED')
    result = belfry('trigger', 'morning', '--wait', url=server.url)
    assert (result.returncode, result.stdout) == (0, f'Run {R1} COMPLETED\n')


@pytest.mark.parametrize('status', ['FAILED', 'CANCELLED', 'SKIPPED', 'UNKNOWN'])
def test_trigger_wait_is_1_when_the_run_does_not_complete(server, status):
    trigger_answers(server, 'QUEUED', 'RUNNING', status)
    result = belfry('trigger', 'morning', '--wait', url=server.url)
    assert result.returncode == 1
    assert status in result.stdout
    result = belfry('trigger', 'morning', '--wait', '--json', url=server.url)
    assert result.returncode == 1
    assert json.loads(result.stdout)['status'] == status


def test_trigger_wait_outlives_a_restart_of_the_server(server):
    trigger_answers(server, 'RUNNING')
    answers = [problem(503, 'SCHEDULE_EXECUTION_UNAVAILABLE', 'not now')] * 3
    good = 200, run(R1)
    server.fake.answers[('GET', f'/v1/runs/{R1}')] = lambda _: answers.pop() if answers else good
    result = belfry('trigger', 'morning', '--wait', url=server.url)
    assert result.returncode == 0, result.stderr


def test_trigger_wait_has_a_limit(server):
    trigger_answers(server, 'RUNNING')
    result = belfry('trigger', 'morning', '--wait', '--timeout', '300ms', url=server.url)
    assert result.returncode == 5
    assert 'did not end in time' in result.stderr


def test_waiting_shows_progress_on_a_terminal_alone(server):
    trigger_answers(server, 'QUEUED', 'RUNNING', 'RUNNING', 'COMPLETED')
    status, shown = belfry_on_terminal('trigger', 'morning', '--wait', url=server.url)
    assert status == 0
    assert 'RUNNING, 0 s' in shown
    trigger_answers(server, 'RUNNING', 'COMPLETED')
    assert belfry('trigger', 'morning', '--wait', url=server.url).stderr == ''


def test_replay(server):
    server.fake.runs[R1] = run(R1)
    server.fake.answers[('POST', f'/v1/runs/{R1}/replay')] = 202, run(R2, trigger='replay', status='QUEUED')
    result = belfry('runs', 'replay', 'morning@last', '--as-of', '2026-12-01T00:00:00Z', '--dry-run',
                    url=server.url)
    assert (result.returncode, result.stdout) == (0, f'Run {R2} QUEUED\n')
    assert server.fake.asked('POST')[0].json == {'as_of': '2026-12-01T00:00:00Z', 'dry_run': True}


# --- runs, logs, why ---

def test_runs_list(server):
    server.fake.runs = {R1: run(R1), R2: run(R2, D2, 'FAILED', error={
        'code': 'RETRIES_SPENT', 'message': 'every attempt failed'})}
    server.fake.deployments.append(deployment(D2, 'evening'))
    result = belfry('runs', 'list', '--status', 'FAILED', '--trigger', 'schedule', '--since',
                    '2026-12-01 09:00', '-n', '7', url=server.url)
    query = server.fake.asked('GET', '/v1/runs')[0].query
    assert query == {'status': 'FAILED', 'trigger': 'schedule', 'since': '2026-12-01T09:00:00Z', 'limit': '7'}
    heading, first, second = result.stdout.splitlines()
    assert first.startswith(R2) and 'evening' in first and 'RETRIES_SPENT: every attempt failed' in first
    assert second.startswith(R1) and 'morning' in second and '4 ms' in second
    result = belfry('runs', 'list', 'morning', '--json', '--since', '2026-12-01 09:00', url=server.url)
    assert [r['id'] for r in json.loads(result.stdout)['items']] == [R1]
    request, = server.fake.asked('GET', f'/v1/deployments/{D1}/runs')
    assert request.query['since'] == '2026-12-01T08:00:00Z'
    assert belfry('runs', 'list', '--status', 'failed', url=server.url).returncode == 2


def test_a_rule_that_never_fires_is_warned_of(server):
    server.fake.answers[('POST', '/v1/deployments')] = 201, deployment(next_due=[], phase='exhausted')
    for more in ([], ['--json']):
        result = belfry('deployments', 'create', 'x', '--at', '2020-01-01 09:00', '--webhook', 'http://t/',
                        *more, url=server.url)
        assert result.returncode == 0
        assert result.stderr == 'warning: its rule never fires: no due time lies ahead\n'
    server.fake.answers[('POST', '/v1/deployments')] = 201, deployment(next_due=[], enabled=False)
    result = belfry('deployments', 'create', 'x', '--at', '2020-01-01 09:00', '--webhook', 'http://t/',
                    '--disabled', url=server.url)
    assert (result.returncode, result.stderr) == (0, '')
    assert [r.json['rule'] for r in server.fake.asked('POST')] == [{'at': '2020-01-01T09:00:00'}] * 3


def test_runs_list_follow_shows_what_changes(server):
    server.fake.runs = {R1: run(R1, status='RUNNING')}
    process = subprocess.Popen([BINARY, 'runs', 'list', '--follow', '--json'], stdout=subprocess.PIPE,
                               env=environment(server.url), text=True)
    try:
        assert json.loads(process.stdout.readline())['status'] == 'RUNNING'
        with server.fake.lock:
            server.fake.runs[R1] = run(R1)
            server.fake.runs[R2] = run(R2, status='QUEUED')
        assert json.loads(process.stdout.readline())['status'] == 'COMPLETED'
        assert json.loads(process.stdout.readline())['id'] == R2
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_runs_list_follow_never_shows_an_older_run_as_news(server):
    ids = [f'0193c0de-0000-7000-8001-{number:012d}' for number in range(300)]
    server.fake.runs = {i: run(i) for i in ids}
    process = subprocess.Popen([BINARY, 'runs', 'list', '--follow', '--json', '-n', '3'],
                               stdout=subprocess.PIPE, env=environment(server.url), text=True)
    try:
        assert [json.loads(process.stdout.readline())['id'] for _ in range(3)] == ids[-3:]
        with server.fake.lock:
            rounds = len(server.fake.requests)
            for gone in ids[-2:]:
                del server.fake.runs[gone]
        wait_for(lambda: len(server.fake.requests) > rounds + 2, 'the next rounds')
        with server.fake.lock:
            server.fake.runs[ids[150]] = run(ids[150], status='FAILED')
            server.fake.runs[R2] = run(R2, status='QUEUED')
        assert json.loads(process.stdout.readline())['id'] == ids[150]
        assert json.loads(process.stdout.readline())['id'] == R2
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_runs_show_by_id_time_and_last(server):
    due = due_id(D1, 1796112000 * 1000000)
    server.fake.runs = {due: run(due), R2: run(R2, attempts=[
        {'number': 1, 'step': 'admit_turn', 'outcome': 'failed', 'error': {'code': 'TIMEOUT', 'message': 'm'}}])}
    for text, wanted in ((R2, R2), ('morning@last', R2), ('default/morning@last', R2),
                         ('morning@2026-12-01T08:00:00Z', due), ('morning@2026-12-01 09:00', due)):
        result = belfry('runs', 'show', text, '--json', url=server.url)
        assert result.returncode == 0, (text, result.stderr)
        assert json.loads(result.stdout)['id'] == wanted
    shown = belfry('runs', 'show', R2, url=server.url).stdout
    assert 'TIMEOUT: m' in shown
    for text, words in (('morning@2026-12-01 10:00', 'belfry why'), (R1, 'no such'),
                        ('morning', 'NAME@last'), ('evening@last', 'no deployment')):
        result = belfry('runs', 'show', text, url=server.url)
        assert result.returncode == 3
        assert words in result.stderr


def test_logs(server):
    server.fake.runs = {R1: run(R1)}
    server.fake.outputs[R1] = b'line\x1b[31m\nbytes \xff\n'
    raw = subprocess.run([BINARY, 'logs', R1], env=environment(server.url), stdout=subprocess.PIPE)
    assert raw.stdout == server.fake.outputs[R1]
    for words in (['logs', 'morning'], ['logs', 'morning@last'], ['runs', 'logs', R1], ['logs', D1]):
        result = belfry(*words, url=server.url)
        assert result.returncode == 0, (words, result.stderr)
        assert 'line' in result.stdout
    _, shown = belfry_on_terminal('logs', R1, url=server.url)
    assert shown == 'line\\x1b[31m\r\nbytes \\xff\r\n'
    assert json.loads(belfry('logs', R1, '--json', url=server.url).stdout)['run'] == R1
    assert belfry('logs', 'nothing', url=server.url).returncode == 3
    assert belfry('logs', 'nothing@last', url=server.url).returncode == 3


def test_logs_follow_prints_each_byte_once(server):
    server.fake.runs = {R1: run(R1, status='RUNNING')}
    server.fake.outputs[R1] = b'one\n'
    process = subprocess.Popen([BINARY, 'logs', R1, '--follow'], stdout=subprocess.PIPE,
                               env=environment(server.url))
    try:
        assert process.stdout.readline() == b'one\n'
        with server.fake.lock:
            server.fake.outputs[R1] += b'two\n'
        assert process.stdout.readline() == b'two\n'
        with server.fake.lock:
            server.fake.outputs[R1] += b'three\n'
            server.fake.runs[R1] = run(R1)
        assert process.stdout.read() == b'three\n'
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_logs_of_a_deployment_follow_from_run_to_run(server):
    server.fake.runs = {R1: run(R1)}
    server.fake.outputs = {R1: b'first\n', R2: b'second\n'}
    process = subprocess.Popen([BINARY, 'logs', 'morning', '--follow'], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=environment(server.url))
    try:
        assert process.stdout.readline() == b'first\n'
        with server.fake.lock:
            server.fake.runs[R2] = run(R2)
        assert process.stdout.readline() == b'second\n'
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_why(server):
    server.fake.answers[('GET', f'/v1/deployments/{D1}/why')] = 200, {
        'due_at': '2026-12-01T08:00:00Z', 'outcome': 'missed', 'reason': 'no process covered it', 'run': None}
    result = belfry('why', 'morning', '2026-12-01 09:00', url=server.url)
    assert (result.returncode, result.stdout) == (0, '2026-12-01T08:00:00Z: no process covered it\n')
    asked = server.fake.asked('GET', f'/v1/deployments/{D1}/why')
    assert asked[0].query == {'at': '2026-12-01T08:00:00Z'}
    assert json.loads(belfry('why', 'morning', '--json', url=server.url).stdout)['outcome'] == 'missed'
    assert asked[0].query != server.fake.asked('GET', f'/v1/deployments/{D1}/why')[1].query == {}
    server.fake.answers[('GET', f'/v1/deployments/{D1}/why')] = 200, {
        'due_at': '2026-12-01T08:00:00Z', 'outcome': 'run', 'reason': 'there is a Run', 'run': run(R1)}
    assert R1 in belfry('why', 'morning', url=server.url).stdout
    assert belfry('why', 'morning', 'sometime', url=server.url).returncode == 2
    assert belfry('why', 'evening', url=server.url).returncode == 3


# --- doctor ---

METRICS = b'''# TYPE belfry_store_up gauge
belfry_store_up 1
belfry_oldest_queued_seconds 0.5
belfry_clock_offset_seconds -0.001
belfry_build_info{version="9.9.9",tz_version="1999a"} 1
# EOF
'''


def findings(server, *arguments, **env):
    result = belfry('doctor', '--json', *arguments, url=server.url if server else 'http://127.0.0.1:1', **env)
    answer = json.loads(result.stdout)
    assert answer['ok'] == (result.returncode == 0)
    for item in answer['items']:
        assert (item['result'] == 'ok') == (item['remedy'] is None), item
    return result.returncode, {i['check']: i['result'] for i in answer['items']}


def test_doctor_on_a_sound_server(server):
    server.fake.answers[('GET', '/metrics')] = 200, METRICS
    status, found = findings(server)
    assert status == 0
    assert found['server'] == found['ready'] == found['store'] == found['queue'] == found['clock'] == 'ok'
    assert found['version'] == found['zones'] == 'warn'
    text = belfry('doctor', url=server.url).stdout
    assert text.splitlines()[0].startswith('ok ')


def test_doctor_finds_what_is_wrong(server):
    server.fake.answers[('GET', '/metrics')] = 200, METRICS.replace(b'_up 1', b'_up 0').replace(b'0.5', b'1e3')
    server.fake.answers[('GET', '/readyz')] = problem(503, 'SCHEDULE_EXECUTION_UNAVAILABLE',
                                                      'the planner stands still')
    status, found = findings(server)
    assert status == 1
    assert found['ready'] == found['store'] == 'fail'
    assert found['queue'] == 'warn'
    assert 'the planner stands still' in belfry('doctor', url=server.url).stdout


def test_doctor_without_a_server():
    status, found = findings(None)
    assert (status, found) == (1, {'server': 'fail'})


def test_doctor_looks_at_a_data_folder(server, tmp_path):
    (tmp_path / 'secrets').mkdir()
    secret = tmp_path / 'secrets' / 'NAME'
    secret.write_text('whsec_x')
    secret.chmod(0o600)
    tmp_path.chmod(0o755)
    _, found = findings(server, '--data', str(tmp_path))
    assert found['data'] == 'ok'
    assert 'secrets' not in found
    secret.chmod(0o644)
    tmp_path.chmod(0o777)
    status, found = findings(server, '--data', str(tmp_path))
    assert status == 1
    assert found['secrets'] == found['data'] == 'fail'
    assert findings(server, '--data', str(tmp_path / 'none'))[1]['data'] == 'fail'


def test_findings_cannot_drive_a_terminal(server):
    server.fake.answers[('GET', '/readyz')] = problem(503, 'X', HOSTILE)
    _, shown = belfry_on_terminal('doctor', url=server.url, NO_COLOR='1')
    assert '\x1b' not in shown


def test_a_server_that_hangs_up_in_a_change_leaves_it_open(server):
    def hang_up(_):
        raise ConnectionError
    server.http.handle_error = lambda *_: None
    server.fake.answers[('POST', f'/v1/deployments/{D1}/runs')] = hang_up
    result = belfry('trigger', 'morning', url=server.url)
    assert result.returncode == 5
    assert 'it is not known whether this was done' in result.stderr


def test_a_wait_on_nothing_is_cheap(server):
    """One request a second at most once it lasts."""
    trigger_answers(server, 'RUNNING')
    process = subprocess.Popen([BINARY, 'trigger', 'morning', '--wait', '--timeout', '3s'],
                               env=environment(server.url), stderr=subprocess.DEVNULL)
    assert process.wait(timeout=20) == 5
    wait_for(lambda: len(server.fake.asked('GET', f'/v1/runs/{R1}')) < 15, 'a slow poll', 1)
