"""Run now, replay, lists of Runs, and the payload that each Run keeps."""
import base64
import hashlib
import hmac
import json
import os
import threading
import time

import pytest

import belfry

NEVER = '0 0 1 1 *'
HOSTILE = 'say "hi"\\ \'; DROP TABLE runs; -- \t\r\n %s %n {{x}} \u0001 \u007f \u2028 é 漢字 😀 👩‍👩‍👧 \ufffd \U0010fffd'


@pytest.fixture
def bell(shared_server, shared_receiver):
    """A new deployment that only Run now starts, with a path of its own at the receiver."""
    path = f'/{os.urandom(6).hex()}'

    class Bell:
        server, receiver = shared_server, shared_receiver

        def __init__(self):
            self.path = path
            self.url = shared_receiver.url + path
            self.id = self.server.create(path[1:], NEVER, self.url)['id']

        def calls(self, count=1):
            return self.receiver.wait_calls(count, path=self.path)
    return Bell()


def test_t023_run_now_at_the_second_of_a_due_time(shared_server, shared_receiver):
    at = belfry.spot(1)
    id_ = shared_server.create('t023', belfry.cron_at(at), shared_receiver.url + '/t023')['id']
    belfry.wait_until(at - 0.005)
    manual = shared_server.run_now(id_)['id']
    shared_receiver.wait_calls(2, path='/t023')
    runs = shared_server.wait_all_ended(id_)
    assert {r['trigger']: r['id'] for r in runs} == {'manual': manual, 'schedule': belfry.due_id(id_, at)}
    assert len(runs) == 2


def test_t052_run_now_leaves_the_next_due_time_alone(bell):
    before = bell.server.show(bell.id)
    bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    after = bell.server.show(bell.id)
    assert (before['next_due'], before['revision']) == (after['next_due'], after['revision'])


def test_t056_two_presses_are_two_runs(bell):
    runs = {bell.server.run_now(bell.id)['id'] for _ in range(2)}
    bell.calls(2)
    assert {r['id'] for r in bell.server.wait_all_ended(bell.id)} == runs
    assert len(runs) == 2


def test_an_idempotency_key_makes_one_run(bell):
    runs = {bell.server.run_now(bell.id, 'press-1')['id'] for _ in range(3)}
    assert len(runs) == 1
    assert bell.server.run_now(bell.id, 'press-2')['id'] not in runs
    other = bell.server.create(bell.path[1:] + '-b', NEVER, bell.url)['id']
    assert bell.server.run_now(other, 'press-1')['id'] not in runs  # unique within a deployment
    reused = bell.server.api('POST', f'/v1/deployments/{bell.id}/runs', {'respect_overlap': True},
                             {'Idempotency-Key': 'press-1'})
    assert (reused.status, reused.code) == (422, 'IDEMPOTENCY_KEY_REUSED')
    assert len(bell.server.runs(bell.id)) == 2


def test_an_idempotency_key_holds_across_a_kill_and_for_many_at_once(server, receiver):
    id_ = server.create('bell', NEVER, receiver.url)['id']
    made = []
    threads = [threading.Thread(target=lambda: made.append(server.run_now(id_, 'same')['id']))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and len(set(made)) == 1
    server.kill()
    server.start()
    assert server.run_now(id_, 'same')['id'] == made[0]
    assert len(server.runs(id_)) == 1


def test_t057_manual_and_replayed_runs_have_no_due_time(bell):
    run = bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    again = bell.server.wait_run(bell.server.post(f'/v1/runs/{run["id"]}/replay', status=202)['id'])
    assert (run['trigger'], run['due_at']) == ('manual', None)
    assert (again['trigger'], again['due_at'], again['replayed_from']) == ('replay', None, run['id'])
    assert all(c.due_at is None for c in bell.calls(2))


def test_t055_a_replay_of_nothing_is_not_found(bell):
    count = len(bell.server.runs())
    for run in ('01890a5d-ac96-774b-bcce-b302099a8057', bell.id, 'x', '..%2f', '%00'):
        reply = bell.server.api('POST', f'/v1/runs/{run}/replay')
        assert reply.status in (400, 404), (run, reply.status)
    assert len(bell.server.runs()) == count


def test_t058_t061_lists_are_newest_first_and_stable(shared_server, shared_receiver):
    at = belfry.spot(1)
    id_ = shared_server.create('t058', belfry.cron_at(at), shared_receiver.url + '/t058')['id']
    first = shared_server.run_now(id_)['id']
    shared_receiver.wait_calls(2, path='/t058')
    made = [shared_server.run_now(id_)['id'] for _ in range(20)]
    replay = shared_server.post(f'/v1/runs/{first}/replay', status=202)['id']
    runs = shared_server.wait_all_ended(id_)
    assert {r['id'] for r in runs} == {first, belfry.due_id(id_, at), *made, replay}
    assert {r['trigger'] for r in runs} == {'schedule', 'manual', 'replay'}
    ids = [r['id'] for r in runs]
    assert ids == sorted(ids, reverse=True) or \
        [r['created_at'] for r in runs] == sorted((r['created_at'] for r in runs), reverse=True)
    assert ids.index(replay) < ids.index(made[0]) < ids.index(first)
    for limit in (1, 3, 7):
        assert [r['id'] for r in shared_server.runs(id_, limit=limit)] == ids
    assert [r['id'] for r in shared_server.runs(id_, trigger='replay')] == [replay]
    assert [r['id'] for r in shared_server.runs(id_, status='FAILED')] == []


def test_t059_limits_are_clamped(shared_server, shared_receiver):
    id_ = shared_server.create('t059', NEVER, shared_receiver.url + '/t059')['id']
    client = shared_server.client()
    for _ in range(205):
        assert client.ask('POST', f'/v1/deployments/{id_}/runs').status == 202
    for limit, rows in ((0, 1), (-5, 1), (1, 1), (200, 200), (999, 200), (10**12, 200), (None, 50)):
        query = '' if limit is None else f'?limit={limit}'
        reply = client.ask('GET', f'/v1/deployments/{id_}/runs{query}')
        assert len(reply.json['items']) == rows, limit
        assert reply.json['next_cursor'] is not None
    client.close()
    assert len(shared_server.runs(id_)) == 205


def test_t062_runs_of_another_deployment_are_never_listed(shared_server, shared_receiver):
    ids = [shared_server.create(name, NEVER, shared_receiver.url + '/t062')['id']
           for name in ('t062', 't062-b')]
    runs = {id_: {shared_server.run_now(id_)['id'] for _ in range(3)} for id_ in ids}
    for id_ in ids:
        assert {r['id'] for r in shared_server.runs(id_)} == runs[id_]
        for cut in (id_[:-1], id_[:8], id_ + '0', '', '%25', id_.upper() if id_.upper() != id_ else 'x'):
            reply = shared_server.api('GET', f'/v1/deployments/{cut}/runs')
            assert reply.status in (400, 404), cut


def test_t060_an_edit_does_not_change_a_run_that_exists(make_server, receiver):
    """One done, one running, one queued, one waiting for its retry: each is called with the prompt that it
    was made with."""
    server = make_server(max_concurrent=1)
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate) if call.path == '/gate' else None
    id_ = server.create('bell', NEVER, receiver.url, prompt='one', input=[1, {'a': None}])['id']
    done = server.wait_run(server.run_now(id_)['id'])['id']
    blocker = server.create('blocker', NEVER, receiver.url + '/gate')['id']
    server.run_now(blocker)
    receiver.wait_calls(1, path='/gate')
    queued = server.run_now(id_)['id']
    server.edit(id_, {'prompt': 'two', 'input': None, 'name': 'other',
                      'target': {'kind': 'webhook', 'url': receiver.url + '/elsewhere'}})
    newer = server.run_now(id_)['id']
    gate.set()
    server.wait_run(queued)
    server.wait_run(newer)
    by_run = {c.run: c for c in receiver.calls}
    assert (by_run[queued].path, by_run[queued].prompt) == ('/', 'one')
    assert (by_run[newer].path, by_run[newer].prompt) == ('/elsewhere', 'two')

    def without_run(call):
        return call.body[call.body.index(b'"deployment":'):]
    assert without_run(by_run[queued]) == without_run(by_run[done])
    assert server.run(queued)['revision'] + 1 == server.run(newer)['revision']


@pytest.mark.parametrize('prompt', [HOSTILE, '"' * (1024 * 1024), '\\' * 1000 + '\n', 'é' * (512 * 1024),
                                    '😀' * (256 * 1024), '', ' ', '\u0001' * 5000],
                         ids=['hostile', 'a MiB of quotes', 'backslashes', 'a MiB of é', 'a MiB of emoji',
                              'nothing', 'a blank', 'control characters'])
def test_t063_a_prompt_comes_back_as_it_went_in(bell, prompt):
    wanted = {'text': HOSTILE, 'list': [1, -1.5, True, None, [], {}], 'ключ': 'я'}
    shown = bell.server.edit(bell.id, {'prompt': prompt, 'input': wanted})
    assert (shown['prompt'], shown['input']) == (prompt, wanted)
    assert bell.server.show(bell.id)['prompt'] == prompt
    bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    call = bell.calls(1)[0]
    assert (call.json['prompt'], call.json['input']) == (prompt, wanted)


def test_t063_a_prompt_beyond_the_limit_is_refused(bell):
    reply = bell.server.api('PATCH', f'/v1/deployments/{bell.id}', {'prompt': 'x' * (1024 * 1024 + 1)})
    assert reply.status in (400, 413), reply.status
    assert 'prompt' in reply.detail
    assert bell.server.show(bell.id)['prompt'] == ''


def test_a_body_of_ones_own_is_sent_as_it_is(bell):
    body = {'text': HOSTILE, 'n': [1, 2.5, None]}
    bell.server.edit(bell.id, {'target': {'kind': 'webhook', 'url': bell.url, 'method': 'PUT', 'body': body,
                                          'headers': {'X-Team': 'ops'}}})
    run = bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    call = bell.calls(1)[0]
    assert (call.json, call.method, call.headers['X-Team']) == (body, 'PUT', 'ops')
    assert call.run == run['id']
    assert call.fence > 0
    assert call.headers['traceparent'].startswith('00-')


def test_calls_are_signed_with_every_active_secret(bell):
    keys = [os.urandom(24), os.urandom(32)]
    folder = bell.server.data / 'secrets'
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / 'HOOK'
    file.write_text(''.join('whsec_' + base64.b64encode(k).decode() + '\n' for k in keys))
    file.chmod(0o600)
    bell.server.edit(bell.id, {'target': {'kind': 'webhook', 'url': bell.url, 'secret': 'HOOK'}})
    run = bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    call = bell.calls(1)[0]
    assert call.headers['webhook-id'] == run['id']
    assert abs(int(call.headers['webhook-timestamp']) - time.time()) < 60
    text = f'{run["id"]}.{call.headers["webhook-timestamp"]}.'.encode() + call.body
    wanted = {'v1,' + base64.b64encode(hmac.new(k, text, hashlib.sha256).digest()).decode() for k in keys}
    assert set(call.headers['webhook-signature'].split()) == wanted


def test_retry_after_is_honoured_and_costs_no_attempt(bell):
    def answer(call):
        if call.path == bell.path and len(bell.receiver.seen(run=call.run)) == 1:
            return belfry.Answer(429, headers={'Retry-After': '2'})
        return None
    bell.receiver.answer = answer
    try:
        bell.server.edit(bell.id, {'policies': {'retry': {'max_attempts': 1}}})
        bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    finally:
        bell.receiver.answer = None
    first, second = bell.calls(2)
    assert second.arrived - first.arrived >= 1.9


def test_t029_t030_retries_grow_and_end(bell):
    bell.receiver.answer = lambda call: belfry.Answer(500) if call.path == bell.path else None
    try:
        bell.server.edit(bell.id, {'policies': {'retry': {'max_attempts': 4, 'first_delay': 'PT0.2S',
                                                          'max_delay': 'PT10S'}}})
        run = bell.server.wait_run(bell.server.run_now(bell.id)['id'], 'FAILED')
    finally:
        bell.receiver.answer = None
    calls = bell.calls(4)
    assert len(calls) == 4
    for number, (a, b) in enumerate(zip(calls, calls[1:])):
        wait = 0.2 * 2 ** number
        assert wait / 2 * 0.95 <= b.arrived - a.answered, (number, b.arrived - a.answered)
    assert run['error']['code'] == 'RETRIES_SPENT' or run['error']['code'] == 'TARGET_ANSWERED'
    assert [a['number'] for a in run['attempts'] if a['step'] == 'admit_turn'] == [1, 2, 3, 4]
    fences = [c.fence for c in calls]
    assert fences == sorted(fences)


@pytest.mark.parametrize('status', [400, 401, 404, 410, 422, 301])
def test_t028_an_answer_that_will_stay_is_permanent(bell, status):
    bell.receiver.answer = lambda call: belfry.Answer(status) if call.path == bell.path else None
    try:
        run = bell.server.wait_run(bell.server.run_now(bell.id)['id'], 'FAILED')
    finally:
        bell.receiver.answer = None
    assert run['error']['code'] == 'TARGET_ANSWERED'
    assert str(status) in run['error']['message']
    assert len(bell.calls(1)) == 1


def test_b10_t031_a_hanging_target_ends_by_its_time_limit_and_holds_up_nobody(make_server, receiver):
    server = make_server(lease='PT1S', beat='PT0.25S')
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate) if call.path == '/hang' else None
    hanging = server.create('hanging', NEVER, receiver.url + '/hang',
                            policies={'timeout': 'PT3S', 'retry': {'max_attempts': 1}})['id']
    other = server.create('other', NEVER, receiver.url)['id']
    run = server.run_now(hanging)['id']
    receiver.wait_calls(1, path='/hang')
    begun = time.monotonic()
    server.wait_run(server.run_now(other)['id'], seconds=2)
    ended = server.wait_run(run, 'FAILED')
    assert time.monotonic() - begun < 8
    assert ended['error']['code'] == 'TIMEOUT'
    assert len(receiver.seen(path='/hang')) == 1  # its lease of a second was renewed meanwhile
    gate.set()


def test_the_answer_is_the_output(bell):
    bell.receiver.answer = lambda call: belfry.Answer(body=HOSTILE.encode() * 100) \
        if call.path == bell.path else None
    try:
        run = bell.server.wait_run(bell.server.run_now(bell.id)['id'])
    finally:
        bell.receiver.answer = None
    path = f'/v1/runs/{run["id"]}/output'
    whole = bell.server.api('GET', path)
    assert whole.body == HOSTILE.encode() * 100
    assert whole.headers['Content-Type'].startswith('text/plain')
    part = bell.server.api('GET', path, headers={'Range': 'bytes=10-19'})
    assert (part.status, part.body) == (206, whole.body[10:20])
    beyond = bell.server.api('GET', path, headers={'Range': f'bytes={len(whole.body)}-'})
    assert beyond.status == 416
    assert json.dumps(run)
