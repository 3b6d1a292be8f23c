#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Breaks each rule of documents.py once. Prints TAP."""

import sys
import unittest

sys.dont_write_bytecode = True
import documents
from unit_tap import main

LONG = "word " * 20
HEADING = ["``drivers/guest``", "=================", ""]


class Documents(unittest.TestCase):
    def test_long_text(self):
        self.assertEqual([2], documents.long_lines(["short", LONG]))
        self.assertEqual([1, 3], documents.long_lines(["* " + LONG, "", "  " + LONG]))

    def test_long_literal(self):
        """Lines of a literal block may be long, those behind it may not."""
        self.assertEqual([5], documents.long_lines(["So::", "", "  " + LONG, "", LONG]))

    def test_long_table(self):
        self.assertEqual([2], documents.long_lines(["==== ====", LONG, "==== ===="]))

    def test_long_word(self):
        self.assertEqual([], documents.long_lines(["w" * 90]))

    def test_paths(self):
        files = {"drivers/guest/a.c", "tests/tools/b.c"}
        self.assertEqual([], documents.missing_paths(
            ["``drivers/guest/a.c``, ``drivers/guest``, ``drivers/guest/``, ``tests/tools/b``, ``tests/t_*.c``"], files))
        self.assertEqual([(2, "drivers/host/a.c")], documents.missing_paths(["", "In ``drivers/host/a.c``"], files))

    def test_cases(self):
        tests = {"mock_a": "DIFF_TEST(seek)\nTEST(one)\nTEST_F_TIMEOUT(fixture, two, 60)\n",
                 "system_a.sh": 'check "$engine: no network" true\ncheck "opens $file" true\n'}

        def missing(text):
            return documents.missing_cases(text, tests, ["ordeal_a"])
        self.assertEqual([], missing("``mock_a: seek``, ``mock_a: one``, ``mock_a:\n  two``, ``mock_a``, ``other: word``"))
        self.assertEqual([], missing("``system_a.sh: no\n  network``, ``system_a.sh: opens``, ``ordeal_a``"))
        self.assertEqual(["mock_a: fixture", "mock_a: three"], missing("``mock_a: fixture``, ``mock_a: three``"))
        self.assertEqual(["mock_b: one", "system_a.sh: network"], missing("``mock_b: one``, ``system_a.sh: network``"))
        self.assertEqual(["ordeal_b"], missing("``ordeal_b``"))

    def test_headers(self):
        headers = {"a.h": '#include "b.h"\n#include "a.h"\n', "b.h": "TEST(shared)\n", "c.h": "TEST(other)\n"}
        text = documents.with_headers('#include <c.h>\n#include "a.h"\n#include "d.h"\nTEST(own)\n', headers)
        self.assertEqual({"own", "shared"}, documents.cases("mock_a", text))

    def test_map(self):
        files = {"drivers/guest/a.c", "drivers/guest/b.S", "drivers/guest/a.h", "tests/c.c"}
        entries = ["* ``a.c``: a", "* ``b.S``: b"]
        self.assertEqual([], documents.map_mistakes(HEADING + entries, files))
        self.assertEqual(["drivers/guest/b.S is missing"], documents.map_mistakes(HEADING + entries[:1], files))
        self.assertEqual(["drivers/guest/a.c is missing"], documents.map_mistakes(HEADING + ["* ``a.c``:", entries[1]], files))
        self.assertEqual(["drivers/guest/c.c is not there"], documents.map_mistakes(HEADING + entries + ["* ``c.c``: c"], files))
        self.assertEqual(["drivers/guest/a.c is named twice"], documents.map_mistakes(HEADING + entries + entries[:1], files))


main("documents")
