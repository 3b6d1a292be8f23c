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
from patience import Deadline

TOOLS = "/usr/lib/vgpu-test/tools"
CUTS = 90
KILLS = 10
# Kills of guests inside the host VM are fewer, because they take long to boot.
KILLS_NESTED = 2
# Seconds for which programs of guests look for bytes of each other.
HUNT = 10
# Seconds for which a guest's hostile kernel looks for bytes of others.
PREY = 40
# Greatest number of hunts that it may take to use all pages of a small window.
ROUNDS = 6
# Seconds until a call on a frozen host ends: half of vgpud's ping-timeout-ms until a PING is sent,
# all of it until the PING counts as unanswered, one second more, and a margin for emulation.
PING_LIMIT = 5 + 10 + 1 + 15
# Command that prints the guest module's kernel mappings of device memory (windows).
HOLDS = "grep '\\[vgpu_guest\\] .*ioremap' /proc/vmallocinfo"
# Command that takes the window's device from its driver for three seconds. The kernel mappings
# before go to /run/holds, those without the driver to /run/held.
REBIND = (f"cd /sys/bus/pci/drivers/vgpu_window && sleep 3 && {HOLDS} >/run/holds; echo {WINDOW_DEVICE} >unbind && "
          f"{{ {HOLDS} >/run/held; sleep 3; }} && echo {WINDOW_DEVICE} >bind")
# Exit status of tests/tools/nvidia_hunt if no memory of the card was shown in the window.
NONE_SHOWN = 3
# Number of times that the window's device is taken from its driver while a program uses its memory.
UNBINDS = 3
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


def load(bed, kind=""):
    bed.guest.must(f"setsid {TOOLS}/guest_load mock {kind} >/dev/null 2>&1 3>&- </dev/null & "
                   "echo $! >/run/load.pid")


def wait_busy(bed):
    """Waits until every part of the load is in a call that a cut can hit."""
    result = bed.host.run(f"{TOOLS}/mock_state /dev/vgpu-mock busy", 80)
    if result.status:
        raise Failure(f"the load does not come back: '{result.text}'")


def unload(bed):
    bed.guest.must("kill $(cat /run/load.pid); while kill -0 $(cat /run/load.pid) 2>/dev/null; "
                   "do busybox usleep 50000; done", 20)


def works(bed, limit=30):
    """Checks that new opens of the device work."""
    result = bed.guest.run(f"{TOOLS}/guest_load mock once", limit)
    if result.status:
        raise Failure("the device does not work again")


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


def stop_agent(bed):
    must(bed.host, "pid=$(pidof vgpud); kill $pid; "
                   "while kill -0 $pid 2>/dev/null; do busybox usleep 20000; done", 20)


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


def must(machine, command, limit=60):
    result = machine.run(command, limit)
    if result.status:
        raise Failure(f"{machine.name}: '{command}' ({result.status}): {result.text}")


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


def load_modules(bed):
    bed.offer()
    bed.take()
    bed.describe()


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


# Device files of an NVIDIA card; the file with the number of pages that the driver's stand-in has
# allocated; the command that lists all traces of a card; the one that loads the stand-in and makes
# its device files.
NVIDIA_NODES = ["nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidiactl"]
NVIDIA_PAGES = "/sys/module/vgpu_mock_nvidia/parameters/pages"
NVIDIA_TRACES = "ls -d /dev/nvidia* /proc/driver/nvidia /sys/module/nvidia* 2>/dev/null; grep nvidia /proc/devices"
NVIDIA_MAKE = ("modprobe vgpu_mock_nvidia bus_id={bus}; uvm=$(sed -n 's/ nvidia-uvm$//p' /proc/devices); "
               "mknod /dev/nvidiactl c 195 255; mknod /dev/nvidia0 c 195 0; "
               "mknod /dev/nvidia-uvm c $uvm 0; mknod /dev/nvidia-uvm-tools c $uvm 1")

# Number of the driver's ioctls and commands that are denied to guests and tried by nvidia_use, in
# each of its ways.
NVIDIA_DENIED = 15

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


def nvidia_export(bed, wanted=0):
    status = bed.host.run("vgpuctl export --nvidia 0 --to 2 --any-port", 20).status
    if status != wanted:
        raise Failure(f"vgpuctl export --nvidia ended with {status}, not {wanted}")


def nvidia_there(bed, bus):
    """Checks that the guest has all files that NVIDIA's libraries look for, and that each node
    reaches the same node of the host."""
    guest, host = bed.guest, bed.host
    comes(guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    here = nvidia_address(bed, bus)
    files = ["params", "version", f"gpus/{here}/information"]
    comes(guest, "cd /proc/driver/nvidia && find . -type f | sort", "\n".join(sorted(f"./{name}" for name in files)))
    uvm = guest.must("sed -n 's/ nvidia-uvm$//p' /proc/devices").text
    must(guest, "grep -q '^195 nvidia$' /proc/devices && "
         "[ \"$(stat -c '%A %Hr:%Lr' /dev/nvidiactl /dev/nvidia0 /dev/nvidia-uvm /dev/nvidia-uvm-tools)\" = "
         f"\"$(printf 'crw-rw-rw- %s\\n' 195:255 195:0 {uvm}:0 {uvm}:1)\" ] && "
         '[ "$(cat /sys/module/nvidia/initstate /sys/module/nvidia_uvm/initstate)" = "$(printf "live\\nlive")" ]')
    real = host.must("cd /proc/driver/nvidia && sed 's/^ModifyDeviceFiles: 1$/ModifyDeviceFiles: 0/; "
                     f"s/{bus}/{here}/' {' '.join(files).replace(here, bus)}").text
    comes(guest, f"cd /proc/driver/nvidia && cat {' '.join(files)}", real)
    must(guest, "grep -qx 'ModifyDeviceFiles: 0' /proc/driver/nvidia/params")
    said = guest.must(f"for node in {' '.join(NVIDIA_NODES)}; do setpriv --reuid 65534 --regid 65534 --clear-groups "
                      f"{TOOLS}/nvidia_use /dev/$node || exit; done", 80).lines
    if said != NVIDIA_NODES:
        raise Failure(f"{' '.join(NVIDIA_NODES)} of the guest are {' '.join(said)} on the host")
    nvidia_unseen(bed)


def nvidia_unseen(bed):
    """Checks that no denied ioctl of nvidia_use reached the driver, also while a thread changed the
    argument."""
    seen = bed.host.must("cat /sys/module/vgpu_mock_nvidia/parameters/seen").text
    if seen != "0":
        raise Failure(f"NVIDIA's driver was asked {seen} times for what guests are denied")


def nvidia_version(bed):
    """Checks that the guest's log names a program with libraries of another version, once for each
    version."""
    guest = bed.guest
    versions = [f"575.{time.time_ns()}", f"576.{time.time_ns()}\\tx"]
    must(guest, "dmesg -C; " + " && ".join(f"{TOOLS}/nvidia_use /dev/nvidiactl \"$(printf '{version}')\""
                                           for version in versions * 2), 240)
    for version in versions:
        words = f"nvidia_use has libraries of NVIDIA's version {version}, but the driver of host .* is 580.1.2: install"
        said = guest.run(f"dmesg | grep -c '{words}'".replace("NVIDIA's", "NVIDIA.s").replace("\\t", "\\\\t")).text
        if said != "1":
            raise Failure(f"the guest's log has {said} times: {words}")


def nvidia_windowless(bed):
    """Checks that the log of a guest without a window says, once for each connection, why programs
    find no memory."""
    guest = bed.guest
    must(guest, "rmmod vgpu_guest; dmesg -C")
    bed.take()
    nvidia_export(bed)
    comes(guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    # Managed memory causes no message, because a window would not help it.
    must(guest, f"{TOOLS}/nvidia_use /dev/nvidia-uvm")
    words = "by nvidia.* of host .*: this machine needs a window (on the host: vgpuctl window create;"
    for use, wanted in (("true", "0"), (f"{TOOLS}/nvidia_use /dev/nvidia0", "1"), (f"{TOOLS}/nvidia_use /dev/nvidiactl", "1")):
        must(guest, use)
        said = guest.run(f"dmesg | grep -c '{words}'").text
        if said != wanted:
            raise Failure(f"after '{use}' the guest's log has {said} times, not {wanted}: {words}")
    must(bed.host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)


def nvidia_is_free(bed, bus):
    """Returns whether a card can have its host's address in the guest: no other device is in the
    slot."""
    return not [device for device in configs(bed) if device.startswith(bus[:-1]) and device != bus]


def far(device):
    """Returns whether a PCI device is in one of the domains that a guest has for devices of
    hosts."""
    return int(device.partition(":")[0], 16) >= 0x8000


def nvidia_address(bed, bus):
    """Checks the card's PCI device in the guest, and returns its address. The device has the
    address that the host's driver reports if that is free in the guest; else the guest's programs
    are told another address, which the device has."""
    guest, host = bed.guest, bed.host
    parent = guest.must("cd -P /sys/class/vgpu-nvidia/nvidia0/device && echo ${PWD##*/}").text
    free = nvidia_is_free(bed, bus)
    if parent != bus if free else not far(parent) or parent[4:] != bus[4:]:
        raise Failure(f"the PCI device of nvidia0 is {parent}, though {bus} is {'free' if free else 'taken'}")
    must(guest, f"[ $(readlink /sys/bus/pci/devices/{parent}/driver) = ../../../bus/pci/drivers/vgpu-drm ]")
    # The ids in sysfs and in the configuration space are those of the host. There are no BARs,
    # and writes to them change nothing.
    ids = ("cd /sys/bus/pci/devices/{0} && cat vendor device class revision subsystem_vendor subsystem_device && "
           "od -An -tx1 -N 4 config; od -An -tx1 -j 8 -N 4 config; od -An -tx1 -j 44 -N 4 config")
    comes(guest, ids.format(parent), host.must(ids.format(bus)).text)
    must(guest, f"cd /sys/bus/pci/devices/{parent} && "
         "printf '\\377\\377\\377\\377' | dd of=config bs=4 seek=4 conv=notrunc 2>/dev/null && "
         "[ $(od -An -v -tx1 -j 16 -N 24 config | tr -d ' 0\\n' | wc -c) = 0 ] && ! grep -v '^0x0* 0x0* 0x0*$' resource")
    return parent


def configs(bed):
    """Returns a digest of the configuration space of each of the guest's PCI devices."""
    lines = bed.guest.must("cd /sys/bus/pci/devices && md5sum */config").lines
    return {device.removesuffix("/config"): digest for digest, device in map(str.split, lines)}


def nvidia_others(bed, before, more):
    """Checks that the guest's other PCI devices are unchanged, and that there are that many
    more."""
    after = configs(bed)
    changed = [device for device in before if after.get(device) != before[device]]
    if changed or len(after) != len(before) + more:
        raise Failure(f"PCI devices of the guest were {sorted(before)}, are {sorted(after)}; others are {changed}")


def nvidia_removed(bed, bus):
    """Rescans the guest's PCI bus, removes the card's device, and rescans."""
    guest, before = bed.guest, configs(bed)
    nvidia_export(bed)
    nvidia_there(bed, bus)
    nvidia_others(bed, before, 1)
    must(guest, "echo 1 >/sys/bus/pci/rescan")
    nvidia_address(bed, bus)
    nvidia_others(bed, before, 1)
    must(guest, "echo 1 >$(readlink -f /sys/class/vgpu-nvidia/nvidia0/device)/remove")
    for _ in range(2):
        must(guest, "[ ! -e /dev/nvidia0 ] && [ -e /dev/nvidiactl ]")
        nvidia_others(bed, before, 0)
        must(guest, "echo 1 >/sys/bus/pci/rescan")
    must(bed.host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)
    nvidia_others(bed, before, 0)


def nvidia_gone(bed):
    comes(bed.guest, NVIDIA_TRACES, "")


def nvidia_round(bed, bus):
    """Exports and unexports an NVIDIA card in each way, and checks what the guest has each time."""
    guest, host = bed.guest, bed.host
    nvidia_removed(bed, bus)
    before = configs(bed)
    nvidia_export(bed)
    nvidia_there(bed, bus)
    nvidia_version(bed)
    # The guest is notified when a file of /proc changes on the host.
    must(host, "echo $(($(cat /sys/module/vgpu_mock_nvidia/parameters/revision) + 1)) "
         ">/sys/module/vgpu_mock_nvidia/parameters/revision")
    comes(guest, "head -n 1 /proc/driver/nvidia/version", host.must("head -n 1 /proc/driver/nvidia/version").text)
    must(guest, "! modprobe vgpu_mock_nvidia 2>/dev/null")
    # A card in use is unexported only with --force. Open files of a program then do not keep the
    # nodes. (The shell itself has to have them open: exec would end its shadow.)
    must(guest, "rm -f /run/nvidia.*; mkfifo /run/nvidia.end; "
         "setsid sh -c 'exec 4<>/dev/nvidia0 5</proc/driver/nvidia/version; >/run/nvidia.open; read end </run/nvidia.end' "
         ">/dev/null 2>&1 3>&- </dev/null & echo $! >/run/nvidia.pid; while [ ! -e /run/nvidia.open ]; do busybox usleep 50000; done")
    must(host, "vgpuctl unexport --nvidia 0; [ $? = 6 ]")
    must(host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)
    must(guest, "kill $(cat /run/nvidia.pid)")
    # A guest that has loaded NVIDIA's driver gets no nodes, and logs why; other devices go on.
    must(guest, "dmesg -C; modprobe vgpu_mock_nvidia")
    nvidia_export(bed)
    comes(guest, "dmesg | grep -c 'no /dev/nvidia.*this machine has NVIDIA'", str(len(NVIDIA_NODES)))
    must(guest, "! ls /dev/nvidia* 2>/dev/null && [ ! -e /sys/module/nvidia ] && rmmod vgpu_mock_nvidia")
    works(bed)
    must(host, "vgpuctl unexport --nvidia 0 --to 2 --force")
    # The export fails as a whole if one node is missing.
    must(host, "mv /dev/nvidia-uvm-tools /dev/other")
    nvidia_export(bed, 5)
    must(host, "! vgpuctl list | grep nvidia && mv /dev/other /dev/nvidia-uvm-tools")
    nvidia_export(bed)
    nvidia_there(bed, bus)
    nvidia_others(bed, before, 1)
    must(guest, "rmmod vgpu_guest")
    nvidia_gone(bed)
    nvidia_others(bed, {device: config for device, config in before.items() if not far(device)}, 0)
    bed.take()
    nvidia_there(bed, bus)
    must(host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)
    # Configuration files export cards, too. Cards share nodes whichever sections they are in.
    must(host, "mkdir -p /etc/vgpu/exports.d; printf '[a]\\nnvidia = 0\\nto = 2\\nany-port = yes\\n"
         "[b]\\nnvidia = 1\\nto = 77\\nany-port = yes\\n' >/etc/vgpu/exports.d/nvidia.conf; kill -HUP $(pidof vgpud)")
    comes(host, "vgpuctl list | sed -n 's/^nvidiactl .* nvidia  *//p'", "2 any-port (connected), 77 any-port")
    nvidia_there(bed, bus)
    # A new configuration file of another device leaves the card's nodes alone.
    inodes = guest.must("stat -c %i /dev/nvidia*").text
    must(host, "printf '[null]\\npath = /dev/null\\nto = 77\\n' >/etc/vgpu/exports.d/null.conf; kill -HUP $(pidof vgpud)")
    comes(host, "vgpuctl list | grep -c '^null '", "1")
    nvidia_there(bed, bus)
    if guest.must("stat -c %i /dev/nvidia*").text != inodes:
        raise Failure("nodes went and came although nothing of theirs had changed")
    must(host, "rm /etc/vgpu/exports.d/null.conf /etc/vgpu/exports.d/nvidia.conf; kill -HUP $(pidof vgpud)")
    nvidia_gone(bed)


def nvidia_stranger(owner, stranger):
    """Lets a program (the stranger) name the RM client and the memory of another machine's
    program (the owner). The driver must refuse all of its requests, but grant the same for its
    own client."""
    begin(owner, f"{TOOLS}/nvidia_client owner")
    must(owner, "while [ ! -s /run/begun.out ]; do busybox usleep 50000; done", 60)
    handles = owner.must("cat /run/begun.out").text
    asked = stranger.run(f"{TOOLS}/nvidia_client stranger {handles}", 60)
    must(owner, "kill $(cat /run/begun.pid)")
    said, status = ended(owner)
    if asked.status or status or not re.fullmatch(r"0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+", said):
        raise Mixed(f"the stranger ({asked.status}): {asked.text}; the owner ({status}): {said}")


def nvidia_used(bed):
    """Runs programs that use clients of others, that ask only the control file for a card that
    they have open, and whose threads change the argument of a denied ioctl."""
    nvidia_export(bed)
    comes(bed.guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    # The owner is a program of the host, then another program of the same guest.
    nvidia_stranger(bed.host, bed.guest)
    nvidia_stranger(bed.guest, bed.guest)
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl card", 60)
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl race", 240)
    nvidia_unseen(bed)
    must(bed.host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)


TRACE = "/sys/kernel/tracing"


def refused(bed):
    """Returns the number of requests of guests that were refused so far."""
    text = bed.host.must("vgpuctl status --json").text
    return sum(int(number) for number in re.findall(r'"refused": ?(\d+)', text))


def nvidia_denied(bed, engine):
    """Checks that denied ioctls are counted, and that the module's tracepoint reports their
    commands."""
    host = bed.host
    nvidia_export(bed)
    comes(bed.guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    if engine == "kernel":
        must(host, f"mountpoint -q {TRACE} || mount -t tracefs tracefs {TRACE}; echo >{TRACE}/trace; "
             f"echo 1 >{TRACE}/events/vgpu_host/vgpu_host_denied/enable")
    before = refused(bed)
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl")
    # Ioctls of a type that no schema knows are not all judged, so only a lower bound is checked.
    if refused(bed) < before + NVIDIA_DENIED * 3:
        raise Failure(f"of {NVIDIA_DENIED * 3} ioctls that were denied, {refused(bed) - before} count")
    if engine == "kernel":
        for what in ("NV_ESC_RM_CONTROL what=0x20801349", "NV_ESC_RM_ALLOC_MEMORY what=0xf3", "NV_ESC_RM_ALLOC what=0xfd",
                     "NV_ESC_RM_SHARE what=0x3"):
            must(host, f"grep -q 'ioctl={what}$' {TRACE}/trace")
        must(host, f"echo 0 >{TRACE}/events/vgpu_host/vgpu_host_denied/enable")
    must(host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)


def nvidia_listed(bed):
    """Checks that deny-ioctls takes names of NVIDIA's ioctls."""
    conf = "/etc/vgpu/exports.d/nvidia.conf"
    must(bed.host, "mkdir -p /etc/vgpu/exports.d; printf '[nvidiactl]\\npath = /dev/nvidiactl\\nto = 2\\nany-port = yes\\n"
         f"deny-ioctls = UVM_FREE, NV_ESC_CHECK_VERSION_STR\\n' >{conf}; kill -HUP $(pidof vgpud)")
    comes(bed.guest, "cd /dev && ls -d nvidia*", "nvidiactl")
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl")
    said = bed.guest.run(f"{TOOLS}/nvidia_use /dev/nvidiactl 1 2>&1").text
    if said != "nvidia_use: the driver's own version: Permission denied":
        raise Failure(f"an ioctl that is denied by its name: '{said}'")
    must(bed.host, f"rm {conf}; kill -HUP $(pidof vgpud)")
    nvidia_gone(bed)


def nvidia_divided(bed):
    """Checks that a card which is divided into MIG instances is not exported: guests cannot use
    them."""
    host = bed.host
    must(host, "mkdir /run/divided && cp -r /proc/driver/nvidia/. /run/divided && "
         "mkdir -p /run/divided/capabilities/gpu0/mig/gi1 && mount --bind /run/divided /proc/driver/nvidia")
    nvidia_export(bed, 7)
    must(host, "vgpuctl export --nvidia 0 --to 2 --any-port 2>&1 | grep -q '/dev/nvidia0 is divided into MIG instances'")
    must(host, "! vgpuctl list | grep nvidia")
    # Instances of another card do not matter, nor does a card without instances that can have some.
    must(host, "mkdir -p /run/divided/capabilities/gpu1/mig && mv /run/divided/capabilities/gpu0/mig/gi1 "
         "/run/divided/capabilities/gpu1/mig")
    nvidia_export(bed)
    must(host, "vgpuctl unexport --nvidia --force; umount /proc/driver/nvidia; rm -r /run/divided")
    nvidia_gone(bed)


def nvidia_two(bed):
    """Exports and unexports two cards. Their common nodes go with the last card."""
    guest, host = bed.guest, bed.host
    nodes = "cd /dev && ls -d nvidia*"
    must(host, "mknod /dev/nvidia1 c 195 1 && vgpuctl export --nvidia --to 2 --any-port")
    comes(guest, nodes, "\n".join(sorted(NVIDIA_NODES + ["nvidia1"])))
    must(guest, "[ $(stat -c %Hr:%Lr /dev/nvidia1) = 195:1 ]")
    must(host, "vgpuctl unexport --nvidia 0")
    comes(guest, nodes, "\n".join(sorted(set(NVIDIA_NODES) - {"nvidia0"} | {"nvidia1"})))
    nvidia_export(bed)
    must(host, "vgpuctl unexport --nvidia 1 && rm /dev/nvidia1")
    comes(guest, nodes, "\n".join(NVIDIA_NODES))
    must(host, "vgpuctl unexport --nvidia 0")
    nvidia_gone(bed)


def nvidia_late(bed):
    """Checks that no guest gets a card before vgpud can export its memory, and that vgpud
    retries."""
    guest, host = bed.guest, bed.host
    must(host, "mv /dev/nvidiactl /dev/other; vgpuctl export /dev/nvidia0 --to 2 --any-port")
    comes(host, "grep -c 'nvidia0: guests do not get it yet, as vgpud cannot use it: No such file' /run/vgpud.log", "1")
    must(guest, "! vgpuctl list | grep nvidia")
    must(host, "mv /dev/other /dev/nvidiactl")
    comes(guest, "ls -d /dev/nvidia0", "/dev/nvidia0")
    must(host, "vgpuctl unexport nvidia0 --force")
    nvidia_gone(bed)


def nvidia_cards(bed):
    """Returns the addresses of three of the host's PCI devices that can stand for a card: one
    address is free in the guest, one is on a bus that the guest does not have, and one is
    taken."""
    found = bed.host.must("cd /sys/bus/pci/devices; grep -l ^0x0403 */class").lines
    cards = [line.partition("/")[0] for line in found]
    buses = {device[:7] for device in configs(bed)}
    free = [bus for bus in cards if nvidia_is_free(bed, bus)]
    known = [bus for bus in free if bus[:7] in buses]
    unknown = [bus for bus in free if bus not in known]
    taken = [bus for bus in cards if bus not in free]
    if not known or not unknown or not taken:
        raise Failure(f"of {cards} are {free} free in the guest")
    return known[0], unknown[0], taken[0]


def nvidia(bed):
    """Forwards an NVIDIA card, of the driver's stand-in vgpu_mock_nvidia, with both engines."""
    free, behind, taken = nvidia_cards(bed)
    must(bed.host, NVIDIA_MAKE.format(bus=free))
    nvidia_used(bed)
    nvidia_windowless(bed)
    nvidia_denied(bed, "kernel")
    nvidia_listed(bed)
    nvidia_divided(bed)
    nvidia_two(bed)
    nvidia_late(bed)
    nvidia_round(bed, free)
    must(bed.host, NVIDIA_END, 60)
    must(bed.host, NVIDIA_MAKE.format(bus=behind))
    nvidia_removed(bed, behind)
    must(bed.host, NVIDIA_END, 60)
    must(bed.host, NVIDIA_MAKE.format(bus=taken))
    stop_agent(bed)
    bed.offer("user")
    bed.describe()
    nvidia_used(bed)
    nvidia_windowless(bed)
    nvidia_denied(bed, "user")
    nvidia_listed(bed)
    nvidia_round(bed, taken)
    stop_agent(bed)
    load_modules(bed)
    must(bed.host, NVIDIA_END, 60)
    return f"came and went as {free}, {behind} and {taken} by both engines"


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


def begin(machine, command):
    """Starts a program in the background."""
    must(machine, ". /run/vgpu-env; rm -f /run/begun.*; "
         f"setsid sh -c '{command} & echo $! >/run/begun.pid; wait $!; echo $? >/run/begun.status' "
         ">/run/begun.out 2>&1 3>&- </dev/null & while [ ! -s /run/begun.pid ]; do busybox usleep 20000; done")


def has_ended(machine):
    """Returns whether the program of begin() has ended."""
    return not machine.run("[ -s /run/begun.status ]").status


def ended(machine, limit=60):
    """Waits for the end of begin()'s program; returns its output and exit status."""
    must(machine, "while [ ! -s /run/begun.status ]; do busybox usleep 50000; done", limit)
    return machine.must("cat /run/begun.out").text, int(machine.must("cat /run/begun.status").text)


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


PAIR = {"ordeal_cut": cut, "ordeal_freeze": freeze, "ordeal_hotplug": hotplug, "ordeal_kill": kill,
           "ordeal_nvidia": nvidia, "ordeal_reload": reload, "ordeal_withhold": withhold}
# Ordeals that need no second machine, and less time.
ANYWHERE = ["ordeal_hotplug", "ordeal_reload"]
# Ordeals that need guest VMs inside the host VM.
NESTED = {"ordeal_two": two, "ordeal_again": again, "ordeal_cards": cards, "ordeal_drain": drain,
          "ordeal_joined": joined, "ordeal_kill": kill, "ordeal_strangers": strangers}
# Ordeals of NESTED that take less than minutes.
NESTED_SHORT = ["ordeal_joined"]
VHOST = {"ordeal_hunter": hunter, "ordeal_sleep": sleep, "ordeal_unbind": unbind}
ORDEALS = PAIR | NESTED | VHOST
