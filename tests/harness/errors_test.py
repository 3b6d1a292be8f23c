#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that each failure which a person can cause is reported with its cause and its remedy.
Prints TAP.

  errors_test.py OUT     OUT is the folder in which userspace-lib was built; runs as root, in a mount
                         namespace of its own, where it covers /run, /etc/group and /etc/vgpu

The tables below have a line for each failure: what the person did, the command, its exit status, and
patterns for the cause and for the remedy. The programs are the real ones; only the agents of another
version are played. vgpud runs with user-space engines, since a module needs a machine of its own:
tests/selftests/tool_*.c have the failures that need one. Each failure of vgpuctl is caused a second
time with --json, and has to have the same words there."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

OUT = sys.argv[1]
DIR = tempfile.mkdtemp()
LIBEXEC = DIR + "/libexec"
SOCKET = "/run/vgpu/vgpud.sock"
ENV = os.environ | {"PATH": f"{OUT}/vgpuctl:{OUT}/vgpud:{LIBEXEC}:{os.environ['PATH']}"}
SECONDS = 60
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups "
LONG = "/" + 80 * "x"
# What vgpud says where the kernel, or a container, does not let engines run.
CANNOT = "user-space engines cannot"
GROUP = "root:x:0:\nvgpu:x:990:\n"

CONF = f"""[agent]
engine = user
vsock = no
exports-dir = {DIR}/exports.d
guests-dir = {DIR}/guests.d
[sockets]
3 = {DIR}/guest3.sock
[shadow]
cgroups = no
program = {LIBEXEC}/vgpu-shadow
[limits]
objects = 256
pages = 512
"""

# Failures without vgpud and without a module.
ALONE = (
    ("no command", "vgpuctl", 2, "command is missing", "vgpuctl help"),
    ("an option alone", "vgpuctl --force", 2, "command is missing", "vgpuctl help"),
    ("an unknown command", "vgpuctl frobnicate", 2, "no command frobnicate", "vgpuctl help"),
    ("a mistyped command", "vgpuctl exprot /dev/null --to 3", 2, "no command exprot", "did you mean export"),
    ("an abbreviated command", "vgpuctl stat", 2, "no command stat", "did you mean status"),
    ("help for no command", "vgpuctl help exports", 2, "no command exports", "did you mean export"),
    ("an unknown option", "vgpuctl list --frobnicate", 2, "no option --frobnicate", "--help"),
    ("a mistyped option", "vgpuctl export /dev/null --ot 3", 2, "no option --ot", "did you mean --to"),
    ("an abbreviated option", "vgpuctl unexport a --forc", 2, "no option --forc", "did you mean --force"),
    ("an abbreviation of --json", "vgpuctl list --js", 2, "no option --js", "--help"),
    ("an unknown letter", "vgpuctl list -j", 2, "no option -j", "--help"),
    ("an option without its value", "vgpuctl export /dev/null --to", 2, "--to needs a value", "--to GUEST"),
    ("an empty value", "vgpuctl export /dev/null --to=", 2, "--to has an empty value", "--to GUEST"),
    ("an empty socket", "vgpuctl --socket '' list", 2, "--socket has an empty value", "--socket PATH"),
    ("a value that is none", "vgpuctl list --json=yes", 2, "--json takes no value", "leave out"),
    ("an option twice", "vgpuctl export /dev/null --to 3 --name a --name b", 2, "given twice", "give this option once"),
    ("an option of another command", "vgpuctl list --force", 2, "list has no option --force", "vgpuctl help list"),
    ("an argument too many", "vgpuctl status now", 2, "too many arguments", "leave now out"),
    ("two paths", "vgpuctl export /dev/null /dev/zero --to 3", 2, "too many arguments", "leave /dev/zero out"),
    ("no path", "vgpuctl export --to 3", 2, "needs the PATH of a device file", "vgpuctl help export"),
    ("no name", "vgpuctl unexport", 2, "needs the NAME of an export", "vgpuctl help unexport"),
    ("no guest", "vgpuctl export /dev/null", 2, "needs --to", "--to 3"),
    ("guest 0", "vgpuctl export /dev/null --to 0", 2, "'0' is no guest", "number from 1"),
    ("a guest with a sign", "vgpuctl export /dev/null --to -1", 2, "'-1' is no guest", "number from 1"),
    ("a guest that is too big", "vgpuctl limit 4294967295", 2, "is no guest", "from 1 to 4294967294"),
    ("a wrong port", "vgpuctl export /dev/null --to 3:x", 2, "'3:x' is no guest", "3:22590"),
    ("a guest with a blank", "vgpuctl limit 'my guest'", 2, "'my guest' is no guest", "guest's name"),
    ("an octal number", "vgpuctl limit 010", 2, "'010' is no guest", "context id"),
    ("a relative path of nothing", "vgpuctl export renderD128 --to 3", 5, "renderD128: No such file", "give the path of a device"),
    ("an empty path", "vgpuctl export '' --to 3", 5, "No such file", "give the path of a device"),
    ("a card that is no number", "vgpuctl export --nvidia x --to 3", 2, "--nvidia x", "give the number N of a card"),
    ("a card with a name", "vgpuctl export --nvidia 0 --to 3 --name a", 2, "--nvidia can be combined only", "with --to and --any-port"),
    ("no limit's value", "vgpuctl limit 3 sessions", 2, "limit: sessions", "KEY=VALUE, such as sessions=32"),
    ("no limit's name", "vgpuctl limit 3 =4", 2, "limit: =4", "KEY=VALUE, such as sessions=32"),
    ("nothing to save", "vgpuctl limit 3 --save", 2, "--save needs KEY=VALUE", "such as sessions=32"),
    ("limits of nobody", "vgpuctl limit", 2, "limit needs a GUEST", "vgpuctl help limit"),
    ("no command for windows", "vgpuctl window", 2, "window needs a command", "create, destroy, drain, fill, list or qemu-args"),
    ("a wrong command for windows", "vgpuctl window open --to 3", 2, "no command open", "use create, drain"),
    ("a window without a size", "vgpuctl window create --to 3", 2, "needs --size", "vgpuctl help window"),
    ("a window of nobody", "vgpuctl window destroy", 2, "needs --to", "vgpuctl help window"),
    ("windows for two", "vgpuctl window drain --to 3 --to 4", 2, "for one guest", "give --to once"),
    ("an option of another window's command", "vgpuctl window list --to 3", 2, "has no --to", "vgpuctl help window"),
    ("a size with a wrong letter", "vgpuctl window create --to 3 --size 4X", 2, "--size 4X", "with K, M, G or T"),
    ("size 0", "vgpuctl window create --to 3 --size 0", 2, "--size 0", "number of bytes"),
    ("a trace into no directory", "vgpuctl trace -o /nonexistent/a", 5, "/nonexistent/a: No such file", "another file with --output"),
    ("neither host nor guest", "vgpuctl doctor both", 2, "no 'both'", "'host' or 'guest'"),
    ("a system that is not there", "vgpuctl doctor --root /nonexistent", 5, "/nonexistent: No such file", "give the root directory"),
    ("a system that is a file", "vgpuctl doctor --root /etc/passwd", 1, "Not a directory", "give the root directory"),
    ("a bench on no guest", "vgpuctl bench", 3, "this machine is none", "run it in a guest, or .modprobe vgpu_guest"),
    ("no time for a bench", "vgpuctl bench --seconds 0", 2, "--seconds 0", "number from 1 to 3600"),
    ("a shell that is not known", "vgpuctl completion tcsh", 2, "no completion for tcsh", "use bash, zsh, fish"),
    ("limits of nobody for a shell", "vgpuctl completion limits", 2, "needs one GUEST", "vgpuctl help completion"),
    ("no vgpud", "vgpuctl reload", 3, "vgpud does not run", "systemctl start vgpud"),
    ("no vgpud for a name", "vgpuctl export /dev/null --to web", 3, "vgpud does not run", "systemctl start vgpud"),
    ("no vgpud and no module", "vgpuctl list", 3, "neither a host .* nor a guest", "systemctl start vgpud.*modprobe vgpu_guest"),
    ("no vgpud and no module for status", "vgpuctl status", 3, "neither a host .* nor a guest", "modprobe vgpu_guest"),
    ("a socket that is not there", "vgpuctl --socket /nonexistent list", 3, "does not run on this machine \\(/nonexistent", "systemctl start"),
    ("a file as the socket", "vgpuctl --socket /etc/passwd list", 2, "/etc/passwd is no socket", "leave --socket out"),
    ("a long socket", f"vgpuctl --socket {LONG}{LONG} list", 2, "more than 107 characters", "give a shorter one"),
    ("a full disk", "vgpuctl help >/dev/full", 1, "could not be written: No space left", "make room"),
    ("a full disk for a script", "vgpuctl completion bash >/dev/full", 1, "No space left", "make room"),
    ("a shadow by hand", "vgpu-shadow", 2, "only vgpud starts this", "systemctl start vgpud"),
    ("a shadow of an engine by hand", "vgpu-engine-shadow", 2, "only vgpud starts this", "systemctl start vgpud"),
    ("an engine by hand", "vgpu-engine", 1, "only vgpud starts this", "systemctl start vgpud"),
    ("a keeper by hand", "vgpu-keeper", 2, "only vgpud starts this", "systemctl start vgpud"),
    ("a master by hand", "vgpu-engine-master", 2, "only vgpud starts this", "systemctl start vgpud"),
    ("an unknown option of vgpud", "vgpud --frobnicate", 2, "--frobnicate", "usage: vgpud"),
    ("an abbreviated option of vgpud", "vgpud --che", 2, "no option --che", "usage: vgpud"),
    ("an argument of vgpud", "vgpud start", 2, "no argument", "leave start out"),
    ("an option of vgpud without its value", "vgpud --config", 2, "requires an argument", "usage: vgpud"),
    ("settings that are not there", "vgpud --check --config /nonexistent", 3, "/nonexistent: cannot be read: No such", "another file with --config"),
    ("settings that are a directory", "vgpud --check --config /tmp", 3, "Is a directory", "another file with --config"),
    ("the host module that is not loaded", "vgpud --config {kernel}", 4, "/dev/vgpu-host does not exist", "modprobe vgpu_host"),
    ("programs that are not there", "vgpud --config {good} --shadow /nonexistent/vgpu-shadow", 4, "vgpu-keeper: No such file", "install vgpu again"),
)

# Failures that vgpud finds when its engines can run.
START = (
    ("a control socket in no directory", "vgpud --config {good} --socket /nonexistent/s", 3, "control socket /nonexistent/s: No such", "--socket"),
    ("a long control socket", f"vgpud --config {{good}} --socket {LONG}{LONG}", 3, "File name too long", "another path with --socket"),
)

# Failures of users who have no rights and no vgpud.
NO_RIGHTS = (
    ("vgpud without root", NOBODY + "vgpud --config {good}", 4, "only root may run vgpud", "start vgpud as root"),
    ("settings that only root may read", NOBODY + "vgpud --check --config {secret}", 3, "Permission denied", "run vgpud as root"),
)

# Failures that vgpud --check finds in vgpud.conf, after the lines of CONF.
SETTINGS = (
    ("a number out of range", "[agent]\nport = 0\n", "port: '0'", "number from 1 to 4294967294"),
    ("a mistyped setting", "[agent]\nprot = 3\n", "no setting of that name", "did you mean 'port'"),
    ("a mistyped section", "[agnt]\nport = 3\n", "no section \\[agnt\\]", "did you mean \\[agent\\]"),
    ("a mistyped limit", "[limits]\nsession = 3\n", "no setting of that name", "did you mean 'sessions'"),
    ("an unknown setting", "[agent]\nfrobnicate = 3\n", "no setting of that name", "vgpud\\(8\\) has all"),
    ("a setting twice", "[agent]\nvsock = no\n", "vsock: this setting is given twice", "remove one"),
    ("a limit twice", "[limits]\npages = 5\n", "pages: this setting is given twice", "remove one"),
    ("neither yes nor no", "[agent]\nlasting = maybe\n", "'maybe' is neither", "yes nor no"),
    ("no value", "[agent]\nport\n", ":15: not understood", "name = value"),
    ("half a section", "[agent\n", ":14: not understood", "\\[name\\] on a line"),
    ("a size that is none", "[limits]\nmapped-bytes = 4X\n", "'4X' is not a number", "K, M, G or T may follow"),
    ("memory without control groups", "[limits]\nmemory = 1G\n", "'memory' needs control groups", "remove 'cgroups = no'"),
    ("a socket of a name", "[sockets]\nweb = /run/x\n", "'web' is not the context id", "a number such as 3"),
    ("a relative socket", "[sockets]\n4 = x\n", "4: 'x'", "give an absolute path"),
    ("a socket's owner that is not there", "[sockets]\nowner = nosuch\n", "no user 'nosuch'", "the name or the UID"),
    ("a setting that is gone", "[shadow]\nseccomp = no\n", "setting is gone", "remove the line"),
    ("a group that is not there", "[agent]\ncontrol-group = nosuch\n", "no such group in /etc/group", "give its ID"),
    ("a guest without its id", "[guest web]\n", "\\[guest web\\]: needs", "cid="),
    ("a guest's id that is none", "[guest web]\ncid = x\n", "'x' is not a guest", "such as 3"),
    ("a guest whose name is a number", "[guest 3]\ncid = 3\n", "is no number", "1 to 31 characters of"),
    ("a guest twice", "[guest web]\ncid = 3\n[guest web]\ncid = 4\n", "has a section at .*:14 already", "give another name"),
    ("a guest's mistyped limit", "[guest web]\ncid = 3\nsesions = 1\n", "no setting of that name", "did you mean 'sessions'"),
)

EXPORT = "[a]\npath = /dev/null\nto = 3\n"
# Failures that vgpud --check finds in a file of exports.d.
EXPORTS = (
    ("no device", "[a]\nto = 3\n", "\\[a\\]: needs", "path= or nvidia="),
    ("no guest", "[a]\npath = /dev/null\n", "\\[a\\]: needs", "and to="),
    ("a mistyped setting", EXPORT + "maser = yes\n", "maser: there is no such setting", "did you mean 'master'"),
    ("an unknown setting", EXPORT + "frobnicate = yes\n", "no such setting", "vgpu-exports\\(5\\) has all"),
    ("a setting twice", EXPORT + "path = /dev/zero\n", "path: this setting is given twice", "remove one"),
    ("neither yes nor no", EXPORT + "master = perhaps\n", "'perhaps' is neither", "yes nor no"),
    ("an unknown profile", EXPORT + "profile = fast\n", "'fast' is not a profile", "give render, display, compute or all"),
    ("all profiles and another", EXPORT + "profile = all,render\n", "'all' cannot be combined", "with other profiles"),
    ("a profile for no known driver", EXPORT + "profile = render\n", "ioctls of /dev/null.* are not known", "allow-ioctls="),
    ("a name with a blank", "[a b]\npath = /dev/null\nto = 3\n", "\\[a b\\]: a name has", "1 to 31 characters of A-Z"),
    ("a name twice", EXPORT + EXPORT, "name is taken by .*:1", "give another name"),
    ("a small window", EXPORT + "window = 5\n", "window: '5'", "power of two from 8 KiB"),
    ("a window of no power of two", EXPORT + "window = 3G\n", "power of two, as PCI", "such as 4G"),
    ("a window's size that is none", EXPORT + "window = 4X\n", "'4X' is not a size", "with K, M, G or T"),
    ("a window's user without a window", EXPORT + "window-user = root\n", "window-user= needs", "window="),
    ("two windows of a guest", EXPORT + "window = 4G\n[b]\npath = /dev/zero\nto = 3\nwindow = 8G\n", "different window", "by \\[a\\] of"),
    ("a relative path", "[a]\npath = null\nto = 3\n", "'null'", "give an absolute path"),
    ("a file that is no device", "[a]\npath = /etc/passwd\nto = 3\n", "not a character device", "give a device file"),
    ("a long path", f"[a]\npath = {LONG}\nto = 3\n", "up to 63 bytes", "symbolic link"),
    ("an unknown guest", "[a]\npath = /dev/null\nto = web\n", "'web' is not a guest", "section \\[guest NAME\\]"),
    ("no ioctls", EXPORT + "allow-ioctls =\n", "list is empty", "remove the line"),
    ("an unknown ioctl", EXPORT + "allow-ioctls = frob\n", "'frob' is neither", "vgpu-exports\\(5\\)"),
    ("lists of both kinds", EXPORT + "allow-ioctls = 1\ndeny-ioctls = 2\n", "list of the other kind", "use either"),
    ("an audit of nothing", EXPORT + "audit = yes\n", "audit means nothing", "give one as well"),
    ("an audit of reading", EXPORT + "allow-ioctls = 1\naudit = yes\nread-only = yes\n", "audit cannot be combined", "remove one"),
    ("a card that is no number", "[a]\nnvidia = x\nto = 3\n", "'x' is not the number", "N of /dev/nvidiaN"),
    ("a card and a path", "[a]\nnvidia = 0\npath = /dev/null\nto = 3\n", "nvidia= can be combined only", "with to=, any-port="),
    ("no section", "path = /dev/null\n", "in no section", "put a line \\[section\\] above"),
    ("no value", EXPORT + "demand\n", ":4: \\[a\\]: not understood", "name = value"),
)

# Failures that vgpud --check finds in a file of guests.d.
GUESTS = (
    ("an export among guests", "[export a]\n", "only sections", "\\[guest NAME\\] may be here"),
    ("a guest without its id", "[guest web]\n", "needs", "cid="),
    ("a guest without a name", "[guest]\ncid = 3\n", "a guest's name has", "1 to 31 characters"),
    ("two names of a guest", "[guest web]\ncid = 3\n[guest db]\ncid = 3\n", "is taken by \\[guest web\\]", ":1"),
    ("a limit that is none", "[guest web]\ncid = 3\nsessions = x\n", "'x' is not a number", "from 1 to"),
    ("a mistyped limit", "[guest web]\ncid = 3\nlane = 4\n", "no setting of that name", "did you mean 'lanes'"),
    ("no value", "[guest web]\ncid 3\n", "not understood", "name = value"),
)

# Failures with vgpud, which exports /dev/null as "null" to guest 3; that guest has a window.
AGENT = (
    ("a device that is not there", "vgpuctl export /dev/nosuch --to 3", 5, "/dev/nosuch: No such file", "driver loaded"),
    ("a file that is no device", "vgpuctl export /etc/passwd --to 3", 7, "not a character device", "give a device file"),
    ("a directory", "vgpuctl export /dev --to 3", 7, "not a character device", "such as /dev/dri"),
    ("a relative file that is no device", "cd /etc; vgpuctl export passwd --to 3", 7, "/etc/passwd is not a character", "such as /dev/dri"),
    ("a long path", f"vgpuctl export {LONG} --to 3", 2, "path is too long", "symbolic link"),
    ("a name with a blank", "vgpuctl export /dev/zero --to 3 --name 'a b'", 2, "'a b' is not a valid name", "use 1 to 31 characters"),
    ("a long name", "vgpuctl export /dev/zero --to 3 --name " + 40 * "a", 2, "a name has", "1 to 31 characters of"),
    ("a name that is taken", "vgpuctl export /dev/zero --to 3 --name null", 6, "null is taken by /dev/null", "another name with --name"),
    ("other options", "vgpuctl export /dev/null --to 3 --read-only", 6, "with other options", "unexport the name first"),
    ("an unknown profile", "vgpuctl export /dev/zero --to 3 --profile fast", 2, "'fast' is not a profile", "give render, display, compute or all"),
    ("a profile for no known driver", "vgpuctl export /dev/zero --to 3 --profile render", 1, "are not known", "allow-ioctls="),
    ("an audit of nothing", "vgpuctl export /dev/zero --to 3 --audit", 2, "audit means nothing", "give one as well"),
    ("an unknown guest", "vgpuctl export /dev/zero --to web", 5, "no guest 'web'", "section \\[guest NAME\\]"),
    ("a card that is not there", "vgpuctl export --nvidia 7 --to 3", 5, "(has no card|/dev/nvidia7)", "driver"),
    ("an export that is not there", "vgpuctl unexport nosuch", 5, "no export nosuch", "vgpuctl list"),
    ("an export of another guest", "vgpuctl unexport null --to 4", 5, "not exported to guest 4", "vgpuctl list"),
    ("a card that is not exported", "vgpuctl unexport --nvidia 3", 5, "no such card", "vgpuctl list"),
    ("limits of an unknown guest", "vgpuctl limit web", 5, "no guest 'web'", "section \\[guest NAME\\]"),
    ("a mistyped limit", "vgpuctl limit 3 sesions=4", 2, "no such limit", "did you mean 'sessions'"),
    ("an unknown limit", "vgpuctl limit 3 frobnicate=4", 2, "no such limit", "vgpud\\(8\\) has all"),
    ("a limit that is no number", "vgpuctl limit 3 sessions=x", 2, "'x' is not a number", "from 1 to"),
    ("a limit out of range", "vgpuctl limit 3 sessions=0", 2, "'0' is not a number", "from 1 to"),
    ("limits of a guest without a name", "vgpuctl limit 3 sessions=4 --save", 2, "guest with a name", "give it a section"),
    ("a limit without effect", "vgpuctl limit 3 memory=1G", 0, "memory: has no effect", "'cgroups' in \\[shadow\\]"),
    ("nothing of that name", "vgpuctl show nosuch", 5, "no export, guest or device called nosuch", "vgpuctl list"),
    ("a frozen guest without a name", "vgpuctl freeze web", 5, "no guest 'web'", "section \\[guest NAME\\]"),
    ("a guest that is not connected", "vgpuctl evict 3", 5, "guest 3:22586 is not connected", "vgpuctl status"),
    ("an unknown guest that is evicted", "vgpuctl evict web", 5, "no guest 'web'", "section \\[guest NAME\\]"),
    ("a small window", "vgpuctl window create --to 4 --size 5", 2, "size of a window", "from 8 KiB to 1 TiB"),
    ("a huge window", "vgpuctl window create --to 4 --size 9T", 2, "size of a window", "from 8 KiB to 1 TiB"),
    ("a window's owner who is not there", "vgpuctl window create --to 4 --size 4G --owner nosuch", 5, "no user 'nosuch'", "give"),
    ("a second window", "vgpuctl window create --to 3 --size 4G", 6, "already has a window", "vgpuctl window destroy"),
    ("a window that cannot be drained", "vgpuctl window drain --to 3", 1, "cannot be drained", "end the guest's programs"),
    ("a window that is not there", "vgpuctl window destroy --to 4", 5, "has no window", "vgpuctl window list"),
    ("drained without a window", "vgpuctl window drain --to 4", 5, "has no window", "vgpuctl window list"),
    ("arguments for no window", "vgpuctl window qemu-args --to 4", 5, "has no window", "vgpuctl window create"),
    ("a column that is none", "vgpuctl top --batch --sort name", 2, "--sort name", "give one of calls"),
    ("a second vgpud", "vgpud --config {good} --socket /run/second", 4, "another vgpud is running", "systemctl stop vgpud"),
    ("a full disk", "vgpuctl status >/dev/full", 1, "could not be written: No space left", "make room"),
)

# Failures of a user who may not change anything.
DENIED = (
    ("an export", "vgpuctl export /dev/zero --to 3"),
    ("the end of an export", "vgpuctl unexport null"),
    ("limits", "vgpuctl limit 3"),
    ("a limit", "vgpuctl limit 3 sessions=4"),
    ("a reload", "vgpuctl reload"),
    ("a comparison", "vgpuctl diff"),
    ("a window", "vgpuctl window create --to 4 --size 4G"),
    ("a frozen guest", "vgpuctl freeze 3"),
    ("an evicted guest", "vgpuctl evict 3"),
    ("a guest's name", "vgpuctl export /dev/zero --to web"),
)

# Answers of agents of other versions.
PLAYED = (
    ("an agent that ends", b"", "closed the connection", "journalctl -u vgpud"),
    ("an agent that answers other words", b"frobnicate\n", "answer of vgpud is malformed", "same version"),
    ("an agent that answers another object", b"{}\n", "answer of vgpud is malformed", "same version"),
    ("an error without words", b'{"ok":false,"errno":12}\n', "answer of vgpud is malformed", "same version"),
)


def write(name, text):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return name


def shell(command):
    return subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=SECONDS, env=ENV, check=False)


def setUpModule():
    for folder in ("/run", "/etc/vgpu"):
        if os.path.isdir(folder):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    write(DIR + "/group", GROUP)
    subprocess.run(["mount", "--bind", DIR + "/group", "/etc/group"], check=True)
    os.chmod(DIR, 0o755)
    os.makedirs(LIBEXEC)
    for program in ("shadow/vgpu-shadow", "engine/vgpu-engine", "engine/keeper/vgpu-keeper", "engine/shadow/vgpu-engine-shadow",
                    "engine/master/vgpu-engine-master"):
        shutil.copy2(f"{OUT}/{program}", LIBEXEC)


def tearDownModule():
    subprocess.run(["umount", "/etc/group"], check=True)
    shutil.rmtree(DIR)


class Case(unittest.TestCase):
    def setUp(self):
        for folder in ("exports.d", "guests.d"):
            shutil.rmtree(f"{DIR}/{folder}", ignore_errors=True)
            os.makedirs(f"{DIR}/{folder}")
        self.good = write(DIR + "/vgpud.conf", CONF)

    def expect(self, deed, run, status, *patterns):
        """Checks an exit status, and that the program says cause and remedy."""
        said = run.stdout + run.stderr
        self.assertEqual(status, run.returncode, f"{deed}: {said}")
        for pattern in patterns:
            self.assertRegex(said, pattern, deed)

    def expect_failures(self, rows, before=""):
        for deed, command, status, *patterns in rows:
            command = before + command.format(good=self.good, kernel=DIR + "/kernel.conf", secret=DIR + "/secret.conf")
            with self.subTest(deed):
                run = shell(command)
                self.expect(deed, run, status, *patterns)
                # Completions are text for shells and never JSON.
                if "vgpuctl " not in command or "completion" in command or not status:
                    continue
                words = [line for line in run.stderr.split("\n") if line.startswith("vgpuctl: ")][-1].removeprefix("vgpuctl: ")
                run = shell(command.replace("vgpuctl ", "vgpuctl --json ", 1))
                answer = json.loads(run.stderr)
                self.assertEqual([1, status], [answer["schema"], answer["error"]["status"]])
                # Of several lines, such as a list of mistakes, the first one is enough.
                self.assertIn(answer["error"]["message"].split("\n")[0], words)

    def may_become_nobody(self):
        if shell(NOBODY + "true").returncode:
            self.skipTest("this user namespace has no other users")


class Files(Case):
    def test_alone(self):
        """Failures without vgpud and without a module."""
        write(DIR + "/kernel.conf", "[agent]\nengine = kernel\n")
        self.expect_failures(ALONE)

    def test_start(self):
        """Failures of vgpud's start."""
        said = shell(f"vgpud --config {self.good} --socket /nonexistent/s").stderr
        if CANNOT in said:
            self.skipTest(said.strip())
        self.expect_failures(START)

    def test_no_rights(self):
        """Failures of users without rights."""
        self.may_become_nobody()
        os.chmod(write(DIR + "/secret.conf", CONF), 0o600)
        self.expect_failures(NO_RIGHTS)
        write(DIR + "/exports.d/a.conf", EXPORT)
        os.chmod(DIR + "/exports.d/a.conf", 0)
        self.expect("a file that only root may read", shell(f"{NOBODY} vgpud --check --config {self.good}"), 3,
                    "a.conf: Permission denied", "give it to root, with mode 0644")

    def check(self, deed, *patterns):
        self.expect(deed, shell(f"vgpud --check --config {self.good}"), 3, *patterns)

    def test_settings(self):
        """Mistakes in vgpud.conf."""
        for deed, text, *patterns in SETTINGS:
            with self.subTest(deed):
                write(self.good, CONF + text)
                self.check(deed, *patterns)
        with self.subTest("an unknown engine"):
            write(self.good, CONF.replace("= user", "= xen"))
            self.check("an unknown engine", "'engine = user'", "\\[sockets\\] needs")
            write(self.good, "[agent]\nengine = xen\n")
            self.expect("an unknown engine", shell(f"vgpud --config {self.good}"), 3, "engine = xen", "give kernel or user")

    def test_exports(self):
        """Mistakes in files of exports.d."""
        for deed, text, *patterns in EXPORTS:
            with self.subTest(deed):
                write(DIR + "/exports.d/a.conf", text)
                self.check(deed, *patterns)

    def test_guests(self):
        """Mistakes in files of guests.d."""
        for deed, text, *patterns in GUESTS:
            with self.subTest(deed):
                write(DIR + "/guests.d/a.conf", text)
                self.check(deed, *patterns)

    def test_directory(self):
        """A directory of exports that is not there is no mistake, but it is said."""
        self.expect("no directory of exports", shell(f"vgpud --check --config {self.good} --exports-dir /nonexistent"), 0,
                    "/nonexistent: No such file", "make this directory")

    def play(self, answer):
        """Plays an agent that gives an answer to one request."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(DIR + "/played")
        listener.listen()
        listener.settimeout(SECONDS)

        def serve():
            client = listener.accept()[0]
            client.recv(65536)
            client.sendall(answer)
            client.close()

        thread = threading.Thread(target=serve)
        thread.start()

        def end():
            thread.join()
            listener.close()
            os.unlink(DIR + "/played")
        return end

    def test_versions(self):
        """Agents of other versions."""
        for deed, answer, *patterns in PLAYED:
            for command in ("list", "reload", "export /dev/null --to 3", "limit 3", "window list"):
                with self.subTest(f"{deed}, {command}"):
                    end = self.play(answer)
                    run = shell(f"vgpuctl --socket {DIR}/played {command}")
                    end()
                    self.expect(deed, run, 1, *patterns)


class Agent(Case):
    def setUp(self):
        super().setUp()
        # vgpud gives its socket to a group.
        self.may_become_nobody()
        self.log = open(DIR + "/log", "w+", encoding="utf-8")
        self.agent = subprocess.Popen([OUT + "/vgpud/vgpud", "--config", self.good], stderr=self.log, env=ENV)
        self.addCleanup(self.end)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self.agent.poll() is None and shell("vgpuctl list").returncode:
            time.sleep(0.02)
        if self.agent.poll() is not None:
            self.log.seek(0)
            said = self.log.read()
            if CANNOT in said:
                self.skipTest(said.strip())
            self.fail(said)
        self.assertEqual(0, shell("vgpuctl export /dev/null --to 3").returncode)

    def end(self):
        self.agent.terminate()
        self.agent.wait(SECONDS)
        self.log.close()

    def test_failures(self):
        """Failures that vgpud reports."""
        self.assertEqual(0, shell("vgpuctl window create --to 3 --size 4G").returncode)
        self.expect_failures(AGENT)

    def test_show(self):
        """One export, or one guest, is shown alone."""
        for command in ("export /dev/zero --to 4", "window create --to 3 --size 4G", "window create --to 4 --size 4G"):
            self.assertEqual(0, shell("vgpuctl " + command).returncode)
        for name, exports, windows in (("null", ["null"], []), ("3", ["null"], [3]), ("4:22586", ["zero"], [4])):
            host = json.loads(shell("vgpuctl --json show " + name).stdout)["host"]
            self.assertEqual([exports, windows], [[export["name"] for export in host["exports"]],
                                                  [window["cid"] for window in host["windows"]]])
            text = shell("vgpuctl show " + name).stdout
            self.assertEqual(exports, [export for export in ("null", "zero") if f"/dev/{export}" in text])

    def test_freeze(self):
        """A frozen guest has weight 0, and then that of the settings again."""
        write(DIR + "/guests.d/web.conf", "[guest web]\ncid = 3\ndevice-weight = 7\n")
        self.assertEqual(0, shell("vgpuctl reload").returncode)
        for command, weight in (("freeze web", 0), ("thaw 3", 7)):
            self.assertEqual(0, shell("vgpuctl " + command).returncode)
            limits = json.loads(shell("vgpuctl --json limit web").stdout)["limits"]
            self.assertEqual([weight], [limit["value"] for limit in limits if limit["name"] == "device-weight"])

    def test_completion(self):
        """vgpud says which words there are."""
        for what, words in (("exports", {"null"}), ("guests", {"3"}), ("names", {"null", "3"})):
            self.assertEqual(words, set(shell("vgpuctl completion " + what).stdout.split()))
        self.assertIn("sessions=", shell("vgpuctl completion limits 3").stdout.split())

    def test_files(self):
        """Mistakes in files that are read again."""
        write(DIR + "/exports.d/a.conf", "[a]\npath = /dev/null\n")
        self.expect_failures((("a reload", "vgpuctl reload", 1, "there are mistakes", "a.conf:1: \\[a\\]: needs path="),
                              ("a comparison", "vgpuctl diff", 1, "there are mistakes", "a.conf:1: \\[a\\]: needs path=")))

    def test_denied(self):
        """Failures of users who may not do it: for each, root or the group is the remedy."""
        rows = [(deed, command, 4) for deed, command in DENIED]
        self.expect_failures([(*row, "only root and members of the group 'vgpu' may change", "use sudo, or join the group")
                              for row in rows], NOBODY)
        # As soon as the group has members, others may not even connect.
        write(DIR + "/group", "root:x:0:\nvgpu:x:990:joe\n")
        self.assertEqual(0, shell("vgpuctl reload").returncode)
        connect = [*rows, ("a list", "vgpuctl list", 4)]
        self.expect_failures([(*row, "only root and members of the group 'vgpu' may ask", "usermod -aG vgpu") for row in connect],
                             NOBODY)
        # Without a group there is only root.
        write(DIR + "/group", "root:x:0:\n")
        self.assertEqual(0, shell("vgpuctl reload").returncode)
        self.expect_failures([(*row, "only root may change", "use sudo") for row in rows], NOBODY)
        write(DIR + "/group", GROUP)


main("errors")
