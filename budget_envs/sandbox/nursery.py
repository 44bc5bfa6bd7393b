"""Forks candidates from a process that has never seen a run.

A forked child inherits all memory of its parent. The server that feeds candidates and captures
what they print has had earlier programs, inputs and *right answers* in its memory, where a
candidate could search for them. So a second process, forked from the server before its first
run, does the forking. It keeps one child waiting that is confined already, which gets its program
and descriptors from the server directly and finds nothing in its memory but this code.

This module runs inside the sandbox and imports only small modules of the standard library.
"""

from __future__ import annotations

import _socket
import os
import signal
import struct
import time
from collections.abc import Mapping
from contextlib import suppress

from budget_envs.sandbox import confined

__all__ = ["Child", "Nursery"]

_NUMBER = struct.Struct("<q")
_TRIES, _PAUSE_S = 200, 0.01


class Nursery:
    """The server's end: always has one child waiting, confined already, and hears of its death.

    Args:
        policy: How every child is confined.
    """

    def __init__(self, policy: confined.Policy) -> None:
        self._births, births = _socket.socketpair()
        begun, self._begun = os.pipe()
        self._deaths, deaths = os.pipe()
        server = os.getpid()
        if os.fork() == 0:
            try:
                self._births.close()
                os.close(self._begun)
                _serve(births, begun, deaths, policy, server)
            finally:
                os._exit(1)
        births.close()
        os.close(begun)
        os.close(deaths)

    def start(self, order: bytes, descriptors: Mapping[str, int]) -> Child:
        """Let the waiting child become a candidate; see `confined.become_candidate`."""
        pid, orders = self._waiting_child()
        passed = [descriptors[name] for name in confined.DESCRIPTORS if name in descriptors]
        sent = orders.sendmsg([order], [_rights(passed)])
        if sent < len(order):
            orders.sendall(order[sent:])
        orders.close()
        os.write(self._begun, b"!")
        return Child(pid, self._deaths)

    def _waiting_child(self) -> tuple[int, _socket.socket]:
        number, ancillary, _, _ = self._births.recvmsg(_NUMBER.size, _socket.CMSG_LEN(4))
        if not ancillary:
            raise SystemExit("the process that forks candidates is gone")
        (descriptor,) = struct.unpack("i", ancillary[0][2])
        return _NUMBER.unpack(number)[0], _socket.socket(fileno=descriptor)

    def exit_code(self) -> int:
        """Wait for the child's death; return its exit code, or minus the signal's number."""
        received = os.read(self._deaths, _NUMBER.size)
        if len(received) != _NUMBER.size:
            raise SystemExit("the process that forks candidates is gone")
        number: int = _NUMBER.unpack(received)[0]
        return number


class Child:
    """A candidate as the server sees it.

    Attributes:
        death: Descriptor that is readable once it is dead and reaped.
    """

    def __init__(self, pid: int, death: int) -> None:
        self.death = death
        try:
            self._pidfd = os.pidfd_open(pid)  # a pid may be another process's by now: this not
        except ProcessLookupError:
            self._pidfd = -1

    def kill(self) -> None:
        """Kill it, if it lives. It has no children: it cannot make processes."""
        if self._pidfd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Forget it."""
        if self._pidfd >= 0:
            os.close(self._pidfd)


def _serve(
    births: _socket.socket, begun: int, deaths: int, policy: confined.Policy, server: int
) -> None:
    """Fork one child after another until the server is gone, or a child cannot be confined.

    The next child is made while one runs, so that on a second processor it costs no time.
    """
    confined.follow_parent(server)
    children = os.open("/proc/thread-self/children", os.O_RDONLY)
    confined.prepare_parent(policy)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(2):  # the control stream is not for this process
        os.dup2(nothing, descriptor)
    waiting = _fork(policy, births)
    while os.read(begun, 1):
        running, waiting = waiting, _fork_if_possible(policy, births)
        _, wait_status = os.waitpid(running, 0)
        waiting = waiting or _fork_patiently(policy, births)
        # In a namespace of its own, what outlived its run ends with this process.
        if os.pread(children, 64, 0).split() != [b"%d" % waiting]:
            return
        os.write(deaths, _NUMBER.pack(os.waitstatus_to_exitcode(wait_status)))


def _fork_if_possible(policy: confined.Policy, births: _socket.socket) -> int:
    """Fork a child unless the one that runs has used up the threads that both may have."""
    try:
        return _fork(policy, births)
    except OSError:
        return 0


def _fork_patiently(policy: confined.Policy, births: _socket.socket) -> int:
    """Fork a child when the one that ran is dead; the kernel may count its threads a while."""
    for _ in range(_TRIES):
        if pid := _fork_if_possible(policy, births):
            return pid
        time.sleep(_PAUSE_S)
    return _fork(policy, births)


def _fork(policy: confined.Policy, births: _socket.socket) -> int:
    """Fork a child, hand the server the end of its orders, and return its pid."""
    orders, its_orders = _socket.socketpair()
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        orders.close()
        its_orders.close()
        raise
    if pid == 0:
        orders.close()
        confined.become_candidate(policy, its_orders, parent)
    its_orders.close()
    if orders.recv(1) != confined.READY:
        os._exit(1)
    births.sendmsg([_NUMBER.pack(pid)], [_rights([orders.fileno()])])
    orders.close()
    return pid


def _rights(descriptors: list[int]) -> tuple[int, int, bytes]:
    return _socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack(f"{len(descriptors)}i", *descriptors)
