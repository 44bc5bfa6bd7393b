"""The server's ends of things: frames to the judge, captured output, relayed calls.

This module runs inside the sandbox and imports only small modules of the standard library.
"""

from __future__ import annotations

import _socket
import os
import select
import struct
from typing import Any

from budget_envs.sandbox import codec

__all__ = ["Capture", "Control", "Relay"]

_CHUNK = 1 << 16


class Control:
    """Frames to and from the judge: a 4-byte length, then an encoded tuple.

    Args:
        local: True if descriptor 0 is a socket, over which descriptors can travel; False if
            frames come on descriptor 0 and leave on descriptor 1.
    """

    def __init__(self, local: bool) -> None:
        self.socket = _socket.socket(fileno=0) if local else None

    def receive(self) -> tuple[Any, list[int]] | None:
        """Return the next frame and the descriptors that came along, or None at the end."""
        descriptors: list[int] = []
        header = self._read(4, descriptors)
        body = header and self._read(struct.unpack("<I", header)[0], descriptors)
        return (codec.decode(body), descriptors) if body else None

    def send(self, frame: tuple[object, ...]) -> None:
        """Write one frame, waiting for the judge if it has to."""
        body = codec.encode(frame)
        rest = memoryview(struct.pack("<I", len(body)) + body)
        while rest:
            rest = rest[os.write(0 if self.socket else 1, rest) :]

    def _read(self, size: int, descriptors: list[int]) -> bytes | None:
        received = bytearray()
        while len(received) < size:
            chunk = self._read_some(size - len(received), descriptors)
            if not chunk:
                return None
            received += chunk
        return bytes(received)

    def _read_some(self, size: int, descriptors: list[int]) -> bytes:
        if self.socket is None:
            return os.read(0, size)
        try:
            chunk, ancillary, _, _ = self.socket.recvmsg(size, _socket.CMSG_LEN(4))
        except ConnectionError:
            return b""
        descriptors.extend(struct.unpack("i", body)[0] for _, _, body in ancillary)
        return chunk


class Capture:
    """Keeps the first bytes of a pipe and drops the rest, so that a flood costs no memory.

    Args:
        descriptor: Reading end of the pipe; closed by `close`.
        limit: How many bytes to keep.
    """

    def __init__(self, descriptor: int, limit: int) -> None:
        self.descriptor = descriptor
        self.limit = limit
        self.kept = bytearray()
        self.overflowed = False

    def pump(self) -> bool:
        """Read once; return False at the end of the stream."""
        chunk = os.read(self.descriptor, _CHUNK)
        room = self.limit - len(self.kept)
        self.kept += chunk[:room]
        self.overflowed = self.overflowed or len(chunk) > room
        return bool(chunk)


class Relay:
    """Carries a child's call channel over the control stream, where descriptors cannot travel.

    One reply is read for each request, so a child that floods its channel blocks itself and not
    this server. An empty reply says that the child closed the channel.
    """

    def __init__(self, control: Control, poller: select.poll) -> None:
        self.control = control
        self.poller = poller
        ours, self.theirs = _socket.socketpair()
        self.channel: _socket.socket | None = ours
        ours.setblocking(False)
        self.descriptor = ours.fileno()
        self.outgoing = bytearray()
        self.incoming = bytearray()
        self.expected = 0
        self._watch()

    def request(self, body: bytes) -> None:
        """Queue the bytes of one request."""
        if self.channel is None:
            self.control.send(("reply", b""))
            return
        self.outgoing += body
        self.expected += 1
        self._watch()

    def on_event(self, event: int) -> None:
        """Move what can be moved now."""
        if self.channel is None:
            return
        try:
            if event & select.POLLOUT:
                del self.outgoing[: self.channel.send(self.outgoing)]
            if event & ~select.POLLOUT:
                self._read(self.channel)
        except BlockingIOError:
            pass
        except OSError:
            self._end()
        self._watch()

    def drain(self) -> None:
        """Pass on what a child that is dead had answered."""
        try:
            while self.channel is not None and self.expected:
                self._read(self.channel)
        except OSError:
            self._end()

    def close(self) -> None:
        """Close the channel: the child then ends by itself."""
        if self.channel is not None:
            self.poller.unregister(self.descriptor)
            self.channel.close()
            self.channel = None

    def _watch(self) -> None:
        if self.channel is not None:
            reading = select.POLLIN if self.expected else 0
            writing = select.POLLOUT if self.outgoing else 0
            self.poller.register(self.descriptor, reading | writing)

    def _read(self, channel: _socket.socket) -> None:
        chunk = channel.recv(min(self._missing(), _CHUNK)) if self.expected else b""
        if not chunk:
            self._end()
            return
        self.incoming += chunk
        if self._missing() == 0:
            self.control.send(("reply", bytes(self.incoming)))
            self.incoming.clear()
            self.expected -= 1

    def _missing(self) -> int:
        if len(self.incoming) < 4:
            return 4 - len(self.incoming)
        announced: int = struct.unpack_from("<I", self.incoming)[0]
        if announced > codec.MAX_BYTES:  # the judge takes no more: let it see the length alone
            return 0
        return 4 + announced - len(self.incoming)

    def _end(self) -> None:
        self.close()
        for _ in range(self.expected):
            self.control.send(("reply", b""))
        self.expected = 0
