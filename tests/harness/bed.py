# SPDX-License-Identifier: GPL-2.0-only
"""The machines of one tier, and what is loaded in them."""

import os
import time

import kernlog
import payload
from bridge import Bridge
from vm import Machine, accelerator

SETUP = "/usr/lib/vgpu-test/setup"


def say(text):
    print(text, flush=True)


class Bed:
    """The machines of one tier, with everything loaded."""

    def __init__(self, spec, rundir, *, shell=None, gpu=None):
        """
        spec: TIER:GUEST-KERNEL[/HOST-KERNEL]
        shell: "guest" or "host": that machine's console is the terminal
        gpu: "2d" or "3d": the host's machine has such a virtio-gpu
        """
        self.spec = spec
        self.shell = shell
        self.gpu = gpu
        self.tier, _, kernels = spec.partition(":")
        guest, _, host = kernels.partition("/")
        self.guest_kernel = payload.Kernel(guest or "6.12")
        self.host_kernel = payload.Kernel(host or guest or "6.12")
        self.rundir = rundir
        self.machines = []
        self.bridge = None
        self.seen = {}
        self.exports = []

    def _machine(self, name, kernel, vsock=None, shell=False, gpu=None):
        boot = kernel.boot(self.rundir)
        archive = os.path.join(self.rundir, f"payload-{kernel.version}.tar")
        if not os.path.exists(archive):
            payload.make(kernel, self.rundir, payload.out_dir())
        extra = []
        if gpu == "3d":
            extra = ["-vga", "none", "-device", "virtio-gpu-gl-pci", "-display", "sdl,gl=on"]
        elif gpu:
            extra = ["-device", "virtio-gpu-pci"]
        debug = kernel.version == "debug"
        machine = Machine(self.rundir, name, boot, archive, vsock=vsock, shell=shell,
                          accel=accelerator(self.rundir, boot, archive), extra=extra,
                          virtual_display=gpu == "3d", memory=2048 if debug else 1024, slow=4 if debug else 1)
        machine.start()
        self.machines.append(machine)
        self.seen[name] = 0
        return machine

    def up(self):
        """Boots and loads everything; self.guest is where tests run."""
        start = time.monotonic()
        self.boot()
        for machine in self.machines:
            machine.must(SETUP + " devices", 60)
        if self.tier != "native":
            self.offer()
            self.take()
        self.describe()
        say(f"# {self.spec}: ready in {time.monotonic() - start:.0f} s")

    def boot(self):
        """Starts the machines, with nothing of ours loaded in them."""
        if self.tier == "pair":
            self.bridge = Bridge(self.rundir)
            self.bridge.start()
            self.host = self._machine("host", self.host_kernel, "host.vhost",
                                      self.shell == "host", self.gpu)
            self.guest = self._machine("guest", self.guest_kernel, "guest.vhost",
                                       self.shell == "guest")
        else:
            self.host = self.guest = self._machine("guest", self.guest_kernel,
                                                   shell=bool(self.shell), gpu=self.gpu)
        for machine in self.machines:
            self._wait(machine)

    @staticmethod
    def _wait(machine):
        machine.wait_ready(240)
        machine.booted = len(machine.console())

    def offer(self):
        """The host's machine exports its devices. Over the bridge each machine
        sees the other as CID 2, and ports say nothing."""
        peer = "2 --any-port" if self.tier == "pair" else "1"
        lines = self.host.must(f"{SETUP} host {peer}", 90).lines
        self.exports = [line.split()[1] for line in lines if line.startswith("export ")]

    def take(self):
        """The guest's machine takes what is exported."""
        cid = "2" if self.tier == "pair" else "1"
        self.guest.must(f"{SETUP} guest {cid} {' '.join(self.exports)}", 90)

    def describe(self):
        """Writes down in the guest's machine where each device is."""
        self.guest.must(f"{SETUP} env {'native' if self.tier == 'native' else ''}")

    def replace_guest(self):
        """The guest VM of a pair dies at once; another one takes its place."""
        self.guest.kill()
        self.machines.remove(self.guest)
        self.guest = self._machine("guest", self.guest_kernel, "guest.vhost")
        self._wait(self.guest)
        self.guest.must(SETUP + " devices", 60)
        self.take()
        self.describe()

    def reports(self):
        """What the kernels complained about since the last look."""
        found = []
        for machine in self.machines:
            text = machine.console()
            for report in kernlog.reports(text[self.seen[machine.name]:]):
                found.append(f"{machine.name}: {report}")
            self.seen[machine.name] = len(text)
        return found

    def down(self):
        for machine in self.machines:
            machine.stop()
        if self.bridge:
            self.bridge.stop()
        self.machines = []
        self.bridge = None
        for name in os.listdir(self.rundir):
            if name.endswith((".vhost", ".agent", ".side")) or ".vsock" in name:
                os.unlink(os.path.join(self.rundir, name))
