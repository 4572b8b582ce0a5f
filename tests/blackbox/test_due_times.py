"""Which due times fire: across stops, kills, freezes, edits and switches. Times are seconds, so that a
test is short; every deployment here has a grace of nothing unless it says so."""
import threading
import time

import pytest

import belfry

NO_GRACE = {'grace': 'PT0S'}
EVERY_SECOND = '* * * * * *'


@pytest.fixture
def quick(make_server):
    """Leases of a second: what stands still longer is told apart from what stood still shorter."""
    return make_server(lease='PT1.5S', beat='PT0.25S')


def due_times(receiver):
    return sorted(receiver.runs_by_due())


def expect_one_run_each(receiver, **wanted):
    assert all(len(ids) == 1 for ids in receiver.runs_by_due(**wanted).values())


def test_t005_t007_what_passed_while_nothing_ran_is_not_made_up_for(quick, receiver):
    id_ = quick.create('bell', EVERY_SECOND, receiver.url, policies=NO_GRACE)['id']
    receiver.wait_calls(2)
    assert quick.stop() == 0
    stopped = time.time()
    last = max(due_times(receiver))
    belfry.wait_until(int(stopped) + 3.5)
    quick.start()
    started = quick.answering
    first = belfry.next_second(1)
    receiver.wait_calls(1, due_at=float(first))
    expect_one_run_each(receiver)
    between = [d for d in due_times(receiver) if last < d < int(started)]
    assert [d for d in between if stopped < d < quick.spawned] == []
    for missed in range(int(stopped) + 1, int(quick.spawned)):
        why = quick.why(id_, missed)
        assert (why['outcome'], why['run']) == ('gap', None)
        assert 'no process' in why['reason']
    # each stands for its own due time alone
    assert all(r['stands_for'] == 1 for r in quick.runs(id_))


def test_t006_t050_what_passed_while_disabled_never_fires(quick, receiver):
    id_ = quick.create('bell', EVERY_SECOND, receiver.url)['id']  # with a minute of grace
    receiver.wait_calls(1)
    quick.disable(id_)
    disabled = time.time()
    belfry.wait_until(int(disabled) + 3.2)
    before = time.time()
    quick.enable(id_)
    enabled = time.time()
    receiver.wait_calls(1, due_at=float(int(enabled) + 2))
    assert [d for d in due_times(receiver) if disabled < d <= before] == []
    for due in range(int(disabled) + 1, int(before)):
        why = quick.why(id_, due)
        assert why['run'] is None
        assert 'disabled' in why['reason'], why


def test_t009_b03_neither_create_nor_edit_fires(server, receiver):
    at = belfry.spot(3, 1)
    id_ = server.create('bell', belfry.cron_at(at), receiver.url)['id']
    for changes in ({'rule': {'cron': belfry.cron_at(at, at + 1)}}, {'timezone': 'Europe/Berlin'},
                    {'prompt': 'x'}, {'policies': {'grace': 'PT10M'}}, {'enabled': True}):
        revision = server.edit(id_, changes)['revision']
    assert time.time() < at
    assert receiver.calls == []
    calls = receiver.wait_calls(2, 15)
    assert [c.due_at for c in calls] == [at, at + 1]
    assert all(c.arrived >= c.due_at and c.json['run']['revision'] == revision for c in calls)


def test_b03_the_first_due_time_of_a_new_rule_is_after_the_save(server, receiver):
    """Edits that would already be due, had the new rule held before: they make nothing."""
    id_ = server.create('bell', '0 0 1 1 *', receiver.url, policies={'grace': 'PT10M'})['id']
    before = time.time()
    server.edit(id_, {'rule': {'cron': EVERY_SECOND}})
    saved = time.time()
    calls = receiver.wait_calls(2)
    assert min(c.due_at for c in calls) > before
    assert min(c.due_at for c in calls) <= saved + 1
    server.edit(id_, {'rule': {'cron': '0 0 1 1 *'}})
    settled = time.time()
    runs = server.wait_all_ended(id_)
    assert max(belfry.instant_of(r['due_at']) for r in runs) <= settled


def test_t014_after_an_edit_only_the_new_rule_fires(server, receiver):
    first = belfry.spot(2, 7)
    id_ = server.create('bell', belfry.cron_at(first, first + 2, first + 6), receiver.url)['id']
    server.edit(id_, {'rule': {'cron': belfry.cron_at(first + 1, first + 3, first + 7)}})
    assert time.time() < first
    receiver.wait_calls(1, 20, due_at=float(first + 7))
    assert due_times(receiver) == [first + 1, first + 3, first + 7]


def test_t010_a_short_standstill_fires_late_with_its_true_due_time(make_server, receiver):
    server = make_server(lease='PT20S', beat='PT1S')
    server.create('bell', EVERY_SECOND, receiver.url, policies=NO_GRACE)
    receiver.wait_calls(2)
    belfry.wait_until(server.answering + 2.5)
    server.freeze()
    frozen = time.time()
    belfry.wait_until(int(frozen) + 3.3)
    server.thaw()
    thawed = time.time()
    over = [d for d in range(int(frozen) + 1, int(thawed) + 1)]
    for due in over:
        call = receiver.wait_calls(1, due_at=float(due))[0]
        assert call.arrived >= due
    expect_one_run_each(receiver)
    late = receiver.seen(due_at=float(over[0]))[0]
    assert late.arrived >= thawed - 0.1


def test_t010_b08_a_long_standstill_is_a_gap(quick, receiver):
    id_ = quick.create('bell', EVERY_SECOND, receiver.url, policies=NO_GRACE)['id']
    graced = quick.create('graced', EVERY_SECOND, receiver.url + '/graced')['id']
    receiver.wait_calls(2, path='/')
    belfry.wait_until(quick.answering + 1)
    quick.freeze()
    frozen = time.time()
    belfry.wait_until(int(frozen) + 5.3)
    quick.thaw()
    thawed = time.time()
    receiver.wait_calls(1, path='/', due_at=float(int(thawed) + 3))
    over = [d for d in range(int(frozen) + 2, int(thawed))]
    assert len(over) >= 3
    for due in over:
        assert receiver.seen(path='/', due_at=float(due)) == []
        assert quick.why(id_, due)['outcome'] == 'gap'
        # the same with the default grace of a minute: its own Run each
        receiver.wait_calls(1, path='/graced', due_at=float(due))
        assert quick.why(graced, due)['outcome'] == 'run'
    expect_one_run_each(receiver, path='/')
    expect_one_run_each(receiver, path='/graced')


def test_t041_a_holder_that_lost_its_lease_stops_calling(quick, receiver):
    """A Run waits for its second attempt while the process is frozen past its lease: on waking it first
    gets a lease again (with a higher fence), and only then calls."""
    receiver.answer = lambda call: belfry.Answer(503) if len(receiver.seen(run=call.run)) == 1 else None
    id_ = quick.create('bell', '0 0 1 1 *', receiver.url,
                       policies={'retry': {'first_delay': 'PT1S', 'max_delay': 'PT1S'}})['id']
    run = quick.run_now(id_)['id']
    receiver.wait_calls(1, run=run)
    quick.freeze()
    belfry.wait_until(time.time() + 4)
    quick.thaw()
    calls = receiver.wait_calls(2, run=run)
    quick.wait_run(run)
    assert len(receiver.seen(run=run)) == 2
    assert calls[1].fence > calls[0].fence


@pytest.mark.parametrize('is_answered', [True, False])
def test_t041_an_open_call_over_a_long_freeze_is_taken_up_once(quick, receiver, is_answered):
    """The answer came while the process was frozen past its lease, or is still to come when it wakes up: the
    lost holder calls no more, nor stores an answer; the Run is taken up once, under a higher fence."""
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate) if len(receiver.seen(run=call.run)) == 1 else None
    id_ = quick.create('bell', '0 0 1 1 *', receiver.url)['id']
    run = quick.run_now(id_)['id']
    lost = receiver.wait_calls(1, run=run)[0].fence
    quick.freeze()
    frozen = time.time()
    if is_answered:
        gate.set()
    belfry.wait_until(frozen + 4)
    quick.thaw()
    ended = quick.wait_run(run)
    gate.set()
    fences = [c.fence for c in receiver.seen(run=run)]
    if is_answered:
        assert len(fences) <= 2
    else:
        assert len(fences) == 2  # the first call is never answered: the second one ended it
    assert fences == sorted(set(fences))
    assert fences.count(lost) == 1
    assert ended['session_id'] is not None
    assert {r['id'] for r in quick.runs(id_)} == {run}


def test_b24_grace_on_start(make_server, receiver):
    """A due time a few seconds ago fires once on start; one beyond the grace goes by the missed policy."""
    server = make_server()
    at = belfry.spot(2)
    young = server.create('young', belfry.cron_at(at), receiver.url + '/young')['id']
    old = server.create('old', belfry.cron_at(at), receiver.url + '/old', policies={'grace': 'PT2S'})['id']
    died = server.kill()
    assert died < at
    belfry.wait_until(at + 3)
    server.start()
    calls = receiver.wait_calls(1, path='/young')
    assert calls[0].due_at == at
    assert calls[0].run == belfry.due_id(young, at)
    server.wait_run(calls[0].run)
    why = belfry.wait_for(lambda: (w := server.why(old, at))['outcome'] != 'pending' and w, 'a decision')
    assert (why['outcome'], why['run']) == ('gap', None)
    server.stop()
    server.start()
    assert server.why(young, at)['run']['id'] == calls[0].run
    assert len(receiver.seen(path='/young')) == 1
    assert receiver.seen(path='/old') == []


def test_b02_every_past_due_time_has_an_answer(server, receiver):
    id_ = server.create('bell', EVERY_SECOND, receiver.url)['id']
    made = time.time()
    receiver.wait_calls(3)
    due = [r for r in server.get(f'/v1/deployments/{id_}/due?n=200&from={belfry.text_of(made - 3)}'
                                 f'&to={belfry.text_of(int(time.time()) - 1)}')['items']]
    runs = {r['due_at']: r['id'] for r in server.runs(id_)}
    for item in due:
        why = server.why(id_, belfry.instant_of(item['due_at']))
        assert why['outcome'] == item['outcome']
        assert item['run_id'] == runs.get(item['due_at'])
    assert server.why(id_, made - 60)['outcome'] == 'before'
    assert server.why(id_, made + 3600)['outcome'] in ('coming', 'not_due')
    latest = server.get(f'/v1/deployments/{id_}/why')
    assert latest['run']['id'] in {r['id'] for r in server.runs(id_)}


def test_b11_l08_spread_runs_start_when_their_ids_say_and_no_more_than_allowed(server, receiver):
    rule = {'cron': EVERY_SECOND, 'spread': 'PT2S', 'max_fires': 4}
    id_ = server.create('bell', None, receiver.url, rule=rule)['id']
    receiver.wait_calls(4)
    runs = belfry.wait_for(lambda: (r := server.runs(id_)) and all(x['started_at'] for x in r) and r, 'four starts')
    assert len(runs) == 4
    for run in runs:
        offset = int(run['id'].replace('-', '')[-12:], 16) % 2_000_000 // 1000 * 1000
        due, ready, started = (belfry.instant_of(run[k]) for k in ('due_at', 'ready_at', 'started_at'))
        assert round((ready - due) * 1e6) == offset
        assert started >= ready and run['lateness_ms'] == pytest.approx((started - ready) * 1000, abs=2)
    shown = server.get(f'/v1/deployments/{id_}')
    assert (shown['phase'], shown['next_due']) == ('exhausted', [])
    assert len(receiver.runs_by_due()) == 4


def test_t019_sixty_four_deployments_of_one_rule_are_a_run_each(server, receiver):
    at = belfry.spot(3)
    ids = [server.create(f'bell-{i}', belfry.cron_at(at), receiver.url + f'/{i}')['id'] for i in range(64)]
    assert time.time() < at
    receiver.wait_calls(64, due_at=float(at))
    assert {c.run for c in receiver.calls} == {belfry.due_id(id_, at) for id_ in ids}
    assert len(receiver.calls) == 64


def test_t008_a_slow_run_does_not_hold_up_the_next(server, receiver):
    """Every Run takes three seconds, and one comes due every second."""
    receiver.answer = lambda _: belfry.Answer(delay=3)
    id_ = server.create('bell', EVERY_SECOND, receiver.url)['id']
    receiver.wait(lambda _: receiver.open >= 3, 'three open calls at once')
    server.disable(id_)
    assert all(r['status'] in ('COMPLETED', 'CANCELLED') for r in server.wait_all_ended(id_))
    expect_one_run_each(receiver)


def test_what_the_late_limit_cuts_off_is_a_gap(make_server, receiver):
    """Frozen for less than a lease, so all is covered; what is older than the limit by then is missed."""
    server = make_server(lease='PT20S', beat='PT1S')
    id_ = server.create('bell', EVERY_SECOND, receiver.url, policies={'late_limit': 'PT1.5S', **NO_GRACE})['id']
    receiver.wait_calls(1)
    belfry.wait_until(server.answering + 2.5)
    server.freeze()
    frozen = time.time()
    belfry.wait_until(int(frozen) + 5.2)
    server.thaw()
    thawed = time.time()
    receiver.wait_calls(1, due_at=float(int(thawed)))
    receiver.wait_calls(1, due_at=float(int(thawed) + 1))
    for due in range(int(frozen) + 1, int(thawed) - 1):
        assert receiver.seen(due_at=float(due)) == []
        assert server.why(id_, due)['outcome'] == 'gap'
