"""Sets of deployments and crontabs through a real host: what is exported changes nothing where it is applied,
and an imported table runs as cron would run it."""
import json

import pytest

import belfry
from cli_support import belfry as run_belfry
from test_cli_apply import PROMPTS

CALL = {'kind': 'webhook', 'url': 'http://127.0.0.1:9/'}
COMMAND = {'kind': 'exec', 'command': ['/bin/sh', '-c', 'cat'], 'env': {'A': ' b '}}
ALLOWED = ('--allow-private-targets', '--allow-exec', '/bin/sh')


@pytest.fixture(scope='module')
def host():
    host = belfry.Server(arguments=ALLOWED).start()
    yield host
    host.close()


def command(host, *arguments, **more):
    token = host.data / 'admin.token'
    env = {'BELFRY_TOKEN': token.read_text().strip()} if token.exists() else {}
    return run_belfry(*arguments, url=host.url, **env, **more)


def apply(host, deployments, *options):
    return command(host, 'apply', '-', '--json', *options, stdin=json.dumps({'deployments': deployments}))


def made(name, **more):
    return {'name': name, 'rule': {'cron': '0 9 1 1 *'}, 'target': CALL, **more}


def test_export_and_apply_shows_no_change(host):
    deployments = [made(f'p{i}', prompt=p, input={'v': p[:300], 'n': [1.0, None]}) for i, p in enumerate(PROMPTS)]
    deployments += [
        made('largest', prompt='x\n' * 524288),
        made('named', enabled=False, timezone='Asia/Shanghai', labels={'on': 'yes', 'v': '1.0'}),
        made('all', policies={
            'grace': 'PT5M', 'late_limit': 'PT2H', 'timeout': 'PT10S', 'dst': {'gap': 'shift', 'fold': 'both'},
            'retry': {'max_attempts': 2, 'first_delay': 'PT5S', 'max_delay': 'PT2M'}}),
        made('body', target={**CALL, 'method': 'PUT', 'headers': {'X-A': 'on'}, 'body': {'policies': {}}}),
        made('command', target=COMMAND, prompt=' stdin '),
        made('retried', target={**COMMAND, 'permanent_exit': [3], 'cwd': '/', 'output_limit': 100},
             policies={'retry': {'max_attempts': 2}, 'timeout': 'PT1M', 'interrupted': 'abandon'}),
        made('rule', rule={'every': 'PT5M', 'not_before': '2027-01-01T00:00:00'}, timezone='Europe/Berlin'),
    ]
    first = apply(host, deployments)
    refused = [i for i in json.loads(first.stdout)['items'] if i['error'] is not None]
    assert (first.returncode, refused) == (0, []), json.dumps(refused)
    assert json.loads(first.stdout)['counts']['created'] == len(deployments)
    for form in ('yaml', 'json'):
        exported = command(host, 'export', '--format', form)
        assert (exported.returncode, exported.stderr) == (0, '')
        for member in ('"id"', 'revision', 'created_at', 'next_due', 'phase'):
            assert f'\n    {member}' not in exported.stdout
        for options in (['--dry-run'], []):
            again = command(host, 'apply', '-', '--json', *options, stdin=exported.stdout)
            answer = json.loads(again.stdout)
            assert [i for i in answer['items'] if i['outcome'] != 'unchanged'] == []
            assert again.returncode == 0 and len(answer['items']) == len(deployments)
    shown = json.loads(command(host, 'deployments', 'show', 'rule', '--json').stdout)
    assert shown['revision'] == 1
    assert command(host, 'export').stdout == command(host, 'export').stdout


def test_a_dry_run_changes_nothing_and_tells_what_would(host):
    assert apply(host, [made('dry')]).returncode == 0
    changed = made('dry', rule={'cron': '30 9 1 1 *'}, policies={'grace': 'PT2M'})
    answer = json.loads(apply(host, [changed, made('dry-new')], '--dry-run').stdout)
    assert [i['outcome'] for i in answer['items']] == ['changed', 'created']
    assert {c['pointer'] for c in answer['items'][0]['changes']} == {'/policies/grace', '/rule/cron'}
    assert any('T09:30:00' in t for t in answer['items'][0]['appears'])
    assert any('T09:00:00' in t for t in answer['items'][0]['vanishes'])
    again = json.loads(apply(host, [made('dry')], '--dry-run').stdout)
    assert again['counts']['unchanged'] == 1
    assert command(host, 'deployments', 'show', 'dry-new').returncode == 3


def test_where_one_is_refused_nothing_is_changed(host):
    result = apply(host, [made('whole'), made('wrong', rule={'cron': '61 * * * *'})])
    assert result.returncode == 1
    answer = json.loads(result.stdout)
    assert answer['items'][1]['outcome'] == 'refused'
    assert answer['items'][1]['error']['code'] == 'INVALID_SCHEDULE'
    assert command(host, 'deployments', 'show', 'whole').returncode == 3


def test_an_imported_table_runs_as_cron_would_run_it(host):
    table = ("GREETING='  hi  '\n"
             '0 0 1 1 * printf "\\%s|" "$GREETING"; pwd; cat%one%two\n'
             '0 0 1 1 * echo other >/dev/null\n'
             '@reboot echo never\n')
    arguments = ('import', 'crontab', '-', '--tz', 'Europe/Berlin', '--json')
    first = command(host, *arguments, stdin=table)
    answer = json.loads(first.stdout)
    assert first.returncode == 1
    assert answer['counts'] == {'created': 2, 'changed': 0, 'unchanged': 0, 'refused': 0}
    name = answer['items'][0]['name']
    assert command(host, 'trigger', name, '--wait').returncode == 0
    output = command(host, 'logs', name).stdout
    assert output.startswith('  hi  |/') and output.endswith('\none\ntwo\n')
    second = json.loads(command(host, *arguments, stdin=table).stdout)
    assert second['counts'] == {'created': 0, 'changed': 0, 'unchanged': 2, 'refused': 0}
    edited = json.loads(command(host, *arguments, stdin=table.replace('0 0 1 1', '5 0 1 1')).stdout)
    assert edited['counts'] == {'created': 0, 'changed': 2, 'unchanged': 0, 'refused': 0}


def test_an_import_is_told_how_to_allow_its_shell():
    host = belfry.Server().start()
    try:
        result = command(host, 'import', 'crontab', '-', '--tz', 'UTC', stdin='0 9 * * * report\n')
        assert result.returncode == 1
        assert '1 refused' in result.stdout and 'allow' in result.stdout
        assert result.stdout.rstrip().endswith('belfry serve --allow-exec /bin/sh')
    finally:
        host.close()


def test_an_edit_of_the_times_keeps_the_limits_of_the_rule(host):
    limits = {'except': ['2030-01-01'], 'max_fires': 5, 'spread': 'PT5M', 'not_before': '2029-01-01T00:00:00'}
    assert apply(host, [made('limited', rule={'cron': '0 9 1 1 *', **limits})]).returncode == 0

    def edit(*options):
        result = command(host, 'deployments', 'edit', 'limited', '--json', *options)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)['rule']
    assert edit('--cron', '30 9 1 1 *') == {'cron': '30 9 1 1 *', **limits}
    assert edit('--every', '2h') == {'every': 'PT2H', **limits}
    assert edit('--at', '2030-06-01 09:00') == {'at': '2030-06-01T09:00:00', **limits}
    del limits['spread']
    assert edit('--spread', 'none') == {'at': '2030-06-01T09:00:00', **limits}
    del limits['max_fires']
    assert edit('--cron', '@daily', '--max-fires', 'none') == {'cron': '@daily', **limits}
    assert edit('--rule', '{"cron": "@weekly"}') == {'cron': '@weekly'}


def test_deployments_are_listed_by_label(host):
    assert apply(host, [made('lab-a', labels={'team': 'ops'}), made('lab-b', labels={'team': 'web'})]).returncode == 0
    listed = json.loads(command(host, 'deployments', 'list', 'lab', '--label', 'team=ops', '--json').stdout)
    assert [d['name'] for d in listed['items']] == ['lab-a']


def test_settings_and_cancel_go_through(host):
    shown = json.loads(command(host, 'settings', 'show', '--json').stdout)
    assert shown['grace']['value'] == 'PT1M'
    assert command(host, 'settings', 'set', 'grace=2m').returncode == 0
    assert json.loads(command(host, 'settings', 'show', 'grace', '--json').stdout)['grace']['next_value'] == 'PT2M'
    assert command(host, 'settings', 'set', 'grace=null').returncode == 0
    assert command(host, 'settings', 'set', 'no_such=1').returncode == 1
    assert command(host, 'runs', 'cancel', 'nobody@last').returncode == 3
