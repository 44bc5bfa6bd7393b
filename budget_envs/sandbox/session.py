"""One run on a worker: its start, its calls, its report."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from budget_envs.sandbox.codec import MAX_BYTES, MalformedError
from budget_envs.sandbox.protocol import Limits, SandboxLost
from budget_envs.sandbox.worker import GRACE_S, Worker

__all__ = ["ChannelClosed", "Session"]

_LONGEST_SESSION_S = 3600.0
_IMPRECISION_S = 0.05
_CHUNK = 1 << 14  # larger buffers are mapped and unmapped for each read
_SIZE = struct.Struct("<I")


class ChannelClosed(Exception):
    """The candidate closed its call channel: by ending, mostly."""


class Session:
    """One run, from its start to its report.

    Args:
        worker: An idle worker.
        source: The program's text.
        stdin: Bytes for its stdin, only for a program that is not called.
        limits: What it may use.
        calls: True if its functions will be called.
    """

    def __init__(
        self, worker: Worker, source: str, stdin: bytes, limits: Limits, calls: bool
    ) -> None:
        self.worker = worker
        self._channel = _open_channel(worker) if calls else None
        worker.is_busy = True
        request = {
            "source": source,
            "stdin": stdin,
            "calls": calls,
            "wall_s": _LONGEST_SESSION_S if calls else limits.time_s,
            "time_s": limits.time_s,
            "memory_bytes": limits.memory_bytes,
            "output_bytes": limits.output_bytes,
            "file_bytes": limits.file_bytes,
        }
        try:
            theirs = self._channel.theirs if self._channel is not None else []
            worker.send(("run", request), [end.fileno() for end in theirs])
            for end in theirs:
                end.close()
        except BaseException:
            self.close()
            raise

    def send(self, requests: Sequence[bytes], timeout_s: float) -> None:
        """Send requests to the candidate; one that ended shows when its reply is received.

        Raises:
            TimeoutError: If it does not take them in time.
            SandboxLost: If the server failed.
        """
        if self._channel is not None:
            framed = [_SIZE.pack(len(request)) + request for request in requests]
            self._channel.send(framed, timeout_s)

    def receive(self, timeout_s: float) -> bytes:
        """Return the reply to the oldest request that has none yet.

        Raises:
            TimeoutError: If none comes in time.
            ChannelClosed: If the candidate ended or closed its channel.
            MalformedError: If the reply is longer than a reply may be.
            SandboxLost: If the server failed.
        """
        if self._channel is None:
            raise ChannelClosed
        return self._channel.receive(timeout_s)

    def hang_up(self) -> None:
        """Tell the candidate that no more calls come, so that it ends."""
        if self._channel is not None:
            self._channel.hang_up()

    def stop(self) -> None:
        """Have the candidate killed."""
        self.worker.send(("stop",))

    def report(self, timeout_s: float) -> dict[Any, Any]:
        """Wait for the candidate's end and return the server's report.

        Raises:
            TimeoutError: If it has not ended in time: `stop` it.
            SandboxLost: If the server failed.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            self.worker.wait(deadline)
            match self.worker.receive(time.monotonic() + GRACE_S):
                case ("end", {**report}):
                    self.worker.is_busy, self.worker.is_tidying = False, True
                    return report
                case ("end", *_):
                    raise SandboxLost("the sandbox server reports nonsense")

    def close(self) -> None:
        """Release the channel, however the run went."""
        if self._channel is not None:
            self._channel.close()


class _DirectChannel:
    """A socket pair whose other end the candidate holds: no server in between."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self.theirs = [theirs]
        self._timeout_s = -1.0
        self._received = bytearray()

    def send(self, framed: Sequence[bytes], timeout_s: float) -> None:
        self._wait_at_most(timeout_s)
        try:
            self._ours.sendall(b"".join(framed))
        except BlockingIOError as error:
            raise TimeoutError("the candidate does not listen") from error
        except ConnectionError:  # what it answered before it ended can still be received
            return

    def receive(self, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        self._wait_at_most(timeout_s)
        buffer = self._received
        while len(buffer) < 4 or len(buffer) < 4 + _reply_size(buffer):
            if not buffer or time.monotonic() < deadline:
                buffer += self._receive_chunk()
            else:
                raise TimeoutError("the answer is too slow")
        end = 4 + _reply_size(buffer)
        reply = bytes(buffer[4:end])
        del buffer[:end]
        return reply

    def _receive_chunk(self) -> bytes:
        try:
            chunk = self._ours.recv(_CHUNK)
        except BlockingIOError as error:
            raise TimeoutError("no answer in time") from error
        except OSError as error:
            raise ChannelClosed from error
        if not chunk:
            raise ChannelClosed
        return chunk

    def _wait_at_most(self, timeout_s: float) -> None:
        """Let the kernel watch the time of each call: a poll would cost as much as a call."""
        if not 0 <= self._timeout_s - timeout_s < _IMPRECISION_S:
            self._timeout_s = max(timeout_s, 1e-3)  # 0 would be for ever
            seconds, fraction = divmod(self._timeout_s, 1)
            wait = struct.pack("ll", int(seconds), int(fraction * 1e6))
            for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                self._ours.setsockopt(socket.SOL_SOCKET, direction, wait)

    def hang_up(self) -> None:
        self._ours.close()

    def close(self) -> None:
        for end in (self._ours, *self.theirs):
            end.close()


class _RelayedChannel:
    """The candidate's channel by way of its server, where descriptors cannot travel."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.theirs: list[socket.socket] = []

    def send(self, framed: Sequence[bytes], timeout_s: float) -> None:
        for request in framed:
            self.worker.send(("call", request))

    def receive(self, timeout_s: float) -> bytes:
        self.worker.wait(time.monotonic() + timeout_s)
        match self.worker.receive(time.monotonic() + GRACE_S):
            case ("reply", bytes(framed)) if framed:
                if len(framed) < 4 or _reply_size(framed) != len(framed) - 4:
                    raise MalformedError("the reply is cut short")
                return framed[4:]
            case ("reply", *_):
                raise ChannelClosed
            case frame:
                self.worker.push_back(frame)
                raise ChannelClosed

    def hang_up(self) -> None:
        self.worker.send(("close",))

    def close(self) -> None:
        """Hold nothing: the server closes it with the run."""


def _open_channel(worker: Worker) -> _DirectChannel | _RelayedChannel:
    try:
        return _DirectChannel() if worker.local else _RelayedChannel(worker)
    except OSError as error:  # too many open files, in the judge
        raise SandboxLost(f"no channel to the candidate could be opened: {error}") from error


def _reply_size(framed: bytes | bytearray) -> int:
    size: int = _SIZE.unpack_from(framed)[0]
    if size > MAX_BYTES:
        raise MalformedError(f"a reply of {size} bytes, more than {MAX_BYTES}")
    return size
