# SPDX-License-Identifier: GPL-2.0-only
"""A test VM, with its QEMU, its agent and its console."""

import ctypes
import functools
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

from patience import WIDE, Deadline, OwnTime, look

HERE = os.path.dirname(os.path.abspath(__file__))

# Kernel parameters of all test VMs:
# - Interrupts of an emulated VM come late, so the kernel must test neither the timer
#   (no_timer_check) nor the clock (tsc=reliable).
# - Features are off that would only take time under emulation: security modules without a policy
#   (Yama has one), clearing of memory, which would also hide uninitialised data, a console on the
#   screen, and messages below a warning, which a serial line sends one byte at a time.
# - A VM may get no processor for half a minute without being stalled or locked up, so the kernel's
#   watchdogs get the longest limits that they accept.
# - Secret memory, which the user-space engine needs, is off by default before Linux 6.5.
KERNEL_ARGS = (
    "console=ttyS0,115200 rdinit=/init panic=-1 oops=panic mitigations=off "
    "tsc=reliable no_timer_check net.ifnames=0 nokaslr "
    "secretmem.enable=1 hung_task_panic=0 rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60 "
    "lsm=capability,yama audit=0 init_on_alloc=0 "
    "drm_kms_helper.fbdev_emulation=0 loglevel=5"
)


# Seconds between checks whether a machine that is silent is alive.
LISTEN = 2
# Seconds for the agent to answer something simple.
GRACE = 20


class VmDied(Exception):
    """The VM ended, hung or never came up."""

    lines = ()


class NoAnswer(VmDied):
    """The VM runs but does not answer in time."""


class NotBooted(VmDied):
    """A VM ended while nothing of this project was loaded in it, or in the VM that it runs in."""


class Result:
    """The output lines and the exit status of a command."""

    def __init__(self, status, lines):
        self.status = status
        self.lines = lines

    @property
    def text(self):
        return "\n".join(self.lines)


def harness(tool, *args):
    """Runs one of the harness's tools; returns the last line that it prints."""
    out = subprocess.run(
        [os.path.join(HERE, tool), *args], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return out.strip().splitlines()[-1] if out.strip() else ""


class Channel:
    """A conversation with one loop of the agent; see guest/serve."""

    def __init__(self, machine, path):
        self.machine = machine
        self.path = path
        self.sock = None
        self.buffer = b""
        self.serial = 0

    def connect(self, deadline):
        """Connects to the agent. deadline: a patience.Deadline, as in all functions here that
        wait"""
        while True:
            self.machine.check_alive()
            try:
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect(self.path)
                return
            except OSError:
                self.sock.close()
                if deadline.left() <= 0:
                    raise VmDied("QEMU did not start") from None
                time.sleep(0.05)

    def wait_ready(self, deadline):
        while True:
            words = self._line(deadline).split()
            if words and words[0] == "ready":
                return float(words[2])

    def _line(self, deadline):
        while b"\n" not in self.buffer:
            left = deadline.left()
            if left <= 0:
                raise NoAnswer(f"no answer from the VM {self.machine.name}")
            if not select.select([self.sock], [], [], min(left, LISTEN))[0]:
                self.machine.check_alive()
                continue
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                raise self.machine.ended()
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace").rstrip("\r")

    def send(self, command, limit=30):
        """Starts a command (one line of shell); returns its number. limit: seconds of wall time
        after which the agent ends the command"""
        if "\n" in command:
            raise ValueError("the agent takes one line")
        self.serial += 1
        self.sock.sendall(f"{self.serial} {limit} {command}\n".encode())
        return self.serial

    def result(self, serial, deadline, lines, show=None):
        """Waits for the end of a command; returns its Result. lines: list to which output lines are
        appended; show: function that gets each line. If the VM ends or hangs, VmDied has the lines
        so far."""
        try:
            while True:
                head, _, rest = self._line(deadline).partition(" ")
                if head != str(serial):
                    continue
                if rest.startswith("|"):
                    lines.append(rest[1:])
                    if show:
                        show(rest[1:])
                elif rest.startswith("exit "):
                    return Result(int(rest[5:] or 255), lines)
        except VmDied as error:
            error.lines = lines
            raise


class Vm:
    """A VM whose agent takes commands. Subclasses know how the VM is run."""

    def __init__(self, rundir, name, slow=1):
        """
        rundir: folder of the console's file and of the agent's sockets
        slow: factor by which time limits are stretched
        """
        self.name = name
        self.slow = slow
        # Clock of time limits; the machines of a Bed share one.
        self.time = OwnTime(self.sessions)
        # Length of the console's text when the VM had booted; None before.
        self.booted = None
        self.console_path = os.path.join(rundir, name + ".console")
        # The agent has two loops: the second one answers while the first one is busy.
        self.main = Channel(self, os.path.join(rundir, name + ".agent"))
        self.side = Channel(self, os.path.join(rundir, name + ".side"))

    def check_alive(self):
        """Raises VmDied if the VM is not alive."""
        raise NotImplementedError

    def ended(self):
        """Returns a VmDied for a VM that has ended."""
        return VmDied(f"the VM {self.name} ended")

    def sessions(self):
        """Returns the session ids of the VM's processes on the computer that runs the tests."""
        return []

    def wait_ready(self, limit=120):
        """Waits for the agent; returns seconds since the start of the kernel."""
        deadline = Deadline(self.time, limit)
        self.connect(deadline)
        return self.main.wait_ready(deadline)

    def connect(self, deadline):
        for channel in (self.main, self.side):
            if not channel.sock:
                channel.connect(deadline)

    def send(self, command, limit=30):
        """Starts a command (one line of shell) without waiting for its end; returns its number."""
        return self.main.send(command, round(WIDE * limit * self.slow))

    def result(self, serial, limit=30, show=None):
        """Waits for the end of a command that send() started; returns its Result."""
        lines = []
        try:
            return self.main.result(serial, Deadline(self.time, limit * self.slow), lines, show)
        except NoAnswer as error:
            try:
                self.hurry()
            except (VmDied, OSError):
                raise error from None
        # The agent now ends the command, which it may have to kill.
        return self.main.result(serial, Deadline(self.time, GRACE), lines, show)

    def hurry(self):
        """Tells the agent that the running command's time is up; see guest/serve."""
        serial = self.side.send("kill -ALRM $(cat /run/serve.main)", WIDE * GRACE)
        self.side.result(serial, Deadline(self.time, GRACE), [])

    def run(self, command, limit=30, show=None):
        """Runs a command; returns its Result."""
        return self.result(self.send(command, limit), limit, show)

    def blocked(self):
        """Returns the kernel stacks of a hanging VM's sleeping tasks, as text."""
        try:
            serial = self.side.send(
                "for p in /proc/[0-9]*; do s=$(sed -n 's/^State:.//p' $p/status); case $s in D*|S*) "
                "[ -s $p/cmdline ] && echo \"$p $(cut -c1-60 $p/comm) $s\" && "
                "for t in $p/task/*; do head -n 8 $t/stack | sed 's/^/   /'; echo; done;; esac; done", WIDE * GRACE)
            return self.side.result(serial, Deadline(self.time, GRACE), []).text
        except (VmDied, OSError) as error:
            return str(error)

    def must(self, command, limit=30):
        """Runs a command; returns its Result, or raises VmDied if the command fails."""
        result = self.run(command, limit)
        if result.status:
            raise VmDied(f"{self.name}: '{command}' failed ({result.status}):\n{result.text}")
        return result

    def console(self):
        with open(self.console_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def hang_up(self):
        for channel in (self.main, self.side):
            if channel.sock:
                channel.sock.close()


class Machine(Vm):
    """A VM with the shared image, a payload of its own and an agent in it."""

    def __init__(self, rundir, name, boot, payload, *, accel, memory=1024, extra=(),
                 vsock=None, args="", shell=False, virtual_display=False, display=False, slow=1, first=False, layer=None,
                 disks=(), cpu=""):
        """
        boot: (kernel image, initramfs); paths outside the VM
        payload: tar archive that the VM unpacks over its root
        extra: more QEMU arguments
        vsock: name of the vhost-device-vsock socket in rundir, or None
        virtual_display: true if QEMU runs under Xvfb, for a virtio-gpu with 3D
        display: true if QEMU offers the virtio-gpu's display to a Display, at self.display
        slow: factor by which time limits are stretched
        first: true if other machines give way to this one
        layer: name of a root that is mounted over the image's own
        disks: (serial number, file) of more disks
        cpu: features that the processors have or lack, in QEMU's syntax: "pku=off"
        """
        super().__init__(rundir, name, slow)
        self.rundir = rundir
        # File that gets QEMU's standard error.
        self.log_path = os.path.join(rundir, name + ".qemu")
        self.shell = shell
        self.first = first
        self.process = None
        kernel, initrd = boot
        share = ["-object", f"memory-backend-memfd,id=mem,size={memory}M,share=on"]
        self.command = [
            "qemu-system-x86_64", "-name", name, "-nodefaults", "-no-user-config", "-no-reboot",
            "-machine", "q35,memory-backend=mem,i8042=off,hpet=off", *share, "-m", str(memory),
            *accel[:-1], ",".join(filter(None, [accel[-1], cpu])), "-smp", "2",
            "-kernel", self._inside(kernel), "-initrd", self._inside(initrd),
            "-append", f"{KERNEL_ARGS} {clock_args(accel)} vgpu.role={name} "
                       f"{'vgpu.shell' if shell else ''} {args}",
            *(["-chardev", "stdio,id=con,signal=off"] if shell else
              ["-chardev", f"file,id=con,path=/out/{name}.console"]),
            "-serial", "chardev:con",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=agent,path=/out/{name}.agent,server=on,wait=off",
            "-device", "virtserialport,chardev=agent,name=vgpu.agent",
            "-chardev", f"socket,id=side,path=/out/{name}.side,server=on,wait=off",
            "-device", "virtserialport,chardev=side,name=vgpu.side",
            "-drive", f"file={self._inside(harness('mkimage'))},if=none,id=root,format=raw,readonly=on",
            "-device", "virtio-blk-pci,drive=root",
            "-drive", f"file={self._inside(payload)},if=none,id=load,format=raw,readonly=on",
            "-device", "virtio-blk-pci,drive=load",
        ]
        if layer:
            self.command += ["-drive", f"file={self._inside(harness('mkimage', layer))},if=none,id=layer,"
                             "format=raw,readonly=on", "-device", "virtio-blk-pci,drive=layer"]
        for serial, path in disks:
            self.command += ["-drive", f"file={self._inside(path)},if=none,id={serial},format=raw,readonly=on",
                             "-device", f"virtio-blk-pci,drive={serial},serial={serial}"]
        if vsock:
            self.command += ["-chardev", f"socket,id=vsock,path=/out/{vsock}",
                             "-device", "vhost-user-vsock-pci,chardev=vsock"]
        if virtual_display:
            self.command = ["xvfb-run", "-a", *self.command]
        else:
            self.command += ["-display", "none", "-vga", "none"]
        self.display = os.path.join(rundir, name + ".vnc")
        if display:
            self.command += ["-vnc", f"unix:{self._inside(self.display)}"]
        self.command += extra

    def _inside(self, path):
        """Translates a path to the one that QEMU sees, below in-root's /out or /cache."""
        cache = cache_dir()
        for outside, inside in ((self.rundir, "/out"), (cache, "/cache")):
            if os.path.abspath(path).startswith(outside + "/"):
                return inside + os.path.abspath(path)[len(outside):]
        raise ValueError(f"{path} is neither in {self.rundir} nor in {cache}")

    def start(self):
        open(self.console_path, "w", encoding="utf-8").close()
        log = open(self.log_path, "w", encoding="utf-8")
        # The run ends when the first machine's tests do, so other machines give way, by nice and,
        # because the kernel may divide time among sessions first, by autogroup. Their share is a
        # quarter of the first machine's, which then has one processor of two for itself. It is not
        # smaller, because other work on the computer would leave them nothing.
        give_way = [] if self.first or self.shell else [
            "sh", "-c", "{ echo 6 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 6 \"$@\"", "give-way"]
        self.process = subprocess.Popen(
            [*give_way, os.path.join(HERE, "in-root"), "-r", "qemu", "-o", self.rundir, *self.command],
            stdin=None if self.shell else subprocess.DEVNULL,
            stdout=None if self.shell else log, stderr=log,
            start_new_session=not self.shell)

    def sessions(self):
        return [self.process.pid] if self.process else []

    def cpu(self):
        """Returns seconds of processor time used by QEMU and the programs that it runs under."""
        return sum(look(self.sessions())[0].values())

    def check_alive(self):
        if self.process.poll() is not None:
            raise self.ended()

    def ended(self):
        """Returns a VmDied with QEMU's status and last lines. Only the status tells a crash of QEMU
        from a kernel that goes down without a message."""
        try:
            status = f", status {self.process.wait(GRACE)}"
        except subprocess.TimeoutExpired:
            status = ""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            said = [line.strip() for line in file.readlines()[-3:]]
        return VmDied(f"the VM {self.name} ended{status}" + "".join(f"; {line}" for line in said))

    def kill(self):
        """Ends the VM without shutting it down, as a crash would."""
        self.kill_process()
        self.process.wait()
        self.hang_up()

    def kill_process(self, number=signal.SIGKILL):
        try:
            if self.shell:      # in the terminal's process group
                self.process.send_signal(number)
            else:
                os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def stop(self):
        self.hang_up()
        if self.process and self.process.poll() is None:
            try:
                self.kill_process(signal.SIGTERM)
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill_process()
                self.process.wait()
            # xvfb-run ends at the first signal, but QEMU below it may take longer.
            self.kill_process()


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", "/root"), ".cache")
    return os.path.abspath(os.environ.get("VGPU_CACHE") or os.path.join(home, "vgpu"))


# Processor of emulated machines. Fast string instructions are off: emulation moves one byte at a
# time, and without them the kernel copies words, many times as fast. SMAP, SMEP and UMIP are off:
# their checks cost a sixth of all time, and the debug kernel's KASAN finds the same mistakes. The
# lists of arguments below end with the processor, because Machine appends to it.
CPU = ["-cpu", "max,la57=off,erms=off,fsrm=off,fsrs=off,fzrm=off,smap=off,smep=off,umip=off"]
# Emulated processors of one machine take turns (TCG) if there are more machines than real
# processors: otherwise one would spin while it waits for another one that gets no time. They run
# in parallel (TCG_PARALLEL) if a machine is alone. The debug kernel notices races of parallel
# processors, but computes a quarter more, so its processors are parallel if it is alone or with
# --all.
TCG = ["-accel", "tcg,thread=single,tb-size=256", *CPU]
TCG_PARALLEL = ["-accel", "tcg,thread=multi,tb-size=256", *CPU]
# The machine's clock counts instructions, one nanosecond each, whatever else the computer does.
TCG_COUNTED = [*TCG[:2], "-icount", "shift=0,sleep=off", *CPU]
KVM = ["-accel", "kvm", "-cpu", "host"]
# The system call's number on x86-64, which Python does not define. tsc_khz() needs x86, too.
SYS_SCHED_SETATTR = 314


def take_long_turns():
    """Gives this thread, and what it starts later, time slices of 30 ms without preempting others.
    Machines wake and sleep all the time, and emulation depends on warm caches: if each wakeup
    preempted another machine, they would compute a third longer."""
    attributes = struct.pack("IIQiIQQQ", 48, os.SCHED_BATCH, 0, 0, 0, 30_000_000, 0, 0)
    libc = ctypes.CDLL(None)
    libc.syscall(SYS_SCHED_SETATTR, 0, ctypes.create_string_buffer(attributes, len(attributes)), 0)


def clock_args(accel):
    """Returns the kernel parameter for the rate of the time stamp counter, which under TCG is the
    real processor's or counts instructions. A kernel that shares its processor while it measures
    the rate may be wrong several times over."""
    if accel is KVM:
        return ""
    return f"tsc_early_khz={1000000 if accel is TCG_COUNTED else tsc_khz()}"


@functools.cache
def tsc_khz():
    """Returns the ticks of the real time stamp counter in a millisecond."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def both():
        """Returns the counter and the clock of nearly the same moment: the closest of 100 pairs."""
        def once():
            before, ticks, after = time.monotonic_ns(), rdtsc(), time.monotonic_ns()
            return after - before, ticks, before
        return min(once() for _ in range(100))[1:]

    ticks, start = both()
    time.sleep(0.1)
    ticks_then, end = both()
    return round((ticks_then - ticks) * 1e6 / (end - start))


_probing = threading.Lock()


def accelerator(rundir, boot, payload, parallel):
    """Returns the arguments of KVM if it can boot this kernel, else those of emulation."""
    with _probing:
        return KVM if _kvm_works(rundir, boot, payload) else TCG_PARALLEL if parallel else TCG


def _kvm_works(rundir, boot, payload):
    if os.environ.get("VGPU_ACCEL") == "tcg" or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        note = os.path.join(cache_dir(), "kvm-" + file.read().strip())
    if not os.path.exists(note):
        probe = Machine(rundir, "probe", boot, payload, accel=KVM, memory=512)
        probe.start()
        works = "yes"
        try:
            probe.wait_ready(20)
        except VmDied:
            works = "no"
        probe.stop()
        with open(note, "w", encoding="ascii") as file:
            file.write(works)
    with open(note, encoding="ascii") as file:
        return file.read() == "yes"
