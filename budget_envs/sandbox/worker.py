"""One sandbox server as the judge sees it: a stream of frames, each waited for with a deadline."""

from __future__ import annotations

import math
import os
import select
import socket
import struct
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from budget_envs.sandbox.boot import server_sources
from budget_envs.sandbox.codec import MalformedError, decode, encode
from budget_envs.sandbox.protocol import SandboxLost

__all__ = ["SocketStream", "Stream", "Worker", "receive_exactly", "wait_readable"]

GRACE_S = 15.0
"""How long the server may take beyond a run's own time before it counts as lost."""
_START_S = 30.0
_LONGEST_FRAME = 256 << 20
_CHUNK = 1 << 14  # larger buffers are mapped and unmapped for each read


class Stream(ABC):
    """Bytes to and from a server, each read with a deadline of its own."""

    @abstractmethod
    def send(self, payload: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send everything; raise OSError if that fails."""

    @abstractmethod
    def receive(self, size: int, deadline: float) -> bytes:
        """Return exactly ``size`` bytes; raise TimeoutError, or EOFError at the end."""

    @abstractmethod
    def wait(self, deadline: float) -> None:
        """Return when something can be received; raise TimeoutError at the deadline."""

    @abstractmethod
    def close(self) -> None:
        """Release this end."""


class SocketStream(Stream):
    """A stream over a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.setblocking(False)
        _open_streams.add(self)

    def send(self, payload: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send everything, the descriptors along with the first bytes."""
        if descriptors:  # the server reads all it is sent before it answers: there is room
            payload = payload[socket.send_fds(self.connection, [payload], list(descriptors)) :]
        send_all(self.connection, payload, time.monotonic() + GRACE_S)

    def receive(self, size: int, deadline: float) -> bytes:
        """Return exactly ``size`` bytes."""
        return receive_exactly(self.connection, size, deadline)

    def wait(self, deadline: float) -> None:
        """Return when something can be received."""
        wait_readable(self.connection, deadline)

    def close(self) -> None:
        """Close the socket, and wake a thread that waits for it."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.release()

    def release(self) -> None:
        """Close this process's descriptor only: the connection may be another's too."""
        self.connection.close()


_open_streams: weakref.WeakSet[SocketStream] = weakref.WeakSet()


def _close_in_forked_child() -> None:
    """Let go of the servers in a process forked from the judge.

    A server ends when its last stream is closed: a copy would keep it alive beyond the judge,
    and two processes that talk over one stream would read each other's answers.
    """
    for stream in list(_open_streams):
        stream.release()


os.register_at_fork(after_in_child=_close_in_forked_child)


def receive_exactly(connection: socket.socket, size: int, deadline: float) -> bytes:
    """Return ``size`` bytes; raise TimeoutError at the deadline, EOFError at the end."""
    received = bytearray()
    while len(received) < size:
        received += receive_some(connection, size - len(received), deadline)
    return bytes(received)


def receive_some(connection: socket.socket, most: int, deadline: float) -> bytes:
    """Return what comes first, at most so many bytes; raise as `receive_exactly`."""
    while True:
        try:
            chunk = connection.recv(min(most, _CHUNK))
        except BlockingIOError:
            wait_readable(connection, deadline)
        else:
            if not chunk:
                raise EOFError("the stream ended")
            return chunk


def send_all(connection: socket.socket, payload: bytes, deadline: float) -> None:
    """Send everything; raise TimeoutError at the deadline."""
    rest = memoryview(payload)
    while rest:
        try:
            rest = rest[connection.send(rest) :]
        except BlockingIOError:
            _wait(connection, select.POLLOUT, deadline)


def wait_readable(connection: socket.socket, deadline: float) -> None:
    """Return when a socket can be read; raise TimeoutError at the deadline."""
    _wait(connection, select.POLLIN, deadline)


def _wait(connection: socket.socket, event: int, deadline: float) -> None:
    poller = select.poll()
    poller.register(connection, event)
    if not poller.poll(max(0, math.ceil((deadline - time.monotonic()) * 1000))):
        raise TimeoutError("nothing happened in time")


class Worker:
    """A server that runs one program after another.

    Attributes:
        is_lost: True once nothing more can be asked of it.
        is_busy: True from the start of a run to its report. A worker left busy, as an interrupt
            leaves it, is of no more use either.
        is_tidying: True from then on until what the run left is gone.

    Args:
        stream: To the server, which was just started.
        local: True if descriptors can be sent along the stream.
        end: Ends the server, whatever state it is in, and removes what it left.
    """

    def __init__(self, stream: Stream, local: bool, end: Callable[[], None]) -> None:
        self.stream = stream
        self.local = local
        self.is_lost = False
        self.is_busy = False
        self.is_tidying = False
        self._end = end
        self._pushed_back: tuple[Any, ...] | None = None

    def configure(self, config: Mapping[str, Any]) -> dict[Any, Any]:
        """Tell the server how to confine itself and return what it says about itself.

        Raises:
            SandboxLost: If it could not; the message says why.
        """
        try:
            self.stream.send(server_sources())
        except OSError as error:
            raise SandboxLost(f"the sandbox server did not start: {error}") from error
        self.send(dict(config))
        match self.receive(time.monotonic() + _START_S):
            case ("ready", {**facts}):
                return facts
            case frame:
                raise SandboxLost(f"the sandbox server cannot confine itself: {frame[1:]}")

    def send(self, frame: object, descriptors: Sequence[int] = ()) -> None:
        """Send one frame.

        Raises:
            SandboxLost: If the server is gone.
        """
        body = encode(frame)
        try:
            self.stream.send(struct.pack("<I", len(body)) + body, descriptors)
        except OSError as error:
            raise self._lost(error) from error

    def wait(self, deadline: float) -> None:
        """Return when a frame begins to arrive.

        Raises:
            TimeoutError: If none does in time; nothing is lost by that.
            SandboxLost: If the server is gone.
        """
        if self._pushed_back is not None:
            return
        try:
            self.stream.wait(deadline)
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:  # closed, by another thread perhaps
            raise self._lost(error) from error

    def receive(self, deadline: float) -> tuple[Any, ...]:
        """Return the next frame.

        Raises:
            SandboxLost: If none comes in time, or it makes no sense.
        """
        frame, self._pushed_back = self._pushed_back, None
        if frame is not None:
            return frame
        self.is_lost = True  # until the whole frame is here: an interrupt may cut it
        try:
            size = struct.unpack("<I", self.stream.receive(4, deadline))[0]
            if size > _LONGEST_FRAME:
                raise MalformedError(f"a frame of {size} bytes")
            frame = decode(self.stream.receive(size, deadline))
        except (OSError, EOFError, MalformedError) as error:
            raise self._lost(error) from error
        if not isinstance(frame, tuple) or not frame:
            raise self._lost(MalformedError(f"not a frame: {frame!r:.100}"))
        self.is_lost = False
        return frame

    def becomes_idle(self) -> bool:
        """Wait until the next run can start; False if the server did not survive the last one."""
        try:
            if self.is_tidying and self.receive(time.monotonic() + GRACE_S) != ("idle",):
                return False
            self.is_tidying = False
            self.wait(0.0)
        except SandboxLost:
            return False
        except TimeoutError:  # it is silent, as it should be: the end of its stream would be news
            return True
        return False

    def push_back(self, frame: tuple[Any, ...]) -> None:
        """Make a frame the next one that `receive` returns."""
        self._pushed_back = frame

    def _lost(self, error: Exception) -> SandboxLost:
        self.is_lost = True
        return SandboxLost(f"the sandbox server failed: {type(error).__name__}: {error}")

    def close(self) -> None:
        """End the server. Idempotent."""
        self.is_lost = True
        self.stream.close()
        self._end()
