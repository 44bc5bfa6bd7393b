import errno
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import UnsupportedError
from budget_envs.sandbox.seccomp import ARCHITECTURES, PARENT_ONLY, SYSCALLS, build_filters

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
PID = 4711
HEADERS = {
    "x86_64": [
        "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
        "/usr/include/asm/unistd_64.h",
    ],
    "aarch64": ["/usr/include/asm-generic/unistd.h"],
}
CHECKED = {"clone", "kill", "tgkill", "ioctl", "fcntl", "prctl", "prlimit64", "socketpair"}


def verdict(machine, number, arguments=(), architecture=None):
    """Return what the kernel does about a call of a candidate: the stricter of two verdicts."""
    built = build_filters(machine)
    child = bytearray(built.child)
    for offset in built.pid_offsets:
        struct.pack_into("<I", child, offset, PID)
    arguments = [a % (1 << 64) for a in (*arguments, *(0,) * (6 - len(arguments)))]
    architecture = ARCHITECTURES[machine] if architecture is None else architecture
    facts = struct.pack("<IIQ6Q", number % (1 << 32), architecture, 0, *arguments)
    verdicts = {run(built.parent, facts), run(bytes(child), facts)}
    return KILL if KILL in verdicts else next(iter(verdicts - {ALLOW}), ALLOW)


def run(code, facts):
    """Run a filter as the kernel does, and return its verdict."""
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, constant = struct.unpack_from("<HBBI", code, 8 * at)
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", facts, constant)[0]
        elif operation == 0x54:
            accumulator &= constant
        elif operation == 0x15:
            at += if_true if accumulator == constant else if_false
        elif operation == 0x35:
            at += if_true if accumulator >= constant else if_false
        elif operation == 0x06:
            return constant
        else:
            raise AssertionError(f"unknown operation {operation:#x}")


def parent_verdict(machine, name):
    number = (SYSCALLS | PARENT_ONLY)[name][list(ARCHITECTURES).index(machine)]
    facts = struct.pack("<IIQ6Q", number, ARCHITECTURES[machine], 0, *(0,) * 6)
    return run(build_filters(machine).parent, facts)


def number_of(machine, name):
    return SYSCALLS[name][list(ARCHITECTURES).index(machine)]


def header_numbers(machine):
    """Return the kernel headers' numbers, or skip where there are no headers."""
    path = next((p for p in map(Path, HEADERS[machine]) if p.exists()), None)
    if path is None:
        pytest.skip(f"no kernel headers with {machine}'s numbers (linux-libc-dev)")
    text = path.read_text()
    numbers = re.findall(r"#define (__NR\w+)\s+(\d+)", text)
    known = {name: int(number) for name, number in numbers}
    for name, other in re.findall(r"#define (__NR_\w+)\s+(__NR3264_\w+)", text):
        if other in known:
            known[name] = known[other]
    return {name.removeprefix("__NR_"): number for name, number in known.items()}


machines = pytest.mark.parametrize("machine", ARCHITECTURES)


@machines
def test_the_numbers_are_those_of_the_kernel_headers(machine):
    headers = header_numbers(machine)
    ours = {name: number_of(machine, name) for name in SYSCALLS}
    assert {n: k for n, k in ours.items() if k is not None} == {
        n: headers.get(n) for n, k in ours.items() if k is not None
    }


@machines
def test_a_call_left_out_for_an_architecture_does_not_exist_there(machine):
    headers = header_numbers(machine)
    missing = {name for name in SYSCALLS if number_of(machine, name) is None}
    assert missing & headers.keys() == set()


@machines
def test_every_call_on_the_list_is_allowed_and_every_other_is_not(machine):
    allowed = {number_of(machine, name) for name in SYSCALLS.keys() - CHECKED}
    for number in range(600):
        if number in {number_of(machine, name) for name in CHECKED}:
            continue
        assert (verdict(machine, number) == ALLOW) == (number in allowed), number


@machines
def test_a_denied_call_fails_with_eperm_and_a_newer_one_with_enosys(machine):
    execve = {"x86_64": 59, "aarch64": 221}[machine]
    assert verdict(machine, execve) == ERROR | errno.EPERM
    for number in (435, 448, 500, 1 << 20):
        assert verdict(machine, number) == ERROR | errno.ENOSYS


@given(st.integers(448, (1 << 32) - 1))
def test_no_number_beyond_the_list_is_allowed(number):
    for machine in ARCHITECTURES:
        assert verdict(machine, number) == ERROR | errno.ENOSYS


@machines
def test_another_architectures_calls_kill(machine):
    other = next(value for name, value in ARCHITECTURES.items() if name != machine)
    for architecture in (other, 0x40000003, 0x40000028, 0):
        assert verdict(machine, number_of(machine, "read"), (), architecture) == KILL


THREAD_FLAGS = 0x003D0F00  # what glibc's pthread_create passes


@machines
def test_threads_may_be_made_and_processes_and_namespaces_not(machine):
    clone = number_of(machine, "clone")
    assert verdict(machine, clone, (THREAD_FLAGS,)) == ALLOW
    for flags in (17, 0, 0x4111, 0x1200011, THREAD_FLAGS & ~0x10000):
        assert verdict(machine, clone, (flags,)) != ALLOW
    for namespace in (0x80, 0x20000, *(1 << bit for bit in range(25, 31))):
        assert verdict(machine, clone, (THREAD_FLAGS | namespace,)) != ALLOW


@machines
@pytest.mark.parametrize("name", ["kill", "tgkill"])
def test_signals_go_to_oneself_only(machine, name):
    number = number_of(machine, name)
    assert verdict(machine, number, (PID, 9)) == ALLOW
    for pid in (0, 1, -1, -PID, PID + 1, PID - 1):
        assert verdict(machine, number, (pid, 9)) != ALLOW


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_no_other_pid_is_taken_for_ones_own(pid):
    for machine in ARCHITECTURES:
        expected = pid == PID
        assert (verdict(machine, number_of(machine, "kill"), (pid, 9)) == ALLOW) == expected


@machines
def test_only_a_stream_pair_of_sockets_may_be_made(machine):
    pair = number_of(machine, "socketpair")
    assert verdict(machine, pair, (1, 1, 0)) == ALLOW
    assert verdict(machine, pair, (1, 1 | 0o2000000 | 0o4000, 0)) == ALLOW
    for family, kind in ((1, 2), (1, 3), (1, 5), (2, 1), (10, 1), (16, 3)):
        assert verdict(machine, pair, (family, kind, 0)) != ALLOW


@machines
def test_limits_of_others_are_out_of_reach(machine):
    number = number_of(machine, "prlimit64")
    assert verdict(machine, number, (0, 3)) == ALLOW
    assert verdict(machine, number, (1, 3)) != ALLOW


@machines
@pytest.mark.parametrize(
    ("name", "allowed", "denied"),
    [
        ("ioctl", (0x5401, 0x541B, 0x5421), (0x5412, 0x5452, 0x8901, 0x8902, 0)),
        ("fcntl", (0, 1, 2, 3, 4, 6, 1030), (8, 10, 15, 1024, 1031, 1033)),
    ],
)
def test_commands_that_reach_outside_are_denied(machine, name, allowed, denied):
    number = number_of(machine, name)
    assert [verdict(machine, number, (0, command)) for command in allowed] == [ALLOW] * len(allowed)
    assert ALLOW not in [verdict(machine, number, (0, command)) for command in denied]


@machines
def test_prctl_concerns_oneself_only(machine):
    number = number_of(machine, "prctl")
    allowed = [option for option in range(100) if verdict(machine, number, (option,)) == ALLOW]
    assert allowed == [4, 15, 16]


@machines
@pytest.mark.parametrize(
    "name",
    [
        *("chmod", "fchmod", "fchmodat", "chown", "fchownat", "utimensat", "setxattr", "truncate"),
        *("socket", "connect", "bind", "sendmsg", "ptrace", "process_vm_readv", "memfd_create"),
        *("execve", "execveat", "fork", "vfork", "clone3", "unshare", "setns", "mount", "mknodat"),
        *("setuid", "setresuid", "bpf", "io_uring_setup", "userfaultfd", "keyctl", "shmget"),
        *("pidfd_open", "pidfd_send_signal", "seccomp", "perf_event_open", "name_to_handle_at"),
        *("setpriority", "sched_setaffinity", "setsid", "setpgid", "tkill", "rt_sigqueueinfo"),
    ],
)
def test_dangerous_calls_are_denied(machine, name):
    number = header_numbers(machine).get(name)
    if number is not None:  # else the architecture does not have it
        assert verdict(machine, number) not in (ALLOW, KILL)


def test_an_unknown_machine_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="riscv64"):
        build_filters("riscv64")


@machines
def test_the_process_that_forks_may_do_what_it_needs_and_a_candidate_not(machine):
    column = list(ARCHITECTURES).index(machine)
    for name, numbers in PARENT_ONLY.items():
        if numbers[column] is not None:
            assert parent_verdict(machine, name) == ALLOW
            assert verdict(machine, numbers[column]) == ERROR | errno.EPERM
    for name in ("clone", "prctl", "wait4", "exit_group", "kill"):
        assert parent_verdict(machine, name) == ALLOW


@machines
def test_the_parents_own_numbers_are_those_of_the_kernel_headers(machine):
    headers, column = header_numbers(machine), list(ARCHITECTURES).index(machine)
    for name, numbers in PARENT_ONLY.items():
        assert numbers[column] == headers.get(name)


@machines
def test_the_childs_filter_is_short_and_knows_where_the_pid_goes(machine):
    built = build_filters(machine)
    assert len(built.child) < len(built.parent) / 4
    assert len(built.pid_offsets) == 2
    assert all(built.child[o : o + 4] == b"\0\0\0\0" for o in built.pid_offsets)
