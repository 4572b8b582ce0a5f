"""A store that cannot be written for a while: calls answer unavailable within their time, nothing made is
lost, and work resumes by itself."""
import os
import pathlib
import resource
import subprocess
import threading
import time

import pytest

import belfry

NEVER = '0 0 1 1 *'
EVERY_SECOND = '* * * * * *'


class FileSizeLimit:
    """No file of the process may grow or be written: as on a full disk, and without being root. room: but for
    its first so many bytes; less than a page of the store, and enough for the log."""

    def __init__(self, server, room=0):
        self.server = server
        self.room = room

    def __enter__(self):
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (self.room, resource.RLIM_INFINITY))
        return self

    def __exit__(self, *_):
        if self.server.is_running():
            resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def expect_unavailable(server, method, path, body=None, headers=()):
    begun = time.monotonic()
    reply = server.api(method, path, body, headers)
    assert (reply.status, reply.code) == (503, 'SCHEDULE_EXECUTION_UNAVAILABLE'), (path, reply.status, reply.body)
    assert time.monotonic() - begun < 12, path
    assert int(reply.headers['Retry-After']) > 0


def changes(id_, run):
    target = {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}
    return [('POST', '/v1/deployments', {'name': 'lost', 'rule': {'cron': NEVER}, 'target': target}),
            ('PATCH', f'/v1/deployments/{id_}', {'prompt': 'lost'}),
            ('POST', f'/v1/deployments/{id_}/runs', None),
            ('POST', f'/v1/runs/{run}/replay', None),
            ('POST', f'/v1/deployments/{id_}/disable', None),
            ('DELETE', f'/v1/deployments/{id_}', None)]


def test_t065_every_change_answers_unavailable_and_changes_nothing(server, receiver):
    id_ = server.create('bell', NEVER, receiver.url, prompt='kept')['id']
    run = server.wait_run(server.run_now(id_)['id'])['id']
    before = server.show(id_)
    with FileSizeLimit(server):
        for change in changes(id_, run):
            expect_unavailable(server, *change)
        assert server.api('GET', '/healthz').status == 200
        # reading needs no room: it answers, and in time
        for path in (f'/v1/deployments/{id_}', '/v1/deployments', '/v1/runs', f'/v1/runs/{run}'):
            assert server.api('GET', path).status in (200, 503)
    assert server.is_running()
    belfry.wait_for(lambda: server.api('PATCH', f'/v1/deployments/{id_}', {'prompt': 'kept'}).status == 200,
                    'recovery', 20, 0.1)
    after = server.show(id_)
    assert [d['name'] for d in server.items('/v1/deployments')] == ['bell']
    for member in ('name', 'enabled', 'rule', 'prompt', 'target'):
        assert after[member] == before[member]
    assert [r['id'] for r in server.runs()] == [run]
    server.stop()
    server.start()
    assert [r['id'] for r in server.runs()] == [run]


def through_an_outage(server, receiver, outage):
    """Due every second before, in and after the outage: every due time is fired, late, once; a call that
    was answered within it is recorded afterwards."""
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate) if call.path == '/gate' else None
    held = server.create('held', NEVER, receiver.url + '/gate')['id']
    run = server.run_now(held)['id']
    receiver.wait_calls(1, path='/gate')
    id_ = server.create('bell', EVERY_SECOND, receiver.url + '/bell', policies={'grace': 'PT0S'})['id']
    receiver.wait_calls(2, path='/bell')
    with outage:
        begun = time.time()
        gate.set()
        belfry.wait_for(lambda: server.api('POST', f'/v1/deployments/{id_}/runs').status == 503, 'the outage')
        belfry.wait_until(int(begun) + 6.5)
        assert server.is_running()
        assert server.api('POST', f'/v1/deployments/{id_}/runs').status == 503
        ended = time.time()
    for due in range(int(begun) - 1, int(ended) + 3):
        call = receiver.wait_calls(1, 30, path='/bell', due_at=float(due))[0]
        assert call.run == belfry.due_id(id_, due)
        assert call.arrived >= due
    server.wait_run(run)
    assert all(len(runs) == 1 for runs in receiver.runs_by_due(path='/bell').values())
    belfry.wait_for(server.is_ready, 'readiness', 30)
    assert len([c for c in receiver.seen(path='/gate') if c.run == run]) == 1
    for due in range(int(begun) + 1, int(ended)):
        server.wait_run(belfry.due_id(id_, due))


def test_t074_b14_work_resumes_by_itself(server, receiver):
    through_an_outage(server, receiver, FileSizeLimit(server))


def test_b21_a_store_that_is_away_for_long_is_told_by_readyz(make_server, receiver):
    server = make_server(lease='PT0.6S', beat='PT0.1S')
    assert server.metrics()['belfry_store_up'] == 1
    with FileSizeLimit(server, room=4000):
        belfry.wait_for(lambda: not server.is_ready(), 'readyz 503', 20)
        reply = server.api('GET', '/readyz')
        assert reply.code == 'SCHEDULE_EXECUTION_UNAVAILABLE'
        assert 'store' in reply.detail or 'keeper' in reply.detail
        assert server.metrics()['belfry_store_up'] == 0
        assert server.api('GET', '/healthz').status == 200
        assert 'event=not_ready reason="the store does not answer"' in server.log_text()
    belfry.wait_for(server.is_ready, 'readiness', 20)
    assert server.metrics()['belfry_store_up'] == 1
    id_ = server.create('bell', NEVER, receiver.url)['id']
    server.wait_run(server.run_now(id_)['id'])


class FullDisk:
    """A small file system of its own, filled to the last byte. Needs the right to mount."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.filler = self.folder / 'filler'

    def __enter__(self):
        with open(self.filler, 'wb', buffering=0) as file:
            piece = b'x' * 4096
            try:
                while True:
                    file.write(piece)
            except OSError:
                pass
        return self

    def __exit__(self, *_):
        self.filler.unlink()


class SmallDisk:
    """The folder of a server; `fill` is a stretch of time in which nothing fits on it."""

    def __init__(self, folder, is_mounted):
        self.folder = folder
        self.is_mounted = is_mounted

    def fill(self, server):
        # without a file system of its own, no file of the process may grow: EFBIG, not ENOSPC
        return FullDisk(self.folder) if self.is_mounted else FileSizeLimit(server)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / 'disk'
    folder.mkdir()
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', str(folder)],
                             capture_output=True)
    is_mounted = mounted.returncode == 0
    yield SmallDisk(folder, is_mounted)
    if is_mounted:
        subprocess.run(['umount', '-l', str(folder)], check=True)


def test_b14_a_full_disk(small_disk, make_server, receiver):
    server = make_server(folder=small_disk.folder)
    through_an_outage(server, receiver, small_disk.fill(server))
    server.close()


def test_b14_a_kill_while_the_disk_is_full(small_disk, make_server, receiver):
    """The next start works once there is room, and finds all that was made."""
    server = make_server(folder=small_disk.folder)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    runs = {server.wait_run(server.run_now(id_)['id'])['id'] for _ in range(3)}
    with small_disk.fill(server):
        assert server.api('POST', f'/v1/deployments/{id_}/runs').status == 503
        server.kill()
    server.start()
    assert {r['id'] for r in server.runs(id_)} == runs
    server.wait_run(server.run_now(id_)['id'])
    server.close()


def test_b14_a_store_that_is_locked_by_somebody_else(server, receiver):
    """Another program holds the store's write lock: bounded answers, and then all goes on."""
    import sqlite3
    id_ = server.create('bell', EVERY_SECOND, receiver.url, policies={'grace': 'PT0S'})['id']
    receiver.wait_calls(1)
    other = sqlite3.connect(server.data / 'belfry.db', isolation_level=None, timeout=10)
    other.execute('BEGIN IMMEDIATE')
    begun = time.time()
    try:
        expect_unavailable(server, 'POST', f'/v1/deployments/{id_}/runs')
        belfry.wait_until(int(begun) + 3.2)
    finally:
        other.execute('ROLLBACK')
        other.close()
    ended = time.time()
    for due in range(int(begun), int(ended) + 2):
        receiver.wait_calls(1, 30, due_at=float(due))
    assert all(runs == {belfry.due_id(id_, due)} for due, runs in receiver.runs_by_due().items())
    server.wait_run(server.run_now(id_)['id'])


@pytest.mark.parametrize('content', [b'', b'no database', b'SQLite format 3\0' + os.urandom(4096), os.urandom(100)])
def test_a_file_that_is_no_store_is_refused_at_start_and_left_alone(tmp_path, content):
    data = tmp_path / 'data'
    data.mkdir()
    (data / 'belfry.db').write_bytes(content)
    server = belfry.Server(folder=tmp_path)
    try:
        if content == b'':
            server.start()  # an empty file is an empty store
            return
        with pytest.raises(AssertionError):
            server.start()
        assert (data / 'belfry.db').read_bytes() == content
        assert server.log_text().splitlines()[-1].startswith('error: ')
    finally:
        if server.process is not None and server.process.poll() is not None:
            server.wait_death()
        server.close()
