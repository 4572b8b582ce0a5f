"""Tokens: when the first one is made, that nobody without it is answered (B15), that it shows up nowhere, and
what an operator does who lost it."""
import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import time

import pytest

import belfry

ROUTES = pathlib.Path(belfry.ROOT / 'src' / 'http' / 'routes.c').read_text()
PATHS = sorted({'/' + path.replace('{}', 'x') for path in re.findall(r'{BF_HTTP_METHOD_\w+, "([^"]+)"', ROUTES)})
METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')
HEALTH = ('/healthz', '/readyz')
NEEDS = [('--plain-http',), ('--allow-exec', '/bin/true'), ('--new-admin-token',)]


def token_of(server):
    return (server.data / 'admin.token').read_text().strip()


def bearer(token):
    return {'Authorization': f'Bearer {token}'}


def make(make_server, *arguments, **options):
    return make_server(arguments=arguments, **options)


def run_serve(folder, *arguments, seconds=20):
    """A start that is refused."""
    result = subprocess.run([belfry.BINARY, 'serve', '--data', str(folder), *arguments], timeout=seconds,
                            env=belfry.clean_environment(), capture_output=True, text=True)
    assert 'address ' not in result.stdout
    return result


def command(server, *arguments, token=None, **more):
    env = belfry.clean_environment(BELFRY_URL=server.url, **more)
    if token is not None:
        env['BELFRY_TOKEN'] = token
    return subprocess.run([belfry.BINARY, *arguments], env=env, capture_output=True, text=True, timeout=30)


def start_and_listen(server):
    """All that the start says, line by line."""
    said = []
    plain = server.read_address

    def read_address():
        for line in server.process.stdout:
            said.append(line.decode())
            if line.startswith(b'address '):
                return line.split()[1].decode()
        return plain()
    server.read_address = read_address
    server.start()
    return said


@pytest.fixture(scope='module')
def host():
    server = belfry.Server(arguments=('--plain-http',)).start()
    server.token = token_of(server)
    yield server
    log = server.log_text()
    server.close()
    assert server.token not in log
    assert server.token[7:] not in log


@pytest.mark.parametrize('arguments', NEEDS)
def test_b15_the_first_token_is_made_and_only_its_path_is_said(make_server, arguments):
    server = make(make_server, *arguments, start=False)
    said = start_and_listen(server)
    path = server.data / 'admin.token'
    info = path.lstat()
    assert stat.S_ISREG(info.st_mode) and stat.S_IMODE(info.st_mode) == 0o600
    token = token_of(server)
    assert re.fullmatch(r'belfry_[A-Za-z0-9_-]{43}', token)
    assert any(line.startswith('admin token ') and str(path) in line for line in said)
    assert token[7:] not in ''.join(said) + server.log_text()
    assert server.api('GET', '/v1/deployments').status == 401
    assert server.api('GET', '/v1/deployments', headers=bearer(token)).status == 200
    # the store knows it by its hash alone
    for file in server.data.iterdir():
        if file.name != 'admin.token':
            assert token[7:].encode() not in file.read_bytes(), file


def test_without_need_no_token_is_made(make_server):
    server = make(make_server)
    assert not (server.data / 'admin.token').exists()
    assert server.api('GET', '/v1/deployments').status == 200


def test_b15_a_token_once_made_is_needed_for_good(make_server):
    server = make(make_server, '--plain-http')
    token = token_of(server)
    server.stop()
    server.arguments = []
    server.start()
    assert server.api('GET', '/v1/deployments').status == 401
    assert server.api('GET', '/v1/deployments', headers=bearer(token)).status == 200
    server.stop()
    (server.data / 'admin.token').unlink()
    said = start_and_listen(server)
    assert any('--new-admin-token' in line for line in said)
    assert server.api('GET', '/v1/deployments').status == 401
    assert server.api('GET', '/v1/deployments', headers=bearer(token)).status == 200
    assert not (server.data / 'admin.token').exists()


def test_a_lost_token_is_replaced_and_the_old_one_ends(make_server):
    server = make(make_server, '--plain-http')
    old = token_of(server)
    (server.data / 'admin.token').unlink()
    server.stop()
    server.arguments = ['--new-admin-token']
    server.start()
    new = token_of(server)
    assert new != old
    assert server.api('GET', '/v1/deployments', headers=bearer(old)).status == 401
    assert server.api('GET', '/v1/deployments', headers=bearer(new)).status == 200
    # left in a unit, the flag changes nothing
    server.stop()
    server.start()
    assert token_of(server) == new
    assert server.api('GET', '/v1/deployments', headers=bearer(new)).status == 200


def test_a_start_that_dies_behind_the_file_is_finished_by_the_next(make_server):
    server = make(make_server, '--plain-http', start=False, binary=belfry.TEST_BINARY)
    with pytest.raises(AssertionError):
        server.start(crash_point='token-file-written')
    server.process.stdout.close()
    server.process = None
    token = token_of(server)
    server.start()
    assert token_of(server) == token
    assert server.api('GET', '/v1/deployments').status == 401
    assert server.api('GET', '/v1/deployments', headers=bearer(token)).status == 200


@pytest.mark.parametrize('method', METHODS)
def test_b15_no_route_is_answered_without_the_token(host, method):
    client = host.client()
    paths = PATHS + ['/', '/v1', '/v1/', '/nothing', '/healthz/', '/v1/healthz', '/readyz/x', '/HEALTHZ']
    for path in paths:
        for headers in ({}, bearer('belfry_' + 'A' * 43), {'Authorization': host.token},
                        {'Cookie': f'token={host.token}'}):
            reply = client.ask(method, path, None, headers)
            if path in HEALTH and method in ('GET', 'HEAD'):
                assert reply.status == 200
            else:
                assert reply.status == 401, (method, path, headers, reply.status)
                assert reply.headers['WWW-Authenticate'] == 'Bearer'
                assert method == 'HEAD' or reply.code == 'UNAUTHENTICATED'
    client.close()


def test_b15_no_moment_of_a_start_answers_without_the_token(make_server):
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    server = make(make_server, '--allow-exec', '/bin/true', '--listen', f'127.0.0.1:{port}', start=False)
    command_line = [server.binary, 'serve', '--data', str(server.data), *server.arguments]
    answers = []
    for _ in range(6):
        process = subprocess.Popen(command_line, env=belfry.clean_environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        seen = 0
        while seen < 5 and time.monotonic() < deadline:
            try:
                client = belfry.Client(f'http://127.0.0.1:{port}', 5)
                answers.append(client.ask('GET', '/v1/settings').status)
                client.close()
                seen += 1
            except OSError:
                pass
        process.kill()
        process.wait()
        process.stdout.close()
        assert seen == 5
    assert set(answers) == {401}


def test_b15_a_token_in_an_address_is_refused_by_name(host):
    for name in ('token', 'access_token'):
        reply = host.api('GET', f'/v1/deployments?{name}={host.token}')
        assert reply.status == 401
        assert name in reply.detail and 'Authorization' in reply.detail
        reply = host.api('GET', f'/v1/deployments?{name}=x', headers=bearer(host.token))
        assert (reply.status, reply.code) == (400, 'INVALID_REQUEST')


def test_b15_with_a_token_a_foreign_origin_is_still_refused(host):
    for origin, status in (('https://belfry.example', 200), ('http://belfry.example', 200),
                           ('https://evil.example', 403), ('null', 403)):
        reply = host.api('GET', '/v1/deployments', headers={**bearer(host.token), 'Host': 'belfry.example',
                                                            'Origin': origin})
        assert reply.status == status
        assert not [name for name in reply.headers if name.lower().startswith('access-control')]


def test_no_answer_holds_the_token(host):
    for path in ('/v1/settings', '/metrics', '/v1/deployments', '/v1/runs', '/nothing', '/v1/tokens',
                 f'/v1/runs/{host.token}', f'/v1/deployments?q={host.token}'):
        reply = host.api('GET', path, headers=bearer(host.token))
        assert host.token.encode() not in reply.body, path
    reply = host.api('GET', '/v1/tokens', headers=bearer(host.token))
    assert reply.status == 404 and 'this version does not offer it' in reply.detail


def test_many_wrong_tokens_are_cheap_and_said_once_a_second(host):
    client = host.client()
    begin = time.monotonic()
    for i in range(500):
        assert client.ask('GET', '/v1/deployments', None, bearer(f'belfry_wrong{i}')).status == 401
    took = time.monotonic() - begin
    client.close()
    lines = [line for line in host.log_text().splitlines() if 'token_refused' in line]
    assert 1 <= len(lines) <= took + 60
    assert not re.search(r'belfry_wrong\d', host.log_text())
    assert host.api('GET', '/v1/deployments', headers=bearer(host.token)).status == 200


@pytest.mark.parametrize('spoil,words', [
    (lambda path: path.chmod(0o640), 'chmod 600'),
    (lambda path: path.chmod(0o604), 'chmod 600'),
    (lambda path: path.write_text('password\n'), 'no token of ours'),
    (lambda path: (path.rename(f'{path}.moved'), path.symlink_to(f'{path}.moved')), 'symbolic link'),
    (lambda path: (path.unlink(), path.mkdir()), 'no plain file')])
def test_a_file_that_is_not_ours_alone_refuses_the_start(make_server, spoil, words):
    server = make(make_server, '--plain-http')
    token = token_of(server)
    server.stop()
    spoil(server.data / 'admin.token')
    result = run_serve(server.data, '--listen', '127.0.0.1:0', '--plain-http')
    assert result.returncode == 1
    assert words in result.stderr and 'admin.token' in result.stderr
    assert token not in result.stderr


@pytest.mark.parametrize('listen', ['0.0.0.0:0', '[::]:0', '192.0.2.1:0', 'belfry.invalid:0',
                                    '127.0.0.1.evil.example:0', '[::ffff:127.0.0.1]:0'])
def test_b15_beyond_loopback_is_refused_without_plain_http(tmp_path, listen):
    result = run_serve(tmp_path / 'data', '--listen', listen)
    assert result.returncode == 1
    assert '--plain-http' in result.stderr and 'loopback' in result.stderr and '127.0.0.1' in result.stderr
    assert not (tmp_path / 'data').exists()


def url_at(server, address):
    return f'http://{address}:{server.url.rsplit(":", 1)[1]}'


def ask(url, headers=()):
    client = belfry.Client(url, 10)
    try:
        return client.ask('GET', '/v1/deployments', None, headers)
    finally:
        client.close()


@pytest.mark.parametrize('listen,reach', [('0.0.0.0:0', '127.0.0.1'), ('[::]:0', '[::1]')])
def test_b15_beyond_loopback_everything_needs_the_token(make_server, listen, reach):
    if listen.startswith('[') and not os.path.exists('/proc/net/if_inet6'):
        reach = listen = None
    assert listen is not None, 'this machine has no IPv6'
    server = make(make_server, '--listen', listen, '--plain-http', start=False)
    server.start(ready=False)
    token = token_of(server)
    url = url_at(server, reach)
    belfry.wait_for(lambda: ask(url, bearer(token)).status == 200, 'an answer')
    assert ask(url).status == 401
    assert ask(url, {'Host': 'localhost'}).status == 401
    assert ask(url, {'Host': 'belfry.example.org', **bearer(token)}).status == 200


def test_a_name_is_listened_on_where_it_has_one_address(make_server, tmp_path):
    name = socket.gethostname()
    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)}
    except socket.gaierror:
        addresses = set()
    if len(addresses) == 1:
        server = make(make_server, '--listen', f'{name}:0', '--plain-http', start=False)
        server.start(ready=False)
        assert addresses.pop() in server.url
        assert ask(server.url).status == 401
    else:
        result = run_serve(tmp_path / 'data', '--listen', f'{name}:0', '--plain-http')
        assert result.returncode == 1
        assert ('several addresses' if addresses else 'no address') in result.stderr


def test_the_command_uses_the_token_and_never_shows_it(host):
    result = command(host, 'deployments', 'list', token=host.token)
    assert result.returncode == 0, result.stderr
    result = command(host, 'deployments', 'list')
    assert result.returncode == 4
    assert 'BELFRY_TOKEN' in result.stderr and 'admin.token' in result.stderr
    wrong = 'belfry_' + 'x' * 43
    result = command(host, 'deployments', 'list', token=wrong)
    assert result.returncode == 4
    assert 'BELFRY_TOKEN' in result.stderr and 'does not know' in result.stderr
    shown = result.stdout + result.stderr
    for arguments in (('--help',), ('deployments', '--help'), ('serve', '--help'), ('deployments', 'show', 'none'),
                      ('doctor',), ('doctor', '--json'), ('runs', 'show', 'x'), ('nonsense',)):
        result = command(host, *arguments, token=wrong)
        shown += result.stdout + result.stderr
    assert wrong not in shown


def test_doctor_says_whether_the_token_is_there(host):
    def findings(token):
        result = command(host, 'doctor', '--json', token=token)
        return result.returncode, {item['check']: item for item in json.loads(result.stdout)['items']}
    status, found = findings(None)
    assert status == 1 and found['token']['result'] == 'fail'
    assert 'has none' in found['token']['text'] and 'BELFRY_TOKEN' in found['token']['remedy']
    status, found = findings('belfry_' + 'x' * 43)
    assert status == 1 and 'does not know' in found['token']['text']
    status, found = findings(host.token)
    assert status == 0 and 'token' not in found and found['store']['result'] == 'ok'
