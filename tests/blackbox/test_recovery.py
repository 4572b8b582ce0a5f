"""What a kill leaves behind, and that it is taken up again under the same Run id and Session."""
import http.client
import random
import shutil
import subprocess
import threading
import time

import pytest

import belfry

NEVER = '0 0 1 1 *'


def test_t037_t043_a_kill_during_a_call_is_taken_up_under_the_same_run_and_session(server, receiver):
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate) if len(receiver.calls) == 1 else None
    id_ = server.create('bell', NEVER, receiver.url)['id']
    run = server.run_now(id_)['id']
    receiver.wait_calls(1, run=run)
    before = server.wait_run(run, 'RUNNING')
    server.kill()
    gate.set()
    server.start()
    calls = receiver.wait_calls(2, run=run)
    after = server.wait_run(run)
    assert before['session_id'] in (None, after['session_id'])
    assert after['session_id'] is not None
    assert calls[1].fence > calls[0].fence
    assert calls[0].body == calls[1].body  # a repeated attempt is the same attempt
    assert {c.run for c in receiver.calls} == {run}
    assert (before['attempt'], after['attempt']) == (1, 1)  # a takeover costs none
    assert server.metrics()['belfry_takeovers_total'] >= 1


@pytest.mark.parametrize('point', ['before-admit-turn', 'record-before-commit', 'record-after-commit',
                                   'plan-before-commit', 'plan-after-commit'])
def test_t043_every_crash_point_is_survived(make_server, receiver, point):
    """A scheduled Run is killed at the point; its one id ends all the same. plan-before-commit: the due
    time was covered, so the next start makes the Run."""
    server = make_server(binary=belfry.TEST_BINARY, beat='PT0.25S', lease='PT4S')
    at = belfry.spot(2.5)
    id_ = server.create('bell', belfry.cron_at(at), receiver.url, policies={'grace': 'PT0S'})['id']
    server.stop()
    server.start(crash_point=point)
    assert server.answering + 0.5 < at
    died = server.wait_death()
    assert died >= at - 0.1
    server.start()
    run = belfry.due_id(id_, at)
    receiver.wait_calls(1, run=run)
    ended = server.wait_run(run)
    assert belfry.instant_of(ended['due_at']) == at
    assert {c.run for c in receiver.calls} == {run}
    assert all(c.arrived >= at for c in receiver.calls)
    # called before the kill and again after it only where the answer was not stored
    assert len(receiver.calls) == (2 if point == 'record-before-commit' else 1)


@pytest.mark.parametrize('point', ['remove-after-mark', 'remove-after-schedule'])
def test_b01_a_kill_inside_a_removal_is_finished_by_the_next_start(make_server, receiver, point):
    """The record was marked, so the deployment is gone, and its name is free."""
    server = make_server(binary=belfry.TEST_BINARY)
    id_ = server.create('bell', '* * * * * *', receiver.url)['id']
    receiver.wait_calls(1)
    server.stop()
    server.start(crash_point=point)
    with pytest.raises((OSError, http.client.HTTPException)):
        server.api('DELETE', f'/v1/deployments/{id_}')
    server.wait_death()
    server.start()
    at = float(belfry.next_second(1))
    assert server.items('/v1/deployments') == []
    for method, path in (('GET', ''), ('DELETE', ''), ('POST', '/enable'), ('POST', '/runs')):
        assert server.api(method, f'/v1/deployments/{id_}{path}').status == 404
    again = server.create('bell', '* * * * * *', receiver.url)['id']
    receiver.wait_calls(1, 30, run=belfry.due_id(again, at + 1))
    assert {c.json['run']['deployment_id'] for c in receiver.seen(due_at=at + 1)} == {again}
    assert id_ in {r['deployment_id'] for r in server.runs()}  # they stay


def ask_and_die(server, point, method, path, body):
    """A host that dies at the point while it carries out the request; and the next one."""
    server.stop()
    server.start(crash_point=point)
    with pytest.raises((OSError, http.client.HTTPException)):
        server.api(method, path, body)
    server.wait_death()
    server.start()


def body_of(name, url):
    return {'name': name, 'rule': {'cron': '* * * * * *'}, 'target': {'kind': 'webhook', 'url': url}}


def test_b01_a_kill_between_a_new_record_and_the_engine_leaves_one_that_fires(make_server, receiver):
    server = make_server(binary=belfry.TEST_BINARY)
    ask_and_die(server, 'record-saved', 'POST', '/v1/deployments', body_of('bell', receiver.url))
    (made,) = server.items('/v1/deployments')
    assert made['name'] == 'bell'
    call = receiver.wait_calls(1)[0]
    assert call.run == belfry.due_id(made['id'], call.due_at)
    assert call.due_at >= int(server.spawned)


def test_b01_a_kill_between_a_changed_record_and_the_engine_leaves_the_change(make_server, receiver):
    server = make_server(binary=belfry.TEST_BINARY)
    id_ = server.create('bell', '* * * * * *', receiver.url + '/old')['id']
    receiver.wait_calls(1, path='/old')
    ask_and_die(server, 'change-saved', 'PATCH', f'/v1/deployments/{id_}',
                {'target': {'kind': 'webhook', 'url': receiver.url + '/new'}})
    assert server.show(id_)['target']['url'].endswith('/new')
    receiver.wait_calls(3, path='/new')
    assert not [c for c in receiver.seen(path='/old') if c.due_at > server.answering]


@pytest.mark.parametrize('point', ['undo-begun', 'undo-record-removed', 'restore-begun', 'restore-saved'])
def test_t090_t091_a_kill_while_a_refused_change_is_undone_leaves_nothing_that_only_seems_to_fire(
        make_server, receiver, point):
    """There is no room for one more active schedule: the change is taken back, and the host dies meanwhile.
    Once there is room, what is listed as enabled fires, and what is not listed does not."""
    server = make_server(binary=belfry.TEST_BINARY, max_active_schedules=1)
    first = server.create('first', '* * * * * *', receiver.url + '/first')['id']
    if point.startswith('undo'):
        ask_and_die(server, point, 'POST', '/v1/deployments', body_of('second', receiver.url + '/second'))
    else:
        second = server.create('second', '* * * * * *', receiver.url + '/second', enabled=False)['id']
        ask_and_die(server, point, 'PATCH', f'/v1/deployments/{second}', {'enabled': True})
    if point in ('undo-record-removed', 'restore-saved'):
        assert {d['name']: d['enabled'] for d in server.items('/v1/deployments')} == (
            {'first': True} if point.startswith('undo') else {'first': True, 'second': False})
    receiver.wait_calls(2, path='/first')
    server.delete(first)
    server.stop()
    server.start()
    at = float(belfry.next_second(1))
    listed = {d['name']: d['enabled'] for d in server.items('/v1/deployments')}
    assert set(listed) <= {'second'}
    if listed.get('second'):
        receiver.wait_calls(1, path='/second', due_at=at)
    else:
        belfry.wait_until(at + 1)
        assert receiver.seen(path='/second') == []


def test_t051_run_now_outlives_a_kill_at_once(server, receiver):
    id_ = server.create('bell', NEVER, receiver.url)['id']
    for _ in range(5):
        client = server.client()
        run = client.ask('POST', f'/v1/deployments/{id_}/runs')
        server.kill()
        client.close()
        assert run.status == 202
        server.start()
        receiver.wait_calls(1, run=run.json['id'])
        server.wait_run(run.json['id'])
    assert len(server.runs(id_)) == 5
    assert len({c.run for c in receiver.calls}) == 5


def test_t043_a_kill_during_recovery_is_survived(make_server, receiver):
    """Killed between a call's answer and its record, and again where the next process has just taken the
    Run over."""
    server = make_server(binary=belfry.TEST_BINARY)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    server.stop()
    server.start(crash_point='record-before-commit')
    run = run_now_until_killed(server, id_)
    receiver.wait_calls(1)
    server.start(crash_point='claim-after-commit', ready=False)
    server.wait_death()
    server.start()
    receiver.wait_calls(2)
    ended = server.wait_all_ended(id_)
    assert [r['status'] for r in ended] == ['COMPLETED']
    assert {c.run for c in receiver.calls} == {ended[0]['id']}
    assert run in (None, ended[0]['id'])
    fences = [c.fence for c in receiver.calls]
    assert fences == sorted(set(fences))


def run_now_until_killed(server, id_):
    """The Run's id, or None where the host was killed before it could answer."""
    run = None
    try:
        run = server.run_now(id_)['id']
    except (OSError, http.client.HTTPException):
        pass
    server.wait_death()
    return run


def test_t042_a_run_that_always_dies_with_its_process_is_given_up(make_server, receiver):
    server = make_server(binary=belfry.TEST_BINARY, recovery_limit=3)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    server.stop()
    server.start(crash_point='before-admit-turn')
    run = run_now_until_killed(server, id_)
    kills = 1

    def is_given_up():
        try:
            return all(r['status'] == 'FAILED' for r in server.runs(id_))
        except (OSError, http.client.HTTPException):
            return False
    while True:
        server.start(crash_point='before-admit-turn', ready=False)
        belfry.wait_for(lambda: not server.is_running() or is_given_up(), 'a kill or an end')
        if server.is_running():
            break
        server.wait_death()
        kills += 1
        assert kills < 6
    assert kills == 4  # the first time, and three takeovers
    runs = server.runs(id_)
    assert [r['status'] for r in runs] == ['FAILED']
    assert run in (None, runs[0]['id'])
    assert runs[0]['error']['code'] == 'RECOVERY_LIMIT'
    assert receiver.calls == []
    # and others run
    server.stop()
    server.start()
    server.wait_run(server.run_now(id_)['id'])


def test_t080_stop_during_a_call_hands_the_run_back(make_server, receiver):
    """TERM while a call hangs: the process ends within its stop_time, and the next one takes up the Run."""
    server = make_server(stop_time='PT1S')
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate) if len(receiver.calls) == 1 else None
    id_ = server.create('bell', NEVER, receiver.url)['id']
    run = server.run_now(id_)['id']
    receiver.wait_calls(1, run=run)
    begun = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begun < 15
    gate.set()
    server.start()
    receiver.wait_calls(2, run=run)
    server.wait_run(run)


def test_t081_stop_during_a_call_that_finishes_stores_its_end(server, receiver):
    receiver.answer = lambda call: belfry.Answer(delay=0.7)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    run = server.run_now(id_)['id']
    receiver.wait_calls(1, run=run)
    assert server.stop() == 0
    server.start()
    assert server.run(run)['status'] == 'COMPLETED'
    assert len(receiver.calls) == 1


def test_t005_clean_stops_neither_lose_nor_double(make_server, receiver):
    """Stopped and started again five times under load, without any grace: what was due until TERM fires,
    once; a call that was under way at TERM was let end, and is not repeated."""
    server = make_server(lease='PT2S', beat='PT0.25S')
    receiver.answer = lambda call: belfry.Answer(delay=call.due_at % 7 / 10)
    ids = [server.create(f'bell-{i}', '* * * * * *', receiver.url + f'/{i}', policies={'grace': 'PT0S'})['id']
           for i in range(10)]
    covered = []
    for _ in range(5):
        begun = time.time() + 0.5
        belfry.wait_until(begun + 1.2)
        covered += range(int(begun) + 1, int(time.time()) + 1)
        assert server.stop() == 0
        server.start()
    last = belfry.next_second(0.6)
    receiver.wait_calls(10, due_at=float(last))
    server.wait_all_ended()
    for i, id_ in enumerate(ids):
        by_due = receiver.runs_by_due(path=f'/{i}')
        for due in [*covered, last]:
            assert by_due[float(due)] == {belfry.due_id(id_, due)}, (id_, due)
    assert len(receiver.calls) == len({c.run for c in receiver.calls})
    assert server.metrics()['belfry_takeovers_total'] == 0


def test_a_kill_during_the_first_start_leaves_a_folder_that_can_be_used(make_server, receiver):
    """From the first byte of the store on, at moments over the time that a start takes."""
    pace = make_server()
    took = pace.answering - pace.spawned
    pace.stop()
    server = make_server(start=False)
    for turn in range(24):
        if turn % 8 == 0:
            shutil.rmtree(server.data, ignore_errors=True)
        process = subprocess.Popen([server.binary, 'serve', '--data', str(server.data), '--listen', '127.0.0.1:0'],
                                   env=belfry.clean_environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        belfry.wait_until(time.time() + took * (turn % 8 + 1) / 9)
        process.kill()
        process.wait()
    server.start()
    server.wait_run(server.run_now(server.create('bell', NEVER, receiver.url)['id'])['id'])


def test_one_process_holds_a_data_folder_and_a_standby_takes_over(make_server, receiver):
    first = make_server()
    id_ = first.create('bell', '* * * * * *', receiver.url)['id']
    second = make_server(start=False, folder=first.folder)
    with pytest.raises(AssertionError) as refused:
        second.start()
    assert 'belfry' in str(refused.value)
    second.process.stdout.close()
    second.process = None
    standby = make_server(start=False, folder=first.folder)
    standby.arguments.append('--standby')
    begun = threading.Thread(target=standby.start, daemon=True)
    begun.start()
    receiver.wait_calls(2)
    killed = first.kill()
    begun.join(30)
    assert not begun.is_alive()
    last = belfry.next_second(1)
    receiver.wait_calls(1, due_at=float(last))
    by_due = receiver.runs_by_due()
    for due in range(int(killed) + 1, last + 1):  # within the grace of a minute
        assert by_due[float(due)] == {belfry.due_id(id_, due)}


class Changer(threading.Thread):
    """Creates, edits, disables and deletes over one connection until the host is gone; knows what was
    answered, and which change was under way without an answer."""

    def __init__(self, server, url, number):
        super().__init__(daemon=True)
        self.client = server.client()
        self.url = url
        self.number = number
        self.random = random.Random(number)
        self.known = {}  # id: the prompt that was answered last, or None: it was deleted
        self.enabled = {}
        self.open = None  # (id or None for a create)

    def run(self):
        try:
            for turn in range(100000):
                self.change(turn)
        except (OSError, http.client.HTTPException):
            pass
        self.client.close()

    def ask(self, id_, method, path, body=None):
        self.open = id_
        reply = self.client.ask(method, path, body)
        assert reply.status in (200, 201, 204), reply.body
        self.open = False
        return reply

    def change(self, turn):
        living = [id_ for id_, prompt in self.known.items() if prompt is not None]
        kind = self.random.choice(['create', 'create', 'edit', 'edit', 'disable', 'enable', 'delete'])
        if kind == 'create' or not living:
            prompt = f'{self.number}-{turn}'
            reply = self.ask(None, 'POST', '/v1/deployments', {
                'name': prompt, 'rule': {'cron': '* * * * * *'}, 'prompt': prompt,
                'target': {'kind': 'webhook', 'url': self.url}})
            self.known[reply.json['id']] = prompt
            self.enabled[reply.json['id']] = True
            return
        id_ = self.random.choice(living)
        path = f'/v1/deployments/{id_}'
        if kind == 'edit':
            self.ask(id_, 'PATCH', path, {'prompt': f'{self.number}-{turn}'})
            self.known[id_] = f'{self.number}-{turn}'
        elif kind == 'delete':
            self.ask(id_, 'DELETE', path)
            self.known[id_] = None
        else:
            self.ask(id_, 'POST', f'{path}/{kind}')
            self.enabled[id_] = kind == 'enable'


def test_b01_a_kill_amid_changes_leaves_records_and_engine_of_one_mind(server, receiver):
    """What was answered holds; what was under way holds as a whole or not at all; and what is listed is
    what fires, with the prompt that is listed."""
    changers = []
    for round_ in range(3):
        new = [Changer(server, receiver.url, round_ * 10 + i) for i in range(4)]
        for changer in new:
            changer.start()
        belfry.wait_for(lambda: all(len(c.known) > 8 for c in new), 'changes')
        server.kill()
        for changer in new:
            changer.join(30)
        changers += new
        server.start()
    listed = {d['id']: d for d in server.items('/v1/deployments')}
    for changer in changers:
        for id_, prompt in changer.known.items():
            if id_ == changer.open:
                continue  # either is right
            assert (id_ in listed) == (prompt is not None), id_
            if prompt is not None:
                assert (listed[id_]['prompt'], listed[id_]['enabled']) == (prompt, changer.enabled[id_])
    # One more per changer may have been created without an answer.
    known = {id_ for c in changers for id_ in c.known}
    assert len(set(listed) - known) <= len(changers)
    at = float(belfry.next_second(1))
    on = {id_ for id_, d in listed.items() if d['enabled']}
    receiver.wait_calls(len(on), 30, due_at=at)
    belfry.wait_until(at + 1)  # whatever should not fire has had its time, too
    calls = receiver.seen(due_at=at)
    assert {c.json['run']['deployment_id']: c.prompt for c in calls} == {id_: listed[id_]['prompt'] for id_ in on}
