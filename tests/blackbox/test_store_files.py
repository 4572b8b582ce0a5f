"""What an operator may do to the files of a store by mistake, and how he is told."""

import os
import resource
import shutil
import subprocess

import belfry

NEVER = '0 0 1 1 *'


def start(data, *arguments, limit=None):
    """A start that is expected to fail: what it says."""
    def set_limit():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    result = subprocess.run([belfry.BINARY, 'serve', '--data', str(data), '--listen', '127.0.0.1:0', *arguments],
                            env=belfry.clean_environment(), timeout=60, text=True, capture_output=True,
                            preexec_fn=set_limit)
    assert result.returncode not in (0, -6, -11), result
    return result.stderr.splitlines()[-1]


def test_a_start_without_room_tells_the_cause(tmp_path):
    said = start(tmp_path / 'data', limit=8192)
    assert 'store file: ' in said, said


def test_a_store_under_a_second_name_is_refused(server, tmp_path):
    other = tmp_path / 'other'
    other.mkdir()
    os.link(server.data / 'belfry.db', other / 'belfry.db')
    said = start(other)
    assert '2 names' in said, said
    assert os.listdir(other) == ['belfry.db']


def test_a_store_whose_lock_file_was_removed_is_in_use(server):
    (server.data / 'belfry.db.lock').unlink()
    said = start(server.data)
    assert 'in use' in said, said


def test_b21_a_data_folder_that_was_moved_is_told_by_readyz_until_it_is_back(make_server, receiver):
    server = make_server(lease='PT0.6S', beat='PT0.1S')
    away = server.data.with_name('away')
    os.rename(server.data, away)
    belfry.wait_for(lambda: not server.is_ready(), 'readyz 503', 20)
    assert server.api('GET', '/v1/deployments').status == 503
    assert server.api('GET', '/healthz').status == 200
    assert 'restore it and restart' in server.log_text()
    os.rename(away, server.data)
    belfry.wait_for(server.is_ready, 'readiness', 20)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    server.wait_run(server.run_now(id_)['id'])


def test_a_data_folder_that_lost_its_store_is_not_begun_anew(tmp_path):
    server = belfry.Server(folder=tmp_path)
    server.start()
    data = server.data
    server.stop()
    (data / 'belfry.db').unlink()
    said = start(data)
    assert 'put back' in said, said
    assert not (data / 'belfry.db').exists()
    shutil.rmtree(data)
