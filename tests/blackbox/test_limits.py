"""Bounds that hold against what others send, and retention."""
import signal
import socket
import subprocess
import threading
import time

import pytest

import belfry

NEVER = '0 0 1 1 *'


def test_an_answer_of_a_hundred_megabytes_is_cut(server, receiver):
    receiver.answer = lambda _: belfry.Answer(body=b'0123456789' * 10_000_000)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    before = server.memory()
    run = server.wait_run(server.run_now(id_)['id'], seconds=60)
    assert run['output_truncated'] is True
    assert 0 < len(server.api('GET', f'/v1/runs/{run["id"]}/output').body) <= 64 * 1024
    assert server.memory() - before < 20 << 20


def test_an_answer_that_drips_for_ever_ends_by_the_time_limit(server, receiver):
    """Headers at once, a byte now and then, and no end."""
    receiver.answer = lambda _: belfry.Answer(body=b'x' * 100, drip=0.2)
    id_ = server.create('bell', NEVER, receiver.url, policies={'timeout': 'PT1S', 'retry': {'max_attempts': 1}})['id']
    begun = time.monotonic()
    ended = server.wait_run(server.run_now(id_)['id'], 'FAILED')
    assert time.monotonic() - begun < 6
    assert ended['error']['code'] == 'TIMEOUT'


def test_two_thousand_presses_of_run_now(server, receiver):
    id_ = server.create('bell', NEVER, receiver.url)['id']
    made = set()

    def press():
        client = server.client()
        for _ in range(250):
            reply = client.ask('POST', f'/v1/deployments/{id_}/runs')
            assert reply.status == 202
            made.add(reply.json['id'])
        client.close()
    threads = [threading.Thread(target=press) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2000
    receiver.wait_calls(2000, 60)
    runs = server.wait_all_ended(id_, 60)
    assert {r['id'] for r in runs} == {c.run for c in receiver.calls} == made
    assert {r['status'] for r in runs} == {'COMPLETED'}
    assert len(receiver.calls) == 2000


@pytest.mark.torture  # it is done once a minute
def test_retention_keeps_the_newest(make_server, receiver):
    server = make_server(keep_age='PT1S', keep_runs=10, keep_failed_age='PT1S')
    id_ = server.create('bell', NEVER, receiver.url)['id']
    made = [server.run_now(id_)['id'] for _ in range(40)]
    receiver.wait_calls(40)
    kept = belfry.wait_for(lambda: (r := server.runs(id_)) and len(r) <= 10 and r, 'retention', 90, 0.2)
    assert {r['id'] for r in kept} == set(sorted(made)[-10:])
    assert server.api('GET', f'/v1/runs/{sorted(made)[0]}').status == 404
    server.wait_run(server.run_now(id_)['id'])


def test_hangup_reads_again_and_disturbs_nothing(server, receiver):
    id_ = server.create('bell', '* * * * * *', receiver.url)['id']
    receiver.wait_calls(1)
    for _ in range(3):
        server.process.send_signal(signal.SIGHUP)
    last = belfry.next_second(1)
    receiver.wait_calls(1, due_at=float(last))
    by_due = receiver.runs_by_due()
    for due in range(int(min(by_due)), last + 1):
        assert by_due[float(due)] == {belfry.due_id(id_, due)}
    assert len(receiver.calls) == len({c.run for c in receiver.calls})


def test_a_hundred_idle_connections_do_not_keep_others_out(server):
    clients = [server.client() for _ in range(100)]
    for client in clients:
        assert client.ask('GET', '/healthz').status == 200
    assert server.api('GET', '/v1/deployments').status == 200
    for client in clients:
        assert client.ask('GET', '/healthz').status == 200
        client.close()


def test_clients_that_drip_do_not_keep_others_out(make_server, tmp_path):
    """Few descriptors, so that three hundred clients are far more than may be connected at once."""
    binary = tmp_path / 'belfry'
    binary.write_text(f'#!/bin/sh\nulimit -n 512\nexec {belfry.BINARY} "$@"\n')
    binary.chmod(0o755)
    server = make_server(binary=str(binary))
    host, port = server.url.removeprefix('http://').split(':')
    dripping = []
    for i in range(300):
        dripping.append(socket.create_connection((host, int(port)), timeout=10))
        dripping[-1].sendall((b'', b'G', b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ')[i % 3])
    for _ in range(20):
        assert server.api('GET', '/healthz').status == 200
        assert server.api('GET', '/readyz').status == 200
    for client in dripping:
        client.close()
    assert server.log_text().count('event=http_crowded') == 1


@pytest.mark.parametrize('arguments, words', [
    (['--identity', 'n' * 201], 'at most 200 bytes'), (['--identity', 'a\nb'], 'control characters'),
    (['--identity', 'a\x1b[2J'], 'control characters'), (['--identity', 'a\x7f'], 'control characters'),
    (['--store', 'memory:'], 'keeps nothing over a restart; use sqlite:PATH')])
def test_flags_that_cannot_be_meant_are_refused_at_the_start(tmp_path, arguments, words):
    done = subprocess.run([belfry.BINARY, 'serve', '--data', str(tmp_path / 'data'), '--listen', '127.0.0.1:0',
                           *arguments], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / 'data').exists()
