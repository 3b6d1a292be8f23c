#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that each allocation of vgpud, vgpuctl and libvgpu may fail. For each operation a first run has
its first allocation fail, the next run its second one, and so on until none fails any more. A
request is done, or answered with an error; vgpud lives on, and the request works again. Prints TAP.

  agent_alloc_test.py VGPUD VGPUCTL LIBEXEC   VGPUD and VGPUCTL are built with SANITIZE=1 and linked with
                                    tests/tools/fail_alloc.c; LIBEXEC: vgpud's other programs

vgpud runs in a mount namespace of its own, with the user-space engine. Its guest comes by a UNIX
socket, and is this test."""

import collections
import json
import os
import select
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from alloc_case import Alloc
from deny_case import Deny
from unit_tap import main

VGPUD, VGPUCTL, LIBEXEC = sys.argv[1:4]
WAIT = 60
# Seconds of silence after which no message comes: vgpud answers in less time.
SILENCE = 0.5
EIO, ENOMEM, ENODEV, EBADMSG = 5, 12, 19, 74
# A child of vgpud makes hundreds of allocations for its filter: every 50th of them fails.
CHILDREN = 50
# Of operations with many allocations that are alike, every 11th fails, and of vgpud's start every 43rd.
MANY, START = 11, 43
# Exit statuses of vgpud: mistakes in its files, and all with which it does not start.
CONFIG, ENDS = 3, (1, 3, 4)
CID, PORT = 3, 22586
SETTINGS = f"""[agent]
exports-dir = %(dir)s/exports.d
guests-dir = %(dir)s/guests.d
socket = %(dir)s/sock
engine = user
vsock = no
pending = 100
control-group = root
[sockets]
{CID} = %(dir)s/vsock
[limits]
objects = 1000
pages = 500
sessions = 8
session-rate = 1000
[shadow]
program = %(dir)s/vgpu-shadow
cgroups = no
[guest web]
cid = {CID}
sessions = 9
"""
GUESTS = {
    "web.conf": "[guest web]\nobjects = 900\n[guest mail]\ncid = 5\n",
    "db.conf": "[guest db]\ncid = 4\nmapped-bytes = 1M\n",
}
EXPORTS = {
    "null.conf": "[null]\npath = /dev/null\nto = web 4\nany-port = yes\n[zero]\npath = /dev/zero\nto = 3, mail\n"
                 "any-port = yes\nallow-ioctls = 1, 2 0x30\n",
    "urandom.conf": "[random]\npath = /dev/urandom\nto = 3\nany-port = yes\ndeny-ioctls = 5\nsubmit-ioctls = 7\n"
                    "read-only = yes\n[cards]\nnvidia = 0\nto = 3\nany-port = yes\n",
}
# Members that an event has besides those of all events.
EVENTS = {"guest-gone": set(), "guest-connected": set(), "export-new": {"export"}}
# A file with a mistake each.
MISTAKES = {
    "vgpud.conf": "[agent]\nport = x\n",
    "guests.d/bad.conf": "[guest bad]\ncid = 0\n",
    "exports.d/bad.conf": "[bad]\npath = /dev/full\nto = nobody\n",
}

HDR = struct.Struct("<IHHQ")
HELLO, WELCOME, REFUSE, LANE, LANE_READY, EXPORT_ADD, SESSION_CLOSE = 1, 2, 3, 4, 5, 0x10, 0x14
CALL, REPLY, ACK = 0x20, 0x21, 0x22
OPEN, CLOSE, READ = 1, 2, 4
SEG_OUT = 2
# Size of a reply without its header.
REPLY_SIZE = 72
MAGIC = 0x75706776
# System calls of a shadow that need memory: mmap, mprotect, mremap, clone, eventfd2, epoll_create1,
# pkey_mprotect, memfd_secret; and the upper half of its code's addresses (shadow/layout.h).
CALLS = (9, 10, 25, 56, 290, 291, 329, 447)
SHADOW_UPPER = 0x3e00


def send(sock, data):
    """Sends to a vgpud that may have closed the connection, which the answer tells."""
    try:
        sock.sendall(data)
    except BrokenPipeError:
        pass


class Machine(Alloc):
    """Files of a host."""

    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.put("vgpud.conf", SETTINGS % {"dir": self.dir})
        for folder, files in (("guests.d", GUESTS), ("exports.d", EXPORTS)):
            for name, text in files.items():
                self.put(f"{folder}/{name}", text)
        for program in ("shadow/vgpu-shadow", "engine/vgpu-engine", "engine/keeper/vgpu-keeper",
                        "engine/shadow/vgpu-engine-shadow", "engine/master/vgpu-engine-master"):
            os.symlink(os.path.join(LIBEXEC, program), self.path(os.path.basename(program)))
        self.hits = collections.Counter()

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def get(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def vgpud(self, *options):
        return [VGPUD, "--config", self.path("vgpud.conf"), *options]

    def done(self, command, statuses, nth, hit):
        """Checks how a program has ended."""
        self.assertIn(command.returncode, statuses if hit else statuses[:1], f"allocation {nth}: {command.stderr}")
        if command.returncode != statuses[0]:
            self.assertTrue(command.stderr, f"allocation {nth}: no words")
        self.hits[command.returncode] += 1

    def say(self, nr):
        print(f"# {self.id()}: {nr} allocations, {dict(self.hits)}", flush=True)


class Check(Machine):
    """vgpud --check"""

    def check(self):
        return subprocess.run(self.vgpud("--check"), capture_output=True, text=True, timeout=WAIT, check=False)

    def test_good(self):
        """Good files are good, or could not be read."""
        self.say(self.exhaust(self.check, lambda done, nth, hit: self.done(done, (0, CONFIG), nth, hit)))

    def test_machine(self):
        """A machine whose memory is not known is no machine whose guests have no limit."""
        self.arm(1)
        self.assertEqual((CONFIG, 0), (self.check().returncode, self.arm(0)))

    def test_mistakes(self):
        """Files with a mistake are never good."""
        good = {name: self.get(name) if os.path.exists(self.path(name)) else None for name in MISTAKES}
        for name, text in MISTAKES.items():
            self.put(name, (good[name] or "") + text)
            nr = self.exhaust(self.check, lambda done, nth, hit: self.done(done, (CONFIG,), nth, hit))
            self.say(nr)
            if good[name] is not None:
                self.put(name, good[name])
            else:
                os.unlink(self.path(name))


@unittest.skipIf(os.geteuid(), "vgpud needs root")
class Agent(Machine):
    """A vgpud that runs."""

    def setUp(self):
        super().setUp()
        self.start()
        self.addCleanup(self.end)

    def start(self):
        self.begin()
        self.await_is(self.answers, "vgpud does not answer")

    def begin(self):
        with open(self.path("log"), "wb") as log:
            self.agent = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
                 f"mount -t tmpfs -o mode=755 vgpu /run; exec {shlex.join(self.vgpud())}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(), preexec_fn=self.prepare)

    def prepare(self):
        """Runs in the child that becomes vgpud."""

    def environment(self):
        return os.environ

    def end(self):
        """Ends vgpud, which must have no leak."""
        if self.agent.poll() is None:
            self.agent.terminate()
        status = self.agent.wait(WAIT)
        if status:
            print("\n".join("# " + line for line in self.get("log").splitlines()), flush=True)
        self.assertEqual(0, status, "vgpud did not end well")

    def await_is(self, is_so, words):
        end = time.monotonic() + WAIT
        while not is_so():
            self.assertIsNone(self.agent.poll(), f"vgpud has ended: {self.get('log')}")
            self.assertLess(time.monotonic(), end, words)
            time.sleep(0.01)

    def answers(self):
        try:
            answer = self.ask({"op": "list"})
        except OSError:
            return False
        return answer and answer["ok"]

    def ask(self, request):
        """Makes a request; returns the answer, or None if vgpud has closed the connection."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(WAIT)
            sock.connect(self.path("sock"))
            send(sock, json.dumps(request).encode() + b"\n")
            text = b""
            while not text.endswith(b"\n"):
                try:
                    part = sock.recv(65536)
                except ConnectionResetError:
                    part = b""
                if not part:
                    self.assertEqual(b"", text, f"a part of an answer: {text}")
                    return None
                text += part
        return json.loads(text)

    def judge(self, answer, nth, hit):
        """Judges an answer: it is whole, or an error."""
        self.assertIsNone(self.agent.poll(), f"allocation {nth} ended vgpud: {self.get('log')}")
        if answer is None:
            self.assertTrue(hit)
            self.hits["closed"] += 1
        elif answer["ok"]:
            self.hits["ok"] += 1
        else:
            self.assertTrue(hit, answer)
            # The reader of files counts what it has no memory for as a mistake.
            self.assertIn(answer["errno"], (ENOMEM, EBADMSG, EIO), answer)
            self.assertIn("emory", answer["message"], answer)
            self.hits[answer["errno"]] += 1

    def exhaust_request(self, request, undo=None):
        """undo: request that undoes the request, or a function"""
        def judge(answer, nth, hit):
            self.judge(answer, nth, hit)
            if answer and answer["ok"]:
                self.assertEqual(shape(whole), shape(answer), f"allocation {nth}")
            if undo:
                self.back(undo)
            # The request works again.
            answer = self.ask(request)
            self.assertTrue(answer and answer["ok"], f"after allocation {nth}: {answer}")
            if undo:
                self.back(undo)
            self.assertEqual(before, self.state(), f"allocation {nth} left something behind")
        before = self.state()
        whole = self.ask(request)
        self.assertTrue(whole["ok"], whole)
        if undo:
            self.back(undo)
        self.say(self.exhaust(lambda: self.ask(request), judge))

    def back(self, undo):
        if callable(undo):
            undo()
        else:
            self.ask(undo)

    def state(self):
        """Returns what vgpud describes, without counters."""
        status = self.ask({"op": "status"})
        limits = [self.ask({"op": "limits", "cid": cid, "port": PORT}) for cid in (3, 4, 5)]
        return shape([status, limits])


def shape(answer):
    """Returns an answer without what changes by itself."""
    if isinstance(answer, dict):
        return {key: shape(value) for key, value in answer.items() if key not in ("counters", "since", "pid")}
    return [shape(value) for value in answer] if isinstance(answer, list) else answer


class Starts(Agent):
    def test_start(self):
        """vgpud starts, or says why not."""
        self.end()

        def start():
            self.begin()
            while self.agent.poll() is None and not self.answers():
                time.sleep(0.01)
            return self.agent.poll()

        def judge(status, nth, hit):
            if status is None:
                self.end()
            else:
                self.assertTrue(hit)
                self.assertIn(status, ENDS, f"allocation {nth}: {self.get('log')}")
                self.assertRegex(self.get("log").splitlines()[-1], "emory|temporarily unavailable", f"allocation {nth}")
            self.hits[status] += 1
        self.say(self.exhaust(start, judge, step=START))
        self.start()


class Requests(Agent):
    def test_list(self):
        self.exhaust_request({"op": "list"})

    def test_status(self):
        self.exhaust_request({"op": "status"})

    def test_guest(self):
        self.exhaust_request({"op": "guest", "name": "db"})

    def test_limits(self):
        self.exhaust_request({"op": "limits", "name": "web"})

    def test_limit(self):
        self.exhaust_request({"op": "limit", "name": "web", "set": {"objects": "77", "lanes": "9"}},
                             {"op": "limit", "name": "web", "set": {"objects": "", "lanes": ""}})

    def test_save(self):
        def undo():
            self.put("guests.d/mail.conf", "")
            for name, text in GUESTS.items():
                self.put(f"guests.d/{name}", text)
            self.ask({"op": "reload"})
        undo()
        self.exhaust_request({"op": "limit", "name": "db", "save": True, "set": {"objects": "77"}}, undo)

    def test_export(self):
        self.exhaust_request({"op": "export", "path": "/dev/full", "name": "full", "cid": CID, "any_port": True,
                              "guests": [{"cid": 4}, {"cid": 5}]},
                             {"op": "unexport", "name": "full", "force": True})

    def test_unexport(self):
        export = {"op": "export", "path": "/dev/full", "name": "full", "cid": CID, "any_port": True}
        self.ask(export)
        self.exhaust_request({"op": "unexport", "name": "full", "guests": [{"cid": CID}], "now": True}, export)

    def test_window(self):
        self.exhaust_request({"op": "window-create", "cid": CID, "size": 1 << 20, "owner": "root"},
                             {"op": "window-destroy", "cid": CID, "force": True})


class Reloads(Agent):
    def change(self, changed):
        """Changes files, or changes them back."""
        self.put("exports.d/null.conf", EXPORTS["null.conf"].replace("to = web 4", "to = web 4 5") +
                 "[full]\npath = /dev/full\nto = 3\nany-port = yes\n" if changed else EXPORTS["null.conf"])
        self.put("guests.d/db.conf", "[guest db]\ncid = 4\nobjects = 500\n[guest new]\ncid = 9\n"
                 if changed else GUESTS["db.conf"])

    def test_diff(self):
        self.change(True)
        self.exhaust_request({"op": "diff"})

    def test_reload(self):
        """A reload is done, or tells what was not done, and the next one does it."""
        def undo():
            self.change(False)
            self.assertTrue(self.ask({"op": "reload"})["ok"])
            self.change(True)
        self.change(False)
        before = self.state()
        self.change(True)
        self.exhaust_reload(undo, before)

    def exhaust_reload(self, undo, before):
        def judge(answer, nth, hit):
            self.judge(answer, nth, hit)
            if answer and not answer["ok"] and self.state() != before:
                self.assertRegex(answer["message"], "not all of it was done|may have been made", f"allocation {nth}")
            again = self.ask({"op": "reload"})
            self.assertTrue(again and again["ok"], f"after allocation {nth}: {again}")
            self.assertEqual(after, self.state(), f"allocation {nth} was not made up for")
            undo()
            self.assertEqual(before, self.state(), f"allocation {nth} left something behind")
        self.assertTrue(self.ask({"op": "reload"})["ok"])
        after = self.state()
        undo()
        self.say(self.exhaust(lambda: self.ask({"op": "reload"}), judge))


class Connections(Agent):
    """A guest that connects."""

    refusals = (ENOMEM,)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(sock.close)
        sock.settimeout(WAIT)
        sock.connect(self.path(f"vsock_{PORT}"))
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
        """Connects. Returns the socket and the answer."""
        sock = self.connect()
        body = struct.pack("<IHHIIQ16s", MAGIC, 1, 1, 4096, 0, 3, bytes(16))
        send(sock, HDR.pack(HDR.size + len(body), HELLO, 0, 0) + body)
        return sock, self.take(sock)

    def lane(self, secret, session):
        sock = self.connect()
        body = struct.pack("<II32sQ16s", MAGIC, 77, secret, session, b"program")
        send(sock, HDR.pack(HDR.size + len(body), LANE, 0, 0) + body)
        return sock, self.take(sock)

    def no_guest(self):
        """Waits until the guest is gone."""
        self.await_is(lambda: not self.ask({"op": "status"})["guests"], "the guest does not go")

    def exports(self, sock):
        """Returns how many exports the guest is told of. After an allocation that has failed there may
        be fewer; silence then tells that there are no more."""
        nr = 0
        while nr < 3:
            if self.has_failed() and not select.select([sock], [], [], SILENCE)[0]:
                break
            message = self.take(sock)
            if not message:
                break
            if message[0] != EXPORT_ADD:
                continue
            nr += 1
            number, _, _, *device = struct.unpack_from("<IIQII", message[1])
            if device == [1, 5]:
                self.zero = number
        return nr

    def greet(self):
        """Connects, and waits for the exports. Returns the socket, the answer, and the number of exports."""
        sock, answer = self.hello()
        return sock, answer, self.exports(sock) if answer and answer[0] == WELCOME else 0

    def judge_answer(self, answer, good, nth, hit):
        """Judges a WELCOME or LANE_READY; other answers are a REFUSE, or the end."""
        self.assertIsNone(self.agent.poll(), f"allocation {nth} ended vgpud: {self.get('log')}")
        if answer and answer[0] == good:
            self.hits["ok"] += 1
            return
        self.assertTrue(hit, f"allocation {nth}: {answer}")
        if answer:
            self.assertEqual(REFUSE, answer[0], f"allocation {nth}")
            self.assertIn(struct.unpack_from("<I", answer[1])[0], self.refusals, f"allocation {nth}")
        self.hits["refused" if answer else "ended"] += 1


class Guests(Connections):
    """Connections of a guest for which vgpud has no memory."""

    def test_hello(self):
        def judge(result, nth, hit):
            self.judge_answer(result[1], WELCOME, nth, hit)
            if not hit:
                self.assertEqual(3, result[2])
            self.hits[f"{result[2]} exports"] += 1
            result[0].close()
            self.no_guest()
            sock, answer, nr = self.greet()
            self.assertEqual(WELCOME, answer and answer[0], f"after allocation {nth}")
            self.assertEqual(3, nr, f"after allocation {nth}")
            sock.close()
            self.no_guest()
        self.say(self.exhaust(self.greet, judge))
        self.count_children(True)
        self.say(self.exhaust(self.greet, judge, step=CHILDREN))

    def test_lane(self):
        control, answer, _ = self.greet()
        secret = answer[1][16:48]
        self.session = self.seq = 0

        def end(sock, answer):
            """Ends a session."""
            sock.close()
            if answer and answer[0] == LANE_READY:
                self.seq += 1
                control.sendall(HDR.pack(HDR.size + 8, SESSION_CLOSE, 0, self.seq) + struct.pack("<Q", self.session))
            self.await_is(lambda: not self.ask({"op": "status"})["guests"][0]["counters"]["sessions"],
                          "a session does not end")

        def do():
            self.session += 1
            return self.lane(secret, self.session)

        def judge(result, nth, hit):
            self.judge_answer(result[1], LANE_READY, nth, hit)
            end(*result)
            sock, answer = do()
            self.assertEqual(LANE_READY, answer and answer[0], f"after allocation {nth}")
            end(sock, answer)
        self.say(self.exhaust(do, judge))
        # A shadow that cannot be confined has ended.
        self.refusals = (ENOMEM, ENODEV)
        self.count_children(True)
        self.say(self.exhaust(do, judge, step=CHILDREN))


class Shadows(Connections):
    """System calls of a user-space engine's shadow for which the kernel has no memory. All memory of a
    shadow is its own, as it has no libc."""

    # A refusal of vgpud's, or none: the shadow has ended.
    refusals = (ENOMEM, ENODEV)

    def setUp(self):
        self.deny = Deny(CALLS, SHADOW_UPPER)
        super().setUp()
        self.deny.begin()

    def prepare(self):
        self.deny.prepare()

    def environment(self):
        return {key: value for key, value in os.environ.items() if key != "VGPU_FAIL_ALLOC"}

    def arm(self, nth):
        return self.deny.arm(nth)

    def call(self, lane, op, args=b"", number=0, segs=b""):
        """Makes a call on a lane; returns its result and the number of its object, or None."""
        lane[1] += 1
        size = HDR.size + 32 + 48 + len(segs)
        send(lane[0], HDR.pack(size, CALL, 0, lane[1]) + struct.pack("<HHIIHHQQ", op, 0, number, 0, len(segs) // 16, 0, 0, 0) +
             args.ljust(48, b"\0") + segs)
        message = self.take(lane[0])
        if not message:
            return None
        self.assertEqual(REPLY, message[0])
        result, _, _, nr = struct.unpack_from("<qQIH", message[1])
        if nr:
            lane[0].sendall(HDR.pack(HDR.size, ACK, 0, lane[1]))
        return result, struct.unpack_from("<I", message[1], REPLY_SIZE)[0] if nr else 0

    def program(self):
        """A program that opens a device, reads it and closes it. Returns the results up to one that is
        an error, or None where the connection has ended."""
        results = []
        sock, answer = self.lane(self.secret, self.session)
        if not answer or answer[0] != LANE_READY:
            return [None]
        lane = [sock, 0]
        reply = self.call(lane, OPEN, struct.pack("<II", self.zero, os.O_RDWR))
        results.append(reply and reply[0])
        if reply and not reply[0]:
            number = reply[1]
            reply = self.call(lane, READ, number=number, segs=struct.pack("<QII", 0x10000, 4096, SEG_OUT))
            results.append(reply and reply[0])
            reply = self.call(lane, CLOSE, number=number)
            results.append(reply and reply[0])
        # Another thread of the program has another lane.
        other, answer = self.lane(self.secret, self.session)
        results.append(0 if answer and answer[0] == LANE_READY else None)
        other.close()
        sock.close()
        return results

    def test_program(self):
        good = [0, 4096, 0, 0]

        def ended():
            """Ends the session, and waits for its end."""
            self.seq += 1
            self.control.sendall(HDR.pack(HDR.size + 8, SESSION_CLOSE, 0, self.seq) + struct.pack("<Q", self.session))
            self.await_is(lambda: not self.ask({"op": "status"})["guests"][0]["counters"]["sessions"],
                          "a session does not end")

        def do():
            self.session += 1
            return self.program()

        def judge(results, nth, hit):
            self.assertIsNone(self.agent.poll(), f"call {nth} ended vgpud: {self.get('log')}")
            for result, wanted in zip(results, good):
                self.assertIn(result, (wanted, None, -ENOMEM) if hit else (wanted,), f"call {nth}, number {self.deny.failed}: {results}")
            self.hits["ok" if results == good else "lost" if None in results else "error"] += 1
            ended()
            self.assertEqual(good, do(), f"after call {nth}")
            ended()

        self.control, answer, _ = self.greet()
        self.secret = answer[1][16:48]
        self.session = self.seq = 0
        self.say(self.exhaust(do, judge))


class Programs(Connections):
    """vgpuctl and libvgpu, with a vgpud that has memory."""

    def environment(self):
        return {key: value for key, value in os.environ.items() if key != "VGPU_FAIL_ALLOC"}

    def vgpuctl(self, *words):
        return subprocess.run([VGPUCTL, *words, "--socket", self.path("sock")], capture_output=True, text=True,
                              timeout=WAIT, check=False)

    def exhaust_words(self, *words, undo=None, step=1):
        """undo: words of the command that undoes what these words did"""
        def judge(done, nth, hit):
            self.done(done, (0, 1), nth, hit)
            if not done.returncode:
                self.assertEqual(whole, done.stdout, f"allocation {nth}")
            if undo:
                self.plainly(lambda: self.vgpuctl(*undo))
                self.assertEqual(before, self.state(), f"allocation {nth}")
        before = self.state()
        whole = self.plainly(lambda: self.vgpuctl(*words))
        self.assertEqual(0, whole.returncode, whole.stderr)
        whole = whole.stdout
        if undo:
            self.assertEqual(0, self.vgpuctl(*undo).returncode)
        self.say(self.exhaust(lambda: self.vgpuctl(*words), judge, step))

    def test_list(self):
        self.exhaust_words("list", step=MANY)
        self.exhaust_words("list", "--json", step=MANY)

    def test_status(self):
        self.exhaust_words("status", step=MANY)
        self.exhaust_words("status", "--json", step=MANY)

    def test_limits(self):
        self.exhaust_words("limit", "web", step=MANY)
        self.exhaust_words("limit", "web", "--json", step=MANY)

    def test_limit(self):
        self.exhaust_words("limit", "web", "objects=77", undo=("limit", "web", "objects="))

    def test_export(self):
        """An export that lacks an option for lack of memory is none."""
        self.exhaust_words("export", "/dev/full", "--to", "web", "--read-only", "--any-port",
                           undo=("unexport", "full", "--force"))

    def test_window(self):
        self.exhaust_words("window", "create", "--to", "3", "--size", "1M",
                           undo=("window", "destroy", "--to", "3", "--force"))
        self.exhaust_words("window", "list", "--json", step=MANY)

    def test_reload(self):
        self.exhaust_words("diff", "--json")
        self.exhaust_words("reload")

    def exhaust_lines(self, run, look, step):
        """A line of JSON has all of its members, or vgpuctl ends. look(): what must be the same of all lines"""
        def lines(done):
            return [look(json.loads(line)) for line in done.stdout.splitlines()]

        def judge(done, nth, hit):
            self.done(done, (0, 1), nth, hit)
            self.assertEqual([] if done.returncode else whole, lines(done), f"allocation {nth}")
        whole = lines(self.plainly(run))
        self.assertEqual(1, len(whole))
        self.say(self.exhaust(run, judge, step))

    def test_top(self):
        """A guest that comes each time, and a program of it: vgpud gives up one that answers no PING."""
        def names(line):
            """Returns an object without its numbers, some of which are null where they are not known."""
            if isinstance(line, dict):
                return {key: names(value) for key, value in line.items()}
            return [names(value) for value in line] if isinstance(line, list) else line if isinstance(line, str) else 0

        def run():
            control, answer, _ = self.greet()
            lane, answer = self.lane(answer[1][16:48], 1)
            self.assertEqual(LANE_READY, answer[0])
            done = self.vgpuctl("top", "--json", "--count", "1", "--delay", "0.1")
            lane.close()
            control.close()
            self.no_guest()
            return done
        self.exhaust_lines(run, names, MANY)

    def test_monitor(self):
        """A guest that comes and goes until there is an event."""
        def run():
            with subprocess.Popen([VGPUCTL, "monitor", "--json", "--count", "1", "--delay", "0.1", "--socket",
                                   self.path("sock")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as monitor:
                while monitor.poll() is None:
                    self.greet()[0].close()
                    self.no_guest()
                return subprocess.CompletedProcess(monitor.args, monitor.wait(), *monitor.communicate())
        # Which event comes first depends on when vgpud is asked.
        members = {"schema", "time", "event", "guest"}
        self.exhaust_lines(run, lambda line: set(line) - members == EVENTS[line["event"]] and members <= set(line), MANY)

    def test_error(self):
        def judge(done, nth, hit):
            self.done(done, (5, 1), nth, hit)
        words = "unexport", "none", "--json"
        self.say(self.exhaust(lambda: self.vgpuctl(*words), judge))


class OtherPrograms(Machine):
    """vgpuctl where there is no vgpud."""

    def put_sysfs(self):
        """Makes what the guest's module shows in sysfs."""
        node = {"name": "gpu", "host": "2:22586", "path": "/dev/dri/renderD128", "driver": "i915", "bus": "pci 0000:01:00.0",
                "state": "up", "calls": 7, "unknown_ioctls": "0xc0106407 9\n0xc0206440 class 0x00000041 2\nothers 10",
                "drm/drm/renderD129/dev": "226:129", "video4linux/uevent": "DEVNAME=video3"}
        for name, text in node.items():
            self.put(f"sys/class/vgpu/vgpu0/{name}", f"{text}\n")
        for name, text in {"state": "connected", "error": 0}.items():
            self.put(f"sys/module/vgpu_guest/hosts/2:22586/{name}", f"{text}\n")

    def exhaust_command(self, command, step=1):
        def run():
            return subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)

        def judge(done, nth, hit):
            self.done(done, (status, 1), nth, hit)
            if "emory" not in done.stdout + done.stderr:
                self.assertEqual(whole.stdout, done.stdout, f"allocation {nth}")
        whole = self.plainly(run)
        status = whole.returncode
        self.assertIn(status, (0, 1), whole.stderr)
        self.assertTrue(whole.stdout)
        self.say(self.exhaust(run, judge, step))

    @unittest.skipIf(os.geteuid(), "mounts need root")
    def test_guest(self):
        self.put_sysfs()
        for words in ("list", "list --json", "status --json"):
            self.exhaust_command(["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
                                  f"mount -t tmpfs vgpu /sys; cp -r {self.dir}/sys/. /sys; exec {VGPUCTL} {words}"],
                                 step=1)

    def test_doctor(self):
        for name, text in {"proc/sys/kernel/osrelease": "6.12.9\n", "proc/cpuinfo": "flags\t\t: fpu pku\n",
                           "proc/77/cmdline": "qemu-system-x86_64\0-device\0vhost-vsock-pci,guest-cid=3\0",
                           "etc/group": "vgpu:x:990:\n", "etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\n",
                           "etc/vgpu/exports.d/gpu.conf": "[gpu]\npath = /dev/dri/renderD128\nto = 3\n",
                           "sys/module/vgpu_host/initstate": "live\n"}.items():
            self.put(f"root/{name}", text)
        self.exhaust_command([VGPUCTL, "doctor", "--json", "--root", self.path("root"), "host"])


if __name__ == "__main__":
    del sys.argv[1:4]
    main("agent_alloc")
