#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""nccl.py one|each

Adds up numbers over all cards by NCCL, in one process with all cards, or in one process for each
card. It prints "right", "refused: WHERE: ERROR" or "wrong: HOW", as others.cu does. NVLink's
multicast stays
off: its teams are those of the host, and a program that uses it can put cards of others out of
service."""

import ctypes
import glob
import os
import sys

os.environ |= {"NCCL_NVLS_ENABLE": "0", "NCCL_SOCKET_IFNAME": "lo"}
COUNT = 1 << 20
FLOAT, SUM = 7, 0


class Refused(Exception):
    """A library has returned an error."""


class Id(ctypes.Structure):
    """ncclUniqueId, by which processes join a group."""
    _fields_ = [("bytes", ctypes.c_char * 128)]


def library():
    """Loads NCCL, from PyTorch's packages or the system."""
    for path in [*sys.path, ""]:
        found = glob.glob(os.path.join(path, "nvidia/nccl/lib/libnccl.so.2")) if path else ["libnccl.so.2"]
        for name in found:
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
    raise Refused("no libnccl.so.2")


def ask(where, name, *args):
    status = getattr(where, name)(*args)
    if status:
        raise Refused(f"{name}: error {status}")


class Card:
    """A card with memory whose numbers are added up."""

    def __init__(self, cuda, index):
        self.cuda, self.index = cuda, index
        device, self.context, self.memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
        ask(cuda, "cuDeviceGet", ctypes.byref(device), index)
        ask(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.use()
        ask(cuda, "cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(4 * COUNT))
        numbers = (ctypes.c_float * COUNT)(*(float((index + 1) * (i % 1000)) for i in range(COUNT)))
        ask(cuda, "cuMemcpyHtoD_v2", self.memory, numbers, ctypes.c_size_t(4 * COUNT))

    def use(self):
        ask(self.cuda, "cuCtxSetCurrent", self.context)

    def add(self, nccl, comm):
        self.use()
        ask(nccl, "ncclAllReduce", ctypes.c_void_p(self.memory.value), ctypes.c_void_p(self.memory.value),
            ctypes.c_size_t(COUNT), FLOAT, SUM, comm, None)

    def wrong(self, cards):
        """Returns a text about the first wrong number, or None."""
        self.use()
        ask(self.cuda, "cuCtxSynchronize")
        back = (ctypes.c_float * COUNT)()
        ask(self.cuda, "cuMemcpyDtoH_v2", back, self.memory, ctypes.c_size_t(4 * COUNT))
        factor = cards * (cards + 1) // 2
        for i, number in enumerate(back):
            if number != factor * (i % 1000):
                return f"number {i} of card {self.index} is {number}, not {factor * (i % 1000)}"
        return None


def one(nccl, cuda, cards):
    """Adds up over all cards in this process."""
    comms = (ctypes.c_void_p * cards)()
    ask(nccl, "ncclCommInitAll", comms, cards, None)
    there = [Card(cuda, index) for index in range(cards)]
    ask(nccl, "ncclGroupStart")
    for card in there:
        card.add(nccl, ctypes.c_void_p(comms[card.index]))
    ask(nccl, "ncclGroupEnd")
    return next(filter(None, (card.wrong(cards) for card in there)), None)


def member(nccl, cuda, cards, index, group):
    """Adds up as the process of one card."""
    card, comm = Card(cuda, index), ctypes.c_void_p()
    ask(nccl, "ncclCommInitRank", ctypes.byref(comm), cards, group, index)
    card.add(nccl, comm)
    return card.wrong(cards)


def said(function, *args):
    """Calls a function; returns the line to print about its result."""
    try:
        wrong = function(*args)
        return f"wrong: {wrong}" if wrong else "right"
    except Refused as error:
        return f"refused: {error}"


def count():
    """Returns the number of cards. A child asks for it, because a process that forks later must
    not have used CUDA."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        cuda, number = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        if not cuda.cuInit(0):
            cuda.cuDeviceGetCount(ctypes.byref(number))
        os.write(write, bytes([number.value]))
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(read, 1)[0]


def each(cards):
    """Runs a process for each card; the first one makes the group's id."""
    pipes = [os.pipe() for _ in range(cards)]
    answers = []
    for index in range(cards):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            nccl, cuda = library(), ctypes.CDLL("libcuda.so.1")
            group = Id()
            cuda.cuInit(0)
            if index:
                ctypes.memmove(ctypes.byref(group), os.read(pipes[index][0], ctypes.sizeof(group)), ctypes.sizeof(group))
            else:
                nccl.ncclGetUniqueId(ctypes.byref(group))
                for other in pipes[1:]:
                    os.write(other[1], bytes(group))
            os.write(write, said(member, nccl, cuda, cards, index, group).encode())
            os._exit(0)
        os.close(write)
        answers.append(read)
    lines = [os.read(answer, 4096).decode() or f"wrong: the process of card {index} has ended"
             for index, answer in enumerate(answers)]
    return next((line for line in lines if line != "right"), "right")


def main():
    cards = count()
    if cards < 2:
        print("refused: one card only")
        return 0
    if sys.argv[1] == "one":
        cuda = ctypes.CDLL("libcuda.so.1")
        cuda.cuInit(0)
        try:
            line = said(one, library(), cuda, cards)
        except Refused as error:
            line = f"refused: {error}"
    else:
        line = each(cards)
    print(line)
    return line.startswith("wrong")


if __name__ == "__main__":
    sys.exit(main())
