# SPDX-License-Identifier: GPL-2.0-only
"""Ordeals of a window's device: it is taken from its driver, or its guest sleeps, while programs
use the window's memory."""

import re
import signal

from nested import WINDOW_DEVICE
from ordeals_base import (
    HOLDS, HUNT, TOOLS, Failure, Leak, Mixed, begin, comes, ended, figures, give_card, hunt, hunted,
    load, must, take_card, unload)
from patience import Deadline

# Exit status of tests/tools/nvidia_hunt if no memory of the card was shown in the window.
NONE_SHOWN = 3
# Number of times that the window's device is taken from its driver while a program uses its memory.
UNBINDS = 3


def shown(bed, what):
    """Returns the number of mappings of a device file that the guest's hypervisor has."""
    return int(bed.host.run("stat -L -c %t:%T /proc/$(cat /run/inner.guest.pid)/map_files/* 2>/dev/null | "
                            f"grep -cx $(stat -c %t:%T /dev/{what})").text)


def wait_shown(bed, what, limit=60):
    """Waits until the guest's window shows a mapping of a device."""
    deadline = Deadline(bed.time, limit)
    while not shown(bed, what):
        if deadline.left() <= 0:
            raise Failure(f"nothing of {what} is seen in the window")


def window_moves(bed, how):
    """Takes the window's device from the guest's driver (unbind), or gives it back (bind)."""
    must(bed.guest, f"cd /sys/bus/pci/devices/{WINDOW_DEVICE} && device=$(echo virtio*) && "
         f"echo $device >/sys/bus/virtio/drivers/vgpu_window/{how}")


def holds(guest, command=HOLDS):
    """Returns the kernel mappings that a command lists and that are within the window's BARs."""
    bars = [(int(first, 0), int(last, 0)) for first, last, _ in
            map(str.split, guest.must(f"cat /sys/bus/pci/devices/{WINDOW_DEVICE}/resource").lines)]
    return [line for line in guest.run(command).lines if (at := re.search(r"phys=(\w+)", line)) and
            any(first <= int(at[1], 0) <= last for first, last in bars)]


def window_goes(bed, what):
    """Unbinds and binds the window's driver. Without a driver the window must show no mapping,
    because QEMU would not survive the driver's return, and the guest's kernel must not map it,
    because its addresses may belong to another device then."""
    window_moves(bed, "unbind")
    if left := holds(bed.guest):
        raise Leak(f"the guest's kernel has mapped a window whose driver has let go of it: {left}")
    if number := shown(bed, what):
        raise Leak(f"{number} mappings of {what} are seen in a window whose driver has let go of it")
    window_moves(bed, "bind")


def has_ended(machine):
    """Returns whether the program of begin() has ended."""
    return not machine.run("[ -s /run/begun.status ]").status


def begin_shown(bed):
    """Starts a program, and stops it (SIGSTOP) when it has memory of the card in the window, so
    that it does not access the memory."""
    begin(bed.guest, f"{TOOLS}/nvidia_hunt 2 {100 * HUNT}")
    while True:
        wait_shown(bed, "nvidia0")
        must(bed.guest, "kill -STOP $(cat /run/begun.pid)")
        if shown(bed, "nvidia0"):
            return
        must(bed.guest, "kill -CONT $(cat /run/begun.pid)")


def shows_again(bed, limit=120):
    """Checks that programs get memory of both devices in the window, with correct contents. A
    host that is too slow shows no memory, so they try again."""
    deadline = Deadline(bed.time, limit)
    while True:
        seen = hunted(bed.guest, hunt(bed.guest, 1, HUNT / 2), HUNT)
        card = bed.guest.run(f"{TOOLS}/nvidia_hunt 2 {HUNT // 2}", 4 * HUNT)
        if card.status not in (0, NONE_SHOWN):
            raise Mixed(f"({card.status}): {card.text}")
        if figures([seen], "bindings") and not card.status:
            return f"{seen}; {card.text}"
        if deadline.left() <= 0:
            raise Failure(f"no mapping was in the window afterwards: {seen}; {card.text}")


def unbound_often(bed):
    """Unbinds the window's driver while a program uses memory in the window: each byte must be
    what was written last. Returns what the program saw each time that it was started."""
    seen, times = [], 0
    while times < UNBINDS or seen[-1] is None:
        if not seen or seen[-1] is not None:
            begin(bed.guest, f"{TOOLS}/mock_hunt $VGPU_FWD_MOCK 1 {2 * HUNT}")
            seen.append(None)
        elif has_ended(bed.guest):
            text, status = ended(bed.guest)
            if status:
                raise Mixed(f"status {status}: {text}")
            seen[-1] = text
        elif times < UNBINDS and shown(bed, "vgpu-mock"):
            window_goes(bed, "vgpu-mock")
            times += 1
    return seen


def unbind(bed):
    """Unbinds the driver of a guest's window while programs have memory in it, and binds it again.
    Meanwhile memory is a copy with each byte, or lost if it cannot be copied."""
    guest = bed.guest
    give_card(bed, [guest])
    seen = unbound_often(bed)
    begin_shown(bed)
    window_goes(bed, "nvidia0")
    after = shows_again(bed)
    must(guest, "kill -CONT $(cat /run/begun.pid)")
    lost, status = ended(guest)
    if status != 128 + signal.SIGBUS:
        raise Failure(f"a program whose memory cannot be a copy ended with {status}: {lost}")
    take_card(bed)
    return f"unbound {UNBINDS + 1} times; {'; '.join(seen)}; then {after}"


def sleep(bed):
    """Lets a guest go to sleep and wake up while programs have memory in its window."""
    guest = bed.guest
    give_card(bed, [guest])
    load(bed, "held")
    wait_shown(bed, "vgpu-mock")
    begin_shown(bed)
    # pm_test leaves out the last step of suspend, from which nothing would wake the guest.
    must(guest, "echo devices >/sys/power/pm_test && echo freeze >/sys/power/state", 120)
    bed.take()
    comes(guest, "ls -d /dev/nvidiactl /dev/nvidia0", "/dev/nvidia0\n/dev/nvidiactl")
    bed.describe()
    seen = shows_again(bed)
    must(guest, "kill -CONT $(cat /run/begun.pid)")
    ended(guest)
    unload(bed)
    take_card(bed)
    return seen
