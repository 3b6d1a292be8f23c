# SPDX-License-Identifier: GPL-2.0-only
"""Steps that count calls and measure the GPU's time, natively and in the guest."""

import glob
import os
import re
import shlex
import statistics
import sys
import time

from machine import Failed, Program, say

# Greatest number of round trips for a call; least shares of native bandwidth and of native speed.
TRIPS, BANDWIDTH, SPEED = 1.1, 0.9, 0.98
ROUNDS = 5
FIGURES = ("in", "out", "matmul 4096", "fft 4096", "matmul 8192", "fft 8192", "matmul 16384")
COPIED = 64 << 20
AT_ONCE = 8


def launches(run):
    """Checks that launches of kernels make no call, and that other calls make few round trips."""
    run.build("vecadd")
    words = run.compare(f"{run.enter}; ./vecadd --count", seconds=run.limit)
    found = re.search(r"start-up: (\d+) calls, (\d+) round trips, (\d+) binds and (\d+) unbinds",
                      " ".join(run.commands[-1]["measured"]))
    if not found:
        raise Failed(f"{words}: it did not say what its start-up took")
    calls, trips, binds, unbinds = map(int, found.groups())
    if not calls:
        raise Failed(f"{words}: the guest's module has counted no call")
    ratio = (trips + binds + unbinds) / calls
    run.measured["launches"] = {"start_up_calls": calls, "start_up_round_trips": trips, "start_up_window_binds": binds,
                                "start_up_window_unbinds": unbinds, "start_up_ratio": round(ratio, 3)}
    words = (f"no call during 1000 launches; start-up: {trips} round trips, {binds} binds and {unbinds} unbinds of the "
             f"window for {calls} calls")
    # The host's counters cover each whole program.
    for command in run.commands:
        whole = command.get("round_trips", 0) / max(1, command.get("calls", 0))
        if whole > TRIPS:
            raise Failed(f"{words}; {command['command']}: {whole:.2f} round trips a call")
    if ratio > TRIPS:
        raise Failed(f"{words}: {ratio:.2f} a call")
    return words


def eight(run):
    """Runs eight programs that compute at once."""
    run.build("vecadd")
    run.compare(f"{run.enter}; dir=$(mktemp -d); pids=; for i in $(seq {AT_ONCE}); do "
                f"./vecadd --meet $dir {AT_ONCE} >$dir/$i 2>&1 & pids=\"$pids $!\"; done; "
                "status=0; for pid in $pids; do wait $pid || status=$?; done; "
                f"for i in $(seq {AT_ONCE}); do cat $dir/$i; done; rm -r $dir; exit $status", seconds=240)
    took = run.commands[-1]
    return f"{AT_ONCE} programs with a context each: all right, {took['seconds']} s (native {took['native_seconds']} s)"


def libraries():
    """Finds the newest libcublas and libcufft, of the machine's CUDA or of Python's packages.
    Returns folder and version of each."""
    folders = ["/usr/local/cuda/lib64", *glob.glob("/usr/local/cuda*/targets/x86_64-linux/lib"),
               "/usr/lib/x86_64-linux-gnu"]
    for path in sys.path:
        folders += sorted(glob.glob(os.path.join(path, "nvidia/*/lib")))
    found = {}
    for name in ("cublas", "cufft"):
        for folder in folders:
            versions = [match[1] for path in glob.glob(f"{folder}/lib{name}.so.*")
                        if (match := re.search(r"\.so\.(\d+)$", path))]
            if versions:
                found[name] = (folder, max(versions, key=int))
                break
        else:
            raise Failed(f"lib{name}.so is in none of {' '.join(folders)}")
    return found


class Here:
    """The program figures, running natively."""

    def __init__(self, run, program):
        self.dir = run.path("figures.here")
        os.makedirs(self.dir, exist_ok=True)
        os.chmod(self.dir, 0o777)
        self.program = Program(lambda: self.ended(run.native(f"{program} {self.dir}", 600)))

    @staticmethod
    def ended(done):
        return done.returncode, done.stdout

    def ask(self, number, what):
        path = f"{self.dir}/go.{number}"
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(what + "\n")
        os.rename(path + ".new", path)

    def answer(self, number):
        """Returns the answer to a request, or None if it is not there yet."""
        try:
            with open(f"{self.dir}/result.{number}", encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            time.sleep(0.02)
            return None


class There:
    """The program figures, running in the guest."""

    def __init__(self, run, program):
        self.guest = run.guest
        self.dir = "/rw/root/tmp/figures"
        self.guest.aside(f"rm -rf {self.dir}; mkdir {self.dir} && chmod 777 {self.dir}")
        self.program = self.guest.begin(f"{program} /tmp/figures", run.left(420))

    def ask(self, number, what):
        self.guest.aside(f"echo {what} >{self.dir}/new && mv {self.dir}/new {self.dir}/go.{number}")

    def answer(self, number):
        text = self.guest.aside(f"n=0; until [ -e {self.dir}/result.{number} ] || [ $n -ge 40 ]; do n=$((n + 1)); "
                                f"usleep 50000; done; cat {self.dir}/result.{number} 2>/dev/null || true")
        return text.strip() or None


def measure(run, side, number, what, seconds):
    """Lets one side measure; returns its values by name."""
    side.ask(number, what)
    deadline = time.monotonic() + run.left(seconds)
    while not (text := side.answer(number)):
        side.program.check()
        if time.monotonic() > deadline:
            raise Failed(f"{what}: no answer in {type(side).__name__.lower()} within {seconds} s")
    return dict(pair.split("=") for pair in text.split())


def figures(run):
    """Compares the GPU's time for the same operations, natively and in the guest, in turns."""
    found = libraries()
    paths = ":".join(dict.fromkeys(folder for folder, _ in found.values()))
    versions = [f'-D{name.upper()}="{version}"' for name, (_, version) in found.items()]
    run.build("figures", *versions)
    program = f"{run.enter}; LD_LIBRARY_PATH={shlex.quote(paths)}:$LD_LIBRARY_PATH ./figures"
    sides = {"native": Here(run, program), "guest": There(run, program)}
    table = {what: {side: [] for side in sides} for what in FIGURES}
    run.measured["figures"] = table
    number, took, wrong = 0, 0, []
    try:
        for turn in range(ROUNDS):
            # The time that is left must suffice for a turn like the last one, and for the end.
            if turn and run.left(3600) < 30 + 1.2 * took:
                break
            start = time.monotonic()
            for what in FIGURES:
                number += 1
                for side, asked in sides.items():
                    table[what][side].append(measure(run, asked, number, what, 240))
                checks = {entry["check"] for side in sides for entry in table[what][side]}
                if len(checks) != 1:
                    raise Failed(f"{what}: results differ: {table[what]}")
                run.save()
            took = time.monotonic() - start
            say(f"  turn {turn + 1}: {took:.0f} s")
        for asked in sides.values():
            asked.ask(number + 1, "end")
        for asked in sides.values():
            if not asked.program.right(60).endswith("right\n"):
                raise Failed(asked.program.text[-300:])
    finally:
        # Both programs are told to end, also after a failure.
        for asked in sides.values():
            if asked.program.is_alive():
                asked.ask(number + 1, "end")
                asked.program.join(20)
        if sides["guest"].program.is_alive():
            run.look("figures")
            run.guest.abandon()
        words = []
        for what, row in table.items():
            if not all(row.values()):
                continue
            native, guest = (statistics.median(float(entry["ms"]) for entry in row[side]) for side in ("native", "guest"))
            copy = what in ("in", "out")
            row["ratio"] = round(native / guest, 4)
            said = f"{COPIED / native / 1e6:.1f} and {COPIED / guest / 1e6:.1f} GB/s" if copy else f"{native:.3f} and {guest:.3f} ms"
            clocks = "/".join(entry["clock"].replace(",", "-") for side in ("native", "guest") for entry in row[side][-1:])
            # The processors' time is printed only: the guest's processors are emulated.
            took = "/".join(f"{statistics.median(float(entry['cpu']) for entry in row[side]):.1f}" for side in ("native", "guest"))
            words.append(f"{what}: {said}, {row['ratio']:.3f} ({clocks} MHz; enqueued in {took} ms of a processor)")
            if row["ratio"] < (BANDWIDTH if copy else SPEED):
                wrong.append(what)
        for said in words:
            say("  " + said)
        run.save()
    turns = min(len(row["guest"]) for row in table.values())
    text = f"medians of {turns}, native and in the guest: " + "; ".join(words)
    if turns < ROUNDS:
        raise Failed(f"only {turns} turns; {text}")
    if wrong:
        raise Failed(f"too slow: {', '.join(wrong)}; {text}")
    return text
