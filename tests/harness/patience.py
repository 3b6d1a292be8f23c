# SPDX-License-Identifier: GPL-2.0-only
"""How long machines are waited for.

Other work on this machine must not make a limit shorter. So limits count the machines'
*own time*: they compute, or have nothing to do. While one of them waits for a
processor its own time stands still. Idle time counts, as a machine that hangs mostly
computes nothing. Behind each limit there is one of wall time, WIDE times as long.
"""

import os
import threading
import time

WIDE = 10
# Seconds between looks at the processes of machines.
LOOK = 1


def look(sessions):
    """Seconds that the processes of each of these sessions have computed, a dict, and
    seconds that each of their threads has waited for a processor, a dict. A kernel that
    does not count the latter (/proc/PID/schedstat) leaves that empty."""
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
            continue        # a process or a thread has ended
    return computed, waited


class OwnTime:
    """The own time of machines that work together."""

    def __init__(self, sessions, seen=look, wall=time.monotonic):
        """
        sessions: a function that returns the session ids of their processes
        seen, wall: look() and the time, or others for a test
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
        """Seconds of own time since the beginning; a second too few, unless asked for exactly."""
        with self.lock:
            passed = self.wall() - self.looked
            if exactly or passed >= LOOK:
                self._advance(passed)
            return self.own

    def _advance(self, passed):
        computed, waited = self.seen(self.sessions())
        # Machines may wait for each other, so one's delay is all others'; where they waited
        # at the same time that is too much. What the busiest computed is never too much.
        delay = sum(max(0, seconds - self.waited.get(thread, 0)) for thread, seconds in waited.items())
        busiest = max((seconds - self.computed.get(session, 0) for session, seconds in computed.items()),
                      default=0)
        self.own += max(0, passed - delay, min(passed, busiest))
        self.looked += passed
        self.computed = computed
        self.waited = waited


class Deadline:
    """The end of a wait."""

    def __init__(self, clock, limit):
        """
        clock: an OwnTime
        limit: so many seconds of it
        """
        self.clock = clock
        self.limit = limit
        self.start = clock.now()
        self.wall_start = clock.wall()

    def left(self):
        """Seconds that may be waited from now on; not more than 0 where the wait is over."""
        return min(self.start + self.limit - self.clock.now(),
                   self.wall_start + WIDE * self.limit - self.clock.wall())
