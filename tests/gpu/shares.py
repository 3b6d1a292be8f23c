# SPDX-License-Identifier: GPL-2.0-only
"""Step with two guests that share the card by their weights, and are frozen and thawed."""

import os
import subprocess
import time

from machine import Failed, HERE, TOP, say

# Seconds of a measurement, and before it, in which a change takes effect.
MEASURED, SETTLED = 10, 3
# Weights of the two guests; largest difference of a share from its weight in points; largest part
# of the card's work that is lost.
WEIGHTS = ((100, 100), (300, 100), (900, 100))
POINTS, LOST = 5, 0.05
# Seconds until a guest that has nothing to do is no longer waited for.
IDLE = 8


class Load:
    """A program that keeps the card busy in a guest until it is told to stop."""

    def __init__(self, run, guest):
        self.run, self.guest, self.dir = run, guest, "/rw/root/tmp/share"
        guest.aside(f"rm -rf {self.dir}; mkdir {self.dir} && chmod 777 {self.dir}")
        self.program = guest.begin(f"{run.enter}; ./share /tmp/share", run.left())
        deadline = time.monotonic() + run.left(120)
        while not self.done()[0]:
            if time.monotonic() > deadline:
                raise Failed(f"guest {guest.cid}: the card does nothing for it within 120 s")
            time.sleep(0.2)

    def done(self):
        """Returns the number of kernels that are done, and the guest's time."""
        self.program.check()
        words = self.guest.aside(f"cat {self.dir}/done 2>/dev/null || echo 0 0").split()
        return int(words[0]), float(words[1])

    def pause(self, wanted):
        self.guest.aside(f": >{self.dir}/pause" if wanted else f"rm {self.dir}/pause {self.dir}/paused")
        deadline = time.monotonic() + 30
        while wanted and self.guest.aside(f"[ ! -e {self.dir}/paused ] || echo paused") == "":
            if time.monotonic() > deadline:
                raise Failed(f"guest {self.guest.cid}: its program does not pause")
            time.sleep(0.1)

    def weight(self, weight):
        self.run.vgpuctl("limit", str(self.guest.cid), f"device-weight={weight}")

    def cap(self, cap):
        self.run.vgpuctl("limit", str(self.guest.cid), f"device-cap={cap}")

    def stop(self):
        if self.program.is_alive():
            self.guest.aside(f"rm -f {self.dir}/pause; : >{self.dir}/stop")
            if not self.program.right(60).endswith("right\n"):
                raise Failed(f"guest {self.guest.cid}: {self.program.text.strip()[-300:]}")


def rates(loads, seconds):
    """Returns the kernels for each second that each load has done meanwhile. A load that has done
    nothing has not told its time either."""
    before = [load.done() for load in loads]
    time.sleep(seconds)
    after = [load.done() for load in loads]
    return [(done - old) / (at - since) if done > old else 0
            for (done, at), (old, since) in zip(after, before)]


class Samples:
    """samples.c, which prints which processes the card has worked for, as the driver says."""

    def __init__(self, run):
        self.program = None
        engine = os.path.join(TOP, "userspace-lib/engine")
        built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-I", os.path.dirname(engine),
                                "-I", os.path.join(TOP, "drivers/common"),
                                "-o", run.path("samples"), os.path.join(HERE, "samples.c"),
                                os.path.join(engine, "memory/nvidia.c")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False, text=True)
        if built.returncode:
            say(f"  samples: cc: {built.stdout.strip()[-300:]}")
            return
        self.program = run.start("samples", [run.path("samples")], "samples.log")
        # It may end by itself: only people read what it prints.
        run.forget([self.program])

    def end(self):
        if self.program:
            self.program.kill()
            self.program.wait()


def weighted(run, loads, alone, weights):
    """Measures shares by weights; returns a text, and whether it is good."""
    for load, weight in zip(loads, weights):
        load.weight(weight)
    time.sleep(SETTLED)
    got = rates(loads, MEASURED)
    total = sum(got)
    share, wanted = 100 * got[0] / total, 100 * weights[0] / sum(weights)
    lost = 1 - total / alone
    run.measured.setdefault("shares", {})[f"{weights[0]}:{weights[1]}"] = {
        "rates": [round(rate, 1) for rate in got], "share": round(share, 1), "lost": round(lost, 4)}
    good = abs(share - wanted) <= POINTS and lost <= LOST
    text = f"{weights[0]}:{weights[1]}: {share:.1f} % (of {wanted:.0f}), {100 * lost:.1f} % lost"
    say(f"  {text}" + ("" if good else "  <-- WRONG"))
    run.save()
    return text, good


def judge(run, said, name, text, good):
    run.measured.setdefault("shares", {})[name] = text
    say(f"  {name}: {text}" + ("" if good else "  <-- WRONG"))
    said.append((f"{name}: {text}", good))
    run.save()


def frozen(run, loads, alone, said):
    """Freezes the second guest, and thaws it."""
    loads[0].weight(100)
    loads[1].weight(0)
    time.sleep(1)
    got = rates(loads, 4)
    judge(run, said, "frozen", f"{100 * got[1] / alone:.1f} % of the card, and the other {100 * got[0] / alone:.1f} %",
          got[1] == 0 and got[0] >= (1 - LOST) * alone)
    loads[1].weight(100)
    time.sleep(SETTLED)
    got = rates(loads, 5)
    share = 100 * got[1] / sum(got)
    judge(run, said, "thawed", f"{share:.1f} %", abs(share - 50) <= POINTS)


def idle(run, loads, alone, said):
    """Lets the second guest do nothing, with a program, and then work again."""
    loads[1].pause(True)
    time.sleep(IDLE)
    got = rates(loads[:1], 5)[0]
    judge(run, said, "other idle", f"{100 * got / alone:.1f} %", got >= (1 - LOST) * alone)
    loads[0].cap(25)
    time.sleep(1)
    got = rates(loads[:1], 5)[0]
    judge(run, said, "cap 25", f"{100 * got / alone:.1f} %", abs(100 * got / alone - 25) <= POINTS)
    loads[0].cap(100)
    loads[1].pause(False)
    time.sleep(SETTLED)
    got = rates(loads, 5)
    share = 100 * got[1] / sum(got)
    judge(run, said, "at work again", f"{share:.1f} %", abs(share - 50) <= POINTS)


def shares(run):
    """Lets two guests keep the card busy with several weights, freezes one, and lets one idle."""
    run.build("share")
    loads, said, samples = [], [], None
    try:
        loads.append(Load(run, run.guest))
        time.sleep(1)
        alone = rates(loads, 5)[0]
        if not alone:
            raise Failed("a guest that is alone does nothing")
        say(f"  alone: {alone:.1f} kernels for each second")
        run.measured.setdefault("shares", {})["alone"] = round(alone, 1)
        other = run.other_guest()
        samples = None if run.rehearse else Samples(run)
        # A guest without programs costs the other one nothing.
        got = rates(loads, 5)[0]
        judge(run, said, "with another guest", f"{100 * got / alone:.1f} %", got >= (1 - LOST) * alone)
        loads.append(Load(run, other))
        said += [weighted(run, loads, alone, weights) for weights in WEIGHTS]
        frozen(run, loads, alone, said)
        idle(run, loads, alone, said)
        for load in loads:
            load.stop()
    finally:
        if samples:
            samples.end()
            run.write("samples.txt", run.read("samples.log"))
        for load in loads:
            load.cap(100)
            load.weight(100)
            if load.program.is_alive():
                load.guest.aside(f"rm -f {load.dir}/pause; : >{load.dir}/stop")
                load.program.join(30)
    words = "; ".join(text for text, _ in said)
    # Nothing divides a rehearsal's device.
    if not run.rehearse and not all(good for _, good in said):
        raise Failed("wrong: " + "; ".join(text for text, good in said if not good) + "; all: " + words)
    return words
