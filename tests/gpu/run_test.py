#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which steps tests/gpu/run makes of those that are named, and whether its guest gets a window. Prints TAP."""

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
    """The program, whose name is no module's."""
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
        """A step that needs a guest gets one."""
        self.assertEqual(self.steps("vecadd"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("lend", "smi"), ["env", "host", "boot", "lend", "smi"])
        self.assertEqual(self.steps("--rehearse", "node"), ["env", "host", "boot", "node"])

    def test_no_guest(self):
        """A step that needs none gets none."""
        self.assertEqual(self.steps("lend"), ["lend"])
        self.assertEqual(self.steps("sockets", "lend"), ["sockets", "lend"])
        self.assertEqual(self.steps("env"), ["env"])

    def test_named(self):
        """Those that are named keep their place, and are run once."""
        self.assertEqual(self.steps("env", "host", "boot", "vecadd"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("boot", "vecadd"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("boot"), ["env", "host", "boot"])
        self.assertEqual(self.steps("vecadd", "boot"), ["env", "host", "boot", "vecadd"])
        self.assertEqual(self.steps("host"), ["env", "host"])

    def test_window(self):
        """What the text marks gets a window."""
        self.assertTrue({"cuda", "vecadd", "hunter", "features"} <= RUN.WINDOWED)
        self.assertFalse(RUN.WINDOWED & {"smi", "clinfo", "tools", "lend", "node"})
        self.assertTrue(RUN.WINDOWED <= set(RUN.STEPS))
        self.assertTrue(RUN.parse(["smi", "vecadd"]).window)
        self.assertFalse(RUN.parse(["smi", "clinfo"]).window)
        self.assertFalse(RUN.parse([]).window)
        self.assertTrue(RUN.parse(["--window", "smi"]).window)

    def test_rehearsal(self):
        """Its programs map nothing."""
        self.assertFalse(RUN.parse(["--rehearse", "guests"]).window)
        self.assertTrue(RUN.parse(["--rehearse", "--window", "guests"]).window)


class Seconds(unittest.TestCase):
    """The time that something may take."""

    def test_step(self):
        """No step takes all of the time, and each has its own."""
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
    """What a program of the step others may say."""

    def test_right(self):
        self.assertTrue(RUN.others.as_it_should("plain", "right", "right"))
        self.assertTrue(RUN.others.as_it_should("managed", "right", "right"))

    def test_as_natively(self):
        no = "refused: nvEncOpenEncodeSessionEx: error 2"
        self.assertTrue(RUN.others.as_it_should("nvenc", no, no))
        self.assertFalse(RUN.others.as_it_should("nvenc", no, no + "3"))

    def test_refused_here(self):
        """In the known words alone."""
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
