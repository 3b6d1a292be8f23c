#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests what a keeper (userspace-lib/engine/keeper) sends to a hypervisor and to engines, which are
both simulated here. Prints TAP."""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import payload
from unit_tap import main, no_new_privileges

KEEPER = os.path.join(payload.out_dir(), "keeper/engine/keeper/vgpu-keeper")
SIZE = 1 << 30
NUMBER = 0x1234567
PAGE = 4096
WAIT = 60
# Seconds of silence that prove that no message comes: a keeper that is alive and idle answers in
# less time.
NOTHING = 0.3

# Constants of the vhost-user protocol.
(GET_FEATURES, SET_FEATURES, GET_VRING_BASE, GET_PROTOCOL, SET_PROTOCOL, SET_ENABLE, SET_CHANNEL, GET_CONFIG,
 ADD_MEM, REM_MEM, GET_SHMEM) = 1, 2, 11, 15, 16, 18, 21, 24, 37, 38, 44
MAP_REQUEST, UNMAP_REQUEST, SETTLED_REQUEST = 9, 10, 7
NEED_REPLY = 8
SHMEM = 1 << 22
ENXIO, ENODEV, EBUSY, EINVAL, ENOENT = 6, 19, 16, 22, 2
EXIT_FEATURES, EXIT_PROTOCOL = 121, 122
SLOTS = 509

# Constants of shared/keeper_proto.h.
START, ENGINE, MAP, UNMAP, READY, GONE, DONE, RAM = range(1, 9)
MESSAGE = struct.Struct("=IiQQQQQ")


def message(kind, result=0, tag=0, number=0, offset=0, length=0, file_offset=0):
    return MESSAGE.pack(kind, result, tag, number, offset, length, file_offset)


class Keeper(unittest.TestCase):
    def setUp(self):
        self.agent, agent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.qemu, qemu = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.channel, self.channel_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for sock in (self.agent, self.qemu, self.channel):
            sock.settimeout(WAIT)
        self.agent.send(message(START, number=NUMBER, length=SIZE))
        # Number of the last READY.
        self.number = 0

        def place():
            fds = [os.dup(agent.fileno()), os.dup(qemu.fileno()), os.dup(self.state.fileno())]
            for at, fd in enumerate(fds, 3):
                os.dup2(fd, at)
            os.closerange(6, 256)
            no_new_privileges()

        self.state = tempfile.TemporaryFile()
        self.state.truncate(1)
        self.keeper = subprocess.Popen([KEEPER], preexec_fn=place, close_fds=False)
        agent.close()
        qemu.close()
        self.file = os.fdopen(os.memfd_create("memory"), "r+b")
        self.file.truncate(16 * PAGE)

    def tearDown(self):
        self.keeper.kill()
        self.keeper.wait()
        for file in (self.agent, self.qemu, self.channel, self.channel_end, self.file, self.state):
            file.close()

    def ends(self, status):
        self.assertEqual(status, self.keeper.wait(WAIT))

    # --- the hypervisor's side ---

    def ask(self, request, data=b"", fds=(), flags=0):
        socket.send_fds(self.qemu, [struct.pack("=III", request, 1 | flags, len(data)) + data], list(fds))

    @staticmethod
    def take(sock, length):
        data = b""
        while len(data) < length:
            part = sock.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def answer(self, request):
        what, flags, size = struct.unpack("=III", self.take(self.qemu, 12))
        self.assertEqual((request, 5), (what, flags))
        return self.take(self.qemu, size)

    def told(self, request, data=b"", fds=()):
        """Sends a request that has no answer of its own, and waits for its acknowledgement."""
        self.ask(request, data, fds, NEED_REPLY)
        self.assertEqual(bytes(8), self.answer(request))

    def begin(self):
        self.ask(GET_PROTOCOL)
        features, = struct.unpack("=Q", self.answer(GET_PROTOCOL))
        self.assertTrue(features & SHMEM)
        self.told(SET_PROTOCOL, struct.pack("=Q", features))
        self.told(SET_CHANNEL, fds=[self.channel_end.fileno()])

    def enable(self, on=True):
        self.told(SET_ENABLE, struct.pack("=II", 0, on))

    def requested(self, request):
        """Receives a request of the keeper; returns file offset, window offset, length and
        flags."""
        data, fds, _, _ = socket.recv_fds(self.channel, 12 + 40, 4)
        for fd in fds:
            os.close(fd)
        self.assertEqual(12 + 40, len(data))
        what, flags, size, shmid, *rest = struct.unpack("=IIIB7xQQQQ", data)
        self.assertEqual((request, 9, 40, 0, request == MAP_REQUEST), (what, flags, size, shmid, len(fds) == 1))
        return rest

    def grant(self, request, value=0, settle=True):
        """Sends the hypervisor's answer. After an UNMAP it must also answer SETTLED_REQUEST,
        whose object it does not know; its error shows that the UNMAP is complete."""
        self.channel.send(struct.pack("=IIIQ", request, 5, 8, value))
        if request == UNMAP_REQUEST and not value:
            self.assertEqual(struct.pack("=III16x", SETTLED_REQUEST, 9, 16), self.take(self.channel, 28))
            if settle:
                self.grant(SETTLED_REQUEST, 1)

    def memory(self, request, length, file_offset=0, addr=1 << 40, file=None, place=0x7000):
        """Tells the keeper of guest memory. place: the memory's address in the hypervisor"""
        self.told(request, struct.pack("=QQQQQ", 0, addr, length, place, file_offset),
                  [(file or self.file).fileno()] if request == ADD_MEM else ())

    # --- the engine's side ---

    def engine(self):
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.settimeout(WAIT)
        socket.send_fds(self.agent, [message(ENGINE)], [its.fileno()])
        its.close()
        self.addCleanup(mine.close)
        return mine

    def hears(self, engine, kind, result=0, tag=0):
        got = MESSAGE.unpack(engine.recv(256))
        if kind == READY:
            self.number = tag = got[2]
        self.assertEqual((kind, result, tag), got[:3])
        return got

    def silent(self, sock):
        sock.settimeout(NOTHING)
        with self.assertRaises(TimeoutError):
            sock.recv(1)
        sock.settimeout(WAIT)

    def map(self, engine, tag=1, offset=PAGE, length=2 * PAGE, file_offset=0):
        socket.send_fds(engine, [message(MAP, 0, tag, self.number, offset, length, file_offset)],
                        [self.file.fileno()])

    def ready(self):
        self.begin()
        engine = self.engine()
        self.enable()
        self.hears(engine, READY)
        return engine

    def mapped(self, engine, tag=1, offset=PAGE, length=2 * PAGE, addr=1 << 40):
        self.map(engine, tag, offset, length)
        self.requested(MAP_REQUEST)
        self.grant(MAP_REQUEST)
        self.memory(ADD_MEM, length, addr=addr)
        self.hears(engine, DONE, 0, tag)

    # --- tests ---

    def test_executes_nothing(self):
        """The keeper adds a filter of system calls to those that it was started with."""
        def filters(process):
            with open(f"/proc/{process}/status", encoding="ascii") as status:
                return int(dict(line.split(":", 1) for line in status)["Seccomp_filters"])

        self.begin()
        self.assertEqual(filters("self") + 1, filters(self.keeper.pid))

    def test_configuration(self):
        self.begin()
        self.ask(GET_CONFIG, struct.pack("=III", 0, 32, 0) + bytes(32))
        self.assertEqual(struct.pack("<8sIIQQ", b"vgpu-win", 1, 0, NUMBER, SIZE), self.answer(GET_CONFIG)[12:])
        self.ask(GET_CONFIG, struct.pack("=III", 28, 8, 0) + bytes(8))
        self.assertEqual(struct.pack("<I", SIZE >> 32) + bytes(4), self.answer(GET_CONFIG)[12:])
        self.ask(GET_SHMEM)
        self.assertEqual((1, SIZE, 0), struct.unpack_from("=I4xQQ", self.answer(GET_SHMEM)))

    def test_configuration_beyond(self):
        self.ask(GET_CONFIG, struct.pack("=III", 250, 8, 0) + bytes(8))
        self.ends(EXIT_PROTOCOL)

    def test_long_message(self):
        self.qemu.send(struct.pack("=III", SET_FEATURES, 1, 1 << 20))
        self.ends(EXIT_PROTOCOL)

    def test_torn_message(self):
        data = struct.pack("=IIIQ", SET_FEATURES, 1 | NEED_REPLY, 8, 0)
        for byte in data[:-1]:
            self.qemu.send(bytes([byte]))
        self.silent(self.qemu)
        self.qemu.send(data[-1:])
        self.assertEqual(bytes(8), self.answer(SET_FEATURES))

    def test_unknown_request(self):
        self.ask(99)
        self.ends(EXIT_PROTOCOL)

    def test_old_hypervisor(self):
        self.ask(SET_PROTOCOL, struct.pack("=Q", 0x8629))
        self.ends(EXIT_FEATURES)

    def test_hypervisor_ends(self):
        self.begin()
        self.qemu.close()
        self.ends(0)

    def test_ready_with_driver(self):
        self.begin()
        engine = self.engine()
        self.silent(engine)
        self.map(engine)
        self.hears(engine, DONE, -ENODEV, 1)
        self.silent(self.channel)
        self.enable()
        self.assertEqual((NUMBER, SIZE), self.hears(engine, READY)[3:6:2])

    def test_map_is_seen(self):
        engine = self.ready()
        self.map(engine, 7, 3 * PAGE, 2 * PAGE, 5 * PAGE)
        self.assertEqual([5 * PAGE, 3 * PAGE, 2 * PAGE, 1], self.requested(MAP_REQUEST))
        self.grant(MAP_REQUEST)
        # Memory that does not show the mapping: of other offsets, lengths or files.
        self.memory(ADD_MEM, 4 * PAGE, 5 * PAGE)
        self.memory(ADD_MEM, 2 * PAGE, 4 * PAGE)
        with os.fdopen(os.memfd_create("other"), "r+b") as other:
            self.memory(ADD_MEM, 2 * PAGE, 5 * PAGE, file=other)
        for length, file_offset in ((4, 5), (2, 4), (2, 5)):
            self.assertEqual((1 << 40, length * PAGE, file_offset * PAGE), self.hears(engine, RAM)[4:])
        self.silent(engine)
        self.memory(ADD_MEM, 2 * PAGE, 5 * PAGE)
        self.hears(engine, DONE, 0, 7)

    def test_memory_before_answer(self):
        engine = self.ready()
        self.map(engine)
        self.requested(MAP_REQUEST)
        self.memory(ADD_MEM, 2 * PAGE)
        self.silent(engine)
        self.grant(MAP_REQUEST)
        self.hears(engine, DONE, 0, 1)

    def test_map_refused(self):
        engine = self.ready()
        self.map(engine)
        self.requested(MAP_REQUEST)
        self.grant(MAP_REQUEST, 1)
        self.hears(engine, DONE, -ENXIO, 1)
        self.mapped(engine, 2)

    def test_bad_map(self):
        engine = self.ready()
        for offset, length, place in ((0, PAGE, 0), (PAGE, 0, 0), (PAGE + 1, PAGE, 0), (PAGE, PAGE + 1, 0),
                                      (PAGE, PAGE, 1), (SIZE, PAGE, 0), (SIZE - PAGE, 2 * PAGE, 0),
                                      (PAGE, 2 ** 64 - PAGE, 0), (2 ** 64 - PAGE, PAGE, 0)):
            self.map(engine, 1, offset, length, place)
            self.hears(engine, DONE, -EINVAL, 1)
        engine.send(message(MAP, 0, 2, self.number, PAGE, PAGE))
        self.hears(engine, DONE, -EINVAL, 2)
        self.silent(self.channel)

    def test_map_over_another(self):
        engine = self.ready()
        self.mapped(engine, 1, 2 * PAGE, 2 * PAGE)
        self.map(engine, 2, PAGE, 2 * PAGE)
        self.hears(engine, DONE, -EBUSY, 2)
        self.map(engine, 3, 3 * PAGE, PAGE)
        self.hears(engine, DONE, -EBUSY, 3)

    def test_one_at_a_time(self):
        engine = self.ready()
        self.map(engine, 1, PAGE, PAGE)
        self.map(engine, 2, 2 * PAGE, PAGE)
        self.requested(MAP_REQUEST)
        self.silent(self.channel)
        self.grant(MAP_REQUEST)
        self.memory(ADD_MEM, PAGE)
        self.hears(engine, DONE, 0, 1)
        self.assertEqual(2 * PAGE, self.requested(MAP_REQUEST)[1])

    def test_unmap_is_seen(self):
        engine = self.ready()
        self.mapped(engine)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.assertEqual([PAGE, 2 * PAGE], self.requested(UNMAP_REQUEST)[1:3])
        self.grant(UNMAP_REQUEST)
        self.memory(REM_MEM, 2 * PAGE, addr=1 << 41, place=0x20000)
        self.silent(engine)
        self.map(engine, 3)
        self.hears(engine, DONE, -EBUSY, 3)
        self.memory(REM_MEM, 2 * PAGE)
        self.hears(engine, DONE, 0, 2)
        self.mapped(engine, 4)

    def test_unmap_is_settled(self):
        """An UNMAP is complete when the hypervisor has answered SETTLED_REQUEST: then all users of
        the memory were notified. REM_MEM comes meanwhile, or has come before the UNMAP."""
        engine = self.ready()
        self.mapped(engine)
        for tag, gone_before in ((2, False), (4, True)):
            if gone_before:
                self.memory(REM_MEM, 2 * PAGE)
            engine.send(message(UNMAP, tag=tag, offset=PAGE, length=2 * PAGE))
            self.requested(UNMAP_REQUEST)
            self.grant(UNMAP_REQUEST, settle=False)
            if not gone_before:
                self.memory(REM_MEM, 2 * PAGE)
            self.silent(engine)
            self.grant(SETTLED_REQUEST, 1)
            self.hears(engine, DONE, 0, tag)
            self.mapped(engine, tag + 1)

    def test_driver_goes_before_unmap_is_settled(self):
        engine = self.ready()
        self.mapped(engine)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST, settle=False)
        self.enable(False)
        self.hears(engine, GONE)
        self.memory(REM_MEM, 2 * PAGE)
        self.enable()
        self.silent(engine)
        self.grant(SETTLED_REQUEST, 1)
        self.hears(engine, READY)

    def test_unmap_of_nothing(self):
        engine = self.ready()
        self.mapped(engine)
        for offset, length in ((PAGE, PAGE), (2 * PAGE, 2 * PAGE), (8 * PAGE, PAGE)):
            engine.send(message(UNMAP, tag=2, offset=offset, length=length))
            self.hears(engine, DONE, -ENOENT, 2)

    def test_unmap_refused(self):
        engine = self.ready()
        self.mapped(engine)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST, 1)
        self.ends(EXIT_PROTOCOL)

    def test_answer_to_nothing(self):
        self.ready()
        self.grant(MAP_REQUEST)
        self.ends(EXIT_PROTOCOL)

    def test_engine_ends(self):
        engine = self.ready()
        self.mapped(engine)
        self.map(engine, 2, 8 * PAGE, PAGE)
        self.requested(MAP_REQUEST)
        engine.close()
        after = self.engine()
        self.silent(after)
        # The hypervisor still maps what the engine that has ended asked for.
        self.grant(MAP_REQUEST)
        self.memory(ADD_MEM, PAGE, addr=1 << 41, place=0x20000)
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.memory(REM_MEM, 2 * PAGE)
        self.silent(after)
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.memory(REM_MEM, PAGE, addr=1 << 41, place=0x20000)
        self.hears(after, READY)
        self.mapped(after)

    def goes_and_comes(self, engine):
        """Disables and enables the device: the engine gets GONE, but no READY yet."""
        self.enable(False)
        self.hears(engine, GONE)
        self.enable()
        self.silent(engine)

    def test_driver_stops(self):
        """The hypervisor keeps mappings if the device is stopped without a reset: they are
        unmapped."""
        engine = self.ready()
        self.mapped(engine)
        self.goes_and_comes(engine)
        self.assertEqual([PAGE, 2 * PAGE], self.requested(UNMAP_REQUEST)[1:3])
        self.grant(UNMAP_REQUEST)
        self.silent(engine)
        self.memory(REM_MEM, 2 * PAGE)
        self.hears(engine, READY)
        self.mapped(engine, 3)

    def test_driver_resets(self):
        """After a reset the hypervisor tells of lost mappings before the driver is back."""
        engine = self.ready()
        self.mapped(engine)
        self.enable(False)
        self.hears(engine, GONE)
        self.silent(self.channel)
        self.memory(REM_MEM, 2 * PAGE)
        self.enable()
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST, 1)
        self.hears(engine, READY)
        self.mapped(engine, 3)

    def test_device_is_off_while_driver_goes(self):
        """The guest turns off the memory of a stopped device, and on again later: the mapping is
        still there, and is unmapped."""
        engine = self.ready()
        self.mapped(engine)
        self.enable(False)
        self.hears(engine, GONE)
        self.memory(REM_MEM, 2 * PAGE)
        self.enable()
        self.assertEqual([PAGE, 2 * PAGE], self.requested(UNMAP_REQUEST)[1:3])
        self.memory(ADD_MEM, 2 * PAGE)
        self.grant(UNMAP_REQUEST)
        self.silent(engine)
        self.memory(REM_MEM, 2 * PAGE)
        self.hears(engine, READY)

    def test_reset_that_is_not_told(self):
        engine = self.ready()
        self.mapped(engine)
        self.goes_and_comes(engine)
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST, 1)
        self.hears(engine, READY)
        self.mapped(engine, 3)

    def test_driver_goes_while_mapping(self):
        engine = self.ready()
        self.map(engine)
        self.requested(MAP_REQUEST)
        self.goes_and_comes(engine)
        self.grant(MAP_REQUEST)
        self.silent(engine)
        self.memory(ADD_MEM, 2 * PAGE)
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.memory(REM_MEM, 2 * PAGE)
        self.hears(engine, READY)

    def test_driver_goes_after_answer(self):
        """A mapping that was granted, but not seen in guest memory before the driver was back, is
        unmapped."""
        engine = self.ready()
        self.map(engine)
        self.requested(MAP_REQUEST)
        self.grant(MAP_REQUEST)
        self.silent(engine)
        self.goes_and_comes(engine)
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.hears(engine, READY)
        self.mapped(engine, 2)

    def test_driver_goes_while_unmapping(self):
        engine = self.ready()
        self.mapped(engine)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.goes_and_comes(engine)
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST, 1)
        self.hears(engine, READY)

    def test_late_map(self):
        """An engine that has not yet read GONE asks to map into the previous window: -ENODEV."""
        engine = self.ready()
        self.enable(False)
        self.enable()
        self.map(engine)
        self.hears(engine, GONE)
        self.hears(engine, READY)
        self.hears(engine, DONE, -ENODEV, 1)
        self.silent(self.channel)
        self.mapped(engine, 2)

    def test_map_before_the_rest_is_hidden(self):
        engine = self.ready()
        self.mapped(engine)
        self.goes_and_comes(engine)
        self.requested(UNMAP_REQUEST)
        self.map(engine, 2, 8 * PAGE, PAGE)
        self.hears(engine, DONE, -ENODEV, 2)

    def test_map_refused_without_driver(self):
        engine = self.ready()
        self.map(engine)
        self.requested(MAP_REQUEST)
        self.enable(False)
        self.hears(engine, GONE)
        self.grant(MAP_REQUEST, 1)
        self.enable()
        self.hears(engine, READY)

    def test_device_moves(self):
        """The guest moves the device's memory to another address."""
        engine = self.ready()
        self.mapped(engine)
        self.memory(REM_MEM, 2 * PAGE)
        self.memory(ADD_MEM, 2 * PAGE, addr=1 << 41)
        self.silent(engine)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.silent(engine)
        self.memory(REM_MEM, 2 * PAGE, addr=1 << 41)
        self.hears(engine, DONE, 0, 2)

    def test_two_alike_move(self):
        """Two mappings of the same file range are told apart by the hypervisor's own addresses."""
        engine = self.ready()
        for tag, place in ((1, 0x10000), (2, 0x20000)):
            self.map(engine, tag, tag * 8 * PAGE)
            self.requested(MAP_REQUEST)
            self.grant(MAP_REQUEST)
            self.memory(ADD_MEM, 2 * PAGE, addr=(1 << 40) + place, place=place)
            self.hears(engine, DONE, 0, tag)
        for place in (0x20000, 0x10000):
            self.memory(REM_MEM, 2 * PAGE, addr=(1 << 40) + place, place=place)
        for place in (0x10000, 0x20000):
            self.memory(ADD_MEM, 2 * PAGE, addr=(1 << 41) + place, place=place)
        for tag, place in ((1, 0x10000), (2, 0x20000)):
            engine.send(message(UNMAP, tag=tag + 2, offset=tag * 8 * PAGE, length=2 * PAGE))
            self.requested(UNMAP_REQUEST)
            self.grant(UNMAP_REQUEST)
            self.silent(engine)
            self.memory(REM_MEM, 2 * PAGE, addr=(1 << 41) + place, place=place)
            self.hears(engine, DONE, 0, tag + 2)

    def test_part_is_covered(self):
        """The guest puts another device's memory over a part of the window: the rest is still the
        mapping's, and an UNMAP waits for it."""
        engine = self.ready()
        self.mapped(engine)
        self.memory(REM_MEM, 2 * PAGE)
        self.memory(ADD_MEM, PAGE, PAGE, addr=(1 << 40) + PAGE, place=0x7000 + PAGE)
        self.silent(engine)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.silent(engine)
        self.memory(REM_MEM, PAGE, addr=(1 << 40) + PAGE, place=0x7000 + PAGE)
        self.hears(engine, DONE, 0, 2)

    def test_device_is_off(self):
        engine = self.ready()
        self.mapped(engine)
        self.memory(REM_MEM, 2 * PAGE)
        engine.send(message(UNMAP, tag=2, offset=PAGE, length=2 * PAGE))
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.hears(engine, DONE, 0, 2)

    def late_report(self, engine):
        """The hypervisor agrees to a MAP and reports no memory: the keeper asks if there will be any."""
        self.map(engine)
        self.requested(MAP_REQUEST)
        self.grant(MAP_REQUEST)
        self.assertEqual(struct.pack("=III16x", SETTLED_REQUEST, 9, 16), self.take(self.channel, 28))

    def test_map_while_device_is_off(self):
        """The guest has turned off the device's memory, so it would not see a mapping: the mapping
        is undone, and the keeper serves other requests."""
        engine = self.ready()
        self.late_report(engine)
        self.silent(engine)
        self.grant(SETTLED_REQUEST, 1)
        self.hears(engine, DONE, -ENXIO, 1)
        self.assertEqual([PAGE, 2 * PAGE], self.requested(UNMAP_REQUEST)[1:3])
        self.grant(UNMAP_REQUEST)
        self.mapped(engine, 2)

    def test_map_until_device_is_on(self):
        """The guest turns the memory on while the mapping is being undone, and sees it."""
        engine = self.ready()
        self.late_report(engine)
        self.grant(SETTLED_REQUEST, 1)
        self.hears(engine, DONE, -ENXIO, 1)
        self.requested(UNMAP_REQUEST)
        self.memory(ADD_MEM, 2 * PAGE)
        self.grant(UNMAP_REQUEST)
        self.map(engine, 2)
        self.hears(engine, DONE, -EBUSY, 2)
        self.memory(REM_MEM, 2 * PAGE)
        self.mapped(engine, 3)

    def test_map_is_reported_late(self):
        engine = self.ready()
        self.late_report(engine)
        self.memory(ADD_MEM, 2 * PAGE)
        self.silent(engine)
        self.grant(SETTLED_REQUEST, 1)
        self.hears(engine, DONE, 0, 1)

    def test_driver_goes_while_device_is_off(self):
        engine = self.ready()
        self.late_report(engine)
        self.enable(False)
        self.hears(engine, GONE)
        self.grant(SETTLED_REQUEST, 1)
        self.silent(self.channel)
        self.enable()
        self.requested(UNMAP_REQUEST)
        self.grant(UNMAP_REQUEST)
        self.hears(engine, READY)
        self.mapped(engine, 2)

    def test_memory_twice(self):
        """Memory that shows a mapping is never reported as the guest's own, also if it is added
        twice."""
        engine = self.ready()
        self.mapped(engine)
        self.memory(ADD_MEM, 2 * PAGE)
        self.silent(engine)

    def test_memory_of_other_files(self):
        """Only memfds, which have seals, are guest memory that drivers may get: file systems may
        read pages of other files at any time."""
        engine = self.ready()
        for path in (KEEPER, "/dev/zero"):
            with open(path, "rb") as file:
                self.memory(ADD_MEM, PAGE, file=file)
        self.silent(engine)
        self.memory(ADD_MEM, PAGE)
        self.assertEqual((1 << 40, PAGE, 0), self.hears(engine, RAM)[4:])

    def test_memory_without_end(self):
        self.begin()
        for number in range(SLOTS):
            self.memory(ADD_MEM, PAGE, addr=number * PAGE)
        self.memory(REM_MEM, PAGE, addr=0)
        self.memory(ADD_MEM, PAGE, addr=0)
        self.ask(ADD_MEM, struct.pack("=QQQQQ", 0, 1 << 40, PAGE, 0, 0), [self.file.fileno()])
        self.ends(EXIT_PROTOCOL)

    def memory_is_refused(self, addr, length, file_offset=0):
        self.ask(ADD_MEM, struct.pack("=QQQQQ", 0, addr, length, 0, file_offset), [self.file.fileno()])
        self.ends(EXIT_PROTOCOL)

    def test_memory_of_no_length(self):
        self.memory_is_refused(PAGE, 0)

    def test_memory_beyond_end(self):
        self.memory_is_refused(PAGE, 2 ** 64 - PAGE + 1)

    def test_memory_beyond_file(self):
        self.memory_is_refused(0, PAGE, 2 ** 64 - PAGE + 1)

    def test_memory_without_file(self):
        self.ask(ADD_MEM, struct.pack("=QQQQQ", 0, 0, PAGE, 0, 0))
        self.ends(EXIT_PROTOCOL)

    def test_files_without_number(self):
        """Files that come with a message and do not belong to it are closed."""
        files = f"/proc/{self.keeper.pid}/fd"
        self.begin()
        before = len(os.listdir(files))
        for _ in range(64):
            socket.send_fds(self.qemu, [struct.pack("=III", SET_FEATURES, 1 | NEED_REPLY, 8)],
                            [self.file.fileno()] * 12)
            self.qemu.send(bytes(8))
            self.assertEqual(bytes(8), self.answer(SET_FEATURES))
        # The keeper closes the files after its answer.
        end = time.monotonic() + WAIT
        while len(os.listdir(files)) != before and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(before, len(os.listdir(files)))

    def test_second_channel(self):
        engine = self.ready()
        mine, its = socket.socketpair()
        self.addCleanup(mine.close)
        self.told(SET_CHANNEL, fds=[its.fileno()])
        self.map(engine)
        data = mine.recv(256)
        self.assertEqual(MAP_REQUEST, struct.unpack_from("=I", data)[0])
        self.ask(SET_CHANNEL, fds=[its.fileno()])
        self.ends(EXIT_PROTOCOL)

    def test_channel_that_is_none(self):
        self.begin()
        self.ask(SET_CHANNEL, fds=[self.file.fileno()])
        self.ends(EXIT_PROTOCOL)

    def test_queue_is_stopped(self):
        engine = self.ready()
        self.ask(GET_VRING_BASE, struct.pack("=II", 0, 0))
        self.assertEqual(bytes(8), self.answer(GET_VRING_BASE))
        self.hears(engine, GONE)

    def test_vgpud_ends(self):
        self.ready()
        self.agent.close()
        self.ends(0)


if __name__ == "__main__":
    main("keeper")
