# SPDX-License-Identifier: GPL-2.0-only
"""Runs suites of other projects on a real device and on the same device forwarded to the
same VM, and compares their verdicts."""

import re
import time

import cost
import suites
from bed import say
from patience import Deadline

SIDES = ("real", "forwarded")
REPEATS = 2
UNSTABLE_SHARE = 0.02
# Seconds of the machine's own time that a suite may take, on both sides and with all repeats.
LIMIT = 480
# Verdicts of tests that were not started: the program is missing or cannot be run.
NOT_RUN = re.compile(r"missing$|(exit 12[67]|crash \(12[67]\))( |$)")
RESULTS = ("same", "skipped", "refused", "unstable", "NOT RUN", "DIFFERENT")


class TooLong(Exception):
    """A suite's time is up."""


def runner(machine, side, deadline=None):
    """Returns a function that runs a line of shell as the ordinary user with one side's devices."""
    def run(command, limit, show=None):
        if deadline is not None:
            left = int(deadline.left())
            if left <= 0:
                raise TooLong
            limit = min(limit, left)
        quoted = command.replace("'", "'\\''")
        return machine.run(f"/usr/lib/vgpu-test/with-device {side} '{quoted}'", limit, show)
    return run


def is_skip(verdict):
    """Returns whether a verdict means "skipped". glmark2 prints "Unknown" for scenes that it cannot
    validate."""
    return verdict.split(" ")[0] in ("skip", "Unsupported", "Unknown")


def result_of(suite, row, rows):
    """Returns the result of a test, one of RESULTS."""
    real, forwarded = set(row["real"]), set(row["forwarded"])
    if all(NOT_RUN.match(verdict) for verdict in real | forwarded):
        return "NOT RUN"
    if suite.refuses(row, rows):
        return "refused"
    if len(real) == 1:
        if forwarded != real:
            return "DIFFERENT"
        return "skipped" if is_skip(row["real"][0]) else "same"
    return "unstable" if forwarded <= real else "DIFFERENT"


def run_side(suite, machine, side, deadline, only=None):
    """Runs a suite once on one side. Returns its verdicts, and sentences about mistakes of the
    run: it used another device, or the processor drew."""
    run = runner(machine, side, deadline)
    wrong = []
    if suite.draws:
        renderer = re.search(r"renderer: *(.*)", run(suite.says_renderer + " 2>&1", 60).text)
        if not renderer or not renderer[1].startswith(suite.renderer):
            wrong.append(f"{suite.name}: on the {side} device {renderer[1] if renderer else 'nothing'} draws,"
                         f" not {suite.renderer}")
    before = cost.counters(machine, suite.exports)["calls"], cost.counters(machine)["calls"]
    verdicts = suite.run(run, only)
    after = cost.counters(machine, suite.exports)["calls"], cost.counters(machine)["calls"]
    if side == "real" and after[1] != before[1]:
        wrong.append(f"{suite.name}: the real device's run made {after[1] - before[1]} calls of forwarded ones")
    if side == "forwarded" and after[0] <= before[0]:
        wrong.append(f"{suite.name}: the forwarded device's run did not use it")
    return verdicts, wrong


def of_suite(suite, machine):
    """Runs a suite on both sides. Returns the rows of the table, one for each test with all
    verdicts of both sides, and sentences about mistakes of the run."""
    suite.prepare(machine)
    start, computed = time.monotonic(), machine.cpu()
    deadline = Deadline(machine.time, LIMIT)
    rows = []
    wrong = []
    try:
        _run_all(suite, machine, deadline, rows, wrong)
        late = False
    except TooLong:
        late = True
    took = time.monotonic() - start
    if late or deadline.left() <= 0:
        wrong.append(f"{suite.name}: takes longer than {LIMIT} s")
    for row in rows:
        row["result"] = result_of(suite, row, rows)
    count = {result: sum(row["result"] == result for row in rows) for result in RESULTS}
    passes = sum(passed(suite, row) for row in rows)
    say(f"{suite.name:<20} {len(rows):>4} tests, {passes} pass directly: "
        + ", ".join(f"{number} {result}" for result, number in count.items())
        + f" ({took:.0f} s, {machine.cpu() - computed:.0f} s computing)")
    for row in rows:
        if row["result"] not in ("same", "skipped"):
            say(f"    {row['result']}: {row['test']}: real {', '.join(row['real'])};"
                f" forwarded {', '.join(row['forwarded'])}")
    wrong = list(dict.fromkeys(wrong))
    for sentence in wrong:
        say("    " + sentence)
    return rows, wrong


def _run_all(suite, machine, deadline, rows, wrong):
    """Runs a suite on both sides, and repeats tests that differ; adds to rows and wrong."""
    seen = {}
    for side in SIDES:
        seen[side], mistakes = run_side(suite, machine, side, deadline)
        wrong += mistakes
    for test in dict.fromkeys([*seen["real"], *seen["forwarded"]]):
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
            again, mistakes = run_side(suite, machine, side, deadline, only)
            wrong += mistakes
            for row in differing:
                row[side].append(again.get(row["test"], ("missing", 0))[0])


def passed(suite, row):
    return any(row["real"][0] == word or row["real"][0].startswith(word + " ") for word in suite.passed)


def counted(rows):
    """Returns the rows that count: those that are neither skipped nor refused."""
    return [row for row in rows if row["result"] not in ("skipped", "refused")]


def judge(done):
    """Returns a list of sentences about failures in the results."""
    wrong = []
    rows = counted(row for _, suite_rows in done for row in suite_rows)
    for row in rows:
        if row["result"] == "DIFFERENT":
            wrong.append(f"{row['suite']}: {row['test']} differs")
        if row["result"] == "NOT RUN":
            wrong.append(f"{row['suite']}: {row['test']} could not be started")
    unstable = sum(row["result"] == "unstable" for row in rows)
    if unstable > UNSTABLE_SHARE * len(rows):
        wrong.append(f"{unstable} of {len(rows)} tests are unstable on the real device")
    for suite, suite_rows in done:
        passes = sum(passed(suite, row) for row in suite_rows)
        if passes < suite.floor:
            wrong.append(f"{suite.name}: {passes} pass directly, {suite.floor} should")
    piglit = [(suite, rows) for suite, rows in done if suite.name in suites.PIGLIT_SUITES]
    if len(piglit) == len(suites.PIGLIT_SUITES):
        tests = sum(len(counted(suite_rows)) for _, suite_rows in piglit)
        passes = sum(passed(suite, row) for suite, suite_rows in piglit for row in suite_rows)
        if tests < suites.PIGLIT_TESTS or passes < suites.PIGLIT_FLOOR:
            wrong.append(f"piglit: {tests} tests that are not skipped, {passes} pass directly")
    return wrong
