#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs CuPy on a GPU: kernels that NVRTC compiles at run time, NVIDIA's libraries, pools, streams
and pinned memory. Its output is the same natively and in a guest."""

import cupy
import numpy

COUNT = 1 << 16


def kernels():
    """Runs a kernel of each of CuPy's three kinds, which are compiled at run time."""
    raw = cupy.RawKernel(r'''
        extern "C" __global__ void twice(const int *in, int *out, int count)
        {
            int at = blockIdx.x * blockDim.x + threadIdx.x;
            if (at < count)
                out[at] = 2 * in[at];
        }''', "twice")
    numbers = cupy.arange(COUNT, dtype=cupy.int32)
    out = cupy.zeros_like(numbers)
    raw((COUNT // 256,), (256,), (numbers, out, numpy.int32(COUNT)))
    print("raw kernel", bool((cupy.asnumpy(out) == 2 * numpy.arange(COUNT)).all()), flush=True)
    square = cupy.ElementwiseKernel("int64 x", "int64 y", "y = x * x", "square")
    print("elementwise", bool((cupy.asnumpy(square(numbers.astype(cupy.int64))) == numpy.arange(COUNT) ** 2).all()), flush=True)
    most = cupy.ReductionKernel("int32 x", "int32 y", "x", "max(a, b)", "y = a", "-1", "most")
    print("reduction", int(most(numbers)) == COUNT - 1, flush=True)


def libraries():
    """Runs functions of cuBLAS, cuSOLVER, cuFFT, cuRAND, and a sort by CUB."""
    host = numpy.random.default_rng(1).random((256, 256))
    device = cupy.asarray(host)
    print("product", numpy.allclose(cupy.asnumpy(device @ device), host @ host), flush=True)
    print("inverse", bool(cupy.allclose(cupy.linalg.inv(device) @ device, cupy.eye(256))), flush=True)
    print("transform", numpy.allclose(cupy.asnumpy(cupy.fft.fft2(device)), numpy.fft.fft2(host)), flush=True)
    print("random", cupy.random.default_rng(7).random(3).tolist(), flush=True)
    print("sorted", bool((cupy.asnumpy(cupy.sort(device.ravel())) == numpy.sort(host.ravel())).all()), flush=True)


def pinned():
    """Copies from and to pinned memory on a stream, between two events."""
    there = cupy.cuda.alloc_pinned_memory(4 * COUNT)
    host = numpy.frombuffer(there, numpy.int32, COUNT)
    host[:] = numpy.arange(COUNT)
    stream, first, last = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event(), cupy.cuda.Event()
    with stream:
        first.record()
        device = cupy.empty(COUNT, cupy.int32)
        device.set(host, stream)
        device += 1
        device.get(stream, out=host)
        last.record()
    stream.synchronize()
    print("pinned", bool((host == numpy.arange(1, COUNT + 1)).all()),
          cupy.cuda.get_elapsed_time(first, last) > 0, flush=True)


def pools():
    """Allocates memory from CUDA's own pool, and checks the pool's size after it is freed."""
    with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
        ones = cupy.ones(COUNT)
        print("pool of CUDA", float(ones.sum()) == COUNT, flush=True)
        del ones
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    print("pool", pool.used_bytes(), flush=True)


if __name__ == "__main__":
    print(cupy.__version__, cupy.cuda.runtime.getDeviceCount(), flush=True)
    for part in (kernels, libraries, pinned, pools):
        try:
            part()
        except Exception as error:    # pylint: disable=broad-exception-caught
            print(part.__name__, "fails:", type(error).__name__, str(error).splitlines()[:1], flush=True)
