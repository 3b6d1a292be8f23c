# SPDX-License-Identifier: GPL-2.0-only
"""Runs the harness's own unit tests, and prints one line of TAP for each."""

import ctypes
import sys
import unittest


class _Result(unittest.TextTestResult):
    name = ""

    def stopTest(self, test):
        super().stopTest(test)
        # A part of a test (subTest) has the test as its test_case.
        bad = any(getattr(failed, "test_case", failed) is test for failed, _ in self.failures + self.errors)
        print(f"{'not ok' if bad else 'ok'} {self.testsRun} - {self.name}: {test.id().partition('.')[2]}", flush=True)


def no_new_privileges():
    """Sets no_new_privs, as vgpud does for the programs that it starts for a guest. These programs
    need it to add seccomp filters."""
    if ctypes.CDLL(None).prctl(38, 1, 0, 0, 0):
        raise OSError("PR_SET_NO_NEW_PRIVS")


def main(name):
    """Runs the tests of the main program, and exits. name: prefix of the tests' names"""
    _Result.name = name
    sys.exit(not unittest.TextTestRunner(resultclass=_Result, verbosity=0).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])).wasSuccessful())
