# SPDX-License-Identifier: Apache-2.0
"""The tutorial's code does what the page says, and the notebook is the same."""
import os
import shutil
import unittest
import warnings

import documents
import ttprem
from cases import TUTORIAL


class Documents(unittest.TestCase):
    def setUp(self):
        shutil.rmtree("tutorial", ignore_errors=True)
        shutil.copytree(TUTORIAL, "tutorial")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir("tutorial")

    def run_or_skip(self, code, name, names):
        with warnings.catch_warnings():  # a busy machine marks its profile invalid
            warnings.simplefilter("ignore", ttprem.ScheduleWarning)
            try:
                return documents.run(code, name, names)
            except ttprem.UnavailableError as error:
                self.skipTest(f"{name}: {error}")

    def test_tutorial(self):
        names, count = {"__name__": "tutorial"}, 0
        for line, code, wanted in documents.blocks(documents.read(documents.PAGE)):
            printed = self.run_or_skip(code, f"docs/tutorial-python.md:{line}", names)
            if not documents.fits(wanted, printed):
                self.fail(f"docs/tutorial-python.md:{line} prints\n{printed}and not\n{wanted}")
            count += 1
        self.assertGreater(count, 8)

    def test_notebook_is_the_page(self):
        wanted = documents.notebook(documents.read(documents.PAGE))
        self.assertEqual(
            documents.read(documents.NOTEBOOK), wanted, "write it: tests/python/documents.py write"
        )

    def test_notebook_runs(self):
        names = {"__name__": "__main__"}
        for number, code in enumerate(documents.cells_of(documents.NOTEBOOK)):
            self.run_or_skip(code, f"python/tutorial.ipynb, cell {number + 1}", names)
