"""`belfry demo`: the promise kept across a kill, nothing left behind, and Ctrl-C at any time."""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

from cli_support import BINARY, environment, wait_for


def processes_of(folder):
    """Pids of live processes that were given something in this folder."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def expect_nothing_left(folder):
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


def start(folder, *arguments, **streams):
    return subprocess.Popen([BINARY, 'demo', *arguments], env=environment(TMPDIR=str(folder)), text=True,
                            start_new_session=True, **streams)


def test_nothing_is_lost_or_doubled_across_a_kill(tmp_path):
    process = start(tmp_path, '--json', '--seconds', '8', '--deployments', '7', stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (out, err)
    answer = json.loads(out)
    assert answer['ok'] is True
    assert answer['lost'] == answer['doubled'] == answer['unfinished'] == answer['early'] == 0
    assert answer['deployments'] == 7
    assert answer['open_at_kill'] >= 1
    assert answer['made'] == answer['due'] >= 7 * 5
    assert answer['calls'] == answer['made'] + answer['repeated_calls'] + answer['calls_not_counted']
    assert answer['restart_made'] == answer['restart_due'] > 0
    expect_nothing_left(tmp_path)


def test_the_table_for_people(tmp_path):
    process = start(tmp_path, '--seconds', '6', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, ''), out
    assert re.search(r'killed the host with SIGKILL while [1-9]\d* calls? w', out)
    for row in ('due times', 'Runs made', 'calls received', '  repeated', '  not counted above', 'lateness, p50', 'lateness, worst'):
        assert re.search(rf'^{row} ', out, re.M), out
    assert re.search(r'^lost +0 ', out, re.M)
    due, covered, restart = (int(re.search(rf'^{row} +(\d+) ', out, re.M).group(1))
                             for row in ('due times', '  covered', '  during the restart'))
    assert due == covered + restart and restart > 0
    assert re.search(r'^doubled +0 ', out, re.M)
    expect_nothing_left(tmp_path)


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    process = start(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert 'a host runs at' in process.stdout.readline()
        assert processes_of(tmp_path)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert 'stopped before the end' in err
    expect_nothing_left(tmp_path)


def test_on_a_terminal_it_stays_until_ctrl_c(tmp_path):
    parent, child = pty.openpty()
    process = subprocess.Popen([BINARY, 'demo', '--seconds', '6'], stdin=child, stdout=child, stderr=child,
                               env=environment(TMPDIR=str(tmp_path), TERM='xterm'), start_new_session=True)
    os.close(child)
    got = b''
    try:
        deadline = time.monotonic() + 120
        while b'Ctrl-C ends it.' not in got:
            assert time.monotonic() < deadline, got
            if select.select([parent], [], [], 1)[0]:
                got += os.read(parent, 65536)
        assert process.poll() is None
        assert processes_of(tmp_path)
        process.send_signal(signal.SIGINT)
        wait_for(lambda: process.poll() is not None, 'the end', 30)
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    assert process.returncode == 0, got
    hint = re.search(rb'BELFRY_URL=http://127\.0\.0\.1:\d+ (\S+) runs list --follow', got)
    assert os.path.samefile(hint.group(1), BINARY)
    expect_nothing_left(tmp_path)


def test_a_host_that_dies_is_reported(tmp_path):
    process = start(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert 'a host runs at' in process.stdout.readline()
        for pid in processes_of(tmp_path):
            os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 5
    assert err.startswith('error: ')
    expect_nothing_left(tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    process = start(tmp_path / 'none', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert 'set TMPDIR' in err
