#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adds numbers on a GPU by OpenCL alone. It uses kernels that the driver compiles, buffers that are
copied and mapped, local memory, and events."""

import array
import ctypes
import sys

COUNT = 1 << 18
SIZE = COUNT * 4
SOURCE = b"""
__kernel void add(__global const float *a, __global const float *b, __global float *sum)
{
	int i = get_global_id(0);

	sum[i] = a[i] + b[i];
}

__kernel void sums(__global const float *a, __global float *sums, __local float *part)
{
	int i = get_local_id(0);

	part[i] = a[get_global_id(0)];
	for (int half = get_local_size(0) / 2; half; half /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < half)
			part[i] += part[i + half];
	}
	if (!i)
		sums[get_group_id(0)] = part[0];
}
"""
GPU, ALL_BUILD = 1 << 2, 0x1183
READ_WRITE, ALLOC_HOST_PTR, PROFILING, MAP_READ, MAP_WRITE = 1 << 0, 1 << 4, 1 << 1, 1, 2
DEVICE_NAME, PROFILING_START, PROFILING_END = 0x102B, 0x1282, 0x1283


def main():
    library = ctypes.CDLL("libOpenCL.so.1")
    done = ctypes.c_int()

    def ask(name, *args):
        error = getattr(library, name)(*args)
        if error:
            raise SystemExit(f"{name}: error {error}")

    def make(name, *args):
        function = getattr(library, name)
        function.restype = ctypes.c_void_p
        made = function(*args, ctypes.byref(done))
        if done.value or not made:
            raise SystemExit(f"{name}: error {done.value}")
        return ctypes.c_void_p(made)

    platform, device = ctypes.c_void_p(), ctypes.c_void_p()
    ask("clGetPlatformIDs", 1, ctypes.byref(platform), None)
    ask("clGetDeviceIDs", platform, ctypes.c_uint64(GPU), 1, ctypes.byref(device), None)
    name = ctypes.create_string_buffer(256)
    ask("clGetDeviceInfo", device, DEVICE_NAME, ctypes.c_size_t(256), name, None)
    context = make("clCreateContext", None, 1, ctypes.byref(device), None, None)
    queue = make("clCreateCommandQueue", context, device, ctypes.c_uint64(PROFILING))
    source = ctypes.c_char_p(SOURCE)
    program = make("clCreateProgramWithSource", context, 1, ctypes.byref(source), None)
    if library.clBuildProgram(program, 1, ctypes.byref(device), b"", None, None):
        log = ctypes.create_string_buffer(4096)
        library.clGetProgramBuildInfo(program, device, ALL_BUILD, ctypes.c_size_t(4096), log, None)
        raise SystemExit(f"clBuildProgram: {log.value.decode()}")
    add, sums = make("clCreateKernel", program, b"add"), make("clCreateKernel", program, b"sums")

    def buffer(flags=READ_WRITE, size=SIZE):
        return make("clCreateBuffer", context, ctypes.c_uint64(flags), ctypes.c_size_t(size), None)

    def set_args(kernel, *args):
        for i, (size, value) in enumerate(args):
            ask("clSetKernelArg", kernel, i, ctypes.c_size_t(size), value)

    def enqueue(kernel, size, local):
        event = ctypes.c_void_p()
        ask("clEnqueueNDRangeKernel", queue, kernel, 1, None, ctypes.byref(ctypes.c_size_t(size)),
            ctypes.byref(ctypes.c_size_t(local)), 0, None, ctypes.byref(event))
        return event

    def pointer(handle):
        return 8, ctypes.byref(handle)

    first = array.array("f", [i % 1000 for i in range(COUNT)])
    second = array.array("f", [i % 777 * 2 for i in range(COUNT)])
    a, b, out, totals = buffer(), buffer(READ_WRITE | ALLOC_HOST_PTR), buffer(), buffer(size=4096)
    where = first.buffer_info()[0]
    ask("clEnqueueWriteBuffer", queue, a, 1, ctypes.c_size_t(0), ctypes.c_size_t(SIZE), ctypes.c_void_p(where), 0, None, None)
    mapped = make("clEnqueueMapBuffer", queue, b, 1, ctypes.c_uint64(MAP_READ | MAP_WRITE), ctypes.c_size_t(0),
                  ctypes.c_size_t(SIZE), 0, None, None)
    ctypes.memmove(mapped, second.tobytes(), SIZE)
    ask("clEnqueueUnmapMemObject", queue, b, mapped, 0, None, None)
    set_args(add, pointer(a), pointer(b), pointer(out))
    for _ in range(20):
        event = enqueue(add, COUNT, 256)
    set_args(sums, pointer(out), pointer(totals), (1024, None))
    enqueue(sums, COUNT, 256)
    ask("clFinish", queue)
    times = [ctypes.c_uint64(), ctypes.c_uint64()]
    for what, value in zip((PROFILING_START, PROFILING_END), times):
        ask("clGetEventProfilingInfo", event, what, ctypes.c_size_t(8), ctypes.byref(value), None)
    back, parts = array.array("f", bytes(SIZE)), array.array("f", bytes(4096))
    for handle, into, size in ((out, back, SIZE), (totals, parts, 4096)):
        ask("clEnqueueReadBuffer", queue, handle, 1, ctypes.c_size_t(0), ctypes.c_size_t(size),
            ctypes.c_void_p(into.buffer_info()[0]), 0, None, None)
    expected = [x + y for x, y in zip(first, second)]
    if list(back) != expected:
        wrong = next(i for i in range(COUNT) if back[i] != expected[i])
        print(f"number {wrong} is {back[wrong]}, not {expected[wrong]}")
        return 1
    if list(parts) != [sum(expected[i:i + 256]) for i in range(0, COUNT, 256)]:
        print("a group's sum is wrong")
        return 1
    if not 0 < times[1].value - times[0].value < 10**9:
        print(f"the kernel took {times[1].value - times[0].value} ns")
        return 1
    for handle, kind in ((a, "MemObject"), (b, "MemObject"), (out, "MemObject"), (totals, "MemObject"), (add, "Kernel"),
                         (sums, "Kernel"), (program, "Program"), (queue, "CommandQueue"), (context, "Context")):
        ask(f"clRelease{kind}", handle)
    print(name.value.decode(), "right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
