"""check_exports.py names each difference between headers, list, libraries and tests, and no other."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_exports  # noqa: E402

ONE, TWO = 'belfry_a_b', 'belfry_a_c'


def differences(listed=(ONE, TWO), declared=(ONE, TWO), shared=(ONE, TWO), static=(ONE, TWO),
                called=(ONE, TWO)):
    return list(check_exports.differences(list(listed), set(declared),
                                          {f'{name}@@BELFRY_0' for name in shared}, set(static),
                                          set(called)))


class CheckExports(unittest.TestCase):
    def test_what_agrees_passes(self):
        self.assertEqual(differences(), [])

    def test_each_way_to_differ_is_told_once_with_its_name(self):
        for change, word in ((dict(declared=[ONE]), 'remove the line "belfry_a_c"'),
                             (dict(shared=[ONE]), 'the shared library does not define belfry_a_c'),
                             (dict(static=[ONE]), 'the static library does not define belfry_a_c'),
                             (dict(static=[ONE, TWO, 'mem_x']), 'the static library shows mem_x'),
                             (dict(shared=[ONE, TWO, 'json_x']), 'the shared library shows json_x'),
                             (dict(called=[ONE]), 'no test calls belfry_a_c'),
                             (dict(listed=[TWO, ONE]), 'not sorted')):
            found = differences(**change)
            self.assertEqual(len(found), 1, found)
            self.assertIn(word, found[0])

    def test_a_function_that_is_not_in_the_list_is_told_as_the_line_to_add(self):
        self.assertIn('declared in a header, not in the list: add the line "belfry_a_c"',
                      differences(listed=[ONE]))

    def test_declarations_are_read_over_lines_and_not_in_comments_or_macros(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'x.h').write_text(
                '/* BELFRY_API int belfry_not_this(void); */\n#define BELFRY_API \\\n\tlong_word\n'
                'BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_a_b(\n\t\tint x);\n'
                'struct belfry_y {\n\tint (*call)(void);\n};\nBELFRY_API extern const int belfry_a_c;\n')
            self.assertEqual(check_exports.declared_names(pathlib.Path(folder)), {ONE, TWO})


if __name__ == '__main__':
    unittest.main()
