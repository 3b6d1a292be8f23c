# SPDX-License-Identifier: GPL-2.0-only
"""Makes the payload, a VM's second disk: modules, programs and tests."""

import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import threading

from vm import HERE, cache_dir, harness

TOP = os.path.dirname(os.path.dirname(HERE))


class Kernel:
    """A kernel under test. boot is (image, initramfs); payload is the archive that a VM with this
    kernel gets on its second disk. Both are made in rundir."""

    def __init__(self, version, rundir):
        self.version = version
        if version == "debug":
            self.root = harness("mkdebug")
        else:
            self.root = harness("mkroot", "vm")
        boot = os.path.join(self.root, "boot")
        with open(os.path.join(boot, version + ".release"), encoding="ascii") as file:
            self.release = file.read().strip()
        initrd = os.path.join(rundir, f"{version}.initrd")
        busybox = os.path.join(harness("mkroot", "vm"), "bin/busybox")
        harness("mkinitrd", busybox, self.root, self.release, initrd)
        self.boot = (os.path.join(boot, version + ".vmlinuz"), initrd)
        self.payload = make(self, rundir, out_dir())


    def __str__(self):
        """Returns the exact version, because Debian's suites get new kernels."""
        with open(self.boot[0], "rb") as file:
            return f"kernel {self.version}: {exact_version(self.version, self.release, file.read(1 << 16))}"


def exact_version(version, release, image):
    """Returns the Debian package and the suite that a kernel's image is from.

    image: the first bytes of the image
    """
    # The field kernel_version of the boot protocol is an offset from the second sector.
    start = int.from_bytes(image[0x20e:0x210], "little") + 0x200
    banner = image[start:].partition(b"\0")[0].decode("ascii", "replace")
    package = re.search(r" Debian (\S+)", banner)
    with open(os.path.join(HERE, "lib.sh"), encoding="utf-8") as file:
        suites = dict(re.findall(r"\[([\d.]+)\]=(\w+)", file.read()))
    if version == "debug":
        return f"{release} (built from the source of Debian {suites['6.12']})"
    return f"{package[1] if package else release} (Debian {suites[version]})"


class Kernels:
    """The kernels of a run. Each one is prepared when it is first asked for."""

    def __init__(self, rundir):
        self.rundir = rundir
        self.ready = {}
        self.lock = threading.Lock()

    def get(self, version):
        with self.lock:
            if version not in self.ready:
                self.ready[version] = Kernel(version, self.rundir)
            return self.ready[version]

    def used(self):
        """Returns the kernels that were asked for."""
        with self.lock:
            return [self.ready[version] for version in sorted(self.ready)]


def make(kernel, rundir, out):
    """Makes the payload for a kernel from the files that `build` left in out; returns its path."""
    stage = os.path.join(rundir, f"payload-{kernel.version}")
    os.makedirs(os.path.join(stage, "usr/lib/vgpu-test/bin"))
    for name in os.listdir(os.path.join(HERE, "guest")):
        if name != "initramfs-init":
            shutil.copy(os.path.join(HERE, "guest", name),
                        os.path.join(stage, "usr/lib/vgpu-test", name))

    for name in ("README.md", "Documentation/admin/window.rst", "Documentation/admin/clusters.rst"):
        shutil.copy(os.path.join(TOP, name), os.path.join(stage, "usr/lib/vgpu-test"))

    # Modules are the image's own, linked here for depmod only (those of the debug kernel are
    # copied), and those that were built, which become updates. The payload has depmod's indexes
    # of both.
    modules = os.path.join(stage, "usr/lib/modules", kernel.release)
    os.makedirs(os.path.join(modules, "updates"))
    added = glob.glob(os.path.join(out, "k-" + kernel.version, "**/*.ko"), recursive=True)
    if kernel.version != "debug":       # the debug kernel has its own vkms
        added.append(os.path.join(harness("mkvkms", kernel.version), "vkms.ko"))
    for module in added:
        if os.path.basename(module) == "kvm_intel.ko":      # a stand-in, not for modprobe
            shutil.copy(module, os.path.join(stage, "usr/lib/vgpu-test"))
            continue
        target = os.path.join(modules, "updates", os.path.basename(module))
        subprocess.run(["strip", "--strip-debug", "-o", target, module], check=True)
    own = os.path.join(kernel.root, "usr/lib/modules", kernel.release)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        if os.path.exists(os.path.join(own, name)):
            shutil.copy(os.path.join(own, name), modules)
    if kernel.version == "debug":
        shutil.copytree(os.path.join(own, "kernel"), os.path.join(modules, "kernel"))
    else:
        os.symlink(os.path.join(own, "kernel"), os.path.join(modules, "kernel"))
    os.symlink("usr/lib", os.path.join(stage, "lib"))
    depmod = shutil.which("depmod", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    subprocess.run([depmod, "-b", stage, kernel.release], check=True)
    os.unlink(os.path.join(stage, "lib"))
    if kernel.version != "debug":
        os.unlink(os.path.join(modules, "kernel"))

    # `build` replaces nothing while this lock is held.
    with open(os.path.join(out, ".lock-user"), "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        for source, target in (("selftests", "usr/lib/vgpu-test/bin"),
                               ("tools", "usr/lib/vgpu-test/tools"), ("user", ".")):
            source = os.path.join(out, source)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(stage, target), symlinks=True, dirs_exist_ok=True)

    archive = stage + ".tar"
    subprocess.run(["tar", "-C", stage, "--owner=0", "--group=0", "-cf", archive, "."], check=True)
    shutil.rmtree(stage)
    return archive


def out_dir():
    """Returns the folder that in-root shows as /out: $VGPU_OUT, or one for this checkout."""
    if os.environ.get("VGPU_OUT"):
        return os.environ["VGPU_OUT"]
    key = hashlib.sha256(TOP.encode()).hexdigest()[:8]
    return os.path.join(cache_dir(), "out-" + key)
