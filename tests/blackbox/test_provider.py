"""Which scheduler a host runs, and what it says where it cannot."""
import re
import subprocess

import pytest

import belfry

DAILY = '0 9 * * *'


def serve(folder, *arguments, **environment):
    """A start that is expected to fail."""
    return subprocess.run([belfry.BINARY, 'serve', '--data', str(folder / 'data'), '--listen', '127.0.0.1:0', *arguments],
                          env=belfry.clean_environment(**environment), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30)


def test_t085_with_provider_none_the_host_answers_and_schedules_nothing(make_server, receiver):
    server = make_server(scheduler_provider='none')
    body = {'name': 'bell', 'rule': {'cron': DAILY}, 'target': {'kind': 'webhook', 'url': receiver.url}}
    answer = server.api('POST', '/v1/deployments', body)
    assert (answer.status, answer.code) == (409, 'SCHEDULE_UNAVAILABLE')
    assert server.items('/v1/deployments') == []
    assert server.is_ready()
    assert re.findall(r'what=provider name=(\w+)', server.log_text()) == ['none']
    assert server.stop() == 0


def test_t085_records_made_before_are_kept_under_none(make_server, receiver):
    server = make_server()
    id_ = server.create('bell', DAILY, receiver.url)['id']
    server.stop()
    server.settings['BELFRY_SCHEDULER_PROVIDER'] = 'none'
    server.start()
    assert server.show(id_)['name'] == 'bell'
    assert server.api('POST', f'/v1/deployments/{id_}/runs').status == 409
    server.stop()
    del server.settings['BELFRY_SCHEDULER_PROVIDER']
    server.start()
    assert server.show(id_)['next_due'] != []


def test_t086_the_three_properties_are_logged_once(make_server):
    server = make_server(max_active_schedules=7)
    assert re.findall(r'what=provider (.*)', server.log_text()) == [
        'name=embedded recovery_scope=cluster max_active_schedules=7 pause_visibility_seconds=0']


@pytest.mark.parametrize('environment, words', [
    ({'BELFRY_SCHEDULER_PROVIDER': 'mine'}, ['"mine"', '"embedded"', '"none"']),
    ({'TZDIR': '/nowhere'}, ['time zone']),
])
def test_b23_a_configuration_that_cannot_be_names_what_and_the_remedies(tmp_path, environment, words):
    ended = serve(tmp_path, **environment)
    assert ended.returncode == 1
    for word in words:
        assert word in ended.stderr, ended.stderr
    assert ended.stderr.count('\n') <= 3


def test_t064_t078_the_runs_of_a_deleted_deployment_are_listed_under_its_id(server, receiver):
    id_ = server.create('bell', DAILY, receiver.url)['id']
    run = server.wait_run(server.run_now(id_)['id'])
    server.delete(id_)
    answer = server.api('GET', f'/v1/deployments/{id_}/runs')
    assert [r['id'] for r in answer.json['items']] == [run['id']]
    assert server.api('GET', f'/v1/deployments/{id_}/runs?status=FAILED').json['items'] == []
    assert server.api('GET', f'/v1/deployments/{id_}').status == 404
