# SPDX-License-Identifier: GPL-2.0-only
"""Step without a guest: what becomes of a program whose channels are taken off the card, and let run
again, while it begins. Sharing a card depends on that."""

import os
import subprocess
import sys
import time

from machine import HERE, TOP, Failed, say

# Seconds for a program, which takes one or two if it works.
SECONDS = 12
# When channels are switched (switches.c), and whether the engine depends on that.
WAYS = (
    ({}, True),
    ({"AFTER": "-+"}, True),
    ({"AFTER": "-", "LATER": "+"}, True),
    ({"TURNS": "run"}, True),
    ({"TURNS": "run"}, True),
    ({"AFTER": "--", "LATER": "++"}, True),
    ({"AFTER": "+-", "LATER": "+"}, True),
    ({"AFTER": "--", "LATER": "+"}, False),
    ({"MADE": "+"}, False),
    ({"MADE": "-", "BEFORE": "+"}, False),
    ({"MADE": "-", "AFTER": "+"}, False),
    ({"MADE": "-", "AFTER": "-+"}, False),
    ({"MADE": "-", "AFTER": "-", "LATER": "+"}, False),
    ({"TURNS": "all"}, False),
)


def tried(run, way):
    """Runs a program; returns what it said, and whether it worked."""
    env = dict(os.environ, LD_PRELOAD=run.path("switches.so"), **way)
    name = " ".join(f"{when}={what}" for when, what in way.items()) or "never"
    begun = time.monotonic()
    try:
        done = subprocess.run([sys.executable, os.path.join(HERE, "cuda.py")], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=min(SECONDS, run.left(SECONDS)), check=False)
        said, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        said, status = error.stdout or b"", "no end"
    text = said.decode(errors="replace")
    lines = text.splitlines()
    good = not status and "right" in lines
    last = [line for line in lines if not line.startswith("switches:")][-1:]
    run.write("switches.txt", f"$ {name}\n{text}status {status}\n\n")
    return name, good, f"{name}: {'right' if good else f'{status}, after {last}'}, {time.monotonic() - begun:.1f} s"


def switches(run):
    """Runs a program in each way, and records which of them work."""
    built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", "-I",
                            os.path.join(TOP, "drivers/common"), "-o", run.path("switches.so"),
                            os.path.join(HERE, "switches.c"), "-pthread"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=run.left(60), check=False, text=True)
    if built.returncode:
        raise Failed(f"cc: {built.stdout.strip()[-300:]}")
    wrong, others = [], []
    # The driver begins anew with the card, which takes seconds, unless a file of the card is open.
    with open("/dev/nvidia0", "rb+", buffering=0):
        for way, needed in WAYS:
            name, good, words = tried(run, way)
            say(f"  {words}")
            run.measured.setdefault("switches", []).append(words)
            run.save()
            if not good:
                (wrong if needed else others).append(name)
    if wrong:
        raise Failed(f"no work is done with {', '.join(wrong)}")
    return f"{len(WAYS)} ways; no work is done with {', '.join(others) or 'none'}"
