#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests how vgpu-engine-master handles messages of an engine, which an attacker may have taken
over. The engine is simulated here, and the device is /dev/null. Prints TAP."""

import os
import socket
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import payload
from unit_tap import main, no_new_privileges

MASTER = os.path.join(payload.out_dir(), "keeper/engine/master/vgpu-engine-master")
WAIT = 60
SET, DROP = 0x641e, 0x641f
EACCES, EBADF, ENOTTY = 13, 9, 25
# Message of shared/proto.h.
MESSAGE = struct.Struct("=QIi")


class Master(unittest.TestCase):
    def setUp(self):
        self.start("/dev/null")

    def start(self, path):
        self.engine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.engine.settimeout(WAIT)
        self.addCleanup(self.engine.close)
        node = os.open(path, os.O_PATH)

        def place():
            fds = [os.dup2(fd, 100 + at) for at, fd in enumerate((its.fileno(), node))]
            for at, fd in enumerate(fds, 3):
                os.dup2(fd, at)
            os.closerange(5, 256)
            no_new_privileges()

        self.master = subprocess.Popen([MASTER], preexec_fn=place, close_fds=False)
        self.addCleanup(self.master.wait)
        self.addCleanup(self.master.kill)
        os.close(node)
        its.close()

    def ask(self, *paths, command=SET, tag=1, flags=os.O_RDWR):
        """Sends a request, and returns the result in its answer."""
        fds = [os.open(path, flags) for path in paths]
        socket.send_fds(self.engine, [MESSAGE.pack(tag, command, 0)], fds)
        for fd in fds:
            os.close(fd)
        answer = MESSAGE.unpack(self.engine.recv(100))
        self.assertEqual((tag, command), answer[:2])
        return answer[2]

    def ends(self):
        self.assertEqual(0, self.master.wait(WAIT))

    def test_asks_the_driver(self):
        # The driver of /dev/null has no such ioctl.
        self.assertEqual(-ENOTTY, self.ask("/dev/null"))
        self.assertEqual(-ENOTTY, self.ask("/dev/null", command=DROP, tag=(1 << 64) - 1))
        self.assertEqual(-EBADF, self.ask("/dev/null", flags=os.O_PATH))

    def test_asks_nothing_else(self):
        for command in (0, SET + 1 + 1, SET | 1 << 30, SET | 8 << 16, 0xffffffff):
            self.assertEqual(-EACCES, self.ask("/dev/null", command=command))

    def test_no_other_device(self):
        for path, flags in (("/dev/zero", os.O_RDWR), ("/", os.O_RDONLY), (sys.argv[0], os.O_RDONLY)):
            self.assertEqual(-EACCES, self.ask(path, flags=flags))

    def test_one_file(self):
        self.assertEqual(-EACCES, self.ask())
        # The first file is used, and the others are closed.
        self.assertEqual(-ENOTTY, self.ask("/dev/null", "/dev/zero"))
        self.assertEqual(-EACCES, self.ask("/dev/zero", "/dev/null"))
        for _ in range(100):
            self.assertEqual(-ENOTTY, self.ask("/dev/null", "/dev/null", "/dev/null"))
        self.assertEqual(["3", "4"], sorted(set(os.listdir(f"/proc/{self.master.pid}/fd")) - {"0", "1", "2"}))

    def test_messages_that_are_none(self):
        for wrong in (b"", b"x", MESSAGE.pack(1, SET, 0)[:-1]):
            self.engine.send(wrong)
            self.ends()
            self.start("/dev/null")

    def test_ends_with_its_engine(self):
        self.engine.close()
        self.ends()

    def test_no_device(self):
        self.start("/")
        self.ends()


if __name__ == "__main__":
    main("master")
