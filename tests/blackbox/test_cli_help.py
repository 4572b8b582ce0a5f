"""Help, versions, unknown words: what the command says about itself."""
import re

import pytest

from cli_support import belfry

LATER = ['backfill', 'skip', 'undo', 'move', 'pause', 'resume', 'owners',
         'token', 'secrets', 'notify', 'backup', 'restore', 'conformance', 'bench']


def listed(*path):
    """The commands that a help text lists, groups followed."""
    text = belfry(*path, '--help').stdout
    commands = text.split('Commands:\n')[1].split('\n\n')[0]
    for line in commands.splitlines():
        words = re.split(r'  +', line.strip())[0].split()[1:]
        if words[0] == 'help':
            continue
        yield words
        if 'COMMAND ...' in belfry(*words, '--help').stdout:
            yield from listed(*words)


def test_every_command_has_help_with_an_example():
    commands = list(listed())
    assert len(commands) >= 15
    for words in commands:
        for spelling in ([*words, '--help'], [*words, '-h'], ['help', *words]):
            result = belfry(*spelling)
            assert (result.returncode, result.stderr) == (0, ''), spelling
            assert f'Usage:\n  belfry {" ".join(words)} ' in result.stdout
            assert f'Example:\n  belfry {" ".join(words)}' in result.stdout
            assert '--json' in result.stdout
            assert max(map(len, result.stdout.splitlines())) <= 110, words


def test_the_help_of_all_has_an_example_and_tells_of_itself():
    for spelling in (['--help'], ['help'], ['-h']):
        text = belfry(*spelling).stdout
        assert re.search(r'^  belfry help \[COMMAND\]  +Show this text', text, re.M)
        assert 'Example:\n  belfry next' in text


def test_version():
    result = belfry('--version')
    assert result.returncode == 0
    assert re.fullmatch(r'belfry \d+\.\d+\.\d+\n', result.stdout)


def test_version_as_json():
    for arguments in (['--json', '--version'], ['--version', '--json']):
        assert re.fullmatch(r'{"version":"\d+\.\d+\.\d+"}\n', belfry(*arguments).stdout)


@pytest.mark.parametrize('name', LATER)
def test_what_this_version_does_not_offer_is_refused_by_name(name):
    result = belfry(name)
    assert result.returncode == 2
    assert f'this version does not offer `{name}`' in result.stderr


def test_what_a_group_does_not_offer_yet_is_refused_by_name():
    assert 'does not offer `import k8s`' in belfry('import', 'k8s', 'x').stderr


@pytest.mark.parametrize('arguments,words', [
    (['deploymnets'], 'did you mean `belfry deployments`?'),
    (['deployments', 'lst'], 'did you mean `belfry deployments list`?'),
    (['xyzzy'], '`belfry --help` lists the commands'),
    (['deployments'], '`belfry deployments --help` lists them'),
    ([], 'a command is missing'),
    (['--vresion'], 'options follow the command'),
    (['help', 'next', 'x'], 'is too much'),
    (['deployments', 'create'], 'NAME is missing: belfry deployments create NAME ...'),
    (['deployments', 'delete'], 'DEPLOYMENT is missing: belfry deployments delete DEPLOYMENT\n'),
    (['next'], 'RULE is missing: belfry next RULE ...'),
    (['trigger'], 'DEPLOYMENT is missing: belfry trigger DEPLOYMENT ...'),
    (['next', '0', '9', '*', '*', '1-5'], '"9" is too much: quote the rule, as in belfry next "0 9 * * 1-5"'),
    (['deployments', 'create', 'x', '--cron', '0', '9', '*', '*', '1-5'], 'as in --cron "0 9 * * 1-5"'),
    (['deployments', 'edit', 'x', '--cron', '0', '9', '*', '*', '1-5'], 'as in --cron "0 9 * * 1-5"'),
    (['deployments', 'show', 'x', 'y'], '"y" is too much: `belfry deployments show --help`'),
    (['\x1b[31m'], '\\x1b[31m'),
])
def test_wrong_words_are_refused_with_a_remedy(arguments, words):
    result = belfry(*arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert '\x1b' not in result.stderr


@pytest.mark.parametrize('command,options', [
    (['deployments', 'create'], ['remote', 'chat', 'model', 'missed', 'overlap', 'session-timeout',
                                 'on-exhausted', 'disable-after', 'deadline', 'owner']),
    (['deployments', 'edit'], ['remote', 'chat', 'model', 'missed', 'overlap', 'deadline']),
    (['runs', 'replay'], ['as-of', 'dry-run']),
    (['apply'], ['set', 'prune']),
])
def test_help_marks_what_this_version_does_not_carry_out(command, options):
    text = belfry(*command, '--help').stdout
    usage = text.split('Options:\n')[0]
    for option in options:
        assert re.search(rf'--{option}\b.*not in this version', text, re.I), option
        assert f'--{option} ' not in usage
