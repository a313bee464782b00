"""A client of Groot2's protocol, with its own ZMTP 3.0."""

import socket
import struct

from .graph import PATIENCE

#: The number of each request of these tests.
NUMBER = b"\x01\x02\x03\x04"


class Zmtp:
    """A connection to a ZeroMQ socket."""

    def __init__(self, port, kind):
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        self._frame(4, b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind)
        assert self._read(64)[0] == 0xFF
        self._read_frame()

    def close(self):
        self._socket.close()

    def send(self, *parts):
        for index, part in enumerate(parts):
            self._frame(int(index < len(parts) - 1), part)

    def receive(self):
        parts = []
        while True:
            flags, part = self._read_frame()
            parts.append(part)
            if not flags & 1:
                return parts

    def _frame(self, flags, part):
        length = bytes([flags, len(part)]) if len(part) < 256 else bytes([flags | 2]) + struct.pack(">Q", len(part))
        self._socket.sendall(length + part)

    def _read_frame(self):
        flags = self._read(1)[0]
        length = struct.unpack(">Q", self._read(8))[0] if flags & 2 else self._read(1)[0]
        return flags, self._read(length)

    def _read(self, count):
        data = b""
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            assert piece, "the connection is closed"
            data += piece
        return data


class Groot2(Zmtp):
    """The requests of Groot2."""

    def __init__(self, port):
        super().__init__(port, b"REQ")

    def ask(self, letter, *content):
        """The parts of the reply. Of a header: what does not depend on the run."""
        self.send(b"", b"\x02" + letter + NUMBER, *content)
        empty, *parts = self.receive()
        assert empty == b""
        if parts[0] != b"error":
            assert len(parts[0]) == 22
            parts[0] = parts[0][:6]
        return parts

    def statuses(self):
        """UID to code."""
        data = self.ask(b"S")[1]
        return {uid: code for uid, code in struct.iter_unpack("<HB", data)}
