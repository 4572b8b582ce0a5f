"""tools/sum-results counts honestly: skips are no passes, silence is a failure."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / 'tools' / 'sum-results'
CMOCKA_OK = '[==========] Running 3 test(s).\n[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n'
CMOCKA_NEW = '[==========] text: 3 test(s) run.\n[  PASSED  ] 2 test(s).\n[  FAILED  ] text: 1 test(s), listed below:\n'


class SumResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def meson(self, *tests):
        path = self.folder / f'{len(list(self.folder.iterdir()))}.json'
        path.write_text(''.join(json.dumps(test) + '\n' for test in tests))
        return str(path)

    def pytest(self, cases):
        path = self.folder / 'pytest.xml'
        path.write_text(f'<testsuites><testsuite>{cases}</testsuite></testsuites>')
        return str(path)

    def assert_sum(self, arguments, last_line, status):
        result = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)
        self.assertEqual(result.stdout.splitlines()[-1], last_line, result.stdout + result.stderr)
        self.assertEqual(result.returncode, status)
        return result.stdout

    def test_cmocka_binaries_count_by_their_cases(self):
        log = self.meson({'result': 'OK', 'stdout': CMOCKA_OK}, {'result': 'OK', 'stdout': 'fine'})
        output = self.assert_sum(['--meson', 'plain', log], '3 passed, 0 failed', 0)
        self.assertIn('\n1 skipped\n', output)

    def test_several_groups_in_one_binary_add_up(self):
        log = self.meson({'result': 'FAIL', 'stdout': CMOCKA_OK, 'stderr': CMOCKA_NEW})
        self.assert_sum(['--meson', 'plain', log], '4 passed, 1 failed', 1)

    def test_a_crash_behind_a_passed_group_is_a_failure(self):
        for result in ('FAIL', 'ERROR', 'TIMEOUT', 'INTERRUPT', 'UNEXPECTEDPASS'):
            log = self.meson({'result': result, 'stdout': '[  PASSED  ] 2 test(s).\n'})
            self.assert_sum(['--meson', 'plain', log], '2 passed, 1 failed', 1)

    def test_a_skipped_test_is_no_pass(self):
        log = self.meson({'result': 'SKIP', 'stdout': 'not here'})
        self.assert_sum(['--meson', 'plain', log], '0 passed, 0 failed', 1)

    def test_repeated_cases_count_only_where_they_fail(self):
        plain = self.meson({'result': 'OK', 'stdout': CMOCKA_OK})
        again = self.meson({'result': 'OK', 'stdout': CMOCKA_OK})
        broken = self.meson({'result': 'FAIL', 'stdout': CMOCKA_NEW})
        self.assert_sum(['--meson', 'plain', plain, '--again', 'asan', again], '2 passed, 0 failed', 0)
        self.assert_sum(['--meson', 'plain', plain, '--again', 'asan', broken], '2 passed, 1 failed', 1)

    def test_pytest_cases_of_every_kind(self):
        xml = self.pytest('<testcase/><testcase><failure/></testcase><testcase><error/></testcase>'
                          '<testcase><skipped/></testcase>')
        self.assert_sum(['--pytest', 'black box', xml], '1 passed, 2 failed', 1)

    def test_silence_is_a_failure(self):
        good = ['--meson', 'plain', self.meson({'result': 'OK', 'stdout': ''})]
        for bad in (['--meson', 'x', self.meson()], ['--pytest', 'x', self.pytest('')],
                    ['--again', 'x', self.meson()], ['--pytest', 'x', str(self.folder / 'none.xml')]):
            self.assert_sum(good + bad, '1 passed, 1 failed', 1)
        self.assert_sum([], '0 passed, 0 failed', 1)


if __name__ == '__main__':
    unittest.main()
