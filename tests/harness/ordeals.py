# SPDX-License-Identifier: GPL-2.0-only
"""Ordeals: tests that cut, freeze, kill or change whole VMs, or reload the modules, while
programs in the guest use the device.

Each ordeal is a function that takes a bed. It raises Failure, or returns a text about what
was seen. The programs in the guest are those of tests/tools, often guest_load.
"""

import contextlib
import json
import os
import re
import signal
import time

from display import Display
from nested import STRANGERS, WINDOW_DEVICE
from ordeals_base import (
    HOLDS, HUNT, NVIDIA_PAGES, PREY, TOOLS, Failure, Leak, Mixed, comes, figures, give_card, hunt,
    hunted, load, load_modules, must, stop_agent, take_card, unload, wait_busy, works)
from ordeals_deaths import qemus
from ordeals_nvidia import nvidia, nvidia_stranger
from ordeals_window import holds, sleep, unbind
from patience import Deadline

CUTS = 90
KILLS = 10
# Kills of guests inside the host VM are fewer, because they take long to boot.
KILLS_NESTED = 2
# Greatest number of hunts that it may take to use all pages of a small window.
ROUNDS = 6
# Seconds until a call on a frozen host ends: half of vgpud's ping-timeout-ms until a PING is sent,
# all of it until the PING counts as unanswered, one second more, and a margin for emulation.
PING_LIMIT = 5 + 10 + 1 + 15
# Command that takes the window's device from its driver for three seconds. The kernel mappings
# before go to /run/holds, those without the driver to /run/held.
REBIND = (f"cd /sys/bus/pci/drivers/vgpu_window && sleep 3 && {HOLDS} >/run/holds; echo {WINDOW_DEVICE} >unbind && "
          f"{{ {HOLDS} >/run/held; sleep 3; }} && echo {WINDOW_DEVICE} >bind")
# Greatest number of stops of a guest that it may take to hit a fetch, and the milliseconds that
# emulation may add to a fetch.
WITHHOLDS = 20
SLACK_MS = 15000
# Number of times that modules are loaded and unloaded. Devices are used in between once in
# RELOADS_A_USE times.
RELOADS = 50
RELOADS_QUICK = 2
RELOADS_A_USE = 10
# Seconds to wait for leftovers to go: vsock keeps closed sockets for up to 8 s.
LINGER = 20
# Sizes that the display gets in turn. The last one is its original size.
SIZES = [(800, 600), (1024, 768), (1280, 800)]
# Seconds after a change of the display in which all its uevents have arrived.
QUIET = 2


def state(bed):
    """Returns a text about all that the host VM holds on behalf of guests."""
    lines = bed.host.must(
        f"{TOOLS}/mock_state /dev/vgpu-mock; "
        "echo shadows $(find /proc/[0-9]*/exe -maxdepth 0 -lname '*/vgpu-shadow' 2>/dev/null | wc -l); "
        "memories=$(find /proc/[0-9]*/fd -lname '*vgpu-memory*' 2>/dev/null | wc -l); "
        "echo module $(($(cat /sys/module/vgpu_host/refcnt) - memories)); echo memories $memories").lines
    bindings = [f"bindings {window['bindings']}" for window in windows(bed)]
    return "; ".join(lines + bindings)


def windows(bed):
    """Returns the windows of guests inside the host VM, with their counters."""
    if bed.tier != "nested":
        return []
    return json.loads(bed.host.must("vgpuctl status --json").text)["host"]["windows"]


def rest(bed, limit=30):
    """Waits until nothing of previous programs is held; returns that state, as one to come back
    to."""
    deadline = Deadline(bed.time, limit)
    last = None
    while not (now := state(bed)).startswith("files 0 ") or "shadows 0;" not in now or now != last:
        if deadline.left() <= 0:
            raise Leak(f"the host VM does not come to rest: '{now}'")
        last = now
        time.sleep(1)
    return now


def settle(bed, wanted, limit=30):
    """Waits until the host VM is back at a state."""
    deadline = Deadline(bed.time, limit)
    while (now := state(bed)) != wanted:
        if deadline.left() <= 0:
            raise Leak(f"the host VM holds '{now}', it began with '{wanted}'")
        time.sleep(0.2)


def cut(bed):
    """Cuts connections in the middle of calls."""
    before = rest(bed)
    load(bed)
    for _ in range(CUTS):
        wait_busy(bed)
        bed.bridge.cut()
    unload(bed)
    settle(bed, before)
    works(bed)
    return f"{CUTS} connections cut in mid-call, back to '{before}'"


@contextlib.contextmanager
def stopped(machine):
    """Stops a machine for the duration of the with statement."""
    group = os.getpgid(machine.process.pid)
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def freeze(bed):
    """Stops the host VM: calls fail with ENODEV, and work again after it goes on."""
    before = rest(bed)
    serial = bed.guest.send(f"{TOOLS}/guest_load mock lost", 60)
    wait_open(bed)
    with stopped(bed.host):
        start = bed.time.now(exactly=True)
        result = bed.guest.result(serial, 60)
        took = bed.time.now(exactly=True) - start
    if result.status:
        raise Failure(f"the call ended otherwise: {result.text}")
    if took > PING_LIMIT:
        raise Failure(f"the call took {took:.1f} s to end, {PING_LIMIT} are allowed")
    works(bed, 60)
    settle(bed, before)
    return f"calls ended with ENODEV {took:.1f} s after the host VM froze"


def wait_open(bed, limit=30):
    deadline = Deadline(bed.time, limit)
    while int(state(bed).split()[1]) < 1:
        if deadline.left() <= 0:
            raise Failure("the guest did not open the device")
        time.sleep(0.05)


def fetch_timeouts(bed):
    """Returns the number of fetches so far that guests did not answer in time."""
    text = bed.host.must("vgpuctl status --json").text
    return sum(int(number) for number in re.findall(r'"fetch_timeouts": ?(\d+)', text))


def withhold(bed):
    """Stops the guest VM while the host's driver, holding a mutex, fetches the guest's memory. The
    mutex must be released when the fetch's time limit is over, and everything works afterwards."""
    before = rest(bed)
    limit = int(bed.host.must("sed -n 's/^fetch-timeout-ms = //p' /etc/vgpu/vgpud.conf").text)
    load(bed, "locked")
    wait_open(bed)
    timeouts = fetch_timeouts(bed)
    longest = 0
    for number in range(1, WITHHOLDS + 1):
        with stopped(bed.guest):
            took = int(bed.host.must(f"{TOOLS}/mock_state /dev/vgpu-mock locked", 60).text)
        longest = max(longest, took)
        if took > limit + SLACK_MS:
            raise Failure(f"another process waited {took} ms for the mutex, a fetch may take {limit} ms")
        if fetch_timeouts(bed) > timeouts:
            break
    else:
        raise Failure(f"stopped {WITHHOLDS} times, and never in a fetch")
    works(bed)
    unload(bed)
    settle(bed, before)
    return f"a guest VM stopped {number} times; another process got the mutex after {longest} ms, {limit} are allowed"


def kill(bed):
    """Kills guest VMs: the next guest VM with the same address inherits nothing."""
    before = rest(bed)
    times = KILLS_NESTED if bed.tier == "nested" else KILLS
    for _ in range(times):
        pages = [window["resolved"] for window in windows(bed)]
        load(bed)
        wait_busy(bed)
        if pages:
            wait_bound(bed, pages[0])
        bed.replace_guest()
        settle(bed, before)
    works(bed)
    return f"{times} guest VMs killed in mid-call{', with their window mapped' if pages else ''}, back to '{before}'"


def wait_bound(bed, pages, limit=30):
    """Waits until the guest has a mapping in its window, and more than that number of pages have
    been resolved."""
    deadline = Deadline(bed.time, limit)
    while not windows(bed)[0]["bindings"] or windows(bed)[0]["resolved"] <= pages:
        if deadline.left() <= 0:
            raise Failure("nothing is mapped in the window")
        time.sleep(0.2)


def wait_unbound(bed, limit=30):
    """Waits until the guest has no mapping in its window."""
    deadline = Deadline(bed.time, limit)
    while windows(bed)[0]["bindings"]:
        if deadline.left() <= 0:
            raise Leak("something stays in the window")
        time.sleep(0.2)


def look(bed, guests, seconds):
    """Starts tests/tools/window_look in the host VM, for the windows of guests that hunt with marks
    from 1 on. It reads the windows as a hypervisor does."""
    windows_of = " ".join(f"{mark}=/dev/vgpu-window-{guest.cid}" for mark, guest in enumerate(guests, 1))
    return bed.host.send(f"{TOOLS}/window_look {int(seconds)} {windows_of}", 4 * seconds)


def together(bed, guests):
    """Runs a hunt in each guest, with marks from 1 on, and a look at their windows meanwhile.
    Returns what the guests saw, and what the look saw."""
    serials = [hunt(guest, mark, HUNT) for mark, guest in enumerate(guests, 1)]
    # The look must end before a guest is killed: the next guest gets the window only when it is
    # closed.
    looker = look(bed, guests, HUNT)
    hunts = [(guest, guest.result(serial, 4 * HUNT)) for guest, serial in zip(guests, serials)]
    # All results go into the failure, because each says something about what is wrong.
    looked = bed.host.result(looker, 4 * HUNT)
    seen = ["; ".join(filter(None, result.lines)) for _, result in hunts]
    if looked.status or any(result.status for _, result in hunts):
        raise Mixed(f"windows ({looked.status}): {looked.text}; " + "; ".join(
            f"{guest.name} ({result.status}): {text}" for (guest, result), text in zip(hunts, seen)))
    return seen, looked.text


def two(bed):
    """Lets two guest VMs use the device at once. Neither sees a byte of the other, and a hypervisor
    sees none in the wrong window. The second guest has a small window, whose pages are reused. It
    is killed at the end, and the first guest goes on."""
    # A reloaded guest module uses its window from the beginning.
    must(bed.guest, "rmmod vgpu_guest")
    bed.take()
    bed.describe()
    before = rest(bed)
    other = bed.add_guest()
    guests = [bed.guest, other]
    pages = [window["resolved"] for window in windows(bed)]
    seen, bound, small = [], 0, windows(bed)[1]["size"] >> 12
    while bound < small:
        if len(seen) == ROUNDS * len(guests):
            raise Failure(f"{bound} pages were bound in a window of {small}: {seen}")
        texts, looked = together(bed, guests)
        bound += figures(texts[1:], "pages bound")
        seen += texts
    hunt(other, 2, HUNT)
    serial = hunt(bed.guest, 1, HUNT)
    time.sleep(HUNT / 4)
    bed.remove(other)
    seen.append(hunted(bed.guest, serial, HUNT))
    settle(bed, before)
    pages = [window["resolved"] - had for window, had in zip(windows(bed), pages)]
    if not all(pages):
        raise Failure(f"pages that came through the windows: {pages}")
    bindings = figures(seen, "bindings")
    if not bindings:
        raise Failure(f"nothing was bound: {seen}")
    return (f"{bindings} bindings, {bound} of {small} pages, {figures(seen, 'moves')} moves, {figures(seen, 'zaps')} zaps, "
            f"{figures(seen, 'frees')} frees, one guest killed, "
            f"{figures(seen, 'words checked')} words checked by guests, {figures(seen, 'wrong')} wrong; {looked}; "
            f"{pages[0]} and {pages[1]} pages through the windows")


def untouched(bed, what):
    """Returns whether the memory of one of STRANGERS has its original bytes and only its first
    page. Even a read of another page would allocate that page."""
    data, _ = STRANGERS[what]
    path = bed.guest.stranger(what)
    found = bed.host.must(f"head -c {len(data)} {path} | od -An -v -tx1 | tr -d ' \\n'; echo; stat -c %b {path}").lines
    return found == [data.hex(), "8"]


def drivers(bed):
    """Returns a dict of the guest's ivshmem devices: bytes of memory and driver, if any, by
    name."""
    lines = bed.guest.must(
        "cd /sys/bus/pci/devices; for i in *; do read -r v <$i/vendor; read -r d <$i/device; "
        "[ $v$d = 0x1af40x1110 ] || continue; echo $i $(stat -c %s $i/resource2) "
        "$([ -e $i/driver ] && basename $(readlink $i/driver)); done").lines
    return {name: (int(size), *driver) for name, size, *driver in map(str.split, lines)}


def strangers(bed):
    """Checks that the guest leaves ivshmem devices alone which are not its window. Whatever their
    memory contains, it holds no mapping, and no byte or page of it is accessed."""
    before = rest(bed)
    found = drivers(bed)
    others = sorted(what for name, what in found.items() if name != WINDOW_DEVICE)
    # The driver may bind a device that looks like a window: a host may announce its number later.
    if found.get(WINDOW_DEVICE) != (4 << 30, "vgpu_window") or \
       others not in ([(1 << 20,), (4 << 30,)], [(1 << 20,), (4 << 30, "vgpu_window")]):
        raise Failure(f"devices and their drivers: {found}")
    pages = windows(bed)[0]["resolved"]
    seen = hunted(bed.guest, hunt(bed.guest, 1, HUNT / 2), HUNT)
    pages = windows(bed)[0]["resolved"] - pages
    settle(bed, before)
    touched = [what for what in STRANGERS if not untouched(bed, what)]
    if touched or not pages:
        raise Mixed(f"touched: {touched}; {pages} pages came through the window; {seen}")
    return f"memory of {len(STRANGERS)} others as it was, and {pages} pages through the window; {seen}"


def drain(bed):
    """Moves a guest's mappings out of its window and back while a program and the device write to
    them. Each byte must be what was written last, also if the guest loses the window's device and
    gets it back."""
    before = rest(bed)
    guest = windows(bed)[0]["cid"]
    serial = hunt(bed.guest, 1, 2 * HUNT)
    end = time.monotonic() + 2 * HUNT - 6
    times = 0
    while time.monotonic() < end:
        pages = windows(bed)[0]["resolved"]
        wait_bound(bed, pages)
        must(bed.host, f"vgpuctl window drain --to {guest}")
        if windows(bed)[0]["bindings"]:
            raise Leak("something is bound in a window that was drained")
        must(bed.host, f"vgpuctl window fill --to {guest}")
        times += 1
    seen = hunted(bed.guest, serial, 2 * HUNT)
    pages = windows(bed)[0]["resolved"]
    serial = hunt(bed.guest, 1, 2 * HUNT, REBIND)
    wait_bound(bed, pages)
    wait_unbound(bed)
    wait_bound(bed, windows(bed)[0]["resolved"])
    seen += "; with the device lost and found, " + hunted(bed.guest, serial, 2 * HUNT)
    if not holds(bed.guest, "cat /run/holds"):
        raise Failure("the guest's kernel does not say what it has mapped of its window")
    if left := holds(bed.guest, "cat /run/held"):
        raise Leak(f"the guest's kernel had mapped a window without its device: {left}")
    settle(bed, before)
    if not times:
        raise Failure(f"never drained; {seen}")
    return f"drained and filled {times} times; {seen}"


def again(bed):
    """Restarts vgpud while a program has a mapping in the window. That mapping is lost, but later
    ones of other programs are in the window, although the lost one still exists. The hypervisor
    does not tell the new vgpud where the guest's memory is, so devices refuse to keep pages of it
    until the guest is started again."""
    before = rest(bed)
    pages = windows(bed)[0]["resolved"]
    load(bed, "held")
    wait_bound(bed, pages)
    stop_agent(bed)
    must(bed.guest, "for i in $(seq 300); do [ -e /run/load.lost ] && exit; busybox usleep 100000; done; exit 1", 60)
    bed.offer()
    bed.take()
    bed.describe()
    bed.guest.must("sed -i /VGPU_KEEP=/d /run/vgpu-env")
    pages = windows(bed)[0]["resolved"]
    seen = hunted(bed.guest, hunt(bed.guest, 1, HUNT / 2), HUNT)
    pages = windows(bed)[0]["resolved"] - pages
    must(bed.guest, "/usr/lib/vgpu-test/run-test mock_keep mock pair")
    must(bed.guest, "kill -0 $(cat /run/load.pid)")
    unload(bed)
    settle(bed, before.replace("memories 1;", "memories 0;"))
    bed.replace_guest()
    must(bed.guest, "/usr/lib/vgpu-test/run-test mock_keep mock pair")
    settle(bed, before)
    if not pages:
        raise Failure(f"no page came through the window afterwards; {seen}")
    return f"a mapping was lost, then {pages} pages came through the window; {seen}"


def uevents(machine):
    """Returns the uevents of DRM devices since the monitor was started, each as a dict of its
    variables. The last one may be incomplete."""
    found = []
    for line in machine.must("cat /run/uevents").lines:
        name, equals, value = line.partition("=")
        if line.startswith("KERNEL["):
            found.append({})
        elif equals and found:
            found[-1][name] = value
    return found


def hotplugs(machine, node):
    """Returns the uevents about a display of that card."""
    return [event for event in uevents(machine)
            if (event.get("ACTION"), event.get("DEVNAME"), event.get("HOTPLUG")) == ("change", node, "1")]


def hotplug(bed):
    """Changes the display of the host VM's card. The guest must be notified of the forwarded card's
    change, and of no other card's."""
    node = bed.guest.must(". /run/vgpu-env; echo $VGPU_FWD_GPU_CARD").text
    others = set(bed.guest.must("sed -n 's/.* VGPU_FWD_.*_CARD=//p' /run/vgpu-env").lines) - {node}
    bed.guest.must("setsid udevadm monitor --kernel --property --subsystem-match=drm >/run/uevents 2>&1 3>&- "
                   "</dev/null & echo $! >/run/monitor.pid; "
                   "while ! grep -q 'the kernel uevent' /run/uevents; do busybox usleep 50000; done", 20)
    with Display(bed.host.display) as display:
        for size in SIZES:
            before = len(hotplugs(bed.guest, node))
            display.resize(*size)
            deadline = Deadline(bed.time, 30 * bed.guest.slow)
            while len(hotplugs(bed.guest, node)) == before:
                if deadline.left() <= 0:
                    raise Failure(f"the display has become {size}, and the guest does not hear of it: {uevents(bed.guest)}")
                time.sleep(0.2)
    time.sleep(QUIET * bed.guest.slow)
    bed.guest.must("kill $(cat /run/monitor.pid)")
    for event in uevents(bed.guest):
        if event.get("DEVNAME") in others:
            raise Mixed(f"another device of the host is said to have changed: {event}")
    seen = len(hotplugs(bed.guest, node))
    if not bed.apart:
        real = len(hotplugs(bed.guest, bed.guest.must(". /run/vgpu-env; echo $VGPU_REAL_GPU_CARD").text))
        if seen > real:
            raise Failure(f"{real} uevents of the real card became {seen} of the forwarded one")
    return f"the display changed {len(SIZES)} times, the guest heard so {seen} times"


def leftovers(bed):
    """Returns the numbers of objects of the modules, and of kernel objects that they may have
    kept."""
    found = {}
    for machine in bed.machines:
        for line in machine.must("/usr/lib/vgpu-test/leftovers", 30).lines:
            what, _, number = line.rpartition(" ")
            found[f"{machine.name}: {what}"] = int(number)
    return found


def unload_modules(bed):
    """Ends vgpud and unloads both modules. Threads of peers that are gone hold the host module
    for a moment, so its unloading is retried."""
    must(bed.guest, "rmmod vgpu_guest")
    stop_agent(bed)
    must(bed.host, "for i in $(seq 200); do rmmod vgpu_host 2>/dev/null && exit 0; "
                   "busybox usleep 100000; done; rmmod vgpu_host", 60)


def in_use(bed):
    """Checks that modules in use cannot be unloaded."""
    for device in ("$VGPU_FWD_MOCK", "$VGPU_FWD_VGEM_CARD"):
        must(bed.guest, f". /run/vgpu-env; exec 4<>{device}; ! rmmod vgpu_guest")
    must(bed.host, "! rmmod vgpu_host")
    must(bed.guest, f"{TOOLS}/guest_load mock once")


def reload_round(bed, times):
    """Loads and unloads each module alone. The guest module is unloaded while it looks for a
    host."""
    guest = f"modprobe vgpu_guest cid={bed.cid} && rmmod vgpu_guest"
    host = "modprobe vgpu_host && rmmod vgpu_host"
    for machine, command in ((bed.host, host), (bed.guest, guest)):
        must(machine, f"for i in $(seq {times}); do {command} || exit; done", 10 * times)


def reload(bed):
    """Loads and unloads the modules many times, and checks that nothing of them stays."""
    times = RELOADS_QUICK if bed.times else RELOADS
    in_use(bed)
    unload_modules(bed)
    before = leftovers(bed)
    stayed = [what for what, number in before.items() if number and
              ("vgpu" in what and "mock" not in what or what.endswith("threads"))]
    if stayed:
        raise Leak("left behind by the tests: " + "; ".join(stayed))
    a_use = min(times, RELOADS_A_USE)
    for _ in range(times // a_use):
        reload_round(bed, a_use - 1)
        load_modules(bed)
        in_use(bed)
        unload_modules(bed)
    deadline = Deadline(bed.time, LINGER * bed.guest.slow)
    while stayed := [what for what, number in leftovers(bed).items() if number > before.get(what, 0)]:
        if deadline.left() <= 0:
            raise Leak("left behind: " + "; ".join(stayed))
        time.sleep(0.5)
    load_modules(bed)
    return f"modules loaded {times} times, used {times // a_use} times, nothing left behind"


def hunted_by(bed, hostile):
    """Runs hunts in the guest, on the host and in a hostile guest, whose kernel reads and writes
    all of its window all the time; returns what they saw. Memory that the hostile guest's
    programs give back goes to the others. The card's driver takes no memory away from a program
    that has it mapped, and the mock's memory stays while it is mapped."""
    mock = f"{TOOLS}/mock_hunt $VGPU_FWD_MOCK"
    card = f"{TOOLS}/nvidia_hunt"
    # The host's program has a low priority, because guests use the same processors.
    commands = {bed.guest: [f"{mock} 1 {PREY}", f"{card} 2 {PREY}"], bed.host: [f"nice -n 19 {card} 3 {PREY}"],
                hostile: [f"{mock} 4 {PREY} blind", f"{card} 5 {PREY} blind", f"{TOOLS}/hunter {PREY} 4 5"]}
    # All commands of a machine run at once. The status is 1 if one of theirs is, because 1 means a
    # wrong byte.
    serials = {machine: machine.send(
        ". /run/vgpu-env; pids=; " + " ".join(f"{command} & pids=\"$pids $!\";" for command in each) +
        " end=0; for pid in $pids; do wait $pid; status=$?; [ $status = 0 ] || [ $end = 1 ] || end=$status; done; exit $end",
        6 * PREY) for machine, each in commands.items()}
    results = {machine: machine.result(serial, 6 * PREY) for machine, serial in serials.items()}
    seen = "; ".join(f"{machine.name} ({result.status}): {', '.join(filter(None, result.lines))}"
                     for machine, result in results.items())
    if any(result.status == 1 for result in results.values()):
        raise Mixed(seen)
    if any(result.status for result in results.values()):
        raise Failure(seen)
    return seen


def joined_to(bed, *cids):
    """Exports the mock as "joined" to these guests, by a configuration file."""
    must(bed.host, "mkdir -p /etc/vgpu/exports.d && printf '[joined]\\npath = /dev/vgpu-mock\\nto = "
         f"{', '.join(map(str, cids))}\\n' >/etc/vgpu/exports.d/joined.conf && vgpuctl reload")


def joined(bed):
    """Changes the guests of an export by a configuration file. In the guests that keep the export
    two programs go on with their node all the time: one makes calls, one writes to a mapping."""
    guests = [bed.guest, bed.add_guest()]
    ids = "$(grep -lx joined /sys/class/vgpu/vgpu*/name | cut -d/ -f5)"
    alive = " && ".join(f"kill -0 $(cat /run/joined.{job}.pid)" for job in ("lost", "held"))

    def goes_on(guest):
        calls = int(guest.must(f"cat /sys/class/vgpu/{ids}/calls").text)
        must(guest, f"{alive} && [ ! -e /run/load.lost ] && while [ $(cat /sys/class/vgpu/{ids}/calls) -lt {calls + 20} ]; do "
             "busybox usleep 50000; done")
        return guest.must(f"stat -c %i /dev/{ids}").text

    joined_to(bed, *(guest.cid for guest in guests))
    for guest in guests:
        comes(guest, "cat /sys/class/vgpu/vgpu*/name | grep -cx joined", "1")
        for job in ("lost", "held"):
            must(guest, f"setsid {TOOLS}/guest_load joined {job} >/run/joined.{job} 2>&1 3>&- </dev/null & "
                 f"echo $! >/run/joined.{job}.pid")
        comes(guest, "cat /run/joined.lost", "open")
    before = [goes_on(guest) for guest in guests]
    for cids in ([*(guest.cid for guest in guests), 99], [99, *(guest.cid for guest in guests)],
                 [guest.cid for guest in guests]):
        joined_to(bed, *cids)
        if (after := [goes_on(guest) for guest in guests]) != before:
            raise Failure(f"nodes {before} of guests are {after} since the file gives their device to {cids}")
    joined_to(bed, guests[0].cid)
    comes(guests[1], "cat /sys/class/vgpu/vgpu*/name | grep -cx joined", "0")
    if goes_on(guests[0]) != before[0]:
        raise Failure("a guest has another node since the file gives another guest none")
    for guest in guests:
        guest.run("kill $(cat /run/joined.lost.pid) $(cat /run/joined.held.pid); rm -f /run/load.lost /run/joined.*")
    must(bed.host, "rm /etc/vgpu/exports.d/joined.conf && vgpuctl reload")
    bed.remove(guests[1])


def cards(bed):
    """Lets two guests and the host allocate memory of one card, write it, check it and free it.
    Freed memory is allocated to the next program at once. The windows of guests must show their
    own memory, and no memory is kept in the end."""
    other = bed.add_guest()
    guests = [bed.guest, other]
    give_card(bed, guests)
    # vgpud holds a page of the card as long as the card is exported.
    before = bed.host.must(f"cat {NVIDIA_PAGES}").text
    serials = [(machine, machine.send(f"{TOOLS}/nvidia_hunt {mark} {PREY}", 6 * PREY))
               for mark, machine in enumerate([*guests, bed.host], 1)]
    hunts = [(machine, machine.result(serial, 6 * PREY)) for machine, serial in serials]
    seen = "; ".join(f"{machine.name} ({result.status}): {result.text}" for machine, result in hunts)
    if any(result.status == 1 for _, result in hunts):
        raise Mixed(seen)
    if any(result.status for _, result in hunts):
        raise Failure(seen)
    bed.remove(other)
    comes(bed.host, f"cat {NVIDIA_PAGES}", before)
    take_card(bed)
    return seen


def hunter(bed):
    """Checks that a guest with a hostile kernel (tests/mock/hunter.c) can neither see nor change
    memory of others."""
    hostile = bed.add_guest()
    give_card(bed, (bed.guest, hostile))
    nvidia_stranger(bed.guest, hostile)
    must(hostile, "modprobe vgpu_hunter")
    seen = hunted_by(bed, hostile)
    bed.remove(hostile)
    take_card(bed)
    return seen


PAIR = {"ordeal_cut": cut, "ordeal_freeze": freeze, "ordeal_hotplug": hotplug, "ordeal_kill": kill,
           "ordeal_nvidia": nvidia, "ordeal_reload": reload, "ordeal_withhold": withhold}
# Ordeals that need no second machine, and less time.
ANYWHERE = ["ordeal_hotplug", "ordeal_reload"]
# Ordeals that need guest VMs inside the host VM.
NESTED = {"ordeal_two": two, "ordeal_again": again, "ordeal_cards": cards, "ordeal_drain": drain,
          "ordeal_joined": joined, "ordeal_kill": kill, "ordeal_qemus": qemus,
          "ordeal_strangers": strangers}
# Ordeals of NESTED that take less than minutes.
NESTED_SHORT = ["ordeal_joined"]
VHOST = {"ordeal_hunter": hunter, "ordeal_sleep": sleep, "ordeal_unbind": unbind}
ORDEALS = PAIR | NESTED | VHOST
