# SPDX-License-Identifier: GPL-2.0-only
"""What forwarding adds to a frame and to a dispatch, against what the bare link costs."""

import re

import gl
from bed import say

ROUNDS = 3
FRAMES = 40
DISPATCHES = 40
# Of the time of as many ping-pongs as there are calls, bytes apart.
BOUND = 1.3


def counters(machine, prefix):
    """Calls and bytes of the forwarded GPU's exports so far."""
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


def link(machine):
    """Microseconds of a ping-pong, bytes in a microsecond of a stream."""
    text = machine.must("/usr/lib/vgpu-test/tools/raw_link", 200).text
    return tuple(float(value) for value in re.findall(r"(?:ping-pong|stream) ([\d.]+)", text))


def measure(machine, runner):
    """Prints the table; runner(machine, side) runs commands as conformance does."""
    kinds = {
        "frame (kmscube)": (gl.kmscube("$CARD", FRAMES), lambda lines: gl.frame_rate(lines)[1], FRAMES - 1),
        "dispatch (compute)": (gl.compute("$RENDER", DISPATCHES), gl.dispatch_rate, DISPATCHES),
    }
    times = {(kind, side): [] for kind in kinds for side in ("real", "forwarded")}
    used = {kind: {"calls": 0, "bytes": 0} for kind in kinds}
    pings = []
    streams = []
    # Rounds of all alternate, so that a noisy machine disturbs all alike.
    for _ in range(ROUNDS):
        for kind, (command, rate, count) in kinds.items():
            ping, stream = link(machine)
            pings.append(ping)
            streams.append(stream)
            for side in ("real", "forwarded"):
                before = counters(machine, "gpu-")
                result = runner(machine, side)(command, 200)
                if result.status:
                    say(result.text)
                    return False
                times[kind, side].append(1e6 / rate(result.lines))
                after = counters(machine, "gpu-")
                if side == "forwarded":
                    for what in used[kind]:
                        used[kind][what] += (after[what] - before[what]) / count / ROUNDS
    ping = sorted(pings)[len(pings) // 2]
    stream = sorted(streams)[len(streams) // 2]
    say(f"raw ping-pong {ping:.0f} us, raw stream {stream:.1f} bytes/us")
    say(f"{'':<20} {'real us':>10} {'forwarded':>10} {'calls':>7} {'bytes':>9} {'ratio':>7}   (at most {BOUND})")
    for kind in kinds:
        real, forwarded = (sorted(times[kind, side])[ROUNDS // 2] for side in ("real", "forwarded"))
        calls, moved = used[kind]["calls"], used[kind]["bytes"]
        ratio = (forwarded - real - moved / stream) / (calls * ping)
        say(f"{kind:<20} {real:>10.0f} {forwarded:>10.0f} {calls:>7.1f} {moved:>9.0f} {ratio:>7.2f}")
    return True
