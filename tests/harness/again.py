# SPDX-License-Identifier: GPL-2.0-only
"""Failures that may be the machine's: which tests are run again, and what is made of that.

A test that failed is run again, alone, RUNS times at the end of its bed. Green each
time, it is *unstable*: named in the end, and counted as passed. More than MOST of those
in a run are a failure. What cannot be a matter of time is never run again, see
why_not(); what the program's output and end say of that is tap.parse()'s to find.
"""

import collections
import contextlib
import fnmatch
import threading

from vm import NotBooted, VmDied

RUNS = 2
MOST = 3
# A hostile peer that got through once got through.
NEVER = ("hostile*", "fuzz*")


def note_hang(tally, took, own):
    """A test that its own clock ended hangs, unless its machines waited for a processor for most
    of the time: of that it took, and which of it was their own (patience.py)."""
    if tally.late and own >= took / 2:
        tally.final.append("a hang")


def why_not(test, tally, added):
    """Why a test that failed is not run again; None if it is. Added: a function that
    returns what the change that is tested adds, see added.py."""
    for pattern in NEVER:
        if fnmatch.fnmatch(test, pattern):
            return f"{pattern} never is"
    if tally.final:
        return tally.final[0]
    return added().why(test, tally.failed)


def judge(test, first, runs):
    """What the end of a bed makes of a test that failed: a tally. Runs: the tallies
    of the runs that followed, which end with the first one that failed."""
    if len(runs) == RUNS and not any(run.failed for run in runs):
        tally = runs[-1]
        tally.unstable.append(f"{test}: failed once ({'; '.join(first.failed)}), then passed {RUNS} times")
        return tally
    for run in runs:
        first.failed += [case for case in run.failed if case not in first.failed]
    return first


def boot(bed, account):
    """Brings a bed up. An emulator that ends, or a kernel that is gone without a word, before anything of ours is
    in a machine is as a test that failed: that is tried again. Account: is called with each VmDied; the last one of
    a bed that does not come up is raised. Returns sentences about what was unstable."""
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
    """Sentences about a run with so many of them."""
    return [f"{len(unstable)} tests are unstable, {MOST} are allowed"] if len(unstable) > MOST else []


def frequency(test, runs):
    """How often a test failed, in words. Runs: the failures of each."""
    cases = collections.Counter(case.partition(": ")[2] for failed in runs for case in failed)
    bad = sum(bool(failed) for failed in runs)
    return f"{test}: failed {bad} of {len(runs)} times" + "".join(
        f"; {number} x {case}" for case, number in cases.most_common())


class Turns:
    """Beds run tests side by side; one that was red runs while no other does."""

    def __init__(self):
        self.changed = threading.Condition()
        self.running = 0
        self.waiting = 0        # for a run alone, or running so
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
        """With others."""
        with self.changed:
            self._take(lambda: not self.waiting)
        try:
            yield
        finally:
            with self.changed:
                self._give()

    @contextlib.contextmanager
    def alone(self):
        """When all that run have ended; no other one begins before the end."""
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
        """Nobody waits any more."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
