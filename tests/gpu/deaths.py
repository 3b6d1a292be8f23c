# SPDX-License-Identifier: GPL-2.0-only
"""Steps with two guests: both compute at once, and processes of one are killed."""

import os
import signal
import time

from machine import Failed, say

# Seconds within which a killed process's memory must be free, and least memory of its program in
# MiB.
SOON = 10
LEAST_MIB = 1024
VICTIMS = ("program", "shadow", "engine", "qemu")


class Worker:
    """A program that adds vectors in a guest until it is told to stop."""

    def __init__(self, run, guest):
        self.guest, self.dir = guest, "/rw/root/tmp/worker"
        guest.aside(f"rm -rf {self.dir}; mkdir {self.dir} && chmod 777 {self.dir}")
        self.program = guest.begin(f"{run.enter}; ./vecadd --until /tmp/worker", run.left())

    def rounds(self):
        """Returns the number of additions with right results so far."""
        self.program.check()
        return int(self.guest.aside(f"cat {self.dir}/rounds 2>/dev/null || echo 0"))

    def await_rounds(self, more, seconds):
        """Waits for that many more additions."""
        wanted = self.rounds() + more
        deadline = time.monotonic() + seconds
        while self.rounds() < wanted:
            if time.monotonic() > deadline:
                raise Failed(f"guest {self.guest.cid} has not added {more} times more within {seconds} s")
            time.sleep(0.1)

    def tell(self):
        self.guest.aside(f": >{self.dir}/stop")

    def stop(self):
        """Stops the program, and checks that all of its results were right."""
        self.tell()
        if not self.program.right(60).endswith("right\n"):
            raise Failed(f"guest {self.guest.cid}: {self.program.text.strip()[-300:]}")


def guests(run):
    """Lets two guests compute at once."""
    run.build("vecadd")
    workers = [Worker(run, guest) for guest in (run.guest, run.other_guest())]
    try:
        for worker in workers:
            worker.await_rounds(1, 90)
        # Both must go on while the other one runs.
        before = [worker.rounds() for worker in workers]
        while any(worker.rounds() < old + 3 for worker, old in zip(workers, before)):
            if run.left(3600) < 20:
                raise Failed("no time is left")
            time.sleep(0.1)
        added = [worker.rounds() for worker in workers]
    finally:
        for worker in workers:
            if worker.program.is_alive():
                worker.tell()
    for worker in workers:
        worker.stop()
    run.measured["guests"] = {"rounds": added}
    return f"two guests of {run.cpus} processors have added {' and '.join(map(str, added))} times 1000 vectors at once"


def processes(run, name):
    """Returns process and user ids of all processes that run one of vgpud's programs."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") == run.path("kit/vgpu/" + name):
                found.append((int(entry), os.stat(f"/proc/{entry}").st_uid))
        except OSError:
            continue
    return found


def memory(run):
    """Returns the memory in use of all cards in MiB, from nvidia-smi. In a rehearsal, each shadow
    counts as 1 GiB."""
    if run.rehearse:
        return 1024 * len(processes(run, "vgpu-engine-shadow"))
    return sum(int(line) for line in run.query("memory.used"))


def await_memory(run, most, start):
    """Waits until no more than most MiB are in use; returns the seconds since start."""
    while (used := memory(run)) > most:
        if time.monotonic() > start + SOON:
            raise Failed(f"{used} MiB are in use after {SOON} s, and were {most} before")
        time.sleep(0.1)
    return time.monotonic() - start


def kill(run, victim, pid):
    """Kills the victim. pid: the process id of the program in the guest"""
    guest = run.guest
    status = run.status(guest.cid)
    if victim == "program":
        guest.aside(f"kill -9 {pid}")
    elif victim == "shadow":
        shadow, = (program["shadow_pid"] for program in status["programs"] if program["guest_pid"] == pid)
        os.kill(shadow, signal.SIGKILL)
    elif victim == "engine":
        engine, = (process for process, user in processes(run, "vgpu-engine") if user == status["uid"])
        os.kill(engine, signal.SIGKILL)
    else:
        run.forget(guest.children)
        guest.children[-1].kill()


def death(run, victim, worker, base):
    """Lets a kernel run in the first guest, kills the victim, and checks the card's memory and the
    other guest's program."""
    guest, folder = run.guest, "/rw/root/tmp/spin"
    guest.aside(f"rm -rf {folder}; mkdir {folder} && chmod 777 {folder}")
    spinner = guest.begin(f"{run.enter}; ./spin /tmp/spin", run.left(150))
    deadline = time.monotonic() + run.left(90)
    while not (pid := guest.aside(f"cat {folder}/running 2>/dev/null || true").strip()):
        spinner.check()
        if time.monotonic() > deadline:
            raise Failed(f"{victim}: the kernel does not run within 90 s")
        time.sleep(0.1)
    high = memory(run)
    if high < base + LEAST_MIB:
        raise Failed(f"{victim}: {high} MiB are in use while a program runs that has much, and {base} without it")
    worker.await_rounds(1, 30)
    start = time.monotonic()
    kill(run, victim, int(pid))
    try:
        took = await_memory(run, base, start)
        worker.await_rounds(2, 30)
    except Failed as error:
        raise Failed(f"{victim}: {error}") from error
    finally:
        # The program has ended, or its end is checked below.
        if victim != "qemu":
            spinner.join(20)
    words = f"{victim}: {base} MiB again after {took:.1f} s (of {high})"
    run.measured.setdefault("deaths", {})[victim] = {"before_mib": base, "with_kernel_mib": high, "seconds": round(took, 1)}
    if victim == "qemu":
        spinner.join(20)
    elif spinner.is_alive():
        guest.aside(f"kill -9 {pid} 2>/dev/null || true")
        spinner.join(20)
        words += ", and the program had to be killed, too"
    if spinner.is_alive():
        guest.abandon()
        raise Failed(f"{words}, and a program hangs in the guest")
    say("  " + words)
    run.save()
    return words


def deaths(run):
    """Kills each victim while a kernel runs: its memory must be freed, and another guest must go
    on."""
    run.build("vecadd")
    run.build("spin")
    other = run.other_guest()
    nothing = memory(run)
    worker = Worker(run, other)
    said = []
    try:
        worker.await_rounds(2, 90)
        base = memory(run)
        for victim in VICTIMS:
            if not run.guest.agent:
                run.boot()
            said.append(death(run, victim, worker, base))
            if victim in ("engine", "qemu"):
                # The guest has lost its devices, or its QEMU, so it is ended and booted again.
                run.guest.end(signal.SIGKILL)
        worker.stop()
        await_memory(run, nothing, time.monotonic())
    finally:
        if worker.program.is_alive():
            worker.tell()
            worker.program.join(30)
        run.save()
    # Later steps need a guest, too.
    run.boot()
    return "; ".join(said) + "; the other guest's program was right to the end"
