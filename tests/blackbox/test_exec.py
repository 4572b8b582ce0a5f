"""Local commands (target exec): what they are given, how they end, and that a kill of the host at any moment
neither starts one twice nor loses its end (B17)."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

import belfry

NEVER = '0 0 1 1 *'
PYTHON = '/usr/bin/python3'
ALLOWED = ['--allow-exec', '/bin/sh', '--allow-exec', PYTHON, '--allow-exec', '/nonexistent/program']


class ExecServer(belfry.Server):
    """A host that lets commands run, and so needs its token with every request."""

    def __init__(self, **options):
        super().__init__(arguments=options.pop('arguments', ALLOWED), **options)
        self.plain = str(self.folder / 'plain')  # a file that may not be executed
        pathlib.Path(self.plain).write_text('#!/bin/sh\n')
        self.arguments += ['--allow-exec', self.plain]
        self.made = []

    def token(self):
        path = self.data / 'admin.token'
        return path.read_text().strip() if path.exists() else ''

    def api(self, method, path, body=None, headers=(), seconds=30.0):
        return super().api(method, path, body, {'Authorization': f'Bearer {self.token()}', **dict(headers)},
                           seconds)

    def command(self, script, name=None, policies=None, prompt='', status=201, **target):
        """A deployment of a shell script; $M is a folder for marks."""
        self.folder.joinpath('marks').mkdir(exist_ok=True)
        target = {'kind': 'exec', 'command': ['/bin/sh', '-c', script], **target}
        target['env'] = {'M': str(self.folder / 'marks'), **target.get('env', {})}
        name = name or f'command-{len(self.made)}'
        body = {'name': name, 'rule': {'cron': NEVER}, 'target': target, 'prompt': prompt}
        if policies is not None:
            body['policies'] = policies
        made = self.post('/v1/deployments', body, status)
        self.made.append(name)
        return made.get('id')

    def go(self, id_):
        return self.run_now(id_)['id']

    def output(self, run):
        reply = self.api('GET', f'/v1/runs/{run}/output')
        assert reply.status == 200
        return reply.body

    def marks(self, name):
        path = self.folder / 'marks' / name
        return path.read_text().split() if path.exists() else []

    def wait_marks(self, name, count=1, seconds=20.0):
        return belfry.wait_for(lambda: self.marks(name) if len(self.marks(name)) >= count else None,
                               f'{count} lines in {name}', seconds)

    def log_has(self, word):
        return word in self.log_text()


def is_alive(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def wait_dead(pids, seconds=20.0):
    belfry.wait_for(lambda: not any(is_alive(p) for p in pids), f'the end of {pids}', seconds)


@pytest.fixture
def make_host():
    made = []

    def make(**options):
        start = options.pop('start', True)
        server = ExecServer(**options)
        made.append(server)
        return server.start() if start else server
    yield make
    for server in made:
        server.close()


@pytest.fixture
def host(make_host):
    return make_host()


# --- what a command is given, and how it ends ---

def test_a_command_gets_its_prompt_and_its_output_is_kept(host):
    id_ = host.command('read -r line; echo "got $line"; echo err >&2; cat "$BELFRY_INPUT"', prompt='a\nb')
    host.edit(id_, {'input': {'n': 1}})
    run = host.wait_run(host.go(id_))
    assert run['output_truncated'] is False and run['error'] is None and run['attempt'] == 1
    assert host.output(run['id']) == b'got a\nerr\n{"n":1}'


def test_output_is_bytes(host):
    run = host.wait_run(host.go(host.command(r"printf '\000\001\377\n'")))
    assert host.output(run['id']) == b'\0\1\xff\n'


def test_the_environment_is_clean(make_host):
    host = make_host(environment={'BELFRY_TOKEN': 'sesame', 'BELFRY_SECRET_KEY': 'top-secret',
                                  'HIDDEN': 'yes', 'BELFRY_TEST_X': 'y'})
    script = ('import os, json; fds = os.listdir("/proc/self/fd"); '
              'print(json.dumps([dict(os.environ), sorted(map(int, fds)), os.getcwd(), os.getpgrp() == os.getpid()]))')
    id_ = host.post('/v1/deployments', {
        'name': 'env', 'rule': {'cron': NEVER}, 'timezone': 'Asia/Tokyo',
        'target': {'kind': 'exec', 'command': [PYTHON, '-c', script],
                   'env': {'OWN': 'mine', 'LANG': 'C', 'KEY': {'secret': 'KEY'}}}}, 201)['id']
    run = host.wait_run(host.go(id_))
    import json
    env, fds, cwd, is_leader = json.loads(host.output(run['id']))
    assert set(env) - {'LC_CTYPE'} == {
        'PATH', 'LANG', 'SHELL', 'HOME', 'USER', 'LOGNAME', 'TZ', 'OWN', 'KEY', 'BELFRY_RUN', 'BELFRY_FENCE',
        'BELFRY_ATTEMPT', 'BELFRY_DEPLOYMENT', 'BELFRY_DEPLOYMENT_NAME', 'BELFRY_REVISION', 'BELFRY_TRIGGER',
        'BELFRY_STANDS_FOR'}
    assert (env['OWN'], env['LANG'], env['KEY'], env['TZ']) == ('mine', 'C', 'top-secret', 'Asia/Tokyo')
    assert (env['BELFRY_RUN'], env['BELFRY_DEPLOYMENT'], env['BELFRY_ATTEMPT']) == (run['id'], id_, '1')
    assert fds[:3] == [0, 1, 2] and len(fds) == 4  # the fourth is what lists them
    assert cwd == str(host.data / 'sessions' / run['id'])
    assert is_leader
    assert 'sesame' not in str(env) and b'top-secret' not in host.api('GET', f'/v1/deployments/{id_}').body


def test_a_due_time_is_told(host):
    at = belfry.spot(2)
    id_ = host.command('echo $BELFRY_DUE_AT $BELFRY_TRIGGER')
    host.edit(id_, {'rule': {'cron': belfry.cron_at(at)}})
    belfry.wait_for(lambda: host.runs(id_), 'a Run')
    run = host.wait_run(host.runs(id_)[0]['id'])
    assert host.output(run['id']).decode().split() == [belfry.text_of(at), 'schedule']


@pytest.mark.parametrize('script,code,message', [
    ('exit 3', 'TARGET_ANSWERED', 'exit status 3'),
    ('kill -9 $$', 'TARGET_ANSWERED', 'ended by signal 9'),
])
def test_a_command_that_fails_says_how(host, script, code, message):
    run = host.wait_run(host.go(host.command('echo before; ' + script)), 'FAILED')
    assert run['error'] == {'code': code, 'message': message}
    assert host.output(run['id']) == b'before\n'


@pytest.mark.parametrize('command,cwd,words', [
    (['/nonexistent/program'], None, 'the command is not there'),
    (['plain'], None, "may not be used by the host's account"),
    (['/bin/sh', '-c', 'true'], '/nonexistent', 'its folder (cwd) is not there'),
])
def test_a_command_that_cannot_be_started_ends_for_good(host, command, cwd, words):
    id_ = host.post('/v1/deployments', {
        'name': 'x', 'rule': {'cron': NEVER}, 'policies': {'retry': {'max_attempts': 5}},
        'target': {'kind': 'exec', 'command': [host.plain] if command == ['plain'] else command,
                   'cwd': cwd}}, 201)['id']
    run = host.wait_run(host.go(id_), 'FAILED')
    assert run['error']['code'] == 'PERMANENT' and words in run['error']['message']
    assert run['attempt'] == 1


def test_attempts_and_permanent_exits(host):
    policies = {'retry': {'max_attempts': 3, 'first_delay': 'PT0.1S', 'max_delay': 'PT0.1S'}}
    again = host.go(host.command('echo x >> $M/again; echo $BELFRY_ATTEMPT; exit 5', policies=policies))
    once = host.go(host.command('echo x >> $M/once; exit 7', policies=policies, permanent_exit=[6, 7]))
    mends = host.go(host.command('echo x >> $M/mends; test $(wc -l < $M/mends) = 2', policies=policies))
    run = host.wait_run(again, 'FAILED')
    assert (run['error']['code'], run['attempt'], len(host.marks('again'))) == ('RETRIES_SPENT', 3, 3)
    assert run['error']['message'] == 'exit status 5'
    assert host.output(again) == b'3\n'  # of the latest attempt alone
    run = host.wait_run(once, 'FAILED')
    assert (run['error'], len(host.marks('once'))) == ({'code': 'TARGET_ANSWERED', 'message': 'exit status 7'}, 1)
    assert host.wait_run(mends)['attempt'] == 2


def test_a_time_limit_ends_the_whole_family(host):
    """A child, and a grandchild that left group and session."""
    id_ = host.command('sleep 300 & echo $! > $M/pids; setsid sleep 300 & echo $! >> $M/pids;'
                       ' setsid sh -c "sleep 301 & echo \\$! >> $M/pids; exit" ; echo $$ >> $M/pids; wait',
                       policies={'timeout': 'PT0.5S'})
    run = host.wait_run(host.go(id_), 'FAILED')
    assert run['error']['code'] == 'TIMEOUT'
    pids = host.marks('pids')
    assert len(pids) == 4
    wait_dead(pids, 1)


def test_a_command_that_ignores_the_end_is_killed(host):
    id_ = host.command("trap '' TERM; echo $$ > $M/pid; while :; do sleep 1; done", policies={'timeout': 'PT0.5S'})
    began = time.monotonic()
    assert host.wait_run(host.go(id_), 'FAILED', 30)['error']['code'] == 'TIMEOUT'
    assert 5 <= time.monotonic() - began < 20
    wait_dead(host.marks('pid'), 1)


def test_what_a_command_leaves_running_ends_with_it(host):
    run = host.wait_run(host.go(host.command('sleep 300 & echo $! > $M/pid; echo done')))
    assert host.output(run['id']) == b'done\n'
    wait_dead(host.marks('pid'), 1)


def test_ten_megabytes_become_two_halves_and_a_mark(host):
    script = 'i=0; printf FIRST; head -c 10000000 /dev/zero; printf LAST'
    run = host.wait_run(host.go(host.command(script, output_limit=1000)))
    assert run['output_truncated'] is True
    assert host.output(run['id']) == (b'FIRST' + b'\0' * 495 + b'\n[... 9999009 bytes left out ...]\n' +
                                      b'\0' * 496 + b'LAST')
    failed = host.wait_run(host.go(host.command(script + '; exit 2', output_limit=1000)), 'FAILED')
    assert failed['output_truncated'] is True
    assert failed['error'] == {'code': 'TARGET_ANSWERED', 'message': 'exit status 2'}
    whole = host.wait_run(host.go(host.command('head -c 999 /dev/zero', output_limit=999)))
    assert whole['output_truncated'] is False and host.output(whole['id']) == b'\0' * 999


def test_a_flood_fills_neither_memory_nor_disk(host):
    before = host.memory()
    run = host.go(host.command('head -c 1000000000 /dev/zero', output_limit=100000))
    folder = host.data / 'exec' / run

    def size():
        return sum(f.stat().st_size for f in folder.glob('*') if f.exists()) if folder.exists() else 0
    largest = 0
    while host.run(run)['status'] in ('QUEUED', 'RUNNING'):
        try:
            largest = max(largest, size())
        except OSError:
            pass  # it went meanwhile
    assert host.wait_run(run)['output_truncated'] is True
    assert largest < 200000
    assert host.memory() - before < 32 * 1024 * 1024


def test_output_is_seen_while_it_runs(host):
    run = host.go(host.command('echo one; while [ ! -e $M/go ]; do sleep 0.05; done; echo two'))
    belfry.wait_for(lambda: host.output(run) == b'one\n', 'the first line')
    follow = subprocess.Popen([belfry.BINARY, 'logs', run, '--follow'], stdout=subprocess.PIPE,
                              env=belfry.clean_environment(BELFRY_URL=host.url, BELFRY_TOKEN=host.token()))
    assert follow.stdout.readline() == b'one\n'
    part = host.api('GET', f'/v1/runs/{run}/output', headers={'Range': 'bytes=1-2'})
    assert (part.status, part.body, part.headers['Content-Range']) == (206, b'ne', 'bytes 1-2/4')
    (host.folder / 'marks' / 'go').touch()
    assert follow.stdout.read() == b'two\n'
    assert follow.wait(20) == 0
    assert host.output(run) == b'one\ntwo\n'
    assert host.run(run)['status'] == 'COMPLETED'


def test_nothing_of_a_settled_run_stays(host):
    run = host.wait_run(host.go(host.command('echo x')))['id']
    kept = host.wait_run(host.go(host.command('echo x > result')))['id']
    belfry.wait_for(lambda: not list((host.data / 'exec').iterdir()), 'the removal of the folders')
    assert [p.name for p in (host.data / 'sessions').iterdir()] == [kept]
    assert (host.data / 'sessions' / kept / 'result').read_text() == 'x\n'
    assert host.output(run) == b'x\n'


# --- what is refused ---

@pytest.mark.parametrize('target,pointer', [
    ({'command': []}, '/target/command'),
    ({'command': ['sh']}, '/target/command/0'),
    ({'command': ['/bin/sh', 3]}, '/target/command/1'),
    ({'command': 'sh'}, '/target/command'),
    ({'cwd': 'here'}, '/target/cwd'),
    ({'env': {'A-B': 'x'}}, '/target/env/A-B'),
    ({'env': {'BELFRY_RUN': 'x'}}, '/target/env/BELFRY_RUN'),
    ({'env': {'LD_PRELOAD': 'x'}}, '/target/env/LD_PRELOAD'),
    ({'env': {'BASH_ENV': 'x'}}, '/target/env/BASH_ENV'),
    ({'env': {'BASH_FUNC_ls%%': 'x'}}, '/target/env/BASH_FUNC_ls%%'),
    ({'env': {'ENV': 'x'}}, '/target/env/ENV'),
    ({'env': {'A': 1}}, '/target/env/A'),
    ({'permanent_exit': [0]}, '/target/permanent_exit/0'),
    ({'output_limit': 0}, '/target/output_limit'),
    ({'url': 'http://x/'}, '/target/url'),
])
def test_a_command_that_cannot_be_meant_is_refused_by_place(host, target, pointer):
    reply = host.api('POST', '/v1/deployments', {
        'name': 'x', 'rule': {'cron': NEVER}, 'target': {'kind': 'exec', 'command': ['/bin/sh'], **target}})
    assert (reply.status, reply.json['pointer']) == (400, pointer), reply.body
    assert host.items('/v1/deployments') == []


def test_only_a_command_that_is_named_may_run(make_host):
    host = make_host()
    reply = host.api('POST', '/v1/deployments', {
        'name': 'x', 'rule': {'cron': NEVER}, 'target': {'kind': 'exec', 'command': ['/bin/../bin/sh']}})
    assert (reply.status, reply.code, reply.json['pointer']) == (422, 'TARGET_NOT_ALLOWED', '/target/command/0')
    assert '--allow-exec /bin/../bin/sh' in reply.detail
    id_ = host.command('echo x >> $M/ran')
    host.stop()
    host.arguments = ['--allow-exec', PYTHON]
    host.start()
    run = host.wait_run(host.go(id_), 'FAILED')
    assert run['error']['code'] == 'TARGET_NOT_ALLOWED' and '--allow-exec /bin/sh' in run['error']['message']
    assert host.marks('ran') == []


# --- how many, and the end by others ---

def test_two_hundred_commands_go_four_at_a_time_in_order(make_host):
    host = make_host(exec_concurrent=4)
    id_ = host.command('echo + >> $M/count; sleep 0.05; echo - >> $M/count')
    client = host.client()
    runs = [client.ask('POST', f'/v1/deployments/{id_}/runs', None,
                       {'Authorization': f'Bearer {host.token()}'}).json['id'] for _ in range(200)]
    client.close()
    belfry.wait_for(lambda: not host.runs(id_, status='QUEUED,RUNNING'), 'the end of all', 120, 0.2)
    assert {r['status'] for r in host.runs(id_)} == {'COMPLETED'} and len(runs) == 200
    now = most = 0
    for word in host.marks('count'):
        now += 1 if word == '+' else -1
        most = max(most, now)
    assert len(host.marks('count')) == 400 and 2 <= most <= 4


def test_waiting_for_a_place_is_not_the_time_limit(make_host):
    host = make_host(exec_concurrent=1)
    id_ = host.command('sleep 1', policies={'timeout': 'PT1.8S'})
    runs = [host.go(id_) for _ in range(3)]
    assert [host.wait_run(r)['attempt'] for r in runs] == [1, 1, 1]


@pytest.mark.parametrize('interrupted', ['abandon', 'resume'])
def test_a_cancelled_run_ends_its_command(host, interrupted):
    id_ = host.command('echo begun; sleep 300 & echo $! $$ > $M/pids; wait', policies={'interrupted': interrupted})
    run = host.go(id_)
    pids = host.wait_marks('pids', 2)
    host.post(f'/v1/runs/{run}/cancel', None, 200)
    host.wait_run(run, 'CANCELLED')
    wait_dead(pids, 20)
    belfry.wait_for(lambda: b'begun' in host.output(run), 'the output until then')
    belfry.wait_for(lambda: not list((host.data / 'exec').iterdir()), 'the removal of the folder')


def test_a_cancelled_run_that_waits_never_starts(make_host):
    host = make_host(exec_concurrent=1)
    first = host.go(host.command('while [ ! -e $M/go ]; do sleep 0.05; done'))
    host.wait_run(first, 'RUNNING')
    second = host.go(host.command('echo x >> $M/ran'))
    host.wait_run(second, 'RUNNING')
    host.post(f'/v1/runs/{second}/cancel', None, 200)
    host.wait_run(second, 'CANCELLED')
    (host.folder / 'marks' / 'go').touch()
    host.wait_run(first)
    host.wait_run(host.go(host.command('true')))
    assert host.marks('ran') == []


# --- B17 ---

# One line for each start; ends with 0 once it may.
PATIENT = 'echo $$ >> $M/started; echo begun; while [ ! -e $M/go ]; do sleep 0.05; done; echo ended; echo x >> $M/ended'


def let_go(host):
    (host.folder / 'marks' / 'go').touch()


def test_b17_with_abandon_a_kill_ends_the_command_and_the_run(host):
    run = host.go(host.command(PATIENT + '; sleep 300'))
    pids = host.wait_marks('started')
    host.kill()
    assert is_alive(pids[0])
    host.start()
    after = host.wait_run(run, 'FAILED')
    assert after['error']['code'] == 'INTERRUPTED'
    wait_dead(pids)
    belfry.wait_for(lambda: b'ended this command' in host.output(run), 'the last words')
    assert host.output(run).startswith(b'begun\n')
    assert host.log_has('event=exec_orphan_ended')
    assert len(host.marks('started')) == 1 and host.marks('ended') == []
    belfry.wait_for(lambda: not list((host.data / 'exec').iterdir()), 'the removal of the folder')


def test_b17_with_resume_a_killed_hosts_command_is_adopted_and_its_end_recorded(host):
    run = host.go(host.command(PATIENT, policies={'interrupted': 'resume'}))
    pids = host.wait_marks('started')
    host.kill()
    host.start()
    belfry.wait_for(lambda: host.log_has('event=exec_adopted'), 'the adoption')
    assert is_alive(pids[0]) and host.run(run)['status'] == 'RUNNING'
    let_go(host)
    after = host.wait_run(run)
    assert after['attempt'] == 1
    assert host.output(run) == b'begun\nended\n'
    assert len(host.marks('started')) == 1


@pytest.mark.parametrize('code,status', [(0, 'COMPLETED'), (3, 'FAILED')])
def test_b17_an_end_while_no_host_lives_is_recorded(host, code, status):
    run = host.go(host.command(PATIENT + f'; exit {code}', policies={'interrupted': 'resume'}))
    pids = host.wait_marks('started')
    host.kill()
    let_go(host)
    wait_dead(pids)
    host.start()
    after = host.wait_run(run, status)
    if code:
        assert after['error'] == {'code': 'TARGET_ANSWERED', 'message': 'exit status 3'}
    assert host.output(run) == b'begun\nended\n'
    assert len(host.marks('started')) == 1


def test_b17_many_kills_are_one_start(host):
    run = host.go(host.command(PATIENT, policies={'interrupted': 'resume'}))
    host.wait_marks('started')
    for _ in range(4):
        host.kill()
        host.start()
    let_go(host)
    host.wait_run(run)
    assert len(host.marks('started')) == 1 and host.output(run) == b'begun\nended\n'


@pytest.mark.parametrize('interrupted', ['abandon', 'resume'])
@pytest.mark.parametrize('point', ['exec-spawned', 'exec-stored', 'exec-started', 'exec-ended'])
def test_b17_a_kill_at_each_step_of_a_start_is_at_most_one_start(make_host, point, interrupted):
    host = make_host(binary=belfry.TEST_BINARY)
    id_ = host.command(PATIENT, policies={'interrupted': interrupted})
    let_go(host)
    host.stop()
    host.start(crash_point=point)
    run = host.go(id_)
    host.wait_death()
    host.start()
    is_begun = point in ('exec-started', 'exec-ended')
    if interrupted == 'resume':
        host.wait_run(run, seconds=60)
        assert host.output(run) == b'begun\nended\n'
    else:
        assert host.wait_run(run, 'FAILED', 60)['error']['code'] == 'INTERRUPTED'
    belfry.wait_for(lambda: not list((host.data / 'exec').iterdir()), 'the removal of the folder', 60)
    assert len(host.marks('started')) == (1 if interrupted == 'resume' or is_begun else 0) or \
        (point == 'exec-started' and host.marks('started') == [])  # ended before it said so


def test_b17_a_killed_supervisor_takes_its_command_along(host):
    run = host.go(host.command(PATIENT, policies={'interrupted': 'resume'}))
    pid = host.wait_marks('started')[0]
    supervisor = int(pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    assert host.wait_run(run, 'FAILED')['error']['code'] == 'INTERRUPTED'
    wait_dead([pid])
    assert host.output(run) == b'begun\n'


# --- a clean stop ---

def test_a_stop_with_resume_leaves_the_command_to_the_next_start(make_host):
    host = make_host(stop_time='PT0.5S')
    run = host.go(host.command(PATIENT, policies={'interrupted': 'resume'}))
    pids = host.wait_marks('started')
    host.stop()
    assert is_alive(pids[0])
    host.start()
    let_go(host)
    assert host.wait_run(run)['attempt'] == 1
    assert len(host.marks('started')) == 1 and host.output(run) == b'begun\nended\n'


def test_a_stop_with_abandon_ends_the_command(make_host):
    host = make_host(stop_time='PT0.5S')
    run = host.go(host.command(PATIENT))
    pids = host.wait_marks('started')
    host.stop()
    wait_dead(pids)
    host.start()
    assert host.wait_run(run, 'FAILED')['error']['code'] == 'INTERRUPTED'
    assert len(host.marks('started')) == 1


def test_a_stop_waits_for_a_command_that_ends_in_time(make_host):
    host = make_host(stop_time='PT20S')
    run = host.go(host.command(PATIENT))
    host.wait_marks('started')
    host.process.send_signal(signal.SIGTERM)
    let_go(host)
    host.process.wait(20)
    host.wait_death()
    host.start()
    assert host.run(run)['status'] == 'COMPLETED' and host.output(run) == b'begun\nended\n'
