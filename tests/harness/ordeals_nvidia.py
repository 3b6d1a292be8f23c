# SPDX-License-Identifier: GPL-2.0-only
"""The ordeal of an NVIDIA card: a guest gets the card's nodes, files and PCI function, uses them,
and loses them."""

import re
import time

from ordeals_base import (
    NVIDIA_END, NVIDIA_MAKE, NVIDIA_TRACES, TOOLS, Failure, Mixed, begin, comes, ended,
    load_modules, must, stop_agent, works)

# Device files of an NVIDIA card.
NVIDIA_NODES = ["nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidiactl"]
# Number of the driver's ioctls and commands that are denied to guests and tried by nvidia_use, in
# each of its ways.
NVIDIA_DENIED = 15


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
        words = f"nvidia_use uses NVIDIA libraries of version {version}, but the driver of host .* has version 580.1.2: install"
        said = guest.run(f"dmesg | grep -c '{words}'".replace("\\t", "\\\\t")).text
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
    words = "cannot use memory of nvidia.* of host .*, so this guest needs a window (on the host: vgpuctl window create;"
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
    comes(guest, "dmesg | grep -c 'cannot create /dev/nvidia.*this machine has loaded NVIDIA'", str(len(NVIDIA_NODES)))
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
    """Lets a program (the stranger) name the RM client and the memory of another program (the
    owner). The driver must refuse all of its requests, but grant the same for its own client. The
    host must refuse others, which the driver grants, unless both are of the same guest."""
    kind = "stranger" if owner is stranger else "guest"
    begin(owner, f"{TOOLS}/nvidia_client owner")
    must(owner, "while [ ! -s /run/begun.out ]; do busybox usleep 50000; done", 60)
    handles = owner.must("cat /run/begun.out").text
    asked = stranger.run(f"{TOOLS}/nvidia_client {kind} {handles}", 60)
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
    comes(host, "grep -c 'nvidia0: guests cannot use this device yet, because vgpud cannot use it: No such file' /run/vgpud.log", "1")
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
