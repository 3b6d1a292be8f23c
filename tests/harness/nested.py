# SPDX-License-Identifier: GPL-2.0-only
"""Guest VMs that QEMU and KVM of the host's VM run.

    this machine -- socket -- virtio port of the host VM -- pipe of the QEMU in it
        -- virtio port of the guest VM -- agent

The console goes the same way, so whoever deals with a VM of a bed need not know
where it runs."""

import struct
import time

from patience import WIDE, Deadline
from vm import GRACE, KERNEL_ARGS, Vm, VmDied, harness

INNER = "/usr/lib/vgpu-test/inner"
# Seconds between looks whether one that says nothing is alive.
LOOK = 5


def inner_ports(names):
    """QEMU arguments for a host VM: what the guest VMs of these names talk through."""
    arguments = []
    for name in names:
        for what in ("agent", "side"):
            arguments += ["-chardev", f"socket,id={name}.{what},path=/out/{name}.{what},server=on,wait=off"]
        arguments += ["-chardev", f"file,id={name}.console,path=/out/{name}.console"]
        for what in ("agent", "side", "console"):
            arguments += ["-device", f"virtserialport,chardev={name}.{what},name=inner.{name}.{what}"]
    return arguments


def inner_disks(kernel, newest):
    """Disks of a host VM: what boots guest VMs with that kernel, see guest/inner. Newest: in a QEMU of that kind, too."""
    return [("inner-initrd", kernel.boot[1]), ("inner-payload", kernel.payload),
            *([("inner-qemu", harness("mkqemu"))] if newest else [])]


# Where a guest has its window: behind all that QEMU gives the next free place.
WINDOW_SLOT = 0x10
WINDOW_DEVICE = f"0000:00:{WINDOW_SLOT:02x}.0"
# Memory that guests share with others than us, by the same kind of device as a window is: its
# bytes, which stand for all of it. The second looks like a window, and as large, but has a
# number that no window has got from a host.
STRANGERS = {
    "plain": (b"of somebody else", "1M"),
    "alike": (struct.pack("<8sIIQQ", b"vgpu-win", 1, 0, 0x6f74686572, 4 << 30), "4G"),
}


def octal(data):
    """What printf makes such bytes of."""
    return "".join(f"\\{byte:03o}" for byte in data)


class Inner(Vm):
    """A VM inside another one."""

    def __init__(self, rundir, name, host, cid, version, newest):
        """
        host: the Machine that it runs in
        cid: its vsock address
        version: its kernel
        newest: its QEMU is the newest, and shares its memory; else Debian's, which cannot
        """
        super().__init__(rundir, name, slow=2)
        self.host = host
        self.cid = cid
        self.version = version
        self.newest = newest
        self.looked = time.monotonic()

    def start(self):
        # The host's QEMU wants to find us there.
        self.connect(Deadline(self.time, 10))
        strangers = ""
        for what, (data, size) in STRANGERS.items():
            path = self.stranger(what)
            self.host.must(f"rm -f {path}; truncate -s {size} {path}; "
                           f"printf '{octal(data)}' | dd of={path} conv=notrunc status=none")
            # In front of the window, for who looks through them in order.
            strangers += (f"-object memory-backend-file,id={what},mem-path={path},size={size},share=on "
                          f"-device ivshmem-plain,memdev={what} ")
        # With a user-space engine the device of the window is that of the memory, too.
        window = self.host.must(f"vgpuctl window qemu-args --to {self.cid}{' --memory' if self.newest else ''}").text.strip()
        if self.newest:
            # Two parts, so that most of it is elsewhere in the guest than in the file.
            window = ("-object memory-backend-memfd,id=ram,size=512M,share=on "
                      f"-machine memory-backend=ram,max-ram-below-4g=256M {window}")
        self.host.must(f"{INNER} start {self.name} {self.cid} {self.version} {'newest' if self.newest else 'own'} "
                       f"'{KERNEL_ARGS} vgpu.role={self.name}' {strangers}{window},addr={WINDOW_SLOT:#x}")

    def stranger(self, what):
        """Where in the host's machine one of STRANGERS is."""
        return f"/run/inner.{self.name}.{what}"

    def cpu(self):
        """The host's machine counts it."""
        return 0

    def check_alive(self):
        self.host.check_alive()
        if time.monotonic() < self.looked + LOOK:
            return
        serial = self.host.side.send(f"{INNER} alive {self.name}", WIDE * GRACE)
        result = self.host.side.result(serial, Deadline(self.time, GRACE), [])
        self.looked = time.monotonic()
        if result.status:
            raise VmDied(f"the VM {self.name} ended: {result.text}")

    def kill(self):
        """Ends it as a crash would."""
        self.host.must(f"{INNER} kill {self.name}")
        self.hang_up()

    def kill_process(self):
        """It ends with the host's machine."""

    def stop(self):
        """Likewise."""
        self.hang_up()
