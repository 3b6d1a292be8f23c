#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that each allocation of an engine (userspace-lib/engine) may fail. For each request a first
run has its first allocation fail, the next run its second one, and so on until none fails any more.
The engine answers with an error, or ends without harm where it cannot go on, and loses no memory.
Prints TAP.

  engine_alloc_test.py ENGINE   ENGINE is built with SANITIZE=1 and linked with
                                tests/tools/fail_alloc.c"""

import os
import struct
import sys

sys.dont_write_bytecode = True
from alloc_case import Alloc
from engine_case import (ACKED, CLOSE, ENOMEM, EVENT, FIND, KEEP, MADE, MSG_RELEASE, OPEN, OPENED, POLL, RM_FREED, RM_MADE,
                         RM_RUNS, ROOM, SLOT, SYNC, UNEVENT, Engine, Shadow)
from unit_tap import main

# Exit statuses of an engine that ends by itself.
ENDED = (0, 1)


class EngineAlloc(Alloc, Engine):
    def setUp(self):
        Alloc.setUp(self)
        self.number = 2
        Engine.setUp(self)

    def begin_again(self):
        """Starts another engine after the old one has ended."""
        self.doCleanups()
        for fd in (self.shared, self.sessions):
            os.close(fd)
        self.agent.close()
        self.guest.close()
        self.setUp()

    def ended(self, words):
        """Checks how the engine has ended: it has no report and no leak."""
        status = self.engine.wait(60)
        self.assertIn(status, ENDED, words)

    def run_through(self, do):
        """do() makes a request, and undoes what the request did; it returns the result."""
        failed = ends = 0

        def ask():
            try:
                return do()
            except (EOFError, OSError, AssertionError, struct.error):
                return None

        def judge(result, nth, hit):
            nonlocal failed, ends
            if result is None:
                # The engine has ended; a request without an answer would be a failure.
                self.ended(f"allocation {nth}")
                ends += 1
                self.begin_again()
            else:
                self.assertIn(result, (0, -ENOMEM) if hit else (0,), f"allocation {nth}")
                failed += result != 0
            self.assertEqual(0, do(), f"after allocation {nth}")
            self.serves()

        self.assertEqual(0, do())
        nr = self.exhaust(ask, judge)
        print(f"# {self.id()}: {nr} allocations, {failed} errors, {ends} ends")
        # Without vgpud an engine ends by itself.
        self.agent.close()
        self.ended("the end of vgpud")
        self.begin_again()

    def made(self, number):
        """Gives the engine a file that a call has made, and closes it."""
        with open("/dev/null", "rb+", buffering=0) as file:
            result, desc, _ = self.other.ask(MADE, number=number, fds=[file.fileno()])
        return result or self.close(struct.unpack_from("<I", desc)[0])

    def close(self, number):
        self.other.say(ACKED)
        return self.other.ask(CLOSE, number=number)[0] - 1

    def opened(self):
        """Opens and closes the device."""
        result = self.other.ask(OPEN, number=self.null, value=os.O_RDWR)[0]
        if result:
            return result
        with open("/dev/null", "rb+", buffering=0) as file:
            result, desc, _ = self.other.ask(OPENED, number=self.null, fds=[file.fileno()])
        return result or self.close(struct.unpack_from("<I", desc)[0])

    def test_open(self):
        self.run_through(self.opened)

    def test_made(self):
        self.run_through(lambda: self.with_object(self.made))

    def with_object(self, do):
        """Lets do() use an object that is made and closed while no allocation fails."""
        number = self.plainly(lambda: self.open(self.other))
        result = do(number)
        self.assertEqual(1, self.plainly(lambda: self.other.ask(CLOSE, number=number)[0]))
        return result

    def test_find(self):
        self.run_through(lambda: self.with_object(lambda number: self.find(self.other, number)[0]))

    def test_close(self):
        def do():
            number = self.plainly(lambda: self.open(self.other))
            return self.other.ask(CLOSE, number=number)[0] - 1
        self.run_through(do)

    def test_poll(self):
        self.run_through(lambda: self.with_object(
            lambda number: min(0, self.other.ask(POLL, number=number, value=1, extra=0)[0])))

    def test_event(self):
        def event(number):
            fd = os.eventfd(0)
            result = self.other.ask(EVENT, number=number, value=7, fds=[fd])[0]
            os.close(fd)
            if not result:
                self.other.say(UNEVENT, number=number, value=7)
            return result
        self.run_through(lambda: self.with_object(event))

    def test_sync(self):
        self.run_through(lambda: self.other.ask(SYNC, value=self.seq)[0])

    def test_room(self):
        self.run_through(lambda: self.other.ask(ROOM, value=0)[0])

    def test_keep(self):
        def keep(number):
            return self.other.ask(KEEP, number=number, value=3, extra=4096)[0]

        def do():
            result = self.with_object(keep)
            if not result:
                self.tell(MSG_RELEASE, struct.pack("<Q", 3))
                self.assertEqual(MSG_RELEASE, self.told()[0])
            return result
        self.run_through(do)

    def test_session(self):
        def do():
            self.number += 1
            shadow = Shadow(self, self.number)
            result = self.find(shadow, 1 << 20)[0]
            shadow.end()
            self.over()
            return 0 if result else -1
        self.run_through(do)

    def test_grant(self):
        self.extra = 20

        def do():
            self.extra += 1
            self.grant(self.extra, 1, 3, ioctls=(0x1234,), deny=True)
            return 0
        self.run_through(do)

    def test_channels(self):
        """Reports of channels have no answers: the engine only has to live on, or to end."""
        def do():
            number = self.plainly(lambda: self.open(self.other))
            self.agent.send(struct.pack("=IIQQQ", SLOT, 0, 40000000, 7, 1000000))
            for kind in (RM_MADE, RM_RUNS, RM_FREED):
                self.other.say(kind, number=number, value=5 << 32 | 4, extra=0xc86f << 32 | 4)
            self.agent.send(struct.pack("=II", SLOT, 0))
            return self.other.ask(CLOSE, number=number)[0] - 1
        self.run_through(do)


if __name__ == "__main__":
    del sys.argv[1:]
    main("engine_alloc")
