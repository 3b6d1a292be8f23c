# SPDX-License-Identifier: GPL-2.0-only
"""Measures the time that forwarding adds to a frame and to a dispatch, in units of the bare link.

The added time may be at most BOUND x (calls x raw ping-pong) plus the time that the moved
bytes take as a raw stream. All of these are measured in one run.

The raw ping-pong must be measured under the same conditions as the calls: emulated
processors stand still while QEMU draws, for one to three milliseconds of each frame. So the
programs run a third time, on the real device, and another thread at the far end of a raw
ping-pong makes each system call that would be forwarded. No forwarder without a cache could
add less time. The bound refers to this time. The ratio to as many ping-pongs in an idle
machine is shown, too ("idle").

Guest and host are one machine with two processors here. The host's half runs on one
processor and the forwarded programs on the other, as on two machines. Otherwise the
scheduler moves them, and the time of a frame varies by half between runs."""

import re

import gl
from bed import say
from vm import VmDied

ROUNDS = 7
FRAMES = 120
DISPATCHES = 120
# Greatest ratio of the added time, without that of the bytes, to as many ping-pongs as calls.
BOUND = 1.3
SIDES = ("real", "raw", "forwarded")
# The processor has no protection keys. A shadow changes its rights by WRPKRU around each call.
# An emulated processor drops all of its address translations then, which takes longer than the
# call; a real one takes some tens of cycles.
CPU = "pku=off"


def counters(machine, prefix=""):
    """Returns the calls and bytes so far of forwarded exports whose names begin with prefix."""
    total = {"calls": 0, "bytes": 0}
    lines = machine.must("grep -H . /sys/class/vgpu/*/name /sys/class/vgpu/*/calls /sys/class/vgpu/*/bytes_*").lines
    found = {}
    for line in lines:
        device, name, value = re.match(r"/sys/class/vgpu/(\w+)/(\w+):(.*)", line).groups()
        found.setdefault(device, {})[name] = value
    for values in found.values():
        if values["name"].startswith(prefix):
            total["calls"] += int(values["calls"])
            total["bytes"] += int(values["bytes_out"]) + int(values["bytes_in"])
    return total


def pin_host(machine):
    """Moves vgpud, its programs, and all that they start later, to the first processor."""
    machine.must("pids=$(pgrep -x vgpud) && for pid in $pids $(pgrep -P $(pgrep -d, -x vgpud)); do taskset -ap 1 $pid; done")


def link(machine):
    """Measures the link; returns microseconds of a ping-pong, and bytes per microsecond of a
    stream."""
    text = machine.must("/usr/lib/vgpu-test/tools/raw_link", 200).text
    return tuple(float(value) for value in re.findall(r"(?:ping-pong|stream) ([\d.]+)", text))


def run(machine, runner, side, command):
    """Runs a command on the device of a side; returns its output, and the calls, bytes and raw
    ping-pongs that it took."""
    before = counters(machine, "gpu-")
    # The command runs on the processor that the host's half does not use.
    if side != "real":
        command = f"taskset -cp 1 $$ >/dev/null && {{ {command}; }}"
    if side == "raw":
        result = runner(machine, "real")(f"export LD_PRELOAD={gl.TOOLS}/raw_each.so; {command} 2>&1", 300)
    else:
        result = runner(machine, side)(command, 300)
    if result.status:
        raise VmDied(f"{command}: exit status {result.status}\n{result.text}")
    after = counters(machine, "gpu-")
    took = {what: after[what] - before[what] for what in after}
    took["pings"] = max(map(int, re.findall(r"raw ping-pongs (\d+)", result.text)), default=0)
    if (took["calls"] > 0) != (side == "forwarded"):
        raise VmDied(f"{command}: {took['calls']} forwarded calls with the {side} device")
    return result.lines, took


def measure(machine, runner):
    """Measures all and prints a table. runner(machine, side) runs commands as conformance does.
    Returns sentences about what exceeds the bound."""
    pin_host(machine)
    kinds = {
        "frame (kmscube)": (lambda n: gl.kmscube("$CARD", n), lambda lines: gl.frame_rate(lines)[1], FRAMES),
        "dispatch (compute)": (lambda n: gl.compute("$RENDER", n), gl.dispatch_rate, DISPATCHES),
    }
    times = {(kind, side): [] for kind in kinds for side in SIDES}
    used = {}
    pings = []
    streams = []
    # The measurements alternate in each round, so that other work on the computer disturbs all
    # alike.
    for _ in range(ROUNDS):
        for kind, (command, rate, count) in kinds.items():
            ping, stream = link(machine)
            pings.append(ping)
            streams.append(stream)
            for side in SIDES:
                lines, took = run(machine, runner, side, command(count))
                times[kind, side].append(1e6 / rate(lines))
                # A shorter run's numbers are subtracted: so the program's start and end, which
                # the rates do not include either, do not count.
                if (kind, side) not in used:
                    _, shorter = run(machine, runner, side, command(count // 4))
                    used[kind, side] = {what: (took[what] - shorter[what]) / (count - count // 4) for what in took}
    ping = sorted(pings)[len(pings) // 2]
    stream = sorted(streams)[len(streams) // 2]
    say(f"raw ping-pong {ping:.0f} us, raw stream {stream:.1f} bytes/us")
    say(f"{'':<20} {'real us':>9} {'raw us':>9} {'forwarded':>9} {'pings':>6} {'calls':>6} {'bytes':>7}"
        f" {'idle':>6} {'ratio':>6}   (at most {BOUND})")
    beyond = []
    for kind in kinds:
        real, raw, forwarded = (sorted(times[kind, side])[ROUNDS // 2] for side in SIDES)
        calls, moved = (used[kind, "forwarded"][what] for what in ("calls", "bytes"))
        made = used[kind, "raw"]["pings"]
        added = forwarded - real - moved / stream
        idle = added / (calls * ping)
        ratio = added / ((raw - real) / made * calls)
        say(f"{kind:<20} {real:>9.0f} {raw:>9.0f} {forwarded:>9.0f} {made:>6.1f} {calls:>6.1f} {moved:>7.0f}"
            f" {idle:>6.2f} {ratio:>6.2f}")
        if ratio > BOUND:
            beyond.append(f"{kind}: {ratio:.2f} times as many ping-pongs as calls")
    return beyond
