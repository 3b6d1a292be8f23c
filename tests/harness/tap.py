# SPDX-License-Identifier: GPL-2.0-only
"""Counts what test programs say in TAP."""

import re

RESULT = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:-\s*)?([^#]*)(?:#\s*(\w+)\s*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\s*(.*))?", re.I)


class Tally:
    """Passed, failed and skipped cases, by name."""

    def __init__(self):
        self.passed = []
        self.failed = []
        self.skipped = []      # (name, reason)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def parse(name, status, lines):
    """What a program's output and exit status come to. A program that ends
    badly, or early, has failed whatever it printed before."""
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
        # kselftest_harness.h says "XFAIL" of what the environment cannot do.
        if match[4] and match[4].upper() in ("SKIP", "XFAIL"):
            tally.skipped.append((case, match[5].strip()))
        elif match[1]:
            tally.failed.append(case)
        else:
            tally.passed.append(case)
    if status in (124, 137):
        tally.failed.append(f"{name}: out of time")
    elif status == 4 and not seen:
        if not tally.skipped:
            tally.skipped.append((name, "said so by exit status"))
    elif status and not tally.failed:
        tally.failed.append(f"{name}: exit status {status}")
    elif plan is None:
        tally.failed.append(f"{name}: no plan in its output")
    elif seen != plan and not tally.failed:
        tally.failed.append(f"{name}: {seen} results, {plan} planned")
    return tally
