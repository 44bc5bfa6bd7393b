"""The seccomp filters for one Python program, as BPF bytes built without a library.

An allowlist: a system call that is not on it fails with EPERM, and one newer than the list with
ENOSYS, so that libc falls back to what it knows. What needs a look at the arguments gets one:
threads may be made and processes not, signals may be sent to oneself only, the one kind of
socket is a connected stream pair (asyncio wakes itself through one).

Denied although harmless-looking: ``chmod``, ``chown``, ``utimensat`` and ``truncate``
(Landlock does not govern them), ``memfd_create`` (memory outside ``RLIMIT_AS``), ``sendmsg``
(passes descriptors), ``fcntl``'s ``F_SETOWN`` (sends signals in the caller's name).

Reference: ``seccomp(2)``; ``linux/filter.h`` and ``linux/seccomp.h``; numbers are those of
``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from budget_envs.errors import UnsupportedError, did_you_mean

__all__ = ["ARCHITECTURES", "PARENT_ONLY", "SYSCALLS", "Filters", "build_filters"]

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""``uname -m`` and the AUDIT_ARCH value that the kernel reports for it."""

SYSCALLS: dict[str, tuple[int | None, int | None]] = {
    # name: (x86_64, aarch64); None where the architecture does not have the call
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "lseek": (8, 62),
    "close": (3, 57),
    "close_range": (436, 436),
    "open": (2, None),
    "openat": (257, 56),
    "creat": (85, None),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "getdents64": (217, 61),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "flock": (73, 32),
    "fadvise64": (221, 223),
    "sendfile": (40, 71),
    "umask": (95, 166),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    "timerfd_create": (283, 85),
    "timerfd_settime": (286, 86),
    "timerfd_gettime": (287, 87),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "recvmsg": (47, 212),
    "shutdown": (48, 210),
    "getsockopt": (55, 209),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "msync": (26, 227),
    "mincore": (27, 232),
    "brk": (12, 214),
    "membarrier": (324, 283),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "rseq": (334, 293),
    "set_tid_address": (218, 96),
    "arch_prctl": (158, None),
    "gettid": (186, 178),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getrlimit": (97, 163),
    "setrlimit": (160, 164),
    "getrusage": (98, 165),
    "times": (100, 153),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getcpu": (309, 168),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "getrandom": (318, 278),
    "time": (201, None),
    "gettimeofday": (96, 169),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "alarm": (37, None),
    "pause": (34, None),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "wait4": (61, 260),
    "waitid": (247, 95),
    "exit": (60, 93),
    "exit_group": (231, 94),
    # allowed with some arguments only: see the checks below
    "clone": (56, 220),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "socketpair": (53, 199),
}
PARENT_ONLY: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "sendmsg": (46, 211),
    "setsid": (112, 157),
    "setresuid": (117, 147),
}
"""What the process that forks candidates does, and a child before it becomes one."""
_NEWEST = 448
"""Calls from this number on did not exist when the list was made: ENOSYS."""
_CLONE3 = 435
"""Takes its flags by pointer, which a filter cannot read: ENOSYS makes libc use clone."""

_LOAD, _JEQ, _JGE, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_DENY = 0x00050000 | errno.EPERM
_ABSENT = 0x00050000 | errno.ENOSYS

_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080
_TERMINAL_AND_PIPE_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1032)
_PRCTL_DUMPABLE_AND_THREAD_NAME = (4, 15, 16)
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF


@dataclass(frozen=True)
class Filters:
    """Two BPF programs for ``prctl(PR_SET_SECCOMP)``; a call has to pass both.

    Attributes:
        parent: For the process that forks candidates, and so for them too: the allowlist.
        child: For each candidate on top: takes back what only the parent needs. It is short,
            since every child has to have it compiled.
        pid_offsets: Byte offsets in ``child`` of the 32-bit constants that must hold the
            caller's own pid.
    """

    parent: bytes
    child: bytes
    pid_offsets: tuple[int, ...]


@dataclass(frozen=True)
class _Instruction:
    code: int
    constant: int = 0
    if_true: int = 0
    if_false: int = 0
    is_own_pid: bool = False


_Block = list[_Instruction]


def build_filters(machine: str) -> Filters:
    """Return the filters for a machine type as ``uname -m`` names it.

    Raises:
        UnsupportedError: If the numbers of its system calls are not known here.
    """
    if machine not in ARCHITECTURES:
        raise UnsupportedError(
            f"No system call table for machine {machine!r}; known are {sorted(ARCHITECTURES)}."
            f"{did_you_mean(machine, ARCHITECTURES)} Use a sandbox on one of these."
        )
    column = list(ARCHITECTURES).index(machine)
    parent = [
        _Instruction(_LOAD, 4),
        _Instruction(_JEQ, ARCHITECTURES[machine], if_true=1),
        _Instruction(_RETURN, _KILL),
        _Instruction(_LOAD, 0),
        *_search(_allowlist(column)),
    ]
    child = [_Instruction(_LOAD, 0), *_search(_taken_back(column))]
    offsets = tuple(8 * i + 4 for i, step in enumerate(child) if step.is_own_pid)
    return Filters(_packed(parent), _packed(child), offsets)


def _packed(program: _Block) -> bytes:
    return b"".join(
        struct.pack("<HBBI", s.code, s.if_true, s.if_false, s.constant) for s in program
    )


def _allowlist(column: int) -> list[tuple[int, _Block]]:
    actions: dict[int, _Block] = {_CLONE3: _answer(_ABSENT)}
    checks = _parent_checks()
    for name, numbers in (SYSCALLS | PARENT_ONLY).items():
        number = numbers[column]
        if number is not None:
            actions[number] = checks.get(name, _answer(_ALLOW))
    return [*_cut(actions, _answer(_DENY)), (_NEWEST, _answer(_ABSENT))]


def _taken_back(column: int) -> list[tuple[int, _Block]]:
    actions = {numbers[column]: _answer(_DENY) for numbers in PARENT_ONLY.values()}
    actions |= {SYSCALLS[name][column]: check for name, check in _child_checks().items()}
    known = {number: action for number, action in actions.items() if number is not None}
    return _cut(known, _answer(_ALLOW))


def _cut(actions: dict[int, _Block], other: _Block) -> list[tuple[int, _Block]]:
    """Cut the line of call numbers into ``(first number, what to do from there on)``."""
    cuts: list[tuple[int, _Block]] = []
    for number in range(_NEWEST):
        action = actions.get(number, other)
        if not cuts or cuts[-1][1] != action:
            cuts.append((number, action))
    return cuts


def _search(cuts: list[tuple[int, _Block]]) -> _Block:
    """Binary search over the intervals: short paths, and jumps that fit eight bits."""
    if len(cuts) == 1:
        return cuts[0][1]
    middle = len(cuts) // 2
    below, above = _search(cuts[:middle]), _search(cuts[middle:])
    if len(below) > 0xFF:
        raise AssertionError("a jump is too long for BPF: balance the search by block length")
    return [_Instruction(_JGE, cuts[middle][0], if_true=len(below)), *below, *above]


def _answer(verdict: int) -> _Block:
    return [_Instruction(_RETURN, verdict)]


def _parent_checks() -> dict[str, _Block]:
    """What decides about calls that depend on their arguments, for parent and child alike."""
    stream_pair = [
        _argument(0),
        _Instruction(_JEQ, _AF_UNIX, if_true=1),
        *_answer(_DENY),
        _argument(1),
        _Instruction(_AND, _SOCK_TYPE_MASK),
        *_among((_SOCK_STREAM,)),
    ]
    return {
        "ioctl": [_argument(1), *_among(_TERMINAL_AND_PIPE_IOCTLS)],
        "fcntl": [_argument(1), *_among(_FCNTL_COMMANDS)],
        "prlimit64": [_argument(0), *_among((0,))],
        "socketpair": stream_pair,
    }


def _child_checks() -> dict[str, _Block]:
    """The same for the child only: the parent forks, and kills nobody."""
    own_pid = [
        _argument(0),
        _Instruction(_JEQ, 0, if_false=1, is_own_pid=True),
        *_answer(_ALLOW),
        *_answer(_DENY),
    ]
    thread = [
        _argument(0),
        _Instruction(_AND, _CLONE_THREAD | _CLONE_NAMESPACES),
        *_among((_CLONE_THREAD,)),
    ]
    return {
        "clone": thread,
        "kill": own_pid,
        "tgkill": own_pid,
        "prctl": [_argument(0), *_among(_PRCTL_DUMPABLE_AND_THREAD_NAME)],
    }


def _argument(index: int) -> _Instruction:
    """Load the low half of an argument: the calls checked here take 32-bit integers."""
    return _Instruction(_LOAD, 16 + 8 * index)


def _among(allowed: Iterable[int]) -> _Block:
    """Allow if the loaded value is one of these, else deny."""
    values = list(allowed)
    tests = [_Instruction(_JEQ, v, if_true=len(values) - i) for i, v in enumerate(values)]
    return [*tests, *_answer(_DENY), *_answer(_ALLOW)]
