#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Takes the place of some programs in a rehearsal, and is called by their names. It reads /dev/zero,
which in a guest is the host's forwarded one.

    vecadd [--meet DIR COUNT] [--until DIR]
    spin DIR
    share DIR
    innocent DIR PERIOD_MS
    hoard DIR
"""

import glob
import os
import random
import signal
import sys
import time


def device():
    """Returns the path of the forwarded /dev/zero, or else of this machine's own."""
    for path in glob.glob("/sys/class/vgpu/*/name"):
        with open(path, encoding="ascii") as file:
            if file.read().strip() == "zero":
                return "/dev/" + path.split("/")[-2]
    return "/dev/zero"


def put_file(path, text):
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(path + ".new", path)


def read(fd):
    if os.read(fd, 64) != bytes(64):
        sys.exit("wrong")


def option(name, count):
    """Returns the arguments of an option, or None if it was not given."""
    if name not in sys.argv:
        return None
    at = sys.argv.index(name) + 1
    return sys.argv[at:at + count]


def share(fd, folder):
    rounds = 0
    while not os.path.exists(folder + "/stop"):
        if os.path.exists(folder + "/pause"):
            put_file(folder + "/paused", "")
            time.sleep(0.02)
            continue
        read(fd)
        rounds += 1
        put_file(folder + "/done", f"{rounds} {time.monotonic()}")
        time.sleep(0.02)
    print("right")


def innocent(folder, period):
    with open(folder + "/times", "w", encoding="ascii") as times:
        while not os.path.exists(folder + "/stop"):
            took = []
            for _ in range(3):
                start = time.monotonic()
                fd = os.open(device(), os.O_RDWR)
                read(fd)
                os.close(fd)
                took.append(int((time.monotonic() - start) * 1e6))
            print(f"{time.monotonic():.3f}", *took, 0, file=times, flush=True)
            time.sleep(period / 1000)
    print("right")


def hoard(folder):
    deaths = 0
    while not os.path.exists(folder + "/stop"):
        pid = os.fork()
        if not pid:
            files = []
            while True:
                files.append(os.open(device(), os.O_RDWR))
                read(files[-1])
        time.sleep(random.random() / 2)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        deaths += 1
        put_file(folder + "/done", f"{deaths} deaths")
    print("right")


def main():
    name = os.path.basename(sys.argv[0])
    if name == "innocent":
        innocent(sys.argv[1], int(sys.argv[2]))
        return
    if name == "hoard":
        hoard(sys.argv[1])
        return
    fd = os.open(device(), os.O_RDWR)
    read(fd)
    if name == "share":
        share(fd, sys.argv[1])
        return
    if name == "spin":
        put_file(sys.argv[1] + "/running", str(os.getpid()))
        for _ in range(1000):
            read(fd)
            time.sleep(0.1)
        return
    if meet := option("--meet", 2):
        put_file(f"{meet[0]}/{os.getpid()}.met", "")
        while len(glob.glob(meet[0] + "/*.met")) < int(meet[1]):
            time.sleep(0.02)
    rounds, until = 0, option("--until", 1)
    while until and not os.path.exists(until[0] + "/stop"):
        read(fd)
        rounds += 1
        put_file(until[0] + "/rounds", str(rounds))
        time.sleep(0.02)
    print("right")


if __name__ == "__main__":
    main()
