"""`belfry apply` and `belfry export`, against a server that answers from memory."""
import json

import pytest

from cli_support import D2, Server, belfry, belfry_on_terminal, calendar, deployment, problem

SET = '''\
deployments:
  - name: morning
    rule: {cron: "0 9 * * 1-5"}
    timezone: Europe/Berlin
    target: {kind: webhook, url: "http://t/"}
    prompt: |
      on
      12:30
  - name: no
    rule: {every: PT5M}
    target: {kind: webhook, url: "http://t/"}
    labels: {on: yes, version: "1.0"}
'''
ONE = {'name': 'one', 'rule': {'cron': '0 9 * * *'}, 'target': {'kind': 'webhook', 'url': 'http://t/'}}


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def write(tmp_path):
    def write(text, name='set.yaml'):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)
    return write


def sent(server):
    """The deployments of every request to apply, and which of them were dry runs."""
    asked = server.fake.asked('POST', '/v1/apply')
    return ([d for r in asked for d in r.json['deployments']],
            [r.query.get('dry_run') == 'true' for r in asked])


# --- apply ---

def test_yaml_is_sent_as_the_core_schema_reads_it(server, write):
    result = belfry('apply', write(SET), url=server.url)
    assert (result.returncode, result.stderr) == (0, '')
    deployments, dry = sent(server)
    assert dry == [True, False]
    assert deployments[2:] == deployments[:2]
    assert deployments[0]['prompt'] == 'on\n12:30\n'
    assert deployments[1]['name'] == 'no'
    assert deployments[1]['labels'] == {'on': 'yes', 'version': '1.0'}
    assert result.stdout.endswith('2 created, 0 changed, 0 unchanged, 0 refused\n')
    heading, first, second = result.stdout.splitlines()[:3]
    assert heading.split() == ['NAME', 'OUTCOME', 'FROM', 'DETAIL']
    assert 'set.yaml:2' in first and 'set.yaml:9' in second


@pytest.mark.parametrize('text,name', [
    (json.dumps(ONE), 'one.json'), (json.dumps({'deployments': [ONE]}), 'list.json'),
    (json.dumps(ONE), 'one.yaml'), (json.dumps({**ONE, 'prompt': '\U0001f600'}), 'pair.yaml'),
    (f'---\n{json.dumps(ONE)}\n---\n', 'documents.yaml')])
def test_json_is_taken_too_and_a_document_may_be_one_deployment(server, write, text, name):
    assert belfry('apply', write(text, name), url=server.url).returncode == 0
    assert sent(server)[0][-1] in (ONE, {**ONE, 'prompt': '\U0001f600'})


def test_several_files_and_standard_input_are_one_set(server, write):
    first = write(json.dumps(ONE), 'a.json')
    result = belfry('apply', first, '-', url=server.url, stdin='name: two\nrule: {cron: "* * * * *"}\n')
    assert result.returncode == 0
    assert [d['name'] for d in sent(server)[0]] == ['one', 'two'] * 2
    assert sent(server)[1] == [True, False]


def test_a_dry_run_is_asked_for_and_says_so(server, write):
    server.fake.outcomes = {'morning': {
        'outcome': 'changed', 'id': D2,
        'changes': [{'pointer': '/policies/grace', 'old': 'PT1M', 'new': 'PT2M'}],
        'appears': ['2026-12-01T08:00:00Z'], 'vanishes': ['2026-12-01T09:00:00Z']},
        'no': {'outcome': 'unchanged'}}
    result = belfry('apply', write(SET), '--dry-run', url=server.url)
    assert result.returncode == 0
    assert sent(server)[1] == [True]
    assert result.stdout.startswith('morning\n  policies.grace: "PT1M" -> "PT2M"\n'
                                    '  no longer due 2026-12-01T09:00:00Z\n'
                                    '  now due 2026-12-01T08:00:00Z\n\n')
    assert result.stdout.endswith('0 created, 1 changed, 1 unchanged, 0 refused '
                                  '(a dry run: nothing was done)\n')
    result = belfry('apply', write(SET), '--dry-run', '--json', url=server.url)
    answer = json.loads(result.stdout)
    assert answer['dry_run'] is True
    assert answer['counts'] == {'created': 0, 'changed': 1, 'unchanged': 1, 'refused': 0}
    assert [i['line'] for i in answer['items']] == [2, 9]


def test_what_the_server_refuses_is_named_with_its_place(server, write):
    server.fake.outcomes = {'no': {'outcome': 'refused', 'error': {
        'code': 'INVALID_SCHEDULE', 'detail': 'every: too often', 'pointer': '/rule/every'}}}
    result = belfry('apply', write(SET), url=server.url)
    assert result.returncode == 1
    assert sent(server)[1] == [True]
    assert result.stdout.endswith('1 refused (nothing was done: mend what is refused, or leave it out)\n')
    line = next(l for l in result.stdout.splitlines() if l.startswith('no '))
    assert 'set.yaml:9' in line and 'every: too often (at /rule/every)' in line


def test_what_fails_on_the_way_leaves_what_came_before(server, write):
    def answer(request):
        server.fake.outcomes = {} if request.query else {
            'no': {'outcome': 'refused', 'error': {'code': 'CONFLICT', 'detail': 'taken in between'}}}
        return server.fake.apply(request)
    server.fake.answers[('POST', '/v1/apply')] = answer
    result = belfry('apply', write(SET), url=server.url)
    assert result.returncode == 1
    assert result.stdout.endswith('1 created, 0 changed, 0 unchanged, 1 refused '
                                  '(what is not refused is done; the same again goes on)\n')
    assert json.loads(belfry('apply', write(SET), '--json', url=server.url).stdout)['done'] is True


def test_a_large_set_goes_in_parts_and_is_looked_at_as_a_whole_first(server, write):
    many = [{**ONE, 'name': f'n{i}'} for i in range(250)]
    path = write(json.dumps({'deployments': many}), 'many.json')
    assert belfry('apply', path, url=server.url).returncode == 0
    deployments, dry = sent(server)
    assert dry == [True] * 3 + [False] * 3
    assert deployments == many * 2
    server.fake.requests.clear()
    server.fake.outcomes = {'n249': {'outcome': 'refused', 'error': {'code': 'X', 'detail': 'no'}}}
    result = belfry('apply', path, url=server.url)
    assert result.returncode == 1
    assert sent(server)[1] == [True] * 3
    assert '249 created' in result.stdout and '1 refused' in result.stdout


def test_large_prompts_go_in_parts_by_their_bytes(server, write):
    many = [{**ONE, 'name': f'n{i}', 'prompt': 'x' * 1000000} for i in range(9)]
    assert belfry('apply', write(json.dumps({'deployments': many}), 'm.json'), url=server.url).returncode == 0
    assert all(len(r.body) < 5 << 20 for r in server.fake.asked('POST', '/v1/apply'))
    assert sent(server)[0] == many * 2


def test_progress_shows_on_a_terminal_alone(server, write):
    many = [{**ONE, 'name': f'n{i}'} for i in range(250)]
    path = write(json.dumps({'deployments': many}), 'many.json')
    _, shown = belfry_on_terminal('apply', path, url=server.url)
    assert 'applied: 200 of 250' in shown
    assert '\x1b[32mcreated\x1b[0m' in shown
    _, plain = belfry_on_terminal('apply', path, url=server.url, NO_COLOR='1')
    assert '\x1b[32m' not in plain
    assert belfry('apply', path, url=server.url).stderr == ''


@pytest.mark.parametrize('text,place,words', [
    ('name: a\nname: b\n', 'set.yaml: line 2, column 1: ', 'given twice'),
    ('a: &x [1]\n', 'set.yaml: line 1, column 4: ', 'anchors and aliases'),
    ('a: [1\n', 'set.yaml: line 2, ', 'not YAML'),
    ('a: !!python/object x\n', 'set.yaml: line 1, column 4: ', 'the tag'),
    (b'a: \xff\n', 'set.yaml: line 1, column 4: ', 'not UTF-8'),
    ('- ' * 70 + 'a\n', 'set.yaml: line 1, column 129: ', 'nested more than 64 deep'),
    ('- a\n', 'set.yaml: ', 'a mapping with name, rule and target'),
    ('just text\n', 'set.yaml: ', 'a mapping with name, rule and target'),
    ('a: 1\n', 'set.yaml: line 1: ', 'a deployment needs a name'),
    ('name: 1\n', 'set.yaml: line 1: ', 'which is text'),
    ('deployments: {}\n', 'set.yaml: line 1: ', 'must be a list'),
    ('calendars: {}\n', 'set.yaml: line 1: ', 'must be a list'),
    ('calendars: [a]\n', 'set.yaml: ', 'a calendar is a mapping'),
    ('calendars:\n  - except: []\n', 'set.yaml: line 2: ', 'a calendar needs a name'),
    ('calendars:\n  - name: a\n  - name: a\n', 'set.yaml: line 3: ', '"a" is declared twice'),
    ('deployments: []\nname: a\n', 'set.yaml: line 1: ', 'stand alone'),
    ('name: a\n---\n\nname: a\n', 'set.yaml: line 4: ', '"a" is declared twice'),
    ('', '', 'there is no deployment in it'),
    ('# nothing\n', '', 'there is no deployment in it')])
def test_a_file_that_cannot_be_meant_is_refused_at_its_place(server, write, text, place, words):
    result = belfry('apply', write(text), url=server.url)
    assert result.returncode == 1
    assert place in result.stderr and words in result.stderr
    assert server.fake.requests == []


def test_json_faults_have_a_place_too(server, write):
    result = belfry('apply', write('{\n  "name": "a",\n  "name": "b"}', 'x.json'), url=server.url)
    assert result.returncode == 1
    assert 'x.json: line 3, column' in result.stderr and 'given twice' in result.stderr


def test_a_file_that_is_not_there(server, tmp_path):
    result = belfry('apply', str(tmp_path / 'none.yaml'), url=server.url)
    assert result.returncode == 1
    assert 'cannot read' in result.stderr and 'No such file' in result.stderr


@pytest.mark.parametrize('option', [['--set', 'x'], ['--prune']])
def test_sets_are_refused_by_name(server, write, option):
    result = belfry('apply', write(SET), *option, url=server.url)
    assert result.returncode == 2
    assert f'{option[0]}: this version does not offer it' in result.stderr
    assert server.fake.requests == []


def test_a_dry_run_shows_what_a_calendar_gains_and_loses_and_who_uses_it(server, write):
    days = [f'2027-01-{day:02}' for day in range(1, 13)]
    server.fake.calendars = [calendar(used_by={'count': 12, 'at_least': False, 'deployments': ['morning', 'noon']})]
    server.fake.outcomes['holidays-de'] = {'outcome': 'changed', 'revision': 2}
    path = write(json.dumps({'calendars': [{'name': 'holidays-de', 'except': ['2026-12-25', *days]}]}), 's.json')
    result = belfry('apply', path, '--dry-run', url=server.url)
    assert (result.returncode, result.stderr) == (0, '')
    begin = result.stdout.split('\n\n')[0].splitlines()
    assert begin == ['calendar holidays-de', '  description: "closed" -> null', '  no longer left out {"cron":"* * * 1 *"}',
                     *(f'  now left out {day}' for day in days[:10]), '  now left out and 2 more',
                     '  used by 12 deployments: morning, noon, ...']
    shown, = json.loads(belfry('apply', path, '--dry-run', '--json', url=server.url).stdout)['calendars']
    assert (shown['gone'], shown['new'], shown['used_by']['count']) == ([{'cron': '* * * 1 *'}], days, 12)
    # It went in the meantime, or cannot be read.
    server.fake.calendars = []
    assert belfry('apply', path, '--dry-run', url=server.url).stdout.startswith('calendar holidays-de\n\n')
    server.fake.answers[('GET', '/v1/calendars/holidays-de')] = problem(403, 'FORBIDDEN', 'not yours')
    refused = belfry('apply', path, '--dry-run', url=server.url)
    assert refused.returncode == 4 and 'not yours' in refused.stderr


def test_calendars_go_along_with_each_part_and_are_shown_first(server, write):
    deployments = [{'name': f'd{i}', 'rule': {'cron': '0 9 * * *'}, 'target': {'kind': 'webhook', 'url': 'http://t/'}} for i in range(150)]
    calendars = [{'name': 'd1', 'except': ['2026-12-25']}]
    path = write(json.dumps({'deployments': deployments, 'calendars': calendars}), 'm.json')
    server.fake.outcomes = {'d1': {'outcome': 'changed'}}
    result = belfry('apply', path, url=server.url)
    assert result.returncode == 0
    asked = server.fake.asked('POST', '/v1/apply')
    assert [len(r.json['deployments']) for r in asked] == [100, 50, 100, 50]
    assert all(r.json['calendars'] == calendars for r in asked)
    assert 'calendar d1' in result.stdout and '149 created, 2 changed' in result.stdout
    answer = json.loads(belfry('apply', path, '--json', url=server.url).stdout)
    assert (len(answer['calendars']), len(answer['items'])) == (1, 150) and answer['calendars'][0]['file'] == path
    server.fake.outcomes = {'d1': {'outcome': 'refused', 'error': {'code': 'INVALID_SCHEDULE', 'detail': 'so it is', 'pointer': '/except/0'}}}
    server.fake.requests.clear()
    result = belfry('apply', write('calendars:\n  - name: d1\n    except: [x]\n'), url=server.url)
    assert result.returncode == 1 and 'so it is (at /except/0)' in result.stdout and 'set.yaml:2' in result.stdout
    assert [(r.query.get('dry_run'), r.json['deployments']) for r in server.fake.requests] == [('true', [])]


def test_an_empty_set_is_a_set(server, write):
    result = belfry('apply', write('deployments: []\n'), url=server.url)
    assert (result.returncode, result.stdout) == (0, '0 created, 0 changed, 0 unchanged, 0 refused\n')


# --- export ---

def shown(name, **more):
    """A deployment as the server shows it, with every default spelt out."""
    return deployment(
        name=name, timezone=None, prompt='', input=None, notify=[], labels={}, managed_by=None,
        target={'kind': 'webhook', 'url': 'http://t/', 'method': 'POST', 'headers': {}, 'body': None,
                'secret': None},
        policies={'missed': {'policy': 'skip', 'max_age': 'PT1H', 'max_count': 10}, 'grace': 'PT1M',
                  'late_limit': 'PT1H', 'overlap': 'allow', 'interrupted': 'resume',
                  'retry': {'max_attempts': 8, 'first_delay': 'PT1S', 'max_delay': 'PT1M'},
                  'timeout': 'PT1M', 'session_timeout': 'P1D', 'on_exhausted': 'keep',
                  'on_failure': {'disable_after': None}, 'dst': {'gap': 'at_end', 'fold': 'first'},
                  'deadline': None})  | more


def test_export_leaves_out_what_is_read_only_or_the_default(server):
    server.fake.deployments = [shown('a'), shown('b', prompt='one\ntwo\n', enabled=False)]
    result = belfry('export', url=server.url)
    assert result.returncode == 0
    assert result.stdout == '''\
deployments:
  - name: a
    rule:
      cron: 0 9 * * 1-5
    target:
      kind: webhook
      url: http://t/
  - name: b
    enabled: false
    rule:
      cron: 0 9 * * 1-5
    prompt: |
      one
      two
    target:
      kind: webhook
      url: http://t/
'''


def test_a_default_that_the_server_was_started_with_is_asked_for(server):
    server.fake.deployments = [shown('a')]
    server.fake.settings['grace']['value'] = 'PT5M'
    assert '      grace: PT1M\n' in belfry('export', url=server.url).stdout
    server.fake.answers[('GET', '/v1/settings')] = problem(404, 'NOT_FOUND', 'no')
    assert '      grace: PT1M\n' in belfry('export', url=server.url).stdout


def test_export_as_json_and_of_some(server):
    server.fake.deployments = [shown('a'), shown('b', id=D2)]
    for arguments in (['--format', 'json'], ['--json']):
        answer = json.loads(belfry('export', 'b', *arguments, url=server.url).stdout)
        assert [d['name'] for d in answer['deployments']] == ['b']
        assert set(answer['deployments'][0]) == {'name', 'rule', 'target'}
    result = belfry('export', 'nobody', url=server.url)
    assert result.returncode == 3
    assert belfry('export', '--format', 'xml', url=server.url).returncode == 2


def test_export_of_nothing_is_an_empty_set(server):
    server.fake.deployments = []
    assert belfry('export', url=server.url).stdout == 'deployments: []\n'
    assert json.loads(belfry('export', '--json', url=server.url).stdout) == {'deployments': []}


def test_export_goes_page_by_page_with_progress(server):
    server.fake.deployments = [shown(f'n{i:03}') for i in range(450)]
    result = belfry('export', url=server.url)
    assert result.stdout.count('  - name: ') == 450
    assert len(server.fake.asked('GET', '/v1/deployments')) == 3
    _, shown_text = belfry_on_terminal('export', url=server.url)
    assert 'exported: 400' in shown_text


def test_a_record_that_cannot_be_read_is_left_out_and_named(server):
    server.fake.deployments = [shown('good'), shown('bad', rule=None)]
    result = belfry('export', url=server.url)
    assert result.returncode == 1
    assert 'name: good' in result.stdout and 'bad' not in result.stdout
    assert 'left out: bad' in result.stderr


PROMPTS = ['', ' ', 'on', 'No', '1.0', '007', '~', 'null', '12:30', '2026-12-01', ' leading', 'trailing ',
           'a: b', '# c', '- d', '"quoted" \'twice\'', '\\n', 'one\ntwo', 'one\n\n\ntwo\n', '\n\n', '\ttab',
           'a\n b\n  c', 'x \ny', '\U0001f600 ä \u2028 \x7f', '\x1b[31m', '\u202eabc', '---\na', '%',
           'ein langer Text mit ä und \U0001f600\n' * 32500]


@pytest.mark.parametrize('form', ['yaml', 'json'])
def test_what_is_exported_is_applied_as_it_was(server, write, form):
    server.fake.deployments = [
        shown(f'n{i}', prompt=prompt, input={'p': prompt[:500], prompt[:500]: [1.0, 1, '1', None, True]},
              labels={'l': prompt[:100]}) for i, prompt in enumerate(PROMPTS)]
    assert len(PROMPTS[-1].encode()) > 1000000
    exported = belfry('export', '--format', form, url=server.url)
    assert (exported.returncode, exported.stderr) == (0, '')
    applied = belfry('apply', '--dry-run', '-', url=server.url, stdin=exported.stdout)
    assert (applied.returncode, applied.stderr) == (0, '')
    for i, got in enumerate(sent(server)[0]):
        wanted = server.fake.deployments[i]
        for member in ('name', 'rule', 'input', 'labels'):
            assert got[member] == wanted[member]
        assert got.get('prompt', '') == wanted['prompt']
        assert [type(v) for v in list(got['input'].values())[-1]] == [
            float, int, str, type(None), bool]
