# SPDX-License-Identifier: GPL-2.0-only
"""Counts the results that test programs print in TAP."""

import re

RESULT = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:-\s*)?([^#]*)(?:#\s*(\w+)\s*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\s*(.*))?", re.I)
# Failures that a slow machine cannot cause: a crash, a sanitizer's report, or a leak.
FATAL = [
    (re.compile(r"(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|: runtime error: "), "a sanitizer's report"),
    (re.compile(r"terminated unexpectedly by signal|died of signal|Segmentation fault|Bus error|\bAborted\b|core dumped"
                r"|stack smashing detected|double free|free\(\): invalid|malloc\(\): "), "a crash"),
    (re.compile(r"unreferenced object|left behind|leaked"), "a leak"),
]
# Lines by which a test's own clock ends it. That clock goes on while machines wait for a processor.
LATE = re.compile(r"Test terminated by timeout|no end after \d+ s$")


class Tally:
    """Passed, failed and skipped cases, by name."""

    def __init__(self):
        self.passed = []
        self.failed = []
        self.skipped = []      # (name, reason)
        # Reasons why a failure is final; late: true if the test's own clock ended it.
        self.final = []
        self.late = False
        # Sentences about tests that failed and were run again, see again.py.
        self.unstable = []
        # Sentences about how often tests failed.
        self.soaked = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.unstable += other.unstable
        self.soaked += other.soaked

    def fail(self, what, final=None):
        """Adds a failure. final: reason why the test is not run again, or None"""
        self.failed.append(what)
        if final:
            self.final.append(final)

    def __str__(self):
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def parse(name, status, lines):
    """Returns the tally of a program's output and exit status. A program that ends with an error,
    or early, has failed whatever it printed before."""
    tally = Tally()
    plan = None
    seen = 0
    for line in lines:
        match = PLAN.match(line)
        if match:
            plan = int(match[1])
            if plan == 0:
                tally.skipped.append((name, match[2] or "no reason given"))
            continue
        if line.startswith("Bail out!"):
            tally.failed.append(f"{name}: {line}")
        match = RESULT.match(line)
        if not match:
            continue
        seen += 1
        case = f"{name}: {match[3].strip() or match[2] or seen}"
        # kselftest_harness.h prints XFAIL if the environment lacks a feature.
        if match[4] and match[4].upper() in ("SKIP", "XFAIL"):
            tally.skipped.append((case, match[5].strip()))
        elif match[1]:
            tally.failed.append(case)
        else:
            tally.passed.append(case)
    if status in (124, 137):
        tally.fail(f"{name}: out of time", "a hang")
    elif status == 4 and not seen:
        if not tally.skipped:
            tally.skipped.append((name, "said so by exit status"))
    elif status and not tally.failed:
        tally.failed.append(f"{name}: exit status {status}")
    elif plan is None:
        tally.failed.append(f"{name}: no plan in its output")
    elif seen != plan and not tally.failed:
        tally.failed.append(f"{name}: {seen} results, {plan} planned")
    if tally.failed:
        if status >= 128:
            tally.final.append("a crash")
        tally.final += [what for line in lines for pattern, what in FATAL if pattern.search(line)]
        tally.late = any(LATE.search(line) for line in lines)
    return tally
