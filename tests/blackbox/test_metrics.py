"""Each metric of interface.md moves when its event is provoked; health, readiness and the log."""
import re
import resource
import socket
import threading
import time

import pytest

import belfry

NEVER = '0 0 1 1 *'
NAMES = ['belfry_due_times_total', 'belfry_runs_total', 'belfry_start_lateness_seconds', 'belfry_runs_open',
         'belfry_oldest_queued_seconds', 'belfry_step_last_seconds', 'belfry_store_up',
         'belfry_clock_offset_seconds', 'belfry_takeovers_total', 'belfry_build_info']


def wait_metric(server, name, condition, seconds=20):
    return belfry.wait_for(lambda: condition(server.metrics()[name]), f'{name} moves', seconds, 0.05)


def test_the_exposition_is_openmetrics(server):
    reply = server.api('GET', '/metrics')
    assert reply.headers['Content-Type'].startswith('application/openmetrics-text')
    text = reply.body.decode()
    assert text.endswith('# EOF\n')
    families = re.findall(r'^# TYPE (\S+) (\S+)$', text, re.M)
    assert len(dict(families)) == len(families)
    for name in NAMES:
        assert any(key.split('{')[0].startswith(name) for key in server.metrics()), name
    for line in text.splitlines()[:-1]:
        assert re.fullmatch(r'# (TYPE|HELP) .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9.e+]+', line), line
    # every sample belongs to the family above it
    family = None
    for line in text.splitlines()[:-1]:
        if line.startswith('# TYPE'):
            family = line.split()[2]
        elif not line.startswith('#'):
            assert re.fullmatch(family + r'(_total|_bucket|_count|_sum|_info)?(\{.*)? .*', line), (family, line)


def test_b20_runs_by_trigger_and_status(server, receiver):
    receiver.answer = lambda call: belfry.Answer(400) if call.path == '/bad' else None
    good = server.create('good', NEVER, receiver.url)['id']
    bad = server.create('bad', NEVER, receiver.url + '/bad')['id']
    server.wait_run(server.run_now(good)['id'])
    failed = server.run_now(bad)['id']
    server.wait_run(failed, 'FAILED')
    server.wait_run(server.post(f'/v1/runs/{failed}/replay', status=202)['id'], 'FAILED')
    at = belfry.spot(1)
    server.create('bell', belfry.cron_at(at), receiver.url)
    receiver.wait_calls(1, due_at=float(at))
    for trigger, status in (('manual', 'COMPLETED'), ('manual', 'FAILED'), ('replay', 'FAILED'),
                            ('schedule', 'COMPLETED')):
        wait_metric(server, f'belfry_runs_total{{trigger="{trigger}",status="{status}"}}', lambda v: v == 1)
    metrics = server.metrics()
    assert metrics['belfry_due_times_total{outcome="run"}'] == 1
    # lateness is of every Run that starts
    assert metrics['belfry_start_lateness_seconds_count'] == metrics['belfry_start_lateness_seconds_bucket{le="+Inf"}']
    assert metrics['belfry_start_lateness_seconds_count'] >= 1
    assert metrics['belfry_start_lateness_seconds_sum'] > 0
    buckets = [v for k, v in metrics.items() if k.startswith('belfry_start_lateness_seconds_bucket')]
    assert buckets == sorted(buckets)


def test_b20_due_times_missed_and_disabled(make_server, receiver):
    server = make_server(lease='PT1S', beat='PT0.2S')
    id_ = server.create('bell', '* * * * * *', receiver.url, policies={'grace': 'PT0S'})['id']
    receiver.wait_calls(1)
    server.kill()
    belfry.wait_until(time.time() + 2.5)
    server.start()
    wait_metric(server, 'belfry_due_times_total{outcome="missed"}', lambda v: v >= 1)
    wait_metric(server, 'belfry_due_times_total{outcome="run"}', lambda v: v >= 1)
    server.disable(id_)
    belfry.wait_until(time.time() + 2.2)
    server.enable(id_)
    wait_metric(server, 'belfry_due_times_total{outcome="disabled"}', lambda v: v >= 1)


def test_b20_open_runs_their_age_and_cancelled_ones(make_server, receiver):
    server = make_server(max_concurrent=1)
    gate = threading.Event()

    def answer(call):
        if call.path == '/gate':
            return belfry.Answer(gate=gate)
        return belfry.Answer(503, headers={'Retry-After': '600'}) if call.path == '/later' else None
    receiver.answer = answer
    later = server.create('later', NEVER, receiver.url + '/later')['id']
    held = server.create('held', NEVER, receiver.url + '/gate')['id']
    assert server.metrics()['belfry_oldest_queued_seconds'] == 0
    server.run_now(later)
    wait_metric(server, 'belfry_runs_open{state="delayed"}', lambda v: v == 1)
    server.run_now(held)
    wait_metric(server, 'belfry_runs_open{state="dispatching"}', lambda v: v == 1)
    bell = server.create('bell', '* * * * * *', receiver.url)['id']
    wait_metric(server, 'belfry_runs_open{state="queued"}', lambda v: v >= 2)
    first = server.metrics()['belfry_oldest_queued_seconds']
    wait_metric(server, 'belfry_oldest_queued_seconds', lambda v: v >= first + 0.3)
    server.disable(bell)
    wait_metric(server, 'belfry_runs_open{state="queued"}', lambda v: v == 0)
    wait_metric(server, 'belfry_runs_total{trigger="schedule",status="CANCELLED"}', lambda v: v >= 2)
    wait_metric(server, 'belfry_oldest_queued_seconds', lambda v: v == 0)
    gate.set()
    wait_metric(server, 'belfry_runs_open{state="dispatching"}', lambda v: v == 0)


def test_b20_takeovers(server, receiver):
    gate = threading.Event()
    receiver.answer = lambda call: belfry.Answer(gate=gate)
    id_ = server.create('bell', NEVER, receiver.url)['id']
    server.run_now(id_)
    receiver.wait_calls(1)
    assert server.metrics()['belfry_takeovers_total'] == 0
    server.kill()
    server.start()
    wait_metric(server, 'belfry_takeovers_total', lambda v: v == 1)
    gate.set()


LEASE = 0.6
STEPS = [f'belfry_step_last_seconds{{step="{step}"}}' for step in ('planner', 'dispatcher', 'keeper')]


def test_b20_b21_steps_are_young_while_all_goes_well(make_server):
    server = make_server(lease='PT0.6S', beat='PT0.1S')
    for _ in range(20):
        metrics = server.metrics()
        assert all(metrics[step] < 3 * LEASE for step in STEPS)
    assert abs(metrics['belfry_clock_offset_seconds']) < 1
    assert server.api('GET', '/readyz').status == 200


def test_b20_b21_a_freeze_of_three_leases_is_noticed_and_left_behind(make_server, receiver):
    """Whoever asks first after the freeze may be quicker than the steps: then readyz says what the metrics
    say. Then they go on by themselves."""
    server = make_server(lease='PT0.6S', beat='PT0.1S')
    server.freeze()
    frozen = time.time()
    belfry.wait_until(frozen + 3 * LEASE + 0.5)
    answers = {}

    def ask():
        answers['ready'] = server.api('GET', '/readyz')
    asking = threading.Thread(target=ask)
    asking.start()  # it waits in the host's socket
    server.thaw()
    asking.join()
    assert answers['ready'].status in (200, 503)
    if answers['ready'].status == 503:
        assert 'stood still' in answers['ready'].detail or 'store' in answers['ready'].detail
    belfry.wait_for(server.is_ready, 'readiness')
    belfry.wait_for(lambda: all(server.metrics()[step] < 3 * LEASE for step in STEPS), 'steps that go on')
    assert 'what=incarnation-lost' in server.log_text()
    id_ = server.create('bell', NEVER, receiver.url)['id']
    server.wait_run(server.run_now(id_)['id'])


class Watchdog:
    """What systemd is: a datagram socket that is told READY=1 and WATCHDOG=1."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.told = []  # (wall clock, text)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while (text := self.socket.recv(1000).decode()) != 'CLOSE':
            self.told.append((time.time(), text))

    def texts(self):
        return [text for _, text in self.told]

    def fed_since(self, instant):
        return [at for at, text in list(self.told) if text == 'WATCHDOG=1' and at > instant]

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(b'CLOSE', self.path)
        self.thread.join()
        self.socket.close()

    def wait_fed(self, instant, count=2, seconds=20):
        belfry.wait_for(lambda: len(self.fed_since(instant)) >= count, 'the watchdog is fed', seconds)


@pytest.fixture
def watchdog(tmp_path):
    watchdog = Watchdog(tmp_path / 'notify')
    yield watchdog
    watchdog.close()


def make_watched(make_server, watchdog):
    server = make_server(lease='PT0.6S', beat='PT0.1S',
                         environment={'NOTIFY_SOCKET': watchdog.path, 'WATCHDOG_USEC': '200000'})
    belfry.wait_for(lambda: 'READY=1' in watchdog.texts(), 'READY=1')
    watchdog.wait_fed(time.time(), 5)
    return server


def test_b21_the_watchdog_is_fed_while_ready_and_not_while_the_store_is_away(make_server, watchdog):
    server = make_watched(make_server, watchdog)
    limit = (0, resource.RLIM_INFINITY)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, limit)
    belfry.wait_for(lambda: not server.is_ready(), 'readyz 503')
    away = time.time()
    belfry.wait_until(away + 0.3)  # what was under way
    assert not server.is_ready()
    since = time.time()
    belfry.wait_until(since + 1.5)
    assert not server.is_ready()
    assert watchdog.fed_since(since) == []
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    watchdog.wait_fed(time.time())
    assert server.is_ready()
    assert watchdog.texts().count('READY=1') == 1
    server.stop()
    belfry.wait_for(lambda: watchdog.texts()[-1] == 'STOPPING=1', 'STOPPING=1')


def test_b21_the_watchdog_is_not_fed_while_the_process_is_frozen(make_server, watchdog):
    server = make_watched(make_server, watchdog)
    server.freeze()
    frozen = time.time()
    belfry.wait_until(frozen + 3 * LEASE + 0.5)
    assert watchdog.fed_since(frozen + 0.2) == []
    server.thaw()
    watchdog.wait_fed(time.time())
    belfry.wait_for(server.is_ready, 'readiness')


def test_a_start_is_told_once_and_never_as_a_fault(make_server):
    server = make_server()
    server.stop()
    server.start()
    assert 'level=error' not in server.log_text()
    assert server.log_text().count('what=provider') == 2
    assert server.stop() == 0
    assert 'level=error' not in server.log_text()


def test_no_metric_names_a_deployment(server, receiver):
    id_ = server.create('a-name-to-look-for', NEVER, receiver.url)['id']
    server.wait_run(server.run_now(id_)['id'])
    text = server.api('GET', '/metrics').body.decode()
    assert id_ not in text and 'a-name-to-look-for' not in text
