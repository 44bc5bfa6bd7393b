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
    "pack_request",
    "prepare_parent",
    "set_dumpable",
    "set_no_new_privileges",
]

DESCRIPTORS = ("request", "stdin", "stdout", "stderr", "status", "channel")
READY, FAILED = b"R", b"F"
"""What a child says of itself: it is confined, it cannot be."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_OPEN_FILES = 64
_STACK_BYTES = 64 << 20
_HIGHEST_DESCRIPTOR = 256
_NUMBERS = struct.Struct("<dQQ")

_libc = ctypes.CDLL(None, use_errno=True)


class Policy:
    """What a worker's candidates are confined to, prepared once before any of them is forked.

    Args:
        code: The seccomp filter.
        pid_offsets: Where in it the candidate's own pid goes.
        private_dir: Its working directory, the only one it may write to.
        uid: The user to become, None to stay the one it is.
        processes: Limit on the user's threads, None if others share the count.

    Attributes:
        ruleset: Descriptor of the Landlock ruleset, None where there is no Landlock.
    """

    def __init__(
        self,
        code: bytes,
        pid_offsets: Iterable[int],
        private_dir: str,
        uid: int | None,
        processes: int | None,
    ) -> None:
        self.private_dir = private_dir
        self.uid = uid
        self.processes = processes
        self.ruleset: int | None = None
        self.pid_offsets = tuple(pid_offsets)
        self.code = ctypes.create_string_buffer(code, len(code))
        address = ctypes.addressof(self.code)
        self.filter = struct.pack("H6xP", len(code) // 8, address)  # struct sock_fprog

    def install_filter(self) -> None:
        """Restrict the system calls of this process for good."""
        for offset in self.pid_offsets:
            struct.pack_into("<I", self.code, offset, os.getpid())
        _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self.filter)


def set_no_new_privileges() -> None:
    """Make sure that no later ``execve`` can gain rights; seccomp and Landlock need it."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def set_dumpable(dumpable: bool) -> None:
    """Say whether processes of the same user may look into this one through ``/proc``."""
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def _prctl(option: int, value: int, pointer: bytes | None = None) -> None:
    long = ctypes.c_ulong
    if _libc.prctl(ctypes.c_int(option), long(value), pointer, long(0), long(0)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def follow_parent(parent: int) -> None:
    """Die when the parent dies, also if that was just now."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        raise ProcessLookupError("the parent is gone")


def prepare_parent(policy: Policy) -> None:
    """Confine the process that forks candidates as far as it can do without; they inherit that."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if policy.processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (policy.processes, policy.processes))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = _STACK_BYTES if hard == resource.RLIM_INFINITY else min(_STACK_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    if policy.ruleset is not None:
        restrict_self(policy.ruleset)


def become_candidate(policy: Policy, orders: _socket.socket, parent: int) -> NoReturn:
    """Confine this child, wait for an order, become the candidate and never return.

    Args:
        policy: How it is confined.
        orders: Where it says whether it is confined, and then gets the descriptors that
            `DESCRIPTORS` lists: ``request`` is a file with its source and limits, ``channel`` is
            there if its functions are called.
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
        if news == READY and (descriptors := _receive(orders)):
            exit_code = _carry_out(policy, descriptors)
    except BaseException as error:  # whatever happens, the server's code must not run here
        complain(f"{type(error).__name__}: {error}\n")
    finally:
        os._exit(exit_code)


def _receive(orders: _socket.socket) -> dict[str, int]:
    _, ancillary, _, _ = orders.recvmsg(1, _socket.CMSG_LEN(4 * len(DESCRIPTORS)))
    numbers = [number for *_, body in ancillary for (number,) in struct.iter_unpack("i", body)]
    return dict(zip(DESCRIPTORS, numbers, strict=False))


def _carry_out(policy: Policy, descriptors: Mapping[str, int]) -> int:
    time_s, memory, files, source = _read_request(descriptors["request"])
    _adopt(descriptors)  # first: what goes wrong from here on is seen in its stderr
    os.chdir(policy.private_dir)
    cpu_s = 2 * math.ceil(time_s) + 1  # of two threads; the deadline comes first
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (files, files))
    status, channel = descriptors["status"], descriptors.get("channel")
    os.write(status, READY)
    if channel is None:
        return run_program(source, status)
    return answer_calls(source, channel, status)


def pack_request(request: Mapping[str, Any]) -> bytes:
    """Return what `become_candidate` reads from the file called ``request``."""
    numbers = (request["time_s"], request["memory_bytes"], request["file_bytes"])
    source: str = request["source"]
    return _NUMBERS.pack(*numbers) + source.encode("utf-8", "surrogatepass")


def _read_request(descriptor: int) -> tuple[float, int, int, str]:
    wire = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    source = wire[_NUMBERS.size :].decode("utf-8", "surrogatepass")
    return (*_NUMBERS.unpack_from(wire), source)


def _adopt(descriptors: Mapping[str, int]) -> None:
    """Keep the given descriptors and no other."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(descriptors[name], number)
    kept = {0, 1, 2, descriptors["status"], descriptors.get("channel", 0)}
    previous = -1
    for descriptor in [*sorted(kept), _HIGHEST_DESCRIPTOR]:
        if previous + 1 < descriptor:  # closerange(0, 0) closes everything
            os.closerange(previous + 1, descriptor)
        previous = descriptor


def _confine(policy: Policy, parent: int) -> None:
    """Give up what the parent could not do without."""
    os.setsid()
    if policy.uid is not None:
        os.setgroups([])
        os.setresgid(policy.uid, policy.uid, policy.uid)
        os.setresuid(policy.uid, policy.uid, policy.uid)
    follow_parent(parent)
    set_dumpable(True)  # else /dev/stdin cannot be opened; nobody of this user may ptrace
    policy.install_filter()
