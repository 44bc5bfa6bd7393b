"""What the freshly forked child does: give up its rights for good, then run the candidate.

This module runs inside the sandbox and imports only small modules of the standard library. It
holds no secret: sources and inputs come in, values and output go out.
"""

from __future__ import annotations

import _socket
import ctypes
import math
import os
import resource
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from budget_envs.sandbox.landlock import restrict_self
from budget_envs.sandbox.runner import answer_calls, complain, run_program

__all__ = [
    "DESCRIPTORS",
    "READY",
    "Policy",
    "become_candidate",
    "follow_parent",
    "pack_order",
    "prepare_parent",
    "set_dumpable",
    "set_no_new_privileges",
]

DESCRIPTORS = ("stdin", "stdout", "stderr", "status", "channel")
"""What a candidate is given, numbered in this order: a channel only if it is called."""
_STATUS, _CHANNEL = 3, 4
READY, FAILED = b"R", b"F"
"""What a child says of itself: it is confined, it cannot be."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_OPEN_FILES = 64
_STACK_BYTES = 64 << 20
_HIGHEST_DESCRIPTOR = 256
_ORDER = struct.Struct("<QdQQ")
_RIGHTS_BYTES = _socket.CMSG_LEN(4 * len(DESCRIPTORS))
_CHUNK = 1 << 14  # larger buffers are mapped and unmapped for each read

_libc = ctypes.CDLL(None, use_errno=True)


class Policy:
    """What a worker's candidates are confined to, prepared once before any of them is forked.

    Args:
        parent_filter: The system calls of the process that forks them.
        child_filter: What a candidate may not do of it.
        pid_offsets: Where in the latter the candidate's own pid goes.
        private_dir: Its working directory, the only one it may write to.
        uid: The user to become, None to stay the one it is.
        processes: Limit on the user's threads, None if others share the count.

    Attributes:
        ruleset: Descriptor of the Landlock ruleset, None where there is no Landlock.
    """

    def __init__(
        self,
        parent_filter: bytes,
        child_filter: bytes,
        pid_offsets: Iterable[int],
        private_dir: str,
        uid: int | None,
        processes: int | None,
    ) -> None:
        self.private_dir = private_dir
        self.uid = uid
        self.processes = processes
        self.ruleset: int | None = None
        self._parent_filter = ctypes.create_string_buffer(parent_filter, len(parent_filter))
        self._child_filter = ctypes.create_string_buffer(child_filter, len(child_filter))
        self._pids = [ctypes.c_uint32.from_buffer(self._child_filter, at) for at in pid_offsets]
        self._install_child_filter = _installation(self._child_filter)

    def confine_parent(self) -> None:
        """Restrict the system calls of this process, and of all it will fork, for good."""
        _prctl(_installation(self._parent_filter))

    def confine_child(self) -> None:
        """Restrict them further to what a candidate may do."""
        for pid in self._pids:
            pid.value = os.getpid()
        _prctl(self._install_child_filter)


def _installation(code: ctypes.Array[ctypes.c_char]) -> tuple[object, ...]:
    program = struct.pack("H6xP", len(code) // 8, ctypes.addressof(code))  # struct sock_fprog
    return _arguments(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program)


def set_no_new_privileges() -> None:
    """Make sure that no later ``execve`` can gain rights; seccomp and Landlock need it."""
    _prctl(_arguments(_PR_SET_NO_NEW_PRIVS, 1))


def set_dumpable(dumpable: bool) -> None:
    """Say whether processes of the same user may look into this one through ``/proc``."""
    _prctl(_DUMPABLE if dumpable else _NOT_DUMPABLE)


def follow_parent(parent: int) -> None:
    """Die when the parent dies, also if that was just now."""
    _prctl(_DIE_WITH_PARENT)
    if os.getppid() != parent:
        raise ProcessLookupError("the parent is gone")


def _arguments(option: int, value: int, pointer: bytes | None = None) -> tuple[object, ...]:
    """Convert the arguments of a ``prctl`` once, for all children."""
    long = ctypes.c_ulong
    return ctypes.c_int(option), long(value), pointer, long(0), long(0)


def _prctl(arguments: tuple[object, ...]) -> None:
    if _libc.prctl(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({arguments[0]}): {os.strerror(code)}")


_DIE_WITH_PARENT = _arguments(_PR_SET_PDEATHSIG, _SIGKILL)
_DUMPABLE, _NOT_DUMPABLE = _arguments(_PR_SET_DUMPABLE, 1), _arguments(_PR_SET_DUMPABLE, 0)


def prepare_parent(policy: Policy) -> None:
    """Confine the process that forks candidates as far as it can do without; they inherit that."""
    _prctl(_arguments(_PR_SET_CHILD_SUBREAPER, 1))
    if policy.uid is not None:
        os.setgroups([])
        os.setresgid(policy.uid, policy.uid, policy.uid)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if policy.processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (policy.processes, policy.processes))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = _STACK_BYTES if hard == resource.RLIM_INFINITY else min(_STACK_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    if policy.ruleset is not None:
        restrict_self(policy.ruleset)
    policy.confine_parent()


def become_candidate(policy: Policy, orders: _socket.socket, parent: int) -> NoReturn:
    """Confine this child, wait for an order, become the candidate and never return.

    Args:
        policy: How it is confined.
        orders: Where it says whether it is confined, and then gets its order, with the
            descriptors that `DESCRIPTORS` lists: ``channel`` only if its functions are called.
        parent: Pid of the process that forked it.
    """
    exit_code = 70
    news = FAILED
    try:
        _confine(policy, parent)
        news = READY
    except OSError as error:
        complain(f"{type(error).__name__}: {error}\n")
    try:
        orders.send(news)
        if news == READY and (order := _receive(orders)) is not None:
            exit_code = _carry_out(policy, *order)
    except BaseException as error:  # whatever happens, the server's code must not run here
        complain(f"{type(error).__name__}: {error}\n")
    finally:
        os._exit(exit_code)


def pack_order(request: Mapping[str, Any]) -> bytes:
    """Return what `become_candidate` receives."""
    source: bytes = request["source"].encode("utf-8", "surrogatepass")
    limits = (request["time_s"], request["memory_bytes"], request["file_bytes"])
    return _ORDER.pack(len(source), *limits) + source


def _receive(orders: _socket.socket) -> tuple[bytes, tuple[int, ...]] | None:
    first, ancillary, _, _ = orders.recvmsg(_CHUNK, _RIGHTS_BYTES)
    order = bytearray(first)  # grows in place: a source may be long
    if not order:
        return None
    descriptors = ancillary[0][2]
    while len(order) < _ORDER.size or len(order) < _ORDER.size + _ORDER.unpack_from(order)[0]:
        order += orders.recv(_CHUNK)
    return bytes(order), struct.unpack(f"{len(descriptors) // 4}i", descriptors)


def _carry_out(policy: Policy, order: bytes, descriptors: tuple[int, ...]) -> int:
    _, time_s, memory, files = _ORDER.unpack_from(order)
    source = order[_ORDER.size :].decode("utf-8", "surrogatepass")
    _adopt(descriptors)  # first: what goes wrong from here on is seen in its stderr
    os.chdir(policy.private_dir)
    cpu_s = 2 * math.ceil(time_s) + 1  # of two threads; the deadline comes first
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (files, files))
    # Else /dev/stdin cannot be opened. Not before: the candidate that runs while this child waits
    # could look into it, if nothing else kept it from doing so.
    set_dumpable(True)
    os.write(_STATUS, READY)
    if len(descriptors) <= _CHANNEL:
        return run_program(source, _STATUS)
    return answer_calls(source, _CHANNEL, _STATUS)


def _adopt(descriptors: tuple[int, ...]) -> None:
    """Keep the given descriptors, numbered in their order, and no other.

    None is overwritten before its turn: they are the lowest ones that were free, in order, and
    the first three were not.
    """
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(len(descriptors), _HIGHEST_DESCRIPTOR)


def _confine(policy: Policy, parent: int) -> None:
    """Give up what the parent could not do without."""
    os.setsid()
    if policy.uid is not None:
        os.setresuid(policy.uid, policy.uid, policy.uid)
    follow_parent(parent)
    policy.confine_child()
