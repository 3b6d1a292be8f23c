# SPDX-License-Identifier: GPL-2.0-only
"""Time limits for waiting for test VMs.

Other work on the computer that runs the tests must not shorten a limit. So limits count the
VMs' *own time*, in which they compute or are idle. Own time stands still while a VM waits
for a processor. Idle time counts because a VM that hangs is mostly idle. Each limit is
backed by a limit of wall time, WIDE times as long.
"""

import os
import threading
import time

WIDE = 10
# Seconds between readings of the times of the VMs' processes.
LOOK = 1


def look(sessions):
    """Returns two dicts: seconds that all processes of a session have computed, by session, and
    seconds that a thread has waited for a processor, by thread. The second one is empty if the
    kernel does not count waiting (/proc/PID/schedstat)."""
    computed = dict.fromkeys(sessions, 0)
    waited = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            session = int(fields[3])
            if session not in computed:
                continue
            computed[session] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                    waited[thread] = int(file.read().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            continue        # a process or a thread has ended meanwhile
    return computed, waited


class OwnTime:
    """The common own time of VMs that work together."""

    def __init__(self, sessions, seen=look, wall=time.monotonic):
        """
        sessions: function that returns the session ids of the VMs' processes
        seen, wall: look() and the clock, or replacements for a test
        """
        self.sessions = sessions
        self.seen = seen
        self.wall = wall
        self.lock = threading.Lock()
        self.own = 0
        self.looked = wall()
        self.computed = {}
        self.waited = {}

    def now(self, exactly=False):
        """Returns seconds of own time since the beginning. Without exactly, the result may be LOOK
        seconds old."""
        with self.lock:
            passed = self.wall() - self.looked
            if exactly or passed >= LOOK:
                self._advance(passed)
            return self.own

    def _advance(self, passed):
        computed, waited = self.seen(self.sessions())
        # VMs may wait for each other, so the delay of one delays all. The sum of all delays is too
        # large if VMs waited at the same time, so own time would be too short. But own time is at
        # least the computing time of the busiest VM.
        delay = sum(max(0, seconds - self.waited.get(thread, 0)) for thread, seconds in waited.items())
        busiest = max((seconds - self.computed.get(session, 0) for session, seconds in computed.items()),
                      default=0)
        self.own += max(0, passed - delay, min(passed, busiest))
        self.looked += passed
        self.computed = computed
        self.waited = waited


class Deadline:
    """The end of a wait, in own time and in wall time."""

    def __init__(self, clock, limit):
        """
        clock: the OwnTime that is counted
        limit: seconds of own time until the end
        """
        self.clock = clock
        self.limit = limit
        self.start = clock.now()
        self.wall_start = clock.wall()

    def left(self):
        """Returns the seconds that are left; 0 or less if the wait is over."""
        return min(self.start + self.limit - self.clock.now(),
                   self.wall_start + WIDE * self.limit - self.clock.wall())
