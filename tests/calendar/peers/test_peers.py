"""T011: the calendar against croniter and cronsim, and in `make torture` croner, on 10,000 random questions (triples.py).

Every difference has to be explained by a class (classes.py), every class has to occur, every class has a row in
tests/data/peers.tsv with a source, and every answer of ours has to be the one that plain.py finds. The other
libraries are installed into build-peers by tools/setup; without them the tests fail. croner needs Node, which is
why it waits for the long tests.

Environment: BELFRY_ASK (build/tests/calendar/calendar-ask), BELFRY_PEERS (build-peers).
"""
import collections
import concurrent.futures
import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import zoneinfo

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
import classes  # noqa: E402
import plain  # noqa: E402
import triples  # noqa: E402

COUNT = 10000
SEED = 7
MISSING = 'run tools/setup bench, which installs the other libraries into build-peers'
ROWS = [line.split('\t') for line in (ROOT / 'tests/data/peers.tsv').read_text().splitlines()
        if line and not line.startswith(('#', 'class\t'))]


def command_of(name):
    if name == 'belfry':
        return [os.environ.get('BELFRY_ASK', str(ROOT / 'build/tests/calendar/calendar-ask'))]
    folder = pathlib.Path(os.environ.get('BELFRY_PEERS', ROOT / 'build-peers'))
    if name != 'croner':
        return [str(folder / 'bin/python'), str(HERE / f'peer_{name}.py')]
    if not (folder / 'node/node_modules').is_dir():
        pytest.fail(f'there is no {folder}/node: {MISSING}', pytrace=False)
    script = folder / 'node/peer_croner.mjs'  # beside the modules, where node looks for them
    shutil.copyfile(HERE / 'peer_croner.mjs', script)
    return [shutil.which('node') or 'node', str(script)]


def ask(name, questions):
    """Each question's answer, from one process."""
    command = command_of(name)
    if not pathlib.Path(command[0]).exists():
        pytest.fail(f'there is no {command[0]}: {MISSING}', pytrace=False)
    text = ''.join(f'{expression}\t{zone}\t{at}\n' for expression, zone, at in questions)
    answers = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, timeout=300,
                             check=True).stdout.splitlines()
    assert len(answers) == len(questions), name
    return answers


@pytest.fixture(scope='module')
def questions():
    return triples.make(COUNT, SEED)


@pytest.fixture(scope='module')
def answers(questions):
    """What each says to all the questions; they are asked at the same time."""
    names = ['belfry', 'croniter', 'cronsim']
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(lambda name: ask(name, questions), names)))


def differ(one, other):
    """Two refusals are one answer, in whatever words."""
    return one != other and not (one.startswith('refused') and other.startswith('refused'))


def check_peer(peer, questions, answers):
    counts = collections.Counter()
    unexplained = []
    for triple, our, their in zip(questions, answers['belfry'], answers[peer]):
        if differ(our, their):
            case = classes.Case(triple, our, their)
            name = classes.classify(peer, case)
            counts[name] += 1
            if name is None:
                unexplained.append(str(case))
    print(f'{peer}: {sum(counts.values())} differences', *counts.most_common())
    assert not unexplained, '\n'.join(unexplained)
    assert set(counts) == set(classes.PEERS[peer]), 'a class that explains nothing any more'


def test_t011_every_difference_from_croniter_on_10000_random_expressions_is_explained(questions, answers):
    check_peer('croniter', questions, answers)


def test_t011_every_difference_from_cronsim_on_10000_random_expressions_is_explained(questions, answers):
    check_peer('cronsim', questions, answers)


@pytest.mark.torture
def test_t011_every_difference_from_croner_on_10000_random_expressions_is_explained(questions, answers):
    check_peer('croner', questions, answers | {'croner': ask('croner', questions)})


def plain_answer(expression, zone, at):
    try:
        due = plain.Plain(expression).next(zoneinfo.ZoneInfo(zone), plain.instant(at))
    except plain.Refused:
        return 'refused'
    return 'none' if due is None else str(plain.seconds_of(due))


def agree(our, plainly):
    """What never comes is refused when it is made; plain.py looks through its years and finds nothing."""
    return not differ(our, plainly) or plainly == 'none' and 'never comes' in our


def test_t011_every_answer_is_the_one_that_a_plain_reading_of_the_rules_finds(questions, answers):
    wrong = [f'{triple}: {our}, plainly {plainly}'
             for triple, our, plainly in zip(questions, answers['belfry'], (plain_answer(*q) for q in questions))
             if not agree(our, plainly)]
    assert not wrong, '\n'.join(wrong)


def read_instant(text):
    moment = datetime.datetime.strptime(text, '%Y-%m-%dT%H:%M:%SZ').replace(tzinfo=plain.UTC)
    return plain.seconds_of(moment)


def short(answer):
    """As in the table."""
    return classes.show(answer) if classes.is_number(answer) else answer.partition(':')[0]


def triple_of(row):
    return row[1], row[2], read_instant(row[3])


def peer_of(row):
    return row[0].partition('-')[0]


@pytest.fixture(scope='module')
def row_answers():
    """A function: what Belfry and the library say to the library's rows, asked once for each library."""
    found = {}

    def answers(peer):
        if peer not in found:
            rows = list(map(triple_of, (row for row in ROWS if peer_of(row) == peer)))
            found[peer] = dict(zip(rows, zip(ask('belfry', rows), ask(peer, rows))))
        return found[peer]
    return answers


def mark_of(row):
    marks = [pytest.mark.torture] if peer_of(row) == 'croner' else []
    return pytest.param(row, id=f'{row[0]}: {row[1]}', marks=marks)


@pytest.mark.parametrize('row', list(map(mark_of, ROWS)))
def test_t011_each_kind_of_difference_has_its_row(row, row_answers):
    name, *_, our, their, source = row
    answers = row_answers(peer_of(row))[triple_of(row)]
    assert [short(answer) for answer in answers] == [our, their]
    assert classes.classify(peer_of(row), classes.Case(triple_of(row), *answers)) == name
    assert agree(answers[0], plain_answer(*triple_of(row)))
    assert len(source) > 20


def test_t011_each_class_is_in_the_table_and_in_the_documents():
    names = {name for explained in classes.PEERS.values() for name in explained}
    assert names == {row[0] for row in ROWS}
    document = (ROOT / 'docs/calendar.md').read_text()
    assert not [name for name in names if f'`{name}`' not in document]
