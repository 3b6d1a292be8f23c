# SPDX-License-Identifier: GPL-2.0-only
"""Ordeals: what is done to whole machines while programs use the device.

Each is a function of a pair bed that raises Failure, or returns a word about
what was seen. The guest runs tests/tools/guest_load meanwhile.
"""

import os
import signal
import time

TOOLS = "/usr/lib/vgpu-test/tools"
CUTS = 90
KILLS = 10
# Half of vgpud's ping-timeout-ms until there is a PING, all of it until that
# counts as unanswered, a second, and what an emulated machine adds.
PING_LIMIT = 5 + 10 + 1 + 4


class Failure(Exception):
    """The ordeal was not survived."""


def state(bed):
    """What the host VM holds on behalf of guests."""
    lines = bed.host.must(
        f"{TOOLS}/mock_state /dev/vgpu-mock; echo shadows $(pidof vgpu-shadow | wc -w); "
        "echo module $(cat /sys/module/vgpu_host/refcnt)").lines
    return "; ".join(lines)


def settle(bed, wanted, limit=30):
    """Polls until the host is back at a state."""
    deadline = time.monotonic() + limit
    while (now := state(bed)) != wanted:
        if time.monotonic() > deadline:
            raise Failure(f"the host VM holds '{now}', it began with '{wanted}'")
        time.sleep(0.2)


def load(bed):
    bed.guest.must(f"setsid {TOOLS}/guest_load mock >/dev/null 2>&1 3>&- </dev/null & "
                   "echo $! >/run/load.pid")


def wait_busy(bed, limit=60):
    """Polls until every part of the load has what a cut can hit."""
    deadline = time.monotonic() + limit
    while True:
        words = state(bed).replace(";", "").split()
        if int(words[1]) >= 4 and int(words[9]) >= 1:
            return
        if time.monotonic() > deadline:
            raise Failure(f"the load does not come back: '{' '.join(words)}'")
        time.sleep(0.05)


def unload(bed):
    bed.guest.must("kill $(cat /run/load.pid); while kill -0 $(cat /run/load.pid) 2>/dev/null; "
                   "do busybox usleep 50000; done", 20)


def works(bed, limit=30):
    """New opens work again."""
    result = bed.guest.run(f"{TOOLS}/guest_load mock once", limit)
    if result.status:
        raise Failure("the device does not work again")


def cut(bed):
    """Connections end in the middle of calls."""
    before = state(bed)
    load(bed)
    for _ in range(CUTS):
        wait_busy(bed)
        bed.bridge.cut()
    unload(bed)
    settle(bed, before)
    works(bed)
    return f"{CUTS} connections cut in mid-call, back to '{before}'"


def freeze(bed):
    """A host VM that stands still: calls end with ENODEV, and work again later."""
    before = state(bed)
    serial = bed.guest.send(f"{TOOLS}/guest_load mock lost", 60)
    wait_open(bed)
    group = os.getpgid(bed.host.process.pid)
    os.killpg(group, signal.SIGSTOP)
    start = time.monotonic()
    try:
        result = bed.guest.result(serial, 60)
        took = time.monotonic() - start
    finally:
        os.killpg(group, signal.SIGCONT)
    if result.status:
        raise Failure(f"the call ended otherwise: {result.text}")
    if took > PING_LIMIT:
        raise Failure(f"the call took {took:.1f} s to end, {PING_LIMIT} are allowed")
    works(bed, 60)
    settle(bed, before)
    return f"calls ended with ENODEV {took:.1f} s after the host VM froze"


def wait_open(bed, limit=30):
    deadline = time.monotonic() + limit
    while int(state(bed).split()[1]) < 1:
        if time.monotonic() > deadline:
            raise Failure("the guest did not open the device")
        time.sleep(0.05)


def kill(bed):
    """Guest VMs die; the next one with the same address inherits nothing."""
    before = state(bed)
    for _ in range(KILLS):
        load(bed)
        wait_busy(bed)
        bed.replace_guest()
        settle(bed, before)
    works(bed)
    return f"{KILLS} guest VMs killed in mid-call, back to '{before}'"


ORDEALS = {"ordeal_cut": cut, "ordeal_freeze": freeze, "ordeal_kill": kill}
