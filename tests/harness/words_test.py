#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that vgpuctl's manual matches its counters, exit statuses and options. Prints TAP."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "userspace-lib")


def read(name):
    with open(os.path.join(LIB, name), encoding="utf-8") as file:
        return file.read()


class Words(unittest.TestCase):
    def setUp(self):
        self.manual = read("man/vgpuctl.1")

    def test_counters(self):
        """Each counter has an entry in the manual's section COUNTERS, which has no others."""
        shown = set(re.findall(r"(?:COUNTER|BYTES)\(vgpu_\w+, (\w+)\)", read("libvgpu/counter.c")))
        section = self.manual.partition(".Sh COUNTERS")[2].partition(".Sh ")[0]
        explained = {name for line in re.findall(r"^\.It (Sy .*)$", section, re.M) for name in re.findall(r"[a-z_]{3,}", line)}
        self.assertGreater(len(shown), 25)
        self.assertEqual(shown, explained)

    def test_statuses(self):
        """Each exit status has an entry in the manual, with its name in JSON."""
        names = dict(re.findall(r"\[(EXIT_\w+)\] = \"([a-z-]+)\"", read("vgpuctl/error.c")))
        numbers = dict(re.findall(r"(EXIT_\w+) = (\d+),", read("vgpuctl/vgpuctl.h")))
        self.assertEqual(set(names), set(numbers))
        explained = dict(re.findall(r"^\.It (\d+) Pq Li (\S+)$", self.manual, re.M))
        self.assertEqual({numbers[key]: names[key] for key in names}, explained)

    def test_options(self):
        """Each option is in the manual."""
        options = re.findall(r"\[OPT_\w+\] = \{ \"([a-z-]+)\"", read("vgpuctl/main.c"))
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertRegex(self.manual, rf" -{option}\b")


if __name__ == "__main__":
    main("words")
