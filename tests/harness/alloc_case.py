# SPDX-License-Identifier: GPL-2.0-only
"""Programs whose allocations fail: they are linked with tests/tools/fail_alloc.c."""

import mmap
import os
import struct
import tempfile
import unittest

# No request makes so many allocations.
MOST = 3000
# Exit status of a program with a report of ASan, LSan or UBSan; no program ends with it by itself.
REPORT = 99


class Alloc(unittest.TestCase):
    """A test with memory that its programs share with it."""

    def setUp(self):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.truncate(mmap.PAGESIZE)
            self.shared_alloc = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.addCleanup(os.unlink, file.name)
        self.armed = False
        # A program that is told the number of an allocation shows the call that makes it.
        struct.pack_into("=I", self.shared_alloc, 4, "VGPU_FAIL_SAY" in os.environ)
        os.environ.update({
            "VGPU_FAIL_ALLOC": file.name,
            "ASAN_OPTIONS": f"exitcode={REPORT}:detect_leaks=1",
            "UBSAN_OPTIONS": f"exitcode={REPORT}:print_stacktrace=1",
        })

    def arm(self, nth):
        """Makes allocation number nth from now on fail; 0: none. Returns the number that was left of
        the last one; 0: it has failed."""
        left, = struct.unpack_from("=I", self.shared_alloc)
        struct.pack_into("=I", self.shared_alloc, 0, nth)
        self.armed = nth > 0
        return left

    def count_children(self, on):
        """Lets allocations of children count, which have not executed a program of their own yet."""
        struct.pack_into("=I", self.shared_alloc, 8, on)

    def has_failed(self):
        """Returns whether the allocation that is armed has failed."""
        return self.armed and not struct.unpack_from("=I", self.shared_alloc)[0]

    def plainly(self, do):
        """Lets do() run while no allocation fails."""
        left = self.arm(0)
        try:
            return do()
        finally:
            self.arm(left)

    def exhaust(self, do, judge, step=1):
        """For each allocation that do() leads to, lets do() run while that allocation fails.
        judge(result, nth, hit) judges the result of do(); hit: an allocation has failed. step: 2
        tests every second allocation, and so on, unless VGPU_FAIL_ALL is set."""
        if "VGPU_FAIL_ALL" in os.environ:
            step = 1
        for nth in range(1, MOST, step):
            self.arm(nth)
            try:
                result = do()
            finally:
                hit = not self.arm(0)
            judge(result, nth, hit)
            if not hit:
                return nth - 1
        return self.fail("the allocations do not end")
