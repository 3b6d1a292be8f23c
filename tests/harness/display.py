# SPDX-License-Identifier: GPL-2.0-only
"""Changes the size of a VM's display, which QEMU offers by VNC (RFC 6143)."""

import socket
import struct

# Message of the extension "Extended Desktop Size" by which a client asks for another size.
SET_DESKTOP_SIZE = 251
NO_AUTHENTICATION = 1


class Display:
    """A VNC connection to a VM's display, open during a with statement."""

    def __init__(self, path):
        """path: path of QEMU's VNC socket"""
        self.path = path
        self.sock = None

    def __enter__(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)
        self.sock.sendall(self._take(12))       # agrees to the server's protocol version
        if NO_AUTHENTICATION not in self._take(self._take(1)[0]):
            raise OSError(f"{self.path}: wants a password")
        self.sock.sendall(bytes([NO_AUTHENTICATION]))
        if struct.unpack(">I", self._take(4))[0]:
            raise OSError(f"{self.path}: refuses")
        self.sock.sendall(b"\1")                # allows other clients
        name_len = struct.unpack(">20xI", self._take(24))[0]
        self._take(name_len)
        return self

    def __exit__(self, *_):
        self.sock.close()

    def _take(self, nr):
        data = b""
        while len(data) < nr:
            more = self.sock.recv(nr - len(data))
            if not more:
                raise OSError(f"{self.path}: closed")
            data += more
        return data

    def resize(self, width, height):
        """Asks QEMU to notify the VM's virtio-gpu that its display has this size."""
        self.sock.sendall(struct.pack(">BxHHBx", SET_DESKTOP_SIZE, width, height, 1) +
                          struct.pack(">IHHHHI", 0, 0, 0, width, height, 0))
