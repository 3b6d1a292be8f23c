#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is made of time (patience.py). Prints TAP."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
import patience
from unit_tap import main


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
        self.spend(30 * patience.WIDE, waiting=1)
        self.assertLessEqual(deadline.left(), 0)

    def test_what_this_machine_says(self):
        computed, waited = patience.look([os.getsid(0)])
        self.assertGreater(computed[os.getsid(0)], 0)
        if os.path.exists("/proc/self/schedstat"):
            self.assertIn(str(os.getpid()), waited)


if __name__ == "__main__":
    main("again")
