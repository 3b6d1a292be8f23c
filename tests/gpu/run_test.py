#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests tests/gpu/run: the steps that run for the named ones, the guest's window, time limits, and
verdicts of the step others. Prints TAP."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "harness")]
from unit_tap import main    # pylint: disable=wrong-import-position


def load():
    """Loads the program as a module: its name has no .py, so it cannot be imported."""
    loader = importlib.machinery.SourceFileLoader("gpu_run", os.path.join(HERE, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


RUN = load()


class Parse(unittest.TestCase):
    def steps(self, *words):
        return RUN.parse(words).steps

    def test_defaults(self):
        self.assertEqual(self.steps(), ["env", "host", "boot", "smi", "clinfo"])
        self.assertEqual(self.steps("--rehearse"), ["env", "host", "boot", "node", "sockets", "guests", "deaths"])

    def test_guest_first(self):
        """The steps that start a guest run before a step that needs a guest."""
        self.assertEqual(self.steps("vecadd"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("lend", "smi"), ["env", "host", "boot", "lend", "smi"])
        self.assertEqual(self.steps("--rehearse", "node"), ["env", "host", "boot", "node"])

    def test_no_guest(self):
        """No guest is started for a step that needs none."""
        self.assertEqual(self.steps("lend"), ["lend"])
        self.assertEqual(self.steps("sockets", "lend"), ["sockets", "lend"])
        self.assertEqual(self.steps("env"), ["env"])

    def test_named(self):
        """The first steps run once, in their order, also if they are named."""
        self.assertEqual(self.steps("env", "host", "boot", "vecadd"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("boot", "vecadd"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("boot"), ["env", "host", "boot"])
        self.assertEqual(self.steps("vecadd", "boot"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("host"), ["env", "host"])

    def test_window(self):
        """The guest gets a window if a named step is marked with *."""
        self.assertTrue({"cuda", "vecadd", "hunter", "features"} <= RUN.WINDOWED)
        self.assertFalse(RUN.WINDOWED & {"smi", "clinfo", "tools", "lend", "node"})
        self.assertTrue(RUN.WINDOWED <= set(RUN.STEPS))
        self.assertTrue(RUN.parse(["smi", "vecadd"]).window)
        self.assertFalse(RUN.parse(["smi", "clinfo"]).window)
        self.assertFalse(RUN.parse([]).window)
        self.assertTrue(RUN.parse(["--window", "smi"]).window)

    def test_rehearsal(self):
        """A rehearsal's guest gets no window by default, because its programs map nothing."""
        self.assertFalse(RUN.parse(["--rehearse", "guests"]).window)
        self.assertTrue(RUN.parse(["--rehearse", "--window", "guests"]).window)


class Seconds(unittest.TestCase):
    """Time limits."""

    def test_step(self):
        """Each step has a time limit of its own, and the run has one for all steps."""
        run = RUN.Steps(RUN.parse(["--within", "2000", "env"]))
        try:
            run.begin_step("env")
            self.assertLessEqual(run.left(3600), 470)
            self.assertEqual(run.left(60), 60)
            run.step_end -= 400
            self.assertLessEqual(run.left(3600), 70)
            run.begin_step("host")
            self.assertGreater(run.left(3600), 460)
            run.finish -= 1900
            self.assertLessEqual(run.left(3600), 100)
        finally:
            os.rmdir(run.work)


class Others(unittest.TestCase):
    """Verdicts that programs of the step others may give."""

    def test_right(self):
        self.assertTrue(RUN.others.as_it_should("plain", "right", "right"))
        self.assertTrue(RUN.others.as_it_should("managed", "right", "right"))

    def test_as_natively(self):
        no = "refused: nvEncOpenEncodeSessionEx: error 2"
        self.assertTrue(RUN.others.as_it_should("nvenc", no, no))
        self.assertFalse(RUN.others.as_it_should("nvenc", no, no + "3"))

    def test_refused_here(self):
        """A guest's program may be refused only with the known error."""
        managed, uvm = RUN.others.REFUSED["managed"], RUN.others.REFUSED["uvm"]
        self.assertTrue(RUN.others.as_it_should("managed", "right", managed))
        self.assertTrue(RUN.others.as_it_should("uvm", "right", "refused: mmap: errno 95"))
        self.assertFalse(RUN.others.as_it_should("managed", "right", managed.replace("NotSupported", "Unknown")))
        self.assertFalse(RUN.others.as_it_should("ipc", "right", managed))
        self.assertFalse(RUN.others.as_it_should("uvm", "right", uvm.replace("95", "12")))

    def test_neither(self):
        for words in ("wrong: a signal", "no end", "status 1: no device"):
            self.assertFalse(RUN.others.as_it_should("plain", words, words))


if __name__ == "__main__":
    main("gpu-run")
