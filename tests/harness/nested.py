# SPDX-License-Identifier: GPL-2.0-only
"""Guest VMs that run in QEMU and KVM of the host VM.

The harness talks to the agent in such a guest VM through

    a socket -- a virtio port of the host VM -- a pipe of the QEMU in that VM
        -- a virtio port of the guest VM

The guest VM's console comes the same way back, so the harness uses all VMs of a bed
alike."""

import struct
import time

from patience import WIDE, Deadline
from vm import GRACE, KERNEL_ARGS, Vm, VmDied, harness

INNER = "/usr/lib/vgpu-test/inner"
# Seconds between checks whether a guest VM that is silent is alive.
LOOK = 5


def inner_ports(names):
    """Returns QEMU arguments for the host VM: the ports through which guest VMs of these names
    talk."""
    arguments = []
    for name in names:
        for what in ("agent", "side"):
            arguments += ["-chardev", f"socket,id={name}.{what},path=/out/{name}.{what},server=on,wait=off"]
        arguments += ["-chardev", f"file,id={name}.console,path=/out/{name}.console"]
        for what in ("agent", "side", "console"):
            arguments += ["-device", f"virtserialport,chardev={name}.{what},name=inner.{name}.{what}"]
    return arguments


def inner_disks(kernel, newest):
    """Returns the host VM's disks that hold a guest VM's kernel and payload, see guest/inner, and
    if newest is true, the newest QEMU."""
    return [("inner-initrd", kernel.boot[1]), ("inner-payload", kernel.payload),
            *([("inner-qemu", harness("mkqemu"))] if newest else [])]


# PCI slot of a guest's window, behind the devices to which QEMU gives the next free slot.
WINDOW_SLOT = 0x10
WINDOW_DEVICE = f"0000:00:{WINDOW_SLOT:02x}.0"
# Contents and sizes of ivshmem devices in guests which are not windows and must be left alone. The
# contents are the device's first bytes. "alike" has a window's header and size, but an identifier
# that no host has given to a window.
STRANGERS = {
    "plain": (b"of somebody else", "1M"),
    "alike": (struct.pack("<8sIIQQ", b"vgpu-win", 1, 0, 0x6f74686572, 4 << 30), "4G"),
}


def octal(data):
    """Returns a format string from which printf makes these bytes."""
    return "".join(f"\\{byte:03o}" for byte in data)


class Inner(Vm):
    """A guest VM inside the host VM."""

    def __init__(self, rundir, name, host, cid, version, newest, window=True):
        """
        host: Machine of the host VM
        cid: vsock address of the guest VM
        version: version of its kernel
        newest: true if its QEMU is the newest, which shares the guest's memory; false: Debian's,
            which cannot
        window: true if it has the devices of its window and of the memory that it shares
        """
        super().__init__(rundir, name, slow=2)
        self.host = host
        self.cid = cid
        self.version = version
        self.newest = newest
        self.window = window
        self.looked = time.monotonic()

    def start(self):
        # The sockets have to be connected before the QEMU in the host VM opens its ports.
        self.connect(Deadline(self.time, 10))
        strangers = ""
        for what, (data, size) in STRANGERS.items():
            path = self.stranger(what)
            self.host.must(f"rm -f {path}; truncate -s {size} {path}; "
                           f"printf '{octal(data)}' | dd of={path} conv=notrunc status=none")
            # The devices have lower PCI slots than the window, so a driver that searches finds
            # them first.
            strangers += (f"-object memory-backend-file,id={what},mem-path={path},size={size},share=on "
                          f"-device ivshmem-plain,memdev={what} ")
        self.host.must(f"{INNER} start {self.name} {self.cid} {self.version} {'newest' if self.newest else 'own'} "
                       f"'{KERNEL_ARGS} vgpu.role={self.name}' {strangers}{self.window_args() if self.window else ''}")

    def window_args(self):
        """Returns the QEMU arguments of the guest's window."""
        # --memory adds arguments that tell the host of the guest's memory. A user-space engine uses
        # one device for the window and for that memory.
        window = self.host.must(f"vgpuctl window qemu-args --to {self.cid}{' --memory' if self.newest else ''}").text.strip()
        if self.newest:
            # The memory is in two parts, so that most guest addresses differ from offsets in the
            # file.
            window = ("-object memory-backend-memfd,id=ram,size=512M,share=on "
                      f"-machine memory-backend=ram,max-ram-below-4g=256M {window}")
        return f"{window},addr={WINDOW_SLOT:#x}"

    def stranger(self, what):
        """Returns the path, in the host VM, of one of STRANGERS."""
        return f"/run/inner.{self.name}.{what}"

    def cpu(self):
        """Returns no time, because the host VM's time includes this VM's."""
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
        """Ends the VM without shutting it down, as a crash would."""
        self.host.must(f"{INNER} kill {self.name}")
        self.hang_up()

    def kill_process(self):
        """Does nothing: this VM ends with the host VM."""

    def stop(self):
        """Closes the channels only: this VM ends with the host VM."""
        self.hang_up()
