# SPDX-License-Identifier: GPL-2.0-only
"""What several ordeals do: they load modules, run hunts for bytes of others, give guests a card, and
wait."""

import re
import time

from patience import Deadline

TOOLS = "/usr/lib/vgpu-test/tools"
# Seconds for which programs of guests look for bytes of each other.
HUNT = 10
# Seconds for which a guest's hostile kernel looks for bytes of others.
PREY = 40
# Command that prints the guest module's kernel mappings of device memory (windows).
HOLDS = "grep '\\[vgpu_guest\\] .*ioremap' /proc/vmallocinfo"


class Failure(Exception):
    """The ordeal has failed. final: reason why it is not run again, or None"""

    final = None


class Leak(Failure):
    """Memory, a file or another resource was not released."""

    final = "a leak"


class Mixed(Failure):
    """A program has memory of another one, or lost what it wrote, or a guest was notified of
    another device's change."""

    final = "memory or a device of somebody else"


def load(bed, kind=""):
    bed.guest.must(f"setsid {TOOLS}/guest_load mock {kind} >/dev/null 2>&1 3>&- </dev/null & "
                   "echo $! >/run/load.pid")


def unload(bed):
    bed.guest.must("kill $(cat /run/load.pid); while kill -0 $(cat /run/load.pid) 2>/dev/null; "
                   "do busybox usleep 50000; done", 20)


def works(bed, limit=30):
    """Checks that new opens of the device work."""
    result = bed.guest.run(f"{TOOLS}/guest_load mock once", limit)
    if result.status:
        raise Failure("the device does not work again")


def wait_busy(bed):
    """Waits until every part of the load is in a call that a cut can hit."""
    result = bed.host.run(f"{TOOLS}/mock_state /dev/vgpu-mock busy", 80)
    if result.status:
        raise Failure(f"the load does not come back: '{result.text}'")


def hunt(machine, mark, seconds, beside="true"):
    """Starts tests/tools/mock_hunt, and another command beside it; returns the number of the
    command."""
    return machine.send(f". /run/vgpu-env; ({beside}) & "
                        f"{TOOLS}/mock_hunt $VGPU_FWD_MOCK {mark} {int(seconds)}", 4 * seconds)


def hunted(machine, serial, seconds):
    """Waits for a hunt, and returns what it saw."""
    result = machine.result(serial, 4 * seconds)
    text = "; ".join(filter(None, result.lines))
    if result.status:
        raise Mixed(f"{machine.name} ({result.status}): {text}")
    return f"{machine.name}: {text}"


def figures(seen, what):
    """Returns the sum of one of the numbers that hunts have printed."""
    return sum(int(number) for number in re.findall(rf"(\d+) {what}\b", "; ".join(seen)))


def stop_agent(bed):
    must(bed.host, "pid=$(pidof vgpud); kill $pid; "
                   "while kill -0 $pid 2>/dev/null; do busybox usleep 20000; done", 20)


def must(machine, command, limit=60):
    result = machine.run(command, limit)
    if result.status:
        raise Failure(f"{machine.name}: '{command}' ({result.status}): {result.text}")


def load_modules(bed):
    bed.offer()
    bed.take()
    bed.describe()


# File with the number of pages that the stand-in for NVIDIA's driver has allocated; the command that
# lists all traces of a card; the one that loads the stand-in and makes its device files.
NVIDIA_PAGES = "/sys/module/vgpu_mock_nvidia/parameters/pages"
NVIDIA_TRACES = "ls -d /dev/nvidia* /proc/driver/nvidia /sys/module/nvidia* 2>/dev/null; grep nvidia /proc/devices"
NVIDIA_MAKE = ("modprobe vgpu_mock_nvidia bus_id={bus}; uvm=$(sed -n 's/ nvidia-uvm$//p' /proc/devices); "
               "mknod /dev/nvidiactl c 195 255; mknod /dev/nvidia0 c 195 0; "
               "mknod /dev/nvidia-uvm c $uvm 0; mknod /dev/nvidia-uvm-tools c $uvm 1")
# The module can be unloaded a moment after the unexport, because a thread of vgpud closes the
# card's files when no guest has the card.
NVIDIA_END = ("rm /dev/nvidia*; for i in $(seq 200); do rmmod vgpu_mock_nvidia 2>/dev/null && exit; busybox usleep 100000; done; "
              "rmmod vgpu_mock_nvidia")


def comes(machine, command, wanted, limit=30):
    """Polls until a command prints the wanted text."""
    deadline = Deadline(machine.time, limit)
    while (said := machine.run(command, 20).text) != wanted:
        if deadline.left() <= 0:
            raise Failure(f"{machine.name}: '{command}' says '{said}', not '{wanted}'")
        time.sleep(0.2)


def give_card(bed, guests):
    """Loads the stand-in of NVIDIA's driver, and exports a card of it to the guests."""
    bus = bed.host.must("grep -l ^0x0403 /sys/bus/pci/devices/*/class").lines[0].split("/")[-2]
    must(bed.host, NVIDIA_MAKE.format(bus=bus))
    for guest in guests:
        must(bed.host, f"vgpuctl export --nvidia 0 --to {guest.cid}")
    for guest in guests:
        comes(guest, "ls -d /dev/nvidiactl /dev/nvidia0", "/dev/nvidia0\n/dev/nvidiactl")


def take_card(bed):
    """Unexports the card and unloads the stand-in. The module can be unloaded when nothing of the
    card is mapped or lent, which may take a moment."""
    must(bed.host, "vgpuctl unexport --nvidia --force")
    comes(bed.guest, NVIDIA_TRACES, "")
    must(bed.host, NVIDIA_END, 60)


def begin(machine, command):
    """Starts a program in the background."""
    must(machine, ". /run/vgpu-env; rm -f /run/begun.*; "
         f"setsid sh -c '{command} & echo $! >/run/begun.pid; wait $!; echo $? >/run/begun.status' "
         ">/run/begun.out 2>&1 3>&- </dev/null & while [ ! -s /run/begun.pid ]; do busybox usleep 20000; done")


def ended(machine, limit=60):
    """Waits for the end of begin()'s program; returns its output and exit status."""
    must(machine, "while [ ! -s /run/begun.status ]; do busybox usleep 50000; done", limit)
    return machine.must("cat /run/begun.out").text, int(machine.must("cat /run/begun.status").text)
