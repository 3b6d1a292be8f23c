# SPDX-License-Identifier: GPL-2.0-only
"""Joins two VMs: connections of the guest VM to CID 2 arrive in the host VM.

    guest VM -- vhost-device-vsock -- guest.vsock_PORT
                                          |  pump
    host VM --- vhost-device-vsock -- host.vsock

Each VM sees the other as CID 2. Source ports are not preserved.
"""

import os
import signal
import socket
import subprocess
import threading
import time

from vm import HERE, VmDied

PORT = 22586        # VGPU_WIRE_PORT
# Bytes of credit that a VM gets. vhost-device-vsock accepts only packets with a single piece of
# data. Kernels send packets of more than 32 KiB in several pieces, but not without that credit.
TX_BUFFER = 28 << 10
# Seconds that the daemons may take to start on a busy machine.
START = 120


class Bridge:
    def __init__(self, rundir, port=PORT):
        self.rundir = rundir
        self.port = port
        self.daemons = []
        self.pairs = set()
        self.lock = threading.Lock()
        self.server = None

    def start(self):
        for name, cid in (("host", 3), ("guest", 4)):
            with open(os.path.join(self.rundir, name + ".vhost.log"), "w", encoding="utf-8") as log:
                self.daemons.append(subprocess.Popen(
                    [os.path.join(HERE, "in-root"), "-r", "qemu", "-o", self.rundir,
                     "vhost-device-vsock", "--guest-cid", str(cid),
                     "--uds-path", f"/out/{name}.vsock", "--socket", f"/out/{name}.vhost",
                     "--tx-buffer-size", str(TX_BUFFER)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))
        deadline = time.monotonic() + START
        for name in ("host", "guest"):
            while not os.path.exists(os.path.join(self.rundir, name + ".vhost")):
                if time.monotonic() > deadline:
                    raise VmDied("vhost-device-vsock did not start")
                time.sleep(0.05)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(os.path.join(self.rundir, f"guest.vsock_{self.port}"))
        self.server.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                guest = self.server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._join, args=(guest,), daemon=True).start()

    def _join(self, guest):
        host = socket.socket(socket.AF_UNIX)
        try:
            host.connect(os.path.join(self.rundir, "host.vsock"))
            host.sendall(f"CONNECT {self.port}\n".encode())
            answer = b""
            while not answer.endswith(b"\n"):
                byte = host.recv(1)
                if not byte:
                    raise OSError("refused")
                answer += byte
        except OSError:
            guest.close()
            host.close()
            return
        with self.lock:
            self.pairs.add((guest, host))
        back = threading.Thread(target=pump, args=(host, guest), daemon=True)
        back.start()
        pump(guest, host)
        back.join()
        with self.lock:
            self.pairs.discard((guest, host))
        guest.close()
        host.close()

    def cut(self):
        """Shuts down all connections at once, as if the host was lost."""
        with self.lock:
            for pair in self.pairs:
                for end in pair:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass

    def stop(self):
        if self.server:
            self.server.close()
        self.cut()
        for daemon in self.daemons:
            try:
                os.killpg(daemon.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            daemon.wait()


def pump(source, sink):
    try:
        while data := source.recv(262144):
            sink.sendall(data)
    except OSError:
        pass
    for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        try:
            end.shutdown(how)
        except OSError:
            pass
