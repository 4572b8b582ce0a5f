"""What the command-line tests share: running build/belfry, and a server that speaks Belfry's API from
memory, remembers every request, and answers as a test tells it."""
import http.server
import json
import os
import pathlib
import pty
import select
import subprocess
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get('BELFRY_BINARY', str(ROOT / 'build' / 'belfry'))
D1 = '01890a5d-ac96-774b-bcce-b302099a8057'
D2 = '01890a5d-ac96-774b-bcce-b302099a8058'


def environment(url=None, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith('BELFRY_') and k != 'NO_COLOR'}
    if url is not None:
        env['BELFRY_URL'] = url
    env.update(more)
    return env


def belfry(*arguments, url=None, stdin=None, seconds=60, **env):
    """Runs the command to its end; standard streams are pipes."""
    return subprocess.run([BINARY, *arguments], env=environment(url, **env), input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                          text=True, errors='surrogateescape')


def belfry_on_terminal(*arguments, url=None, seconds=60, **env):
    """Runs the command with a terminal as its three streams. Returns (status, what the terminal got)."""
    parent, child = pty.openpty()
    process = subprocess.Popen([BINARY, *arguments], stdin=child, stdout=child, stderr=child,
                               env=environment(url, TERM='xterm', **env), start_new_session=True)
    os.close(child)
    got = b''
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ready, _, _ = select.select([parent], [], [], 1)
        if not ready:
            continue
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        got += piece
    os.close(parent)
    return process.wait(timeout=10), got.decode('utf-8', 'surrogateescape')


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f'{what} did not happen within {seconds} s'
        time.sleep(0.01)


def deployment(id_=D1, name='morning', **more):
    return {'id': id_, 'name': name, 'owner': 'default', 'enabled': True, 'phase': 'active',
            'rule': {'cron': '0 9 * * 1-5'}, 'timezone': 'Europe/Berlin',
            'timezone_used': 'Europe/Berlin', 'prompt': 'p', 'input': None,
            'target': {'kind': 'webhook', 'url': 'http://t/'},
            'next_due': ['2026-12-01T08:00:00Z'], 'revision': 3, **more}


def run(id_, deployment_id=D1, status='COMPLETED', **more):
    return {'id': id_, 'deployment_id': deployment_id, 'trigger': 'schedule', 'status': status,
            'due_at': '2026-12-01T08:00:00Z', 'started_at': '2026-12-01T08:00:00.004Z',
            'lateness_ms': 4, 'error': None, 'tz_version': None, 'attempts': [], **more}


def calendar(name='holidays-de', **more):
    return {'name': name, 'description': 'closed', 'except': ['2026-12-25', {'cron': '* * * 1 *'}], 'revision': 2,
            'created_at': '2026-12-01T08:00:00Z', 'updated_at': '2026-12-01T08:00:00Z',
            'used_by': {'count': 1, 'at_least': False, 'deployments': ['morning']}, **more}


def forecast(**more):
    reason = {'code': 'NO_PEAK', 'message': 'no minute has more than one', 'at': '2030-01-07T00:00:00Z', 'deployment': None}
    return {'from': '2030-01-07T00:00:00Z', 'to': '2030-01-07T01:00:00Z', 'bucket': 'PT1M', 'deployments': 0, 'left_out': 0,
            'complete': True, 'total': 0, 'counts': [0] * 60, 'peaks': [],
            'proposal': {'before': 0, 'after': 0, 'changes': [], 'reason': reason}, **more}


def setting(value, **more):
    return {'value': value, 'default': value, 'source': 'default', 'changeable': True,
            'needs_restart': False, 'next_value': value, **more}


def problem(status, code, detail, **more):
    return status, {'type': 'about:blank', 'status': status, 'code': code, 'detail': detail, **more}


class Request:
    def __init__(self, method, target, headers, body):
        parts = urllib.parse.urlsplit(target)
        self.method = method
        self.target = target
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class Fake:
    """answers: {(method, path): function of the request, or (status, JSON value or bytes)}."""

    def __init__(self):
        self.deployments = [deployment()]
        self.calendars = []
        self.runs = {}
        self.outputs = {}
        self.answers = {}
        self.outcomes = {}  # name -> members of its item in the answer of apply; else created
        self.settings = {'grace': setting('PT1M'), 'max_concurrent': setting(1000)}
        self.requests = []
        self.lock = threading.Lock()

    def asked(self, method, path=None):
        return [r for r in self.requests if r.method == method and path in (None, r.path)]

    def answer(self, request):
        with self.lock:
            self.requests.append(request)
            given = self.answers.get((request.method, request.path))
            if callable(given):
                return given(request)
            if given is not None:
                return given
            return self.route(request)

    def route(self, request):
        parts = request.path.strip('/').split('/')
        if request.path == '/healthz' or request.path == '/readyz':
            return 200, {}
        if parts[:2] == ['v1', 'deployments']:
            return self.route_deployments(request, parts[2:])
        if parts[:2] == ['v1', 'runs']:
            return self.route_runs(request, parts[2:])
        if parts[:2] == ['v1', 'calendars']:
            return self.route_calendars(request, parts[2:])
        if request.path == '/v1/apply':
            return self.apply(request)
        if request.path == '/v1/settings':
            return self.route_settings(request)
        if request.path == '/v1/forecast':
            return 200, forecast()
        return problem(404, 'NOT_FOUND', 'there is no such thing here')

    def apply(self, request):
        items = [{'name': d['name'], 'outcome': 'created', 'id': None, 'revision': None, 'changes': [],
                  'appears': [], 'vanishes': [], 'error': None, **self.outcomes.get(d['name'], {})}
                 for d in request.json['deployments']]
        calendars = [{'name': c['name'], 'outcome': 'created', 'revision': None, 'error': None,
                      **self.outcomes.get(c['name'], {})} for c in request.json.get('calendars', [])]
        counts = {o: sum(i['outcome'] == o for i in items)
                  for o in ('created', 'changed', 'unchanged', 'refused')}
        answer = {'dry_run': request.query.get('dry_run') == 'true', 'counts': counts, 'items': items,
                  'calendars': calendars}
        if not counts['refused'] and all(c['outcome'] != 'refused' for c in calendars):
            return 200, answer
        status, words = problem(422, 'TARGET_NOT_ALLOWED', 'one is refused')
        return status, {**words, **answer}

    def route_settings(self, request):
        if request.method == 'PATCH':
            unknown = [name for name in request.json if name not in self.settings]
            if unknown:
                return problem(400, 'INVALID_REQUEST', f'there is no setting {unknown[0]}')
            for name, value in request.json.items():
                self.settings[name] = setting(value, source='api')
        return 200, self.settings

    def page(self, request, items):
        limit = int(request.query.get('limit', 50))
        start = int(request.query.get('cursor', '0'))
        rest = start + limit < len(items)
        return 200, {'items': items[start:start + limit],
                     'next_cursor': str(start + limit) if rest else None}

    def route_deployments(self, request, parts):
        if not parts and request.method == 'GET':
            items = [d for d in self.deployments
                     if request.query.get('name', d['name']) == d['name']
                     and d['name'].startswith(request.query.get('q', ''))]
            return self.page(request, items)
        if not parts and request.method == 'POST':
            return 201, deployment(D2, **request.json)
        found = [d for d in self.deployments if parts and d['id'] == parts[0]]
        if not found:
            return problem(404, 'NOT_FOUND', 'there is no such thing here')
        if parts[1:] == ['runs'] and request.method == 'POST':
            return 202, list(self.runs.values())[-1]
        if parts[1:] == ['why']:
            return 200, {'due_at': '2026-12-01T08:00:00Z', 'reason': 'missed', 'run': None}
        if parts[1:] == ['runs'] and request.method == 'GET':
            mine = [r for r in self.runs.values() if r['deployment_id'] == parts[0]]
            return self.page(request, mine[::-1])
        if request.method == 'DELETE':
            return 204, b''
        if parts[1:] and parts[1] in ('enable', 'disable'):
            return 200, {**found[0], 'enabled': parts[1] == 'enable'}
        return 200, found[0]

    def route_calendars(self, request, parts):
        if not parts:
            return self.page(request, [{**{k: v for k, v in c.items() if k != 'except'}, 'except_count': len(c['except'])}
                                       for c in self.calendars if c['name'].startswith(request.query.get('q', ''))])
        found = [c for c in self.calendars if c['name'] == parts[0]]
        if request.method == 'PUT':
            old = found[0] if found else {'revision': 0}
            new = {**calendar(parts[0]), 'description': None, **request.json}
            is_same = all(old.get(m) == new[m] for m in ('description', 'except'))
            return 200, {**new, 'revision': old['revision'] + (not is_same), 'planned': int(not is_same), 'pending': False}
        if not found:
            return problem(404, 'NOT_FOUND', 'there is no such thing here')
        return (204, b'') if request.method == 'DELETE' else (200, found[0])

    def route_runs(self, request, parts):
        if not parts:
            return self.page(request, list(self.runs.values())[::-1])
        found = self.runs.get(parts[0])
        if found is None:
            return problem(404, 'NOT_FOUND', 'there is no such thing here')
        if parts[1:] == ['output']:
            return self.output(request, self.outputs.get(parts[0], b''))
        if parts[1:] == ['cancel']:
            return 200, {**found, 'status': 'CANCELLED'}
        if parts[1:] == ['replay']:
            return 202, found
        return 200, found

    def output(self, request, text):
        wanted = request.headers.get('Range')
        if wanted is None:
            return 200, text
        start = int(wanted[len('bytes='):-1])
        return (206, text[start:]) if start < len(text) else (416, b'')


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        request = Request(self.command, self.path, dict(self.headers), body)
        status, answer = self.server.fake.answer(request)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        if status != 204:
            self.send_header('Content-Length', str(len(content)))
        if status // 100 == 3:
            self.send_header('Location', '/elsewhere')
        self.end_headers()
        if status != 204:
            self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_any

    def log_message(self, *_):
        pass


class Server:
    def __init__(self):
        self.fake = Fake()
        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.http.fake = self.fake
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.url = f'http://127.0.0.1:{self.http.server_address[1]}'

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
