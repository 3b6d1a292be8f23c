# SPDX-License-Identifier: GPL-2.0-only
"""The machine with the GPU: runs vgpud and emulated guests on it."""

import ctypes
import errno
import glob
import json
import math
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests/harness"))
from vm import CPU, KERNEL_ARGS, tsc_khz    # pylint: disable=wrong-import-position

CID = 3
PORT = 22586     # VGPU_WIRE_PORT
USER = 1000
# System call numbers of x86-64, which Python does not define.
SYS_KCMP, SYS_MEMFD_SECRET = 312, 447
PR_SET_PDEATHSIG = 1
# Bytes of credit that a guest gets. vhost-device-vsock accepts only packets with a single piece of
# data. Kernels send packets of more than 32 KiB in several pieces, but not without that credit.
TX_BUFFER = 28 << 10
REHEARSED = ("zero", "urandom", "full")
# Files that a run writes, in $OUT.
FILES = ("gpu.json", "native.txt", "guest.txt", "diff.txt", "strace.txt", "guest-dmesg.txt", "host.log",
         "lend.txt", "hunter.txt", "where.txt", "status.txt", "switches.txt", "tenants.txt",
         "tenants-times.txt")
# Command that prints kernel stacks and system calls of the guest user's threads.
WHERE = (f"for p in /proc/[0-9]*; do [ \"$(stat -c %u $p 2>/dev/null)\" != {USER} ] || for t in $p/task/*; do "
         "echo \"$t $(cat $t/comm): $(cat $t/wchan)\"; cat $t/stack $t/syscall; done; done 2>/dev/null")
# Command that loads the guest module, and the modules that it needs unless they are loaded.
INSERT = ("for module in /vgpu/*; do name=${module#/vgpu/*-}; set --; case $module in *vgpu_guest.ko) set -- cid=2 ;; esac; "
          "[ -e /sys/module/$(basename ${name%.ko} | tr - _) ] || insmod $module \"$@\" || exit; done")
# Command that prints the guest module's counters of each export, and the window's range, if any.
COUNTED = "cd /sys/class/vgpu; grep . */name */calls */*_mappings */window_binds */unknown_ioctls; grep -i vgpu /proc/iomem"
# Size of the window. It takes address space only, and no memory.
WINDOW = "4G"
# Time limit of a step: a step that hangs must not take all of the time on a machine that is
# available for minutes only.
STEP_SECONDS = 470
# Number of guests that vgpud has sockets for.
GUESTS = 4
GROUPS = "/sys/fs/cgroup"
# Limits of a guest in vgpud.conf, and the files and pages that vgpud's processes need besides.
OBJECTS, PAGES = 16384, 4096
FILES_BESIDE, PAGES_BESIDE, PAGE = 4096, 256, 4096
# Environment variables that are not passed to programs in the guest.
OWN_VARIABLES = ("PWD", "OLDPWD", "OUT", "HOME", "SHLVL", "_", "TMPDIR", "LS_COLORS", "TERM")


class Failed(Exception):
    """A step has failed; the text tells why."""


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def die_with_us():
    """Makes a child process end with its parent, however the parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Agent:
    """A connection to one of a guest's agents, see guest-init."""

    def __init__(self, path, alive):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.alive = alive
        self.data = b""
        self.serial = 0

    def hang_up(self):
        """Shuts the connection down, which wakes a thread that waits for it. The file stays open,
        because that thread may use it."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def line(self, deadline):
        while b"\n" not in self.data:
            if time.monotonic() > deadline:
                raise Failed("the guest says nothing any more")
            self.alive()
            self.socket.settimeout(1)
            try:
                more = self.socket.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                more = b""
            if not more:
                raise Failed("the guest has ended (see console.log)")
            self.data += more
        line, self.data = self.data.split(b"\n", 1)
        return line.decode(errors="replace")

    def run(self, command, seconds, user=USER):
        """Runs a line of shell; returns its exit status and output."""
        self.serial += 1
        mark = f"{self.serial} "
        self.socket.settimeout(10)
        self.socket.sendall(f"{mark}{int(seconds)} {user} {command}\n".encode())
        deadline = time.monotonic() + seconds + 30
        lines = []
        while True:
            line = self.line(deadline)
            if line.startswith(mark + "exit "):
                return int(line.split()[2]), "".join(lines)
            if line.startswith(mark + "|"):
                lines.append(line[len(mark) + 1:] + "\n")


class Program(threading.Thread):
    """A thread that runs a program. run: a function that returns the program's status and output"""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.function = run
        self.status = self.text = self.error = None
        self.start()

    def run(self):
        try:
            self.status, self.text = self.function()
        except Exception as error:    # pylint: disable=broad-exception-caught # raised by right()
            self.error = error

    def check(self):
        """Raises Failed if the program has ended."""
        if not self.is_alive():
            self.right(0)
            raise Failed(f"a program has ended early: {self.text.strip()[-300:]}")

    def right(self, seconds):
        """Waits for the program's end, with a time limit; returns its output. Raises Failed if it
        does not end, or not with status 0."""
        self.join(seconds)
        if self.is_alive():
            raise Failed(f"a program has not ended within {seconds} s")
        if self.error:
            raise self.error if isinstance(self.error, Failed) else Failed(repr(self.error))
        if self.status:
            raise Failed(f"status {self.status}: {self.text.strip()[-300:]}")
        return self.text


class Guest:
    """A guest VM: vhost-device-vsock, QEMU, and two agents. The second agent answers while the
    first one is busy."""

    def __init__(self, machine, cid, cpus):
        self.machine = machine
        self.cid, self.cpus = cid, cpus
        self.agent = self.side = self.hung = None
        self.children = []

    def name(self, word):
        return word if self.cid == CID else f"{word}-{self.cid}"

    def path(self, word):
        return self.machine.path(self.name(word))

    def start(self, word, command):
        child = self.machine.start(self.name(word), command, self.name(word) + ".log")
        self.children.append(child)
        return child

    def window_device(self):
        """Returns QEMU's arguments for the window's device. Its socket is in vgpud's own /run."""
        if not self.machine.window:
            return []
        path = f"/proc/{self.machine.vgpud.pid}/root/run/vgpu/window-{self.cid}-{PORT}"
        return ["-chardev", f"socket,id=window,path={path}",
                "-device", "vhost-user-test-device-pci,chardev=window,virtio-id=31,num_vqs=1,config_size=32"]

    def boot(self):
        """Starts the VM and loads the guest module; returns a text about it."""
        self.launch()
        return self.arrive()

    def launch(self):
        """Starts the VM. Several may start at once."""
        machine = self.machine
        # A VM that was killed leaves these sockets behind.
        for path in (self.path("vhost.sock"), self.path("agent"), self.path("side")):
            if os.path.exists(path):
                os.unlink(path)
        self.start("vhost", [*machine.kit("qemu", "vhost-device-vsock"), "--guest-cid", str(self.cid),
                             "--uds-path", self.path("vsock"), "--socket", self.path("vhost.sock"),
                             "--tx-buffer-size", str(TX_BUFFER)])
        machine.wait_for("vhost-device-vsock", lambda: os.path.exists(self.path("vhost.sock")), 30)
        ports = []
        for name in ("agent", "side"):
            ports += ["-chardev", f"socket,id={name},path={self.path(name)},server=on,wait=off",
                      "-device", f"virtserialport,chardev={name},name=vgpu.{name}"]
        self.start("qemu", [
            *machine.kit("qemu", "qemu-system-x86_64"), "-L", machine.path("kit/qemu/firmware"),
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-vga", "none",
            "-accel", "tcg,thread=multi", *CPU, "-smp", str(self.cpus), "-m", machine.memory,
            "-object", f"memory-backend-memfd,id=memory,size={machine.memory},share=on",
            "-machine", "q35,memory-backend=memory",
            "-chardev", f"file,id=console,path={self.path('console')}.log", "-serial", "chardev:console",
            "-chardev", f"socket,id=vsock,path={self.path('vhost.sock')}",
            "-device", "vhost-user-vsock-pci,chardev=vsock",
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-device", "virtio-serial-pci", *ports, *self.window_device(),
            "-kernel", machine.path("kit/boot/vmlinuz"), "-initrd", machine.path("kit/boot/initrd"),
            "-append", f"{KERNEL_ARGS} tsc_early_khz={tsc_khz()} vgpu.kit={machine.work.lstrip('/')}",
        ])

    def arrive(self):
        """Waits for the VM's agents, and loads the guest module; returns a text about it."""
        machine = self.machine
        machine.wait_for("QEMU", lambda: os.path.exists(self.path("side")), 30)
        side = Agent(self.path("side"), machine.check_alive)
        agent = Agent(self.path("agent"), machine.check_alive)
        for each in (side, agent):
            ready = each.line(time.monotonic() + machine.left(300))
            if not ready.startswith("ready "):
                raise Failed(f"an agent of the guest said '{ready}'")
        self.side, self.agent = side, agent
        self.must(INSERT, 60, "init")
        words = f"Linux {ready.split()[1]} after {ready.split()[2]} s of its own"
        if machine.window:
            self.must("grep vgpu_guest /proc/iomem || { grep . /sys/bus/virtio/devices/*/device; exit 1; }", 20, "init")
            words += "; it has a window"
        return words

    def await_nodes(self):
        """Waits until the guest has a /dev/vgpuN for each export, and a node with the device's
        name on the host. Returns the vgpuN of each export."""
        names, devices = self.machine.names, self.machine.devices()
        text = self.must(
            f"for name in {' '.join(names)}; do n=0; while :; do node=; for d in /sys/class/vgpu/*; do "
            "read -r its <$d/name; [ \"$its\" != $name ] || node=${d##*/}; done 2>/dev/null; "
            "[ -z \"$node\" ] || [ ! -c /dev/$node ] || break; n=$((n + 1)); "
            "[ $n -lt 400 ] || { echo no $name; exit 1; }; usleep 100000; done; "
            "chmod 666 /dev/$node; echo $name $node; done", 90, "init")
        paths = " ".join(devices[name] for name in names)
        self.must(f"for path in {paths}; do n=0; while [ ! -c $path ]; do n=$((n + 1)); "
                  "[ $n -lt 300 ] || { echo the guest has no $path; exit 1; }; usleep 100000; done; done", 60, "init")
        return dict(line.split() for line in text.splitlines())

    def must(self, command, seconds, user=USER):
        status, text = self.agent.run(command, self.machine.left(seconds), user)
        if status:
            raise Failed(f"in the guest: {command[:60]}: status {status}: {text.strip()[-300:]}")
        return text

    def begin(self, command, seconds):
        """Starts a program by the first agent, which can run nothing else meanwhile."""
        return Program(lambda: self.agent.run(command, seconds))

    def aside(self, command, seconds=30):
        """Runs a command by the second agent, in init's root, where the programs' root is /rw/root;
        returns its output."""
        status, text = self.side.run(command, seconds, "init")
        if status:
            raise Failed(f"in the guest: {command[:80]}: status {status}: {text.strip()[-300:]}")
        return text

    def abandon(self):
        """Gives the first agent up, because its program may never end. The connection stays open:
        the guest would end without it."""
        self.hung, self.agent = self.agent, None

    def ask_side(self, name, command):
        """Appends a command's output to a file; works also while a program of the guest hangs."""
        try:
            self.machine.write(name, f"$ {command}\n{self.side.run(command, 20, 'init')[1]}\n")
        except (Failed, OSError) as error:
            self.machine.write(name, f"$ {command}\n{error}\n")

    def end(self, number=signal.SIGTERM):
        """Ends QEMU by a signal, and vhost-device-vsock."""
        for agent in (self.agent, self.side):
            if agent:
                agent.hang_up()
        self.agent = self.side = None
        self.machine.forget(self.children)
        for child in reversed(self.children):
            child.send_signal(number)
            number = signal.SIGKILL
            child.wait(30)
        self.children = []


class Machine:
    """The machine with vgpud, its guests, and the files with results and logs."""

    def __init__(self, options):
        self.rehearse = options.rehearse
        self.strace = options.strace
        self.window = options.window
        self.limit = options.limit
        self.minutes = options.minutes
        self.finish = time.monotonic() + options.within
        self.step_end = math.inf
        self.out = os.environ.get("OUT") or "."
        self.cpus, self.memory = options.cpus, options.memory
        self.work = tempfile.mkdtemp(prefix="vgpu-gpu-", dir="/tmp")
        os.chmod(self.work, 0o755)
        self.children = []
        self.guest = self.vgpud = self.group = None
        self.others = {}
        # A group of vgpud's own lets it give guests control groups.
        self.grouped = "tenants" in options.steps
        self.results, self.commands, self.measured = [], [], {}
        self.step = None
        self.gpu = []
        self.names = []

    # --- processes -----------------------------------------------------------

    def path(self, name):
        return os.path.join(self.work, name)

    @property
    def enter(self):
        """Shell command that changes to path()'s folder. The guest has it as /run/kit, because the
        guest's own /tmp hides the other name."""
        return f"cd {self.work} 2>/dev/null || cd /run/kit"

    def left(self, most=STEP_SECONDS):
        """Returns the seconds that an action may take."""
        return max(5, min(most, min(self.finish, self.step_end) - time.monotonic()))

    def begin_step(self, name, seconds=STEP_SECONDS):
        self.step = name
        self.step_end = time.monotonic() + seconds

    def start(self, name, command, log):
        with open(self.path(log), "ab") as file:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                     preexec_fn=die_with_us, start_new_session=True)
        self.children.append((name, child))
        return child

    def forget(self, children):
        """Forgets processes that may end now."""
        self.children = [(name, child) for name, child in self.children if child not in children]

    def check_alive(self):
        for name, child in self.children:
            if child.poll() is not None:
                raise Failed(f"{name} has ended ({child.returncode}): {self.tail(name + '.log')}")

    def read(self, log):
        try:
            with open(self.path(log), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def tail(self, log):
        return " / ".join(self.read(log).strip().splitlines()[-3:])

    def wait_for(self, what, holds, seconds):
        deadline = time.monotonic() + self.left(seconds)
        while not holds():
            self.check_alive()
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not within {seconds} s")
            time.sleep(0.05)

    def kit(self, folder, program):
        """Returns the command that starts a program of the kit with the kit's own libraries."""
        libs = self.path("kit/" + folder)
        loader = os.path.join(libs, "lib/ld-linux-x86-64.so.2")
        binary = os.path.join(libs, "bin", program)
        if not os.path.exists(binary):
            binary = os.path.join(libs, program)
        return [loader, "--library-path", os.path.join(libs, "lib"), binary]

    def vgpuctl(self, *words):
        done = subprocess.run([*self.kit("vgpu", "vgpuctl"), "--socket", self.path("vgpud.sock"), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
        if done.returncode:
            raise Failed(f"vgpuctl {' '.join(words)}: {done.stdout.strip()}")
        return done.stdout

    def close(self):
        """Ends all processes, and saves the logs."""
        for guest in (self.guest, *self.others.values()):
            if guest and guest.side:
                guest.ask_side("guest-dmesg.txt", "dmesg")
        for words in (("status", "--json"), ("window", "list")) if self.vgpud else ():
            try:
                self.write("status.txt", f"$ vgpuctl {' '.join(words)}\n{self.vgpuctl(*words)}\n")
            except (Failed, OSError, subprocess.SubprocessError) as error:
                self.write("status.txt", f"{error}\n")
        for name, child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                say(f"{name} does not end by SIGTERM")
                child.kill()
                child.wait()
        self.end_group()
        with open(os.path.join(self.out, "host.log"), "w", encoding="utf-8") as log:
            for path in sorted(glob.glob(self.path("*.log"))):
                with open(path, encoding="utf-8", errors="replace") as file:
                    log.write(f"--- {os.path.basename(path)}\n{file.read()}")
        shutil.rmtree(self.work, ignore_errors=True)
        self.children = []

    def write(self, name, text):
        with open(os.path.join(self.out, name), "a", encoding="utf-8") as file:
            file.write(text)

    def save(self):
        """Writes all results so far to gpu.json."""
        with open(os.path.join(self.out, "gpu.json.new"), "w", encoding="utf-8") as file:
            json.dump({"rehearsal": self.rehearse, "gpu": self.gpu, "cpus": self.cpus, "memory": self.memory,
                       "kernel": os.uname().release, "steps": self.results, "commands": self.commands,
                       "measured": self.measured}, file, indent=1)
            file.write("\n")
        os.rename(os.path.join(self.out, "gpu.json.new"), os.path.join(self.out, "gpu.json"))

    # --- the machine and its first guest ---------------------------------------

    def env(self):
        """Checks that all is there that the engine and the kit need."""
        libc = ctypes.CDLL(None, use_errno=True)
        missing = []
        if os.geteuid():
            missing.append("root")
        if not os.path.exists("/dev/userfaultfd"):
            missing.append("/dev/userfaultfd (CONFIG_USERFAULTFD)")
        secret = libc.syscall(SYS_MEMFD_SECRET, 0)
        if secret < 0:
            missing.append(f"memfd_secret: {os.strerror(ctypes.get_errno())}")
        else:
            os.close(secret)
        if libc.syscall(SYS_KCMP, os.getpid(), os.getpid(), 0, 0, 0) < 0:
            missing.append(f"kcmp: {os.strerror(ctypes.get_errno())}")
        for program in ("unshare", "mount", "setpriv"):
            if not shutil.which(program):
                missing.append(program)
        devices = self.devices()
        if missing:
            raise Failed("not there: " + ", ".join(missing))
        objects, pages = self.room()
        if not self.rehearse:
            self.gpu = self.query("name,driver_version")
            devices = [*self.gpu, *devices]
        return (f"{os.cpu_count()} processors, {os.uname().release}, {', '.join(devices)}; "
                f"room for {objects} objects, {pages} pages")

    @staticmethod
    def query(fields):
        """Returns the machine's nvidia-smi output, one line for each card."""
        return subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
                              stdout=subprocess.PIPE, timeout=60, check=True, text=True).stdout.splitlines()

    @staticmethod
    def room():
        """Raises the process's limits; returns the objects and pages that a guest may have. They
        are fewer than the defaults without the right to raise hard limits (CAP_SYS_RESOURCE)."""
        files, locked = 2 * OBJECTS + FILES_BESIDE, (2 * PAGES + PAGES_BESIDE) * PAGE
        for kind, wanted in ((resource.RLIMIT_NOFILE, files), (resource.RLIMIT_MEMLOCK, locked)):
            hard = resource.getrlimit(kind)[1]
            if hard != resource.RLIM_INFINITY and hard < wanted:
                try:
                    resource.setrlimit(kind, (wanted, wanted))
                except (ValueError, OSError):
                    pass
        hard = [resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_MEMLOCK)]
        files, locked = (wanted if limit == resource.RLIM_INFINITY else min(wanted, limit)
                         for wanted, limit in zip((files, locked), hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, 65536), hard[0]))
        return (files - FILES_BESIDE) // 2, (locked // PAGE - PAGES_BESIDE) // 2

    def devices(self):
        """Returns the device files to export, by name."""
        if self.rehearse:
            return {name: "/dev/" + name for name in REHEARSED}
        paths = [*sorted(glob.glob("/dev/nvidia[0-9]*")), "/dev/nvidiactl", "/dev/nvidia-modeset",
                 "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", *sorted(glob.glob("/dev/nvidia-caps/*"))]
        return {os.path.basename(path): path for path in paths
                if os.path.exists(path) and stat.S_ISCHR(os.stat(path).st_mode)}

    def unpack(self):
        if os.path.exists(self.path("kit")):
            return
        with tarfile.open(os.path.join(TOP, ".gpu-kit/kit.tar.xz"), "r:xz") as kit:
            kit.extractall(self.path("kit"), filter="fully_trusted")
        os.mkdir(self.path("exports.d"))

    def configure(self, name, lines):
        """Writes a vgpud.conf; returns the command that runs vgpud with it, in a /run of its
        own."""
        objects, pages = self.room()
        path = self.path(name + ".conf")
        with open(path, "w", encoding="ascii") as file:
            # The groups of this machine belong to its systemd, which has delegated none here.
            file.write(f"{lines}[limits]\nobjects = {objects}\npages = {pages}\n[shadow]\n"
                       f"cgroups = {'auto' if self.grouped else 'no'}\n")
        vgpud = [*self.kit("vgpu", "vgpud"), "--config", path,
                 "--exports-dir", self.path("exports.d"), "--socket", self.path(name + ".sock"),
                 "--shadow", self.path("kit/vgpu/vgpu-shadow"), "--debug"]
        enter = f"echo 0 >{self.group}/cgroup.procs; " if self.group else ""
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
                f"{enter}mount -t tmpfs -o mode=755 vgpu /run; exec {shlex.join(vgpud)}"]

    def make_group(self):
        """Makes a control group for vgpud, with the mark of those that systemd delegates. vgpud may
        then give each guest a group, with the limits that guests have by default. Leaves self.group
        unset if this machine's groups cannot be had."""
        path = os.path.join(GROUPS, f"vgpu-gpu-{os.getpid()}")
        try:
            # Without this file it is no hierarchy of version 2.
            with open(os.path.join(GROUPS, "cgroup.controllers"), encoding="ascii") as file:
                there = file.read().split()
            for controller in ("memory", "pids", "cpu", "io"):
                if controller in there:
                    with open(os.path.join(GROUPS, "cgroup.subtree_control"), "r+", encoding="ascii") as file:
                        file.write("+" + controller)
            os.mkdir(path)
            self.group = path
            os.setxattr(path, "trusted.delegate", b"1")
        except OSError as error:
            say(f"  no control group: {error}")
            self.end_group()

    def end_group(self):
        """Removes the control group. Engines end a moment after vgpud."""
        group, self.group = self.group, None
        for path, _, _ in os.walk(group or "", topdown=False):
            deadline = time.monotonic() + 10
            while os.path.exists(path):
                try:
                    os.rmdir(path)
                except OSError as error:
                    if error.errno != errno.EBUSY or time.monotonic() > deadline:
                        say(f"  {path}: {error}")
                        break
                    time.sleep(0.1)

    def host(self):
        """Starts vgpud with the user-space engine, and exports devices."""
        self.unpack()
        if self.grouped:
            self.make_group()
        sockets = "".join(f"{cid} = {self.path('vsock' if cid == CID else f'vsock-{cid}')}\n" for cid in range(CID, CID + GUESTS))
        # The time limits are long, because an emulated guest may get no processor for a while.
        self.vgpud = self.start("vgpud", self.configure(
            "vgpud", "[agent]\nengine = user\nvsock = no\nfetch-timeout-ms = 20000\nping-timeout-ms = 60000\n"
            f"[sockets]\n{sockets}"), "vgpud.log")
        self.wait_for("vgpud", lambda: os.path.exists(self.path(f"vsock_{PORT}")) and
                      os.path.exists(self.path("vgpud.sock")), 30)
        self.make_window(CID)
        if not self.rehearse:
            return self.export(CID)
        # vgpud refuses the guest for this export, see boot().
        self.vgpuctl("export", "/dev/full", "--to", str(CID))
        return "one device file, exported to a guest that does not hide its port"

    def make_window(self, cid):
        if self.window:
            self.vgpuctl("window", "create", "--to", str(cid), "--size", WINDOW)

    def export(self, cid):
        if not self.rehearse and "--nvidia" in self.vgpuctl("--help"):
            self.vgpuctl("export", "--nvidia", "--to", str(cid), "--any-port")
        else:
            for name, path in self.devices().items():
                self.vgpuctl("export", path, "--to", str(cid), "--name", name, "--any-port")
        exports = json.loads(self.vgpuctl("list", "--json"))["host"]["exports"]
        self.names = list(dict.fromkeys(export["name"] for export in exports))
        return "exported: " + ", ".join(self.names)

    def status(self, cid):
        """Returns vgpud's status of a guest."""
        for guest in json.loads(self.vgpuctl("status", "--json"))["host"]["guests"]:
            if guest["cid"] == cid:
                return guest
        return {}

    def counters(self):
        """Returns vgpud's counters of the first guest."""
        return {key: value for key, value in self.status(CID).items()
                if key in ("calls", "round_trips", "fetched_pages", "written_pages", "fetch_timeouts",
                           "refused", "malformed", "stray_fds")}

    def boot(self):
        """Boots the first guest, and waits until it has all exports."""
        variables = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
        with open(self.path("env"), "w", encoding="utf-8") as file:
            for name, value in variables.items():
                if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) and "\n" not in value:
                    file.write(f"export {name}={shlex.quote(value)}\n")
            file.write("export HOME=/tmp\n")
        again = bool(self.guest)
        self.guest = Guest(self, CID, self.cpus)
        words = self.guest.boot()
        if self.rehearse and not again:
            self.wait_for("a guest that hides its port is refused",
                          lambda: "export to this guest with any-port" in self.read("vgpud.log"), 30)
            self.vgpuctl("unexport", "full")
            words += "; " + self.export(CID)
        try:
            self.guest.await_nodes()
        finally:
            looked = "ls -l /dev/vgpu* /dev/nvidia*; ls -l /sys/class/vgpu/; find /proc/driver/nvidia -type f; lsmod; free"
            self.guest.ask_side("guest.txt", looked)
        return words

    def other_guest(self):
        """Returns the second guest, which is booted on the first call."""
        return self.other_guests(1)[0]

    def other_guests(self, count):
        """Returns that many guests beside the first one. Those that do not run boot at once."""
        cids = range(CID + 1, CID + 1 + count)
        new = [Guest(self, cid, self.cpus) for cid in cids if cid not in self.others]
        for guest in new:
            self.make_window(guest.cid)
            self.export(guest.cid)
            guest.launch()
        for guest in new:
            guest.arrive()
            guest.await_nodes()
            self.others[guest.cid] = guest
        return [self.others[cid] for cid in cids]
