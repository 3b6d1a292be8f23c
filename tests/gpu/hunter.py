# SPDX-License-Identifier: GPL-2.0-only
"""Step with a guest whose kernel is hostile (tests/mock/hunter.c). That kernel reads and writes all
that its window shows, while a program of the guest allocates and frees memory of the card.
Meanwhile programs of the host and of another guest use the card's memory, which the hostile
kernel must neither see nor change."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SECONDS = 60
# Marks in the words of the hostile guest, of two host programs, and of the other guest.
MARK, OTHER, CUDA, GUEST = 5, 3, 4, 6
# Exit status of tests/tools/hunter if its window showed nothing.
NOTHING = 3


class Seen(ValueError):
    """Memory of others was seen or changed, or the test could not find out."""


def build(run, name, *sources):
    """Builds one of tests/tools, in the folder that guests have as /run/kit."""
    built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-std=gnu11",
                            "-I", os.path.join(TOP, "userspace-lib"), "-I", os.path.join(TOP, "tests/mock"),
                            "-o", run.path(name), os.path.join(TOP, "tests/tools", name + ".c"), *sources],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=run.left(60),
                           check=False, text=True)
    if built.returncode:
        raise Seen(f"cc: {built.stdout.strip()[-300:]}")


def start(*command):
    """Starts a program on the host."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def step(run):
    """
    run: Steps of tests/gpu/run, whose guests run no other program
    Return: text about what was seen
    """
    build(run, "hunter")
    build(run, "nvidia_hunt", os.path.join(TOP, "userspace-lib/engine/memory/nvidia.c"))
    seconds = 5 if run.rehearse else SECONDS
    prey = "true" if run.rehearse else (f"setpriv --reuid 1000 --regid 1000 --clear-groups "
                                        f"/run/kit/nvidia_hunt {MARK} {seconds} blind")
    hunt = (f"({prey}) & pid=$!; /run/kit/hunter {seconds} {MARK}; status=$?; "
            "wait $pid || { echo \"its own program ended with $?\"; status=4; }; exit $status")
    other_guest = run.other_guest()
    neighbour = other_guest.begin("true" if run.rehearse else f"{run.enter}; ./nvidia_hunt {GUEST} {seconds}",
                                  run.left(4 * seconds))
    others = {} if run.rehearse else {
        "nvidia_hunt": start(run.path("nvidia_hunt"), str(OTHER), str(seconds)),
        "fill.py": start(sys.executable, os.path.join(HERE, "fill.py"), str(CUDA), str(seconds))}
    try:
        status, text = run.guest.agent.run("[ -e /dev/vgpu-hunter ] || insmod /hunter/vgpu_hunter.ko && "
                                 f"chroot /rw/root /bin/sh -c '{hunt}'", run.left(4 * seconds), "init")
        said = {name: other.communicate(timeout=run.left(2 * seconds))[0].strip() for name, other in others.items()}
        said["the other guest"] = neighbour.right(2 * seconds).strip()
    finally:
        for other in others.values():
            other.kill()
            other.wait()
    words = f"the guest's kernel: {text.strip()}"
    for name, saying in said.items():
        words += f"; {name}: {saying}"
        status = status or name in others and others[name].returncode
    run.write("hunter.txt", words.replace("; ", "\n") + "\n")
    if run.rehearse and status == NOTHING:
        return words
    if status:
        raise Seen(f"{words} (status {status})")
    return words
