"""Ceilings, many deployments, and more Runs than can be dispatched."""
import threading
import time

import belfry

NEVER = '0 0 1 1 *'
MANY = 10000


def test_t067_t068_t069_a_ceiling_of_active_schedules(make_server, receiver):
    server = make_server(max_active_schedules=64)
    body = {'rule': {'cron': NEVER}, 'target': {'kind': 'webhook', 'url': receiver.url}}
    client = server.client()
    ids = []
    for i in range(64):
        reply = client.ask('POST', '/v1/deployments', {'name': f'n{i}', **body})
        assert reply.status == 201
        ids.append(reply.json['id'])

    def enabled():
        return len(server.items('/v1/deployments', enabled='true'))
    reply = client.ask('POST', '/v1/deployments', {'name': 'one-more', **body})
    assert (reply.status, reply.code) == (409, 'SCHEDULE_CAPACITY_EXCEEDED')
    assert (enabled(), len(server.items('/v1/deployments'))) == (64, 64)  # not half-stored
    # T068: an edit of one of them
    assert server.edit(ids[0], {'rule': {'cron': '1 1 1 1 *'}, 'prompt': 'x'})['revision'] == 2
    # T069: a disabled one is no active one, until it is enabled
    extra = server.create('extra', NEVER, receiver.url, enabled=False)['id']
    reply = server.api('POST', f'/v1/deployments/{extra}/enable')
    assert (reply.status, reply.code) == (409, 'SCHEDULE_CAPACITY_EXCEEDED')
    reply = server.api('PATCH', f'/v1/deployments/{extra}', {'enabled': True, 'prompt': 'y'})
    assert (reply.status, reply.code) == (409, 'SCHEDULE_CAPACITY_EXCEEDED')
    assert server.show(extra)['enabled'] is False and server.show(extra)['prompt'] == ''
    assert enabled() == 64
    # a place becomes free
    server.disable(ids[1])
    assert server.enable(extra)['enabled'] is True
    assert enabled() == 64
    # T070: 63, and two at once
    server.delete(ids[2])
    for _ in range(5):
        replies = []
        threads = [threading.Thread(target=lambda name=name: replies.append(
            server.api('POST', '/v1/deployments', {'name': name, **body}))) for name in ('left', 'right')]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(r.status for r in replies) == [201, 409], [r.body for r in replies]
        assert enabled() == 64
        server.delete(next(r for r in replies if r.status == 201).json['id'])
    client.close()
    server.stop()
    server.start()
    assert enabled() == 63


def create_many(server, count, cron, url):
    """Through the API, over eight connections. Returns the ids."""
    ids = []

    def create(begin):
        client = server.client()
        for i in range(begin, count, 8):
            reply = client.ask('POST', '/v1/deployments', {
                'name': f'n{i}', 'rule': {'cron': cron}, 'target': {'kind': 'webhook', 'url': url}})
            assert reply.status == 201, reply.body
            ids.append(reply.json['id'])
        client.close()
    threads = [threading.Thread(target=create, args=(begin,)) for begin in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == count
    return ids


def test_t073_ten_thousand_deployments_fire_at_one_second(make_server, receiver):
    """All are due every twenty seconds; the first of these seconds after the last was made is looked at."""
    server = make_server(per_host=64)
    few_threads = server.threads()
    ids = create_many(server, MANY, '*/20 * * * * *', receiver.url)
    created = time.time()
    first = int(created) // 20 * 20 + 20
    threads = 0
    peak = 0

    def all_called():
        nonlocal threads, peak
        threads = max(threads, server.threads())
        peak = max(peak, server.memory())
        return len([c for c in receiver.calls if c.due_at == first]) >= MANY
    belfry.wait_for(all_called, 'ten thousand calls', 150, 0.2)
    by_run = {c.run for c in receiver.seen(due_at=float(first))}
    assert by_run == {belfry.due_id(id_, first) for id_ in ids}
    assert len(receiver.seen(due_at=float(first))) == MANY
    assert all(c.arrived >= c.due_at for c in receiver.calls)
    assert threads <= few_threads + 4, (few_threads, threads)
    assert peak < 200 << 20, peak


def test_b13_an_overload_is_bounded_and_oldest_first(make_server, receiver):
    """Far more Runs come due than three calls at once can carry."""
    server = make_server(max_concurrent=3)
    receiver.answer = lambda _: belfry.Answer(delay=0.1)
    ids = create_many(server, 100, '* * * * * *', receiver.url)
    receiver.wait_calls(30)

    def backlog():
        metrics = server.metrics()
        return metrics['belfry_runs_open{state="queued"}'], metrics['belfry_oldest_queued_seconds']
    belfry.wait_for(lambda: backlog()[0] > 300 and backlog()[1] > 1, 'a backlog', 30, 0.1)
    before = server.memory()
    earlier = backlog()
    receiver.wait_calls(len(receiver.calls) + 200, 30)
    later = backlog()
    assert later[0] > earlier[0] and later[1] > earlier[1], (earlier, later)
    assert server.memory() - before < 16 << 20
    assert receiver.most_open <= 3
    # oldest first: among the calls in the order of their arrival, due times never fall by more than what
    # three at once may swap
    dues = [c.due_at for c in receiver.calls]
    assert all(b >= a - 1 for a, b in zip(dues, dues[1:])), dues
    assert server.api('GET', '/readyz').status == 200
    for id_ in ids:
        server.disable(id_)
    assert backlog()[0] == 0


def test_l12_at_most_so_many_calls_at_once_and_all_end(make_server, receiver):
    server = make_server(max_concurrent=3)
    receiver.answer = lambda _: belfry.Answer(delay=0.2)
    at = belfry.spot(1.5)
    ids = create_many(server, 10, belfry.cron_at(at), receiver.url)
    receiver.wait_calls(10)
    assert receiver.most_open == 3
    assert {c.run for c in receiver.calls} == {belfry.due_id(id_, at) for id_ in ids}
    assert [r['status'] for r in server.wait_all_ended()] == ['COMPLETED'] * 10


def test_one_slow_host_leaves_places_for_others(make_server, receiver):
    """per_host bounds the calls to one target host; Runs for another host start meanwhile."""
    server = make_server(per_host=2)
    gate = threading.Event()
    receiver.answer = lambda _: belfry.Answer(gate=gate)
    other = belfry.Receiver()
    try:
        slow = server.create('slow', NEVER, receiver.url)['id']
        quick = server.create('quick', NEVER, other.url.replace('127.0.0.1', 'localhost'))['id']
        runs = [server.run_now(slow)['id'] for _ in range(6)]
        receiver.wait_calls(2)
        server.wait_run(server.run_now(quick)['id'], seconds=3)
        assert receiver.most_open == 2
        gate.set()
        for run in runs:
            server.wait_run(run)
    finally:
        gate.set()
        other.close()
