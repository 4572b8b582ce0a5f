"""What holds for each command of the table: JSON for machines, and an exit status for each way to fail."""
import json
import re

import pytest

from cli_support import D1, ROOT, Server, belfry, calendar, deployment, problem, run

R1 = '0193c0de-0000-7000-8000-000000000001'
TABLE = '0 9 * * * /bin/true\n'
SET = json.dumps({'name': 'a', 'rule': {'cron': '0 9 * * *'}, 'target': {'kind': 'webhook', 'url': 'http://t/'}})

# command: (arguments behind it, standard input, the request that can be refused)
ASKING = {
    'deployments list': ([], None, ('GET', '/v1/deployments')),
    'deployments show': ([D1], None, ('GET', f'/v1/deployments/{D1}')),
    'deployments create': (['x', '--cron', '0 9 * * *', '--webhook', 'http://t/'], None,
                           ('POST', '/v1/deployments')),
    'deployments edit': ([D1, '--prompt', 'x'], None, ('PATCH', f'/v1/deployments/{D1}')),
    'deployments enable': ([D1], None, ('POST', f'/v1/deployments/{D1}/enable')),
    'deployments disable': ([D1], None, ('POST', f'/v1/deployments/{D1}/disable')),
    'deployments delete': ([D1], None, ('DELETE', f'/v1/deployments/{D1}')),
    'trigger': ([D1], None, ('POST', f'/v1/deployments/{D1}/runs')),
    'runs list': ([], None, ('GET', '/v1/runs')),
    'runs show': ([R1], None, ('GET', f'/v1/runs/{R1}')),
    'runs logs': ([R1], None, ('GET', f'/v1/runs/{R1}')),
    'runs replay': ([R1], None, ('POST', f'/v1/runs/{R1}/replay')),
    'runs cancel': ([R1, '--reason', 'x'], None, ('POST', f'/v1/runs/{R1}/cancel')),
    'logs': ([R1], None, ('GET', f'/v1/runs/{R1}')),
    'why': ([D1], None, ('GET', f'/v1/deployments/{D1}/why')),
    'forecast': ([], None, ('GET', '/v1/forecast')),
    'apply': (['-'], SET, ('POST', '/v1/apply')),
    'export': ([], None, ('GET', '/v1/deployments')),
    'import crontab': (['-', '--tz', 'UTC'], TABLE, ('POST', '/v1/apply')),
    'calendars list': ([], None, ('GET', '/v1/calendars')),
    'calendars show': (['holidays-de'], None, ('GET', '/v1/calendars/holidays-de')),
    'calendars set': (['holidays-de', '-'], '2026-12-25\n', ('PUT', '/v1/calendars/holidays-de')),
    'calendars remove': (['holidays-de'], None, ('DELETE', '/v1/calendars/holidays-de')),
    'settings show': ([], None, ('GET', '/v1/settings')),
    'settings set': (['grace=2m'], None, ('PATCH', '/v1/settings')),
}
# Those that ask no server, or one of their own.
OWN = {
    'next': ['0 9 * * *'],
    'explain': ['0 9 * * *'],
    'completion': ['bash'],
    'simulate': ['--seed', '1', '--hours', '1'],
    'doctor': [],
}
# Hosts: they have --json too, and tests of their own (test_cli_demo.py).
HOSTS = {'demo', 'serve'}


@pytest.fixture
def server():
    server = Server()
    server.fake.runs = {R1: run(R1)}
    server.fake.calendars = [calendar()]
    server.fake.outputs = {R1: b'out\n'}
    yield server
    server.close()


def leaves(*path):
    text = belfry(*path, '--help').stdout
    for line in text.split('Commands:\n')[1].split('\n\n')[0].splitlines():
        words = re.split(r'  +', line.strip())[0].split()[1:]
        if words[0] == 'help':
            continue
        if 'COMMAND ...' in belfry(*words, '--help').stdout:
            yield from leaves(*words)
        else:
            yield ' '.join(words)


def call(command, server, *more, **env):
    arguments, stdin, _ = ASKING[command]
    return belfry(*command.split(), *arguments, *more, url=server.url, stdin=stdin, **env)


def test_every_command_is_in_one_of_the_tables():
    assert set(leaves()) == set(ASKING) | set(OWN) | HOSTS


@pytest.mark.parametrize('command', ASKING)
def test_json_is_json_and_nothing_else(server, command):
    result = call(command, server, '--json')
    assert (result.returncode, result.stderr) == (0, '')
    for line in result.stdout.splitlines():
        assert isinstance(json.loads(line), dict)
    assert result.stdout.endswith('\n')
    before = belfry('--json', *command.split(), *ASKING[command][0], url=server.url, stdin=ASKING[command][1])
    assert before.stdout == result.stdout


@pytest.mark.parametrize('command', OWN)
def test_json_of_commands_that_ask_no_server(server, command):
    result = belfry(command, *OWN[command], '--json', url=server.url, seconds=120)
    assert isinstance(json.loads(result.stdout), dict)


@pytest.mark.parametrize('command', ASKING)
def test_text_is_text_without_colour_in_a_pipe(server, command):
    result = call(command, server)
    assert result.returncode == 0
    assert '\x1b' not in result.stdout + result.stderr


@pytest.mark.parametrize('status,code,wanted', [
    (400, 'INVALID_REQUEST', 1), (401, 'UNAUTHENTICATED', 4), (403, 'FORBIDDEN', 4), (404, 'NOT_FOUND', 3),
    (409, 'CONFLICT', 1), (503, 'SCHEDULE_EXECUTION_UNAVAILABLE', 5)])
@pytest.mark.parametrize('command', ASKING)
def test_each_refusal_has_its_exit_status(server, command, status, code, wanted):
    server.fake.answers[ASKING[command][2]] = problem(status, code, 'so it is')
    for more in ([], ['--json']):
        result = call(command, server, *more)
        assert result.returncode == wanted
        assert result.stderr.startswith('error: ')
        own = {401: 'BELFRY_TOKEN', 404: 'there is no'}.get(status, 'so it is')
        assert 'so it is' in result.stderr or own in result.stderr
        assert result.stdout == ''


@pytest.mark.parametrize('command', ASKING)
def test_a_server_that_is_not_there_is_unavailable(command):
    arguments, stdin, _ = ASKING[command]
    result = belfry(*command.split(), *arguments, url='http://127.0.0.1:1', stdin=stdin)
    assert result.returncode == 5
    assert 'is `belfry serve` running?' in result.stderr


@pytest.mark.parametrize('command', [*ASKING, *OWN, *HOSTS])
def test_wrong_usage_is_refused_before_anything_is_asked(server, command):
    for wrong in (['--no-such-option'], ['--json=1'], ['--help=x']):
        result = belfry(*command.split(), *wrong, url=server.url)
        assert result.returncode == 2
        assert result.stdout == ''
        assert result.stderr.startswith('error: ')
    assert server.fake.requests == []


@pytest.mark.parametrize('command', [c for c in ASKING if ASKING[c][0][:1] == [D1] or c == 'export'])
def test_a_deployment_that_is_not_there_is_not_found(server, command):
    server.fake.deployments = [deployment(name='morning-brief')]
    words = command.split()
    result = belfry(*words, 'morning-breif', *ASKING[command][0][1:], url=server.url)
    assert result.returncode == 3
    assert 'there is no deployment "morning-breif": did you mean "morning-brief"?' in result.stderr
    result = belfry(*words, 'xyzzy', *ASKING[command][0][1:], url=server.url)
    assert result.returncode == 3
    assert '`belfry deployments list` shows them' in result.stderr


@pytest.mark.parametrize('command', [c for c in ASKING if ASKING[c][0][:1] == [R1]])
def test_a_run_that_is_not_there_is_not_found(server, command):
    server.fake.runs = {}
    assert call(command, server).returncode == 3
    assert belfry(*command.split(), 'nobody@last', url=server.url).returncode == 3


@pytest.mark.parametrize('arguments', [
    ['deployments', 'disable', D1, '--reason', '\udcff'], ['deployments', 'enable', D1, '--reason', '\udcff'],
    ['deployments', 'create', 'x', '--cron', '* * * * *', '--webhook', 'http://t/', '--owner', '\udcff'],
    ['deployments', 'create', '\udcff', '--cron', '* * * * *', '--webhook', 'http://t/'],
    ['deployments', 'create', 'x', '--cron', '\udcff', '--webhook', 'http://t/'],
    ['calendars', 'set', 'x', '--date', '\udcff'], ['calendars', 'set', 'x', '--date', '1', '--description', '\udcff'],
    ['runs', 'cancel', R1, '--reason', '\udcff'], ['settings', 'set', 'grace=\udcff']])
def test_what_is_no_text_is_refused_before_anything_is_asked(server, arguments):
    result = belfry(*arguments, url=server.url)
    assert result.returncode in (1, 2)
    assert 'UTF-8' in result.stderr or 'NAME=VALUE' in result.stderr
    assert server.fake.requests == []


# --- cancel and settings ---

def test_cancel_sends_its_reason_and_shows_the_run(server):
    result = call('runs cancel', server)
    assert server.fake.requests[-1].json == {'reason': 'x'}
    assert 'CANCELLED' in result.stdout
    belfry('runs', 'cancel', 'morning@last', url=server.url)
    assert server.fake.requests[-1].json == {}
    assert server.fake.requests[-1].path == f'/v1/runs/{R1}/cancel'


# --- calendars ---

@pytest.mark.parametrize('text,items', [
    ('2026-12-25\n', ['2026-12-25']),
    ('# closed\n\n 2026-12-25  # Christmas\r\n2026-12-24T09:00:00', ['2026-12-25', '2026-12-24T09:00:00']),
    ('["2026-12-25", {"cron": "* * * 1 *"}]', ['2026-12-25', {'cron': '* * * 1 *'}]),
    ('- 2026-12-25\n- cron: "* * * 1 *"\n', ['2026-12-25', {'cron': '* * * 1 *'}]),
    ('except:\n  - 2026-12-25\n', ['2026-12-25'])])
def test_a_calendar_is_read_from_lines_or_yaml_or_json(server, tmp_path, text, items):
    file = tmp_path / 'holidays'
    file.write_text(text)
    for arguments, stdin in (([str(file)], None), (['-'], text)):
        result = belfry('calendars', 'set', 'x', *arguments, url=server.url, stdin=stdin)
        assert (result.returncode, result.stderr) == (0, '')
        assert server.fake.requests[-1].json == {'except': items}
        assert result.stdout == (f'set x: {len(items)} item{"s" * (len(items) > 1)} (0 gone, {len(items)} new), '
                                 '1 deployment planned anew\n')


def test_a_calendar_is_given_by_dates_with_its_description_and_revision(server):
    server.fake.calendars = [calendar('a.b', revision=3)]
    result = belfry('calendars', 'set', 'a.b', '--date', '2026-12-25', '--date', '2026-12-24T09:00:00', '--description', 'd',
                    '--if-revision', '3', url=server.url)
    assert result.returncode == 0
    request = server.fake.requests[-1]
    assert (request.path, request.headers['If-Match']) == ('/v1/calendars/a.b', '"3"')
    assert request.json == {'except': ['2026-12-25', '2026-12-24T09:00:00'], 'description': 'd'}
    for name, words in (('a.b', '--if-revision 2: it is at revision 3'), ('new', '--if-revision: there is no calendar "new"')):
        result = belfry('calendars', 'set', name, '--date', '2026-12-25', '--if-revision', '2', url=server.url)
        assert result.returncode == 1 and words in result.stderr and 'If-Match' not in result.stderr
    assert len(server.fake.asked('PUT')) == 1


@pytest.mark.parametrize('options,body,said', [
    (['--add', '2027-01-01'], {'except': ['2026-12-25', {'cron': '* * * 1 *'}, '2027-01-01'], 'description': 'closed'},
     'set holidays-de: 3 items (0 gone, 1 new), 1 deployment planned anew'),
    (['--drop', '2026-12-25', '--add', '2027-01-01', '--add', '2027-01-06', '--add', '2027-01-01'],
     {'except': [{'cron': '* * * 1 *'}, '2027-01-01', '2027-01-06'], 'description': 'closed'},
     'set holidays-de: 3 items (1 gone, 2 new), 1 deployment planned anew'),
    (['--add', '2026-12-25'], {'except': ['2026-12-25', {'cron': '* * * 1 *'}], 'description': 'closed'},
     'unchanged holidays-de: 2 items'),
    (['--date', '2026-12-26'], {'except': ['2026-12-26'], 'description': 'closed'},
     'set holidays-de: 1 item (2 gone, 1 new), 1 deployment planned anew'),
    (['--date', '2026-12-25', '--description', ''], {'except': ['2026-12-25'], 'description': ''},
     'set holidays-de: 1 item (1 gone, 0 new), description removed, 1 deployment planned anew'),
    (['--description', 'shut'], {'except': ['2026-12-25', {'cron': '* * * 1 *'}], 'description': 'shut'},
     'set holidays-de: 2 items (0 gone, 0 new), description changed, 1 deployment planned anew'),
])
def test_what_is_not_named_of_a_calendar_stays_and_a_change_is_counted(server, options, body, said):
    result = belfry('calendars', 'set', 'holidays-de', *options, url=server.url)
    assert (result.returncode, result.stderr, result.stdout) == (0, '', said + '\n')
    request = server.fake.requests[-1]
    assert request.json == body and request.headers['If-Match'] == '"2"'


def test_what_is_shown_of_a_calendar_can_be_set(server, tmp_path):
    shown = belfry('calendars', 'show', 'holidays-de', '--json', url=server.url).stdout
    assert belfry('calendars', 'set', 'holidays-de', '-', url=server.url, stdin=shown).stdout == 'unchanged holidays-de: 2 items\n'
    answered = belfry('calendars', 'set', 'copy', '-', '--json', url=server.url, stdin=shown).stdout
    assert server.fake.requests[-1].json == {'description': 'closed', 'except': ['2026-12-25', {'cron': '* * * 1 *'}]}
    assert belfry('calendars', 'set', 'copy', '-', url=server.url, stdin=answered).returncode == 0
    # What nobody can set is the server's to refuse.
    belfry('calendars', 'set', 'copy', '-', url=server.url, stdin='{"except": [], "colour": "red"}')
    assert server.fake.requests[-1].headers['If-None-Match'] == '*'
    assert server.fake.requests[-1].json == {'except': [], 'colour': 'red'}


@pytest.mark.parametrize('name,options,status,words', [
    ('holidays-de', ['--drop', '2026-12-26'], 3, '--drop: "2026-12-26" is not among the items: `belfry calendars show holidays-de`'),
    ('new', ['--add', '2026-12-26'], 3, 'there is no calendar "new" to change: FILE or --date makes one'),
    ('new', ['--description', 'd'], 3, 'there is no calendar "new" to change'),
    ('holidays-de', ['--date', '2026-12-26', '--add', '2026-12-27'], 2, 'one of the three'),
    ('holidays-de', ['-', '--drop', '2026-12-25'], 2, 'one of the three'),
    ('holidays-de', [], 2, 'one of the three'),
    ('holidays-de', ['--add', '\udcff'], 2, '--add is not UTF-8'),
])
def test_a_change_of_a_calendar_that_cannot_be_is_refused_before_it_is_sent(server, name, options, status, words):
    result = belfry('calendars', 'set', name, *options, url=server.url, stdin='')
    assert result.returncode == status and words in result.stderr, result.stderr
    assert server.fake.asked('PUT') == []


def test_a_calendar_that_changed_meanwhile_is_not_set(server):
    server.fake.answers[('PUT', '/v1/calendars/holidays-de')] = problem(412, 'PRECONDITION_FAILED', 'If-Match names revision 2')
    result = belfry('calendars', 'set', 'holidays-de', '--add', '2027-01-01', url=server.url)
    assert result.returncode == 1 and 'somebody changed it in this moment, so nothing was set: ' in result.stderr


def test_a_calendar_file_that_is_wrong_is_named_with_its_line(server, tmp_path):
    file = tmp_path / 'holidays'
    file.write_text('# a\n2026-12-25\n\n2026-13-01\n')
    server.fake.answers[('PUT', '/v1/calendars/x')] = problem(400, 'INVALID_SCHEDULE', 'no such month', pointer='/except/1')
    result = belfry('calendars', 'set', 'x', str(file), url=server.url)
    assert (result.returncode, result.stdout) == (1, '')
    assert f'{file}: line 4: "2026-13-01": no such month' in result.stderr
    for text in ('', '# nothing\n', 'a: [', '5\n---\n', '[]\n---\n[]\n', 'text', b'2026-12-25\n20\xff'):
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        asked = len(server.fake.asked('PUT'))
        result = belfry('calendars', 'set', 'x', str(file), url=server.url)
        assert result.returncode == 1, text
        if text != '5\n---\n':
            assert str(file) in result.stderr and len(server.fake.asked('PUT')) == asked, text
    for text in ('', '# nothing\n'):
        result = belfry('calendars', 'set', 'x', '-', url=server.url, stdin=text)
        assert 'there is nothing in it' in result.stderr
    result = belfry('calendars', 'set', 'x', str(file), '--date', '2026-12-25', url=server.url)
    assert (result.returncode, 'one of the three' in result.stderr) == (2, True)


def test_calendars_are_shown_with_their_items_and_users(server):
    heading, row = belfry('calendars', 'list', url=server.url).stdout.splitlines()
    assert heading.index('DESCRIPTION') == row.index('closed') and row.startswith('holidays-de  2      1')
    shown = belfry('calendars', 'show', 'holidays-de', url=server.url).stdout
    assert shown.endswith('\n\n2026-12-25\n{"cron":"* * * 1 *"}\n') and 'morning' in shown
    belfry('calendars', 'list', 'hol', url=server.url)
    assert server.fake.requests[-1].query['q'] == 'hol'
    server.fake.calendars = []
    result = belfry('calendars', 'list', url=server.url)
    assert (result.stdout, 'calendars set --help' in result.stderr) == ('', True)


def test_settings_are_aligned_and_can_be_picked(server):
    server.fake.settings['max_concurrent'].update(next_value=20, source='api')
    result = belfry('settings', 'show', url=server.url)
    heading, grace, concurrent = result.stdout.splitlines()
    assert heading.index('VALUE') == grace.index('PT1M') == concurrent.index('1000')
    assert 'from the next start: 20' in concurrent
    assert belfry('settings', 'show', 'grace', url=server.url).stdout.count('\n') == 2
    answer = json.loads(belfry('settings', 'show', 'grace', '--json', url=server.url).stdout)
    assert list(answer) == ['grace']
    result = belfry('settings', 'show', 'grcae', url=server.url)
    assert result.returncode == 3
    assert 'did you mean grace?' in result.stderr


@pytest.mark.parametrize('pair,value', [
    ('grace=2m', 'PT2M'), ('grace=PT2M', 'PT2M'), ('grace=90s', 'PT1M30S'), ('max_concurrent=20', 20),
    ('grace=null', None), ('grace=true', True), ('grace=some text', 'some text'), ('grace=', '')])
def test_settings_are_sent_with_their_type(server, pair, value):
    result = belfry('settings', 'set', pair, url=server.url)
    assert result.returncode == 0
    assert server.fake.requests[-1].json == {pair.split('=')[0]: value}
    assert pair.split('=')[0] in result.stdout


@pytest.mark.parametrize('pair', ['grace', '=1', 'gr\udcffce=1'])
def test_a_setting_needs_a_name_and_a_value(server, pair):
    result = belfry('settings', 'set', pair, url=server.url)
    assert result.returncode == 2
    assert 'NAME=VALUE' in result.stderr
    assert belfry('settings', 'set', 'a=1', 'a=2', url=server.url).returncode == 2
    assert server.fake.requests == []


def test_the_readme_lists_each_command():
    section = (ROOT / 'README.md').read_text().split('## The commands\n')[1].split('\n## ')[0]
    for command in leaves():
        group, _, name = command.partition(' ')
        row = re.search(rf'^\| `{group}\b.*$', section, re.M)
        assert row and re.search(rf'\b{name or group}\b', row.group()), command
