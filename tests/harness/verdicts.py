# SPDX-License-Identifier: GPL-2.0-only
"""Runs suites of others on a real device and on the same one forwarded to the same
VM, and compares their verdicts."""

import time

import suites
from bed import say

SIDES = ("real", "forwarded")
REPEATS = 2
UNSTABLE_SHARE = 0.02


def runner(machine, side):
    """Runs a line of shell as the ordinary user with the devices of one side."""
    def run(command, limit, show=None):
        quoted = command.replace("'", "'\\''")
        return machine.run(f"/usr/lib/vgpu-test/with-device {side} '{quoted}'", limit, show)
    return run


def is_skip(verdict):
    return verdict.split(" ")[0] in ("skip", "Unsupported")


def is_refused(suite, row):
    return any(row["test"].startswith(tests) and set(row["real"]) <= directly and set(row["forwarded"]) == {verdict}
               for tests, directly, verdict in suite.refused)


def of_suite(suite, machine):
    """Runs it; returns the rows of the table: one a test, with all verdicts of both sides."""
    suite.prepare(machine)
    start, computed = time.monotonic(), machine.cpu()
    seen = {side: suite.run(runner(machine, side)) for side in SIDES}
    rows = []
    for test in list(dict.fromkeys([*seen["real"], *seen["forwarded"]])):
        row = {"suite": suite.name, "test": test}
        for side in SIDES:
            verdict, seconds = seen[side].get(test, ("missing", 0))
            row[side] = [verdict]
            row["seconds " + side] = round(seconds, 2)
        rows.append(row)
    for _ in range(REPEATS):
        differing = [row for row in rows if len(set(row["real"] + row["forwarded"])) > 1]
        if not differing:
            break
        only = {row["test"] for row in differing}
        say(f"#   {suite.name}: again: {', '.join(sorted(only)[:8])}{' ...' if len(only) > 8 else ''}")
        for side in SIDES:
            again = suite.run(runner(machine, side), only)
            for row in differing:
                row[side].append(again.get(row["test"], ("missing", 0))[0])
    for row in rows:
        stable = len(set(row["real"])) == 1
        row["result"] = ("unstable" if not stable else
                         "same" if set(row["real"]) == set(row["forwarded"]) else "DIFFERENT")
        if row["result"] == "same" and is_skip(row["real"][0]):
            row["result"] = "skipped"
        if row["result"] == "DIFFERENT" and is_refused(suite, row):
            row["result"] = "refused"
    count = {result: sum(row["result"] == result for row in rows)
             for result in ("same", "skipped", "refused", "unstable", "DIFFERENT")}
    passes = sum(passed(suite, row) for row in rows)
    say(f"{suite.name:<20} {len(rows):>4} tests, {passes} pass directly: {count['same']} same, {count['skipped']} skipped, "
        f"{count['refused']} refused on purpose, {count['unstable']} unstable, {count['DIFFERENT']} different ({time.monotonic() - start:.0f} s, "
        f"{machine.cpu() - computed:.0f} s computing)")
    for row in rows:
        if row["result"] in ("refused", "unstable", "DIFFERENT"):
            say(f"    {row['result']}: {row['test']}: real {', '.join(row['real'])};"
                f" forwarded {', '.join(row['forwarded'])}")
    return rows


def passed(suite, row):
    return any(row["real"][0] == word or row["real"][0].startswith(word + " ") for word in suite.passed)


def judge(done):
    """What is wrong with the results: a list of sentences."""
    wrong = []
    rows = [row for _, suite_rows in done for row in suite_rows]
    for row in rows:
        if row["result"] == "DIFFERENT":
            wrong.append(f"{row['suite']}: {row['test']} differs")
    unstable = sum(row["result"] == "unstable" for row in rows)
    if unstable > UNSTABLE_SHARE * len(rows):
        wrong.append(f"{unstable} of {len(rows)} tests are unstable on the real device")
    for suite, suite_rows in done:
        passes = sum(passed(suite, row) for row in suite_rows)
        if passes < suite.floor:
            wrong.append(f"{suite.name}: {passes} pass directly, {suite.floor} should")
    piglit = [(suite, rows) for suite, rows in done if suite.name in suites.PIGLIT_SUITES]
    if len(piglit) == len(suites.PIGLIT_SUITES):
        tests = sum(len(suite_rows) for _, suite_rows in piglit)
        passes = sum(passed(suite, row) for suite, suite_rows in piglit for row in suite_rows)
        if tests < suites.PIGLIT_TESTS or passes < suites.PIGLIT_FLOOR:
            wrong.append(f"piglit: {tests} tests, {passes} pass directly")
    return wrong
