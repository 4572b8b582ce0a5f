"""Runs last: no refusal that any test has seen says more than a caller may read."""
import json
import re

import belfry

ENGINE_WORDS = [
    r'sqlite', r'\bsql\b', r'\bselect\b', r'\binsert\b', r'\bupdate set\b', r'constraint', r'\btable\b',
    r'\bcolumn\b', r'\browid\b', r'\bwal\b', r'pragma', r'database', r'\bdb\b', r'belfry\.db', r'errno', r'driver',
    r'libcurl', r'\bcurl', r'microhttpd', r'jansson', r'pthread', r'\bmutex\b', r'\.c:\d', r'/tmp/', r'/var/', r'/home/',
    r'/usr/', r'strerror', r'no such file', r'permission denied', r'disk i/o', r'disk is full', r'0x[0-9a-f]{6}',
    r'belfry_[a-z]+', r'\bbf_', r'segmentation', r'assert', r'stack', r'zoneinfo', r'tzif', r'\bnull\)']
SETTING = re.compile(r'\bBELFRY_[A-Z_]+\b')  # a variable of the environment is what an operator changes
QUOTED = re.compile(r'"([^"]*)"')
FEWEST = 100  # refusals that a run of all the tests has seen, and more


def is_sent(words, sent):
    """What is quoted came from the caller: the request has it, as it is or with a cut end."""
    return words.removesuffix('...') in sent


def test_t066_no_refusal_holds_an_engine_word(make_server, request):
    server = make_server()
    server.api('GET', '/v1/deployments/x')
    is_whole = len({item.module.__name__ for item in request.session.items}) > 10
    assert len(belfry.refusals) >= (FEWEST if is_whole else 1)
    for asked, sent, status, text in belfry.refusals:
        if status == 416 and text == '':
            continue  # told by Content-Range
        try:
            problem = json.loads(text)
        except ValueError:
            raise AssertionError(f'{asked} {status}: {text[:200]} is no JSON') from None
        told = ' '.join(str(v) for k, v in problem.items() if k in ('title', 'detail', 'pointer', 'code', 'type'))
        told = QUOTED.sub(lambda found: '""' if is_sent(found[1], sent) else found[0], told)
        told = SETTING.sub('', told).lower()
        for word in ENGINE_WORDS:
            assert not re.search(word, told), (word, asked, text[:400])
        assert problem['code'] != 'INTERNAL', (asked, text[:400])


def test_t066_no_run_holds_an_engine_word(make_server, receiver):
    """The errors of Runs: a refused connection, a name that is none, an answer, a time limit, a cut one."""
    receiver.answer = lambda call: {
        '/abort': belfry.Answer(abort=True), '/400': belfry.Answer(400, b'<html>you</html>'),
        '/slow': belfry.Answer(delay=3), '/redirect': belfry.Answer(302, headers={'Location': 'http://10.0.0.1/'}),
    }.get(call.path)
    server = make_server()
    found = {}
    policies = {'retry': {'max_attempts': 1}, 'timeout': 'PT0.5S'}
    runs = {}
    for name, url in (('refused', 'http://127.0.0.1:1/'), ('unknown', 'http://no-such-host.invalid/'),
                      ('abort', receiver.url + '/abort'), ('answer', receiver.url + '/400'),
                      ('slow', receiver.url + '/slow'), ('redirect', receiver.url + '/redirect'),
                      ('tls', receiver.url.replace('http:', 'https:') + '/')):
        id_ = server.create(name, '0 0 1 1 *', url, policies=policies)['id']
        runs[name] = server.run_now(id_)['id']
    for name, run in runs.items():
        found[name] = server.wait_run(run, 'FAILED')['error']
        for word in ENGINE_WORDS:
            assert not re.search(word, found[name]['message'].lower()), (word, found[name])
        assert len(found[name]['message']) > 10
    codes = {name: error['code'] for name, error in found.items()}
    assert codes == {'refused': 'TARGET_UNREACHABLE', 'unknown': 'TARGET_UNREACHABLE', 'abort': 'TARGET_UNREACHABLE',
                     'answer': 'TARGET_ANSWERED', 'slow': 'TIMEOUT', 'redirect': 'TARGET_ANSWERED',
                     'tls': 'TARGET_UNREACHABLE'} or codes['unknown'] == 'TIMEOUT', codes
