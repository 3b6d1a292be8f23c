# SPDX-License-Identifier: GPL-2.0-only
"""Ordeals: what is done to whole machines while programs use the device, and to
the modules.

Each is a function of a bed that raises Failure, or returns a word about what was
seen. The guest runs tests/tools/guest_load meanwhile.
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
# A guest inside the host's machine takes long to boot.
KILLS_NESTED = 2
# Seconds that guests look for bytes of each other.
HUNT = 10
# Seconds that the kernel of one does.
PREY = 40
# Of them, until a small window's pages have been used again.
ROUNDS = 6
# Half of vgpud's ping-timeout-ms until there is a PING, all of it until that
# counts as unanswered, a second, and what an emulated machine adds.
PING_LIMIT = 5 + 10 + 1 + 15
# Mappings of devices' memory that the guest's kernel has for windows.
HOLDS = "grep '\\[vgpu_guest\\] .*ioremap' /proc/vmallocinfo"
# A guest loses the device of its window for a while. What it had before, and then.
REBIND = (f"cd /sys/bus/pci/drivers/vgpu_window && sleep 3 && {HOLDS} >/run/holds; echo {WINDOW_DEVICE} >unbind && "
          f"{{ {HOLDS} >/run/held; sleep 3; }} && echo {WINDOW_DEVICE} >bind")
# The exit status of tests/tools/nvidia_hunt where it was shown no memory.
NONE_SHOWN = 3
# How often the device of a guest's window is taken from its driver while a program uses memory there.
UNBINDS = 3
# How often a guest is stopped until that meets a fetch, and what an emulated machine
# adds to the time of one.
WITHHOLDS = 20
SLACK_MS = 15000
# How often modules are loaded and unloaded, and for how many of that once with
# devices that are used in between.
RELOADS = 50
RELOADS_QUICK = 2
RELOADS_A_USE = 10
# vsock keeps closed sockets for up to 8 s.
LINGER = 20
# What a display becomes in turn, and in the end what it was.
SIZES = [(800, 600), (1024, 768), (1280, 800)]
# Seconds after which no more uevents of a change are to be expected.
QUIET = 2


class Failure(Exception):
    """The ordeal was not survived. Final: why another run would say nothing."""

    final = None


class Leak(Failure):
    """Something is still there that should not."""

    final = "a leak"


class Mixed(Failure):
    """Somebody has, or hears of, what is not theirs, or lost what they wrote."""

    final = "memory or a device of somebody else"


def state(bed):
    """What the host VM holds on behalf of guests."""
    lines = bed.host.must(
        f"{TOOLS}/mock_state /dev/vgpu-mock; "
        "echo shadows $(find /proc/[0-9]*/exe -maxdepth 0 -lname '*/vgpu-shadow' 2>/dev/null | wc -l); "
        "memories=$(find /proc/[0-9]*/fd -lname '*vgpu-memory*' 2>/dev/null | wc -l); "
        "echo module $(($(cat /sys/module/vgpu_host/refcnt) - memories)); echo memories $memories").lines
    bindings = [f"bindings {window['bindings']}" for window in windows(bed)]
    return "; ".join(lines + bindings)


def windows(bed):
    """The windows of guests inside the host VM, with their counters."""
    if bed.tier != "nested":
        return []
    return json.loads(bed.host.must("vgpuctl status --json").text)["host"]["windows"]


def rest(bed, limit=30):
    """The state to come back to: nothing of those is left who came before."""
    deadline = Deadline(bed.time, limit)
    last = None
    while not (now := state(bed)).startswith("files 0 ") or "shadows 0;" not in now or now != last:
        if deadline.left() <= 0:
            raise Leak(f"the host VM does not come to rest: '{now}'")
        last = now
        time.sleep(1)
    return now


def settle(bed, wanted, limit=30):
    """Polls until the host is back at a state."""
    deadline = Deadline(bed.time, limit)
    while (now := state(bed)) != wanted:
        if deadline.left() <= 0:
            raise Leak(f"the host VM holds '{now}', it began with '{wanted}'")
        time.sleep(0.2)


def load(bed, kind=""):
    bed.guest.must(f"setsid {TOOLS}/guest_load mock {kind} >/dev/null 2>&1 3>&- </dev/null & "
                   "echo $! >/run/load.pid")


def wait_busy(bed):
    """Waits until every part of the load has what a cut can hit."""
    result = bed.host.run(f"{TOOLS}/mock_state /dev/vgpu-mock busy", 80)
    if result.status:
        raise Failure(f"the load does not come back: '{result.text}'")


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
    """Meanwhile the machine stands still."""
    group = os.getpgid(machine.process.pid)
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def freeze(bed):
    """A host VM that stands still: calls end with ENODEV, and work again later."""
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
    """Fetches that guests let the host wait for too long, so far."""
    text = bed.host.must("vgpuctl status --json").text
    return sum(int(number) for number in re.findall(r'"fetch_timeouts": ?(\d+)', text))


def withhold(bed):
    """A guest VM stands still while the driver fetches its memory with a mutex held:
    the mutex comes free when the fetch's time is over, and all is well afterwards."""
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
    """Guest VMs die; the next one with the same address inherits nothing."""
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
    """Waits until the guest has a mapping in its window, and more pages than so many were
    touched."""
    deadline = Deadline(bed.time, limit)
    while not windows(bed)[0]["bindings"] or windows(bed)[0]["resolved"] <= pages:
        if deadline.left() <= 0:
            raise Failure("nothing is mapped in the window")
        time.sleep(0.2)


def wait_unbound(bed, limit=30):
    """Waits until the guest has nothing in its window."""
    deadline = Deadline(bed.time, limit)
    while windows(bed)[0]["bindings"]:
        if deadline.left() <= 0:
            raise Leak("something stays in the window")
        time.sleep(0.2)


def hunt(machine, mark, seconds, beside="true"):
    """Starts one, and another command beside it; see tests/tools/mock_hunt."""
    return machine.send(f". /run/vgpu-env; ({beside}) & "
                        f"{TOOLS}/mock_hunt $VGPU_FWD_MOCK {mark} {int(seconds)}", 4 * seconds)


def hunted(machine, serial, seconds):
    """What it saw."""
    result = machine.result(serial, 4 * seconds)
    text = "; ".join(filter(None, result.lines))
    if result.status:
        raise Mixed(f"{machine.name} ({result.status}): {text}")
    return f"{machine.name}: {text}"


def figures(seen, what):
    """The sum of what hunts counted."""
    return sum(int(number) for number in re.findall(rf"(\d+) {what}\b", "; ".join(seen)))


def look(bed, guests, seconds):
    """Starts tests/tools/window_look in the host's machine, for the windows of guests that hunt
    with marks from 1 on."""
    windows_of = " ".join(f"{mark}=/dev/vgpu-window-{guest.cid}" for mark, guest in enumerate(guests, 1))
    return bed.host.send(f"{TOOLS}/window_look {int(seconds)} {windows_of}", 4 * seconds)


def together(bed, guests):
    """A hunt in each of them, with marks from 1 on, and a look meanwhile: what the guests saw, and
    what was looked at."""
    serials = [hunt(guest, mark, HUNT) for mark, guest in enumerate(guests, 1)]
    # It ends before a guest does, whose window is the next one's only when nobody has it open.
    looker = look(bed, guests, HUNT)
    hunts = [(guest, guest.result(serial, 4 * HUNT)) for guest, serial in zip(guests, serials)]
    # All of them, as each says something about what is wrong.
    looked = bed.host.result(looker, 4 * HUNT)
    seen = ["; ".join(filter(None, result.lines)) for _, result in hunts]
    if looked.status or any(result.status for _, result in hunts):
        raise Mixed(f"windows ({looked.status}): {looked.text}; " + "; ".join(
            f"{guest.name} ({result.status}): {text}" for (guest, result), text in zip(hunts, seen)))
    return seen, looked.text


def two(bed):
    """Two guest VMs use the device at once, and neither sees a byte of the other. Nor is
    there one in the other's window for whoever looks at that as a hypervisor does. One has a
    window so small that its pages are used again. Then it dies, and the other one goes on."""
    # A new window of the guest's is used from its beginning.
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
    """Whether memory that the guest shares with others has its bytes, and no page but the first: what
    is looked at only has another one, too."""
    data, _ = STRANGERS[what]
    path = bed.guest.stranger(what)
    found = bed.host.must(f"head -c {len(data)} {path} | od -An -v -tx1 | tr -d ' \\n'; echo; stat -c %b {path}").lines
    return found == [data.hex(), "8"]


def drivers(bed):
    """The guest's devices that share memory: a dict of bytes of memory and driver of each."""
    lines = bed.guest.must(
        "cd /sys/bus/pci/devices; for i in *; do read -r v <$i/vendor; read -r d <$i/device; "
        "[ $v$d = 0x1af40x1110 ] || continue; echo $i $(stat -c %s $i/resource2) "
        "$([ -e $i/driver ] && basename $(readlink $i/driver)); done").lines
    return {name: (int(size), *driver) for name, size, *driver in map(str.split, lines)}


def strangers(bed):
    """Other devices of the guest's that share memory are left alone: whatever they have in it, no
    mapping is there, and not a byte or page of it is touched."""
    before = rest(bed)
    found = drivers(bed)
    others = sorted(what for name, what in found.items() if name != WINDOW_DEVICE)
    # What looks like a window may have the driver: a host could tell of its number yet.
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
    """A guest's mappings move out of its window and back while a program and the device write
    to them, and each byte is what was written last; also where the guest loses
    the window's device and gets it back."""
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
    """vgpud ends while a program has the window mapped, and comes back: the program's
    mapping is lost, and what others map then is in the window, although the lost one
    is still there. The hypervisor does not tell the new one where the guest's memory is, so
    devices keep none of it, and say so; that of the guest's next start does."""
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
    """Of DRM devices, since the monitor was started: a dict of the variables of each, of the last
    one perhaps not all yet."""
    found = []
    for line in machine.must("cat /run/uevents").lines:
        name, equals, value = line.partition("=")
        if line.startswith("KERNEL["):
            found.append({})
        elif equals and found:
            found[-1][name] = value
    return found


def hotplugs(machine, node):
    """Uevents of a display of that card."""
    return [event for event in uevents(machine)
            if (event.get("ACTION"), event.get("DEVNAME"), event.get("HOTPLUG")) == ("change", node, "1")]


def hotplug(bed):
    """The display of the host VM's device changes: the guest hears so of the forwarded
    card, and of no other."""
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
    """What is there of our modules, and what they may have kept of others: numbers."""
    found = {}
    for machine in bed.machines:
        for line in machine.must("/usr/lib/vgpu-test/leftovers", 30).lines:
            what, _, number = line.rpartition(" ")
            found[f"{machine.name}: {what}"] = int(number)
    return found


def unload_modules(bed):
    """Threads of peers that are gone hold the host's module for a moment."""
    must(bed.guest, "rmmod vgpu_guest")
    stop_agent(bed)
    must(bed.host, "for i in $(seq 200); do rmmod vgpu_host 2>/dev/null && exit 0; "
                   "busybox usleep 100000; done; rmmod vgpu_host", 60)


def load_modules(bed):
    bed.offer()
    bed.take()
    bed.describe()


def in_use(bed):
    """Modules in use refuse to go."""
    for device in ("$VGPU_FWD_MOCK", "$VGPU_FWD_VGEM_CARD"):
        must(bed.guest, f". /run/vgpu-env; exec 4<>{device}; ! rmmod vgpu_guest")
    must(bed.host, "! rmmod vgpu_host")
    must(bed.guest, f"{TOOLS}/guest_load mock once")


def reload_round(bed, times):
    """Neither module finds another side; the guest's goes while it looks for one."""
    guest = f"modprobe vgpu_guest cid={bed.cid} && rmmod vgpu_guest"
    host = "modprobe vgpu_host && rmmod vgpu_host"
    for machine, command in ((bed.host, host), (bed.guest, guest)):
        must(machine, f"for i in $(seq {times}); do {command} || exit; done", 10 * times)


def reload(bed):
    """Modules come and go, and nothing of them stays."""
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


# Device files of a card of NVIDIA's, and what of them guests have to themselves: /proc and so on.
NVIDIA_NODES = ["nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidiactl"]
NVIDIA_PAGES = "/sys/module/vgpu_mock_nvidia/parameters/pages"
NVIDIA_TRACES = "ls -d /dev/nvidia* /proc/driver/nvidia /sys/module/nvidia* 2>/dev/null; grep nvidia /proc/devices"
NVIDIA_MAKE = ("modprobe vgpu_mock_nvidia bus_id={bus}; uvm=$(sed -n 's/ nvidia-uvm$//p' /proc/devices); "
               "mknod /dev/nvidiactl c 195 255; mknod /dev/nvidia0 c 195 0; "
               "mknod /dev/nvidia-uvm c $uvm 0; mknod /dev/nvidia-uvm-tools c $uvm 1")

# The number of its ioctls and commands that no guest may ask for: what nvidia_use asks for in each way.
NVIDIA_DENIED = 15

# A thread of vgpud closes the card's files when no guest has the card.
NVIDIA_END = ("rm /dev/nvidia*; for i in $(seq 200); do rmmod vgpu_mock_nvidia 2>/dev/null && exit; busybox usleep 100000; done; "
              "rmmod vgpu_mock_nvidia")


def comes(machine, command, wanted, limit=30):
    """Polls until a command says that."""
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
    """The guest has what NVIDIA's libraries look for, and each node reaches its own of the host."""
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
    """The driver never saw what nvidia_use asked for in vain, while a thread changed the argument, too."""
    seen = bed.host.must("cat /sys/module/vgpu_mock_nvidia/parameters/seen").text
    if seen != "0":
        raise Failure(f"NVIDIA's driver was asked {seen} times for what guests are denied")


def nvidia_version(bed):
    """A program with libraries of another version is named in the guest's log, once for each version."""
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
    """A guest without a window is told, once a connection, why its programs find no memory."""
    guest = bed.guest
    must(guest, "rmmod vgpu_guest; dmesg -C")
    bed.take()
    nvidia_export(bed)
    comes(guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    # A window would not help managed memory.
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
    """Whether a card can have its address in the guest, too: no other device is in that slot."""
    return not [device for device in configs(bed) if device.startswith(bus[:-1]) and device != bus]


def far(device):
    """Whether a PCI device is in a domain that guests have for those of hosts."""
    return int(device.partition(":")[0], 16) >= 0x8000


def nvidia_address(bed, bus):
    """The PCI device is where programs look for it that know its address by the driver; or elsewhere, where that
    is taken: the address that it has then is the one that programs are told."""
    guest, host = bed.guest, bed.host
    parent = guest.must("cd -P /sys/class/vgpu-nvidia/nvidia0/device && echo ${PWD##*/}").text
    free = nvidia_is_free(bed, bus)
    if parent != bus if free else not far(parent) or parent[4:] != bus[4:]:
        raise Failure(f"the PCI device of nvidia0 is {parent}, though {bus} is {'free' if free else 'taken'}")
    must(guest, f"[ $(readlink /sys/bus/pci/devices/{parent}/driver) = ../../../bus/pci/drivers/vgpu-drm ]")
    # Files of ids, and those in the configuration; then BARs, of which there are none; writes change nothing.
    ids = ("cd /sys/bus/pci/devices/{0} && cat vendor device class revision subsystem_vendor subsystem_device && "
           "od -An -tx1 -N 4 config; od -An -tx1 -j 8 -N 4 config; od -An -tx1 -j 44 -N 4 config")
    comes(guest, ids.format(parent), host.must(ids.format(bus)).text)
    must(guest, f"cd /sys/bus/pci/devices/{parent} && "
         "printf '\\377\\377\\377\\377' | dd of=config bs=4 seek=4 conv=notrunc 2>/dev/null && "
         "[ $(od -An -v -tx1 -j 16 -N 24 config | tr -d ' 0\\n' | wc -c) = 0 ] && ! grep -v '^0x0* 0x0* 0x0*$' resource")
    return parent


def configs(bed):
    """What the configuration of each PCI device of the guest holds."""
    lines = bed.guest.must("cd /sys/bus/pci/devices && md5sum */config").lines
    return {device.removesuffix("/config"): digest for digest, device in map(str.split, lines)}


def nvidia_others(bed, before, more):
    """The guest's other PCI devices are there as before, and so many more."""
    after = configs(bed)
    changed = [device for device in before if after.get(device) != before[device]]
    if changed or len(after) != len(before) + more:
        raise Failure(f"PCI devices of the guest were {sorted(before)}, are {sorted(after)}; others are {changed}")


def nvidia_removed(bed, bus):
    """The guest's root looks for PCI devices, removes the card's, and looks for more."""
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
    """Cards of NVIDIA's come and go."""
    guest, host = bed.guest, bed.host
    nvidia_removed(bed, bus)
    before = configs(bed)
    nvidia_export(bed)
    nvidia_there(bed, bus)
    nvidia_version(bed)
    # Files are told again when they hold something else.
    must(host, "echo $(($(cat /sys/module/vgpu_mock_nvidia/parameters/revision) + 1)) "
         ">/sys/module/vgpu_mock_nvidia/parameters/revision")
    comes(guest, "head -n 1 /proc/driver/nvidia/version", host.must("head -n 1 /proc/driver/nvidia/version").text)
    must(guest, "! modprobe vgpu_mock_nvidia 2>/dev/null")
    # What is in use is not taken away by mistake, and what has a file open does not keep the rest.
    # (The program itself has to stay: its shadow goes with exec.)
    must(guest, "rm -f /run/nvidia.*; mkfifo /run/nvidia.end; "
         "setsid sh -c 'exec 4<>/dev/nvidia0 5</proc/driver/nvidia/version; >/run/nvidia.open; read end </run/nvidia.end' "
         ">/dev/null 2>&1 3>&- </dev/null & echo $! >/run/nvidia.pid; while [ ! -e /run/nvidia.open ]; do busybox usleep 50000; done")
    must(host, "vgpuctl unexport --nvidia 0; [ $? = 6 ]")
    must(host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)
    must(guest, "kill $(cat /run/nvidia.pid)")
    # A guest with a driver of its own has no nodes, and says why; all else goes on.
    must(guest, "dmesg -C; modprobe vgpu_mock_nvidia")
    nvidia_export(bed)
    comes(guest, "dmesg | grep -c 'no /dev/nvidia.*this machine has NVIDIA'", str(len(NVIDIA_NODES)))
    must(guest, "! ls /dev/nvidia* 2>/dev/null && [ ! -e /sys/module/nvidia ] && rmmod vgpu_mock_nvidia")
    works(bed)
    must(host, "vgpuctl unexport --nvidia 0 --to 2 --force")
    # All or nothing.
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
    # Files say the same; cards share what they need, whichever sections they are in.
    must(host, "mkdir -p /etc/vgpu/exports.d; printf '[a]\\nnvidia = 0\\nto = 2\\nany-port = yes\\n"
         "[b]\\nnvidia = 1\\nto = 77\\nany-port = yes\\n' >/etc/vgpu/exports.d/nvidia.conf; kill -HUP $(pidof vgpud)")
    comes(host, "vgpuctl list | sed -n 's/^nvidiactl .* nvidia  *//p'", "2 any-port (connected), 77 any-port")
    nvidia_there(bed, bus)
    # Another file leaves them alone.
    inodes = guest.must("stat -c %i /dev/nvidia*").text
    must(host, "printf '[null]\\npath = /dev/null\\nto = 77\\n' >/etc/vgpu/exports.d/null.conf; kill -HUP $(pidof vgpud)")
    comes(host, "vgpuctl list | grep -c '^null '", "1")
    nvidia_there(bed, bus)
    if guest.must("stat -c %i /dev/nvidia*").text != inodes:
        raise Failure("nodes went and came although nothing of theirs had changed")
    must(host, "rm /etc/vgpu/exports.d/null.conf /etc/vgpu/exports.d/nvidia.conf; kill -HUP $(pidof vgpud)")
    nvidia_gone(bed)


def nvidia_stranger(owner, stranger):
    """A program of one machine names the client and the memory of a program of another one: the driver refuses
    all that it asks for, and does as much with what is its own."""
    begin(owner, f"{TOOLS}/nvidia_client owner")
    must(owner, "while [ ! -s /run/begun.out ]; do busybox usleep 50000; done", 60)
    handles = owner.must("cat /run/begun.out").text
    asked = stranger.run(f"{TOOLS}/nvidia_client stranger {handles}", 60)
    must(owner, "kill $(cat /run/begun.pid)")
    said, status = ended(owner)
    if asked.status or status or not re.fullmatch(r"0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+", said):
        raise Mixed(f"the stranger ({asked.status}): {asked.text}; the owner ({status}): {said}")


def nvidia_used(bed):
    """A program that has a card open, and asks only the control file for it; and one whose threads change what
    they ask for."""
    nvidia_export(bed)
    comes(bed.guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    # Whoever else has a client, and its own programs to each other.
    nvidia_stranger(bed.host, bed.guest)
    nvidia_stranger(bed.guest, bed.guest)
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl card", 60)
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl race", 240)
    nvidia_unseen(bed)
    must(bed.host, "vgpuctl unexport --nvidia --force")
    nvidia_gone(bed)


TRACE = "/sys/kernel/tracing"


def refused(bed):
    """How often guests were refused something, so far."""
    text = bed.host.must("vgpuctl status --json").text
    return sum(int(number) for number in re.findall(r'"refused": ?(\d+)', text))


def nvidia_denied(bed, engine):
    """Ioctls that the host answers by itself count, and the module's tracepoint says what it was."""
    host = bed.host
    nvidia_export(bed)
    comes(bed.guest, "cd /dev && ls -d nvidia*", "\n".join(NVIDIA_NODES))
    if engine == "kernel":
        must(host, f"mountpoint -q {TRACE} || mount -t tracefs tracefs {TRACE}; echo >{TRACE}/trace; "
             f"echo 1 >{TRACE}/events/vgpu_host/vgpu_host_denied/enable")
    before = refused(bed)
    must(bed.guest, f"{TOOLS}/nvidia_use /dev/nvidiactl")
    # Those of a type that no schema knows are not all judged.
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
    """Lists call ioctls by NVIDIA's names."""
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
    """A card that is divided into instances is not exported, as guests cannot have an instance."""
    host = bed.host
    must(host, "mkdir /run/divided && cp -r /proc/driver/nvidia/. /run/divided && "
         "mkdir -p /run/divided/capabilities/gpu0/mig/gi1 && mount --bind /run/divided /proc/driver/nvidia")
    nvidia_export(bed, 7)
    must(host, "vgpuctl export --nvidia 0 --to 2 --any-port 2>&1 | grep -q '/dev/nvidia0 is divided into MIG instances'")
    must(host, "! vgpuctl list | grep nvidia")
    # Another card's do not matter, nor that a card may be divided.
    must(host, "mkdir -p /run/divided/capabilities/gpu1/mig && mv /run/divided/capabilities/gpu0/mig/gi1 "
         "/run/divided/capabilities/gpu1/mig")
    nvidia_export(bed)
    must(host, "vgpuctl unexport --nvidia --force; umount /proc/driver/nvidia; rm -r /run/divided")
    nvidia_gone(bed)


def nvidia_two(bed):
    """Each of two cards comes and goes by itself, and what they share goes with the last."""
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
    """No guest gets a card before vgpud can export memory of it, which it tries again."""
    guest, host = bed.guest, bed.host
    must(host, "mv /dev/nvidiactl /dev/other; vgpuctl export /dev/nvidia0 --to 2 --any-port")
    comes(host, "grep -c 'nvidia0: guests do not get it yet, as vgpud cannot use it: No such file' /run/vgpud.log", "1")
    must(guest, "! vgpuctl list | grep nvidia")
    must(host, "mv /dev/other /dev/nvidiactl")
    comes(guest, "ls -d /dev/nvidia0", "/dev/nvidia0")
    must(host, "vgpuctl unexport nvidia0 --force")
    nvidia_gone(bed)


def nvidia_cards(bed):
    """PCI devices of the host that can be a card: at an address that is free in the guest, on a bus that
    it does not have, and at an address that is taken."""
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
    """A card of NVIDIA's, which a stand-in of its driver on the host has, with both engines."""
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
    """What the kernel of a guest sees that reads and writes all of its window all the time, while that
    guest's programs have memory shown, and give it back, and others get it: in another guest, and on the host.
    The card's driver takes nothing away from who has mapped it; memory of the mock stays while it is mapped."""
    mock = f"{TOOLS}/mock_hunt $VGPU_FWD_MOCK"
    card = f"{TOOLS}/nvidia_hunt"
    # The host's has the processors that guests have.
    commands = {bed.guest: [f"{mock} 1 {PREY}", f"{card} 2 {PREY}"], bed.host: [f"nice -n 19 {card} 3 {PREY}"],
                hostile: [f"{mock} 4 {PREY} blind", f"{card} 5 {PREY} blind", f"{TOOLS}/hunter {PREY} 4 5"]}
    # All of them at once, in each machine; its status is 1 if one of theirs is.
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
    """The stand-in of NVIDIA's driver, and a card of it for guests."""
    bus = bed.host.must("grep -l ^0x0403 /sys/bus/pci/devices/*/class").lines[0].split("/")[-2]
    must(bed.host, NVIDIA_MAKE.format(bus=bus))
    for guest in guests:
        must(bed.host, f"vgpuctl export --nvidia 0 --to {guest.cid}")
    for guest in guests:
        comes(guest, "ls -d /dev/nvidiactl /dev/nvidia0", "/dev/nvidia0\n/dev/nvidiactl")


def take_card(bed):
    """It goes, and nothing of it is mapped or lent any more, as soon as what has ended has let go of it."""
    must(bed.host, "vgpuctl unexport --nvidia --force")
    comes(bed.guest, NVIDIA_TRACES, "")
    must(bed.host, NVIDIA_END, 60)


def joined_to(bed, *cids):
    """Files give the export of that name to these guests."""
    must(bed.host, "mkdir -p /etc/vgpu/exports.d && printf '[joined]\\npath = /dev/vgpu-mock\\nto = "
         f"{', '.join(map(str, cids))}\\n' >/etc/vgpu/exports.d/joined.conf && vgpuctl reload")


def joined(bed):
    """Files give a device to one more guest, and to one less, and programs of two others go on with the node that they
    have: one makes calls, one writes a mapping, all the time."""
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
    """Two guests and the host take memory of one card, write it, look at it and free it. What one has freed is the
    next one's at once. The windows of guests show what is theirs, and nothing of it is kept in the end."""
    other = bed.add_guest()
    guests = [bed.guest, other]
    give_card(bed, guests)
    # vgpud has a page of the card for as long as guests have the card.
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
    """A guest whose kernel is hostile (tests/mock/hunter.c) sees and changes nothing of others."""
    hostile = bed.add_guest()
    give_card(bed, (bed.guest, hostile))
    nvidia_stranger(bed.guest, hostile)
    must(hostile, "modprobe vgpu_hunter")
    seen = hunted_by(bed, hostile)
    bed.remove(hostile)
    take_card(bed)
    return seen


def shown(bed, what):
    """How many mappings of such a device the guest's hypervisor has."""
    return int(bed.host.run("stat -L -c %t:%T /proc/$(cat /run/inner.guest.pid)/map_files/* 2>/dev/null | "
                            f"grep -cx $(stat -c %t:%T /dev/{what})").text)


def wait_shown(bed, what, limit=60):
    """Waits until the guest sees one in its window."""
    deadline = Deadline(bed.time, limit)
    while not shown(bed, what):
        if deadline.left() <= 0:
            raise Failure(f"nothing of {what} is seen in the window")


def window_moves(bed, how):
    """The driver of the guest's window lets go of the device (unbind), or takes it (bind)."""
    must(bed.guest, f"cd /sys/bus/pci/devices/{WINDOW_DEVICE} && device=$(echo virtio*) && "
         f"echo $device >/sys/bus/virtio/drivers/vgpu_window/{how}")


def holds(guest, command=HOLDS):
    """Which of these are of the guest's window."""
    bars = [(int(first, 0), int(last, 0)) for first, last, _ in
            map(str.split, guest.must(f"cat /sys/bus/pci/devices/{WINDOW_DEVICE}/resource").lines)]
    return [line for line in guest.run(command).lines if (at := re.search(r"phys=(\w+)", line)) and
            any(first <= int(at[1], 0) <= last for first, last in bars)]


def window_goes(bed, what):
    """Nothing is seen in it any more when the driver has let go: QEMU would not survive its coming back.
    Nor does the guest's kernel map what may be another device's memory then."""
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
    """Whether that has."""
    return not machine.run("[ -s /run/begun.status ]").status


def ended(machine, limit=60):
    """Its output, and its exit status."""
    must(machine, "while [ ! -s /run/begun.status ]; do busybox usleep 50000; done", limit)
    return machine.must("cat /run/begun.out").text, int(machine.must("cat /run/begun.status").text)


def begin_shown(bed):
    """Starts a program that has memory of the card in the window, and stops it: whatever happens to that, it
    does not touch it."""
    begin(bed.guest, f"{TOOLS}/nvidia_hunt 2 {100 * HUNT}")
    while True:
        wait_shown(bed, "nvidia0")
        must(bed.guest, "kill -STOP $(cat /run/begun.pid)")
        if shown(bed, "nvidia0"):
            return
        must(bed.guest, "kill -CONT $(cat /run/begun.pid)")


def shows_again(bed, limit=120):
    """Programs have memory of both devices in the window, and it is theirs. A host that is too slow shows
    nothing, so they try again."""
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
    """The window's device is taken from its driver while a program uses memory there: each byte is what was
    written last. Returns what the program saw, as often as it was started."""
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
    """The driver of a guest's window lets go of the device while programs have memory there, and takes it
    again: what can be a copy is one meanwhile, with each byte, and the rest is lost."""
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
    """A guest goes to sleep and wakes up while programs have memory in its window."""
    guest = bed.guest
    give_card(bed, [guest])
    load(bed, "held")
    wait_shown(bed, "vgpu-mock")
    begin_shown(bed)
    # All but the last step, from which nobody would wake it.
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
# Those that need no second machine, and less time.
ANYWHERE = ["ordeal_hotplug", "ordeal_reload"]
# Those that guest VMs inside the host's are for.
NESTED = {"ordeal_two": two, "ordeal_again": again, "ordeal_cards": cards, "ordeal_drain": drain,
          "ordeal_joined": joined, "ordeal_kill": kill, "ordeal_strangers": strangers}
# The only one of them that takes less than minutes.
NESTED_SHORT = ["ordeal_joined"]
VHOST = {"ordeal_hunter": hunter, "ordeal_sleep": sleep, "ordeal_unbind": unbind}
ORDEALS = PAIR | NESTED | VHOST
