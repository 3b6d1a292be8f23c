# SPDX-License-Identifier: GPL-2.0-only
"""Hostile guests of the step tenants: one is greedy for the card's time, one for its memory, and one
speaks nonsense."""

import glob
import json
import time

import deaths
from machine import COUNTED, INSERT, PORT, WHERE, Failed, Program, say

# Programs of the greedy guest.
GREEDY = 8
# Seconds for its programs to begin: at once, and each of them if they have to begin one by one.
AT_ONCE, NEXT = 90, 45
# Seconds: for a guest's programs to be gone, and of a turn of the guest that speaks nonsense, by
# requests and by the wire.
GONE, TURNS = 60, (20, 10)
# Programs of vgpud that serve a guest.
PROGRAMS = ("vgpu-engine", "vgpu-engine-shadow", "vgpu-engine-master", "vgpu-keeper", "vgpu-shadow")


def await_until(run, what, holds, seconds):
    deadline = time.monotonic() + run.left(seconds)
    while not holds():
        run.check_alive()
        if time.monotonic() > deadline:
            return f"{what}: not within {seconds} s"
        time.sleep(0.5)
    return ""


class Hostile:
    """A program of a hostile guest, which runs until it is told to stop."""

    def __init__(self, run, guest, name, command):
        self.guest, self.name, self.dir = guest, name, "/rw/root/tmp/hostile"
        guest.aside(f"rm -rf {self.dir}; mkdir {self.dir} && chmod 777 {self.dir}")
        self.program = guest.begin(f"{run.enter}; {command}", run.left(7200))

    def done(self):
        """Returns what the program says about its progress."""
        text = self.guest.aside(f"for f in {self.dir}/done {self.dir}/*/done; do [ ! -e $f ] || echo $(cat $f); done")
        return text.strip().replace("\n", ", ")

    def tell(self):
        if self.program.is_alive():
            self.guest.aside(f"for d in {self.dir} {self.dir}/*; do [ ! -d $d ] || touch $d/stop; done")

    def stop(self):
        """Waits for the end; returns the last words."""
        self.tell()
        return self.program.right(GONE).strip().replace("\n", ", ")


class Greedy(Hostile):
    """Programs that keep the card busy."""

    def __init__(self, run, guest, one_by_one):
        # A program that is told to stop before it has done anything is not waited for.
        wait = "until [ -e $d/done ] || [ -e $d/stop ]; do sleep 0.2; done; " if one_by_one else ""
        super().__init__(run, guest, "greedy", f"for n in $(seq {GREEDY}); do d=/tmp/hostile/$n; [ ! -e /tmp/hostile/stop ] || break; "
                         f"mkdir $d; ./share $d >$d/said 2>&1 & {wait}done; wait; cat /tmp/hostile/*/said")

    def kernels(self):
        """Returns the numbers of kernels that the programs have done which have done any."""
        self.program.check()
        text = self.guest.aside(f"for f in {self.dir}/*/done; do [ ! -e $f ] || cat $f; echo; done")
        return [int(line.split()[0]) for line in text.splitlines() if line.split()]

    def done(self):
        kernels = self.kernels()
        return f"{sum(kernels)} kernels of {len(kernels)} programs, {min(kernels, default=0)} to {max(kernels, default=0)} each"

    def stop(self):
        try:
            said = super().stop()
        except Failed:
            self.kill()
            raise
        if said.split(", ") != ["right"] * GREEDY:
            raise Failed(said[-300:])
        return said

    def kill(self):
        """Ends programs that do not end by themselves."""
        self.tell()
        self.guest.aside("killall -q -9 share || true")
        self.program.join(GONE)


def where(run, guest):
    """Writes down what threads of a guest's programs do, and those of its engine, shadows and
    keeper."""
    for command in (COUNTED, WHERE):
        guest.ask_side("where.txt", command)
    status = run.status(guest.cid)
    run.write("where.txt", f"guest {guest.cid}: {json.dumps(status, indent=1)}\n")
    if run.window:
        run.write("where.txt", run.vgpuctl("window", "list"))
    for name in PROGRAMS:
        for pid, user in deaths.processes(run, name):
            # Keepers are not of the guest's user: all are written down.
            if user != status.get("uid") and name != "vgpu-keeper":
                continue
            for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
                for file in ("comm", "wchan", "syscall", "stack"):
                    try:
                        with open(f"{task}/{file}", encoding="ascii", errors="replace") as text:
                            run.write("where.txt", f"{name} {task} {file}: {text.read().strip()}\n")
                    except OSError as error:
                        run.write("where.txt", f"{name} {task} {file}: {error}\n")


def greedy(run, guest, innocent, wrong):
    """Lets eight programs keep the card busy. They begin at once; if any of them does nothing then,
    which is an error, they begin again one by one."""
    program = first = Greedy(run, guest, False)
    late = await_until(run, f"the work of {GREEDY} programs that begin at once",
                       lambda: innocent.read() and len(first.kernels()) == GREEDY, AT_ONCE)
    if not late:
        return program
    wrong.append(f"{late} ({program.done()}; see where.txt)")
    say(f"  {wrong[-1]}")
    where(run, guest)
    program.kill()
    if program.program.is_alive():
        return program
    late = await_until(run, f"programs of guest {guest.cid} that were killed are gone", lambda: not run.status(guest.cid).get("programs"), GONE)
    if late:
        wrong.append(late)
    program = Greedy(run, guest, True)
    count = 0
    while count < GREEDY:
        late = await_until(run, "the next program", lambda: innocent.read() and len(program.kernels()) > count, NEXT)    # pylint: disable=cell-var-from-loop
        if late:
            break
        count = len(program.kernels())
    if count < GREEDY:
        wrong.append(f"{count} of {GREEDY} programs work that begin one by one")
        say(f"  {wrong[-1]}")
        where(run, guest)
    return program


def hoard(run, guest):
    """Programs take the card's memory, and die at random."""
    return Hostile(run, guest, "hoard", "./hoard /tmp/hostile")


class Babbler:
    """The guest that speaks nonsense: in turns its program makes random requests at the forwarded
    device files, and speaks to the host in place of the guest's module."""

    def __init__(self, run, guest):
        self.run, self.guest, self.name = run, guest, "nonsense"
        self.over, self.turns, self.said = False, 0, ""
        self.program = Program(self.babble)

    def turn(self, nodes):
        guest = self.guest
        requests = f"{self.run.enter}; timeout -s KILL {TURNS[0] + 20} ./babble requests {TURNS[0]} {nodes}"
        self.said = guest.must(requests, TURNS[0] + 60).strip()
        if self.over:
            return
        # A program that was killed may still have a file.
        guest.must("n=0; until rmmod vgpu_guest; do n=$((n + 1)); [ $n -lt 100 ] || exit; usleep 200000; done", 60, "init")
        try:
            wire = f"chroot /rw/root /run/kit/babble wire {TURNS[1]} {PORT}"
            self.said += "; " + guest.must(wire, TURNS[1] + 60, "init").strip()
        finally:
            # The host may take a while to forget the guest that it has just had.
            guest.must(INSERT, 60, "init")
        guest.await_nodes()
        self.turns += 1

    def babble(self):
        nodes = self.guest.await_nodes()
        paths = " ".join(f"/dev/{node}" for node in nodes.values()) if self.run.rehearse else \
            "/dev/nvidiactl /dev/nvidia0 /dev/nvidia-uvm"
        while not self.over:
            self.turn(paths)
        return 0, f"{self.turns} turns; {self.said}"

    def done(self):
        return f"{self.turns} turns; {self.said}"

    def tell(self):
        self.over = True

    def stop(self):
        self.tell()
        return self.program.right(sum(TURNS) + 240).strip()
