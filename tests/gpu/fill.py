#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fill.py MARK SECONDS: allocates 1 GiB of a GPU's memory by libcuda, writes words with that mark
(tests/tools/hunt.h) to all of it, reads them back, and frees it, again and again. The exit status
is 1 if a word has changed."""

import ctypes
import struct
import sys
import time

SIZE = 1 << 30
PIECE = 64 << 20
MAGIC = 0x68756e74


def main():
    cuda = ctypes.CDLL("libcuda.so.1")
    mark, seconds = map(int, sys.argv[1:])

    def call(name, *args):
        status = getattr(cuda, name)(*args)
        if status:
            print(f"{name}: error {status}")
            sys.exit(2)

    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    words = b"".join(struct.pack("<Q", MAGIC << 32 | mark << 24 | number) for number in range(1 << 16))
    there = words * (PIECE // len(words))
    back = ctypes.create_string_buffer(PIECE)
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    until = time.monotonic() + seconds
    times = 0
    while time.monotonic() < until:
        call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(SIZE))
        places = [ctypes.c_uint64(memory.value + at) for at in range(0, SIZE, PIECE)]
        for place in places:
            call("cuMemcpyHtoD_v2", place, there, ctypes.c_size_t(PIECE))
        for place in places:
            call("cuMemcpyDtoH_v2", back, place, ctypes.c_size_t(PIECE))
            if back.raw != there:
                wrong = next(at for at in range(0, PIECE, 8) if back.raw[at:at + 8] != there[at:at + 8])
                print(f"word at {place.value + wrong - memory.value:#x} of {SIZE:#x}: {back.raw[wrong:wrong + 8].hex()}")
                return 1
        call("cuMemFree_v2", memory)
        times += 1
    call("cuCtxDestroy_v2", context)
    print(f"{times} times 1 GiB, all of it as written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
