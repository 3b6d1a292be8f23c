# SPDX-License-Identifier: GPL-2.0-only
"""Steps of a run that need one guest, or none. Most compare a program's native output with that in
the guest."""

import difflib
import errno
import glob
import hashlib
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

from machine import CID, COUNTED, HERE, PORT, TOP, USER, WHERE, Failed, Machine, say

TORCH = ("import torch; torch.manual_seed(1); a = torch.rand(1024, 1024, dtype=torch.float64); "
         "g = a.cuda(); assert torch.allclose((g @ g).cpu(), a @ a); "
         "assert torch.allclose(torch.fft.fft2(g).cpu(), torch.fft.fft2(a)); "
         "assert (torch.ones(1 << 20).pin_memory().cuda() * 3).sum().item() == 3 << 20; "
         "print(torch.cuda.get_device_name(), 'right')")
# FIRST lists the steps that start a guest; WITHOUT_GUEST lists all that need none.
FIRST = ("env", "host", "boot")
WITHOUT_GUEST = (*FIRST, "sockets", "lend", "switches")


class Steps(Machine):
    """The steps, one method each. A step returns a text, or raises an error."""

    def sockets(self):
        """Tests how vgpud handles sockets of guests, with a vgpud that serves no guest."""
        self.unpack()
        directory = self.path("sockets")
        os.mkdir(directory)
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(directory, nobody, -1)
        path = os.path.join(directory, f"guest_{PORT}")
        sockets = f"[agent]\nengine = user\nvsock = no\n[sockets]\nowner = nobody\n{CID} = {directory}/guest\n"
        command = self.configure("other", sockets)

        def refused(words):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30,
                                  check=False)
            if done.returncode != 1 or words not in done.stdout:
                raise Failed(f"vgpud with {path} as it is: status {done.returncode}: {done.stdout}")

        def listening():
            other = self.start("other", command, "other.log")
            self.wait_for("the other vgpud", lambda: connects(path, nobody) is None, 30)
            return other

        def end(other, number):
            self.children = [child for child in self.children if child[1] != other]
            other.send_signal(number)
            other.wait(10)

        with open(path, "w", encoding="ascii"):
            pass
        refused("a file of that name exists, or a process listens")
        os.unlink(path)
        with socket.socket(socket.AF_UNIX) as somebody:
            somebody.bind(path)
            somebody.listen()
            refused("a file of that name exists, or a process listens")
            # A socket that vgpud cannot have does not prevent another guest's socket.
            beside = self.start("beside", self.configure("beside", sockets + f"{CID + 1} = {directory}/beside\n"), "beside.log")
            self.wait_for("a vgpud with another guest", lambda: connects(os.path.join(directory, f"beside_{PORT}"), nobody)
                          is None, 30)
            end(beside, signal.SIGTERM)
        # A socket without a listener is still refused, because it belongs to another user.
        refused("a file of that name exists, or a process listens")
        os.chown(path, nobody, -1)
        other = listening()
        info = os.stat(path)
        if not stat.S_ISSOCK(info.st_mode) or stat.S_IMODE(info.st_mode) != 0o600 or info.st_uid != nobody:
            raise Failed(f"{path}: mode {info.st_mode:o}, user {info.st_uid}")
        if connects(path, USER) != errno.EACCES:
            raise Failed(f"{path}: another user may connect")
        end(other, signal.SIGKILL)
        if not os.path.exists(path):
            raise Failed(f"{path} went although vgpud was killed")
        other = listening()
        end(other, signal.SIGTERM)
        if os.path.exists(path):
            raise Failed(f"{path} is left of a vgpud that has ended")
        # vgpud makes the socket with its owner's rights, who cannot write to the folder now.
        os.chown(directory, 0, 0)
        refused("Permission denied")
        return "mode, owner, strangers, and sockets that were left"

    def node(self):
        """Tests reads, writes and errors of plain device files."""
        nodes = self.guest.await_nodes()
        size = 1 << 20
        for name, known in (("zero", hashlib.sha256(bytes(size)).hexdigest()), ("urandom", None)):
            for block in (4096, 65536, size):
                text = self.guest.must(f"dd if=/dev/{nodes[name]} bs={block} count={size // block} 2>/dev/null | "
                                 "sha256sum; ", 60)
                found = text.split()[0]
                if known and found != known:
                    raise Failed(f"/dev/{name} in blocks of {block} is not what it is here")
                if not known and found in (hashlib.sha256(bytes(size)).hexdigest(), hashlib.sha256(b"").hexdigest()):
                    raise Failed(f"/dev/{name} in blocks of {block} is not random")
        # Writes go in messages that are longer than one packet of vsock.
        self.guest.must(f"dd if=/dev/urandom of=/dev/{nodes['zero']} bs={size} count=4 2>&1", 60)
        status, text = self.guest.agent.run(f"head -c 9 /etc/passwd | dd of=/dev/{nodes['full']}", 30)
        if not status or "No space left" not in text:
            raise Failed(f"writing to /dev/full: status {status}: {text.strip()}")
        # The guest's programs see the machine's files, and run as an ordinary user.
        return "1 MiB of each, and the error of /dev/full; " + self.compare(
            "ls /usr/bin | sha256sum; python3 -c 'print(sum(range(1000)))'; cat /etc/os-release")

    def native(self, command, seconds=120):
        """Runs a command natively, as the same user as in the guest."""
        return subprocess.run(self.as_user(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=self.left(seconds), check=False, text=True, errors="replace", cwd="/tmp")

    @staticmethod
    def as_user(command):
        return ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "/bin/sh", "-c",
                "export HOME=/tmp; " + command]

    def both(self, command, seconds):
        """Runs a command natively and in the guest. Returns a text, and the lines that differ.
        Lines that begin with # are measurements, and are not compared."""
        start = time.monotonic()
        native = self.native(command)
        native_took = time.monotonic() - start
        before = self.counters()
        limit = self.left(seconds)
        # The program's place in the kernel is recorded before the time limit ends it.
        late = threading.Timer(limit - 4, self.look, (command,))
        late.start()
        start = time.monotonic()
        try:
            status, text = self.guest.agent.run(self.traced(command), limit)
        except Failed:
            self.guest.abandon()
            self.guest.ask_side("guest.txt", WHERE)
            raise
        finally:
            late.cancel()
            late.join()
            self.guest.ask_side("status.txt", f"{COUNTED} # {command}")
        took = time.monotonic() - start
        counted = {key: value - before.get(key, 0) for key, value in self.counters().items()}
        self.write("native.txt", f"$ {command}\n{native.stdout}status {native.returncode}, {native_took:.1f} s\n\n")
        self.write("guest.txt", f"$ {command}\n{text}status {status}, {took:.1f} s\n\n")
        if self.strace:
            self.write("strace.txt", f"$ {command}\n{self.guest.agent.run('cat /tmp/strace; rm /tmp/strace', 60)[1]}\n")
        different = [line for line in difflib.unified_diff(steady(native.stdout), steady(text), n=0, lineterm="")
                     if not line.startswith(("---", "+++", "@@"))]
        self.write("diff.txt", f"$ {command}\n" + "\n".join(different) + "\n\n")
        self.commands.append({"step": self.step, "command": command, "native_status": native.returncode, "status": status,
                              "native_seconds": round(native_took, 2), "seconds": round(took, 2),
                              "lines": len(text.splitlines()), "different_lines": len(different),
                              "measured": [line[2:] for line in text.splitlines() if line.startswith("# ")], **counted})
        words = (f"{command}: {took:.1f} s (native {native_took:.1f} s), {counted.get('calls', 0)} calls, "
                 f"{len(different)} lines differ")
        say("  " + words)
        if status != native.returncode:
            raise Failed(f"{words}; status {status}, natively {native.returncode}: {text.strip()[-300:]}")
        return words, different

    def look(self, command):
        """Records what a program does that the time limit will soon end."""
        self.write("where.txt", f"$ {command}\n")
        self.guest.ask_side("where.txt", WHERE)
        self.guest.ask_side("where.txt", COUNTED)
        if self.strace:
            self.guest.ask_side("where.txt", "tail -n 60 /rw/root/tmp/strace | cut -c1-300")

    def traced(self, command):
        if not self.strace:
            return command
        strace = "/run/kit/kit/strace"
        return (f"{strace}/lib/ld-linux-x86-64.so.2 --library-path {strace}/lib {strace}/strace -f -o /tmp/strace "
                f"-X verbose /bin/sh -c {shlex.quote(command)}")

    def compare(self, *commands, seconds=240):
        said, differ, wrong = [], 0, []
        for command in commands:
            if not self.guest.agent:
                break
            try:
                words, different = self.both(command, seconds)
                said.append(words)
                differ += len(different)
            except (Failed, subprocess.SubprocessError) as error:
                wrong.append(str(error))
        if wrong:
            raise Failed("; ".join(wrong + said))
        if differ:
            raise Failed("; ".join(said) + " (diff.txt)")
        return "; ".join(said)

    def smi(self):
        """Compares nvidia-smi's output."""
        return self.compare("nvidia-smi -L", "nvidia-smi", "nvidia-smi -q")

    def clinfo(self):
        """Compares clinfo's output about NVIDIA's OpenCL alone: other platforms in
        /etc/OpenCL/vendors would only use the processor, and print its properties."""
        alone = ("none=$(mktemp -d) && OCL_ICD_VENDORS=$none OCL_ICD_FILENAMES=libnvidia-opencl.so.1 {}; status=$?; "
                 "rmdir $none; exit $status")
        return self.compare(alone.format("clinfo -l"), alone.format("clinfo"))

    def build(self, name, *options, to=None):
        """Builds a program by the machine's own nvcc, for its own card, in self.enter's folder. A
        program that is built again needs another name, because a guest that has run it caches the
        file."""
        if self.rehearse:
            shutil.copy(os.path.join(HERE, "plain.py"), self.path(to or name))
            return
        command = ["nvcc", "-O2", *self.architecture(), *options, "-o", self.path(to or name), os.path.join(HERE, name + ".cu")]
        # Static libraries are tried first: the compiler may be newer than the libraries that the
        # loader finds.
        for static in (["-Xcompiler", "-static-libstdc++", "-Xcompiler", "-static-libgcc"], []):
            built = subprocess.run(command + static, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   timeout=self.left(180), check=False, text=True)
            if not built.returncode:
                return
        raise Failed(f"nvcc: {built.stdout.strip()[-300:]}")

    def architecture(self):
        """Returns nvcc's option for the machine's card. Programs for another one would be
        translated when they start."""
        try:
            found = self.query("compute_cap")[0].strip()
        except (OSError, subprocess.SubprocessError, LookupError):
            return []
        return ["-arch=sm_" + found.replace(".", "")] if re.fullmatch(r"\d+\.\d+", found) else []

    def vecadd(self):
        """Runs a program with copies, a stream and events."""
        self.build("vecadd")
        return self.compare(f"{self.enter}; ./vecadd", seconds=self.limit)

    def cuda(self):
        """Runs the smallest program that needs all that CUDA needs."""
        shutil.copy(os.path.join(HERE, "cuda.py"), self.work)
        return self.compare(f"{self.enter}; python3 cuda.py", seconds=self.limit)

    def opencl(self):
        """Runs a program of OpenCL, whose kernels the driver compiles."""
        shutil.copy(os.path.join(HERE, "opencl.py"), self.work)
        return self.compare(f"{self.enter}; none=$(mktemp -d) && OCL_ICD_VENDORS=$none OCL_ICD_FILENAMES=libnvidia-opencl.so.1 "
                            "python3 opencl.py; status=$?; rmdir $none; exit $status", seconds=180)

    def features(self):
        """Runs parts of CUDA that programs use beside copies and launches."""
        self.build("features")
        return self.compare(f"{self.enter}; ./features", seconds=300)

    def tools(self):
        """Compares other output of nvidia-smi. Left out are the card's nearest processors, which
        are the guest's own, and accounting, which is refused."""
        return self.compare("nvidia-smi -q -x | grep -v accounted_processes", "nvidia-smi topo -m | cut -f1,2",
                            "nvidia-smi dmon -c 1 -s m", "nvidia-smi pmon -c 1", "nvidia-smi nvlink -s", "nvidia-smi mig -lgip",
                            "nvidia-smi -q -d SUPPORTED_CLOCKS", "nvidia-smi --format=csv --query-gpu=name,uuid,pci.bus_id,"
                            "memory.total,compute_mode,mig.mode.current", "nvidia-smi --format=csv --query-compute-apps=name",
                            seconds=60)

    def debuggers(self):
        """Runs CUDA's memory checker, debugger and profiler. Addresses and process ids, which
        differ each time, are not compared."""
        self.build("vecadd", "-lineinfo", to="vecadd-lines")
        debugger = ("cuda-gdb --batch -ex 'set breakpoint pending on' -ex 'break add' -ex run -ex 'info cuda kernels' "
                    "-ex 'info symbol $pc' -ex 'info breakpoints' -ex delete "
                    "-ex continue ./vecadd-lines 2>&1 | sed -E 's/^(add.* in section|1\\.[12] )/# \\1/' | "
                    "grep -aE '^# |Breakpoint|Inferior|Kernel|right' | "
                    "sed -E 's/process [0-9]+/process/; /^#/!s/0x[0-9a-f]+/an address/g'")
        # The launch's parameters are always the same, but the card's counters are not.
        profiler = ("ncu --launch-count 1 --section LaunchStats ./vecadd-lines 2>&1 | "
                    "sed -E 's/process [0-9]+/process/; s/^\\[[0-9]+\\]/[process]/; s,\\(/.*/vecadd,(vecadd,'")
        return self.compare(f"{self.enter}; compute-sanitizer ./vecadd-lines", f"{self.enter}; {debugger}",
                            f"{self.enter}; {profiler}", seconds=200)

    def train(self):
        """Runs PyTorch's training, graphs, and libraries."""
        shutil.copy(os.path.join(HERE, "train.py"), self.work)
        return self.compare(f"{self.enter}; python3 train.py", seconds=440)

    def workers(self):
        """Runs PyTorch with a profiler, Triton's compiler, NCCL, and a process that shares memory
        of the card."""
        shutil.copy(os.path.join(HERE, "workers.py"), self.work)
        return self.compare(f"{self.enter}; export TRITON_CACHE_DIR=$(mktemp -d); python3 workers.py 2>/dev/null", seconds=440)

    def arrays(self):
        """Runs CuPy, whose kernels NVRTC compiles in the guest."""
        shutil.copy(os.path.join(HERE, "arrays.py"), self.work)
        return self.compare(f"{self.enter}; export CUPY_CACHE_DIR=$(mktemp -d); python3 arrays.py 2>/dev/null", seconds=400)

    def xla(self):
        """Runs JAX, whose functions LLVM and ptxas compile in the guest."""
        shutil.copy(os.path.join(HERE, "xla.py"), self.work)
        return self.compare(f"{self.enter}; python3 xla.py 2>/dev/null", seconds=440)

    def model(self):
        """Runs a language model of the library that most programs use."""
        shutil.copy(os.path.join(HERE, "model.py"), self.work)
        return self.compare(f"{self.enter}; python3 model.py 2>/dev/null", seconds=440)

    def torch(self):
        """Runs a product and an FFT by PyTorch, which takes minutes to load in an emulated
        machine."""
        return self.compare(f'python3 -c "{TORCH}"')

    def strangers(self):
        """Checks that the driver refuses RM clients of other programs: a native program's client
        in a guest, and a guest's client natively and in another guest."""
        engine = os.path.join(TOP, "userspace-lib/engine")
        client = self.path("nvidia_client")
        built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-I", os.path.dirname(engine),
                                "-I", os.path.join(TOP, "tests/mock"), "-o", client,
                                os.path.join(TOP, "tests/tools/nvidia_client.c"), os.path.join(engine, "memory/nvidia.c")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.left(60), check=False, text=True)
        if built.returncode:
            raise Failed(f"cc: {built.stdout.strip()[-300:]}")
        with subprocess.Popen(self.as_user(f"exec {client} owner"), stdout=subprocess.PIPE, text=True) as owner:
            try:
                handles = owner.stdout.readline().strip()
                seen = self.guest.must(f"{self.enter}; ./nvidia_client guest {handles}", 60)
            finally:
                owner.terminate()
            if owner.wait(10):
                raise Failed(f"the machine's own: status {owner.returncode} after the guest's program")
        # The guest's program writes its handles to a file as soon as it has them.
        handles = self.guest.must(f"{self.enter}; rm -f /tmp/handles /tmp/status; "
                                  "(./nvidia_client owner >/tmp/handles; echo $? >/tmp/status) >/dev/null 2>&1 & "
                                  "while [ ! -s /tmp/handles ]; do sleep 0.1; done; cat /tmp/handles", 60).strip()
        native = self.native(f"{client} stranger {handles}")
        if native.returncode:
            raise Failed(f"the machine's program and the guest's client: {native.stdout}")
        other = self.other_guest().must(f"{self.enter}; ./nvidia_client guest {handles}", 60)
        left = self.guest.must("pkill -TERM nvidia_client; while [ ! -s /tmp/status ]; do sleep 0.1; done; cat /tmp/status", 30).strip()
        if left != "0":
            raise Failed(f"the guest's own: status {left} after programs of the machine and of another guest")
        return f"in the guest: {seen.strip()}; here: {native.stdout.strip()}; in the other guest: {other.strip()}"

    def lend(self):
        """Runs lend.c, which checks that lent memory stays its guest's. Memory without an owner
        must be seen to change, which proves that the check works."""
        engine = os.path.join(TOP, "userspace-lib/engine")
        built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-I", os.path.dirname(engine),
                                "-o", self.path("lend"), os.path.join(HERE, "lend.c"),
                                os.path.join(engine, "memory/nvidia.c"), os.path.join(engine, "base/packet.c")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.left(60),
                               check=False, text=True)
        if built.returncode:
            raise Failed(f"cc: {built.stdout.strip()[-300:]}")
        said = {}
        for options in ((), ("--unowned",)):
            done = subprocess.run([self.path("lend"), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=self.left(240), check=False, text=True, errors="replace")
            said[options] = done
            self.write("lend.txt", f"$ lend {' '.join(options)}\n{done.stdout}status {done.returncode}\n\n")
        owned, unowned = said[()], said[("--unowned",)]
        wrong = [line for line in owned.stdout.splitlines() if line.startswith("FAIL")]
        if owned.returncode or wrong:
            raise Failed("; ".join(wrong) or f"status {owned.returncode}: {owned.stdout.strip()[-200:]}")
        if not re.search(r"^FAIL +taken by another: video memory", unowned.stdout, re.M):
            raise Failed("memory that nobody owns was not seen to change (lend.txt)")
        return f"{len(re.findall('^ok ', owned.stdout, re.M))} looks; without an owner video memory changes"


def connects(path, user):
    """Returns the errno that a user gets who connects to a socket, or None."""
    with socket.socket(socket.AF_UNIX) as client:
        before = os.geteuid()
        os.seteuid(user)
        try:
            client.connect(path)
        except OSError as error:
            return error.errno
        finally:
            os.seteuid(before)
    return None


MOVING = [
    # Numbers with units are measured anew each time.
    (re.compile(r"-?\b\d+(\.\d+)?\s*(C|W|MHz|MiB|KB/s|MB/s|%|us|ms|mV|V)(?![A-Za-z])"), "#"),
    (re.compile(r"^Timestamp .*|<timestamp>.*"), "Timestamp"),
    (re.compile(r"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*\d\d:\d\d:\d\d \d{4}\s*$"), "date"),
    # A card that has just worked becomes idle a moment later.
    (re.compile(r"\bIdle\s+: (Not )?Active|<clocks_event_reason_gpu_idle>(Not )?Active"), "Idle or not"),
    (re.compile(r" +"), " "),
]


def steady(text):
    """Returns the lines of a text without measurements and all that changes from moment to
    moment."""
    lines = []
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        for pattern, word in MOVING:
            line = pattern.sub(word, line)
        lines.append(line)
    return lines

