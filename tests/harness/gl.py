# SPDX-License-Identifier: GPL-2.0-only
"""Programs that draw, run in a test VM on one of its nodes as an ordinary user."""

import base64
import os
import re

from vm import VmDied

TOOLS = "/usr/lib/vgpu-test/tools"
# Of the Vulkan drivers in a VM that of virtio-gpu, and OpenGL through it.
VENUS = "VK_DRIVER_FILES=/usr/share/vulkan/icd.d/virtio_icd.json"
ZINK = VENUS + " LIBGL_ALWAYS_SOFTWARE=1 MESA_LOADER_DRIVER_OVERRIDE=zink"


def as_user(command):
    """As an ordinary user, with no privileges."""
    quoted = command.replace("'", "'\\''")
    return f"setpriv --reuid=1000 --regid=1000 --init-groups --inh-caps=-all env HOME=/tmp sh -c '{quoted}'"


def kmscube(card, frames):
    """The command. kmscube stops when there is something to read, or the end of
    the file, at its standard input: a FIFO has neither."""
    return f"f=/tmp/quiet.$$; mkfifo $f && kmscube -D {card} -c {frames} 0<>$f; s=$?; rm $f; exit $s"


def frame_rate(lines):
    """What kmscube says at its end: frames, and how many a second; or None."""
    found = re.findall(r"Rendered (\d+) frames in [\d.]+ sec \(([\d.]+) fps\)", "\n".join(lines))
    return (int(found[-1][0]), float(found[-1][1])) if found else None


def compute(node, dispatches):
    return f"{TOOLS}/compute {node} {dispatches}"


def vulkan(node, dispatches):
    return f"{VENUS} {TOOLS}/vulkan {node} {dispatches}"


def dispatch_rate(lines):
    """What compute and vulkan say: dispatches a second, or None."""
    found = re.search(r"all right: ([\d.]+) per second", "\n".join(lines))
    return float(found[1]) if found else None


def render(node, folder):
    return f"mkdir -p {folder} && {TOOLS}/render {node} {folder}"


def fetch_folder(machine, folder, target):
    """Copies the files of a folder in a VM to one here: {name: bytes}."""
    files = {}
    result = machine.run(f"cd {folder} && for f in *; do echo \"file $f\"; base64 \"$f\"; done", 60)
    if result.status:
        raise VmDied(f"{machine.name}: {folder} cannot be read: {result.text}")
    parts = re.split(r"^file (.*)$", result.text, flags=re.MULTILINE)
    os.makedirs(target, exist_ok=True)
    for name, data in zip(parts[1::2], parts[2::2]):
        files[name] = base64.b64decode(data)
        with open(os.path.join(target, os.path.basename(name)), "wb") as file:
            file.write(files[name])
    return files
