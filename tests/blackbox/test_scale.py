"""Large payloads, and thousands of calls at once to a receiver that takes its time. The long forms are torture."""
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time

import pytest

import belfry
import test_capacity

NEVER = '0 0 1 1 *'
MEBIBYTE = 1 << 20


class SlowReceiver:
    """slow_receiver.py."""

    def __init__(self, delay):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        self.process = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).with_name('slow_receiver.py')), str(delay)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f'http://127.0.0.1:{self.process.stdout.readline().strip()}/hook'

    def counts(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        return tuple(int(n) for n in self.process.stdout.readline().split())

    def close(self):
        self.process.kill()
        self.process.communicate()


def descriptors(server):
    return len(os.listdir(f'/proc/{server.pid}/fd'))


def hold_many(make_server, receiver, count, delay, minutes):
    """`count` calls are open at once to a slow receiver; what else is due meanwhile starts on time."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < count + 1000:
        pytest.fail(f'{count + 1000} descriptors are needed')
    slow = SlowReceiver(delay)
    try:
        server = make_server(max_concurrent=count + 100, per_host=count)
        ids = test_capacity.create_many(server, count, NEVER, slow.url)
        other = server.create('other', '* * * * * *', receiver.url)['id']
        receiver.wait_calls(2)
        before = server.memory()
        clients = [server.client() for _ in range(8)]

        def press(client, some):
            for id_ in some:
                assert client.ask('POST', f'/v1/deployments/{id_}/runs').status == 202
        threads = [threading.Thread(target=press, args=(client, ids[i::8])) for i, client in enumerate(clients)]
        begun = time.time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        peak_files = peak_memory = 0

        def all_were_open():
            nonlocal peak_files, peak_memory
            peak_files = max(peak_files, descriptors(server))
            peak_memory = max(peak_memory, server.memory() - before)
            return slow.counts()[0] >= count
        belfry.wait_for(all_were_open, 'every call arrives', 60 * minutes, 0.2)
        peak = slow.counts()[2]
        assert server.is_ready()
        server.get('/v1/deployments?limit=1')
        belfry.wait_for(lambda: server.metrics()['belfry_runs_total{trigger="manual",status="COMPLETED"}'] >= count,
                        'every Run ends', 60 * minutes, 0.5)
        late = sorted(c.arrived - c.due_at for c in receiver.calls if c.due_at and c.due_at > begun)
        print(f'{count} calls: {peak} open at once, {peak_files} descriptors, {peak_memory >> 20} MB more, '
              f'others late p50 {late[len(late) // 2] * 1000:.0f} ms, worst {late[-1] * 1000:.0f} ms')
        assert slow.counts()[:2] == (count, 0)  # each once
        assert peak_files < count + 1500
        assert peak_memory < 16 * 1024 * count + (64 << 20)
        assert server.show(other)['enabled'] is True
        return peak, late
    finally:
        slow.close()


def test_a_thousand_calls_wait_at_once_and_others_are_on_time(make_server, receiver):
    peak, late = hold_many(make_server, receiver, 1000, 8, 2)
    assert peak == 1000
    assert late[len(late) // 2] < 1


@pytest.mark.torture
def test_ten_thousand_calls_wait_at_once_and_others_are_on_time(make_server, receiver):
    peak, late = hold_many(make_server, receiver, 10000, 30, 5)
    assert peak > 5000
    assert late[len(late) // 2] < 1


def send_large(make_server, receiver, count):
    """`count` prompts of one mebibyte, all due at one second: held one after another, not all at once."""
    budget = 256 * MEBIBYTE  # max_payload_bytes
    text = 'a "quoted"\tline \\ of ünïcödé 🐝 and more\n'
    prompt = (text * (MEBIBYTE // len(text.encode()) + 1)).encode()[:MEBIBYTE].decode(errors='ignore')
    lengths = []
    receiver.answer = lambda call: lengths.append(call.json['prompt'] == prompt) or belfry.Answer(body=b'ok')
    server = make_server(per_host=8)
    client = server.client(60)
    for i in range(count):
        reply = client.ask('POST', '/v1/deployments', {
            'name': f'large-{i}', 'rule': {'cron': '*/20 * * * * *'}, 'prompt': prompt, 'enabled': False,
            'target': {'kind': 'webhook', 'url': receiver.url}})
        assert reply.status == 201, reply.body[:500]
    ids = []
    cursor = ''
    largest = pages = 0
    while cursor is not None:  # a page ends early where what it holds is large
        page = client.ask('GET', f'/v1/deployments?limit=200&cursor={cursor}')
        assert page.status == 200
        ids += [item['id'] for item in page.json['items']]
        largest = max(largest, len(page.body))
        pages += 1
        cursor = page.json['next_cursor']
    assert len(set(ids)) == count and largest < 100 * MEBIBYTE
    before = server.memory()
    for id_ in ids:
        assert client.ask('POST', f'/v1/deployments/{id_}/runs').status == 202
    peak = 0

    def all_arrived():
        nonlocal peak
        peak = max(peak, server.memory())
        return len(lengths) >= count
    belfry.wait_for(all_arrived, 'every prompt arrives', 60 + count, 0.1)
    print(f'{count} prompts of 1 MiB: {before >> 20} MB before, at most {peak >> 20} MB, {pages} pages, '
          f'the largest of {largest >> 20} MB')
    assert all(lengths)
    assert peak < budget * 2 + (64 << 20)
    client.close()


def test_a_hundred_prompts_of_a_mebibyte_arrive_whole(make_server, receiver):
    send_large(make_server, receiver, 100)


@pytest.mark.torture
def test_a_thousand_prompts_of_a_mebibyte_are_not_held_at_once(make_server, receiver):
    send_large(make_server, receiver, 1000)
