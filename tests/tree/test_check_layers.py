"""tools/check-layers refuses an include that goes up or sideways, and a list that does."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / 'tools' / 'check-layers'
LAYERS = 'base 1\nengine 5 base\nstore-x 5 base\nruntime 6 base engine\n'


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / 'tools').mkdir()
        self.write('tools/layers', LAYERS)
        for layer in ('base', 'engine', 'store-x', 'runtime'):
            self.write(f'src/{layer}/{layer}.h', '')

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_tool(self):
        return subprocess.run([sys.executable, TOOL, self.root], capture_output=True, text=True)

    def assert_refused(self, *words):
        result = self.run_tool()
        self.assertEqual(result.returncode, 1, result.stdout)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_downward_includes_pass(self):
        self.write('src/engine/a.c', '#include "engine/engine.h"\n#include "base/base.h"\n'
                   '#include <belfry/status.h>\n#include <stdio.h>\n')
        result = self.run_tool()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_an_upward_include_fails_with_file_and_line(self):
        self.write('src/base/a.c', '\n#include "engine/engine.h"\n')
        self.assert_refused('src/base/a.c:2', 'engine/engine.h')

    def test_a_sideways_include_fails(self):
        self.write('src/engine/a.h', '#include "store-x/store-x.h"\n')
        self.assert_refused('src/engine/a.h:1')

    def test_an_include_without_its_layer_fails(self):
        self.write('src/engine/a.c', '#  include "engine.h"\n')
        self.assert_refused('"engine.h"')

    def test_an_unknown_folder_fails(self):
        self.write('src/attic/a.c', '')
        self.assert_refused('attic', 'not in tools/layers')

    def test_a_list_that_goes_upwards_fails(self):
        self.write('tools/layers', LAYERS.replace('base 1', 'base 1 runtime'))
        self.assert_refused('base (rank 1) may not use runtime (rank 6)')

    def test_conformance_may_include_public_headers_alone(self):
        self.write('conformance/a.c', '#include "base/base.h"\n')
        self.assert_refused('conformance/a.c:1')


if __name__ == '__main__':
    unittest.main()
