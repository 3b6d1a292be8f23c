# SPDX-License-Identifier: GPL-2.0-only
"""Repeats tests whose failure may be due to a slow computer, and judges the result.

A test that failed is run again, alone, RUNS times at the end of its bed. If it passes each
time, it is *unstable*: it is named at the end of the run, and counted as passed. A run with
more than MOST unstable tests has failed. A failure that cannot be due to timing is final,
and its test is not run again, see why_not(). tap.parse() finds such failures in the
program's output and exit status.
"""

import collections
import contextlib
import fnmatch
import threading

from vm import NotBooted, VmDied

RUNS = 2
MOST = 3
# Tests of hostile peers and fuzzing are never run again: one successful attack is a failure.
NEVER = ("hostile*", "fuzz*")


def note_hang(tally, took, own):
    """Marks the failure of a test as a hang if the test's own clock ended it, and its machines did
    not wait for a processor most of the time. took: the test's wall time; own: its machines' own
    time (patience.py)."""
    if tally.late and own >= took / 2:
        tally.final.append("a hang")


def why_not(test, tally, added):
    """Returns the reason why a failed test is not run again; None if it is. added: a function that
    returns what the change that is tested adds, see added.py."""
    for pattern in NEVER:
        if fnmatch.fnmatch(test, pattern):
            return f"{pattern} never is"
    if tally.final:
        return tally.final[0]
    return added().why(test, tally.failed)


def judge(test, first, runs):
    """Returns the final tally of a test that failed. first: tally of the failed run; runs:
    tallies of the runs that followed, up to the first one that failed."""
    if len(runs) == RUNS and not any(run.failed for run in runs):
        tally = runs[-1]
        tally.unstable.append(f"{test}: failed once ({'; '.join(first.failed)}), then passed {RUNS} times")
        return tally
    for run in runs:
        first.failed += [case for case in run.failed if case not in first.failed]
    return first


def boot(bed, account):
    """Boots a bed. If QEMU or the kernel ends without a report before anything of this project is
    loaded, the boot is tried again, like a failed test. account: is called with each VmDied; the
    last one is raised if the bed does not come up. Returns sentences about unstable boots."""
    failed = []
    while True:
        try:
            bed.up()
            break
        except VmDied as error:
            account(error)
            failed.append(str(error))
            if not isinstance(error, NotBooted) or len(failed) > RUNS or bed.killed or bed.reports():
                raise
            bed.down()
    return [f"boot: failed ({'; '.join(failed)}), then passed"] if failed else []


def too_many(unstable):
    """Returns a failure, as a list, if a run has too many unstable tests."""
    return [f"{len(unstable)} tests are unstable, {MOST} are allowed"] if len(unstable) > MOST else []


def frequency(test, runs):
    """Returns a text about how often a test failed. runs: lists of the failed cases of each run."""
    cases = collections.Counter(case.partition(": ")[2] for failed in runs for case in failed)
    bad = sum(bool(failed) for failed in runs)
    return f"{test}: failed {bad} of {len(runs)} times" + "".join(
        f"; {number} x {case}" for case, number in cases.most_common())


class Turns:
    """Lets beds run tests side by side, and a repeated test while no other test runs."""

    def __init__(self):
        self.changed = threading.Condition()
        self.running = 0
        self.waiting = 0        # threads that wait for a run alone, or have one
        self.ended = False

    def _take(self, free):
        self.changed.wait_for(lambda: self.ended or free())
        if self.ended:
            raise VmDied("the run was interrupted")
        self.running += 1

    def _give(self):
        self.running -= 1
        self.changed.notify_all()

    @contextlib.contextmanager
    def beside(self):
        """Runs beside others; waits while a run alone is wanted."""
        with self.changed:
            self._take(lambda: not self.waiting)
        try:
            yield
        finally:
            with self.changed:
                self._give()

    @contextlib.contextmanager
    def alone(self):
        """Runs alone: waits until all other runs have ended, and lets none begin before its own
        end."""
        with self.changed:
            self.waiting += 1
            try:
                self._take(lambda: not self.running)
            except VmDied:
                self.waiting -= 1
                raise
        try:
            yield
        finally:
            with self.changed:
                self.waiting -= 1
                self._give()

    def end(self):
        """Ends all waits, now and in the future, by VmDied."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
