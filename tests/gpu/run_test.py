#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests tests/gpu/run: the steps that run for the named ones, the guest's window, time limits,
verdicts of the step others, and what the step tenants counts. Prints TAP."""

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


    def test_tenants(self):
        """The step tenants has as much time as its minutes need, and guests with few processors."""
        options = RUN.parse(["--minutes", "18", "tenants"])
        self.assertGreater(options.within, 18 * 60 + 500)
        self.assertLessEqual(options.cpus, max(1, (os.cpu_count() or 1) // 4))
        self.assertTrue(options.window)
        self.assertEqual(RUN.parse(["--within", "100", "--cpus", "2", "tenants"]).within, 100)
        self.assertEqual(RUN.parse(["--cpus", "2", "tenants"]).cpus, 2)
        self.assertEqual(RUN.parse(["vecadd"]).within, 540)


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


    def test_longer(self):
        """A step may have a longer limit of its own."""
        run = RUN.Steps(RUN.parse(["--within", "2000", "env"]))
        try:
            run.begin_step("tenants", 1500)
            self.assertGreater(run.left(3600), 1400)
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


def marked(**changes):
    """Returns what a host has in use, with changes."""
    mark = {"kib": {"vgpud": 1000, "kernel": 100000}, "vgpud_files": 50, "card_mib": 600,
            "guests": {"3": {"processes": 4, "files": 90, "programs": 1}, "4": {"processes": 2, "files": 20, "programs": 0}}}
    mark.update(changes)
    return mark


class Tenants(unittest.TestCase):
    """Figures of the step tenants."""

    def test_meminfo(self):
        text = ("MemTotal:       1000 kB\nMemFree:  100 kB\nMemAvailable:  300 kB\nSUnreclaim: 20 kB\nKernelStack: 3 kB\n"
                "PageTables: 4 kB\nHugePages_Total:       0\n")
        self.assertEqual(RUN.tenants.meminfo(text), {"available": 300, "used": 700, "kernel": 27})

    def test_samples(self):
        """A line that is not whole does not count."""
        self.assertEqual(RUN.tenants.samples("1.5 2000 300 40 0\n2.5 20"), [[1.5, 2000, 300, 40, 0]])
        self.assertEqual(RUN.tenants.samples(""), [])

    def test_percentile(self):
        values = list(range(100, 0, -1))
        self.assertEqual([RUN.tenants.percentile(values, percent) for percent in (0, 50, 99, 100)], [1, 50, 99, 100])
        self.assertEqual(RUN.tenants.percentile([7], 99), 7)
        self.assertEqual(RUN.tenants.percentile([], 50), 0)

    def test_ratios(self):
        alone = RUN.tenants.latencies([[1, 2000, 300, 40, 0]] * 3)
        beside = RUN.tenants.latencies([[1, 4000, 300, 40, 0]] * 2 + [[1, 10000, 600, 0, 0]])
        self.assertEqual((alone["periods"], beside["periods"]), (3, 3))
        self.assertEqual(beside["work"], {"p50": 4.0, "p99": 4.0, "max": 10.0})
        self.assertEqual(RUN.tenants.ratios(alone, beside)["work"], {"p50": 2.0, "p99": 2.0})
        self.assertEqual(RUN.tenants.ratios(RUN.tenants.latencies([]), beside)["open"], {"p50": 0, "p99": 0})

    def test_grown(self):
        grown, limits = RUN.tenants.grown, {"vgpud": 500, "kernel": 2000}
        self.assertEqual(grown(marked(), marked(), limits), [])
        self.assertEqual(grown(marked(), marked(kib={"vgpud": 1500, "kernel": 102000}), limits), [])
        self.assertEqual(grown(marked(), marked(kib={"vgpud": 1501, "kernel": 0}), limits),
                         ["memory of vgpud has grown by 501 KiB"])
        self.assertEqual(grown(marked(), marked(kib={"vgpud": 0, "kernel": 900000}), {"vgpud": 500}), [])
        self.assertEqual(grown(marked(), marked(vgpud_files=51), limits), ["vgpud has 51 files, and had 50"])
        self.assertEqual(len(grown(marked(), marked(card_mib=5000), limits)), 1)

    def test_grown_guest(self):
        """A guest that has ended has nothing; one that runs has no more than before."""
        more = marked()
        more["guests"]["4"]["programs"] = 1
        self.assertEqual(RUN.tenants.grown(marked(), more, {}), ["guest 4 has 1 programs, and had 0"])
        # An engine keeps a file that it opens when it first needs it.
        more["guests"]["4"].update(programs=0, files=21)
        self.assertEqual(RUN.tenants.grown(marked(), more, {}), [])
        more["guests"]["4"]["files"] = 22
        self.assertEqual(RUN.tenants.grown(marked(), more, {}), ["guest 4 has 22 files, and had 20"])
        del more["guests"]["4"]
        self.assertEqual(RUN.tenants.grown(marked(), more, {}), [])


if __name__ == "__main__":
    main("gpu-run")
