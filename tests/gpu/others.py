# SPDX-License-Identifier: GPL-2.0-only
"""Steps that try Vulkan, EGL, and other features: each works, or is refused with an error."""

import errno
import glob
import json
import os
import shlex
import shutil
import subprocess

from machine import HERE, Failed

# PCI vendor of the cards.
NVIDIA = "0x10de"
CUDA = ("plain", "registered", "mapped", "ipc", "peer", "nvenc")
# Only errors by which features may be refused in the guest that work natively: libraries depend on
# the error.
REFUSED = {"managed": "refused: cudaMallocManaged(&data, bytes): cudaErrorNotSupported",
           "variable": "refused: cudaGetLastError(): cudaErrorNotSupported",
           "uvm": f"refused: mmap: errno {errno.EOPNOTSUPP}"}
# Command that runs a program with an MPS server of its own.
MPS = ("dir=$(mktemp -d); export CUDA_MPS_PIPE_DIRECTORY=$dir CUDA_MPS_LOG_DIRECTORY=$dir; "
       "if timeout 20 nvidia-cuda-mps-control -d >$dir/said 2>&1; then timeout 100 ./others plain; status=$?; "
       "echo quit | timeout 30 nvidia-cuda-mps-control >/dev/null 2>&1; "
       "else echo \"refused: nvidia-cuda-mps-control -d: $(cat $dir/said)\"; status=0; fi; "
       "sed 's/^/# /' $dir/*.log 2>/dev/null | tail -n 8; rm -r $dir; exit $status")


def manifest(run, variable, name, library, patterns):
    """Returns the environment variable that makes a loader use NVIDIA's driver alone: it names the
    machine's own file, or a new one with the library's name."""
    found = next((path for pattern in patterns for path in sorted(glob.glob(pattern))), None)
    if found:
        return f"{variable}={shlex.quote(found)}"
    with open(run.path(name), "w", encoding="ascii") as file:
        json.dump({"file_format_version": "1.0.0", "ICD": {"library_path": library, "api_version": "1.3.0"}}, file)
    return f"{variable}=$PWD/{name}"


def loaded(setting, program):
    """Returns a command that runs a program of the kit, with the kit's loader and libraries before
    the machine's."""
    kit = "kit/vulkan"
    return (f"{setting} {kit}/lib/ld-linux-x86-64.so.2 --library-path $PWD/{kit}/lib:$LD_LIBRARY_PATH "
            f"{kit}/{program}")


def vulkan(run):
    """Runs vulkaninfo, and a compute shader whose results are checked."""
    setting = manifest(run, "VK_DRIVER_FILES", "nvidia_icd.json", "libGLX_nvidia.so.0",
                       ("/usr/local/nvidia/share/vulkan/icd.d/nvidia*.json", "/usr/share/vulkan/icd.d/nvidia*.json",
                        "/etc/vulkan/icd.d/nvidia*.json"))
    info = loaded(setting, "vulkaninfo")
    # Rates and the amounts of free memory are not compared, because they change each time.
    compute = (f"said=$({loaded(setting, f'vulkan {NVIDIA} 20')} 2>&1); status=$?; "
               "echo \"$said\" | sed 's/: [0-9.]* per second//'; exit $status")
    everything = (f"said=$({info} 2>&1); status=$?; "
                  "echo \"$said\" | grep -vE '^[[:space:]]*(size|budget|usage) +='; exit $status")
    said, commands = [], []
    for name, command in (("vulkaninfo --summary", f"{info} --summary"), ("a compute shader", compute), ("vulkaninfo", everything)):
        native = run.native(f"{run.enter}; {command}")
        if native.returncode:
            last = (native.stdout.strip().splitlines() or ["silent"])[-1]
            said.append(f"{name} does not run natively (status {native.returncode}): {last[-160:]}")
            run.write("native.txt", f"$ {command}\n{native.stdout}status {native.returncode}\n\n")
        else:
            commands.append(f"{run.enter}; {command}")
    run.measured["vulkan"] = {"natively_not": list(said), "compared": len(commands)}
    if commands:
        run.compare(*commands, seconds=120)
        said += [f"{command['lines']} lines the same in {command['seconds']} s ({command['calls']} calls)"
                 for command in run.commands[-len(commands):]]
    return "; ".join(said)


def egl(run):
    """Returns the command that tries EGL."""
    return loaded(manifest(run, "__EGL_VENDOR_LIBRARY_FILENAMES", "10_nvidia.json", "libEGL_nvidia.so.0",
                           ("/usr/local/nvidia/share/glvnd/egl_vendor.d/*nvidia*.json",
                            "/usr/share/glvnd/egl_vendor.d/*nvidia*.json")), "egl")


def verdict(status, text):
    """Returns the line with a program's verdict."""
    for line in text.splitlines():
        if line.startswith(("right", "refused: ", "wrong: ")):
            return line
    return f"status {status}: {text.strip()[-120:]}"


def try_natively(run, command, name):
    """Runs a command natively, as an ordinary user; all processes that it starts end with it.
    Returns its verdict and output."""
    try:
        done = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *run.as_user(command)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=run.left(150), check=False,
                              text=True, errors="replace", cwd="/tmp")
    except subprocess.TimeoutExpired:
        return "no end", ""
    run.write("native.txt", f"$ {name}\n{done.stdout}status {done.returncode}\n\n")
    return verdict(done.returncode, done.stdout), done.stdout


def as_it_should(name, native, guest):
    """Returns whether the guest's verdict is acceptable: "right", the native error, or the error in
    REFUSED."""
    return guest == "right" or guest.startswith("refused: ") and guest in (native, REFUSED.get(name))


def others(run):
    """Tries each feature: it must work or be refused with the right error, but not be wrong or
    hang."""
    run.build("others")
    run.build("others", "-DMANAGED_VARIABLE", to="variable")
    shutil.copy(os.path.join(HERE, "nccl.py"), run.work)
    tried = {name: f"{run.enter}; ./others {name}" for name in CUDA}
    tried |= {"EGL": f"{run.enter}; {egl(run)}", "MPS": f"{run.enter}; {MPS}",
              "managed": f"{run.enter}; ./others managed", "variable": f"{run.enter}; ./variable variable", "uvm": f"{run.enter}; ./others uvm",
              "nccl": f"{run.enter}; timeout 140 python3 nccl.py one", "nccls": f"{run.enter}; timeout 140 python3 nccl.py each"}
    table = run.measured["others"] = {}
    wrong = []
    for name, command in tried.items():
        native, _ = try_natively(run, command, name)
        try:
            status, text = run.guest.agent.run(command, run.left(150))
        except Failed:
            run.look(command)
            run.guest.abandon()
            raise
        run.write("guest.txt", f"$ {name}\n{text}status {status}\n\n")
        guest = verdict(status, text)
        table[name] = {"native": native, "guest": guest}
        run.save()
        if not as_it_should(name, native, guest):
            wrong.append(name)
    words = "; ".join(f"{name}: {row['guest']}" + ("" if row["guest"] == row["native"] else f" (natively {row['native']})")
                      for name, row in table.items())
    if wrong:
        raise Failed(f"neither right nor refused as known: {', '.join(wrong)}; {words}")
    return words
