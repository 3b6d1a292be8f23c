#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that each allocation of an engine (userspace-lib/engine) may fail. For each request a first
run has its first allocation fail, the next run its second one, and so on until none fails any more.
The engine answers with an error, or ends without harm where it cannot go on. Prints TAP.

  engine_alloc_test.py ENGINE   ENGINE is built with SANITIZE=1 and linked with
                                tests/tools/fail_alloc.c"""

import mmap
import os
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
from engine_case import (ACKED, CLOSE, ENOMEM, EVENT, FIND, KEEP, MADE, MSG_RELEASE, OPEN, OPENED, POLL, ROOM, SYNC,
                         UNEVENT, Engine, Shadow)
from unit_tap import main

# No request makes so many allocations.
MOST = 200
# Exit statuses of an engine that ends by itself.
ENDED = (0, 1)


class Alloc(Engine):
    def setUp(self):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.truncate(mmap.PAGESIZE)
            self.shared_alloc = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        os.environ["VGPU_FAIL_ALLOC"] = file.name
        self.number = 2
        self.failing = 0
        try:
            super().setUp()
        finally:
            os.unlink(file.name)

    def arm(self, nth):
        """Makes allocation number nth from now on fail. Returns whether the last one that was armed
        has not failed yet."""
        left, = struct.unpack_from("=I", self.shared_alloc)
        struct.pack_into("=I", self.shared_alloc, 0, nth)
        return left > 0

    def begin_again(self):
        """Starts another engine after the old one has ended."""
        self.doCleanups()
        for fd in (self.shared, self.sessions):
            os.close(fd)
        self.agent.close()
        self.guest.close()
        self.setUp()

    def exhaust(self, do):
        """do() makes a request, and undoes what the request did; it returns the result."""
        self.assertEqual(0, do())
        failed = ended = 0
        for nth in range(1, MOST):
            self.arm(nth)
            try:
                result = do()
            except (EOFError, OSError, AssertionError, struct.error):
                result = None
            hit = not self.arm(0)
            if result is None:
                # The engine has ended; a request without an answer would be a failure.
                self.assertIn(self.engine.wait(60), ENDED, f"allocation {nth}")
                ended += 1
                self.begin_again()
            else:
                self.assertIn(result, (0, -ENOMEM) if hit else (0,), f"allocation {nth}")
                failed += result != 0
            self.assertEqual(0, do(), f"after allocation {nth}")
            self.serves()
            if not hit:
                print(f"# {self.id()}: {nth - 1} allocations, {failed} errors, {ended} ends")
                return
        self.fail("the allocations do not end")

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
        self.exhaust(self.opened)

    def test_made(self):
        self.exhaust(lambda: self.with_object(self.made))

    def with_object(self, do):
        """Lets do() use an object that is made and closed while no allocation fails."""
        left, = struct.unpack_from("=I", self.shared_alloc)
        self.arm(0)
        number = self.open(self.other)
        self.arm(left)
        result = do(number)
        left, = struct.unpack_from("=I", self.shared_alloc)
        self.arm(0)
        self.assertEqual(1, self.other.ask(CLOSE, number=number)[0])
        self.arm(left)
        return result

    def test_find(self):
        self.exhaust(lambda: self.with_object(lambda number: self.find(self.other, number)[0]))

    def test_close(self):
        def do():
            left, = struct.unpack_from("=I", self.shared_alloc)
            self.arm(0)
            number = self.open(self.other)
            self.arm(left)
            return self.other.ask(CLOSE, number=number)[0] - 1
        self.exhaust(do)

    def test_poll(self):
        self.exhaust(lambda: self.with_object(
            lambda number: min(0, self.other.ask(POLL, number=number, value=1, extra=0)[0])))

    def test_event(self):
        def event(number):
            fd = os.eventfd(0)
            result = self.other.ask(EVENT, number=number, value=7, fds=[fd])[0]
            os.close(fd)
            if not result:
                self.other.say(UNEVENT, number=number, value=7)
            return result
        self.exhaust(lambda: self.with_object(event))

    def test_sync(self):
        self.exhaust(lambda: self.other.ask(SYNC, value=self.seq)[0])

    def test_room(self):
        self.exhaust(lambda: self.other.ask(ROOM, value=0)[0])

    def test_keep(self):
        def keep(number):
            return self.other.ask(KEEP, number=number, value=3, extra=4096)[0]

        def do():
            result = self.with_object(keep)
            if not result:
                self.tell(MSG_RELEASE, struct.pack("<Q", 3))
                self.assertEqual(MSG_RELEASE, self.told()[0])
            return result
        self.exhaust(do)

    def test_session(self):
        def do():
            self.number += 1
            shadow = Shadow(self, self.number)
            result = self.find(shadow, 1 << 20)[0]
            shadow.end()
            self.over()
            return 0 if result else -1
        self.exhaust(do)

    def test_grant(self):
        self.extra = 20

        def do():
            self.extra += 1
            self.grant(self.extra, 1, 3, ioctls=(0x1234,), deny=True)
            return 0
        self.exhaust(do)



if __name__ == "__main__":
    del sys.argv[1:]
    main("engine_alloc")
