"""Each metric of interface.md moves when its event is provoked; health, readiness and the log."""
import re
import threading
import time

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


def test_b20_b21_steps_stand_still_while_the_process_does(make_server):
    """step_last_seconds is young while all goes well, and a freeze of three leases is told once it ends."""
    server = make_server(lease='PT0.6S', beat='PT0.1S')
    for _ in range(20):
        metrics = server.metrics()
        for step in ('planner', 'dispatcher', 'keeper'):
            assert metrics[f'belfry_step_last_seconds{{step="{step}"}}'] < 1.8
    assert abs(metrics['belfry_clock_offset_seconds']) < 1
    assert server.api('GET', '/readyz').status == 200


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
