"""tools/run-example and examples/receiver.py: what a newcomer starts first."""
import os
import signal
import socket
import subprocess
import sys

from cli_support import BINARY, ROOT, Server, belfry, environment

EXAMPLE = ROOT / 'tools' / 'run-example'
RECEIVER = ROOT / 'examples' / 'receiver.py'


def start_example(data, listen):
    return subprocess.Popen([sys.executable, EXAMPLE, '--listen', listen],
                            env=environment(BELFRY_BINARY=BINARY, BELFRY_EXAMPLE_DATA=str(data)),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def receiver(*arguments):
    return subprocess.run([sys.executable, RECEIVER, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=30)


def test_the_example_runs_and_a_second_one_stops_with_the_hosts_words(tmp_path):
    first = start_example(tmp_path, '127.0.0.1:0')
    try:
        words = ''
        for line in first.stdout:
            words += line
            if 'Ctrl-C ends it' in line:
                break
        url = next(line.split()[1] for line in words.splitlines() if line.startswith('address '))
        before = belfry('deployments', 'show', 'example', '--json', url=url).stdout
        assert '"name":"example"' in before.replace(' ', '')
        second = start_example(tmp_path, url[len('http://'):])
        out, err = second.communicate(timeout=60)
        assert second.returncode == 1
        assert 'in use' in err and 'the host ended with status 5' in err
        assert 'Traceback' not in err and 'Belfry runs at' not in out
        after = belfry('deployments', 'show', 'example', '--json', url=url).stdout
        assert before.split('"target"')[1].split('}')[0] == after.split('"target"')[1].split('}')[0]
    finally:
        os.kill(first.pid, signal.SIGINT)
        _, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert 'Traceback' not in err


def test_another_host_at_the_address_is_not_spoken_to(tmp_path):
    other = Server()
    try:
        process = start_example(tmp_path, other.url[len('http://'):])
        out, err = process.communicate(timeout=60)
    finally:
        other.close()
    assert process.returncode == 1
    assert 'in use already' in err and 'Traceback' not in err
    assert other.fake.requests == []


def test_the_receiver_explains_itself_and_a_port_in_use():
    told = receiver('--help')
    assert (told.returncode, told.stderr) == (0, '')
    assert 'PORT' in told.stdout
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        refused = receiver(str(port))
    assert refused.returncode == 1
    assert f'cannot listen on 127.0.0.1 port {port}' in refused.stderr
    assert 'Traceback' not in refused.stderr
    for wrong in ('nine', '99999', '-1'):
        result = receiver(wrong)
        assert result.returncode in (1, 2), wrong
        assert 'Traceback' not in result.stderr
