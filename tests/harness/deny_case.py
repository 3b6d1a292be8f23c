# SPDX-License-Identifier: GPL-2.0-only
"""System calls of chosen code that fail: a seccomp filter reports them to a thread, which lets one
of them fail and the others run. It works for programs without a libc, too."""

import ctypes
import fcntl
import os
import select
import socket
import struct
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER = 317, 1, 1 << 3
USER_NOTIF, ALLOW = 0x7fc00000, 0x7fff0000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
# Offsets in struct seccomp_data: the number of the call, and the upper half of the instruction's address.
NUMBER, UPPER = 0, 12
# SECCOMP_IOCTL_NOTIF_RECV and SEND.
RECEIVE, SEND = 0xc0502100, 0xc0182101
CONTINUE = 1
# struct seccomp_notif: number, pid, flags, and struct seccomp_data
NOTIFICATION = struct.Struct("=QII iIQ6Q")
ENOMEM = 12


class Prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def listen(numbers, upper):
    """Has the kernel report system calls of these numbers of the calling process and its children, if
    the upper half of the instruction's address is upper. Returns the listener."""
    def line(code, value, yes=0, no=0):
        return struct.pack("=HBBI", code, yes, no, value)

    lines = [line(LOAD, UPPER), line(EQUAL, upper, 0, len(numbers) + 1), line(LOAD, NUMBER)]
    for at, number in enumerate(numbers):
        lines.append(line(EQUAL, number, len(numbers) - at))
    lines += [line(RETURN, ALLOW), line(RETURN, USER_NOTIF)]
    code = b"".join(lines)
    prog = Prog(len(lines), code)
    fd = LIBC.syscall(SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER, ctypes.byref(prog))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return fd


class Deny:
    """Lets one of the reported system calls fail with ENOMEM."""

    def __init__(self, numbers, upper):
        self.numbers, self.upper = numbers, upper
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.nth = 0
        # Number of the last system call that has failed.
        self.failed = None
        self.lock = threading.Lock()

    def prepare(self):
        """Runs in the child, before it executes its program."""
        fd = listen(self.numbers, self.upper)
        socket.send_fds(self.theirs, [b"x"], [fd])
        os.close(fd)

    def begin(self):
        """Starts the thread, once the child has been started."""
        self.theirs.close()
        _, fds, _, _ = socket.recv_fds(self.ours, 1, 1)
        self.thread = threading.Thread(target=self.answer, args=(fds[0],), daemon=True)
        self.thread.start()

    def arm(self, nth):
        """Makes system call number nth from now on fail; 0: none. Returns the number that was left."""
        with self.lock:
            left, self.nth = self.nth, nth
        return left

    def answer(self, fd):
        while True:
            events = select.poll()
            events.register(fd, select.POLLIN)
            if any(event & select.POLLHUP for _, event in events.poll()):
                os.close(fd)
                return
            try:
                notification = fcntl.ioctl(fd, RECEIVE, bytes(NOTIFICATION.size))
                number, = struct.unpack_from("=Q", notification)
                with self.lock:
                    fails = self.nth == 1
                    if fails:
                        self.failed = NOTIFICATION.unpack(notification)[3]
                    self.nth -= self.nth > 0
                fcntl.ioctl(fd, SEND, struct.pack("=QqiI", number, 0, -ENOMEM if fails else 0, 0 if fails else CONTINUE))
            except FileNotFoundError:
                # The process has ended meanwhile.
                continue
