"""Completion, by the shells themselves: bash always, zsh and fish where they are installed."""
import shlex
import shutil
import subprocess

import pytest

from cli_support import BINARY, Server, belfry, deployment, environment

ASK = '''
source <("$1" completion bash) || exit 9
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_belfry "$1"
printf '%s\\n' "${COMPREPLY[@]}"
'''


@pytest.fixture
def server():
    server = Server()
    server.fake.deployments = [deployment(name='morning brief'), deployment(name='morning-two'),
                               deployment(name='night')]
    yield server
    server.close()


def complete(*words, url='http://127.0.0.1:1', folder=None):
    """What bash offers for the last of the words."""
    result = subprocess.run(['bash', '-uc', ASK, 'ask', BINARY, BINARY, *words], env=environment(url),
                            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, text=True)
    assert (result.returncode, result.stderr) == (0, '')
    return [line for line in result.stdout.splitlines() if line]


def test_commands_and_what_is_in_a_group():
    assert {'deployments', 'runs', 'apply', 'help', '--version'} <= set(complete(''))
    assert complete('dep') == ['deployments']
    assert complete('runs', 'c') == ['cancel']
    assert set(complete('settings', '')) >= {'show', 'set'}
    assert complete('completion', 'f') == ['fish']


def test_options_of_each_command():
    assert complete('runs', 'list', '--st') == ['--status']
    assert '--if-revision' in complete('deployments', 'edit', 'x', '--')
    assert complete('apply', '--dr') == ['--dry-run']
    assert complete('deployments', 'create', '--cron', '') == []


def test_names_come_from_the_server(server):
    assert complete('deployments', 'show', 'mor', url=server.url) == ['morning\\ brief', 'morning-two']
    assert complete('trigger', 'n', url=server.url) == ['night']
    assert complete('runs', 'list', '--status', '', url=server.url) == []
    assert all(shlex.split(name) for name in complete('why', '', url=server.url))


def test_names_need_no_server_and_no_time(server):
    assert complete('trigger', '') == []
    server.fake.answers[('GET', '/v1/deployments')] = (500, b'')
    assert complete('trigger', '', url=server.url) == []


def test_a_name_cannot_run_anything(server, tmp_path):
    server.fake.deployments = [deployment(name=f'$(touch {tmp_path}/ran)'), deployment(name='`id`; id')]
    offered = complete('trigger', '', url=server.url)
    assert [shlex.split(name) for name in offered] == [[f'$(touch {tmp_path}/ran)'], ['`id`; id']]
    assert not (tmp_path / 'ran').exists()


def test_files_where_a_file_is_meant(tmp_path):
    (tmp_path / 'set one.yaml').touch()
    assert complete('apply', 'se', folder=tmp_path) == ['set one.yaml']
    assert complete('import', 'crontab', 's', folder=tmp_path) == ['set one.yaml']
    assert complete('serve', '--config', 's', folder=tmp_path) == ['set one.yaml']


def test_other_shells_take_their_scripts(tmp_path):
    for shell, check in (('bash', ['bash', '-n']), ('zsh', ['zsh', '-n']), ('fish', ['fish', '--no-execute'])):
        script = belfry('completion', shell)
        assert script.returncode == 0
        assert 'deployments' in script.stdout
        path = tmp_path / shell
        path.write_text(script.stdout)
        if shutil.which(shell):
            result = subprocess.run([*check, str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert (result.returncode, result.stdout) == (0, b'')


FISH = """
$argv[1] completion fish | source
complete -C (string join ' ' -- (string escape -- $argv[2..-2])' '$argv[-1])
"""
ZSH = """
compdef() { }
compadd() { [[ $1 == -a ]] && print -rl -- "${(@P)2}" }
_files() { print -r -- FILES }
source <("$1" completion zsh)
shift
words=("$@") CURRENT=$# PREFIX=$words[-1]
_belfry
"""


def offered(shell, *words, url, folder):
    """What another shell offers for the last word, its filter left out (zsh) or applied (fish)."""
    if not (folder / 'belfry').exists():
        (folder / 'belfry').symlink_to(BINARY)
    if shutil.which(shell) is None:
        return None
    script, flags = (FISH, '-Nc') if shell == 'fish' else (ZSH, '-fc')
    ask = [shell, flags, script, *([] if shell == 'fish' else ['ask']), str(folder / 'belfry'), 'belfry', *words]
    env = environment(url, HOME=str(folder))
    env['PATH'] = f'{folder}:{env["PATH"]}'
    result = subprocess.run(ask, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, ''), shell
    return [line.split('\t')[0] for line in result.stdout.splitlines()]


@pytest.mark.parametrize('shell', ['zsh', 'fish'])
def test_other_shells_offer_the_same(server, tmp_path, shell):
    for words, wanted in ((['dep'], 'deployments'), (['runs', 'c'], 'cancel'), (['runs', 'list', '--st'], '--status'),
                          (['trigger', 'n'], 'night'), (['completion', 'b'], 'bash')):
        got = offered(shell, *words, url=server.url, folder=tmp_path)
        assert got is None or wanted in got, words


def test_another_shell_is_refused():
    for arguments in (['tcsh'], ['bash', 'x']):
        result = belfry('completion', *arguments)
        assert result.returncode == 2
        assert 'bash, zsh and fish' in result.stderr
