# SPDX-License-Identifier: GPL-2.0-only
"""The machines of one tier, and what is loaded in them."""

import os
import sys
import threading
import time

import kernlog
from bridge import Bridge
from nested import Inner, inner_disks, inner_ports
from patience import OwnTime
from vm import TCG, TCG_COUNTED, TCG_PARALLEL, Machine, NoAnswer, NotBooted, VmDied, accelerator

SETUP = "/usr/lib/vgpu-test/setup"
# Guest VMs inside the host's: one that tests run in, another one for ordeals.
CIDS = {"guest": 3, "other": 4}
INNER_MEMORY = 1536
# Too large for where firmware has PCI memory uncached. The other one's is there, too, since the
# device "alike" does not fit elsewhere (nested.STRANGERS), and so small that its ranges are used again
# all the time.
WINDOW = "4G"
WINDOWS = {"guest": WINDOW, "other": "4M"}
# Virtio-gpus for which this machine draws, and what QEMU's has to have for that.
DRAWING = {"3d": "", "venus": ",hostmem=4G,blob=on,venus=on"}
# What a tier's machine is told on the kernel's command line.
ARGS = {"system": "vgpu.systemd", "libvirt": "lsm=capability,apparmor"}
_saying = threading.Lock()


def say(text):
    """Prints in one piece, whoever else does."""
    with _saying:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


# Nodes of the host's test camera, by the names of their exports, see selftests/video_vivid.h.
CAMERA = "n_devs=2 node_types=0x101 multiplanar=1,2"
CAMERAS = {"CAPTURE": "vivid-000-vid-cap", "OUTPUT": "vivid-000-vid-out", "MCAPTURE": "vivid-001-vid-cap"}
# What no driver has, for cards of NVIDIA's: at a PCI address that is free in the guest, on a bus that
# the guest has not, and in a slot that each machine of this kind has functions in.
CARDS = ["-device", "intel-hda,addr=0x18", "-device", "pcie-root-port,id=behind,addr=0x19",
         "-device", "intel-hda,bus=behind", "-device", "intel-hda,addr=0x1f.5"]


class Bed:
    """The machines of one tier, with everything loaded."""

    def __init__(self, spec, rundir, kernels, *, shell=None, gpu="2d", layer=None, times=None,
                 parallel=True, window=False, memory=0, cpu="", icount=False, part=0, newest=True):
        """
        spec: TIER:GUEST-KERNEL[/HOST-KERNEL]
        rundir: where the bed's own folder is made, with sockets and consoles
        kernels: a payload.Kernels, which beds may share
        shell: "guest" or "host": that machine's console is the terminal
        gpu: "none", "2d", "3d" (OpenGL) or "venus" (Vulkan, too): the virtio-gpu that the
            host's machine has
        layer: name of a root with more programs, for all machines
        times: how often tests do the same at most; None: as often as they want to
        parallel: emulated processors run at the same time, as those of machines that run guests always do;
            else they take turns
        window: both modules are in one kernel, and mappings go through a window
        memory: MiB that each machine has at least
        cpu: what processors have or lack, see Machine
        icount: its time is instructions
        newest: a guest inside the host's machine has the newest QEMU, which shares memory, else Debian's
        part: which of several beds of one specification it is; the first one goes before others
        """
        self.spec = spec
        self.newest = newest
        self.part = part
        self.memory = memory
        self.cpu = cpu
        self.icount = icount
        self.shell = shell
        self.layer = layer
        self.times = times
        self.parallel = parallel
        self.kernels = kernels
        self.tier, _, kernels = spec.partition(":")
        self.gpu = {"suites": "3d", "vulkan": "venus"}.get(self.tier, gpu)
        self.window = window or self.tier == "vulkan"
        guest, _, host = kernels.partition("/")
        self.guest_version = guest or "6.12"
        self.host_version = host or self.guest_version
        self.rundir = os.path.join(rundir, spec.replace(":", "-").replace("/", "-") + ("-" + str(part) if part else ""))
        self.killed = False
        # Whether host and guest are machines of their own.
        self.apart = self.tier in ("pair", "nested", "vhost")
        self.nested = self.tier in ("nested", "vhost")
        # The host's, as the guest sees it.
        self.cid = 2 if self.apart else 1
        self.machines = []
        self.bridge = None
        # What limits count: own time of all machines, as they wait for each other.
        self.time = OwnTime(self._sessions)
        self.seen = {}
        self.exports = []

    def _machine(self, name, version, vsock=None, shell=False, gpu="none"):
        kernel = self.kernels.get(version)
        extra = []
        if gpu in DRAWING:
            extra = ["-vga", "none", "-device", f"virtio-gpu-gl-pci,xres=640,yres=480{DRAWING[gpu]}",
                     "-display", "sdl,gl=on"]
        elif gpu == "2d":
            extra = ["-device", "virtio-gpu-pci"]
        if self.apart and name == "host":
            extra += CARDS
        debug = version == "debug"
        memory = 2048 if self.layer else 1280 if debug else 1024
        layer, disks = self.layer, ()
        if self.nested:
            extra += inner_ports(CIDS)
            disks = inner_disks(self.kernels.get(self.guest_version), self.newest)
            memory, layer = memory + INNER_MEMORY, "qemu"
        elif self.tier == "libvirt":
            memory, layer = memory + INNER_MEMORY, "libvirt"
        memory = max(memory, self.memory)
        machine = Machine(self.rundir, name, kernel.boot, kernel.payload, vsock=vsock, shell=shell,
                          args=ARGS.get(self.tier, ""),
                          accel=self._accelerator(kernel), extra=extra,
                          virtual_display=gpu in DRAWING, display=gpu == "2d", memory=memory,
                          slow=4 if debug else 1, first=debug and not self.part,
                          layer=layer, disks=disks, cpu=self.cpu)
        return self._started(machine)

    def _accelerator(self, kernel):
        # A nested machine is always emulated, so that it is the same everywhere. Where its processors take turns,
        # guests inside get interrupts when they have them disabled: their kernels hang or die.
        if self.nested or self.tier == "libvirt":
            return TCG_PARALLEL
        if self.icount:
            return TCG_COUNTED
        return accelerator(self.rundir, kernel.boot, kernel.payload, self.parallel)

    def _inner(self, name):
        """A guest VM inside the host's. With the module the other one has a QEMU that shares no memory."""
        return self._started(Inner(self.rundir, name, self.host, CIDS[name], self.guest_version,
                                   newest=self.tier == "vhost" or (self.newest and name == "guest")))

    def _sessions(self):
        daemons = self.bridge.daemons if self.bridge else []
        return [session for machine in list(self.machines) for session in machine.sessions()] + \
            [daemon.pid for daemon in daemons]

    def _started(self, machine):
        machine.time = self.time
        machine.start()
        self.machines.append(machine)
        # An inner one has the console of one before it.
        self.seen[machine.name] = len(machine.console())
        if self.killed:
            raise VmDied("the run was interrupted")
        return machine

    def up(self):
        """Boots and loads everything; self.guest is where tests run."""
        start = self.clock()
        try:
            self.boot()
        except NoAnswer:
            raise
        except VmDied as error:
            raise NotBooted(str(error)) from error
        for machine in self.machines:
            # Scans of its own would find what is only on its way.
            machine.must("[ ! -e /sys/kernel/debug/kmemleak ] || echo scan=off >/sys/kernel/debug/kmemleak")
            machine.must(SETUP + " devices", 60)
        if self.forwards():
            self.offer()
            if self.nested:
                self.guest = self._inner("guest")
                self._wait(self.guest)
                self.guest.must(SETUP + " devices", 60)
                # Off in machines with less than 512 MiB, where newer kernels have entries of 2 MiB all the same.
                self.guest.must("echo always >/sys/kernel/mm/transparent_hugepage/enabled")
            self.take()
            if self.window:
                self.host.must(f"vgpuctl window create --to {self.cid} --size {WINDOW}")
        self.describe()
        say(f"# {self.spec}: ready in {self.spent(start)}")

    def forwards(self):
        """Whether everything is loaded before the tests start."""
        return self.tier not in ("native", "system", "libvirt")

    def boot(self):
        """Starts the machines, with nothing of ours loaded in them."""
        os.makedirs(self.rundir, exist_ok=True)
        if self.tier == "pair":
            self.bridge = Bridge(self.rundir)
            self.bridge.start()
            self.host = self._machine("host", self.host_version, "host.vhost",
                                      self.shell == "host", self.gpu)
            self.guest = self._machine("guest", self.guest_version, "guest.vhost",
                                       self.shell == "guest")
        elif self.nested:
            # Its guests come when it offers them something, which they boot with.
            self.host = self._machine("host", self.host_version, shell=self.shell == "host", gpu=self.gpu)
        else:
            self.host = self.guest = self._machine("guest", self.guest_version,
                                                   shell=bool(self.shell), gpu=self.gpu)
        for machine in self.machines:
            self._wait(machine)

    @staticmethod
    def _wait(machine):
        machine.wait_ready(600)
        machine.booted = len(machine.console())

    def offer(self, engine="kernel"):
        """The host's machine exports its devices. Over the bridge each machine
        sees the other as CID 2, and ports say nothing."""
        inner = ",".join(map(str, CIDS.values()))
        peer = {"pair": "2 --any-port", "nested": inner, "vhost": inner}.get(self.tier, "1")
        engine = "user" if self.tier in ("user", "vhost") else engine
        lines = self.host.must(f"VGPU_ENGINE={engine} {SETUP} host {peer}", 90).lines
        self.exports = [line.split()[1] for line in lines if line.startswith("export ")]
        if self.tier == "vhost":
            # QEMU maps no file beyond its end, and that of the mock is not where its memory ends.
            self.host.must("echo 1 >/sys/module/vgpu_mock/parameters/unsized")
        if self.nested:
            self.host.must("modprobe -a kvm-amd vhost_vsock", 180)
            for name, cid in CIDS.items():
                # Those of the module last longer than vgpud.
                self.host.must(f"[ -e /dev/vgpu-window-{cid} ] || "
                               f"vgpuctl window create --to {cid} --size {WINDOWS[name]}")

    def lend_camera(self):
        """The guest gets nodes of a test camera of the host's, until take_camera_back()."""
        self.host.must(f"modprobe vivid {CAMERA}", 60)
        for name, title in CAMERAS.items():
            self.host.must(f"f=$(grep -lx {title} /sys/devices/*/vivid.?/video4linux/*/name) && f=${{f%/name}} && "
                           f"vgpuctl export /dev/${{f##*/}} --to {CIDS['guest']} --name {name}", 60)

    def take_camera_back(self):
        """Nothing of it is left at the host."""
        for name in CAMERAS:
            self.host.must(f"vgpuctl unexport {name} --force", 60)
        # Shadows close files when they are told to, not at once.
        self.host.must("i=0; until rmmod vivid; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; busybox usleep 100000; done", 60)

    def take(self, guest=None):
        """The guest's machine takes what is exported."""
        (guest or self.guest).must(f"{SETUP} guest {self.cid} {' '.join(self.exports)}", 90)

    def describe(self):
        """Writes down in each machine where its devices are."""
        self.guest.must(f"{SETUP} env {'' if self.forwards() else 'native'}")
        if self.nested:
            # Tests that can do without a window shall not.
            kind = "cached" if self.tier == "vhost" else "1"
            self.guest.must(f"echo export VGPU_WINDOW={kind} >>/run/vgpu-env")
            if self.newest:
                # Its QEMU shares its memory.
                keys = self.host.must("grep -qw ospke /proc/cpuinfo && echo alone || echo 1").text.strip()
                self.guest.must(f"echo export VGPU_KEEP={keys} >>/run/vgpu-env")
        if self.apart:
            self.host.must(f"{SETUP} env native")

    def replace_guest(self):
        """The guest VM dies at once; another one takes its place."""
        self.remove(self.guest)
        self.guest = (self._inner("guest") if self.nested else
                      self._machine("guest", self.guest_version, "guest.vhost"))
        self._prepare(self.guest)
        self.describe()

    def add_guest(self):
        """One more guest VM inside the host's, which has everything loaded."""
        other = self._inner("other")
        self._prepare(other)
        other.must(f"{SETUP} env")
        return other

    def remove(self, machine):
        """A machine dies at once."""
        machine.kill()
        self.machines.remove(machine)

    def _prepare(self, guest):
        self._wait(guest)
        guest.must(SETUP + " devices", 60)
        self.take(guest)

    def clock(self):
        """Seconds that passed, that the machines computed, and of their own time."""
        return time.monotonic(), sum(machine.cpu() for machine in self.machines), self.time.now(exactly=True)

    def spent(self, start):
        """What has passed of each since an earlier clock(), in words."""
        took, computed, own = (now - before for now, before in zip(self.clock(), start))
        return f"{took:.1f} s, {max(computed, 0):.1f} s computing, {took - own:.1f} s waiting for a processor"

    def reports(self):
        """What the kernels complained about since the last look."""
        found = []
        for machine in self.machines:
            text = machine.console()
            for report in kernlog.reports(text[self.seen[machine.name]:]):
                found.append(f"{machine.name}: {report}")
            self.seen[machine.name] = len(text)
        return found

    def kill(self):
        """Ends it from another thread: whatever is going on there fails."""
        self.killed = True
        for machine in list(self.machines):
            machine.kill_process()

    def down(self):
        for machine in self.machines:
            machine.stop()
        if self.bridge:
            self.bridge.stop()
        self.machines = []
        self.bridge = None
        for name in os.listdir(self.rundir) if os.path.exists(self.rundir) else ():
            if name.endswith((".vhost", ".agent", ".side", ".vnc")) or ".vsock" in name:
                os.unlink(os.path.join(self.rundir, name))
