#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests how an engine (engine/memory/window.c, engine/memory/lend.c) handles a guest's window.
vgpud, the guest, the keeper and a shadow are simulated here. Prints TAP."""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import payload
from unit_tap import main, no_new_privileges

ENGINE = os.path.join(payload.out_dir(), "keeper/engine/vgpu-engine")
PAGE = 4096
SIZE = 1 << 30
WINDOW = 0x1234567
WAIT = 60
# Seconds of silence that prove that no message comes: an engine that is alive and idle answers in
# less time.
NOTHING = 0.3
ROOT = os.geteuid() == 0
SO_SNDBUFFORCE = 32
EBUSY, EINVAL, ENODEV, EOPNOTSUPP = 16, 22, 19, 95

# Constants of uapi/linux/vgpu_wire.h and vgpu_host.h.
FEATURES = 0b10111
HDR = struct.Struct("<IHHQ")
EXPORT_ADD = struct.Struct("<16sIIQII32s32s64sII64s64s64s")
PART = struct.Struct("<IHHQQQQ")
INVALIDATE, WINDOW_INFO, UNBIND, UNBOUND = 0x16, 0x1a, 0x1b, 0x1c
PLAIN, DRM_RENDER, VIDEO, NVIDIA = 0, 2, 3, 10

# Constants of shared/proto.h and keeper_proto.h.
AGENT_START, AGENT_GRANT, AGENT_SESSION, AGENT_KEEPER = 6, 1, 3, 8
MAP, UNMAP, READY, GONE, DONE, HOLD = 3, 4, 5, 6, 7, 8
KEEPER = struct.Struct("=IiQQQQQ")
SHADOW = struct.Struct("=IIIiQQ")
OPENED, BIND, ANSWER = 2, 10, 30
MAPPINGS = 448
# Offset of engine_shared.lanes_ever.
EVER = 8 * 4 + 2 * 8 + 8 + 2 * 4 + 2 * 4 + 3 * 8 + 8
LANES_ALLOWED, MAPPINGS_ALLOWED = 64, 1024


class Engine(unittest.TestCase):
    def setUp(self):
        self.log = tempfile.TemporaryFile()
        self.addCleanup(self.log.close)
        shared = os.memfd_create("shared")
        os.truncate(shared, PAGE)
        proc = os.open("/proc", os.O_RDONLY)
        closed, closed_end = os.pipe()
        self.agent, agent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.guest, guest = socket.socketpair()
        for sock in (self.agent, self.guest):
            sock.settimeout(WAIT)
        limits = struct.pack("=8IQQ", 64, LANES_ALLOWED, 1024, 64, 1 << 20, 64, MAPPINGS_ALLOWED, 0, 1 << 40, 1 << 40)
        os.pwrite(shared, limits, 0)
        os.pwrite(shared, struct.pack("=2I", LANES_ALLOWED, MAPPINGS_ALLOWED), EVER)
        self.agent.send(struct.pack("=IIQ", AGENT_START, 0, FEATURES) + limits)
        files = [agent.fileno(), guest.fileno(), shared, proc, closed_end]

        def place():
            # The files are duplicated to high numbers first, so that dup2() overwrites none of
            # them.
            for at, fd in enumerate([os.dup(fd) for fd in [os.dup(fd) for fd in files * 8][-len(files):]], 3):
                os.dup2(fd, at)
            os.closerange(8, 256)
            no_new_privileges()

        self.engine = subprocess.Popen([ENGINE], preexec_fn=place, close_fds=False, stderr=self.log)
        for sock in (agent, guest):
            sock.close()
        for fd in (shared, proc, closed_end):
            os.close(fd)
        self.closed = closed
        self.seq = 0
        self.exports = 0

    def tearDown(self):
        self.engine.kill()
        self.engine.wait()
        os.close(self.closed)
        for sock in (self.agent, self.guest):
            sock.close()

    # --- vgpud's side ---

    def pair(self, kind, number=0):
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.settimeout(WAIT)
        # vgpud sets the same large buffer, so that readers may be slow.
        if ROOT:
            its.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20)
        socket.send_fds(self.agent, [struct.pack("=IIQ", kind, 0, number)], [its.fileno()])
        its.close()
        self.addCleanup(mine.close)
        return mine

    def grant(self, driver, kind=PLAIN):
        """Grants a device to the guest; returns the guest's number of the export."""
        add = EXPORT_ADD.pack(bytes(16), 0, kind, 0, 1, 5, b"x", driver.encode(), b"/dev/x", 0, 0, b"", b"", b"")
        self.exports += 1
        self.agent.send(struct.pack("=6I", AGENT_GRANT, self.exports, 0, 0, 0, 0) + add + struct.pack("=4I", 0, 0, 0, 0))
        self.assertEqual(EXPORT_ADD.size, HDR.unpack_from(self.take(EXPORT_ADD.size))[0])
        return self.exports

    # --- the guest's side ---

    def take(self, length):
        data = b""
        while len(data) < length:
            part = self.guest.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def hears(self, kind, *rest):
        """Receives a message. rest: the window's number, then its size, or a part's offset and
        length"""
        length, what, _, _ = HDR.unpack(self.take(HDR.size))
        data = self.take(length - HDR.size)
        self.assertEqual(kind, what)
        self.assertEqual(rest, struct.unpack_from(f"<{len(rest)}Q", data))

    def unbind(self, offset, length=PAGE, window=WINDOW):
        self.seq += 1
        self.guest.send(PART.pack(PART.size, UNBIND, 0, self.seq, window, offset, length))

    def silent(self, sock):
        sock.settimeout(NOTHING)
        with self.assertRaises(TimeoutError):
            sock.recv(1)
        sock.settimeout(WAIT)

    # --- a shadow's side ---

    def shadow(self, number=1):
        return self.pair(AGENT_SESSION, number)

    def answer(self, shadow, lane=0):
        data = shadow.recv(1 << 16)
        kind, where, _, result, _, _ = SHADOW.unpack_from(data)
        self.assertEqual((ANSWER, lane), (kind, where))
        return result, data[SHADOW.size:]

    def opened(self, shadow, export, path="/dev/zero"):
        """Reports that the shadow has opened the export; returns the object."""
        fd = os.open(path, os.O_RDWR)
        socket.send_fds(shadow, [SHADOW.pack(OPENED, 0, export, 0, 0, 0)], [fd])
        os.close(fd)
        result, data = self.answer(shadow)
        self.assertEqual(0, result)
        return struct.unpack_from("<I", data)[0]

    def bind(self, shadow, thing, offset=PAGE, length=PAGE, file_offset=0, seq=None, window=WINDOW, lane=0):
        shadow.send(SHADOW.pack(BIND, lane, thing, 0, 0, 0) +
                    struct.pack("=5Q", window, offset, length, file_offset, self.seq if seq is None else seq))

    # --- the keeper's side ---

    def keeper(self):
        keeper = self.pair(AGENT_KEEPER)
        self.ready(keeper)
        return keeper

    def ready(self, keeper, window=WINDOW):
        self.ready_number = getattr(self, "ready_number", 40) + 1
        keeper.send(KEEPER.pack(READY, 0, self.ready_number, window, 0, SIZE, 0))
        self.hears(WINDOW_INFO, window, SIZE)

    def asked(self, keeper, kind, offset=PAGE, length=PAGE, file_offset=0):
        """Receives a request to the keeper; returns the request's number."""
        data, fds, _, _ = socket.recv_fds(keeper, 256, 4)
        for fd in fds:
            os.close(fd)
        what, _, tag, number, place, much, where = KEEPER.unpack(data)
        self.assertEqual((kind, kind == MAP, offset, length), (what, len(fds) == 1, place, much))
        if kind == MAP:
            self.assertEqual((file_offset, self.ready_number), (where, number))
        return tag

    @staticmethod
    def done(keeper, tag, result=0):
        keeper.send(KEEPER.pack(DONE, result, tag, 0, 0, 0, 0))

    def bound(self, keeper, shadow, thing, offset=PAGE, length=PAGE):
        self.bind(shadow, thing, offset, length)
        tag = self.asked(keeper, MAP, offset, length)
        self.done(keeper, tag)
        self.assertEqual(0, self.answer(shadow)[0])
        return tag

    def begin(self):
        """Starts a guest with a window, a shadow, and a device whose memory can be mapped."""
        thing = self.grant("vgpu-mock")
        shadow, keeper = self.shadow(), self.keeper()
        return keeper, shadow, self.opened(shadow, thing)

    # --- tests ---

    def test_bind(self):
        keeper, shadow, thing = self.begin()
        self.bind(shadow, thing, 3 * PAGE, 2 * PAGE, 5 * PAGE)
        tag = self.asked(keeper, MAP, 3 * PAGE, 2 * PAGE, 5 * PAGE)
        self.silent(shadow)
        self.done(keeper, tag)
        self.assertEqual(0, self.answer(shadow)[0])
        self.unbind(3 * PAGE, 2 * PAGE)
        self.assertEqual(tag, self.asked(keeper, UNMAP, 3 * PAGE, 2 * PAGE))
        self.silent(self.guest)
        self.bind(shadow, thing, 4 * PAGE)
        self.assertEqual(-EBUSY, self.answer(shadow)[0])
        self.done(keeper, tag)
        self.hears(UNBOUND, WINDOW, 3 * PAGE, 2 * PAGE)
        self.bound(keeper, shadow, thing, 4 * PAGE)

    def test_bad_bind(self):
        keeper, shadow, thing = self.begin()
        for offset, length, result in ((0, PAGE, EINVAL), (PAGE, 0, EINVAL), (PAGE + 1, PAGE, EINVAL),
                                       (PAGE, 1, EINVAL), (SIZE, PAGE, ENODEV), (SIZE - PAGE, 2 * PAGE, ENODEV),
                                       (PAGE, 2 ** 64 - PAGE, ENODEV), (2 ** 64 - PAGE, PAGE, ENODEV)):
            self.bind(shadow, thing, offset, length)
            self.assertEqual(-result, self.answer(shadow)[0])
        self.bind(shadow, thing, window=WINDOW + 1)
        self.assertEqual(-ENODEV, self.answer(shadow)[0])
        self.bind(shadow, thing + 1)
        self.assertEqual(-EINVAL, self.answer(shadow)[0])
        self.silent(keeper)

    def test_bind_after_unbind(self):
        """A BIND of a call that the guest made before it gave the range back fails with -EBUSY."""
        keeper, shadow, thing = self.begin()
        self.unbind(PAGE, 2 * PAGE)
        self.hears(UNBOUND, WINDOW, PAGE, 2 * PAGE)
        self.bind(shadow, thing, 2 * PAGE, seq=self.seq - 1)
        self.assertEqual(-EBUSY, self.answer(shadow)[0])
        self.bound(keeper, shadow, thing, 2 * PAGE)

    def test_late_keeper(self):
        """The lane does not wait for a slow hypervisor, and a late mapping is unmapped."""
        keeper, shadow, thing = self.begin()
        self.bind(shadow, thing)
        tag = self.asked(keeper, MAP)
        self.assertEqual(-EBUSY, self.answer(shadow)[0])
        self.done(keeper, tag)
        self.assertEqual(tag, self.asked(keeper, UNMAP))
        self.done(keeper, tag)
        self.bound(keeper, shadow, thing)

    def test_refused(self):
        keeper, shadow, thing = self.begin()
        self.bind(shadow, thing)
        self.done(keeper, self.asked(keeper, MAP), -6)
        self.assertEqual(-EOPNOTSUPP, self.answer(shadow)[0])
        self.bound(keeper, shadow, thing)

    def test_unbind_waits_for_all(self):
        """A range with several bindings is free when the last one is unmapped."""
        keeper, shadow, thing = self.begin()
        tags = [self.bound(keeper, shadow, thing, at * PAGE) for at in (1, 2, 4)]
        self.unbind(PAGE, 2 * PAGE)
        for at, tag in ((2, tags[1]), (1, tags[0])):
            self.assertEqual(tag, self.asked(keeper, UNMAP, at * PAGE))
        self.done(keeper, tags[0])
        self.silent(self.guest)
        self.done(keeper, tags[1])
        self.hears(UNBOUND, WINDOW, PAGE, 2 * PAGE)

    @unittest.skipUnless(ROOT, "room for so many messages takes root")
    def test_shadow_ends(self):
        """All mappings of a shadow that ends are unmapped, also if the keeper does not read
        meanwhile."""
        keeper, shadow, thing = self.begin()
        tags = {self.bound(keeper, shadow, thing, at * PAGE) for at in range(1, MAPPINGS + 1)}
        self.bind(shadow, thing, (MAPPINGS + 1) * PAGE)
        self.assertEqual(-12, self.answer(shadow)[0])
        log = os.pread(self.log.fileno(), 1 << 16, 0).decode()
        self.assertIn(f"has reached the limit of {MAPPINGS} mappings", log)
        shadow.close()
        for at in range(MAPPINGS, 0, -1):
            self.hears(INVALIDATE, WINDOW, at * PAGE, PAGE)
        again = {self.asked(keeper, UNMAP, at * PAGE) for at in range(MAPPINGS, 0, -1)}
        self.assertEqual(tags, again)

    def test_driver_goes(self):
        keeper, shadow, thing = self.begin()
        self.bound(keeper, shadow, thing)
        self.bind(shadow, thing, 2 * PAGE)
        tag = self.asked(keeper, MAP, 2 * PAGE)
        self.unbind(PAGE)
        self.asked(keeper, UNMAP)
        keeper.send(KEEPER.pack(GONE, 0, 0, 0, 0, 0, 0))
        self.assertEqual(-ENODEV, self.answer(shadow)[0])
        self.hears(WINDOW_INFO, WINDOW, 0)
        self.bind(shadow, thing, 3 * PAGE)
        self.assertEqual(-ENODEV, self.answer(shadow)[0])
        self.done(keeper, tag)
        self.silent(keeper)
        self.ready(keeper)
        self.bound(keeper, shadow, thing)

    def test_keeper_ends(self):
        keeper, shadow, thing = self.begin()
        self.bound(keeper, shadow, thing)
        keeper.close()
        self.hears(WINDOW_INFO, WINDOW, 0)
        self.bind(shadow, thing)
        self.assertEqual(-ENODEV, self.answer(shadow)[0])
        self.unbind(PAGE)
        self.hears(UNBOUND, WINDOW, PAGE, PAGE)
        after = self.pair(AGENT_KEEPER)
        self.ready(after, WINDOW + 1)
        self.bind(shadow, thing, window=WINDOW + 1)
        self.asked(after, MAP)

    def test_window_twice(self):
        """A keeper announces a second window without the end of the first."""
        keeper, shadow, thing = self.begin()
        self.bound(keeper, shadow, thing)
        self.ready_number = 7
        keeper.send(KEEPER.pack(READY, 0, 7, WINDOW + 1, 0, SIZE, 0))
        self.hears(WINDOW_INFO, WINDOW, 0)
        self.hears(WINDOW_INFO, WINDOW + 1, SIZE)
        self.bind(shadow, thing, window=WINDOW + 1)
        self.asked(keeper, MAP)

    def lends(self, driver, kind=DRM_RENDER, others=()):
        """Returns whether memory of a device is mapped, for a guest that also has the other
        devices."""
        number = self.grant(driver, kind)
        for other in others:
            self.grant(*other)
        shadow, keeper = self.shadow(), self.keeper()
        self.bind(shadow, self.opened(shadow, number))
        keeper.settimeout(NOTHING)
        try:
            self.asked(keeper, MAP)
        except TimeoutError:
            self.assertEqual(-EOPNOTSUPP, self.answer(shadow)[0])
            return False
        return True

    raw = unittest.skipUnless(tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 13),
                              "KVM of this kernel wants a reference of each page")

    @raw
    def test_lends_gem(self):
        self.assertTrue(self.lends("vgem"))

    @raw
    def test_lends_gem_beside_what_is_known(self):
        self.assertTrue(self.lends("vgem", others=[("virtio_gpu", DRM_RENDER), ("uvcvideo", VIDEO),
                                                   ("vgpu-mock", PLAIN)]))

    def test_lends_no_purgeable(self):
        self.assertFalse(self.lends("panfrost"))

    def test_lends_no_moved(self):
        self.assertFalse(self.lends("amdgpu"))

    def test_lends_no_imports(self):
        """A mapping of vgem may show an imported buffer of the other driver."""
        self.assertFalse(self.lends("vgem", others=[("panfrost", DRM_RENDER)]))

    def test_lends_no_imports_of_cards(self):
        self.assertFalse(self.lends("vgem", others=[("nvidia", NVIDIA)]))

    def test_lends_no_imports_of_strangers(self):
        self.assertFalse(self.lends("vgem", others=[("kfd", PLAIN)]))

    @raw
    def test_lends_own_beside_others(self):
        self.assertTrue(self.lends("virtio_gpu", others=[("panfrost", DRM_RENDER)]))

    def test_lends_no_camera(self):
        self.assertFalse(self.lends("uvcvideo", VIDEO))


if __name__ == "__main__":
    main("engine")
