#!/usr/bin/env python3
"""Installs into a clean folder and uses what is there as a stranger would: headers, examples, libraries.

Each case installs anew (`meson install --destdir`, nothing is compiled for it) and asks pkg-config alone for
flags. Programs are watched through their output, with a deadline; nothing sleeps.

Usage: check_install.py CASE SETUP.json     CASE: a function below whose name begins with case_
SETUP.json  {"build", "source", "meson": [...], "cc": [...], "nm", "prefix", "libdir", "archives": [...],
             "is_private"}
"""
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DEADLINE = 60  # seconds: for whatever a program is to say or to end
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
RUN = re.compile(r'^good day \(Run ([0-9a-f-]{36})\)$')


class Prefix:
    """A clean installation and what pkg-config says of it."""

    def __init__(self, setup, folder):
        self.setup = setup
        self.folder = folder
        self.root = folder / 'root'
        subprocess.run([*setup['meson'], 'install', '-C', setup['build'], '--no-rebuild', '--quiet',
                        '--destdir', self.root], check=True, stdout=subprocess.DEVNULL)
        self.place = self.root / setup['prefix'].lstrip('/')
        self.libdir = self.place / setup['libdir']
        self.include = self.place / 'include'
        self.environment = dict(os.environ, PKG_CONFIG_PATH=str(self.libdir / 'pkgconfig'),
                                PKG_CONFIG_SYSROOT_DIR=str(self.root),
                                PKG_CONFIG_ALLOW_SYSTEM_CFLAGS='1',  # where the prefix is /usr
                                PKG_CONFIG_ALLOW_SYSTEM_LIBS='1',
                                LD_LIBRARY_PATH=str(self.libdir))

    def flags(self, *options, package='belfry'):
        words = subprocess.run(['pkg-config', *options, package], env=self.environment, check=True,
                               capture_output=True, text=True).stdout
        return words.split()

    def compile(self, output, *arguments):
        run([*self.setup['cc'], *map(str, arguments), '-o', str(output)], self.environment, self.folder)


def run(command, environment, folder):
    """A command that has to succeed; what it says is shown where it does not."""
    result = subprocess.run(command, env=environment, cwd=folder, text=True, capture_output=True,
                            timeout=DEADLINE)
    if result.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))}\nexit status {result.returncode}\n{result.stdout}'
                 f'{result.stderr}')
    return result.stdout


class Program:
    """A program under way, its output read line by line."""

    def __init__(self, prefix, *command):
        self.name = ' '.join(map(str, command))
        self.deadline = time.monotonic() + DEADLINE
        self.process = subprocess.Popen(list(map(str, command)), env=prefix.environment,
                                        cwd=prefix.folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.pending = b''
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def fail(self, what):
        self.process.kill()
        _, errors = self.process.communicate()
        sys.exit(f'{self.name}: {what}; it said on standard error: {errors.decode()}')

    def line(self):
        while b'\n' not in self.pending:
            if not self.selector.select(max(0, self.deadline - time.monotonic())):
                self.fail('no output in time')
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                self.fail('it ended too early')
            self.pending += data
        line, _, self.pending = self.pending.partition(b'\n')
        return line.decode()

    def end(self, number=None):
        """Waits for its end, after the signal, and expects exit status 0 and no complaint."""
        if number is not None:
            self.process.send_signal(number)
        try:
            _, errors = self.process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.fail('it does not end')
        if self.process.returncode != 0 or errors:
            sys.exit(f'{self.name}: exit status {self.process.returncode}: {errors.decode()}')

    def kill(self):
        self.process.kill()
        self.process.communicate()


# ---- cases ------------------------------------------------------------------------------------------


def case_headers(prefix):
    """Every installed header, as the source tree's are."""
    checker = pathlib.Path(prefix.setup['source']) / 'tests' / 'headers' / 'check_headers.py'
    print(run([sys.executable, checker, prefix.include, *prefix.setup['cc']], prefix.environment,
              prefix.folder))
    kept = {path.name for path in (pathlib.Path(prefix.setup['source']) / 'include/belfry').iterdir()}
    assert kept == {path.name for path in (prefix.include / 'belfry').iterdir() if path.is_file()}


def case_package(prefix):
    """What belfry.pc says is true of the files and of the library itself."""
    version = prefix.flags('--modversion')[0]
    header = (prefix.include / 'belfry/version.h').read_text()
    assert f'BELFRY_VERSION       "{version}"' in header, version
    seams = re.search(r'BELFRY_SEAMS_ABI (\d+)u', (prefix.include / 'belfry/store.h').read_text())
    assert prefix.flags('--variable=seams_abi') == [seams.group(1)]
    for name in ('providers', 'stores'):
        folder = prefix.flags(f'--variable={name}dir')[0]
        assert folder.endswith(f'{prefix.setup["libdir"]}/belfry/{name}'), folder
    shared = prefix.flags('--libs')
    assert '-lbelfry' in shared and '-lcrypto' not in shared, shared
    static = prefix.flags('--static', '--libs')
    assert {'-lbelfry', '-lcrypto', '-lm'} <= set(static), static
    assert (prefix.place / 'bin/belfry').exists()
    for name in ('NOTICE', 'contract.md', 'embedding.md'):
        assert (prefix.place / 'share/doc/belfry' / name).exists(), name
    link = prefix.libdir / 'libbelfry.so.0'
    assert link.is_symlink() and link.resolve().name == f'libbelfry.so.{version}'


def compile_example(prefix, name, how, folder='embed'):
    """As the example's own first comment says, or against the static library."""
    source = pathlib.Path(prefix.setup['source']) / 'examples' / folder / f'{name}.c'
    command, program = re.search(r'^ \*\s+(cc .* -o (\w+)) &&', source.read_text(), re.M).groups()
    assert f'{name}.c $(pkg-config --cflags --libs belfry)' in command, command
    (prefix.folder / f'{name}.c').write_bytes(source.read_bytes())
    command = command.replace('cc ', ' '.join([*prefix.setup['cc'], *WARNINGS, '']), 1)
    if how == 'static':
        command = command.replace('--cflags', '--static --cflags') + f' -L{static_folder(prefix)}'
        command = command.replace('$(', f'-L{static_folder(prefix)} $(', 1)
    run(['sh', '-c', command], prefix.environment, prefix.folder)
    return prefix.folder / program


def static_folder(prefix):
    """A folder that has libbelfry.a and no shared library beside it: the linker then has no choice."""
    folder = prefix.folder / 'static'
    folder.mkdir(exist_ok=True)
    (folder / 'libbelfry.a').write_bytes((prefix.libdir / 'libbelfry.a').read_bytes())
    return folder


def needed(prefix, program):
    words = run(['readelf', '-d', program], prefix.environment, prefix.folder)
    return re.findall(r'NEEDED.*\[(.*)\]', words)


def watch_example(prefix, program):
    """Two lives on one file: a Run in each, ended by SIGTERM; another Run, for nothing fires twice."""
    store = prefix.folder / f'{program.name}.db'
    seen = []
    for _life in range(2):
        life = Program(prefix, program, f'sqlite:{store}')
        match = RUN.match(life.line())
        if match is None:
            life.fail('it says something else')
        seen.append(match.group(1))
        life.end(signal.SIGTERM)
    assert seen[0] < seen[1], seen
    assert store.stat().st_size > 0


# From 2040 on, whatever the day is on which this runs: through a gap in Berlin and a fold in New York.
CALENDAR_RULE = '{"any":[{"cron":"30 2 23-27 3 *"},{"cron":"30 1 2-6 11 *"}],"not_before":"2040-01-01T00:00:00Z"}'
CALENDAR_ZONES = ('Europe/Berlin', 'America/New_York', 'Asia/Kathmandu')
CALENDAR_LINE = re.compile(r'^\w{3} (\S+) (\S+) ([+-]\d\d:\d\d)  (\S+)  (\S+)$')


def watch_calendar(prefix, program):
    """Ten due times in each of three zones, as the installed command has them too."""
    lines = run([program, CALENDAR_RULE], prefix.environment, prefix.folder).splitlines()
    found = [CALENDAR_LINE.match(line).groups() for line in lines]
    for zone in CALENDAR_ZONES:
        answer = run([prefix.place / 'bin/belfry', 'next', CALENDAR_RULE, '--tz', zone, '-n', '10', '--json'],
                     prefix.environment, prefix.folder)
        told = [f'{date}T{clock}{offset}' for date, clock, offset, _, name in found if name == zone]
        assert json.loads(answer) == {'items': told}, (told, answer)
    assert ('2040-03-25', '03:00:00', '+02:00', '2040-03-25T01:00:00Z', 'Europe/Berlin') in found, found
    assert ('2040-11-04', '01:30:00', '-04:00', '2040-11-04T05:30:00Z', 'America/New_York') in found, found
    assert ('2040-03-23', '02:30:00', '+05:45', '2040-03-22T20:45:00Z', 'Asia/Kathmandu') in found, found


def case_calendar(prefix):
    """The calendar without anything else, with either library, and its example as C++ as well."""
    for how in ('shared', 'static'):
        program = compile_example(prefix, 'main', how, 'calendar')
        assert ('belfry' in ' '.join(needed(prefix, program))) == (how == 'shared')
        watch_calendar(prefix, program)
    if shutil.which('c++'):
        run(['c++', *WARNINGS, '-fsyntax-only', '-x', 'c++', 'main.c', *prefix.flags('--cflags')],
            prefix.environment, prefix.folder)


def case_examples(prefix):
    for name in ('main', 'loop'):
        program = compile_example(prefix, name, 'shared')
        assert 'libbelfry.so.0' in needed(prefix, program)
        if name == 'main' and shutil.which('c++'):  # the short one is C++ as well
            run(['c++', *WARNINGS, '-Wno-missing-field-initializers', '-fsyntax-only', '-x', 'c++',
                 f'{name}.c', *prefix.flags('--cflags')], prefix.environment, prefix.folder)
        watch_example(prefix, program)


def case_examples_static(prefix):
    for name in ('main', 'loop'):
        program = compile_example(prefix, name, 'static')
        libraries = ' '.join(needed(prefix, program))
        assert 'belfry' not in libraries, libraries
        assert not prefix.setup['is_private'] or 'sqlite' not in libraries, libraries
        watch_example(prefix, program)


def case_crash(prefix):
    """A Run that its process did not outlive is taken up by the next, under its own id."""
    program = prefix.folder / 'embed'
    prefix.compile(program, pathlib.Path(prefix.setup['source']) / 'tests/install/embed.c', *WARNINGS,
                   *prefix.flags('--cflags', '--libs'))
    first = Program(prefix, program, f'sqlite:{prefix.folder}/crash.db', 'hang')
    begun = first.line()
    assert begun.startswith('begin '), begun
    first.kill()
    second = Program(prefix, program, f'sqlite:{prefix.folder}/crash.db', 'answer')
    assert second.line() == begun
    assert second.line() == begun.replace('begin', 'completed')
    second.end()


def hidden_names(prefix):
    """Every name that our own files or the private copies share among themselves."""
    command = [prefix.setup['nm'], '--defined-only', '--extern-only', '--format=posix',
               *prefix.setup['archives']]
    lines = run(command, prefix.environment, prefix.folder).splitlines()
    names = {line.split()[0] for line in lines if re.match(r'\w+ [A-Z] ', line)}
    exported = (pathlib.Path(prefix.setup['source']) / 'library/exports.txt').read_text().split()
    return sorted(names - set(exported) - {'sqlite3_libversion_number'})


def build_hostile(prefix, names):
    """An object that defines all of them; whoever calls one is told, and is dead."""
    source = prefix.folder / 'hostile.c'
    functions = (f'void {name}(void) {{ puts("{name}"); fflush(stdout); abort(); }}' for name in names)
    source.write_text('\n'.join(['#include <stdio.h>', '#include <stdlib.h>', *functions]))
    target = prefix.folder / 'hostile.o'
    prefix.compile(target, '-c', '-w', '-fno-builtin', source)
    return target


def case_interposition(prefix):
    """A program with functions of our names: neither the shared nor the static library takes them."""
    names = hidden_names(prefix)
    for name in ('sqlite3_open_v2', 'sqlite3_prepare_v2', 'json_object', 'json_loadb', 'bf_alloc'):
        assert name in names, f'{name} is not among the {len(names)} hidden names'
    hostile = build_hostile(prefix, names)
    source = pathlib.Path(prefix.setup['source']) / 'tests/install/embed.c'
    ways = {'shared': prefix.flags('--cflags', '--libs'),
            'static': [f'-L{static_folder(prefix)}', *prefix.flags('--static', '--cflags', '--libs')]}
    for way, flags in ways.items():
        program = prefix.folder / f'embed-{way}'
        prefix.compile(program, source, hostile, '-rdynamic', *flags)
        shown = run([prefix.setup['nm'], '--dynamic', '--defined-only', program], prefix.environment,
                    prefix.folder)
        assert ' sqlite3_open_v2\n' in shown and ' json_loadb\n' in shown
        life = Program(prefix, program, f'sqlite:{prefix.folder}/{way}.db', 'answer')
        begun = life.line()
        assert begun.startswith('begin '), f'{way}: our library called {begun} of the program'
        assert life.line() == begun.replace('begin', 'completed')
        life.end()
    print(f'{len(names)} names, {len(ways)} ways')


# What docs/embedding.md says that the library never does, as the functions that it would need for it.
NEVER = '''signal sigaction sigaltstack raise kill setitimer alarm timer_create
    puts printf putchar __printf_chk vprintf __vprintf_chk stdout stdin perror psignal syslog
    exit _exit _Exit quick_exit atexit on_exit fork vfork clone posix_spawn posix_spawnp system popen execv
    execve execvp execl execlp pthread_atfork chdir fchdir chroot umask setlocale uselocale newlocale tzset
    setenv putenv unsetenv clearenv environ secure_getenv socket connect bind listen accept accept4
    getaddrinfo gethostbyname setrlimit setpriority nice prctl pthread_setname_np mallopt'''.split()


def case_manners(prefix):
    """What the library imports cannot do what it says that it never does."""
    shown = run([prefix.setup['nm'], '--dynamic', '--undefined-only', '--format=posix',
                 prefix.libdir / 'libbelfry.so'], prefix.environment, prefix.folder)
    imports = {line.split('@')[0].split()[0] for line in shown.splitlines()}
    assert 'pthread_create' in imports and not imports & set(NEVER), imports & set(NEVER)
    private = [name for name in imports if name.startswith(('sqlite3', 'json_'))]
    assert not prefix.setup['is_private'] or not private, private


CONFORMANCE = '''
#include <stdio.h>
#include <belfry/conformance/store.h>
int main(void)
{
	const struct belfry_store_case *item;
	for (size_t i = 0; (item = belfry_conformance_store_case(i)) != NULL; i++) {
		puts(item->name);
	}
	return 0;
}
'''


def case_conformance(prefix):
    """The suite can be linked by others, and shows its own three functions alone."""
    (prefix.folder / 'suite.c').write_text(CONFORMANCE)
    prefix.compile(prefix.folder / 'suite', 'suite.c', *WARNINGS,
                   *prefix.flags('--cflags', '--libs', package='belfry-conformance'))
    names = run([prefix.folder / 'suite'], prefix.environment, prefix.folder).splitlines()
    assert len(names) > 50 and len(set(names)) == len(names), names
    shown = run([prefix.setup['nm'], '--defined-only', '--extern-only',
                 prefix.libdir / 'libbelfry-conformance.a'], prefix.environment, prefix.folder)
    symbols = re.findall(r'^[0-9a-f]+ [A-Z] (\w+)$', shown, re.M)
    assert symbols and all(name.startswith('belfry_conformance_') for name in symbols), symbols


def case_library_only(prefix):
    """Configured so, there are the libraries and nothing that needs curl, microhttpd or yaml."""
    setup = prefix.setup
    build = prefix.folder / 'alone'
    environment = dict(os.environ, CC=' '.join(setup['cc']))
    run([*setup['meson'], 'setup', build, setup['source'], '-Dlibrary_only=true'], environment, prefix.folder)
    targets = json.loads(run([*setup['meson'], 'introspect', '--targets', build], environment, prefix.folder))
    assert not [t['name'] for t in targets if t['type'] == 'executable'], targets
    assert {'shared library', 'static library'} <= {t['type'] for t in targets if t['name'] == 'belfry'}
    found = json.loads(run([*setup['meson'], 'introspect', '--dependencies', build], environment,
                           prefix.folder))
    assert not {'libcurl', 'libmicrohttpd', 'yaml-0.1'} & {d['name'] for d in found}, found


def main():
    case = globals()[f'case_{sys.argv[1]}']
    setup = json.loads(pathlib.Path(sys.argv[2]).read_text())
    with tempfile.TemporaryDirectory(prefix='belfry-install-') as folder:
        case(Prefix(setup, pathlib.Path(folder)))


if __name__ == '__main__':
    main()
