# SPDX-License-Identifier: GPL-2.0-only
"""The machines of one tier, and what is loaded in them."""

import glob
import os
import subprocess
import sys
import threading
import time

import kernlog
from bridge import Bridge
from nested import Inner, inner_disks, inner_ports
from patience import OwnTime
from vm import HERE, TCG, TCG_COUNTED, TCG_PARALLEL, Machine, NoAnswer, NotBooted, VmDied, accelerator

SETUP = "/usr/lib/vgpu-test/setup"
# CIDs of guest VMs inside the host VM: tests run in "guest", and ordeals may add "other".
CIDS = {"guest": 3, "other": 4}
INNER_MEMORY = 1536
# Sizes of the guests' windows. WINDOW is too large for the PCI range that firmware maps uncached,
# so that window is outside the range. The other window is outside as well, because the guest's
# device "alike" (nested.STRANGERS) does not fit in. Its ranges are reused all the time, as it is
# small.
WINDOW = "4G"
WINDOWS = {"guest": WINDOW, "other": "4M"}
# QEMU options of the virtio-gpus for which the machine that runs the tests draws, by the bed's
# gpu=.
DRAWING = {"3d": "", "venus": ",hostmem=4G,blob=on,venus=on"}
# Kernel command line of a tier's machine, in addition to vm.KERNEL_ARGS.
ARGS = {"system": "vgpu.systemd", "packages": "vgpu.systemd", "cluster": "vgpu.systemd", "libvirt": "lsm=capability,apparmor"}
_saying = threading.Lock()


def say(text):
    """Prints a text in one piece, also if other threads print at the same time."""
    with _saying:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


# Parameters of vivid, the test camera, and its nodes by the names of their exports, see
# selftests/video_vivid.h.
CAMERA = "n_devs=2 node_types=0x101 multiplanar=1,2"
CAMERAS = {"CAPTURE": "vivid-000-vid-cap", "OUTPUT": "vivid-000-vid-out", "MCAPTURE": "vivid-001-vid-cap"}
# PCI devices that no driver has bound, to stand for NVIDIA cards: one at a PCI address that is free
# in the guest, one on a bus that the guest does not have, and one in a slot in which each q35
# machine has functions.
CARDS = ["-device", "intel-hda,addr=0x18", "-device", "pcie-root-port,id=behind,addr=0x19",
         "-device", "intel-hda,bus=behind", "-device", "intel-hda,addr=0x1f.5"]


def packages_disk(rundir):
    """Returns the serial number and the file of a disk: an archive of the packages of `make deb`."""
    folder = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build/deb")
    packages = [os.path.basename(path) for path in glob.glob(os.path.join(folder, "*.deb")) if "-dbgsym_" not in path]
    if not packages:
        raise VmDied("there are no packages in build/deb: run `make deb` first")
    archive = os.path.join(rundir, "packages.tar")
    subprocess.run(["tar", "-C", folder, "-cf", archive, *packages], check=True)
    return "packages", archive


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
        times: limit of an operation's repetitions in a test; None: no limit
        parallel: true if the emulated processors of one machine run at the same time, false if they
            take turns; those of machines that run guests always run at the same time
        window: true if mappings go through a window although both modules are in one kernel
        memory: least memory of each machine, in MiB
        cpu: features that processors have or lack, see Machine
        icount: true if the machines' clocks count instructions
        newest: true if a guest inside the host VM has the newest QEMU, which shares memory, and not
            Debian's
        part: number among several beds of one specification; part 0 gets processors first
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
        # True if host and guest are machines of their own.
        self.apart = self.tier in ("pair", "nested", "vhost")
        self.nested = self.tier in ("nested", "vhost")
        # CID of the host, as the guest sees it.
        self.cid = 2 if self.apart else 1
        self.machines = []
        self.bridge = None
        # Clock of all time limits: the machines' common own time, because they wait for each other.
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
        elif self.tier == "cluster":
            layer = "cluster"
        elif self.tier == "packages":
            disks = [packages_disk(self.rundir)]
        memory = max(memory, self.memory)
        machine = Machine(self.rundir, name, kernel.boot, kernel.payload, vsock=vsock, shell=shell,
                          # KASAN would report only the first error of a machine.
                          args=ARGS.get(self.tier, "") + (" kasan_multi_shot" if debug else ""),
                          accel=self._accelerator(kernel), extra=extra,
                          virtual_display=gpu in DRAWING, display=gpu == "2d", memory=memory,
                          slow=4 if debug else 1, first=debug and not self.part,
                          layer=layer, disks=disks, cpu=self.cpu)
        return self._started(machine)

    def _accelerator(self, kernel):
        # A machine that runs guests is always emulated, so that it is the same everywhere. If its
        # processors took turns, guests would get interrupts while they have them disabled, and
        # their kernels would hang or die.
        if self.nested or self.tier == "libvirt":
            return TCG_PARALLEL
        if self.icount:
            return TCG_COUNTED
        return accelerator(self.rundir, kernel.boot, kernel.payload, self.parallel)

    def _inner(self, name, window=True):
        """Starts a guest VM inside the host VM. With the host module, "other" gets Debian's QEMU,
        which shares no memory."""
        return self._started(Inner(self.rundir, name, self.host, CIDS[name], self.guest_version,
                                   newest=self.tier == "vhost" or (self.newest and name == "guest"), window=window))

    def _sessions(self):
        daemons = self.bridge.daemons if self.bridge else []
        return [session for machine in list(self.machines) for session in machine.sessions()] + \
            [daemon.pid for daemon in daemons]

    def _started(self, machine):
        machine.time = self.time
        machine.start()
        self.machines.append(machine)
        # The console of a guest inside the host VM begins with the text of its predecessors.
        self.seen[machine.name] = len(machine.console())
        if self.killed:
            raise VmDied("the run was interrupted")
        return machine

    def up(self):
        """Boots the machines and loads everything in them. Tests run in self.guest."""
        start = self.clock()
        try:
            self.boot()
        except NoAnswer:
            raise
        except VmDied as error:
            raise NotBooted(str(error)) from error
        for machine in self.machines:
            # kmemleak's periodic scans would report objects that are in use, but referred to by
            # nothing for a moment.
            machine.must("[ ! -e /sys/kernel/debug/kmemleak ] || echo scan=off >/sys/kernel/debug/kmemleak")
            machine.must(SETUP + " devices", 60)
        if self.forwards():
            self.offer()
            if self.nested:
                self.guest = self._inner("guest")
                self._wait(self.guest)
                self.guest.must(SETUP + " devices", 60)
                # Kernels turn huge pages off in machines with less than 512 MiB, but newer kernels
                # still use PMD mappings in them.
                self.guest.must("echo always >/sys/kernel/mm/transparent_hugepage/enabled")
            self.take()
            if self.window:
                self.host.must(f"vgpuctl window create --to {self.cid} --size {WINDOW}")
        self.describe()
        say(f"# {self.spec}: ready in {self.spent(start)}")

    def forwards(self):
        """Returns whether the modules are loaded and devices exported before the tests start."""
        return self.tier not in ("native", "system", "packages", "libvirt", "cluster")

    def boot(self):
        """Starts the machines, without loading modules or programs of this project."""
        os.makedirs(self.rundir, exist_ok=True)
        if self.tier == "pair":
            self.bridge = Bridge(self.rundir)
            self.bridge.start()
            self.host = self._machine("host", self.host_version, "host.vhost",
                                      self.shell == "host", self.gpu)
            self.guest = self._machine("guest", self.guest_version, "guest.vhost",
                                       self.shell == "guest")
        elif self.nested:
            # Guests inside the host VM boot after offer(), because they boot with their windows.
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
        """Loads the host's side and exports the host's devices. Over the bridge of a pair each
        machine sees the other as CID 2, and the source port does not show a privileged peer."""
        inner = ",".join(map(str, CIDS.values()))
        peer = {"pair": "2 --any-port", "nested": inner, "vhost": inner}.get(self.tier, "1")
        engine = "user" if self.tier in ("user", "vhost") else engine
        lines = self.host.must(f"VGPU_ENGINE={engine} {SETUP} host {peer}", 90).lines
        self.exports = [line.split()[1] for line in lines if line.startswith("export ")]
        if self.tier == "vhost":
            # QEMU maps no file beyond its size, but the mock has memory beyond the size of its
            # file.
            self.host.must("echo 1 >/sys/module/vgpu_mock/parameters/unsized")
        if self.nested:
            self.host.must("modprobe -a kvm-amd vhost_vsock", 180)
            for name, cid in CIDS.items():
                # The module's windows outlive vgpud, so they may exist already.
                self.host.must(f"[ -e /dev/vgpu-window-{cid} ] || "
                               f"vgpuctl window create --to {cid} --size {WINDOWS[name]}")

    def lend_camera(self):
        """Exports nodes of the host's test camera to the guest, until take_camera_back()."""
        self.host.must(f"modprobe vivid {CAMERA}", 60)
        for name, title in CAMERAS.items():
            self.host.must(f"f=$(grep -lx {title} /sys/devices/*/vivid.?/video4linux/*/name) && f=${{f%/name}} && "
                           f"vgpuctl export /dev/${{f##*/}} --to {CIDS['guest']} --name {name}", 60)

    def take_camera_back(self):
        """Unexports the nodes of lend_camera() and unloads the camera's driver at the host."""
        for name in CAMERAS:
            self.host.must(f"vgpuctl unexport {name} --force", 60)
        # Shadows close the camera's files some time after the unexport.
        self.host.must("i=0; until rmmod vivid; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; busybox usleep 100000; done", 60)

    def take(self, guest=None):
        """Loads the guest module, and waits for the devices that offer() has exported."""
        (guest or self.guest).must(f"{SETUP} guest {self.cid} {' '.join(self.exports)}", 90)

    def describe(self):
        """Writes the paths of a machine's devices to /run/vgpu-env in the machine, for the
        tests."""
        self.guest.must(f"{SETUP} env {'' if self.forwards() else 'native'}")
        if self.nested:
            # VGPU_WINDOW makes tests require a window that would pass without one, too.
            kind = "cached" if self.tier == "vhost" else "1"
            self.guest.must(f"echo export VGPU_WINDOW={kind} >>/run/vgpu-env")
            if self.newest:
                # The guest's memory is shared by its QEMU, so drivers of the host can keep pages
                # of it.
                keys = self.host.must("grep -qw ospke /proc/cpuinfo && echo alone || echo 1").text.strip()
                self.guest.must(f"echo export VGPU_KEEP={keys} >>/run/vgpu-env")
        if self.apart:
            self.host.must(f"{SETUP} env native")

    def replace_guest(self, window=True):
        """Kills the guest VM, and boots another one in its place. A guest VM inside the host VM has
        no window if window is false."""
        self.remove(self.guest)
        self.guest = (self._inner("guest", window) if self.nested else
                      self._machine("guest", self.guest_version, "guest.vhost"))
        self._prepare(self.guest)
        self.describe()

    def add_guest(self):
        """Boots one more guest VM inside the host VM, loads everything in it, and returns it."""
        other = self._inner("other")
        self._prepare(other)
        other.must(f"{SETUP} env")
        return other

    def remove(self, machine):
        """Kills a machine, and forgets it."""
        machine.kill()
        self.machines.remove(machine)

    def _prepare(self, guest):
        self._wait(guest)
        guest.must(SETUP + " devices", 60)
        self.take(guest)

    def clock(self):
        """Returns three times in seconds: wall time, the machines' computing time, and their own
        time."""
        return time.monotonic(), sum(machine.cpu() for machine in self.machines), self.time.now(exactly=True)

    def spent(self, start):
        """Returns a text about the three times that have passed since an earlier clock()."""
        took, computed, own = (now - before for now, before in zip(self.clock(), start))
        return f"{took:.1f} s, {max(computed, 0):.1f} s computing, {took - own:.1f} s waiting for a processor"

    def reports(self):
        """Returns the kernels' reports of errors since the last call."""
        found = []
        for machine in self.machines:
            text = machine.console()
            for report in kernlog.reports(text[self.seen[machine.name]:]):
                found.append(f"{machine.name}: {report}")
            self.seen[machine.name] = len(text)
        return found

    def kill(self):
        """Kills the machines from another thread: the bed's own thread fails in what it does."""
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
