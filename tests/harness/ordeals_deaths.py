# SPDX-License-Identifier: GPL-2.0-only
"""An ordeal of QEMUs inside the host VM: they are killed at random moments while programs of their
guest use the device, with a window and without one. All that the host holds for guests is compared
with what it held before."""

import os
import random
import time

from bed import say
from ordeals_base import TOOLS, Failure, Leak, Mixed, begin, ended, must, wait_busy, works
from patience import Deadline

# Number of QEMUs that are killed. The fourth number of VGPU_DEATHS asks for another one.
KILLS = 2
# Longest time in seconds between a moment at which the device is busy and the death of the QEMU.
PAUSE = 1.5
# What a host holds for programs of guests: nothing once their connection has ended.
OF_PROGRAMS = ("files", "file objects", "buffers", "mappings of buffers", "vgpud's sessions", "vgpud's lanes",
               "vgpud's objects", "vgpud's mappings", "bindings", "/vgpu-shadow")
# Exit status of tests/tools/deaths_run if something that it read was wrong.
WRONG = 1


def held(bed):
    """Returns what the host holds for guests: numbers by their names, in the order of host_held. A
    process' lines follow the process, so their names are made different."""
    found, last = {}, ""
    for line in bed.host.must(f"{TOOLS}/host_held /dev/vgpu-mock {bed.guest.cid}", 60).lines:
        name, _, number = line.rpartition(" ")
        if name.startswith(" "):
            name = last + name
        else:
            last = name
        found[name] = int(number)
    # host_held has a file open itself.
    found["files"] -= 1
    return found


def at_rest(bed, limit=120):
    """Waits until nothing is held for programs and nothing changes; returns what is held then. A
    program uses the device once before: the first session of a guest makes the guest's group."""
    works(bed, 60)
    deadline = Deadline(bed.time, limit)
    last, same = None, 0
    while same < 3:
        now = held(bed)
        same = same + 1 if now == last and not any(now[what] for what in OF_PROGRAMS) else 0
        last = now
        if deadline.left() <= 0:
            raise Leak(f"the host does not come to rest: {now}")
        time.sleep(0.5)
    return last


def comes_back(bed, before, limit=120):
    """Waits until the host holds what it held before."""
    works(bed, 60)
    deadline = Deadline(bed.time, limit)
    while differences := [f"{name}: {before.get(name)}, now {number}" for name, number in held(bed).items()
                          if number != before.get(name)]:
        if deadline.left() <= 0:
            raise Leak("the host holds something else than before: " + "; ".join(differences))
        time.sleep(0.5)


def programs_begin(bed, chance):
    """Starts programs in the guest, and waits until they use the device in several ways."""
    begin(bed.guest, f"{TOOLS}/deaths_run mock {chance.getrandbits(31)}")
    wait_busy(bed)


def programs_end(bed):
    """Ends these programs; returns what they have seen."""
    must(bed.guest, "kill $(cat /run/begun.pid)")
    text, status = ended(bed.guest)
    text = "; ".join(text.splitlines())
    if status == WRONG:
        raise Mixed(text)
    if status:
        raise Failure(f"programs ended with {status}: {text}")
    return text


def chances():
    """Returns a source of random numbers. VGPU_SEED repeats those of an earlier run."""
    seed = int(os.environ.get("VGPU_SEED") or time.time_ns() % 1000000007)
    say(f"# seed {seed}")
    return random.Random(seed)


def qemus(bed):
    """Kills QEMUs. Every other guest has no window. The last guest that is booted has one, as other
    tests need it."""
    wanted = os.environ.get("VGPU_DEATHS", "").split(",")
    times = int(wanted[3]) if len(wanted) > 3 else KILLS
    chance = chances()
    before = {True: at_rest(bed)}
    for number in range(1, times + 1):
        programs_begin(bed, chance)
        time.sleep(chance.uniform(0, PAUSE))
        window = (times - number) % 2 == 0
        bed.replace_guest(window)
        if window in before:
            comes_back(bed, before[window])
        else:
            before[window] = at_rest(bed)
    return f"{times} QEMUs killed under load, {times // 2} of them without a window; the host holds what it held before"
