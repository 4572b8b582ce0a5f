"""GET /v1/events from outside: what a reader hears while it stays, and how that ends."""
import json
import socket
import time
import urllib.parse

import belfry


class Stream:
    """Reads events as a browser would; everything has a deadline."""

    def __init__(self, url, headers=()):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), 20)
        lines = ['GET /v1/events HTTP/1.1', f'Host: {parts.netloc}', 'Accept: text/event-stream',
                 *(f'{k}: {v}' for k, v in dict(headers).items())]
        self.socket.sendall('\r\n'.join([*lines, '', '']).encode())
        self.file = self.socket.makefile('rb')
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, value = line.decode().split(':', 1)
            self.headers[name.lower()] = value.strip()
        self.text = ''

    def more(self):
        """False at the end."""
        size = int(self.file.readline() or b'0', 16)
        self.text += self.file.read(size).decode()
        self.file.readline()
        return size > 0

    def event(self):
        """(name, data) of the next event, None at the end."""
        while '\n\n' not in self.text:
            if not self.more():
                return None
        block, self.text = self.text.split('\n\n', 1)
        fields = dict(line.split(': ', 1) for line in block.splitlines() if not line.startswith(':'))
        if 'event' not in fields:
            return self.event()
        assert 'id' not in fields
        return fields['event'], json.loads(fields['data'])

    def expect_change(self, deployment):
        """Until it hears of this one; others may come before."""
        while True:
            event = self.event()
            assert event is not None
            if event == ('changed', {'deployment_id': deployment}):
                return

    def close(self):
        self.file.close()
        self.socket.close()


def open_stream(server, headers=()):
    stream = Stream(server.url, headers)
    assert stream.status == 200
    assert stream.event() == ('resync', {})
    return stream


def test_a_reader_hears_of_each_change_of_a_deployment(server):
    stream = open_stream(server)
    assert stream.headers['content-type'] == 'text/event-stream'
    assert stream.headers['cache-control'] == 'no-store'
    assert stream.headers['x-accel-buffering'] == 'no'
    id_ = server.create('one', '0 0 1 1 *', 'http://127.0.0.1:9/')['id']
    stream.expect_change(id_)
    server.edit(id_, {'prompt': 'new'})
    stream.expect_change(id_)
    server.disable(id_)
    stream.expect_change(id_)
    server.delete(id_)
    stream.expect_change(id_)
    stream.close()


def test_a_reader_hears_of_runs(server, receiver):
    id_ = server.create('one', '0 0 1 1 *', receiver.url)['id']
    stream = open_stream(server)
    run = server.run_now(id_)['id']
    belfry.wait_for(lambda: server.get(f'/v1/runs/{run}')['status'] == 'COMPLETED', 'the Run')
    stream.expect_change(id_)
    stream.close()


def test_two_readers_hear_the_same(server):
    streams = [open_stream(server) for _ in range(2)]
    ids = [server.create(f'd{i}', '0 0 1 1 *', 'http://127.0.0.1:9/')['id'] for i in range(5)]
    for stream in streams:
        heard = set()
        while heard != set(ids):
            name, data = stream.event()
            assert name == 'changed'
            heard.add(data['deployment_id'])
        stream.close()


def test_a_stop_ends_the_streams_at_once(make_server):
    server = make_server()
    streams = [open_stream(server) for _ in range(20)]
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 10
    for stream in streams:
        assert stream.event() is None
        stream.close()


def test_after_a_kill_a_reader_begins_anew(make_server):
    server = make_server()
    stream = open_stream(server)
    server.kill()
    stream.close()
    server.start()
    open_stream(server).close()


def test_the_limits_of_the_settings_hold_and_a_closed_reader_frees_its_place(make_server):
    server = make_server(streams_per_token=2)
    streams = [open_stream(server) for _ in range(2)]
    full = server.api('GET', '/v1/events')
    assert (full.status, full.code) == (429, 'RATE_LIMITED')
    assert 'streams_per_token' in full.detail and full.headers['Retry-After']
    streams.pop().close()

    def again():
        stream = Stream(server.url)
        if stream.status != 200:
            stream.close()
            return None
        return stream
    belfry.wait_for(again, 'a free place').close()
    streams.pop().close()


def test_a_stream_needs_the_token_too(make_server):
    server = make_server(arguments=('--plain-http',))
    assert server.api('GET', '/v1/events').status == 401
    token = (server.data / 'admin.token').read_text().strip()
    open_stream(server, {'Authorization': f'Bearer {token}'}).close()
