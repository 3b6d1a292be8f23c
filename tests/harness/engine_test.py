#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that an engine (userspace-lib/engine) with a shadow that an attacker has taken over goes on
serving the other shadows. Prints TAP.

  engine_test.py ENGINE     ENGINE is built with SANITIZE=1; its libraries must be installed"""

import array
import contextlib
import errno
import fcntl
import operator
import os
import select
import signal
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
from engine_case import (
    ACKED, ADMIT, ADOPT, ADOPTED, AGENT_MASTER, AGENT_SUBMIT, AGENT_SUBMITTED, ANSWER, BIND, CHECK, CLOSE, CLOSED, DRM_PRIMARY, DROP, DROPPED, EACCES, EBADF, EBUSY,
    EINTR, END, ENODEV, ENOMEM, EVENT, FDINFO, FIND, KEEP, KEPT, KEPT_NUMBERS, LANES, LIMITS, MADE, MAPPED,
    MAPS, MASTER, MSG_CLOSE, MSG_EVENT, MSG_EXPORT_ADD, MSG_EXPORT_DEL, MSG_RELEASE, NOTHING, NOW, NVIDIA, OBJECTS, OPEN,
    OPENED, OWNER, POLL, QUIET, RAM, RELEASE, REVOKE, RM_FREED, RM_MADE, RM_RUNS, ROOM, SET_MASTER, SHOW, SHOWN, SLOT, SUBMISSIONS, SUBMIT, SUBMITTED, SYNC,
    TAKE_BACK, UNEVENT, UNMAP, UNSUBMIT, UNSYNC, USAGE, WAIT, Engine, Shadow, message)
from unit_tap import main


class Full(Engine):
    """A guest has all objects that it may have, while a driver closes a file slowly."""

    objects = 8

    def files(self):
        """Returns the number of the engine's files, without one that is being closed."""
        return len(os.listdir(f"/proc/{self.engine.pid}/fd"))

    def files_become(self, files):
        end = time.monotonic() + WAIT
        while self.files() != files and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(files, self.files())

    def slow(self):
        """Gives the engine a file whose close takes long: a connection that lingers (SO_LINGER),
        while its other end reads nothing."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            sock = socket.create_connection(server.getsockname())
            peer, _ = server.accept()
        self.addCleanup(peer.close)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 1000))
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.send(bytes(1 << 16))
        # The process that closes the connection last waits, so the engine must be the last one.
        self.engine.send_signal(signal.SIGSTOP)
        self.bad.say(OPENED, number=self.null, fds=[sock.fileno()])
        sock.close()
        self.engine.send_signal(signal.SIGCONT)
        self.assertEqual(-ENODEV, self.bad.hear()[0][3])
        return peer

    def fill(self):
        numbers = [self.open(self.bad) for _ in range(self.objects)]
        files, peer = self.files(), self.slow()
        self.files_become(files)
        return numbers, files, peer

    def test_opens(self):
        """Further opens fail without a call of the driver."""
        _, files, _ = self.fill()
        with open("/dev/null", "rb+", buffering=0) as file:
            for _ in range(100):
                if not self.bad.ask(OPEN, number=self.null, value=os.O_RDWR)[0]:
                    self.bad.ask(OPENED, number=self.null, fds=[file.fileno()])
        self.assertEqual(files, self.files())
        self.assertEqual(-errno.EMFILE, self.bad.ask(OPEN, number=self.null, value=os.O_RDWR)[0])


class Limits(Engine):
    """vgpud changes the guest's limits while the guest has objects and mappings."""

    extra = 20

    def limit(self, objects=64, mappings=100, mapped=MAPPED, all_mappings=0):
        limits = struct.pack("=8I2Q", 64, 8, objects, 64, 1 << 20, 1024, mappings, 0, mapped, KEPT)
        os.pwrite(self.shared, limits, 0)
        self.agent.send(struct.pack("=II", LIMITS, all_mappings) + limits)
        # The guest is told of this export after the engine has read the limits.
        self.grant(self.extra, 1, 3)
        self.extra += 1

    def room(self, shadow, length=4096):
        return shadow.ask(ROOM, value=length)[0]

    def test_objects(self):
        """Objects beyond a new limit stay, and the guest gets no more."""
        for _ in range(4):
            self.open(self.bad)
        self.limit(objects=2)
        self.assertEqual(-errno.EMFILE, self.bad.ask(OPEN, number=self.null, value=os.O_RDWR)[0])
        self.assertEqual(4, self.counts()[3])
        self.limit(objects=5)
        self.open(self.bad)
        self.assertEqual(-errno.EMFILE, self.bad.ask(OPEN, number=self.null, value=os.O_RDWR)[0])

    def test_mappings(self):
        """A shadow that had more mappings than a new limit allows is not taken for a liar."""
        for _ in range(150):
            self.assertEqual(0, self.room(self.bad))
        self.limit(mappings=1)
        self.assertEqual(-errno.ENOMEM, self.room(self.bad))
        self.bad.say(USAGE, value=(1 << 64) - 4096, extra=(1 << 32) - 1)
        self.counts_become((149 * 4096, None, None, None, 149))
        self.assertEqual(-errno.ENOMEM, self.room(self.bad))

    def test_bytes(self):
        self.assertEqual(0, self.room(self.bad, 3 * 4096))
        self.limit(mapped=4 * 4096)
        self.assertEqual(-errno.ENOMEM, self.room(self.other, 2 * 4096))
        self.limit(mapped=4096)
        self.assertEqual(-errno.ENOMEM, self.room(self.other))
        self.limit(mapped=4 * 4096)
        self.assertEqual(0, self.room(self.other))

    def test_all(self):
        """The mappings of all shadows count."""
        self.limit(all_mappings=2)
        self.assertEqual([0, 0, -errno.ENOMEM, -errno.ENOMEM],
                         [self.room(shadow) for shadow in (self.bad, self.other, self.bad, self.other)])
        self.limit(all_mappings=3)
        self.assertEqual(0, self.room(self.other))


class Turns(Engine):
    """Lanes wait for vgpud to give them a turn at a device."""

    device = 3

    def setUp(self):
        super().setUp()
        self.grant(9, 1, 5, submits=(0x6401, 0x6402), device=self.device)

    def said(self):
        """Returns the next message about a submission: its type, device and number."""
        self.assertTrue(select.select([self.sessions], [], [], WAIT)[0])
        return struct.unpack("=IIQ", os.read(self.sessions, 16))

    def silent(self):
        self.assertFalse(select.select([self.sessions], [], [], NOTHING)[0])

    def admit(self, number):
        self.agent.send(struct.pack("=IIQ", ADMIT, 0, number))

    def answered(self, shadow, lane):
        got = shadow.hear()[0]
        self.assertEqual((ANSWER, lane), got[:2])
        return got[3]

    def test_turns(self):
        for number, shadow in enumerate((self.other, self.bad)):
            shadow.say(SUBMIT, lane=1, number=self.device)
            self.assertEqual((AGENT_SUBMIT, self.device, number), self.said())
        self.admit(1)
        self.admit(0)
        for shadow in (self.other, self.bad):
            self.assertEqual(0, self.answered(shadow, 1))
        self.other.say(SUBMITTED, lane=1)
        self.assertEqual((AGENT_SUBMITTED, 0, 0), self.said())
        self.serves()

    def test_list(self):
        """A shadow gets the list of ioctls that give a device work behind the policy's list."""
        number = self.open(self.other, self.grant(10, 1, 7, [0x6405], submits=(0x6401, 0x6402), device=5),
                           "/dev/full")
        _, policy, fds = self.other.ask(FIND, number=number)
        for fd in fds:
            os.close(fd)
        self.assertEqual((5, 2, 0, 0x6405, 0x6401, 0x6402), struct.unpack_from("=6I", policy, 52))

    def test_cancels(self):
        """The answer comes at once. The number is free when vgpud has answered, too."""
        self.other.say(SUBMIT, lane=1, number=self.device)
        self.assertEqual((AGENT_SUBMIT, self.device, 0), self.said())
        self.other.say(UNSUBMIT, lane=1)
        self.assertEqual(-EINTR, self.answered(self.other, 1))
        self.assertEqual((AGENT_SUBMITTED, 0, 0), self.said())
        self.other.say(SUBMIT, lane=1, number=self.device)
        self.assertEqual((AGENT_SUBMIT, self.device, 1), self.said())
        self.admit(0)
        self.admit(1)
        self.assertEqual(0, self.answered(self.other, 1))
        # The turn has come first.
        self.other.say(UNSUBMIT, lane=1)
        self.other.say(SUBMITTED, lane=1)
        self.assertEqual((AGENT_SUBMITTED, 0, 1), self.said())
        self.serves()

    def test_death(self):
        """The turns and the waits of a shadow end with it."""
        for lane in (1, 2):
            self.bad.say(SUBMIT, lane=lane, number=self.device)
            self.assertEqual((AGENT_SUBMIT, self.device, lane - 1), self.said())
        self.admit(0)
        self.assertEqual(0, self.answered(self.bad, 1))
        self.bad.end()
        # The one that waits is given up first.
        self.assertEqual([(AGENT_SUBMITTED, 0, number) for number in (1, 0)], [self.said(), self.said()])
        self.assertEqual(self.bad.number, self.over())
        self.serves()

    def test_many(self):
        """Lanes that find no number wait for one. Their number is limited by that of lanes."""
        for lane in range(SUBMISSIONS + 2):
            self.other.say(SUBMIT, lane=lane, number=self.device)
        for number in range(SUBMISSIONS):
            self.assertEqual((AGENT_SUBMIT, self.device, number), self.said())
        self.silent()
        self.other.say(UNSUBMIT, lane=SUBMISSIONS)
        self.assertEqual(-EINTR, self.answered(self.other, SUBMISSIONS))
        self.admit(5)
        self.assertEqual(0, self.answered(self.other, 5))
        self.other.say(SUBMITTED, lane=5)
        self.assertEqual((AGENT_SUBMITTED, 0, 5), self.said())
        self.assertEqual((AGENT_SUBMIT, self.device, 5), self.said())
        self.serves()

    def test_strange(self):
        """vgpud hears of no device that the guest does not have, and of no lane that there is not."""
        for lane, device in ((1, self.device + 1), (1, 64), (1, 0xffffffff), (LANES, self.device)):
            self.assertEqual(-errno.EINVAL, self.bad.ask(SUBMIT, lane=lane, number=device)[0])
        self.silent()
        self.admit(0)
        self.admit(SUBMISSIONS)
        self.admit(1 << 63)
        self.bad.say(UNSUBMIT, lane=1)
        self.serves()

    def test_twice(self):
        def send(shadow):
            for _ in range(2):
                shadow.say(SUBMIT, lane=1, number=self.device)
            self.assertEqual((AGENT_SUBMIT, self.device, 0), self.said())
        send(self.bad)
        self.assertEqual(CLOSED, self.said()[0])
        self.bad.end()
        self.assertEqual((AGENT_SUBMITTED, 0, 0), self.said())
        self.assertEqual(self.bad.number, self.over())
        self.serves()

    def test_no_turn(self):
        self.refuses(lambda shadow: shadow.say(SUBMITTED, lane=1))

    def test_adopted(self):
        """Another vgpud is asked for the turns that lanes wait for or have, and for no others."""
        for lane in (1, 2, 3):
            self.other.say(SUBMIT, lane=lane, number=self.device)
            self.assertEqual((AGENT_SUBMIT, self.device, lane - 1), self.said())
        self.admit(0)
        self.assertEqual(0, self.answered(self.other, 1))
        self.other.say(UNSUBMIT, lane=3)
        self.assertEqual(-EINTR, self.answered(self.other, 3))
        self.assertEqual((AGENT_SUBMITTED, 0, 2), self.said())
        self.agent.send(struct.pack("=IIQ", ADOPT, 0, 0))
        self.assertEqual((ADOPTED, 0, 0), self.said())
        self.assertEqual([(AGENT_SUBMIT, self.device, number) for number in (0, 1)], [self.said(), self.said()])
        # The number that was given up is free. The turn of number 0 is over before vgpud has given it again.
        self.other.say(SUBMIT, lane=3, number=self.device)
        self.assertEqual((AGENT_SUBMIT, self.device, 2), self.said())
        self.other.say(SUBMITTED, lane=1)
        self.assertEqual((AGENT_SUBMITTED, 0, 0), self.said())
        self.other.say(SUBMIT, lane=1, number=self.device)
        self.assertEqual((AGENT_SUBMIT, self.device, 3), self.said())
        self.admit(0)
        for number, lane in ((1, 2), (3, 1)):
            self.admit(number)
            self.assertEqual(0, self.answered(self.other, lane))
        self.silent()
        self.serves()


class Adopted(Engine):
    """Another vgpud takes the engine over, and tells of all grants again."""

    def test_same(self):
        """The guest is not told of a grant that it has."""
        number = self.open(self.other)
        self.tell_grant(7, 1, 3)
        self.tell_grant(8, 1, 5)
        self.assertEqual((0, 1), self.find(self.other, number))
        self.open(self.other)
        self.assertFalse(select.select([self.guest], [], [], NOTHING)[0])
        self.serves()

    def test_changed(self):
        """A grant with other terms takes the place of the old one. Open files stay."""
        number, old = self.open(self.other), self.null
        self.tell_grant(7, 1, 3, ioctls=[0x6405])
        kind, _, body = self.told()
        self.assertEqual((MSG_EXPORT_DEL, old), (kind, struct.unpack_from("<I", body)[0]))
        kind, _, body = self.told()
        self.assertEqual(MSG_EXPORT_ADD, kind)
        self.null = struct.unpack_from("<I", body)[0]
        self.assertNotEqual(old, self.null)
        self.assertEqual((0, 1), self.find(self.other, number))
        self.assertEqual(-errno.ENODEV, self.other.ask(OPEN, number=old, value=os.O_RDWR)[0])
        self.serves()

    def test_check(self):
        """The engine tells which sessions have ended."""
        for session in (self.other.number, 99, self.bad.number):
            self.agent.send(struct.pack("=IIQ", CHECK, 0, session))
        self.assertEqual(99, self.over())
        self.assertIsNone(self.over(NOTHING))
        self.serves()


class Numbers(Engine):
    """The process number (TGID) of a dead shadow is not reused while files are open by which a
    driver may know that number."""

    def setUp(self):
        super().setUp()
        self.card = self.grant(9, 1, 7, kind=NVIDIA)

    def died(self, shadow):
        shadow.end()
        self.assertEqual(shadow.number, self.over())
        self.assertIsNone(self.over(NOTHING))
        self.assertEqual([], self.reaped)

    def is_held(self, shadow, objects):
        """Checks that a shadow is not reaped while the guest has that number of objects."""
        self.counts_become((None, None, None, objects, None))
        self.assertIsNone(self.over(RELEASE + 1))
        self.assertNotIn(shadow.number, self.reaped)

    def drops(self, shadow, number):
        """Checks that a shadow is asked to close a file; closes the file."""
        self.assertEqual((DROP, number), operator.itemgetter(0, 2)(shadow.hear()[0]))
        shadow.say(DROPPED, number=number)

    def gives_back(self, *numbers):
        """Lets the guest close files by messages, so that no shadow closes them after the
        engine."""
        for number in numbers:
            self.tell(MSG_CLOSE, struct.pack("<II", number, 0))

    def test_of_files_that_it_had(self):
        first, second = (self.open(self.other, self.card, "/dev/full") for _ in range(2))
        for number in (first, first, second):
            self.assertEqual((0, 1), self.find(self.bad, number))
        self.died(self.bad)
        self.gives_back(first)
        self.is_held(self.bad, 1)
        self.gives_back(second)
        self.reaps(self.bad.number)

    def test_of_files_that_it_gave(self):
        """A shadow may have used files before it gave them to the engine."""
        opened = self.open(self.bad, self.card, "/dev/full")
        with open("/dev/full", "rb+", buffering=0) as file:
            result, desc, _ = self.bad.ask(MADE, number=opened, fds=[file.fileno()])
        self.assertEqual(0, result)
        self.bad.say(ACKED)
        self.died(self.bad)
        self.gives_back(opened)
        self.is_held(self.bad, 1)
        self.gives_back(struct.unpack_from("<I", desc)[0])
        self.reaps(self.bad.number)

    def test_of_a_file_of_the_family(self):
        """A file that the shadow never had counts, too: the driver may have registered it with
        one that the shadow had, or the other way round."""
        its, others = (self.open(self.other, self.card, "/dev/full") for _ in range(2))
        self.assertEqual((0, 1), self.find(self.other, others))
        self.assertEqual((0, 1), self.find(self.bad, its))
        self.died(self.bad)
        self.gives_back(its)
        self.is_held(self.bad, 1)
        self.gives_back(others)
        self.drops(self.other, others)
        self.reaps(self.bad.number)
        self.other.end()
        self.assertEqual(self.other.number, self.over())
        self.reaps(self.bad.number, self.other.number)

    def test_of_a_file_that_somebody_keeps(self):
        """A shadow may claim to have closed a file that is still open elsewhere."""
        random = self.grant(10, 1, 8, kind=NVIDIA)
        with open("/dev/random", "rb+", buffering=0) as file:
            _, desc, _ = self.bad.ask(OPENED, number=random, fds=[file.fileno()])
            number = struct.unpack_from("<I", desc)[0]
            self.bad.say(ACKED)
            self.died(self.bad)
            self.gives_back(number)
            self.is_held(self.bad, 0)
        self.reaps(self.bad.number)

    def test_of_other_files(self):
        self.assertEqual((0, 1), self.find(self.bad, self.open(self.other)))
        self.open(self.other, self.card, "/dev/full")
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.reaps(self.bad.number)


class Hostile(Engine):
    def test_serves_both(self):
        number = self.open(self.bad)
        self.assertEqual((0, 1), self.find(self.other, number))
        self.serves()
        self.assertIsNone(self.over(NOTHING))

    def test_ends_before_the_ack(self):
        """The engine takes back an object whose answer may not have reached the guest, and no
        other."""
        has, lacks = self.open(self.bad), self.open(self.bad, acked=False)
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.assertEqual((0, 1), self.find(self.other, has))
        self.assertEqual((-errno.EBADF, 0), self.find(self.other, lacks))
        self.serves()

    def test_ack_of_another_lane(self):
        """An ACKED of another lane does not mean that the guest has this lane's object."""
        lacks = self.open(self.bad, acked=False)
        self.bad.say(ACKED, lane=1, value=0)
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.assertEqual((-errno.EBADF, 0), self.find(self.other, lacks))
        self.serves()

    def test_acks_twice(self):
        """A second ACKED acknowledges nothing more, and no later object."""
        has = self.open(self.bad)
        self.bad.say(ACKED)
        lacks = self.open(self.bad, acked=False)
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.assertEqual((0, 1), self.find(self.other, has))
        self.assertEqual((-errno.EBADF, 0), self.find(self.other, lacks))
        self.serves()

    def test_closed_before_the_ack(self):
        """A reference that the guest has given back is not taken back again in place of another
        one."""
        with open("/dev/null", "rb+", buffering=0) as file:
            result, desc, _ = self.bad.ask(OPENED, number=self.null, fds=[file.fileno()])
            self.assertEqual(0, result)
            number = struct.unpack_from("<I", desc)[0]
            self.bad.say(ACKED)
            # The guest closes this second reference to the same object before it is acknowledged.
            result, again, _ = self.bad.ask(MADE, number=number, fds=[file.fileno()])
            self.assertEqual((0, number), (result, struct.unpack_from("<I", again)[0]))
        self.assertEqual(0, self.other.ask(CLOSE, number=number, value=1)[0])
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.assertEqual((0, 1), self.find(self.other, number))
        self.assertEqual(1, self.other.ask(CLOSE, number=number, value=0)[0])
        self.serves()

    def test_gives_without_acks(self):
        for _ in range(8 * 64):
            self.open(self.bad, acked=False)
        self.assertEqual(0, self.bad.ask(OPEN, number=self.null, value=os.O_RDWR)[0])
        with open("/dev/null", "rb+", buffering=0) as file:
            self.assertEqual(-errno.ENOMEM, self.bad.ask(OPENED, number=self.null, fds=[file.fileno()])[0])
        self.counts_become((None, 2, None, 8 * 64, None))
        self.serves()
        self.bad.say(ACKED)
        self.open(self.bad)

    def test_closes_without_acks(self):
        """Objects that the guest has closed do not count as unacknowledged."""
        for _ in range(8 * 64 + 1):
            number = self.open(self.bad, acked=False)
            self.assertEqual(1, self.bad.ask(CLOSE, number=number)[0])
        self.serves()

    def test_messages_that_are_none(self):
        whole = message(OPEN, number=self.null)
        for wrong in (b"", b"x", whole[:-1], whole + b"x", message(BIND)[:-1], message(BIND) + b"x", bytes(4096),
                      message(0), message(18), message(19), message(40), message(0xffffffff), message(ANSWER),
                      message(DROP), message(UNMAP), message(END), message(RAM)):
            self.refuses(lambda shadow, wrong=wrong: shadow.sock.send(wrong))
            self.bad = Shadow(self, self.bad.number + 1)

    def test_files_where_none_belong(self):
        with open("/dev/null", "rb+", buffering=0) as file:
            for kind, files in ((OPEN, 1), (CLOSE, 1), (USAGE, 1), (77, 1), (OPENED, 2), (MADE, 253), (EVENT, 2)):
                self.refuses(lambda shadow, kind=kind, files=files:
                             shadow.say(kind, number=self.null, fds=[file.fileno()] * files))
                self.bad = Shadow(self, self.bad.number + 1)

    def test_files_that_lack(self):
        number = self.open(self.bad)
        for kind in (OPENED, MADE, EVENT):
            self.assertLess(self.bad.ask(kind, number=number)[0], 0)
        self.serves()

    def test_objects_that_are_none(self):
        for kind in (MADE, FIND, CLOSE, POLL, FDINFO, EVENT, BIND, MAPS, MASTER, QUIET, OWNER, SHOW):
            self.assertLess(self.bad.ask(kind, number=12345, value=1, extra=1)[0], 0, kind)
        for kind in (TAKE_BACK, UNEVENT, DROPPED, UNSYNC, ACKED, SHOWN):
            self.bad.say(kind, number=12345, value=1)
        for kind in (OPEN, OPENED):
            self.assertEqual(-ENODEV, self.bad.ask(kind, number=12345)[0])
        self.serves()
        self.assertIsNone(self.over(NOTHING))

    def test_files_that_are_not_the_export(self):
        for path, flags, error in (("/dev/zero", os.O_RDWR, ENODEV), (sys.argv[0], os.O_RDONLY, ENODEV),
                                   ("/", os.O_RDONLY, ENODEV), ("/dev/null", os.O_PATH, EBADF)):
            fd = os.open(path, flags)
            self.assertEqual(-error, self.bad.ask(OPENED, number=self.null, fds=[fd])[0], path)
            os.close(fd)
        self.assertEqual(-ENODEV, self.bad.ask(OPENED, number=self.null, fds=[self.bad.sock.fileno()])[0])
        self.assertEqual((2, 0), (self.counts()[1], self.counts()[3]))
        self.serves()

    def ended_with(self, *messages):
        """Lets a shadow send messages (bytes and files) and end before the engine reads them."""
        self.engine.send_signal(signal.SIGSTOP)
        for data, fds in messages:
            self.bad.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        self.bad.end()
        self.engine.send_signal(signal.SIGCONT)

    def test_files_without_a_message(self):
        # The engine has the shadow's connection when it has answered.
        self.assertEqual(-EBADF, self.bad.ask(FIND, number=1)[0])
        files = len(os.listdir(f"/proc/{self.engine.pid}/fd"))
        with open("/dev/null", "rb+", buffering=0) as file:
            self.ended_with((b"", [file.fileno()] * 100))
            self.assertEqual(2, self.over())
            end = time.monotonic() + WAIT
            while (now := len(os.listdir(f"/proc/{self.engine.pid}/fd"))) >= files and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(files - 1, now)
        self.serves()

    def test_sends_its_own_end(self):
        self.bad.sock.sendmsg([b"x"])
        self.assertEqual(2, self.over())
        self.ended_with((message(MADE, number=1), [self.bad.sock.fileno()]))
        self.assertEqual(2, self.over())
        self.serves()

    def test_makes_another_device(self):
        number = self.open(self.bad)
        for path, error in (("/dev/zero", EBADF), ("/dev/null", 0)):
            fd = os.open(path, os.O_RDWR)
            self.assertEqual(-error, self.bad.ask(MADE, number=number, fds=[fd])[0], path)
            os.close(fd)
        # A file of an object that the guest has already gets the same object.
        with open("/dev/zero", "rb+", buffering=0) as file:
            _, zero, _ = self.bad.ask(OPENED, number=self.zero, fds=[file.fileno()])
            result, again, _ = self.bad.ask(MADE, number=number, fds=[file.fileno()])
            self.assertEqual((0, zero[:4]), (result, again[:4]))
        self.serves()

    def test_makes_a_master(self):
        for export, master, error in ((9, False, EBADF), (10, True, 0)):
            grant = self.grant(export, 1, 7, kind=DRM_PRIMARY, master=master)
            number = self.open(self.bad, grant, "/dev/full")
            fd = os.open("/dev/full", os.O_RDWR)
            self.assertEqual(-error, self.bad.ask(MADE, number=number, fds=[fd])[0])
            os.close(fd)
        self.serves()

    def lists(self, shadow, number):
        """Returns what a shadow gets with an object: whether its list denies, the list, whether
        no_demand is set, and the bits of its limits."""
        result, policy, fds = shadow.ask(FIND, number=number)
        self.assertEqual(0, result)
        for fd in fds:
            os.close(fd)
        _, _, _, _, deny, no_demand, nr = struct.unpack_from("=II4BI", policy)
        limits, = struct.unpack_from("=Q", policy, 40)
        return (bool(deny), list(struct.unpack_from(f"={nr}I", policy, 64)), bool(no_demand)), limits

    def made(self, number, met=0, path=None):
        """Makes an object by a call on another one, while calls with the limits met ran; returns
        its lists()."""
        fd = os.open(path, os.O_RDWR) if path else os.eventfd(0)
        result, desc, _ = self.bad.ask(MADE, number=number, extra=met, fds=[fd])
        os.close(fd)
        self.assertEqual(0, result)
        self.bad.say(ACKED)
        return self.lists(self.other, struct.unpack_from("<I", desc)[0])

    def limited(self, export, ioctls=(), deny=False, no_demand=False):
        """Opens an export with limits; returns the object, and the bit for these limits."""
        full = self.open(self.bad, self.grant(export, 1, 7, ioctls, deny, no_demand), "/dev/full")
        limits = self.lists(self.bad, full)[1]
        self.assertEqual(1, limits.bit_count())
        return full, limits

    def test_lists_of_calls_that_ran(self):
        """A new file gets the limits of all calls that ran, because the engine cannot know which
        of them has made the file."""
        nothing = (False, [], False), 0
        free = self.open(self.bad)
        self.assertEqual(nothing, self.lists(self.bad, free))
        self.assertEqual(nothing, self.made(free))
        full, denied = self.limited(9, [0x6201, 0x6201, 0x6203], deny=True)
        wanted = (True, [0x6201, 0x6203], False), denied
        # The limits are those of the call's object, whatever the shadow claims, and of other calls.
        self.assertEqual(wanted, self.made(full))
        self.assertEqual(wanted, self.made(free, denied))
        self.assertEqual(nothing, self.made(free))
        # A file of an exported device gets the limits of its export.
        self.assertEqual(nothing, self.made(free, denied, "/dev/null"))
        # An ioctl is denied if one list denies it, and allowed if all lists allow it.
        met = denied
        for export, ioctls, deny, wanted in (
                (10, [0x6200, 0x6203], True, (True, [0x6200, 0x6201, 0x6203])),
                (11, [0x6200, 0x6201, 0x6201, 0x6202, 0x6204], False, (False, [0x6202, 0x6204])),
                (12, [0x6202, 0x6202], True, (False, [0x6204])),
                (13, [0x6203, 0x6204, 0x6205], False, (False, [0x6204])),
                (14, [0x6204], True, (False, [0xffffffff])),
                (15, [0x6204], False, (False, [0xffffffff]))):
            met |= self.limited(export, ioctls, deny)[1]
            self.assertEqual(((*wanted, False), met), self.made(free, met))
        full, waits = self.limited(16, no_demand=True)
        self.assertEqual(((False, [], True), waits), self.made(full))
        self.assertEqual(((False, [0xffffffff], True), met | waits), self.made(free, met | waits))
        # Exports with the same limits share a bit.
        self.assertEqual(denied, self.limited(17, [0x6201, 0x6203], deny=True)[1])
        self.serves()

    def audited(self, shadow, number):
        """Returns what lists() returns first, and whether ioctls pass that the list denies."""
        _, policy, fds = shadow.ask(FIND, number=number)
        for fd in fds:
            os.close(fd)
        return self.lists(shadow, number)[0], bool(struct.unpack_from("=I", policy, 48)[0])

    def test_lists_that_audit(self):
        """A list that audits denies nothing, and does not weaken a list that does."""
        full = self.open(self.bad, self.grant(9, 1, 7, [0x6201], audit=True), "/dev/full")
        self.assertEqual(((False, [0x6201], False), True), self.audited(self.bad, full))
        strict, denied = self.limited(10, [0x6202], deny=True)
        audits = self.lists(self.bad, full)[1]
        self.assertNotEqual(audits, denied)
        for maker, met, wanted in ((full, 0, ((False, [0x6201], False), True)),
                                   (full, denied, ((True, [0x6202], False), False)),
                                   (strict, audits, ((True, [0x6202], False), False))):
            fd = os.eventfd(0)
            result, desc, _ = self.bad.ask(MADE, number=maker, extra=met, fds=[fd])
            os.close(fd)
            self.assertEqual(0, result)
            self.bad.say(ACKED)
            self.assertEqual(wanted, self.audited(self.other, struct.unpack_from("<I", desc)[0]))
        self.serves()

    def test_files_that_are_taken(self):
        """An export is taken back with its files: shadows end that have used one, and no others."""
        full = self.open(self.bad, self.grant(9, 1, 7), "/dev/full")
        self.assertEqual((0, 1), self.find(self.bad, full))
        fd = os.eventfd(0)
        result, desc, _ = self.bad.ask(MADE, number=full, fds=[fd])
        os.close(fd)
        self.assertEqual(0, result)
        made = struct.unpack_from("<I", desc)[0]
        self.bad.say(ACKED)
        null = self.open(self.other)
        self.assertEqual((0, 1), self.find(self.other, null))
        self.counts_become((None, None, None, 3, None))
        self.agent.send(struct.pack("=IIQ", REVOKE, NOW, 9))
        self.assertEqual(MSG_EXPORT_DEL, self.told()[0])
        self.ends(self.bad)
        self.counts_become((None, None, None, 1, None))
        for number in (full, made):
            self.assertEqual((-errno.EBADF, 0), self.find(self.other, number))
        self.assertEqual((0, 1), self.find(self.other, null))
        self.assertEqual(1, self.other.ask(CLOSE, number=null)[0])
        self.serves()

    def test_lists_without_room(self):
        """An object gets a list that allows nothing if the real one is too long or has no bit."""
        free, met = self.open(self.bad), 0
        for export in (9, 10):
            met |= self.limited(export, range(export, 2048 + export, 2), deny=True)[1]
        self.assertEqual((False, [0xffffffff], False), self.made(free, met)[0])
        for export in range(11, 75):
            full, limits = self.limited(export, [export])
        self.assertEqual(1 << 63, limits)
        self.assertEqual(((False, [0xffffffff], True), limits), self.made(full))
        # The device itself has a list of its own.
        self.assertEqual(((False, [74], False), limits), self.lists(self.bad, full))
        self.serves()

    def test_files_of_its_own(self):
        number = self.open(self.bad)
        with contextlib.ExitStack() as stack:
            epoll = stack.enter_context(select.epoll())
            own = [self.bad.sock.fileno(), epoll.fileno()]
            # A thread of the shadow can hold the lock of such a file, for which the engine would wait.
            for path in ("/proc/self/maps", "/proc", "/"):
                own.append(os.open(path, os.O_RDONLY))
            shared = os.memfd_create("shared")
            own += [shared, os.open(f"/proc/self/fd/{shared}", os.O_RDONLY)]
            with contextlib.suppress(FileNotFoundError):
                with open("/dev/userfaultfd", "rb+", buffering=0) as device:
                    own.append(fcntl.ioctl(device, 0xaa00, os.O_CLOEXEC))
            for fd in own:
                self.assertEqual(-EBADF, self.bad.ask(MADE, number=number, fds=[fd])[0])
            self.assertEqual(-EBADF, self.bad.ask(EVENT, number=number, value=1, fds=[self.bad.sock.fileno()])[0])
            for fd in own[2:]:
                os.close(fd)
        # The engine sees the shadow's end, because it kept none of these files.
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.serves()

    def test_signals_that_do_not_fit(self):
        # The kernel sends SIGIO if the user has as many queued signals as allowed.
        self.engine.send_signal(signal.SIGIO)
        self.serves()
        self.serves()

    def test_usage(self):
        self.assertEqual(0, self.other.ask(ROOM, value=8192)[0])
        self.assertEqual(0, self.bad.ask(ROOM, value=4096)[0])
        self.assertEqual((12288, 2, 0, 0, 2), self.counts())
        for value, mappings, lanes in ((1, 0, 0), (-4097, 0, 0), (-(1 << 63), 0, 0), (0, -2, 0), (0, 1 << 30, 0),
                                       (0, 0, -1), (0, 0, 9)):
            self.refuses(lambda shadow, value=value, extra=mappings % (1 << 32) | lanes % (1 << 32) << 32:
                         shadow.say(USAGE, value=value, extra=extra))
            # A file counts until a thread of the engine has closed it.
            self.counts_become((8192, None, 0, 0, 1))
            self.bad = Shadow(self, self.bad.number + 1)
            self.assertEqual(0, self.bad.ask(ROOM, value=4096)[0])
        for value in (MAPPED, 1 << 63, (1 << 64) - 1):
            self.assertEqual(-ENOMEM, self.bad.ask(ROOM, value=value)[0])
        self.assertEqual(0, self.bad.ask(ROOM, value=MAPPED - 12288)[0])
        self.assertEqual(-ENOMEM, self.other.ask(ROOM, value=1)[0])
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        self.counts_become((8192, 1, 0, 0, 1))
        self.serves()

    def test_does_not_read_files(self):
        number = self.open(self.bad)
        self.bad.sock.setblocking(False)
        for lane in range(120):
            self.bad.say(FIND, lane=lane, number=number)
        # The engine has sent as many files as it does without the shadow reading them.
        end = time.monotonic() + NOTHING
        while time.monotonic() < end:
            self.serves()
        waiting = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                files = socket.recv_fds(self.bad.sock, 8192, 4)[1]
                waiting += len(files)
                for fd in files:
                    os.close(fd)
        self.assertEqual(64, waiting)
        self.bad.sock.settimeout(WAIT)
        while waiting < 120:
            _, _, files = self.bad.hear()
            waiting += len(files)
            for fd in files:
                os.close(fd)
        self.assertIsNone(self.over(NOTHING))

    def test_does_not_read(self):
        number = self.open(self.bad)
        self.bad.sock.settimeout(1)
        with contextlib.suppress(TimeoutError):
            for _ in range(100000):
                self.bad.say(FDINFO, number=number)
        self.ends(self.bad)
        self.serves()

    def test_guest_reads_slowly(self):
        number = self.open(self.bad)
        self.bad.sock.setblocking(False)
        said = heard = 0
        with open(os.eventfd(1), "rb", buffering=0) as file:
            # The loop ends when the engine takes no more, because the guest does not read its
            # events.
            end = time.monotonic() + WAIT
            last = time.monotonic()
            while last + 0.5 > time.monotonic() < end:
                if said < heard + 100:
                    self.bad.say(EVENT, number=number, value=said, fds=[file.fileno()])
                    said += 1
                with contextlib.suppress(BlockingIOError):
                    self.assertEqual(0, self.bad.hear()[0][3])
                    heard += 1
                    last = time.monotonic()
        for _ in range(said):
            self.assertEqual(MSG_EVENT, self.told()[0])
        self.assertGreater(said, 5000)
        self.assertLess(said, OBJECTS)
        self.bad.sock.settimeout(WAIT)
        while heard < said:
            self.assertEqual(0, self.bad.hear()[0][3])
            heard += 1
        self.serves()

    def test_dies_in_a_call(self):
        number = self.open(self.bad)
        self.assertEqual((0, 1), self.find(self.bad, number))
        self.bad.say(SYNC, lane=3, value=1000)
        self.tell(MSG_CLOSE, struct.pack("<II", number, 0))
        self.assertEqual((DROP, number), self.bad.hear()[0][::2][:2])
        self.other.say(SYNC, value=self.seq)
        self.assertEqual([], select.select([self.other.sock], [], [], NOTHING)[0])
        self.bad.end()
        self.assertEqual(0, self.other.hear()[0][3])
        self.assertEqual(self.bad.number, self.over())
        self.serves()

    def test_does_not_close(self):
        number = self.open(self.bad)
        self.assertEqual((0, 1), self.find(self.bad, number))
        self.tell(MSG_CLOSE, struct.pack("<II", number, 0))
        self.other.say(SYNC, value=self.seq)
        self.ends(self.bad)
        self.assertEqual(0, self.other.hear()[0][3])
        self.serves()

    def master(self, export, room=None):
        """Returns the connection of vgpu-engine-master, which is simulated here. room: size of
        its send buffer in bytes, if any"""
        sock, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if room:
            its.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room)
        sock.settimeout(WAIT)
        self.addCleanup(sock.close)
        socket.send_fds(self.agent, [struct.pack("=IIQ", AGENT_MASTER, 0, export)], [its.fileno()])
        its.close()
        # The engine reads vgpud's messages in order: it has the connection when the guest gets
        # this export, which it has not had before.
        self.seen = getattr(self, "seen", 100) + 1
        self.grant(self.seen, 1, 7)
        return sock

    def master_is_asked(self, sock, path="/dev/null"):
        """Receives a request to the master program; returns the beginning of its answer."""
        data, fds, _, _ = socket.recv_fds(sock, 100, 4)
        self.assertEqual([path], [os.readlink(f"/proc/self/fd/{fd}") for fd in fds])
        for fd in fds:
            os.close(fd)
        return data[:12]

    def test_masters(self):
        number, zero = self.open(self.bad), self.open(self.bad, self.zero, "/dev/zero")
        self.assertEqual(-EACCES, self.bad.ask(MASTER, number=number, value=SET_MASTER)[0])
        sock = self.master(7)
        # The program of export 7 gets no request for another export's file.
        self.assertEqual(-EACCES, self.bad.ask(MASTER, number=zero, value=SET_MASTER)[0])
        for result in (0, -EBUSY):
            self.other.say(MASTER, lane=3, number=number, value=SET_MASTER)
            request = self.master_is_asked(sock)
            self.assertEqual(SET_MASTER, struct.unpack("=QI", request)[1])
            # The engine ignores an answer to no request.
            sock.send(bytes(12) + struct.pack("=i", 0))
            sock.send(request + struct.pack("=i", result))
            self.assertEqual((ANSWER, 3, 0, result), self.other.hear()[0][:4])
        self.serves()

    def test_masters_many(self):
        number = self.open(self.bad)
        sock = self.master(7)
        self.bad.say(MASTER, lane=0, number=number, value=SET_MASTER)
        for lane in (0, 0, 1 << 31, (1 << 32) - 1):
            self.assertEqual(-EACCES, self.bad.ask(MASTER, lane=lane, number=number, value=SET_MASTER)[0])
        self.other.say(MASTER, lane=0, number=number, value=SET_MASTER)
        first, second = self.master_is_asked(sock), self.master_is_asked(sock)
        # The shadow that has ended gets no answer, and the other one gets its own.
        self.bad.end()
        self.assertEqual(self.bad.number, self.over())
        for request in (first, second):
            sock.send(request + struct.pack("=i", -EBUSY))
        self.assertEqual(-EBUSY, self.other.hear()[0][3])
        self.serves()

    def test_masters_late(self):
        number = self.open(self.bad)
        sock = self.master(7)
        self.bad.say(MASTER, lane=1, number=number, value=SET_MASTER)
        late = self.master_is_asked(sock)
        self.assertEqual((ANSWER, 1, 0, -EINTR), self.bad.hear()[0][:4])
        # The lane may ask again, and gets the answer to its second request.
        self.bad.say(MASTER, lane=1, number=number, value=SET_MASTER)
        request = self.master_is_asked(sock)
        sock.send(late + struct.pack("=i", 0))
        sock.send(request + struct.pack("=i", -EBUSY))
        self.assertEqual((ANSWER, 1, 0, -EBUSY), self.bad.hear()[0][:4])
        self.serves()

    def test_masters_file(self):
        number = self.open(self.bad)
        sock = self.master(7)
        self.bad.say(MASTER, lane=1, number=number, value=SET_MASTER)
        request = self.master_is_asked(sock)
        ours, theirs = os.pipe()
        socket.send_fds(sock, [request + struct.pack("=i", 0)], [theirs])
        os.close(theirs)
        self.assertEqual((ANSWER, 1, 0, 0), self.bad.hear()[0][:4])
        # The engine does not keep a file that comes with an answer.
        self.assertTrue(select.select([ours], [], [], 10)[0])
        self.assertEqual(b"", os.read(ours, 1))
        os.close(ours)
        self.serves()

    def test_masters_full(self):
        number = self.open(self.bad)
        self.master(7, room=1)
        for lane in range(LANES):
            self.bad.say(MASTER, lane=lane, number=number, value=SET_MASTER)
        self.assertEqual(-EACCES, self.bad.hear()[0][3])
        self.serves()

    def test_masters_end(self):
        number = self.open(self.bad)
        sock = self.master(7)
        self.bad.say(MASTER, number=number, value=SET_MASTER)
        self.master_is_asked(sock)
        sock.close()
        self.assertEqual(-EACCES, self.bad.hear()[0][3])
        self.assertEqual(-EACCES, self.bad.ask(MASTER, number=number, value=SET_MASTER)[0])
        # A revoked export has no master program.
        sock = self.master(7)
        self.bad.say(MASTER, number=number, value=SET_MASTER)
        self.master_is_asked(sock)
        self.agent.send(struct.pack("=IIQ", REVOKE, 0, 7))
        self.assertEqual(MSG_EXPORT_DEL, self.told()[0])
        self.assertEqual(-EACCES, self.bad.hear()[0][3])
        self.assertEqual(b"", sock.recv(100))
        sock = self.master(8)
        self.assertEqual(-EACCES, self.bad.ask(MASTER, number=number, value=SET_MASTER)[0])
        self.serves_zero()

    def serves_zero(self):
        self.assertEqual((0, 1), self.find(self.other, self.open(self.other, self.zero, "/dev/zero")))

    def test_channels(self):
        """Reports of channels that are none, before and after the engine has a thread for them."""
        number = self.open(self.bad)
        for period, length in ((0, 0), (40000000, 0), (2000000, 1000000), (1 << 63, 1 << 62), (0, 0)):
            for card in (0, 31, 32, 1 << 31):
                self.agent.send(struct.pack("=IIQQQ", SLOT, card, period, 7, length))
            for kind in (RM_MADE, RM_FREED, RM_RUNS):
                for file in (0, number, 77):
                    self.bad.say(kind, number=file, value=5 << 32 | 4, extra=0xc86f << 32 | 4)
        self.agent.send(struct.pack("=II", SLOT, 0))
        self.serves()

    def test_kept_numbers(self):
        objects = {shadow: self.open(shadow) for shadow in (self.bad, self.other)}
        for number in range(KEPT_NUMBERS):
            self.assertEqual(0, self.bad.ask(KEEP, number=objects[self.bad], value=number, extra=4096)[0])
        self.assertEqual(-ENOMEM, self.bad.ask(KEEP, number=objects[self.bad], value=1 << 40, extra=4096)[0])
        for extra in (0, KEPT, (1 << 64) - 1):
            self.assertLess(self.bad.ask(KEEP, number=objects[self.bad], value=1 << 41, extra=extra)[0], 0)
        # Releases of the guest are answered also when all numbers are in use.
        for number in (1 << 40, 5):
            self.tell(MSG_RELEASE, struct.pack("<Q", number))
            self.assertEqual((MSG_RELEASE, self.seq, struct.pack("<Q", number)), self.told())
        self.assertEqual(0, self.other.ask(KEEP, number=objects[self.other], value=1 << 42, extra=4096)[0])
        self.serves()


if __name__ == "__main__":
    del sys.argv[1:]
    main("engine")
