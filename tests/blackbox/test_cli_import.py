"""`belfry import crontab`: whole tables against what they must become, and the way through the server.

crontabs/NAME.crontab is a table as it is found in the world (ours, not copied); NAME.json is what the
import sends of it and says of each line."""
import json
import pathlib

import pytest

from cli_support import D2, Server, belfry, belfry_on_terminal, deployment, problem

TABLES = pathlib.Path(__file__).parent / 'crontabs'
FLAGS = {'debian': ['--system'], 'cron.d': ['--system']}
UNREACHABLE = 'http://127.0.0.1:1'


@pytest.fixture
def server():
    server = Server()
    server.fake.deployments = []
    yield server
    server.close()


def take(table, *arguments, url, name='-', **more):
    return belfry('import', 'crontab', name, '--tz', 'Europe/Berlin', '--user', 'root', *arguments,
                  url=url, stdin=table, **more)


def sent(server):
    asked = server.fake.asked('POST', '/v1/apply')
    return [([d['name'] for d in r.json['deployments']], r.query.get('dry_run') == 'true') for r in asked]


@pytest.mark.parametrize('name', sorted(p.stem for p in TABLES.glob('*.crontab')))
def test_a_table_becomes_what_cron_means_by_it(server, name):
    result = take(None, '--dry-run', '--json', *FLAGS.get(name, []), url=server.url,
                  name=str(TABLES / f'{name}.crontab'))
    answer = json.loads(result.stdout)
    got = {'status': result.returncode, 'allow_exec': answer['allow_exec'], 'lines': answer['lines'],
           'deployments': server.fake.asked('POST', '/v1/apply')[0].json['deployments']}
    assert got == json.loads((TABLES / f'{name}.json').read_text())


def test_there_are_tables_of_each_shape():
    assert {p.stem for p in TABLES.glob('*.crontab')} >= {'debian', 'cron.d', 'vixie', 'cronie', 'busybox'}


def test_the_server_is_asked_first_and_then_told(server):
    result = take('0 9 * * * report\n5 9 * * * other\n', url=server.url)
    assert result.returncode == 0
    assert sent(server) == [(['report', 'other'], True), (['report', 'other'], False)]
    assert '--allow-exec' not in result.stdout
    rows = {l.split()[0]: l for l in result.stdout.split('OUTCOME')[1].splitlines()[1:3]}
    assert 'line 1' in rows['report'] and 'line 2' in rows['other']
    server.fake.requests.clear()
    result = take('0 9 * * * report\n', '--dry-run', url=server.url)
    assert sent(server) == [(['report'], True)]
    assert 'a dry run: nothing was done' in result.stdout


def test_the_same_import_twice_changes_nothing(server):
    table = '0 9 * * * report\n0 21 * * * report\n'
    first = take(table, url=server.url)
    server.fake.outcomes = {n: {'outcome': 'unchanged'} for n in ('report', 'report-2')}
    second = take(table, url=server.url)
    assert (first.returncode, second.returncode) == (0, 0)
    asked = server.fake.asked('POST', '/v1/apply')
    assert len({r.body for r in asked}) == 1
    assert '0 created, 0 changed, 2 unchanged, 0 refused' in second.stdout


def test_what_the_server_refuses_is_left_out_and_the_rest_is_made(server):
    server.fake.outcomes = {'other': {'outcome': 'refused', 'error': {
        'code': 'TARGET_NOT_ALLOWED', 'detail': 'allow it with --allow-exec /bin/sh'}}}
    result = take('0 9 * * * report\n5 9 * * * other\n', url=server.url)
    assert result.returncode == 1
    assert sent(server) == [(['report', 'other'], True), (['report'], False)]
    assert 'allow it with --allow-exec /bin/sh' in result.stdout
    assert result.stdout.rstrip().endswith('belfry serve --allow-exec /bin/sh')
    assert '1 created, 0 changed, 0 unchanged, 1 refused' in result.stdout
    server.fake.requests.clear()
    answer = json.loads(take('0 9 * * * other\n', '--json', url=server.url).stdout)
    assert len(sent(server)) == 1
    assert answer['counts']['refused'] == 1 and answer['allow_exec'] == ['/bin/sh']


@pytest.mark.parametrize('labels,wanted', [({'imported': 'crontab'}, 0), ({}, 1)])
def test_a_deployment_that_no_import_made_is_not_changed(server, labels, wanted):
    server.fake.deployments = [deployment(D2, 'report', labels=labels)]
    server.fake.outcomes = {'report': {'outcome': 'changed', 'id': D2}}
    result = take('0 9 * * * report\n', url=server.url)
    assert result.returncode == wanted
    assert len(sent(server)) == (1 if wanted else 2)
    assert ('no import made: rename it' in result.stdout) == bool(wanted)


def test_a_dry_run_without_a_server_tells_what_can_be_told():
    result = take('0 9 * * * report\n', '--dry-run', url=UNREACHABLE)
    assert result.returncode == 0
    assert 'the server was not asked: cannot reach Belfry' in result.stderr
    assert 'report' in result.stdout
    assert result.stdout.rstrip().endswith('belfry serve --allow-exec /bin/sh')
    answer = json.loads(take('0 9 * * * report\n@reboot x\n', '--dry-run', '--json', url=UNREACHABLE).stdout)
    assert answer['asked'] is False and answer['items'] is None
    assert take('@reboot x\n', '--dry-run', url=UNREACHABLE).returncode == 1
    assert take('0 9 * * * report\n', url=UNREACHABLE).returncode == 5


def test_a_refusal_of_the_whole_keeps_its_exit_status(server):
    server.fake.answers[('POST', '/v1/apply')] = problem(401, 'UNAUTHENTICATED', 'a token is needed')
    result = take('0 9 * * * report\n', '--dry-run', url=server.url)
    assert result.returncode == 4
    assert 'BELFRY_TOKEN' in result.stderr


def test_lines_of_other_users_are_refused_where_there_is_a_user_column(server, tmp_path):
    folder = tmp_path / 'cron.d'
    folder.mkdir()
    table = '0 9 * * * root report\n0 9 * * * deploy other\n'
    (folder / 'app').write_text(table)
    by_name = take(None, url=server.url, name=str(folder / 'app'))
    by_flag = take(table, '--system', url=server.url)
    assert by_name.stdout.splitlines()[1:3] == by_flag.stdout.splitlines()[1:3]
    assert by_name.returncode == by_flag.returncode == 1
    assert 'column 11: it runs as deploy, and Belfry as root' in by_flag.stdout
    assert sent(server)[0][0] == ['report']
    other = take(table, '--system', '--user', 'deploy', '--dry-run', url=server.url)
    assert other.returncode == 2  # --user is given twice
    other = belfry('import', 'crontab', '-', '--system', '--user', 'deploy', '--dry-run', url=server.url,
                   stdin=table)
    assert sent(server)[-1][0] == ['other']


def test_the_zone_is_the_machines_where_nothing_names_one(server):
    belfry('import', 'crontab', '-', '--dry-run', url=server.url, stdin='0 9 * * * x\n')
    link = pathlib.Path('/etc/localtime')
    zone = str(link.readlink()).split('/zoneinfo/')[1] if link.is_symlink() else 'UTC'
    assert server.fake.asked('POST', '/v1/apply')[0].json['deployments'][0]['timezone'] == zone


def test_an_empty_table_asks_nobody(server):
    result = take('# nothing\n', url=server.url)
    assert result.returncode == 0
    assert server.fake.requests == []


def test_the_report_is_coloured_on_a_terminal_alone(server, tmp_path):
    table = tmp_path / 'table'
    table.write_text('0 9 * * * a\n@reboot b\n')
    arguments = ('import', 'crontab', str(table), '--dry-run')
    assert '\x1b[31mrefused' in belfry_on_terminal(*arguments, url=server.url)[1]
    assert '\x1b[31m' not in belfry_on_terminal(*arguments, url=server.url, NO_COLOR='1')[1]
    assert '\x1b' not in belfry(*arguments, url=server.url).stdout


def test_a_command_cannot_drive_a_terminal(server):
    result = take('0 9 * * * x%\x1b[2J\n61 9 * * * \x1b[2J\nMAILTO=\x1b[2J\n', '--dry-run', url=server.url)
    assert '\x1b' not in result.stdout + result.stderr
