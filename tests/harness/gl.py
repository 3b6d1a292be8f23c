# SPDX-License-Identifier: GPL-2.0-only
"""Commands of programs that draw, for an ordinary user of a test VM, and readers of their
output."""

import base64
import os
import re

from vm import VmDied

TOOLS = "/usr/lib/vgpu-test/tools"
# Environment that selects virtio-gpu's driver among the VM's Vulkan drivers (VENUS), and OpenGL
# through that driver (ZINK).
VENUS = "VK_DRIVER_FILES=/usr/share/vulkan/icd.d/virtio_icd.json"
ZINK = VENUS + " LIBGL_ALWAYS_SOFTWARE=1 MESA_LOADER_DRIVER_OVERRIDE=zink"


def as_user(command):
    """Returns a command that runs another one as an ordinary user without privileges."""
    quoted = command.replace("'", "'\\''")
    return f"setpriv --reuid=1000 --regid=1000 --init-groups --inh-caps=-all env HOME=/tmp sh -c '{quoted}'"


def kmscube(card, frames):
    """Returns a command for kmscube. It ends when its standard input has data or is at the end,
    so it gets a FIFO, which never is."""
    return f"f=/tmp/quiet.$$; mkfifo $f && kmscube -D {card} -c {frames} 0<>$f; s=$?; rm $f; exit $s"


def frame_rate(lines):
    """Returns the frames, and frames in a second, that kmscube has printed; or None."""
    found = re.findall(r"Rendered (\d+) frames in [\d.]+ sec \(([\d.]+) fps\)", "\n".join(lines))
    return (int(found[-1][0]), float(found[-1][1])) if found else None


def compute(node, dispatches):
    return f"{TOOLS}/compute {node} {dispatches}"


def vulkan(node, dispatches):
    return f"{VENUS} {TOOLS}/vulkan {node} {dispatches}"


def dispatch_rate(lines):
    """Returns the dispatches in a second that compute or vulkan has printed; or None."""
    found = re.search(r"all right: ([\d.]+) per second", "\n".join(lines))
    return float(found[1]) if found else None


def render(node, folder):
    return f"mkdir -p {folder} && {TOOLS}/render {node} {folder}"


def fetch_folder(machine, folder, target):
    """Copies the files of a folder in a VM to the folder target; returns {name: bytes}."""
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
