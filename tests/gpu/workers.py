#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs PyTorch with processes that share the card's memory, a profiler, a kernel that Triton
compiles, and weights from a file. Its output is the same natively and in a guest."""

import os
import tempfile
import warnings

import torch
import torch.distributed
import torch.multiprocessing
import triton
import triton.language as tl

COUNT = 1 << 16


@triton.jit
def add_kernel(left, right, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < count
    tl.store(out + at, tl.load(left + at, mask=there) + tl.load(right + at, mask=there), mask=there)


def compiled():
    left, right = torch.arange(COUNT, device="cuda"), torch.full((COUNT,), 5, device="cuda")
    out = torch.empty_like(left)
    add_kernel[(triton.cdiv(COUNT, 1024),)](left, right, out, COUNT, BLOCK=1024)
    print("triton", torch.equal(out.cpu(), torch.arange(COUNT) + 5), flush=True)


def profiled():
    value = torch.rand(512, 512, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                            torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            value = (value @ value).softmax(0)
        torch.cuda.synchronize()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    names = sorted({event.name.split("(")[0].split("<")[0] for event in kernels})
    print("profiler", len(kernels), "kernels,", all(event.device_time > 0 for event in kernels), names, flush=True)


def double(tensor, told):
    tensor.mul_(2)
    torch.cuda.synchronize()
    told.put("doubled")


def shared():
    context = torch.multiprocessing.get_context("spawn")
    tensor, told = torch.arange(COUNT, device="cuda"), context.Queue()
    process = context.Process(target=double, args=(tensor, told))
    process.start()
    print("another process", told.get(timeout=200), end=" ", flush=True)
    process.join(60)
    print(torch.equal(tensor.cpu(), torch.arange(COUNT) * 2), process.exitcode, flush=True)


def alone():
    with tempfile.NamedTemporaryFile() as file:
        torch.distributed.init_process_group("nccl", init_method=f"file://{file.name}", rank=0, world_size=1)
        tensor = torch.ones(COUNT, device="cuda")
        torch.distributed.all_reduce(tensor)
        print("NCCL of one", tensor.sum().item() == COUNT, flush=True)
        torch.distributed.destroy_process_group()


def from_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights")
        weights = {str(i): torch.arange(i, i + (4 << 20), dtype=torch.int32) for i in range(4)}
        torch.save(weights, path)
        loaded = torch.load(path, mmap=True, map_location="cuda")
        print("weights of a file", all(torch.equal(loaded[name].cpu(), weights[name]) for name in weights), flush=True)


if __name__ == "__main__":
    # Warnings are off, because they contain the program's folder.
    warnings.simplefilter("ignore")
    print(torch.__version__, triton.__version__, flush=True)
    for part in (compiled, profiled, alone, from_file, shared):
        try:
            part()
        except Exception as error:    # pylint: disable=broad-exception-caught
            print(part.__name__, "fails:", type(error).__name__, str(error).splitlines()[0][:200], flush=True)
