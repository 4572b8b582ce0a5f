"""tools/generate-states reads the list, and --check fails on a page that is not current."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / 'tools' / 'generate-states'
LIST = '''/* BELFRY_RUN_STATE(IN_A_COMMENT, "no", 0, NO, 0) */
BELFRY_RUN_STATE(BORN, "born", INITIAL | OPEN, QUEUED,
\t\t NEXT(BORN) |
\t\t\t NEXT(DONE))
BELFRY_RUN_STATE(DONE, "done", FINAL, RUNNING, 0)
'''


class GenerateStates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name, 'run_state.def')
        self.page = pathlib.Path(folder.name, 'states.md')
        self.source.write_text(LIST)

    def run_tool(self, *arguments):
        command = [sys.executable, TOOL, '--def', self.source, '--out', self.page, *arguments]
        return subprocess.run(command, capture_output=True, text=True).returncode

    def test_every_state_and_move_is_on_the_page(self):
        self.assertEqual(self.run_tool(), 0)
        page = self.page.read_text()
        for line in ('[*] --> born', 'born --> born', 'born --> done', 'done --> [*]'):
            self.assertIn(f'    {line}\n', page)
        self.assertIn('| `born` | yes | yes |  | QUEUED | `born`, `done` |', page)
        self.assertNotIn('IN_A_COMMENT', page)

    def test_check_passes_on_the_page_just_written_and_fails_on_another(self):
        self.assertEqual(self.run_tool('--check'), 1)
        self.assertEqual(self.run_tool(), 0)
        self.assertEqual(self.run_tool('--check'), 0)
        self.source.write_text(LIST.replace(' |\n\t\t\t NEXT(DONE)', ''))
        self.assertEqual(self.run_tool('--check'), 1)

    def test_a_list_without_states_is_refused(self):
        self.source.write_text('/* nothing */\n')
        self.assertEqual(self.run_tool(), 1)


if __name__ == '__main__':
    unittest.main()
