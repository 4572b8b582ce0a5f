"""Kills at any moment lose nothing and double nothing (storm.py). Both storms rage at once, while other
tests run; here they are judged."""
import collections

import belfry
import storm


def judge(done):
    """What holds for both: exactly one Run id per covered due time, every Run ends, nothing early."""
    calls = collections.defaultdict(list)
    for call in done.receiver.calls:
        calls[(done.ids[int(call.path[1:])], call.due_at)].append(call)
    covered = done.covered()
    assert len(covered) >= 20
    for id_ in done.ids:
        for due in covered:
            assert {c.run for c in calls[(id_, due)]} == {belfry.due_id(id_, due)}, (id_, due)
            assert done.statuses[id_].get(due) == 'COMPLETED', (id_, due, done.statuses[id_].get(due))
        # whatever was made has ended, and was called
        for due, status in done.statuses[id_].items():
            if due <= done.ended:
                assert status == 'COMPLETED', (id_, due, status)
                assert calls[(id_, due)]
    for (id_, due), repeats in calls.items():
        assert {c.run for c in repeats} == {belfry.due_id(id_, due)}
        assert all(c.arrived >= due for c in repeats), (id_, due, [c.arrived - due for c in repeats])
        fences = [c.fence for c in repeats]
        assert fences == sorted(set(fences)), (id_, due, fences)
        # a call is repeated only because its holder was killed: after it had taken the Run (the fence is that
        # moment; a call that was on its way may arrive just after the death) and before the last call
        kills = sum(repeats[0].fence / 1e6 <= died <= repeats[-1].arrived for _, _, died in done.lives)
        assert len(repeats) <= 1 + kills, (id_, due, [(c.arrived, c.fence) for c in repeats], done.lives)
    assert len(done.lives) == storm.KILLS + 1
    assert len(done.open_at_kill) == done.crashes == storm.KILLS // 2
    assert min(done.open_at_kill) > 0


def test_b01_kills_at_twenty_moments_without_grace(storms):
    done = storms['PT0S'].join()
    judge(done)
    uncovered = done.uncovered()
    assert uncovered
    fired = {call.due_at for call in done.receiver.calls}
    for due in uncovered:
        assert due not in fired, due
        assert all(due not in done.statuses[id_] for id_ in done.ids)
        for why in done.whys[due]:
            assert why['outcome'] == 'gap', why
            assert 'no process' in why['reason'], why


def test_b01_kills_at_twenty_moments_with_a_minute_of_grace(storms):
    done = storms[None].join()
    judge(done)
    assert done.uncovered()
    for id_ in done.ids:
        for due in done.due_times():
            assert done.statuses[id_].get(due) == 'COMPLETED', (id_, due, done.statuses[id_].get(due))
    for due in done.uncovered():
        for why in done.whys[due]:
            assert why['outcome'] == 'run', why
