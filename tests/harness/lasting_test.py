#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that guests of user-space engines notice nothing if vgpud is killed, or ends for an upgrade,
and another one starts. Prints TAP.

  lasting_test.py OUT     OUT is the folder in which userspace-lib was built; runs as root, in a mount
                          namespace of its own, where it covers /run

vgpud, the engine and its shadows are the real ones. The guest comes by a UNIX socket, and is this
test: it speaks the wire protocol."""

import copy
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

OUT = sys.argv[1]
WAIT = 60
RESTARTS = 20
CID, OTHER_CID, PORT = 3, 4, 22586
PROGRAMS = ("shadow/vgpu-shadow", "engine/vgpu-engine", "engine/keeper/vgpu-keeper",
            "engine/shadow/vgpu-engine-shadow", "engine/master/vgpu-engine-master")
HOLDER = "vgpu-holder"
# Users of guests begin there (vgpud/config/config.c).
UID_BASE = 1879048192

HDR = struct.Struct("<IHHQ")
HELLO, WELCOME, REFUSE, LANE, LANE_READY, EXPORT_ADD, EXPORT_DEL, SESSION_CLOSE = 1, 2, 3, 4, 5, 0x10, 0x11, 0x14
CALL, REPLY, ACK = 0x20, 0x21, 0x22
OPEN, CLOSE, IOCTL, READ = 1, 2, 3, 4
SEG_OUT = 2
REPLY_SIZE = 72
MAGIC = 0x75706776
ENODEV, ENOTTY = 19, 25
# A command that no device of this test knows, but that counts as work for it.
WORK = 7
PR_SET_CHILD_SUBREAPER = 36


class Lasting(unittest.TestCase):
    """A vgpud that is restarted, and a guest."""

    settings = "lasting = yes\n"

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        for program in PROGRAMS:
            os.symlink(os.path.join(OUT, program), self.path(os.path.basename(program)))
        os.makedirs(self.path("exports.d"))
        self.export("zero", "null")
        self.configure()
        self.agent = None
        self.start()
        self.addCleanup(self.over)
        self.greet()

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def configure(self, more=""):
        self.put("vgpud.conf", f"""[agent]
{self.settings}exports-dir = {self.dir}/exports.d
socket = {self.dir}/sock
engine = user
vsock = no
ping-timeout-ms = 0
[sockets]
{CID} = {self.dir}/{CID}
{OTHER_CID} = {self.dir}/{OTHER_CID}
[limits]
objects = 64
pages = 64
sessions = 8
session-rate = 1000
{more}[shadow]
program = {self.dir}/vgpu-shadow
cgroups = no
""")

    def export(self, *names, more=""):
        """Writes a file that exports these devices of /dev, and no others."""
        self.put("exports.d/all.conf", "".join(f"[{name}]\npath = /dev/{name}\nto = {CID} {OTHER_CID}\nany-port = yes\n{more}"
                                               for name in names))

    def start(self):
        with open(self.path("log"), "ab") as log:
            self.agent = subprocess.Popen([f"{OUT}/vgpud/vgpud", "--config", self.path("vgpud.conf")],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.await_is(self.answers, "vgpud does not answer")

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self, sig=signal.SIGKILL):
        self.agent.send_signal(sig)
        self.agent.wait(WAIT)

    def restart(self, sig=signal.SIGKILL):
        self.kill(sig)
        self.start()

    def over(self):
        """Ends vgpud; no process of it may be left."""
        if self.agent.poll() is None:
            self.kill(signal.SIGTERM)
        end = time.monotonic() + WAIT
        while processes() or processes(False):
            self.assertLess(time.monotonic(), end, f"processes are left: {processes()} {self.log()}")
            time.sleep(0.01)

    def await_is(self, is_so, words):
        end = time.monotonic() + WAIT
        while not is_so():
            self.assertIsNone(self.agent.poll(), f"vgpud has ended: {self.log()}")
            self.assertLess(time.monotonic(), end, f"{words}: {self.log()}")
            time.sleep(0.01)

    def ask(self, request):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(WAIT)
            sock.connect(self.path("sock"))
            sock.sendall(json.dumps(request).encode() + b"\n")
            text = b""
            while not text.endswith(b"\n"):
                text += sock.recv(65536)
        return json.loads(text)

    def answers(self):
        try:
            return self.ask({"op": "list"})["ok"]
        except OSError:
            return False

    def guests(self):
        return self.ask({"op": "status"})["guests"]

    # --- the guest

    cid = CID

    def greet(self):
        """Connects, and waits for the exports."""
        self.session = self.seq = 0
        self.control, answer = self.hello()
        self.assertEqual(WELCOME, answer and answer[0])
        self.secret = answer[1][16:48]
        self.known = {}
        while len(self.known) < 2:
            self.hear()

    def other_guest(self):
        """Returns another guest of the same vgpud."""
        other = copy.copy(self)
        other.cid = OTHER_CID
        other.greet()
        return other

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(sock.close)
        sock.settimeout(WAIT)
        sock.connect(self.path(f"{self.cid}_{PORT}"))
        return sock

    def take(self, sock):
        """Receives a message: its type and its body; None: the connection has ended."""
        data = b""
        while len(data) < HDR.size or len(data) < HDR.unpack_from(data)[0]:
            want = HDR.size if len(data) < HDR.size else HDR.unpack_from(data)[0]
            try:
                part = sock.recv(want - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                return None
            data += part
        return HDR.unpack_from(data)[1], data[HDR.size:]

    def hello(self):
        sock = self.connect()
        body = struct.pack("<IHHIIQ16s", MAGIC, 1, 1, 4096, 0, 3, bytes(16))
        sock.sendall(HDR.pack(HDR.size + len(body), HELLO, 0, 0) + body)
        return sock, self.take(sock)

    def hear(self):
        """Handles a message about exports; self.known: their numbers, by minor device number."""
        message = self.take(self.control)
        self.assertIsNotNone(message, f"the guest is disconnected: {self.log()}")
        if message[0] == EXPORT_ADD:
            number, _, _, _, minor = struct.unpack_from("<IIQII", message[1])
            self.assertNotIn(minor, self.known, "an export came twice")
            self.known[minor] = number
        elif message[0] == EXPORT_DEL:
            gone, = struct.unpack_from("<I", message[1])
            self.known = {minor: number for minor, number in self.known.items() if number != gone}

    def lane(self, session=None):
        """Begins a session, or makes another lane of one. Returns the lane and its session."""
        if session is None:
            self.session += 1
            session = self.session
        sock = self.connect()
        body = struct.pack("<II32sQ16s", MAGIC, 77, self.secret, session, b"program")
        sock.sendall(HDR.pack(HDR.size + len(body), LANE, 0, 0) + body)
        answer = self.take(sock)
        self.assertEqual(LANE_READY, answer and answer[0], f"no lane: {answer} {self.log()}")
        return [sock, 0, session]

    def call(self, lane, op, args=b"", number=0, segs=b""):
        """Makes a call; returns its result and the number of its object."""
        lane[1] += 1
        size = HDR.size + 32 + 48 + len(segs)
        lane[0].sendall(HDR.pack(size, CALL, 0, lane[1]) + struct.pack("<HHIIHHQQ", op, 0, number, 0, len(segs) // 16, 0, 0, 0) +
                        args.ljust(48, b"\0") + segs)
        message = self.take(lane[0])
        self.assertIsNotNone(message, f"the lane has ended: {self.log()}")
        self.assertEqual(REPLY, message[0])
        result, _, _, nr = struct.unpack_from("<qQIH", message[1])
        if nr:
            lane[0].sendall(HDR.pack(HDR.size, ACK, 0, lane[1]))
        return result, struct.unpack_from("<I", message[1], REPLY_SIZE)[0] if nr else 0

    def open(self, lane, export):
        return self.call(lane, OPEN, struct.pack("<II", export, os.O_RDWR))

    def read(self, lane, number):
        return self.call(lane, READ, number=number, segs=struct.pack("<QII", 0x10000, 4096, SEG_OUT))[0]

    def end(self, lane):
        """Ends a session."""
        lane[0].close()
        self.seq += 1
        self.control.sendall(HDR.pack(HDR.size + 8, SESSION_CLOSE, 0, self.seq) + struct.pack("<Q", lane[2]))

    def sessions(self):
        guest, = (guest for guest in self.guests() if guest["cid"] == self.cid)
        return guest["counters"]["sessions"]

    def program(self):
        """A program that has a file open. Returns its lane and the file."""
        lane = self.lane()
        result, number = self.open(lane, self.known[5])
        self.assertEqual(0, result)
        self.assertEqual(4096, self.read(lane, number))
        return lane, number

    def is_quiet(self):
        """The guest is told nothing."""
        return not select.select([self.control], [], [], 0)[0]


class Restarts(Lasting):
    def test_programs_go_on(self):
        """A program goes on with the same file, lane, shadow and engine, and new ones can begin."""
        lane, number = self.program()
        # The engine, the shadow, and the process that traces the shadow.
        self.await_is(lambda: len(processes()) == 3, "there are other processes")
        before = processes()
        since = self.guests()[0]["since"]
        for i in range(RESTARTS):
            self.kill(signal.SIGUSR2 if i % 2 else signal.SIGKILL)
            self.assertEqual(4096, self.read(lane, number), f"restart {i}: no vgpud")
            # An open needs no vgpud.
            result, other = self.open(lane, self.known[5])
            self.assertEqual(0, result)
            self.start()
            self.assertEqual(4096, self.read(lane, number), f"restart {i}")
            self.assertEqual(0, self.call(lane, CLOSE, number=other)[0])
            guest, = self.guests()
            self.assertEqual((CID, since, 1), (guest["cid"], guest["since"], guest["counters"]["sessions"]))
            self.assertLessEqual(before.items(), processes().items(), "other processes")
            # Another thread, and another program.
            other = self.lane(lane[2])
            self.assertEqual(4096, self.read(other, number))
            other[0].close()
            other, file = self.program()
            self.assertEqual(2, self.sessions())
            self.end(other)
            self.await_is(lambda: self.sessions() == 1, "a session does not end")
        self.assertTrue(self.is_quiet(), "the guest has noticed something")
        # vgpud may still have to reap those of the last session.
        self.await_is(lambda: processes() == before, "there are other processes")
        self.end(lane)
        self.await_is(lambda: self.sessions() == 0, "the session does not end")
        self.control.close()
        self.await_is(lambda: not self.guests(), "the guest does not go")
        self.await_is(lambda: not processes(), "processes are left")

    def test_exports_change(self):
        """An export that is gone from the files is revoked, and a new one comes. Open files stay."""
        lane, number = self.program()
        self.kill()
        self.export("null", "full")
        self.start()
        while 5 in self.known or 7 not in self.known:
            self.hear()
        self.assertIn(3, self.known)
        self.assertTrue(self.is_quiet())
        self.assertEqual(4096, self.read(lane, number))
        fresh = self.lane()
        self.assertEqual(0, self.open(fresh, self.known[7])[0])
        self.assertEqual(0, self.open(fresh, self.known[3])[0])
        self.restart()
        self.assertEqual(0, self.open(fresh, self.known[7])[0])
        self.assertTrue(self.is_quiet())

    def test_revoked(self):
        """The guest cannot open an export that was revoked, whatever number it gives."""
        lane, _ = self.program()
        gone = self.known[5]
        self.kill()
        self.export("null")
        self.start()
        while 5 in self.known:
            self.hear()
        self.assertEqual(-ENODEV, self.open(lane, gone)[0])

    def test_terms_change(self):
        """An export with other terms takes the place of the one that the guest has."""
        lane, number = self.program()
        old = self.known[5]
        self.kill()
        self.export("zero", "null", more="deny-ioctls = 5\n")
        self.start()
        while self.known.get(5, old) == old or len(self.known) < 2:
            self.hear()
        self.assertEqual(4096, self.read(lane, number))
        self.assertEqual(-ENODEV, self.open(lane, old)[0])
        self.assertEqual(0, self.open(lane, self.known[5])[0])

    def test_shadow_dies(self):
        """A shadow that ends meanwhile is cleaned up by the next vgpud, and only it is lost."""
        lane, number = self.program()
        other, _ = self.program()
        shadow, = (program["shadow_pid"] for program in self.guests()[0]["programs"] if program["number"] == other[2])
        self.kill()
        os.kill(shadow, signal.SIGKILL)
        self.assertIsNone(self.take(other[0]))
        self.start()
        self.await_is(lambda: self.sessions() == 1, "a session does not end")
        self.assertEqual(4096, self.read(lane, number))

    def test_guest_ends(self):
        """A guest that ends meanwhile is gone, and may connect again."""
        self.program()
        self.kill()
        self.control.close()
        end = time.monotonic() + WAIT
        while processes():
            self.assertLess(time.monotonic(), end, "the engine does not end")
            time.sleep(0.01)
        self.start()
        self.await_is(lambda: not self.guests(), "the guest does not go")
        self.greet()

    def test_stop(self):
        """SIGTERM ends all guests."""
        self.program()
        self.kill(signal.SIGTERM)
        self.over()

    def test_setting(self):
        """A vgpud without the setting takes nothing over."""
        self.program()
        self.kill()
        self.settings = ""
        self.configure()
        self.start()
        self.assertEqual([], self.guests())
        self.assertIsNone(self.take_last(), "the guest is still connected")

    def take_last(self):
        message = self.take(self.control)
        while message:
            message = self.take(self.control)
        return message

    def test_killed_soon(self):
        """A vgpud that is killed while it takes over loses nothing."""
        lane, number = self.program()
        self.kill()
        for ms in (1, 5, 10, 20, 30, 50, 80, 120):
            agent = subprocess.Popen([f"{OUT}/vgpud/vgpud", "--config", self.path("vgpud.conf")],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(ms / 1000)
            agent.kill()
            agent.wait(WAIT)
        self.start()
        self.assertEqual(1, self.sessions())
        self.assertEqual(4096, self.read(lane, number))
        other, _ = self.program()
        self.end(other)
        self.await_is(lambda: self.sessions() == 1, "a session does not end")
        self.assertTrue(self.is_quiet())

    def test_two_guests(self):
        """Each guest has its own engine, programs and exports again."""
        other = self.other_guest()
        programs = [(guest, *guest.program()) for guest in (self, other, self, other, other)]
        for i in range(3):
            self.kill()
            self.export("zero", "null", "full")
            self.start()
            for guest, lane, number in programs:
                self.assertEqual(4096, guest.read(lane, number), f"restart {i}")
        for guest in (self, other):
            while 7 not in guest.known:
                guest.hear()
        self.assertEqual((2, 3), (self.sessions(), other.sessions()))
        self.control.close()
        self.await_is(lambda: len(self.guests()) == 1, "a guest does not go")
        self.restart()
        self.assertEqual([OTHER_CID], [guest["cid"] for guest in self.guests()])
        for guest, lane, number in programs:
            if guest is other:
                self.assertEqual(4096, guest.read(lane, number))
        self.greet()
        self.program()

    def test_turns(self):
        """Calls that wait for turns at a device get them of the next vgpud."""
        self.kill(signal.SIGTERM)
        self.export("zero", "null", more=f"submit-ioctls = {WORK}\n")
        self.start()
        self.greet()
        guests = [self, self.other_guest()]
        programs = [(guest, *guest.program()) for guest in guests for _ in range(3)]
        done = [0] * len(programs)
        stop = threading.Event()

        def work(i, guest, lane, number):
            while not stop.is_set():
                # A reply that does not come raises an exception, so that done[i] stays as it is.
                if guest.call(lane, IOCTL, struct.pack("<IIQ", WORK, 0, 0), number)[0] != -ENOTTY:
                    return
                done[i] += 1
        threads = [threading.Thread(target=work, args=(i, *program)) for i, program in enumerate(programs)]
        for thread in threads:
            thread.start()
        try:
            for i in range(5):
                self.restart()
                before = list(done)
                self.await_is(lambda: all(now > was for now, was in zip(done, before)), f"restart {i}: a program has no turns")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(2, len(self.guests()))
        self.assertTrue(all(guest.is_quiet() for guest in guests))

    def test_holder_dies(self):
        """Without the holder guests end with vgpud, and the next vgpud serves them anew."""
        self.program()
        for pid in processes(False):
            os.kill(pid, signal.SIGKILL)
        self.kill()
        self.assertIsNone(self.take_last())
        self.start()
        self.greet()

    def test_time_is_over(self):
        """Without a vgpud everything ends after the time of the settings, and not before."""
        lane, number = self.program()
        self.settings += "lasting-timeout-ms = 8000\n"
        self.configure()
        self.kill()
        self.start()
        self.kill()
        start = time.monotonic()
        self.assertEqual(4096, self.read(lane, number))
        self.assertIsNone(self.take_last())
        self.assertGreater(time.monotonic() - start, 7)
        self.over()


class Ends(Lasting):
    """vgpud without the setting."""

    settings = ""

    def test_killed(self):
        """Guests end with vgpud."""
        self.program()
        self.assertEqual({}, processes(False))
        self.kill()
        self.assertIsNone(self.take(self.control))
        self.over()


def processes(of_guests=True):
    """The processes of guests, or the holder, with the times at which they began."""
    reap()
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                uid = int(file.read().split("Uid:")[1].split()[0])
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        rest = rest.split()
        if (uid >= UID_BASE if of_guests else name == HOLDER) and rest[0] != "Z" and is_below(int(pid)):
            found[int(pid)] = rest[19]
    return found


def is_below(pid):
    """Is the process one of this test's?"""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                pid = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def reap():
    """Reaps processes that have become children of this one, but not vgpud, which Popen reaps."""
    for pid in children():
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                name = file.read()
            if name != "vgpud\n":
                os.waitpid(pid, os.WNOHANG)
        except OSError:
            pass


def children():
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


if __name__ == "__main__":
    del sys.argv[1]
    if not os.geteuid():
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "vgpu", "/run"], check=True)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    main("lasting")
