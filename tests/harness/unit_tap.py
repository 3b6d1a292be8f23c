# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the harness itself: one line of TAP each."""

import ctypes
import sys
import unittest


class _Result(unittest.TextTestResult):
    name = ""

    def stopTest(self, test):
        super().stopTest(test)
        bad = any(failed is test for failed, _ in self.failures + self.errors)
        print(f"{'not ok' if bad else 'ok'} {self.testsRun} - {self.name}: {test.id().partition('.')[2]}", flush=True)


def no_new_privileges():
    """The process gets no privileges by exec: so vgpud starts programs of guests, which may add a filter by it."""
    if ctypes.CDLL(None).prctl(38, 1, 0, 0, 0):
        raise OSError("PR_SET_NO_NEW_PRIVS")


def main(name):
    """Runs those of the program; never returns."""
    _Result.name = name
    sys.exit(not unittest.TextTestRunner(resultclass=_Result, verbosity=0).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])).wasSuccessful())
