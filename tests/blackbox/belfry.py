"""What the tests of the whole program share: a real `belfry serve` in a folder of its own, a client of its
API, and a receiver that remembers every call and answers as a test tells it.

Every refusal that any test sees is kept in `refusals`; t066 reads them all at the end.
"""
import collections
import datetime
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get('BELFRY_BINARY', str(ROOT / 'build' / 'belfry'))
TEST_BINARY = os.environ.get('BELFRY_TEST_BINARY', str(ROOT / 'build-asan' / 'belfry'))
SANITIZER_WORDS = ('AddressSanitizer', 'LeakSanitizer', 'ThreadSanitizer', 'runtime error:')
TERMINAL = ('COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED', 'UNKNOWN')

refusals = []  # (what was asked, all that was sent, status, text) of every answer that was no success


# --- time ---

def wait_for(condition, what, seconds=20.0, every=0.01):
    """The condition's value, once it is true."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f'{what}: did not happen within {seconds} s'
        time.sleep(every)


def wait_until(instant):
    """Until the wall clock has passed `instant` (seconds)."""
    wait_for(lambda: time.time() > instant, 'the passing of time', max(0, instant - time.time()) + 10)


def text_of(instant):
    return datetime.datetime.fromtimestamp(instant, datetime.timezone.utc).isoformat().replace('+00:00', 'Z')


def instant_of(text):
    return datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()


def next_second(after=0.0):
    """The first whole second later than now + after."""
    return int(time.time() + after) + 1


def cron_at(*instants):
    """A six-field expression that fires at these seconds of one minute (UTC), once an hour."""
    times = [datetime.datetime.fromtimestamp(i, datetime.timezone.utc) for i in instants]
    assert len({t.minute for t in times}) == 1
    seconds = ','.join(str(s) for s in sorted({t.second for t in times}))
    return f'{seconds} {times[0].minute} * * * *'


def spot(after, span=0):
    """A whole second at least so many seconds from now, with `span` more behind it in the same minute, so
    that cron_at can name them."""
    at = next_second(after)
    return at if at % 60 + span < 60 else at // 60 * 60 + 60


def due_id(deployment, instant):
    """The id of the Run of a due time (docs/contract.md), from the definition."""
    microseconds = round(instant * 1_000_000)
    digest = hashlib.sha256(deployment.encode() + b'\0' + microseconds.to_bytes(8, 'big')).digest()
    raw = bytearray((microseconds // 1000).to_bytes(6, 'big') + digest[:10])
    raw[6] = 0x80 | (raw[6] & 0x0f)
    raw[8] = 0x80 | (raw[8] & 0x3f)
    text = raw.hex()
    return '-'.join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


# --- the receiver ---

class Call:
    """One request that arrived. `due_at` is seconds, or None for a Run without a due time."""

    def __init__(self, method, path, headers, body):
        self.arrived = time.time()
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.answered = None
        self.run = headers.get('Idempotency-Key')
        self.fence = int(headers.get('Belfry-Fence', '0'))
        self.due_at = None
        self.trigger = None
        self.prompt = None
        self.json = json.loads(body) if body else None
        if isinstance(self.json, dict) and self.json.get('type') == 'belfry.run':
            run = self.json['run']
            self.trigger = run['trigger']
            self.due_at = instant_of(run['due_at']) if run['due_at'] else None
            self.prompt = self.json['prompt']


class Answer:
    """status, body and headers after `delay` seconds, or once `gate` (an Event) is set; abort closes the
    connection without a word; drip: so many seconds between two bytes of the body."""

    def __init__(self, status=200, body=b'thank you', headers=(), delay=0.0, gate=None, abort=False,
                 drip=0.0):
        self.status = status
        self.body = body
        self.headers = dict(headers)
        self.delay = delay
        self.gate = gate
        self.abort = abort
        self.drip = drip


class ReceiverHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def handle_any(self):
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        call = Call(self.command, self.path, self.headers, body)
        answer = receiver.begin(call)
        try:
            if answer.gate is not None:
                answer.gate.wait(120)
            if answer.delay:
                receiver.closed.wait(answer.delay)
            if answer.abort:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header('Content-Length', str(len(answer.body)))
            self.end_headers()
            self.send_body(answer)
        except OSError:
            self.close_connection = True  # the caller was killed
        finally:
            receiver.end(call)

    def send_body(self, answer):
        if not answer.drip:
            self.wfile.write(answer.body)
            return
        for byte in answer.body:
            self.wfile.write(bytes([byte]))
            if self.server.receiver.closed.wait(answer.drip):
                return

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass

    def log_message(self, *_):
        pass


class ReceiverServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024


class Receiver:
    """answer: a function of a Call that returns an Answer, or None for the usual 200."""

    def __init__(self, answer=None):
        self.answer = answer
        self.calls = []
        self.open = 0
        self.most_open = 0
        self.changed = threading.Condition()
        self.closed = threading.Event()
        self.http = ReceiverServer(('127.0.0.1', 0), ReceiverHandler)
        self.http.receiver = self
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        self.url = f'http://127.0.0.1:{self.http.server_address[1]}'

    def begin(self, call):
        with self.changed:
            self.calls.append(call)
            self.open += 1
            self.most_open = max(self.most_open, self.open)
            self.changed.notify_all()
        return (self.answer(call) if self.answer is not None else None) or Answer()

    def end(self, call):
        with self.changed:
            call.answered = time.time()
            self.open -= 1
            self.changed.notify_all()

    def seen(self, **wanted):
        """The calls so far whose attributes are these; oldest first."""
        with self.changed:
            return [c for c in self.calls if all(getattr(c, k) == v for k, v in wanted.items())]

    def wait(self, condition, what, seconds=20.0):
        """Until condition(calls) is true; returns its value."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                value = condition(self.calls)
                if value:
                    return value
                left = deadline - time.monotonic()
                assert left > 0, f'{what}: did not happen within {seconds} s'
                self.changed.wait(min(left, 0.5))

    def wait_calls(self, count, seconds=20.0, **wanted):
        """Until at least `count` such calls have arrived; returns them."""
        self.wait(lambda calls: sum(all(getattr(c, k) == v for k, v in wanted.items())
                                    for c in calls) >= count, f'{count} calls with {wanted}', seconds)
        return self.seen(**wanted)

    def runs_by_due(self, **wanted):
        """{due time: set of Run ids}"""
        found = collections.defaultdict(set)
        for call in self.seen(**wanted):
            if call.due_at is not None:
                found[call.due_at].add(call.run)
        return found

    def close(self):
        self.closed.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


# --- the host ---

class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json.get('code')

    @property
    def detail(self):
        return self.json.get('detail', '')


def json_strings(body):
    """Names and strings of a JSON body as they read, without escapes."""
    found = []

    def note(value):
        if isinstance(value, dict):
            found.extend(value)
            for member in value.values():
                note(member)
        elif isinstance(value, list):
            for member in value:
                note(member)
        elif isinstance(value, str):
            found.append(value)
    try:
        note(json.loads(body or b'null'))
    except (ValueError, RecursionError):
        pass
    return ' '.join(['', *found])


class Client:
    """One connection that is kept; for many requests in a row."""

    def __init__(self, url, seconds=30.0):
        parts = urllib.parse.urlsplit(url)
        self.http = http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)

    def ask(self, method, path, body=None, headers=()):
        fields = dict(headers)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if body is not None and 'Content-Type' not in fields:
            fields['Content-Type'] = 'application/json'
        self.http.request(method, path, body, fields)
        response = self.http.getresponse()
        reply = Reply(response.status, response.headers, response.read())
        if reply.status >= 400 and method != 'HEAD':  # which is answered without a body
            sent = ' '.join([urllib.parse.unquote(path), *map(str, fields.values())])
            sent += (body or b'').decode('utf-8', 'replace')
            refusals.append((f'{method} {path}'[:200], sent + json_strings(body), reply.status,
                             reply.body.decode('utf-8', 'replace')))
        return reply

    def close(self):
        self.http.close()


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith('BELFRY_') and k not in ('NOTIFY_SOCKET', 'WATCHDOG_USEC')}
    env.update({k: str(v) for k, v in more.items()})
    return env


class Server:
    """`belfry serve` in a folder of its own. start() may come again after kill() or stop()."""

    def __init__(self, binary=None, arguments=('--allow-private-targets',), folder=None, environment=(),
                 **settings):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix='belfry-test-'))
        self.owns_folder = folder is None
        self.data = self.folder / 'data'
        self.log = self.folder / 'log'
        self.binary = binary or BINARY
        self.arguments = list(arguments)
        self.settings = {**{f'BELFRY_{k.upper()}': v for k, v in settings.items()}, **dict(environment)}
        self.process = None
        self.url = None
        self.spawned = None  # wall clock before the process was made
        self.ready = None  # wall clock when start() came back
        self.answering = None  # wall clock when it had said its address: it covers from about then

    def start(self, crash_point=None, ready=True, seconds=30.0):
        assert self.process is None
        env = clean_environment(**self.settings)
        if crash_point is not None:
            env['BELFRY_CRASH_POINT'] = crash_point
        self.spawned = time.time()
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(
                [self.binary, 'serve', '--data', str(self.data),
                 *(() if '--listen' in self.arguments else ('--listen', '127.0.0.1:0')), *self.arguments], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.url = self.read_address()
        self.answering = time.time()
        if ready:
            wait_for(lambda: self.process.poll() is not None or self.is_ready(), 'readiness', seconds)
        self.ready = time.time()  # the first beats are a matter of moments now, also on a busy machine
        return self

    def read_address(self):
        for line in self.process.stdout:
            if line.startswith(b'address '):
                return line.split()[1].decode()
        self.process.wait()
        raise AssertionError(f'the host ended with {self.process.returncode}: {self.log_text()[-2000:]}')

    def is_ready(self):
        try:
            return self.api('GET', '/readyz').status == 200
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """SIGKILL. Returns the wall clock once it is dead."""
        self.process.kill()
        return self.wait_death()

    def wait_death(self, seconds=30.0):
        self.process.wait(seconds)
        died = time.time()
        self.process.stdout.close()
        self.process = None
        return died

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self, seconds=60.0):
        """SIGTERM. Returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(seconds)
        self.process.stdout.close()
        self.process = None
        return status

    def close(self):
        """Ends it, and fails where a sanitizer has spoken."""
        if self.process is not None:
            self.process.kill()
            self.wait_death()
        text = self.log_text()
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        for word in SANITIZER_WORDS:
            assert word not in text, text[-5000:]

    def log_text(self):
        return self.log.read_text(errors='replace') if self.log.exists() else ''

    def threads(self):
        return len(os.listdir(f'/proc/{self.pid}/task'))

    def memory(self):
        """Resident bytes."""
        pages = int(pathlib.Path(f'/proc/{self.pid}/statm').read_text().split()[1])
        return pages * os.sysconf('SC_PAGE_SIZE')

    # --- asking ---

    def client(self, seconds=30.0):
        return Client(self.url, seconds)

    def api(self, method, path, body=None, headers=(), seconds=30.0):
        client = self.client(seconds)
        try:
            return client.ask(method, path, body, headers)
        finally:
            client.close()

    def get(self, path, status=200):
        reply = self.api('GET', path)
        assert reply.status == status, (path, reply.status, reply.body)
        return reply.json

    def post(self, path, body=None, status=200, headers=()):
        reply = self.api('POST', path, body, headers)
        assert reply.status == status, (path, reply.status, reply.body)
        return reply.json

    def create(self, name, cron, url, **more):
        body = {'name': name, 'rule': {'cron': cron}, 'target': {'kind': 'webhook', 'url': url}, **more}
        return self.post('/v1/deployments', body, 201)

    def edit(self, id_, changes, status=200):
        reply = self.api('PATCH', f'/v1/deployments/{id_}', changes)
        assert reply.status == status, (reply.status, reply.body)
        return reply.json

    def enable(self, id_):
        return self.post(f'/v1/deployments/{id_}/enable')

    def disable(self, id_):
        return self.post(f'/v1/deployments/{id_}/disable')

    def delete(self, id_):
        reply = self.api('DELETE', f'/v1/deployments/{id_}')
        assert reply.status == 204, (reply.status, reply.body)

    def run_now(self, id_, key=None):
        return self.post(f'/v1/deployments/{id_}/runs', None, 202,
                         {'Idempotency-Key': key} if key is not None else ())

    def show(self, id_):
        return self.get(f'/v1/deployments/{id_}')

    def run(self, id_):
        return self.get(f'/v1/runs/{id_}')

    def items(self, path, **query):
        """All pages of a list."""
        found = []
        query = {'limit': 200, **query}
        while True:
            page = self.get(path + '?' + urllib.parse.urlencode(query))
            found += page['items']
            if page['next_cursor'] is None:
                return found
            query['cursor'] = page['next_cursor']

    def runs(self, id_=None, **query):
        return self.items('/v1/runs' if id_ is None else f'/v1/deployments/{id_}/runs', **query)

    def why(self, id_, instant):
        return self.get(f'/v1/deployments/{id_}/why?at={text_of(instant)}')

    def wait_run(self, id_, status='COMPLETED', seconds=20.0):
        """Until the Run has ended (or has this status, which then need not be an end)."""
        def look():
            run = self.run(id_)
            return run if run['status'] in (status, *TERMINAL) else None
        run = wait_for(look, f'the end of Run {id_}', seconds, 0.05)
        assert run['status'] == status, run
        return run

    def wait_all_ended(self, id_=None, seconds=30.0):
        """Until every Run has ended; returns them all, newest first."""
        wait_for(lambda: not self.runs(id_, status='QUEUED,RUNNING'), 'the end of every Run', seconds, 0.1)
        return self.runs(id_)

    def metrics(self):
        """{name with labels: number}"""
        found = {}
        for line in self.api('GET', '/metrics').body.decode().splitlines():
            if not line.startswith('#'):
                name, value = line.rsplit(' ', 1)
                found[name] = float(value)
        return found


def send_raw(url, data, seconds=10.0):
    """Bytes as they are; all that comes back until the other side closes or stays silent."""
    parts = urllib.parse.urlsplit(url)
    got = b''
    with socket.create_connection((parts.hostname, parts.port), timeout=seconds) as connection:
        try:
            connection.sendall(data)
            while True:
                piece = connection.recv(65536)
                if not piece:
                    break
                got += piece
        except OSError:
            pass
    return got
