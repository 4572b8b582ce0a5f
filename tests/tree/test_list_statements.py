"""tools/list-statements counts every number that a test's name begins with."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / 'tools' / 'list-statements'


class ListStatements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / 'tests').mkdir()

    def write(self, name, text):
        (self.root / 'tests' / name).write_text(text)

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, TOOL, *arguments, str(self.root)], capture_output=True, text=True)

    def listed(self):
        return [line.split()[0] for line in self.run_tool().stdout.splitlines()]

    def test_one_number(self):
        self.write('a.c', 'static void t024_a_thing_holds(void **state)\n')
        self.assertEqual(self.listed(), ['T024'])

    def test_all_leading_numbers_count(self):
        self.write('a.c', 'static void t005_t006_b16_two_things_hold(void **state)\n')
        self.write('b.py', 'def test_t007_l05_more(server):\n')
        self.assertEqual(self.listed(), ['B16', 'L05', 'T005', 'T006', 'T007'])

    def test_a_number_inside_the_words_does_not_count(self):
        self.write('a.c', 'static void t005_the_row_t006_is_no_statement(void **state)\nint at_t008_x, b2_x;\n')
        self.assertEqual(self.listed(), ['T005'])

    def test_a_statement_without_a_test_is_named(self):
        self.write('a.c', 't001_t002_x t004_y')
        self.write('statements.txt', 'T001-T004 # and no more\n')
        result = self.run_tool('--check')
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, 'T003: no test is named after it\n')


if __name__ == '__main__':
    unittest.main()
