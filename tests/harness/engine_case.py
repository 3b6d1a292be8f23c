# SPDX-License-Identifier: GPL-2.0-only
"""An engine (userspace-lib/engine) with two shadows, one of which an attacker has taken over. vgpud,
the guest and all shadows are simulated here. The program's first argument is the engine."""

import array
import os
import select
import socket
import struct
import subprocess
import sys
import time
import unittest

from unit_tap import no_new_privileges

ENGINE = sys.argv[1]
WAIT = 60
# Seconds of silence that prove that no message comes: an idle engine answers in less time.
NOTHING = 0.3
# Seconds that a driver gets to release a file, as in userspace-lib/engine/process/tgid.c.
RELEASE = 3
EINTR, EBADF, ENOMEM, EACCES, EBUSY, ENODEV = 4, 9, 12, 13, 16, 19
# Number of lanes of a shadow, as in userspace-lib/shadow/layout.h.
LANES = 512
LANES_ALLOWED = 8
MAPPINGS_ALLOWED = 100
OBJECTS = 30000
MAPPED = 1 << 20
KEPT = 1 << 30
KEPT_NUMBERS = 16384

SO_SNDBUFFORCE = 32

# Constants of shared/proto.h.
GRANT, REVOKE, SESSION, CLOSED, START, AGENT_MASTER, REAP, LIMITS, SLOT = 1, 2, 3, 5, 6, 9, 10, 11, 12
AGENT_SUBMIT, ADMIT, AGENT_SUBMITTED = 13, 14, 15
ADOPT, ADOPTED, CHECK = 16, 17, 18
SUBMISSIONS = 256
NOW = 1         # ENGINE_REVOKE_NOW
(OPEN, OPENED, MADE, FIND, CLOSE, SYNC, POLL, FDINFO, EVENT, BIND, MAPS, KEEP, ROOM, MASTER, QUIET, OWNER, SHOW) = range(
    1, 18)
TAKE_BACK, UNEVENT, DROPPED, USAGE, UNSYNC, ACKED, SHOWN, RM_MADE, RM_FREED, RM_RUNS = range(20, 30)
ANSWER, DROP, UNMAP, END, RAM = range(30, 35)
SUBMIT, UNSUBMIT, SUBMITTED = range(35, 38)
MESSAGE = struct.Struct("=IIIiQQ")
MORE = {BIND: 40, MAPS: 32}
# Fields of struct engine_shared.
EVER = 8 * 4 + 2 * 8 + 8 + 2 * 4 + 2 * 4 + 3 * 8 + 8
MAPPED_AT = EVER + 2 * 4 + 8 + 12 * 8
COUNTS = struct.Struct("=QIIIIIIQQ")

# Constants of the protocol between guest and host.
FEATURES = (1 << 8) - 1
HDR = struct.Struct("<IHHQ")
MSG_EXPORT_ADD, MSG_EXPORT_DEL, MSG_CLOSE, MSG_EVENT, MSG_RELEASE = 0x10, 0x11, 0x12, 0x19, 0x1f
SET_MASTER = 0x641e
PLAIN, DRM_PRIMARY, NVIDIA = 0, 1, 10
AUDIT = 2      # VGPU_HOST_GRANT_AUDIT


def message(kind, lane=0, number=0, result=0, value=0, extra=0):
    return MESSAGE.pack(kind, lane, number, result, value % (1 << 64), extra % (1 << 64)) + bytes(MORE.get(kind, 0))


class Shadow:
    """A shadow that sends whatever a test wants."""

    def __init__(self, test, number):
        self.number = number
        self.sock, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for sock in (self.sock, its):
            sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 2 << 20)
        self.sock.settimeout(WAIT)
        socket.send_fds(test.agent, [struct.pack("=IIQ", SESSION, 0, number)], [its.fileno()])
        its.close()
        test.addCleanup(self.sock.close)

    def say(self, *args, fds=(), **words):
        self.sock.sendmsg([message(*args, **words)],
                          [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def hear(self):
        """Receives a message; returns its fields, the data behind them, and its files."""
        data, fds, _, _ = socket.recv_fds(self.sock, 8192, 4)
        return MESSAGE.unpack(data[:MESSAGE.size]), data[MESSAGE.size:], fds

    def ask(self, *args, fds=(), **words):
        """Sends a request; returns the answer's result, the data behind it, and its files."""
        self.say(*args, fds=fds, **words)
        got, more, files = self.hear()
        assert got[0] == ANSWER, got
        return got[3], more, files

    def end(self):
        self.sock.close()


class Engine(unittest.TestCase):
    objects = OBJECTS

    def setUp(self):
        self.agent, agent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.guest, guest = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.guest.settimeout(WAIT)
        self.shared = os.memfd_create("shared")
        os.truncate(self.shared, 4096)
        self.sessions, sessions = os.pipe()
        self.reaped = []
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        limits = struct.pack("=8I2Q", 64, LANES_ALLOWED, self.objects, 64, 1 << 20, 1024, MAPPINGS_ALLOWED, 0,
                             MAPPED, KEPT)
        os.pwrite(self.shared, limits, 0)
        os.pwrite(self.shared, struct.pack("=2I", LANES_ALLOWED, MAPPINGS_ALLOWED), EVER)
        self.agent.send(struct.pack("=IIQ", START, 0, FEATURES) + limits)
        self.seq = 0

        def place():
            fds = [os.dup(fd) for fd in (agent.fileno(), guest.fileno(), self.shared, proc, sessions)]
            fds = [os.dup2(fd, 100 + at) for at, fd in enumerate(fds)]
            for at, fd in enumerate(fds, 3):
                os.dup2(fd, at)
            os.closerange(8, 256)
            no_new_privileges()

        self.engine = subprocess.Popen([ENGINE], preexec_fn=place, close_fds=False)
        for fd in (proc, sessions):
            os.close(fd)
        agent.close()
        guest.close()
        self.null = self.grant(7, 1, 3)
        self.zero = self.grant(8, 1, 5)
        self.other = Shadow(self, 1)
        self.bad = Shadow(self, 2)

    def tearDown(self):
        alive = self.engine.poll() is None
        self.engine.kill()
        status = self.engine.wait()
        for fd in (self.shared, self.sessions):
            os.close(fd)
        self.agent.close()
        self.guest.close()
        self.assertTrue(alive, f"the engine ended by itself, status {status}")

    # --- vgpud's side ---

    def grant(self, *args, **words):
        """Grants a device to the guest; returns the guest's number of the export."""
        self.tell_grant(*args, **words)
        kind, _, body = self.told()
        self.assertEqual(MSG_EXPORT_ADD, kind)
        return struct.unpack_from("<I", body)[0]

    def tell_grant(self, export, major, minor, ioctls=(), deny=False, no_demand=False, kind=PLAIN, master=False, audit=False,
                   submits=(), device=0):
        add = HDR.pack(0, 0, 0, 0) + struct.pack("<IIQII", 0, kind, 0, major, minor)
        self.agent.send(struct.pack("=6I", GRANT, export, AUDIT if audit else 0, master, no_demand, 0) + add + bytes(368 - len(add)) +
                        struct.pack(f"=4I{len(ioctls) + len(submits)}I", deny, len(ioctls), device, len(submits),
                                    *ioctls, *submits))

    def over(self, wait=WAIT):
        """Waits for a report that a session is to end, or has ended; returns the number or None."""
        end = time.monotonic() + wait
        while select.select([self.sessions], [], [], max(0, end - time.monotonic()))[0]:
            kind, _, number = struct.unpack("=IIQ", os.read(self.sessions, 16))
            if kind == CLOSED:
                return number
            self.assertEqual(REAP, kind)
            self.reaped.append(number)
        return None

    def reaps(self, *numbers):
        """Checks that the shadows of these sessions may be reaped, in that order, and no others."""
        end = time.monotonic() + WAIT
        while len(self.reaped) < len(numbers) and time.monotonic() < end:
            self.assertIsNone(self.over(NOTHING))
        self.assertIsNone(self.over(NOTHING))
        self.assertEqual(list(numbers), self.reaped)

    def ends(self, shadow):
        """Checks that the engine asks once to end a shadow, and ends it."""
        self.assertEqual(shadow.number, self.over())
        self.assertIsNone(self.over(NOTHING))
        shadow.end()
        self.assertEqual(shadow.number, self.over())

    def counts(self):
        """Returns the numbers of mapped bytes, sessions, lanes, objects and mappings."""
        return COUNTS.unpack(os.pread(self.shared, COUNTS.size, MAPPED_AT))[:5]

    def counts_become(self, counts):
        """Waits until counts() returns these numbers. None stands for any number."""
        def now():
            return tuple(None if wanted is None else is_so for wanted, is_so in zip(counts, self.counts()))
        end = time.monotonic() + WAIT
        while now() != counts and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(counts, now())

    # --- the guest's side ---

    def take(self, length):
        data = b""
        while len(data) < length:
            part = self.guest.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def told(self):
        length, kind, _, seq = HDR.unpack(self.take(HDR.size))
        return kind, seq, self.take(length - HDR.size)

    def tell(self, kind, body):
        self.seq += 1
        self.guest.sendall(HDR.pack(HDR.size + len(body), kind, 0, self.seq) + body)

    # --- the shadows' side ---

    def open(self, shadow, export=None, path="/dev/null", acked=True):
        """Opens an export by a shadow; returns the object's number."""
        export = export or self.null
        self.assertEqual(0, shadow.ask(OPEN, number=export, value=os.O_RDWR)[0])
        with open(path, "rb+", buffering=0) as file:
            result, desc, _ = shadow.ask(OPENED, number=export, fds=[file.fileno()])
        self.assertEqual(0, result)
        if acked:
            shadow.say(ACKED)
        return struct.unpack_from("<I", desc)[0]

    def find(self, shadow, number):
        result, _, fds = shadow.ask(FIND, number=number)
        for fd in fds:
            os.close(fd)
        return result, len(fds)

    def serves(self):
        """Checks that the engine does for the other shadow all that a program needs."""
        number = self.open(self.other)
        self.assertEqual((0, 1), self.find(self.other, number))
        self.assertEqual(0, self.other.ask(ROOM, value=4096)[0])
        self.other.say(USAGE, value=-4096, extra=0xffffffff)
        self.assertEqual(1, self.other.ask(CLOSE, number=number)[0])

    def refuses(self, send):
        """Checks that send(), called with the bad shadow, ends that shadow and nothing else."""
        send(self.bad)
        self.ends(self.bad)
        self.serves()
