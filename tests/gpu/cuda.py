#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Copies to a GPU's memory and back, by libcuda alone. It prints each function before the call."""

import ctypes
import sys

SIZE = 4 << 20


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        print(name, flush=True)
        status = getattr(cuda, name)(*args)
        if status:
            print(f"{name}: error {status}", flush=True)
            sys.exit(1)

    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    there = (ctypes.c_uint8 * SIZE).from_buffer(bytearray(i * 7 & 255 for i in range(4096)) * (SIZE // 4096))
    back = (ctypes.c_uint8 * SIZE)()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(SIZE))
    call("cuMemcpyHtoD_v2", memory, there, ctypes.c_size_t(SIZE))
    call("cuMemsetD8_v2", ctypes.c_uint64(memory.value + 4096), ctypes.c_uint8(90), ctypes.c_size_t(4096))
    call("cuMemcpyDtoH_v2", back, memory, ctypes.c_size_t(SIZE))
    expected = bytes(there)[:4096] + bytes([90]) * 4096 + bytes(there)[8192:]
    if bytes(back) != expected:
        wrong = next(i for i in range(SIZE) if back[i] != expected[i])
        print(f"byte {wrong} is {back[wrong]}, not {expected[wrong]}")
        return 1
    call("cuMemFree_v2", memory)
    call("cuCtxDestroy_v2", context)
    print("right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
