"""tools/check-calls finds forbidden calls in code, and only in code."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / 'tools' / 'check-calls'


class CheckCalls(unittest.TestCase):
    def run_on(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True)

    def test_forbidden_calls_fail_with_file_and_line(self):
        for call in ('strcpy(a, b)', 'sprintf (a, "x")', 'strtol(a, 0, 10)', 'atoi(a)', 'time(NULL)',
                     'localtime(&t)', 'malloc(3)', 'free(p)', 'exit(1)', 'system("ls")', 'sleep(1)'):
            result = self.run_on('src/engine/a.c', f'void f(void)\n{{\n\t{call};\n}}\n')
            self.assertEqual(result.returncode, 1, call)
            self.assertIn('src/engine/a.c:3', result.stderr)

    def test_members_longer_names_comments_and_strings_pass(self):
        text = ('/* malloc(1)\n * free(2) */\nint f(void)\n{\n\tbf_free(p);\n\tsqlite3_free(q);\n'
                '\tx->free(q);\n\tx.time(q);\n\treturn puts("exit(1) \\" atoi(2)");\n}\n')
        result = self.run_on('src/engine/a.c', text)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_one_place_of_a_call_may_make_it(self):
        self.assertEqual(self.run_on('src/base/env.c', 'int a = clock_gettime(0, 0);').returncode, 0)
        self.assertEqual(self.run_on('src/base/sm.c', 'int a = clock_gettime(0, 0);').returncode, 1)
        self.assertEqual(self.run_on('src/host/a.c', 'int a = pthread_create();').returncode, 0)
        self.assertEqual(self.run_on('src/engine/a.c', 'int a = pthread_create();').returncode, 1)

    def test_a_seams_table_is_called_by_its_wrapper_alone(self):
        for call in ('p->ops->apply(p)', 'store->ops.time(s)', 'ops->more->why(p)', 'more.why(p)',
                     's->documents.get(s)', 'provider_ops->free(p)'):
            text = f'int f(void)\n{{\n\t(void){call};\n}}\n'
            self.assertEqual(self.run_on('src/host/a.c', text).returncode, 1, call)
            self.assertEqual(self.run_on('src/provider/other.c', text).returncode, 1, call)
            self.assertEqual(self.run_on('src/provider/provider.c', text).returncode, 0, call)
            self.assertEqual(self.run_on('src/store/store.c', text).returncode, 0, call)
            self.assertEqual(self.run_on('conformance/a.c', text).returncode, 0, call)
        self.assertEqual(self.run_on('src/host/a.c', 'int a = x->ops != NULL;').returncode, 0)

    def test_a_pure_layer_may_not_include_threads_or_clocks(self):
        for header in ('pthread.h', 'time.h', 'sys/socket.h'):
            text = f'#include <{header}>\n'
            self.assertEqual(self.run_on('src/engine/a.c', text).returncode, 1, header)
            self.assertEqual(self.run_on('src/runtime/a.c', text).returncode, 0, header)

    def test_an_empty_tree_is_no_proof(self):
        self.assertEqual(self.run_on('other/a.c', '').returncode, 1)


if __name__ == '__main__':
    unittest.main()
