# SPDX-License-Identifier: GPL-2.0-only
"""Finds the tests that a change adds.

The change is all that came after the commit VGPU_BASE, including what is not committed. If
VGPU_BASE is not set, the base is the newest commit that is at least a day older than the
checked out one, because a clone does not tell on which commit the change will land. A test
is a program of tests/selftests, or a case of one, or an ordeal.
"""

import os
import re
import subprocess

DAY = 24 * 3600
TESTS = "tests/selftests"
WHERE = (TESTS, "tests/harness/ordeals.py")
# Git's hash of the empty tree.
NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
# Patterns of TEST(case), TEST_F(fixture, case) and DIFF_TEST(case), and of a test's own
# MACRO(part of a name, ...).
CASE = re.compile(r"^(?:TEST_F\w*\(\w+,|(?:TEST|TEST_SIGNAL|DIFF_TEST\w*)\()\s*(\w+)")
PART = re.compile(r"^(?!FIXTURE|TEST_HARNESS_MAIN)[A-Z][A-Z0-9_]*\((\w+)")
# Pattern of lines in which shell scripts name their cases.
SHELL = re.compile(r'\b(?:check|skip|result \S+)\s+"([^"]+)"')
ORDEAL = re.compile(r'"(ordeal_\w+)"')


def named(line):
    """Returns two lists: names of tests that a line of source defines, and parts of such names."""
    case, part = CASE.match(line), PART.match(line)
    if case:
        return [case[1]], []
    return SHELL.findall(line) + ORDEAL.findall(line), [part[1]] if part else []


class Added:
    """The tests that a change adds."""

    def __init__(self, programs=(), diff="", unknown=None):
        """
        programs: paths of new files
        diff: git's diff of the other files
        unknown: reason why the change is not known, or None
        """
        self.unknown = unknown
        self.programs = {os.path.basename(path) for path in programs}
        self.programs |= {name[:-2] for name in self.programs if name.endswith(".c")}
        names = {"+": (set(), set()), "-": (set(), set())}
        for line in diff.splitlines():
            if line[:1] in names and not line.startswith(("+++", "---")):
                for kind, found in zip(names[line[0]], named(line[1:])):
                    kind.update(found)
        # A test that was moved is in both the added and the removed lines.
        self.cases, self.parts = (new - old for new, old in zip(names["+"], names["-"]))

    def _has(self, case):
        return case in self.cases or case.removesuffix("_undescribed") in self.cases or any(
            case == part or case.endswith("_" + part) or case.startswith(part + "_") for part in self.parts)

    def why(self, test, failed):
        """Returns the reason why a test with these failures is not run again; None if it is."""
        if self.unknown:
            return self.unknown
        if test in self.programs or test in self.cases:
            return "it is new"
        for failure in failed:
            case = failure.partition(": ")[2]
            if self._has(case) or self._has(case.rpartition(".")[2]):
                return f"{case} is new"
        return None


def find(top):
    """Returns the Added of a checkout. Sources outside of git contain no change."""
    def git(*arguments):
        return subprocess.run(["git", "-c", f"safe.directory={top}", "-C", top, *arguments], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace").stdout.strip()
    if not os.path.exists(os.path.join(top, ".git")):
        return Added()
    try:
        base = os.environ.get("VGPU_BASE")
        if not base:
            now = int(git("log", "-1", "--format=%ct"))
            base = git("rev-list", "-1", f"--before={now - DAY}", "HEAD")
        if not base:
            if git("rev-parse", "--is-shallow-repository") == "true":
                return Added(unknown="this clone does not tell what is new")
            base = NOTHING
        programs = git("diff", "--name-only", "--diff-filter=A", "-M", base, "--", TESTS).splitlines()
        programs += git("ls-files", "--others", "--exclude-standard", "--full-name", TESTS).splitlines()
        return Added(programs, git("diff", "-U0", "-M", base, "--", *WHERE))
    except (OSError, subprocess.CalledProcessError, ValueError):
        return Added(unknown="git does not tell what is new")
