#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that vgpuctl's doctor finds faults that are planted in a system's files. Prints TAP.

  doctor_test.py VGPUCTL VGPUD     the programs, linked with shared libraries, as they are installed

Each test makes a root directory that is healthy but for its fault. A healthy one has no finding, so
a test also shows that the fault has no other finding than it should."""

import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

VGPUCTL, VGPUD = sys.argv[1:3]
RELEASE = "6.12.9"
UNIT = "vgpud.service"
DOCTOR = ("doctor", "--json", "--root")
# vgpuctl runs vgpud by its name.
ENV = os.environ | {"PATH": os.path.dirname(VGPUD) + ":" + os.environ["PATH"]}
QEMU = "/usr/bin/qemu-system-x86_64 -device vhost-vsock-pci,guest-cid=3"
WINDOW = (" -object memory-backend-file,id=window,mem-path=/dev/vgpu-window-3,size=4G,share=on,align=2M"
          " -device ivshmem-plain,memdev=window")
EXPORT = "[gpu]\npath = /dev/dri/renderD128\nto = 3\n"
ALL = {
    "proc/sys/kernel/osrelease": RELEASE + "\n",
    "proc/cmdline": "root=/dev/vda quiet\n",
    "etc/group": "root:x:0:\nrender:x:106:joe\nvgpu:x:990:\n",
}
HOST = ALL | {
    "proc/cpuinfo": "flags\t\t: fpu pku ospke\n",
    "proc/1/cmdline": "/sbin/init\0",
    "proc/77/cmdline": QEMU.replace(" ", "\0") + "\0",
    "proc/sys/fs/nr_open": "1048576\n",
    "proc/sys/vm/max_map_count": "65530\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n",
    "sys/module/vgpu_host/initstate": "live\n",
    "sys/module/vhost_vsock/initstate": "live\n",
    "sys/class/misc/vhost-vsock/dev": "10:241\n",
    "dev/kvm": "", "dev/vhost-vsock": "", "dev/vgpu-host": "", "dev/dri/renderD128": "",
    "etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\n",
    "etc/vgpu/exports.d/gpu.conf": EXPORT,
    f"lib/modules/{RELEASE}/modules.dep": "extra/vgpu_host.ko:\nkernel/drivers/vhost/vhost_vsock.ko.xz: kernel/vhost.ko.xz\n",
    f"lib/modules/{RELEASE}/extra/vgpu_host.ko": f"\177ELF\0vermagic={RELEASE} SMP\0srcversion=ABC\0~Module signature appended~\n",
    f"usr/lib/systemd/system/{UNIT}": "[Service]\nDelegate=cpu io memory pids\n",
    f"etc/systemd/system/multi-user.target.wants/{UNIT}": f"-> /usr/lib/systemd/system/{UNIT}",
    "usr/sbin/vgpud": "", "usr/libexec/vgpu/vgpu-shadow": "#! ",
}
# Nobody listens where no agent runs: this finding is in all tests of a host.
SILENT = {"agent-not-running"}
GUEST = ALL | {
    "sys/module/vgpu_guest/parameters/cid": "2\n",
    "sys/module/vgpu_guest/hosts/2:22586/state": "connected\n",
    "sys/module/vgpu_guest/hosts/2:22586/error": "0\n",
    "sys/bus/virtio/devices/virtio0/device": "0x0013\n",
    "sys/bus/virtio/devices/virtio0/driver": "-> ../drivers",
    "sys/bus/virtio/devices/drivers/x": "",
    "sys/class/vgpu/vgpu0/state": "connected\n",
    "sys/class/vgpu/vgpu0/copy_mappings": "0\n",
    "sys/class/vgpu/vgpu0/window_mappings": "0\n",
    "sys/class/vgpu/vgpu0/unknown_ioctls": "",
    "dev/vgpu0": "", "dev/vsock": "",
}
LIBVIRT = {
    "etc/vgpu/exports.d/gpu.conf": EXPORT + "window = 4G\n",
    "proc/77/cmdline": (QEMU + WINDOW).replace(" ", "\0") + "\0",
    "etc/libvirt/qemu.conf": 'cgroup_device_acl = [ "/dev/null",\n "/dev/vgpu-window-3" ]\n',
    "sys/module/apparmor/parameters/enabled": "Y\n",
    "etc/apparmor.d/abstractions/libvirt-qemu": "",
    "etc/apparmor.d/abstractions/libvirt-qemu.d/vgpu": "/dev/vgpu-window-* rw,\n",
}
NVIDIA = {
    "etc/vgpu/exports.d/gpu.conf": "[card]\nnvidia = 0\nto = 3\nwindow = 4G\n",
    "proc/77/cmdline": (QEMU + WINDOW).replace(" ", "\0") + "\0",
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release\n",
    "dev/nvidiactl": "", "dev/nvidia-uvm": "",
}
GONE = None


def qemu(arguments):
    """Returns the files of a system whose QEMU has these arguments, and a window."""
    return {"etc/vgpu/exports.d/gpu.conf": EXPORT + "window = 4G\n",
            "proc/77/cmdline": arguments.replace(" ", "\0") + "\0"}


class Case(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)

    def plant(self, files):
        """Makes files. A text that begins with -> is a link's target, and #! makes a program."""
        for name, text in files.items():
            path = os.path.join(self.root, name)
            if text is GONE:
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path):
                os.unlink(path)
            if text.startswith("-> "):
                os.symlink(text[3:], path)
                continue
            with open(path, "w", encoding="latin-1") as file:
                file.write(text)
            mode = 0o755 if text.startswith("#!") else 0o666 if name.startswith("dev/vgpu0") else 0o600 if name.startswith("dev/") else 0o644
            os.chmod(path, mode)

    def doctor(self, *arguments):
        """Runs the doctor. Returns its exit status, and its JSON object."""
        run = subprocess.run([VGPUCTL, *DOCTOR, self.root, *arguments], stdout=subprocess.PIPE, text=True, check=False, env=ENV)
        return run.returncode, json.loads(run.stdout)

    def names(self, *arguments):
        """Returns the names of the doctor's findings, and checks what all findings have in common."""
        status, answer = self.doctor(*arguments)
        self.assertEqual(1, answer["schema"])
        for finding in answer["findings"]:
            self.assertTrue(finding["problem"], finding)
            self.assertTrue(finding["remedy"], finding)
            self.assertRegex(finding["name"], r"\A[a-z0-9]+(-[a-z0-9]+)*\Z")
        self.assertEqual(any(finding["kind"] == "error" for finding in answer["findings"]), status == 1)
        return {finding["name"] for finding in answer["findings"]}

    def expect(self, healthy, fault, names):
        """Plants a fault, and expects findings with these names."""
        self.plant(healthy)
        self.plant(fault)
        self.assertEqual(names | (SILENT if "dev/kvm" in healthy else set()), self.names())


# Faults of a host: the files that are changed, and the findings.
HOST_FAULTS = {
    "healthy": ({}, set()),
    "kernel_old": ({"proc/sys/kernel/osrelease": "5.10.0\n"}, {"kernel-old"}),
    "no_32_bit": ({"proc/cmdline": "quiet ia32_emulation=0\n"}, {"no-32-bit"}),
    "keys": ({"proc/cpuinfo": "flags\t\t: fpu pku\n"}, {"protection-keys-missing"}),
    "kvm": ({"dev/kvm": GONE}, {"kvm-missing"}),
    "cgroup2": ({"sys/fs/cgroup/cgroup.controllers": GONE}, {"cgroup2-missing"}),
    "controller": ({"sys/fs/cgroup/cgroup.controllers": "cpu io pids\n"}, {"cgroup-controller-missing"}),
    "cgroups_off": ({"etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\n[shadow]\ncgroups = no\n"}, {"cgroups-off"}),
    "open_files": ({"proc/sys/fs/nr_open": "65536\n"}, {"open-files-low"}),
    "module": ({"sys/module/vgpu_host": GONE, "dev/vgpu-host": GONE}, {"module-not-loaded"}),
    "module_gone": ({"sys/module/vgpu_host": GONE, "lib/modules": GONE}, {"module-not-installed"}),
    "module_depmod": ({"sys/module/vgpu_host": GONE, f"lib/modules/{RELEASE}/modules.dep": ""}, {"module-unlisted"}),
    "module_vermagic": ({f"lib/modules/{RELEASE}/extra/vgpu_host.ko": "\177ELF\0vermagic=6.1.2 SMP\0"}, {"module-other-kernel"}),
    "module_stale": ({"sys/module/vgpu_host/srcversion": "DEF\n"}, {"module-stale"}),
    "module_blocked": ({"sys/module/vgpu_host": GONE, "etc/modprobe.d/x.conf": "# x\nblacklist vgpu_host\n"}, {"module-blocked"}),
    "module_install": ({"sys/module/vgpu_host": GONE, "etc/modprobe.d/x.conf": "install vgpu_host /bin/false\n"}, {"module-blocked"}),
    "module_option": ({"etc/modprobe.d/x.conf": "options vgpu_host poll_us=5 pol=3\n"}, {"module-option-unknown"}),
    "module_unsigned": ({f"lib/modules/{RELEASE}/extra/vgpu_host.ko": "\177ELF\0",
                         "sys/kernel/security/lockdown": "none [integrity] confidentiality\n"}, {"module-unsigned"}),
    "module_node": ({"dev/vgpu-host": GONE}, {"module-node-missing"}),
    "module_boot": ({"sys/module/vgpu_host": GONE, "proc/cmdline": "quiet module_blacklist=nouveau,vgpu_host\n"}, {"module-blocked"}),
    "modules_disabled": ({"sys/module/vgpu_host": GONE, "proc/sys/kernel/modules_disabled": "1\n"}, {"modules-disabled"}),
    "engine": ({"etc/vgpu/vgpud.conf": "[agent]\nengine = kernl\n"}, {"engine-unknown"}),
    "namespaces": ({"etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\n[shadow]\nnamespaces = no\n"}, {"namespaces-off"}),
    "uid_range": ({"etc/passwd": "root:x:0:0\njoe:x:1879048200:100\n"}, {"uid-range-taken"}),
    "uid_range_set": ({"etc/passwd": "root:x:0:0\njoe:x:1000:100\n",
                       "etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\n[shadow]\nuid-base = 900\nuid-count = 200\n"},
                      {"uid-range-taken"}),
    "port": ({"etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\nport = 22587\n"}, {"port-unusual"}),
    "delegate": ({f"usr/lib/systemd/system/{UNIT}": "[Service]\n"}, {"service-without-delegate"}),
    "qemu_without_id": ({"proc/78/cmdline": "/usr/bin/qemu-system-x86_64\0-m\0004G\0"}, {"qemu-without-context-id"}),
    "vhost": ({"sys/module/vhost_vsock": GONE, "sys/class/misc/vhost-vsock": GONE}, {"module-not-loaded"}),
    "vhost_kernel": ({"sys/module/vhost_vsock": GONE, "sys/class/misc/vhost-vsock": GONE,
                      f"lib/modules/{RELEASE}/modules.dep": "extra/vgpu_host.ko:\n"}, {"module-not-installed"}),
    "vhost_node": ({"dev/vhost-vsock": GONE}, {"vhost-vsock-node-missing"}),
    "namespace": ({"proc/sys/net/vsock/child_ns_mode": "local\n"}, {"vsock-namespace"}),
    "namespace_mended": ({"proc/sys/net/vsock/child_ns_mode": "local\n",
                          f"etc/systemd/system/{UNIT}.d/net.conf": "[Service]\nPrivateNetwork=no\n"}, set()),
    "sockets": ({"etc/vgpu/vgpud.conf": "[agent]\nengine = kernel\n[sockets]\n3 = /run/vhost/guest\n"},
                {"socket-directory-missing", "sockets-need-user-engine"}),
    "masked": ({f"etc/systemd/system/{UNIT}": "-> /dev/null"}, {"service-masked"}),
    "not_enabled": ({f"etc/systemd/system/multi-user.target.wants/{UNIT}": GONE}, {"service-not-enabled"}),
    "shadow": ({"usr/libexec/vgpu/vgpu-shadow": GONE}, {"program-missing"}),
    "shadow_mode": ({"usr/libexec/vgpu/vgpu-shadow": "x"}, {"program-not-executable"}),
    "group": ({"etc/group": "root:x:0:\n"}, {"group-missing"}),
    "name": ({"etc/vgpu/exports.d/more.cfg": "[x]\n"}, {"file-ignored"}),
    "name_aside": ({"etc/vgpu/exports.d/example.conf.off": "[x]\n"}, set()),
    "exports_dir": ({"etc/vgpu/exports.d": GONE}, {"exports-dir-missing", "nothing-exported", "guest-without-export", "settings-warning"}),
    "device": ({"dev/dri/renderD128": GONE}, {"export-device-missing"}),
    "no_guest": ({"etc/vgpu/exports.d/gpu.conf": EXPORT.replace("to = 3", "")}, {"export-without-guest", "guest-without-export", "settings-mistake"}),
    "to_host": ({"etc/vgpu/exports.d/gpu.conf": EXPORT.replace("3", "2, 3")}, {"context-id-reserved"}),
    "other_guest": ({"etc/vgpu/exports.d/gpu.conf": EXPORT.replace("to = 3", "to = 4")},
                    {"guest-without-export", "guest-not-running"}),
    "named_guest": ({"etc/vgpu/exports.d/gpu.conf": EXPORT.replace("to = 3", "to = web"),
                     "etc/vgpu/guests.d/web.conf": "[guest web]\ncid = 3\n"}, set()),
    "any_port": ({"etc/vgpu/exports.d/gpu.conf": EXPORT + "any-port = yes\n"}, {"export-any-port"}),
    "same_id": ({"proc/78/cmdline": QEMU.replace(" ", "\0") + "\0"}, {"context-id-twice"}),
    "qemu_host_id": ({"proc/78/cmdline": QEMU.replace(" ", "\0").replace("cid=3", "cid=2")},
                     {"context-id-reserved", "guest-without-export"}),
    "window": (qemu(QEMU + WINDOW), set()),
    "window_json": (qemu(QEMU.replace("vhost-vsock-pci,guest-cid=3", '{"driver":"vhost-vsock-pci","guest-cid":3}') + WINDOW), set()),
    "window_not_in_qemu": (qemu(QEMU), {"window-not-in-qemu"}),
    "window_private": (qemu(QEMU + WINDOW.replace(",share=on", "")), {"qemu-window-not-shared"}),
    "window_align": (qemu(QEMU + WINDOW.replace(",align=2M", "")), {"qemu-window-not-aligned"}),
    "window_master": (qemu(QEMU + WINDOW + ",master=on"), {"qemu-window-master"}),
    "window_size": (qemu(QEMU + WINDOW.replace("4G", "8G")), {"qemu-window-size"}),
    "window_vfio": (qemu(QEMU + WINDOW + " -device vfio-pci,host=01:00.0"), {"qemu-window-with-vfio"}),
    "window_sev": (qemu(QEMU + WINDOW + " -object sev-guest,id=sev0"), {"qemu-window-encrypted"}),
    "window_others": (qemu(QEMU + WINDOW.replace("window-3", "window-4")), {"qemu-window-of-other-guest", "window-not-in-qemu"}),
    "window_without_vsock": (qemu("/usr/bin/qemu-system-x86_64" + WINDOW), {"qemu-without-vsock", "guest-not-running"}),
    "window_small": (qemu(QEMU + WINDOW.replace("4G", "1G")) | {"etc/vgpu/exports.d/gpu.conf": EXPORT + "window = 1G\n"},
                     {"window-small"}),
    "window_odd": (qemu(QEMU + WINDOW.replace("4G", "5G")) | {"etc/vgpu/exports.d/gpu.conf": EXPORT + "window = 5G\n"},
                   {"window-size-wrong", "settings-mistake"}),
    "window_nested": (qemu(QEMU + WINDOW) | {"sys/module/kvm_intel/parameters/nested": "Y\n"},
                      {"window-nested-vmx", "window-memory-type"}),
    "window_nested_new": (qemu(QEMU + WINDOW) | {"sys/module/kvm_intel/parameters/nested": "Y\n",
                                                 "proc/sys/kernel/osrelease": "6.13.1\n"}, {"window-memory-type"}),
    "libvirt": (LIBVIRT, set()),
    "libvirt_list": (LIBVIRT | {"etc/libvirt/qemu.conf": '#cgroup_device_acl = [ "/dev/vgpu-window-3" ]\n'}, {"libvirt-device-list"}),
    "libvirt_profile": (LIBVIRT | {"etc/apparmor.d/abstractions/libvirt-qemu.d/vgpu": ""}, {"apparmor-rule"}),
    "libvirt_selinux": (LIBVIRT | {"sys/fs/selinux/enforce": "1"}, {"selinux"}),
    "nvidia": (NVIDIA, set()),
    "nvidia_driver": (NVIDIA | {"proc/driver/nvidia/version": ""}, {"nvidia-not-loaded"}),
    "nvidia_release": (NVIDIA | {"proc/driver/nvidia/version": "NVRM version: x  610.43.02  Release\n"}, {"nvidia-version-unknown"}),
    "nvidia_node": ({name: text for name, text in NVIDIA.items() if name != "dev/nvidia-uvm"}, {"nvidia-node-missing"}),
    "nvidia_window": (NVIDIA | {"etc/vgpu/exports.d/gpu.conf": "[card]\nnvidia = 0\nto = 3\n"}, {"nvidia-without-window"}),
    "userfaultfd": ({"etc/vgpu/vgpud.conf": "[agent]\nengine = user\n", "usr/libexec/vgpu/vgpu-engine": "#!",
                     "usr/libexec/vgpu/vgpu-engine-shadow": "#!", "usr/libexec/vgpu/vgpu-keeper": "#!",
                     "proc/cmdline": "secretmem.enable=0\n", "proc/sys/vm/max_map_count": "1000\n"},
                    {"userfaultfd-missing", "secret-memory-off", "map-count-low"}),
}

# Faults of a guest.
GUEST_FAULTS = {
    "healthy": ({}, set()),
    "device": ({"sys/bus/virtio": GONE}, {"vsock-device-missing"}),
    "node": ({"dev/vsock": GONE}, {"vsock-node-missing"}),
    "transport": ({"sys/bus/virtio/devices/virtio0/driver": GONE}, {"module-not-installed"}),
    "host_id": ({"sys/module/vgpu_guest/parameters/cid": "5\n"}, {"host-id-unusual"}),
    "option": ({"etc/modprobe.d/vgpu.conf": "options vgpu_guest cids=2\n"}, {"module-option-unknown"}),
    "host_port": ({"sys/module/vgpu_guest/parameters/port": "22587\n"}, {"host-port-unusual"}),
    "render_empty": ({"etc/group": "root:x:0:\nrender:x:106:\n"}, {"render-group-empty"}),
    "silent": ({"sys/module/vgpu_guest/hosts/2:22586/state": "no host\n",
                "sys/module/vgpu_guest/hosts/2:22586/error": "104\n"}, {"host-silent"}),
    "port": ({"sys/module/vgpu_guest/hosts/2:22586/state": "refused\n",
              "sys/module/vgpu_guest/hosts/2:22586/error": "13\n"}, {"host-refuses-port"}),
    "twice": ({"sys/module/vgpu_guest/hosts/2:22586/state": "refused\n",
               "sys/module/vgpu_guest/hosts/2:22586/error": "16\n"}, {"host-refuses-twice"}),
    "full": ({"sys/module/vgpu_guest/hosts/2:22586/state": "refused\n",
              "sys/module/vgpu_guest/hosts/2:22586/error": "24\n"}, {"host-full"}),
    "version": ({"sys/module/vgpu_guest/hosts/2:22586/state": "wrong version\n"}, {"host-other-version"}),
    "nothing": ({"sys/module/vgpu_guest/hosts/2:22586/state": "nothing exported\n"}, {"host-exports-nothing"}),
    "no_host": ({"sys/module/vgpu_guest/hosts/2:22586": GONE}, {"host-missing"}),
    "lost": ({"sys/class/vgpu/vgpu0/state": "connection lost\n"}, {"device-lost"}),
    "unknown": ({"sys/class/vgpu/vgpu0/unknown_ioctls": "0x12345678 9\n"}, {"ioctl-unknown"}),
    "copies": ({"sys/class/vgpu/vgpu0/copy_mappings": "7\n"}, {"mappings-copied"}),
    "no_device": ({"sys/class/vgpu/vgpu0": GONE}, {"device-missing"}),
    "node_missing": ({"dev/vgpu0": GONE}, {"node-missing"}),
    "render": ({"etc/group": "root:x:0:\n"}, {"render-group-missing"}),
    "window": ({"sys/bus/pci/devices/0000:00:10.0/vendor": "0x1af4\n", "sys/bus/pci/devices/0000:00:10.0/device": "0x1110\n",
                "sys/bus/pci/devices/0000:00:10.0/driver": "-> .",
                "sys/bus/pci/devices/0000:00:10.0/resource": "0x1 0x2 0x0\n0x0 0x0 0x0\n0x800000000 0x8ffffffff 0x1\n"}, set()),
    "window_low": ({"sys/bus/pci/devices/0000:00:10.0/vendor": "0x1af4\n", "sys/bus/pci/devices/0000:00:10.0/device": "0x1110\n",
                    "sys/bus/pci/devices/0000:00:10.0/driver": "-> .",
                    "sys/bus/pci/devices/0000:00:10.0/resource": "0x1 0x2 0x0\n0x0 0x0 0x0\n0xc0000000 0xcfffffff 0x1\n"}, {"window-low"}),
    "window_unassigned": ({"sys/bus/pci/devices/0000:00:10.0/vendor": "0x1af4\n", "sys/bus/pci/devices/0000:00:10.0/device": "0x1110\n",
                           "sys/bus/pci/devices/0000:00:10.0/resource": "0x1 0x2 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n"},
                          {"window-unassigned", "window-unclaimed"}),
    "libraries": ({"proc/driver/nvidia/version": "NVRM version: x  580.159.04  Release\n",
                   "usr/lib/x86_64-linux-gnu/libcuda.so.575.57.08": ""}, {"nvidia-library-version"}),
    "libraries_right": ({"proc/driver/nvidia/version": "NVRM version: x  580.159.04  Release\n",
                         "usr/lib64/libcuda.so.580.159.04": ""}, set()),
    "libraries_gone": ({"proc/driver/nvidia/version": "NVRM version: x  580.159.04  Release\n"}, {"nvidia-library-missing"}),
}


class Host(Case):
    """Each fault of HOST_FAULTS is found."""


class Guest(Case):
    """Each fault of GUEST_FAULTS is found."""


def add_cases(to, healthy, faults):
    for name, (fault, names) in faults.items():
        setattr(to, f"test_{name}", lambda self, fault=fault, names=names: self.expect(healthy, fault, names))


add_cases(Host, HOST, HOST_FAULTS)
add_cases(Guest, GUEST, GUEST_FAULTS)


class Files(Case):
    """Faults that are no content of files."""

    def setUp(self):
        super().setUp()
        self.plant(HOST)

    def test_modes(self):
        for path, mode, name in (("etc/vgpu/exports.d/gpu.conf", 0o666, "settings-writable"),
                                 ("etc/vgpu/exports.d", 0o777, "settings-writable"),
                                 ("etc/vgpu/vgpud.conf", 0o644, None),
                                 ("etc/vgpu/exports.d/gpu.conf", 0o244, "settings-unreadable")):
            os.chmod(os.path.join(self.root, path), mode)
            names = self.names() - {"settings-mistake", "guest-without-export", "nothing-exported"}
            self.assertEqual(SILENT | ({name} if name else set()), names)
            os.chmod(os.path.join(self.root, path), 0o755 if path.endswith(".d") else 0o644)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_owner(self):
        os.chown(os.path.join(self.root, "etc/vgpu/vgpud.conf"), 1000, 0)
        self.assertEqual(SILENT | {"settings-owner"}, self.names())

    def test_window_mode(self):
        self.plant(qemu(QEMU + WINDOW) | {"dev/vgpu-window-3": ""})
        self.assertEqual(SILENT, self.names())
        os.chmod(os.path.join(self.root, "dev/vgpu-window-3"), 0o660)
        self.assertEqual(SILENT | {"window-mode"}, self.names())

    def test_node_closed(self):
        shutil.rmtree(self.root)
        self.plant(GUEST)
        os.chmod(os.path.join(self.root, "dev/vgpu0"), 0o600)
        self.assertEqual({"node-closed"}, self.names())

    def test_other_kernel(self):
        os.rename(os.path.join(self.root, "lib/modules", RELEASE), os.path.join(self.root, "lib/modules/6.1.0"))
        self.plant({"sys/module/vgpu_host": GONE})
        self.assertEqual(SILENT | {"module-other-kernel"}, self.names())

    def test_socket_dead(self):
        """A socket that nobody listens on, which a killed vgpud leaves."""
        os.makedirs(os.path.join(self.root, "run/vgpu"))
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(os.path.join(self.root, "run/vgpu/vgpud.sock"))
        self.assertEqual({"agent-dead"}, self.names())

    def test_not_installed(self):
        self.plant({"usr/sbin/vgpud": GONE, "usr/libexec": GONE})
        self.assertEqual({"agent-not-installed"}, self.names())

    def test_mistakes(self):
        """What vgpud says of its files, with file and line."""
        for name, text, words in (("etc/vgpu/vgpud.conf", "[agent]\nengine = kernel\nprot = 5\n", "vgpud.conf:3"),
                                  ("etc/vgpu/exports.d/gpu.conf", EXPORT + "profil = render\n", "gpu.conf:4")):
            self.plant({name: text})
            found = [finding for finding in self.doctor()[1]["findings"] if finding["name"] == "settings-mistake"]
            self.assertTrue(found)
            self.assertIn(words, found[0]["problem"])
            self.plant({name: HOST[name]})

    def test_device_mode(self):
        os.chmod(os.path.join(self.root, "dev/dri/renderD128"), 0)
        self.assertEqual(SILENT | {"export-device-mode"}, self.names())

    def test_qemu_old(self):
        self.plant(qemu(QEMU + WINDOW) | HOST_FAULTS["userfaultfd"][0] | {
            "var/lib/dpkg/status": "Package: a\nVersion: 12\n\nPackage: qemu-system-x86\nStatus: x\nVersion: 1:10.0.2+ds-2\n\nPackage: b\n"})
        self.assertIn("qemu-old", self.names())
        self.plant({"var/lib/dpkg/status": "Package: a\n\nPackage: qemu-system-x86\nVersion: 1:11.1.0-1\n"})
        self.assertNotIn("qemu-old", self.names())

    def test_no_module(self):
        """Without the module and a setting, user-space engines serve, which is no error."""
        self.plant({"etc/vgpu/vgpud.conf": "", "sys/module/vgpu_host": GONE, "usr/libexec/vgpu/vgpu-engine": "#!",
                    "usr/libexec/vgpu/vgpu-engine-shadow": "#!", "usr/libexec/vgpu/vgpu-keeper": "#!"})
        kinds = {finding["name"]: finding["kind"] for finding in self.doctor()[1]["findings"]}
        self.assertEqual("warning", kinds["module-not-loaded"])


class Use(Case):
    """How the command is used."""

    def text(self, *arguments):
        return subprocess.run([VGPUCTL, "doctor", "--root", self.root, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env=ENV)

    def test_empty(self):
        """An empty system is no host and no guest, and no error of the doctor."""
        status, answer = self.doctor()
        self.assertIn("not-set-up", {finding["name"] for finding in answer["findings"]})
        self.assertIn("kernel", {finding["name"] for finding in answer["unseen"]})
        self.assertTrue(answer["host"])
        self.assertFalse(answer["guest"])
        self.assertEqual(1, status)

    def test_names(self):
        """The manual page has all names of findings, and no other."""
        top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "userspace-lib")
        names = set()
        for path in glob.glob(os.path.join(top, "vgpuctl/doctor/*.c")):
            with open(path, encoding="utf-8") as source:
                text = source.read()
            for kind, name in re.findall(r'(?:found\(doctor, ([A-Z]+),|finding_add\([^"]*?,)\s*"([a-z0-9-]+)"', text):
                if kind not in ("PASSED", "UNSEEN"):
                    names.add(name)
            names.update(re.findall(r'\{ "[a-z ]+", \w+, "([a-z-]+)"', text))
        with open(os.path.join(top, "man/vgpuctl.1"), encoding="utf-8") as page:
            section = page.read().partition(".Sh FINDINGS")[2].partition(".El")[0]
        listed = re.findall(r"[a-z0-9-]+(?=[,.])", "".join(line for line in section.splitlines(True) if line[0] != "."))
        self.assertGreater(len(names), 80)
        self.assertEqual(sorted(names), sorted(listed))

    def test_side(self):
        _, answer = self.doctor("guest")
        self.assertEqual((False, True), (answer["host"], answer["guest"]))
        self.assertIn("vsock-device-missing", {finding["name"] for finding in answer["findings"]})
        self.assertEqual(2, self.text("both").returncode)
        self.assertEqual(2, self.text("host", "guest").returncode)

    def test_words(self):
        self.plant(GUEST)
        run = self.text()
        self.assertEqual((0, "0 errors, 0 warnings\n"), (run.returncode, run.stdout))
        self.assertIn("passed: host-connected (2:22586)", self.text("--verbose").stdout)
        self.plant({"sys/bus/virtio": GONE})
        run = self.text()
        self.assertEqual(1, run.returncode)
        self.assertRegex(run.stdout, r"\Aerror: vsock-device-missing: [^\n]+\n  do: [^\n]+\n1 error, 0 warnings\n\Z")

    def test_link(self):
        """A link of the system does not lead out of it, and a FIFO makes nobody wait."""
        self.plant(GUEST | {"sys/module/vgpu_guest/parameters/cid": "-> /../../../../etc/hostname"})
        os.unlink(os.path.join(self.root, "etc/group"))
        os.mkfifo(os.path.join(self.root, "etc/group"))
        self.assertEqual(set(), self.names())

    def test_control(self):
        """Bytes of a file do not reach the terminal."""
        self.plant(GUEST | {"sys/class/vgpu/vgpu0/state": "\033[2Jlost\n"})
        self.assertNotIn("\033", self.text().stdout)


if __name__ == "__main__":
    main("doctor_test")
