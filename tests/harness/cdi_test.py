#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests the specification of CDI that vgpuctl cdi makes of a guest's files in sysfs. Prints TAP.

  cdi_test.py VGPUCTL

Each specification must also be one that readers of CDI accept."""

import glob
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

VGPUCTL = sys.argv[1]
HOST = "2:22586"
NVIDIA = "/dev/nvidia0 /dev/nvidia-uvm /dev/nvidiactl"


class Case(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        os.makedirs(self.root + "/sys/class/vgpu")

    def put(self, path, text):
        path = f"{self.root}/sys/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def link(self, path, target):
        os.makedirs(f"{self.root}/sys/{target}", exist_ok=True)
        os.symlink(f"/sys/{target}", f"{self.root}/sys/{path}")

    def device(self, path, name, major, minor):
        self.put(path + "/uevent", f"MAJOR={major}\nMINOR={minor}\nDEVNAME={name}")

    def export(self, number, name, path="/dev/null", host=HOST):
        """Makes an export without another node than /dev/vgpuN."""
        here = f"class/vgpu/vgpu{number}"
        self.put(here + "/name", name)
        self.put(here + "/host", host)
        self.put(here + "/path", path)
        self.device(here, f"vgpu{number}", 240, number)
        return here

    def drm(self, number, name, path, parent, host=HOST):
        """Makes an export of a DRM node; the nodes are drm_nodes()."""
        self.link(self.export(number, name, path, host) + "/drm", "devices/" + parent)

    def drm_nodes(self, parent, card, render):
        self.device(f"devices/{parent}/drm/card{card}", f"dri/card{card}", 226, card)
        if render:
            self.device(f"devices/{parent}/drm/renderD{render}", f"dri/renderD{render}", 226, render)

    def node(self, number, name, node, kind, parent, minor=0):
        """Makes an export with a node of another class."""
        place = f"devices/{parent}/{kind}/{os.path.basename(node)}"
        self.link(f"{self.export(number, name)}/{kind}", place)
        self.device(place, node, 195, minor)
        self.link(place + "/device", "devices/" + parent)

    def run_it(self, *arguments):
        return subprocess.run([VGPUCTL, "cdi", "--root", self.root, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def check(self, spec):
        """Checks what readers of CDI 0.6 demand. Returns the device files by the names of devices."""
        self.assertEqual({"cdiVersion", "kind", "devices"}, set(spec))
        self.assertRegex(spec["cdiVersion"], r"\A0\.[678]\.0\Z")
        self.assertRegex(spec["kind"], r"\A[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]/[A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9]\Z")
        self.assertTrue(spec["devices"])
        found = {}
        for device in spec["devices"]:
            self.assertEqual({"name", "containerEdits"}, set(device))
            self.assertRegex(device["name"], r"\A[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?\Z")
            self.assertNotIn(device["name"], found)
            self.assertEqual({"deviceNodes"}, set(device["containerEdits"]))
            nodes = device["containerEdits"]["deviceNodes"]
            self.assertTrue(nodes)
            for node in nodes:
                self.assertLessEqual(set(node), {"path", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"})
                self.assertEqual(("c", "rw"), (node["type"], node["permissions"]))
                self.assertTrue(node["path"].startswith("/dev/") and ".." not in node["path"])
                for key in ("major", "minor", "fileMode"):
                    self.assertIs(int, type(node[key]))
                self.assertLessEqual(node["fileMode"], 0o777)
            paths = [node["path"] for node in nodes]
            self.assertEqual(len(paths), len(set(paths)))
            found[device["name"]] = " ".join(sorted(paths))
        return found

    def spec(self):
        run = self.run_it()
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        return json.loads(run.stdout)

    def devices(self):
        return self.check(self.spec())


class Devices(Case):
    def test_card_and_render(self):
        """A number is the whole device, and a name is what was exported by that name."""
        self.drm(0, "gpu-card", "/dev/dri/card0", "pci0/8000:01:00.0")
        self.drm(1, "gpu", "/dev/dri/renderD128", "pci0/8000:01:00.0")
        self.drm_nodes("pci0/8000:01:00.0", 1, 129)
        both = "/dev/dri/card1 /dev/dri/renderD129"
        self.assertEqual({"0": both, "gpu-card": "/dev/dri/card1", "gpu": "/dev/dri/renderD129", "all": both}, self.devices())
        nodes = self.spec()["devices"][0]["containerEdits"]["deviceNodes"]
        self.assertEqual({("/dev/dri/card1", 226, 1, 0o660), ("/dev/dri/renderD129", 226, 129, 0o660)},
                         {(node["path"], node["major"], node["minor"], node["fileMode"]) for node in nodes})

    def test_render_alone(self):
        """The card node that DRM always makes is none of the device's."""
        self.drm(0, "gpu", "/dev/dri/by-path/pci-0000:01:00.0-render", "pci0/x")
        self.drm_nodes("pci0/x", 1, 129)
        self.assertEqual({"/dev/dri/renderD129"}, set(self.devices().values()))

    def test_card_by_path(self):
        self.drm(0, "gpu", "/dev/dri/by-path/pci-0000:01:00.0-card", "pci0/x")
        self.drm_nodes("pci0/x", 1, 129)
        self.assertEqual({"/dev/dri/card1"}, set(self.devices().values()))

    def test_two_devices(self):
        """Two devices have two numbers, whichever came first."""
        for order in ((0, 1, 2), (2, 0, 1)):
            with self.subTest(order):
                shutil.rmtree(self.root + "/sys")
                self.drm(order[0], "a", "/dev/dri/renderD128", "pci0/x")
                self.drm(order[1], "b", "/dev/dri/renderD129", "pci0/y")
                self.export(order[2], "mock", "/dev/vgpu-mock")
                self.drm_nodes("pci0/x", 1, 130)
                self.drm_nodes("pci0/y", 2, 131)
                found = self.devices()
                self.assertEqual(["0", "1", "2", "a", "b", "mock", "all"], list(found))
                self.assertEqual((found["a"], found["b"], found["mock"]), (found["0"], found["1"], found["2"]))
                self.assertEqual(("/dev/dri/renderD130", f"/dev/vgpu{order[2]}"), (found["a"], found["mock"]))

    def test_other_classes(self):
        """Files of one device go together: a camera and its media device."""
        self.node(0, "camera", "video0", "video4linux", "usb1")
        self.node(1, "media", "media0", "media", "usb1", 1)
        self.node(2, "sound", "snd/controlC31", "sound", "card31", 2)
        found = self.devices()
        self.assertEqual(("/dev/media0 /dev/video0", "/dev/snd/controlC31"), (found["0"], found["1"]))
        self.assertEqual(("/dev/video0", "/dev/snd/controlC31"), (found["camera"], found["sound"]))

    def nvidia(self):
        self.node(3, "nvidia0", "nvidia0", "nvidia", "pci0/x")
        self.node(4, "nvidia1", "nvidia1", "nvidia", "pci0/y", 1)
        self.node(5, "nvidiactl", "nvidiactl", "nvidia", "vgpu-drm.1", 255)
        self.node(6, "nvidia-uvm", "nvidia-uvm", "nvidia", "vgpu-drm.2", 0)

    def test_nvidia(self):
        """A card has the files that all cards share, too, and its DRM node."""
        self.nvidia()
        self.drm(7, "render", "/dev/dri/renderD128", "pci0/x")
        self.drm_nodes("pci0/x", 1, 129)
        found = self.devices()
        self.assertEqual(["0", "1", "nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl", "render", "all"], list(found))
        self.assertEqual("/dev/dri/renderD129 " + " ".join(sorted(NVIDIA.split())), found["0"])
        self.assertEqual(found["nvidia1"], found["1"])
        self.assertEqual(" ".join(sorted(NVIDIA.split())), found["nvidia0"])
        self.assertEqual("/dev/nvidiactl", found["nvidiactl"])
        self.assertEqual("/dev/dri/renderD129", found["render"])
        self.assertEqual(5, len(found["all"].split()))

    def test_nvidia_without_card(self):
        self.nvidia()
        for number in (3, 4):
            shutil.rmtree(f"{self.root}/sys/class/vgpu/vgpu{number}")
        self.assertEqual({"/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia-uvm /dev/nvidiactl"}, set(self.devices().values()))

    def test_incomplete(self):
        """An export that is just going away is left out."""
        self.export(0, "a")
        self.export(1, "b")
        os.unlink(self.root + "/sys/class/vgpu/vgpu1/uevent")
        self.export(2, "c")
        os.unlink(self.root + "/sys/class/vgpu/vgpu2/name")
        self.assertEqual(["0", "a", "all"], list(self.devices()))

    def test_outside(self):
        """A link of another system's image does not lead out of it."""
        self.export(0, "a")
        os.symlink("../../../../../../../../../../sys/class/mem/null", self.root + "/sys/class/vgpu/vgpu0/nvidia")
        self.assertEqual({"/dev/vgpu0"}, set(self.devices().values()))


class Names(Case):
    def names(self, *names):
        for number, name in enumerate(names):
            self.export(number, name)
        found = self.devices()
        return [name for name in found if name != "all" and not name.isdigit()]

    def test_plain(self):
        self.assertEqual(["a.b_c-1", "x"], self.names("x", "a.b_c-1"))

    def test_reserved(self):
        """A number and "all" would be taken for something else."""
        self.assertEqual(["export-0", "export-17", "export-all"], self.names("17", "0", "all"))

    def test_dots(self):
        self.assertEqual(["export-.x", "export-..x", "export-_x", "a-x"], self.names("..", ".", "_", "a-"))

    def test_bytes(self):
        """No byte of a host's name means something to a reader."""
        self.assertEqual(["a_b_c___d", "n__te"], self.names("a b/c\"\\\td", "n\u00fcte"))

    def test_longest(self):
        self.assertEqual(["n" * 63], self.names("n" * 255))
        self.assertEqual(["export-" + "9" * 63], self.names("9" * 255))

    def test_twice(self):
        """Two hosts may use one name: the one with the lower number keeps it."""
        self.export(0, "gpu", host="10:22586")
        self.export(1, "gpu", host="3:22586")
        self.export(2, "gpu-2", host="2:22586")
        found = self.devices()
        self.assertEqual(["0", "1", "2", "gpu-2", "gpu", "gpu-3", "all"], list(found))
        self.assertEqual(("/dev/vgpu1", "/dev/vgpu0"), (found["gpu"], found["gpu-3"]))


class Output(Case):
    def setUp(self):
        super().setUp()
        self.file = self.root + "/etc/cdi/vgpu.json"
        os.mkdir(self.root + "/etc")

    def read(self):
        with open(self.file, encoding="utf-8") as file:
            return self.check(json.load(file))

    def test_file(self):
        self.export(0, "a")
        run = self.run_it("--output", self.file)
        self.assertEqual((0, "", ""), (run.returncode, run.stdout, run.stderr))
        self.assertEqual(["0", "a", "all"], list(self.read()))
        self.assertEqual(0o644, stat.S_IMODE(os.stat(self.file).st_mode))
        with open(self.file, encoding="utf-8") as old:
            self.export(1, "b")
            self.assertEqual(0, self.run_it("--output", self.file).returncode)
            self.assertEqual(["0", "1", "a", "b", "all"], list(self.read()))
            # The reader of the old file has the old text.
            self.assertEqual(["0", "a", "all"], list(self.check(json.load(old))))
        self.assertEqual(["vgpu.json"], os.listdir(os.path.dirname(self.file)))

    def test_same(self):
        """The same devices give the same text."""
        for number in range(12):
            self.export(number, f"x{number}")
        self.assertEqual(self.run_it().stdout, self.run_it().stdout)
        self.assertEqual(f"x{11}", list(self.devices())[-2])

    def test_no_device(self):
        """The numbers of devices that are gone may become those of others."""
        self.export(0, "a")
        self.assertEqual(0, self.run_it("--output", self.file).returncode)
        shutil.rmtree(self.root + "/sys/class/vgpu/vgpu0")
        run = self.run_it("--output", self.file)
        self.assertEqual((11, ""), (run.returncode, run.stdout))
        self.assertIn("no device", run.stderr)
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual(11, self.run_it().returncode)

    def test_no_guest(self):
        shutil.rmtree(self.root + "/sys")
        os.mkdir(os.path.dirname(self.file))
        with open(self.file, "w", encoding="utf-8"):
            pass
        run = self.run_it("--output", self.file)
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertIn("modprobe vgpu_guest", run.stderr)
        self.assertFalse(os.path.exists(self.file))

    def test_failures(self):
        self.export(0, "a")
        self.assertEqual(5, self.run_it("--output", self.root + "/no/such/file").returncode)
        os.makedirs(self.file + "/x")
        self.assertEqual(1, self.run_it("--output", self.file).returncode)
        self.assertEqual([self.file], glob.glob(self.root + "/etc/cdi/*"))
        self.assertEqual(["vgpu.json"], os.listdir(self.root + "/etc/cdi"))
        self.assertEqual(2, self.run_it("all").returncode)

    def test_full(self):
        self.export(0, "a")
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([VGPUCTL, "cdi", "--root", self.root], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(1, run.returncode)
        self.assertTrue(re.search("No space left", run.stderr), run.stderr)


if __name__ == "__main__":
    main("cdi_test")
