#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests how the harness judges failures (again.py, tap.py, added.py), counts time (patience.py) and
reads a kernel's version (payload.py). Prints TAP."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
import added
import again
import bed
import ordeals
import patience
import payload
import tap
from unit_tap import main
from vm import NoAnswer, NotBooted, VmDied

OLD = added.Added()


def parsed(status, *lines):
    return tap.parse("mock_one", status, ["TAP version 13", "1..2", *lines])


def red(*more, status=1):
    """Returns the tally of a program with two cases, one of which fails."""
    return parsed(status, *more, "ok 1 one.good", "not ok 2 one.bad")


def green():
    return parsed(0, "ok 1 one.good", "ok 2 one.bad")


def why_not(tally, test="mock_one", new=OLD):
    return again.why_not(test, tally, lambda: new)


class Again(unittest.TestCase):
    def test_plain_failure_is_run_again(self):
        self.assertIsNone(why_not(red("# one.c:9: Expected 200 (200) <= answers (182)")))

    def test_crash_is_not(self):
        self.assertEqual(why_not(red(status=139)), "a crash")
        self.assertEqual(why_not(red("# one.bad: Test terminated unexpectedly by signal 11")), "a crash")
        self.assertEqual(why_not(red("#   died of signal 7")), "a crash")
        self.assertEqual(why_not(red("# ./one.sh: line 3:   12 Segmentation fault      vgpuctl")), "a crash")

    def test_hang_is_not(self):
        self.assertEqual(why_not(red(status=124)), "a hang")
        self.assertEqual(why_not(red(status=137)), "a hang")

    def test_own_clock_of_a_test(self):
        for line in ("# one.bad: Test terminated by timeout", "#   no end after 40 s"):
            for own, reason in ((30, None), (90, "a hang")):
                tally = red(line)
                again.note_hang(tally, 100, own)
                self.assertEqual(why_not(tally), reason)
        tally = red()
        again.note_hang(tally, 100, 100)
        self.assertIsNone(why_not(tally))

    def test_sanitizer_is_not(self):
        self.assertEqual(why_not(red("==7==ERROR: AddressSanitizer: heap-use-after-free")), "a sanitizer's report")
        self.assertEqual(why_not(red("one.c:3:5: runtime error: signed integer overflow")), "a sanitizer's report")

    def test_leak_is_not(self):
        self.assertEqual(why_not(red("# unreferenced object 0xffff888 (size 64):")), "a leak")
        self.assertEqual(ordeals.Leak.final, "a leak")
        self.assertIsNone(ordeals.Failure.final)
        self.assertTrue(ordeals.Mixed.final)

    def test_what_the_harness_says_is_not(self):
        for final in ("a machine was lost", "a report of the kernel"):
            tally = green()
            tally.fail("mock_one: something", final)
            self.assertEqual(why_not(tally), final)

    def test_hostile_is_not(self):
        for test in ("hostile_call", "hostile_card", "fuzz_call"):
            self.assertTrue(why_not(red(), test))
        self.assertIsNone(why_not(red(), "mock_hostile"))

    def test_what_passed_says_nothing(self):
        self.assertEqual(parsed(0, "# died of signal 9", "ok 1 a", "ok 2 b").final, [])

    def test_green_twice_is_unstable(self):
        tally = again.judge("mock_one", red(), [green(), green()])
        self.assertEqual((len(tally.passed), tally.failed, len(tally.unstable)), (2, [], 1))
        self.assertIn("one.bad", tally.unstable[0])

    def test_red_again_is_red(self):
        for runs in ([red()], [green(), red()]):
            tally = again.judge("mock_one", red(), runs)
            self.assertEqual((tally.failed, tally.unstable), (["mock_one: one.bad"], []))

    def test_another_failure_is_named_too(self):
        other = parsed(1, "not ok 1 one.good", "ok 2 one.bad")
        self.assertEqual(again.judge("mock_one", red(), [other]).failed, ["mock_one: one.bad", "mock_one: one.good"])

    def test_green_once_is_not_enough(self):
        self.assertTrue(again.judge("mock_one", red(), [green()]).failed)

    def test_three_are_allowed(self):
        self.assertEqual(again.too_many(["a", "b", "c"]), [])
        self.assertEqual(len(again.too_many(["a", "b", "c", "d"])), 1)

    def test_frequency(self):
        self.assertEqual(again.frequency("a", [[], ["a: x"], ["a: x", "a: y"]]), "a: failed 2 of 3 times; 2 x x; 1 x y")
        self.assertEqual(again.frequency("a", [[], []]), "a: failed 0 of 2 times")


class Machines:
    """A bed whose boot fails with each of the given errors, and then works."""

    def __init__(self, *errors, reports=(), killed=False):
        self.errors = list(errors)
        self.killed = killed
        self.ups = self.downs = 0
        self.reports = lambda: list(reports)

    def up(self):
        self.ups += 1
        if self.errors:
            raise self.errors.pop(0)

    def down(self):
        self.downs += 1


class Boot(unittest.TestCase):
    def boot(self, machines, error=None):
        """Boots machines. Returns again.boot()'s sentences, or checks that it raises an error. Each
        error of the machines must be reported."""
        told = []
        errors = list(machines.errors)
        if error:
            with self.assertRaises(error):
                again.boot(machines, told.append)
        else:
            sentences = again.boot(machines, told.append)
        self.assertEqual(told, errors[:machines.ups])
        return None if error else sentences

    def test_at_once(self):
        self.assertEqual(self.boot(Machines()), [])

    def test_silent_end_is_tried_again(self):
        machines = Machines(NotBooted("gone, status 0"))
        self.assertEqual(self.boot(machines), ["boot: failed (gone, status 0), then passed"])
        self.assertEqual((machines.ups, machines.downs), (2, 1))

    def test_not_for_ever(self):
        machines = Machines(*[NotBooted("gone")] * 4)
        self.boot(machines, NotBooted)
        self.assertEqual(machines.ups, 1 + again.RUNS)

    def test_what_ours_did_is_not(self):
        self.boot(Machines(VmDied("insmod failed")), VmDied)

    def test_kernel_report_is_not(self):
        self.boot(Machines(NotBooted("gone"), reports=["guest: BUG: it"]), NotBooted)

    def test_interrupted_is_not(self):
        self.boot(Machines(NotBooted("gone"), killed=True), NotBooted)

    def raised(self, error):
        """Returns the type of error that a bed raises if its machines fail to boot with an
        error."""
        machines = bed.Bed("loopback:6.12", "/nonexistent", None)
        machines.boot = Machines(error).up
        with self.assertRaises(VmDied) as raised:
            machines.up()
        return type(raised.exception)

    def test_bed_tells_an_end_from_a_hang(self):
        self.assertIs(self.raised(VmDied("gone")), NotBooted)
        self.assertIs(self.raised(NoAnswer("no answer")), NoAnswer)


class Turns(unittest.TestCase):
    """Runs beside others and runs alone."""

    def setUp(self):
        self.turns = again.Turns()
        self.log = []

    def start(self, name, turn, until):
        begun = threading.Event()

        def work():
            with turn():
                self.log.append(name)
                begun.set()
                until.wait(10)
                self.log.append(name + " ends")
        thread = threading.Thread(target=work)
        thread.start()
        return thread, begun

    def test_alone(self):
        first, second = threading.Event(), threading.Event()
        one, begun = self.start("one", self.turns.beside, first)
        begun.wait(10)
        two, begun = self.start("two", self.turns.beside, first)
        begun.wait(10)
        self.assertEqual(self.log, ["one", "two"])
        alone, begun = self.start("alone", self.turns.alone, second)
        while not self.turns.waiting:
            pass
        three, _ = self.start("three", self.turns.beside, first)
        self.assertFalse(begun.wait(0.1))
        first.set()
        self.assertTrue(begun.wait(10))
        self.assertEqual(sorted(self.log[2:4]), ["one ends", "two ends"])
        self.assertEqual(self.log[4:], ["alone"])
        second.set()
        for thread in (one, two, alone, three):
            thread.join(10)
        self.assertEqual(self.log[5:], ["alone ends", "three", "three ends"])

    def test_one_alone_at_a_time(self):
        first, second = threading.Event(), threading.Event()
        one, begun = self.start("one", self.turns.alone, first)
        begun.wait(10)
        two, begun = self.start("two", self.turns.alone, second)
        self.assertFalse(begun.wait(0.1))
        first.set()
        second.set()
        one.join(10)
        two.join(10)
        self.assertEqual(self.log, ["one", "one ends", "two", "two ends"])

    def test_interrupted(self):
        until = threading.Event()
        one, begun = self.start("one", self.turns.beside, until)
        begun.wait(10)
        threading.Timer(0.05, self.turns.end).start()
        with self.assertRaises(again.VmDied):
            with self.turns.alone():
                self.log.append("alone")
        self.assertEqual(self.log, ["one"])
        until.set()
        one.join(10)
        self.assertEqual(self.log, ["one", "one ends"])


class Added(unittest.TestCase):
    DIFF = """--- a/tests/selftests/mock_poll.c
+++ b/tests/selftests/mock_poll.c
+DIFF_TEST(fresh)
+TEST_F_TIMEOUT(poll, late, 60)
+COHERENT(wc, VGPU_MOCK_BUF_WC)
+FIXTURE(poll)
+TEST_F(poll, moved)
-TEST_F(poll, moved)
-DIFF_TEST(gone)
 DIFF_TEST(old)
+	check "the node is there" true
+           "ordeal_fire": fire,
"""

    def why(self, *failed, test="mock_poll", new=None):
        return (new or added.Added(["tests/selftests/mock_new.c", "tests/selftests/tool.sh"], self.DIFF)).why(test, failed)

    def test_new_program(self):
        self.assertTrue(self.why("mock_new: any", test="mock_new"))
        self.assertTrue(self.why("tool.sh: any", test="tool.sh"))

    def test_new_case(self):
        for case in ("same.fresh", "same.fresh_undescribed", "poll.late", "poll.device_writes_wc", "the node is there"):
            self.assertTrue(self.why("mock_poll: same.old", f"mock_poll: {case}"), case)

    def test_old_case(self):
        for case in ("same.old", "poll.moved", "same.gone", "same.late_comer", "exit status 1"):
            self.assertIsNone(self.why(f"mock_poll: {case}"), case)

    def test_new_ordeal(self):
        self.assertTrue(self.why("ordeal_fire: it burns", test="ordeal_fire"))
        self.assertIsNone(self.why("ordeal_cut: no", test="ordeal_cut"))

    def test_unknown(self):
        self.assertTrue(self.why("mock_poll: same.old", new=added.Added(unknown="nobody knows")))

    def test_is_used(self):
        self.assertTrue(why_not(red(), new=added.Added(diff="+TEST_F(one, bad)")))
        self.assertIsNone(why_not(red(), new=added.Added(diff="+TEST_F(one, other)")))


class Clone(unittest.TestCase):
    """The tests that a clone shows as added. It has commits a, b, c, with one test each."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()      # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.top = os.path.join(folder.name, "one")
        self.environ = dict(os.environ)
        os.environ.pop("VGPU_BASE", None)
        self.addCleanup(os.environ.update, self.environ)
        self.addCleanup(os.environ.clear)
        subprocess.run(["git", "init", "-q", self.top], check=True)
        os.makedirs(os.path.join(self.top, "tests/selftests"))
        for name, hours in (("a", 0), ("b", 30), ("c", 40)):
            self.write(name)
            self.git("add", ".")
            date = f"{1700000000 + hours * 3600} +0000"
            os.environ.update(GIT_COMMITTER_DATE=date, GIT_AUTHOR_DATE=date)
            self.git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", name)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.top, *arguments], check=True)

    def write(self, name):
        with open(os.path.join(self.top, f"tests/selftests/mock_{name}.c"), "w", encoding="ascii") as file:
            file.write(f"TEST(case_{name}) of a program of its own, {name * 99}\n")

    def new(self, top=None):
        return sorted(name for name in added.find(top or self.top).programs if not name.endswith(".c"))

    def test_of_the_last_day(self):
        self.assertEqual(self.new(), ["mock_b", "mock_c"])

    def test_since_a_base(self):
        os.environ["VGPU_BASE"] = "HEAD~1"
        self.assertEqual(self.new(), ["mock_c"])
        os.environ["VGPU_BASE"] = "no such commit"
        self.assertTrue(added.find(self.top).unknown)

    def test_not_committed(self):
        self.write("d")
        self.assertIn("mock_d", self.new())
        with open(os.path.join(self.top, "tests/selftests/mock_a.c"), "a", encoding="ascii") as file:
            file.write("TEST(more)\n")
        self.assertIn("more", added.find(self.top).cases)

    def test_shallow(self):
        for depth, new in (("1", None), ("3", ["mock_b", "mock_c"])):
            top = self.top + depth
            subprocess.run(["git", "clone", "-q", "--depth", depth, "file://" + self.top, top], check=True)
            if new:
                self.assertEqual(self.new(top), new)
            else:
                self.assertTrue(added.find(top).unknown)

    def test_young(self):
        self.git("checkout", "-q", "HEAD~2")
        self.assertEqual(self.new(), ["mock_a"])

    def test_no_clone(self):
        os.rename(os.path.join(self.top, ".git"), os.path.join(self.top, "git"))
        self.assertEqual(vars(added.find(self.top)), vars(OLD))


class Time(unittest.TestCase):
    def setUp(self):
        self.wall = 0
        self.computed = {1: 0}
        self.waited = {"1": 0}
        self.clock = patience.OwnTime(lambda: list(self.computed),
                                      lambda sessions: (dict(self.computed), dict(self.waited)), lambda: self.wall)

    def spend(self, seconds, computing=0, waiting=0):
        for _ in range(seconds):
            self.wall += 1
            self.computed[1] += computing
            self.waited["1"] += waiting
            self.clock.now()
        return self.clock.now()

    def test_idle_counts(self):
        self.assertEqual(self.spend(100), 100)

    def test_computing_counts(self):
        self.assertEqual(self.spend(100, computing=1), 100)

    def test_waiting_does_not(self):
        self.assertAlmostEqual(self.spend(100, computing=0.1, waiting=0.9), 10)
        self.assertAlmostEqual(self.spend(100, waiting=1), 10)

    def test_several_wait_at_once(self):
        self.waited["2"] = 0
        for _ in range(100):
            self.waited["2"] += 0.8
            self.spend(1, computing=0.2, waiting=0.8)
        self.assertAlmostEqual(self.clock.now(), 20)

    def test_never_faster_than_time(self):
        self.assertEqual(self.spend(100, computing=2), 100)

    def test_others_come_and_go(self):
        self.spend(10, computing=1)
        self.computed = {2: 5}
        self.waited = {}
        self.wall += 5
        self.assertEqual(self.clock.now(), 15)

    def test_exactly(self):
        self.wall += 0.5
        self.assertEqual(self.clock.now(), 0)
        self.assertEqual(self.clock.now(exactly=True), 0.5)

    def test_hang_ends_in_its_limit(self):
        deadline = patience.Deadline(self.clock, 30)
        self.spend(29)
        self.assertGreater(deadline.left(), 0)
        self.spend(1)
        self.assertLessEqual(deadline.left(), 0)

    def test_who_gets_no_processor_waits(self):
        deadline = patience.Deadline(self.clock, 30)
        self.spend(200, computing=0.1, waiting=0.9)
        self.assertGreater(deadline.left(), 0)

    def test_not_for_ever(self):
        deadline = patience.Deadline(self.clock, 30)
        self.spend(300, waiting=1)
        self.assertLessEqual(deadline.left(), 0)

    def test_what_this_machine_says(self):
        computed, waited = patience.look([os.getsid(0)])
        self.assertGreater(computed[os.getsid(0)], 0)
        if os.path.exists("/proc/self/schedstat"):
            self.assertIn(str(os.getpid()), waited)


class Version(unittest.TestCase):
    IMAGE = b"\0" * 0x20e + (0x100).to_bytes(2, "little") + b"\0" * 0xf0 + \
            b"7.2.12+deb14-amd64 (x@y) #1 SMP PREEMPT_DYNAMIC Debian 7.2.12-1 (2026-10-22)\0more"

    def test_package(self):
        self.assertEqual(payload.exact_version("7", "7.2.12+deb14-amd64", self.IMAGE), "7.2.12-1 (Debian forky)")

    def test_no_package(self):
        self.assertEqual(payload.exact_version("debug", "6.12.117", b"\0" * 0x400),
                         "6.12.117 (built from the source of Debian trixie)")
        self.assertEqual(payload.exact_version("6.1", "6.1.0-50-amd64", b"\0" * 0x400),
                         "6.1.0-50-amd64 (Debian bookworm)")


if __name__ == "__main__":
    main("again")
