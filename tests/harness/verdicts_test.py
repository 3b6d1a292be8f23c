#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests how verdicts.py judges the verdicts of two devices, and what kernlog.py finds in a console.
Prints TAP."""

import sys
import unittest

sys.dont_write_bytecode = True
import kernlog
import patience
import suites
import verdicts
from unit_tap import main
from vm import Result


class Given(suites.Suite):
    """A suite with given verdicts: for each test one list of each side."""

    def __init__(self, name="given", **tests):
        super().__init__(name)
        self.tests = tests

    def rows(self):
        rows = [{"suite": self.name, "test": test, "real": real, "forwarded": forwarded}
                for test, (real, forwarded) in self.tests.items()]
        for row in rows:
            row["result"] = verdicts.result_of(self, row, rows)
        return rows


def result(real, forwarded, suite=None):
    return verdicts.result_of(suite or suites.Suite("any"), {"test": "one", "real": real, "forwarded": forwarded}, [])


class Machine:
    """A machine that runs nothing, and counts a given number of calls for each command."""

    def __init__(self, calls):
        self.calls = calls      # number of calls that a command makes, by side
        self.made = 0
        self.renderer = "virgl (AMD)"
        self.time = patience.OwnTime(list)

    def cpu(self):
        return 0

    def must(self, command, limit=30):
        return Result(0, ["/sys/class/vgpu/vgpu0/name:gpu-card", f"/sys/class/vgpu/vgpu0/calls:{self.made}",
                          "/sys/class/vgpu/vgpu0/bytes_out:0", "/sys/class/vgpu/vgpu0/bytes_in:0"])

    def run(self, command, limit=30, show=None):
        if "eglinfo" in command:
            return Result(0, ["OpenGL core profile renderer: " + self.renderer])
        self.made += self.calls["real" if "with-device real" in command else "forwarded"]
        return Result(0, ["said"])


def wrong_of(machine, draws=False):
    return verdicts.of_suite(suites.Commands("one", [("test", "true")], draws=draws), machine)[1]


class Verdicts(unittest.TestCase):
    def test_same(self):
        self.assertEqual(result(["pass"], ["pass"]), "same")
        self.assertEqual(result(["exit 1 abc"], ["exit 1 abc"]), "same")
        self.assertEqual(result(["skip"], ["skip"]), "skipped")

    def test_not_validated_is_no_verdict(self):
        self.assertEqual(result(["Unknown"], ["Unknown"], suites.GLMARK), "skipped")
        self.assertEqual(result(["Unknown"] * 3, ["Success"] * 3, suites.GLMARK), "DIFFERENT")
        self.assertEqual(result(["Success"] * 3, ["Unknown"] * 3, suites.GLMARK), "DIFFERENT")
        self.assertEqual(result(["Failure"], ["Failure"], suites.GLMARK), "same")

    def test_different(self):
        self.assertEqual(result(["pass", "pass", "pass"], ["fail", "pass", "pass"]), "DIFFERENT")
        self.assertEqual(result(["pass"] * 3, ["missing"] * 3), "DIFFERENT")
        self.assertEqual(result(["pass"] * 3, ["skip"] * 3), "DIFFERENT")

    def test_unstable_only_as_the_real_one(self):
        self.assertEqual(result(["pass", "fail", "pass"], ["fail", "pass", "pass"]), "unstable")
        self.assertEqual(result(["pass", "fail", "pass"], ["pass"] * 3), "unstable")
        self.assertEqual(result(["pass", "fail", "pass"], ["crash (139)", "pass", "pass"]), "DIFFERENT")
        self.assertEqual(result(["exit 0 a", "exit 0 b", "exit 0 c"], ["exit 0 d", "exit 0 e", "exit 0 f"]), "DIFFERENT")

    def test_not_started_is_no_verdict(self):
        for verdict in ("missing", "crash (127)", "crash (126)", "exit 127 abc", "exit 126"):
            self.assertEqual(result([verdict], [verdict]), "NOT RUN")
        for verdict in ("crash (139)", "exit 1 abc", "exit 12 abc"):
            self.assertEqual(result([verdict], [verdict]), "same")
        suite = Given(one=(["exit 127 a"], ["exit 127 a"]))
        self.assertEqual(verdicts.judge([(suite, suite.rows())]), ["given: one could not be started"])

    def test_refused(self):
        camera = suites.Video("camera", "video0", 0)
        tests = {"USERPTR (no poll)": ("OK", "OK (Not Supported)"),
                 "USERPTR (no poll) (2)": ("missing", "OK (Not Supported)"),
                 "MMAP (epoll, CREATE_BUFS) (2)": ("missing", "OK"),
                 "MMAP (epoll, CREATE_BUFS) (3)": ("missing", "OK"),
                 "USERPTR (select)": ("OK", "FAIL")}
        rows = [{"test": test, "real": [real] * 3, "forwarded": [forwarded] * 3}
                for test, (real, forwarded) in tests.items()]
        self.assertEqual([verdicts.result_of(camera, row, rows) for row in rows],
                         ["refused", "refused", "refused", "DIFFERENT", "DIFFERENT"])

    def test_skips_are_no_base_of_the_unstable(self):
        few = {f"skipped{n}": (["skip"], ["skip"]) for n in range(200)}
        many = {f"passed{n}": (["pass"], ["pass"]) for n in range(200)}
        unstable = {"odd": (["pass", "fail"], ["pass", "pass"])}
        self.assertTrue(any("unstable" in sentence for sentence in self.judged(few, unstable)))
        self.assertFalse(self.judged(many, unstable))

    def test_skips_are_no_tests_of_piglit(self):
        each = -(-suites.PIGLIT_TESTS // len(suites.PIGLIT_SUITES))
        done = [Given(name, **{f"{name}{n}": (["pass"], ["pass"]) for n in range(each)})
                for name in suites.PIGLIT_SUITES]
        self.assertFalse(verdicts.judge([(suite, suite.rows()) for suite in done]))
        for n in range(each):
            done[0].tests[f"{done[0].name}{n}"] = (["skip"], ["skip"])
        self.assertTrue(verdicts.judge([(suite, suite.rows()) for suite in done]))

    @staticmethod
    def judged(*tests):
        suite = Given(**{name: given for some in tests for name, given in some.items()})
        return verdicts.judge([(suite, suite.rows())])

    def test_floor(self):
        suite = Given(one=(["pass"], ["pass"]), two=(["fail"], ["fail"]))
        suite.floor = 1
        self.assertFalse(verdicts.judge([(suite, suite.rows())]))
        suite.floor = 2
        self.assertTrue(verdicts.judge([(suite, suite.rows())]))


class Used(unittest.TestCase):
    """Checks which device a suite has used."""

    def test_as_it_should_be(self):
        self.assertEqual(wrong_of(Machine({"real": 0, "forwarded": 7}), draws=True), [])

    def test_real_run_calls(self):
        self.assertIn("made 7 calls", wrong_of(Machine({"real": 7, "forwarded": 7}))[0])

    def test_forwarded_run_does_not(self):
        self.assertIn("did not use it", wrong_of(Machine({"real": 0, "forwarded": 0}))[0])

    def test_renderer(self):
        machine = Machine({"real": 0, "forwarded": 7})
        machine.renderer = "llvmpipe (LLVM 19)"
        self.assertEqual(len(wrong_of(machine, draws=True)), 2)
        # The renderer is checked only if draws is set, so suites with another renderer must set it.
        self.assertTrue(all(suite.draws for suite in suites.SUITES if suite.renderer != suites.Suite.renderer))

    def test_time(self):
        machine = Machine({"real": 0, "forwarded": 7})
        verdicts.LIMIT, limit = 0, verdicts.LIMIT
        try:
            self.assertIn("takes longer", wrong_of(machine)[0])
        finally:
            verdicts.LIMIT = limit


class Kernlog(unittest.TestCase):
    def test_late_vblank_of_vkms(self):
        line = "[ 1.5] WARNING: CPU: 0 PID: 9 at drivers/gpu/drm/vkms/vkms_crtc.c:104 {}+0x152/0x1b0 [{}]"
        self.assertEqual(kernlog.reports(line.format("vkms_get_vblank_timestamp", "vkms")), [])
        self.assertEqual(len(kernlog.reports(line.format("vkms_enable_vblank", "vkms"))), 1)
        self.assertEqual(len(kernlog.reports(line.format("vgpu_poll", "vgpu_guest"))), 1)


if __name__ == "__main__":
    verdicts.say = lambda text: None
    main("verdicts")
