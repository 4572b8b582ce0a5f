"""Disable is final when it answers; what has started goes on; enable and delete."""
import threading
import time

import pytest

import belfry

EVERY_SECOND = '* * * * * *'
NEVER = '0 0 1 1 *'


def test_t045_nothing_starts_after_disable_has_answered(server, receiver):
    """Switched off and on again around the due times, many times: no Run of a due time after the answer,
    and none that started after it."""
    ids = [server.create(f'bell-{i}', EVERY_SECOND, receiver.url + f'/{i}')['id'] for i in range(5)]
    off = []
    for turn in range(6):
        second = belfry.next_second(0.3)
        belfry.wait_until(second - 0.012 + turn * 0.004)
        for id_ in ids:
            server.disable(id_)
            off.append((id_, time.time()))
        belfry.wait_until(time.time() + 0.6)
        for id_ in ids:
            off[off.index(next(o for o in off if o[0] == id_ and len(o) == 2))] += (time.time(),)
            server.enable(id_)
    for id_ in ids:
        runs = [r for r in server.wait_all_ended(id_) if r['started_at'] is not None]
        starts = [belfry.instant_of(r['started_at']) for r in runs]
        dues = [belfry.instant_of(r['due_at']) for r in runs]
        for _, answered, on in [o for o in off if o[0] == id_]:
            assert [s for s in starts if answered < s < on] == []
            assert [d for d in dues if answered < d < on] == []


def test_t046_what_has_started_goes_on_with_its_retries(server, receiver):
    receiver.answer = lambda call: belfry.Answer(503) if len(receiver.seen(run=call.run)) < 3 else None
    at = belfry.spot(1)
    id_ = server.create('bell', belfry.cron_at(at), receiver.url,
                        policies={'retry': {'first_delay': 'PT0.2S', 'max_delay': 'PT0.2S'}})['id']
    receiver.wait_calls(1)
    server.disable(id_)
    run = belfry.due_id(id_, at)
    server.wait_run(run)
    assert len(receiver.seen(run=run)) == 3


def test_t046_an_open_call_outlives_disable(server, receiver):
    gate = threading.Event()
    receiver.answer = lambda _: belfry.Answer(gate=gate)
    at = belfry.spot(1)
    id_ = server.create('bell', belfry.cron_at(at), receiver.url)['id']
    call = receiver.wait_calls(1)[0]
    server.disable(id_)
    assert server.run(call.run)['status'] == 'RUNNING'
    gate.set()
    server.wait_run(call.run)


def test_t048_what_had_not_started_is_cancelled_by_disable(make_server, receiver):
    """One call at a time: the Runs behind it are queued when disable answers, and end as CANCELLED."""
    server = make_server(max_concurrent=1)
    gate = threading.Event()
    receiver.answer = lambda _: belfry.Answer(gate=gate)
    blocker = server.create('blocker', NEVER, receiver.url + '/blocker')['id']
    server.run_now(blocker)
    receiver.wait_calls(1, path='/blocker')
    id_ = server.create('bell', EVERY_SECOND, receiver.url + '/bell')['id']
    belfry.wait_for(lambda: len(server.runs(id_, status='QUEUED')) >= 2, 'two queued Runs')
    server.disable(id_)
    runs = server.runs(id_)
    assert {r['status'] for r in runs} == {'CANCELLED'}
    assert {r['error']['code'] for r in runs} == {'SCHEDULE_DISABLED'}
    gate.set()
    server.wait_all_ended(blocker)
    server.wait_run(server.run_now(blocker)['id'])
    assert receiver.seen(path='/bell') == []


def test_t047_run_now_and_replay_work_while_disabled(server, receiver):
    id_ = server.create('bell', NEVER, receiver.url, enabled=False)['id']
    run = server.run_now(id_)['id']
    server.wait_run(run)
    again = server.post(f'/v1/runs/{run}/replay', status=202)
    assert again['replayed_from'] == run
    server.wait_run(again['id'])
    server.disable(id_)
    server.wait_run(server.run_now(id_)['id'])
    assert server.show(id_)['enabled'] is False


def test_t050_enable_fires_only_what_comes(server, receiver):
    at = belfry.spot(1, 5)
    id_ = server.create('bell', belfry.cron_at(at, at + 4), receiver.url, enabled=False,
                        policies={'grace': 'PT10M'})['id']
    belfry.wait_until(at + 1)
    assert receiver.calls == []
    enabled = server.enable(id_)
    assert belfry.instant_of(enabled['next_due'][0]) == at + 4
    receiver.wait_calls(1)
    assert [c.due_at for c in receiver.calls] == [at + 4]


def test_disable_tells_its_reason(server, receiver):
    id_ = server.create('bell', EVERY_SECOND, receiver.url)['id']
    shown = server.post(f'/v1/deployments/{id_}/disable', {'reason': 'moving house'})
    assert (shown['enabled'], shown['next_due']) == (False, [])
    assert 'moving house' in str(shown['phase_reason'])
    assert server.post(f'/v1/deployments/{id_}/disable')['enabled'] is False
    assert server.post(f'/v1/deployments/{id_}/enable')['phase_reason'] is None


def test_t064_nothing_fires_after_delete(server, receiver):
    gate = threading.Event()
    receiver.answer = lambda _: belfry.Answer(gate=gate)
    id_ = server.create('bell', EVERY_SECOND, receiver.url)['id']
    begun = receiver.wait_calls(1)[0].run
    server.delete(id_)
    deleted = time.time()
    assert server.api('GET', f'/v1/deployments/{id_}').status == 404
    belfry.wait_until(int(deleted) + 2.2)
    assert [c for c in receiver.calls if c.due_at > deleted] == []
    # what was begun goes on, and stays listed
    gate.set()
    ended = server.wait_run(begun)
    assert ended['deployment_id'] == id_
    assert begun in {r['id'] for r in server.runs()}
    server.stop()
    server.start()
    assert begun in {r['id'] for r in server.runs()}
    assert [r for r in server.runs() if r['due_at'] and belfry.instant_of(r['due_at']) > deleted] == []
    # the name is free again, and the new deployment is another one
    other = server.create('bell', NEVER, receiver.url)['id']
    assert other != id_
    assert server.runs(other) == []


@pytest.mark.parametrize('kill', [False, True])
def test_t045_disable_holds_after_a_restart(server, receiver, kill):
    id_ = server.create('bell', EVERY_SECOND, receiver.url)['id']
    receiver.wait_calls(1)
    server.disable(id_)
    answered = time.time()
    server.kill() if kill else server.stop()
    server.start()
    belfry.wait_until(int(server.answering) + 2.2)
    server.wait_all_ended(id_)
    assert [d for d in receiver.runs_by_due() if d > answered] == []
