#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Breaks each rule of comments.py once. Prints TAP."""

import sys
import unittest

sys.dont_write_bytecode = True
import comments
from unit_tap import main


def lines(source):
    return sorted({line for line, _ in comments.faults(source)})


class Comments(unittest.TestCase):
    def test_openings(self):
        for opening in comments.OPENINGS:
            self.assertEqual([2], lines(f"int a;\n/* {opening} the reply is judged by. */\n"), opening)
            self.assertEqual([1], lines(f"int a; // {opening} the reply is judged by.\n"), opening)

    def test_opening_is_a_word(self):
        self.assertEqual([], lines("/* Often there is none. */\n"))

    def test_opening_of_several_lines(self):
        """A sentence of several lines may begin so."""
        self.assertEqual([], lines("/*\n * Where the bit is set,\n * the page is dirty.\n */\n"))

    def test_house_words(self):
        for said in ("the raw page", "RAW PAGES", "an entry of 2 MiB", "entries of 2 MiB", "put it into page tables",
                     "puts the page there into the page table", "is put into its page tables", "hears of it", "hear of the end",
                     "Whoever waits", "somebody", "nobody", "anybody"):
            self.assertEqual([1], lines(f"/* Here {said} is. */\n"), said)

    def test_house_word_over_two_lines(self):
        self.assertEqual([3], lines("\n\n/*\n * This is a raw\n * page.\n */\n"))

    def test_strings(self):
        self.assertEqual([], lines('say("/* What nobody hears of */");\n'))
        self.assertEqual([1], lines('say("\\"/*"); /* What is said. */\n'))

    def test_code(self):
        self.assertEqual([], lines("int nobody = raw_page;\n"))

    def test_plain(self):
        self.assertEqual([], lines("/* Inserts a PTE for the PFN. */\n"))


main("comments")
