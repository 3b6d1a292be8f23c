# SPDX-License-Identifier: GPL-2.0-only
"""Step with an innocent guest and three hostile ones on one card: how long the innocent one's work
takes beside the others, and whether anything of the others stays on the host."""

import concurrent.futures
import glob
import os
import signal
import subprocess
import time

import deaths
from hostile import GONE, PROGRAMS, Babbler, await_until, greedy, hoard
from machine import GROUPS, HERE, PORT, TOP, Failed, say

# Time of the innocent program's period in ms; its values of a period (innocent.cu).
PERIOD = 100
KINDS = ("work", "call", "open")
# Seconds: between readings, and for the innocent guest's program to begin.
READ, BEGIN = 10, 150
# Growth that is no leak: of vgpud's memory in KiB; of that and the kernel's when the hostile guests,
# for whose machines the kernel has tables of pages, have ended; of the card's in MiB.
LEFT_KIB = {"vgpud": 16 << 10}
END_KIB = {"vgpud": 16 << 10, "kernel": 64 << 10}
CARD_MIB = 64
# Files that an engine opens when it first needs them, and keeps: its list of files that last
# (engine/base/lasting.c).
ENGINE_FILES = 1
# Parts of the memory that the kernel uses itself, in /proc/meminfo.
KERNEL = ("SUnreclaim", "KernelStack", "PageTables", "Percpu", "VmallocUsed")


def meminfo(text):
    """Returns numbers of /proc/meminfo in KiB: what is available, in use, and the kernel's."""
    found = {name: int(value.split()[0]) for name, value in (line.split(":") for line in text.splitlines())}
    return {"available": found["MemAvailable"], "used": found["MemTotal"] - found["MemAvailable"],
            "kernel": sum(found.get(name, 0) for name in KERNEL)}


def samples(text):
    """Returns the lines of innocent.cu as lists of numbers: seconds, microseconds of each kind, and
    wrong results so far."""
    return [[float(word) for word in line.split()] for line in text.splitlines() if len(line.split()) == 2 + len(KINDS)]


def percentile(values, percent):
    """Returns the value that so many percent of the values do not exceed."""
    values = sorted(values)
    return values[(len(values) - 1) * percent // 100] if values else 0


def latencies(lines):
    """Returns the number of periods, and for each kind the median, the 99th percentile and the
    largest value in ms."""
    said = {"periods": len(lines)}
    for at, kind in enumerate(KINDS, 1):
        values = [line[at] / 1000 for line in lines]
        said[kind] = {"p50": round(percentile(values, 50), 3), "p99": round(percentile(values, 99), 3),
                      "max": round(max(values, default=0), 3)}
    return said


def ratios(alone, beside):
    """Returns for each kind how many times as long it takes beside the others."""
    return {kind: {what: round(beside[kind][what] / alone[kind][what], 2) if alone[kind][what] else 0
                   for what in ("p50", "p99")} for kind in KINDS}


def grown(before, after, most_kib):
    """
    Compares two marks, of the innocent guest's program alone. Another guest may have ended between.
    most_kib: growth of each kind of the host's memory that is no leak
    Return: texts about what has grown
    """
    said = []
    for what, most in most_kib.items():
        more = after["kib"][what] - before["kib"][what]
        if more > most:
            said.append(f"memory of {what} has grown by {more} KiB")
    if after["card_mib"] > before["card_mib"] + CARD_MIB:
        said.append(f"{after['card_mib']} MiB of the card are in use, and were {before['card_mib']} before")
    for cid, guest in after["guests"].items():
        for what, most in (("processes", 0), ("files", ENGINE_FILES), ("programs", 0)):
            if guest[what] > before["guests"][cid][what] + most:
                said.append(f"guest {cid} has {guest[what]} {what}, and had {before['guests'][cid][what]}")
    if after["vgpud_files"] > before["vgpud_files"]:
        said.append(f"vgpud has {after['vgpud_files']} files, and had {before['vgpud_files']}")
    return said


# --- the host ----------------------------------------------------------------------


def own_kib(pid):
    """Returns a process's own memory and all that it has mapped, in KiB."""
    found = {}
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, value = line.split(":", 1)
            if name in ("VmRSS", "RssAnon"):
                found[name] = int(value.split()[0])
    return found.get("RssAnon", 0), found.get("VmRSS", 0)


def files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def groups(cid):
    """Returns files with the memory of a guest's control groups; none if it has no group."""
    return glob.glob(f"{GROUPS}/vgpu*/**/vgpu-guest-{cid}-{PORT}/memory.current", recursive=True)


def group_bytes(cid):
    """Returns the memory of a guest's control group in bytes; 0 if it has none."""
    sums = 0
    for path in groups(cid):
        try:
            with open(path, encoding="ascii") as file:
                sums += int(file.read())
        except OSError:
            pass
    return sums


def look(run, guests):
    """Returns what the host has in use."""
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = meminfo(file.read())
    kib["vgpud"], kib["vgpud_mapped"] = own_kib(run.vgpud.pid)
    found = {"kib": kib, "vgpud_files": files(run.vgpud.pid), "card_mib": deaths.memory(run), "guests": {}}
    processes = [process for name in PROGRAMS for process in deaths.processes(run, name)]
    for guest in guests:
        status = run.status(guest.cid)
        its = {"processes": 0, "files": 0, "own_kib": 0, "mapped_kib": 0, "programs": len(status.get("programs") or ()),
               "group_kib": group_bytes(guest.cid) >> 10, "qemu_kib": 0}
        for pid, user in processes:
            try:
                if user == status.get("uid"):
                    own, mapped = own_kib(pid)
                    its["files"] += files(pid)
                    its["own_kib"] += own
                    its["mapped_kib"] += mapped
                    its["processes"] += 1
            except OSError:
                # It has just ended.
                continue
        if guest.children:
            its["qemu_kib"] = own_kib(guest.children[-1].pid)[1]
        found["guests"][str(guest.cid)] = its
    return found


def mark(run, guests, name):
    """Records what the host has in use."""
    found = look(run, guests)
    run.measured["tenants"].setdefault("marks", {})[name] = found
    kib = found["kib"]
    words = (f"{name}: available {kib['available'] >> 10} MiB, used {kib['used'] >> 10}, the kernel's {kib['kernel'] >> 10}; "
             f"vgpud {kib['vgpud']} KiB, {found['vgpud_files']} files; card {found['card_mib']} MiB")
    for cid, its in found["guests"].items():
        words += (f"; guest {cid}: {its['programs']} programs, {its['processes']} processes, {its['files']} files, "
                  f"{its['own_kib'] >> 10} MiB, group {its['group_kib'] >> 10} MiB, QEMU {its['qemu_kib'] >> 10} MiB")
    say("  " + words)
    run.write("tenants.txt", words + "\n")
    run.save()
    return found


# --- the guests ----------------------------------------------------------------------


class Innocent:
    """The innocent guest's program. Its lines are read while it runs, and saved."""

    def __init__(self, run, guest):
        self.run, self.guest, self.dir = run, guest, "/rw/root/tmp/innocent"
        self.lines, self.bytes = [], 0
        guest.aside(f"rm -rf {self.dir}; mkdir {self.dir} && chmod 777 {self.dir}")
        self.program = guest.begin(f"{run.enter}; ./innocent /tmp/innocent {PERIOD}", run.left(7200))

    def read(self):
        """Reads new lines, and fails if the program has ended or a result was wrong."""
        self.program.check()
        text = self.guest.aside(f"tail -c +{self.bytes + 1} {self.dir}/times 2>/dev/null || true")
        # An agent's answer ends in a newline, which the file may not have yet.
        whole = text[:text.rfind("\n", 0, -1) + 1] if text.count("\n") > 1 else ""
        self.bytes += len(whole)
        self.lines += samples(whole)
        self.run.write("tenants-times.txt", whole)
        if self.lines and self.lines[-1][-1]:
            raise Failed(f"the innocent guest has {self.lines[-1][-1]:.0f} wrong results")
        return len(self.lines)

    def watch(self, seconds):
        """Lets the program run; returns its lines of that time."""
        first, until = self.read(), time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            time.sleep(min(READ, rest))
            self.run.check_alive()
            self.read()
        return self.lines[first:]

    def stop(self):
        if self.program.is_alive():
            self.guest.aside(f": >{self.dir}/stop")
            if not self.program.right(60).endswith("right\n"):
                raise Failed(f"the innocent guest: {self.program.text.strip()[-300:]}")


# --- the step ----------------------------------------------------------------------


def build(run):
    """Builds all programs; returns the results to wait for."""
    pool = concurrent.futures.ThreadPoolExecutor()
    results = [pool.submit(run.build, name) for name in ("innocent", "hoard", "share")]
    results.append(pool.submit(build_babble, run))
    pool.shutdown(wait=False)
    return results


def build_babble(run):
    built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-std=gnu11", "-I", os.path.join(TOP, "uapi"),
                            "-I", os.path.join(TOP, "tests/selftests"), "-o", run.path("babble"),
                            os.path.join(HERE, "babble.c")],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=run.left(60), check=False, text=True)
    if built.returncode:
        raise Failed(f"cc: {built.stdout.strip()[-300:]}")


def said_of(name, lines):
    found = latencies(lines)
    return f"{name}: {found['periods']} periods; " + ", ".join(
        f"{kind} p50 {found[kind]['p50']} ms, p99 {found[kind]['p99']}, longest {found[kind]['max']}" for kind in KINDS)


def record(run, name, lines):
    """Records the latencies of a phase."""
    run.measured["tenants"][name] = latencies(lines)
    words = said_of(name, lines)
    say("  " + words)
    run.write("tenants.txt", words + "\n")
    run.save()
    return run.measured["tenants"][name]


def soak(run, innocent, hostiles, guests, wrong):
    """Lets all guests run; returns the innocent one's lines."""
    lines, ended = [], []
    for quarter in range(1, 5):
        lines += innocent.watch(run.minutes * 60 / 4)
        record(run, f"until quarter {quarter}", lines)
        mark(run, guests, f"quarter {quarter}")
        for hostile in hostiles:
            try:
                hostile.program.check()
                words = hostile.done()
            except Failed as error:
                # The others go on: the innocent guest counts.
                words = f"ended early: {error}"
                if hostile not in ended:
                    ended.append(hostile)
                    wrong.append(f"{hostile.name}: {words}")
            say(f"  {hostile.name}: {words}")
            run.write("tenants.txt", f"{hostile.name}: {words}\n")
    return lines


def end_hostile(run, guests, wrong):
    """Ends the hostile guests; nothing of them may be left."""
    users = {run.status(guest.cid).get("uid") for guest in guests} - {None}
    for guest in guests:
        guest.end(signal.SIGTERM)
        run.others.pop(guest.cid)

    def left():
        return [pid for name in PROGRAMS for pid, user in deaths.processes(run, name) if user in users]

    if await_until(run, "", lambda: not left(), GONE):
        wrong.append(f"{len(left())} processes of hostile guests are left {GONE} s after their end")


def tenants(run):
    """An innocent guest alone, beside three hostile ones, and alone again."""
    table = run.measured["tenants"] = {"minutes": run.minutes}
    built = build(run)
    others = run.other_guests(3)
    for result in built:
        result.result()
    guests = [run.guest, *others]
    table["groups"] = all(groups(guest.cid) for guest in guests)
    wrong, hostiles = [], []
    mark(run, guests, "idle")
    innocent = Innocent(run, run.guest)
    try:
        late = await_until(run, "the innocent program's first period", innocent.read, BEGIN)
        if late:
            raise Failed(late)
        innocent.watch(5)
        seconds = max(10, min(60, run.minutes * 6))
        alone = record(run, "alone", innocent.watch(seconds))
        before = mark(run, guests, "before")
        hostiles.append(greedy(run, others[0], innocent, wrong))
        hostiles += [begin(run, guest) for begin, guest in zip((hoard, Babbler), others[1:])]
        begun = sum(hostiles[0].kernels())
        mark(run, guests, "start")
        beside = record(run, "beside", soak(run, innocent, hostiles, guests, wrong))
        table["ratios"] = ratios(alone, beside)
        if hostiles[0].program.is_alive() and sum(hostiles[0].kernels()) <= begun:
            wrong.append("greedy: no kernel was done")
        if not hostiles[2].turns:
            wrong.append("nonsense: no turn was done")
        for hostile in hostiles:
            hostile.tell()
        table["hostile"] = {}
        for hostile in hostiles:
            try:
                table["hostile"][hostile.name] = hostile.stop()
            except Failed as error:
                table["hostile"][hostile.name] = str(error)
                wrong.append(f"{hostile.name}: {error}")
        for guest in others:
            late = await_until(run, f"programs of guest {guest.cid} are gone",
                               lambda cid=guest.cid: not run.status(cid).get("programs"), GONE)
            if late:
                wrong.append(late)
        record(run, "after", innocent.watch(min(seconds, 20)))
        wrong += grown(before, mark(run, guests, "after"), LEFT_KIB)
        end_hostile(run, others, wrong)
        wrong += grown(before, mark(run, guests[:1], "end"), END_KIB)
        innocent.stop()
    finally:
        for each in (*hostiles, innocent):
            if each.program.is_alive() and each.guest.side:
                if each is innocent:
                    each.guest.aside(f": >{each.dir}/stop")
                else:
                    each.tell()
        run.save()
    words = (f"{run.minutes:g} minutes, {'with' if table['groups'] else 'without'} control groups; "
             f"{beside['periods']} periods, no call failed, no result was wrong; " +
             ", ".join(f"{kind} p50 {beside[kind]['p50']} ms ({ratio['p50']} times), p99 {beside[kind]['p99']} ms "
                       f"({ratio['p99']} times)" for kind, ratio in table["ratios"].items()))
    table["wrong"] = wrong
    run.save()
    if wrong:
        raise Failed("; ".join(wrong) + "; all: " + words)
    return words
