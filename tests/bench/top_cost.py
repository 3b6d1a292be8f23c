#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures how much more a forwarded call costs while vgpuctl top runs, with the user-space engine.

  top_cost.py OUT [PROGRAM]   OUT is the folder in which userspace-lib was built; PROGRAM stands for vgpuctl.
                              Runs as root (tests/harness/in-root tests/bench/top_cost.py /out/keeper)

vgpud, engine, shadow and vgpuctl are the real ones; this program is the guest, and reads 8 bytes of
/dev/zero again and again. It measures processor time, which the kernel counts, because a busy machine
lets calls take any time:

- of calls, here and in the shadow. Phases with top and without it (stopped) alternate, and each one with
  it is compared with those before and after it. top looks ten times as often as it does by default, so
  of the cost at one look a second the scatter is a tenth.
- of vgpud and top for each look. If these have the processor that calls need, a call takes so much longer.

The cost is the sum of both. Exit status: 0 measured; 3: it is more than 3 percent; 1: something failed"""

import fcntl
import os
import select
import shlex
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PAIRS = int(os.environ.get("PAIRS", "12"))
DELAY, PHASE, BATCH, MOST, WAIT = 0.1, 0.5, 10, 3, 60
CID, PORT = 3, 22586
MAGIC = 0x75706776
HDR = struct.Struct("<IHHQ")
HELLO, WELCOME, LANE, LANE_READY, EXPORT_ADD, PING, PONG, CALL, REPLY, ACK = (
    1, 2, 4, 5, 0x10, 0x17, 0x18, 0x20, 0x21, 0x22)
OPEN, READ, SEG_OUT, REPLY_SIZE = 1, 4, 2, 72
PROGRAMS = ("shadow/vgpu-shadow", "engine/vgpu-engine", "engine/keeper/vgpu-keeper", "engine/shadow/vgpu-engine-shadow",
            "engine/master/vgpu-engine-master")


def take(sock):
    """Receives a message: its type, its body and its number."""
    data = b""
    while len(data) < HDR.size or len(data) < HDR.unpack_from(data)[0]:
        part = sock.recv((HDR.unpack_from(data)[0] if len(data) >= HDR.size else HDR.size) - len(data))
        if not part:
            raise EOFError("vgpud has closed the connection")
        data += part
    return HDR.unpack_from(data)[1], data[HDR.size:], HDR.unpack_from(data)[3]


class Guest:
    """A guest with one program, which has opened the only export."""

    def __init__(self, path):
        self.path = path
        self.control = self.connect(HELLO, struct.pack("<IHHIIQ16s", MAGIC, 1, 1, 4096, 0, 3, bytes(16)))
        kind, welcome, _ = take(self.control)
        assert kind == WELCOME, kind
        while kind != EXPORT_ADD:
            kind, body, _ = take(self.control)
        self.lane = self.connect(LANE, struct.pack("<II32sQ16s", MAGIC, os.getpid(), welcome[16:48], 1, b"top_cost"))
        assert take(self.lane)[0] == LANE_READY
        self.seq = 0
        self.number = 0
        reply = self.call(OPEN, body[:4] + struct.pack("<I", os.O_RDWR))
        self.lane.sendall(HDR.pack(HDR.size, ACK, 0, self.seq))
        self.number, = struct.unpack_from("<I", reply, REPLY_SIZE)

    def connect(self, kind, body):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(WAIT)
        sock.connect(self.path)
        sock.sendall(HDR.pack(HDR.size + len(body), kind, 0, 0) + body)
        return sock

    def call(self, op, args=b"", segs=b""):
        self.seq += 1
        self.lane.sendall(HDR.pack(HDR.size + 32 + 48 + len(segs), CALL, 0, self.seq) +
                          struct.pack("<HHIIHHQQ", op, 0, self.number, 0, len(segs) // 16, 0, 0, 0) + args.ljust(48, b"\0") + segs)
        kind, reply, _ = take(self.lane)
        assert kind == REPLY and struct.unpack_from("<q", reply)[0] >= 0, (kind, reply)
        return reply

    def phase(self, vgpud):
        """Makes calls for a time. Returns the seconds of processors per call, and the time."""
        while select.select([self.control], [], [], 0)[0]:
            kind, _, seq = take(self.control)
            if kind == PING:
                self.control.sendall(HDR.pack(HDR.size, PONG, 0, seq))
        begin, nr = time.monotonic(), 0
        used = time.thread_time() + computed(*children(vgpud.pid))
        segs = struct.pack("<QII", 0x10000, 8, SEG_OUT)
        while True:
            for _ in range(BATCH):
                self.call(READ, segs=segs)
            nr += BATCH
            seconds = time.monotonic() - begin
            if seconds >= PHASE:
                return (time.thread_time() + computed(*children(vgpud.pid)) - used) / nr, seconds


class Top:
    """vgpuctl top, which is stopped except for phases with it."""

    def __init__(self, program, folder):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([program, "top", "--batch", "--delay", str(DELAY), "--socket", folder + "/sock"],
                                        stdout=subprocess.PIPE)
        self.out = self.process.stdout
        fcntl.fcntl(self.out, fcntl.F_SETFL, os.O_NONBLOCK)
        self.left = b""

    def looks(self):
        """Returns how often top has shown something since this was last asked."""
        text = self.left
        while part := self.out.read():
            text += part
        lines = text.split(b"\n")
        self.left = lines.pop()
        assert self.process.poll() is None, "vgpuctl top has ended"
        return sum(line.startswith(b"vgpuctl top:") for line in lines)

    def go(self, on):
        self.process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)


def computed(*pids):
    """Returns the seconds for which processes have computed."""
    seconds = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                seconds += int(file.read().split()[0]) / 1e9
    return seconds


def children(pid):
    """Returns the processes that a process has started, and theirs."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            for child in file.read().split():
                found += [int(child), *children(int(child))]
    return found


def prepare(out, folder):
    """Writes vgpud's files. Returns the command that starts vgpud in a mount namespace of its own."""
    for name in PROGRAMS:
        os.symlink(os.path.join(out, name), os.path.join(folder, os.path.basename(name)))
    os.mkdir(folder + "/exports.d")
    with open(folder + "/exports.d/zero.conf", "w", encoding="ascii") as file:
        file.write(f"[zero]\npath = /dev/zero\nto = {CID}\nany-port = yes\n")
    with open(folder + "/vgpud.conf", "w", encoding="ascii") as file:
        file.write(f"[agent]\nexports-dir = {folder}/exports.d\nsocket = {folder}/sock\nengine = user\nvsock = no\n"
                   f"[sockets]\n{CID} = {folder}/vsock\n[shadow]\nprogram = {folder}/vgpu-shadow\ncgroups = no\n"
                   "[limits]\nobjects = 256\npages = 512\n")
    vgpud = shlex.join([os.path.join(out, "vgpud/vgpud"), "--config", folder + "/vgpud.conf"])
    return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", f"mount -t tmpfs -o mode=755 vgpu /run; exec {vgpud}"]


def measure(guest, top, vgpud):
    """Prints the cost of top. Returns it in percent, at one look a second."""
    guest.phase(vgpud)
    top.looks()
    top.go(False)
    own = computed(vgpud.pid, top.process.pid)
    without, costs, looks = [guest.phase(vgpud)[0]], [], 0
    for _ in range(PAIRS):
        top.go(True)
        with_top, seconds = guest.phase(vgpud)
        top.go(False)
        seen = top.looks()
        looks += seen
        without.append(guest.phase(vgpud)[0])
        if seen:
            costs.append(100 * (2 * with_top / (without[-1] + without[-2]) - 1) / (seen / seconds))
    own = (computed(vgpud.pid, top.process.pid) - own) / looks
    low, cost, high = statistics.quantiles(costs, n=4)
    call = statistics.median(without)
    print(f"{PAIRS} pairs of phases, {looks / PAIRS / PHASE:.1f} looks a second")
    print(f"a look costs vgpud and top as much as {own / call:.1f} calls, {100 * own:.2f} % of a processor at one a second")
    print(f"at one look a second, a call itself costs {cost:.2f} % more (half of the pairs: {low:.2f} to {high:.2f})")
    # What is less than nothing is scatter.
    cost = max(cost, 0) + 100 * own
    print(f"together: {cost:.2f} % ({MOST} allowed)")
    return cost


def main():
    out = sys.argv[1]
    program = sys.argv[2] if len(sys.argv) > 2 else os.path.join(out, "vgpuctl/vgpuctl")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with subprocess.Popen(prepare(out, folder)) as vgpud:
            try:
                end = time.monotonic() + WAIT
                while not os.path.exists(f"{folder}/vsock_{PORT}") and time.monotonic() < end:
                    time.sleep(0.02)
                top = Top(program, folder)
                try:
                    cost = measure(Guest(f"{folder}/vsock_{PORT}"), top, vgpud)
                finally:
                    top.process.kill()
                    top.process.wait()
            finally:
                vgpud.terminate()
    sys.exit(3 if cost > MOST else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main()
