"""Landlock: an unprivileged process gives up the file system, TCP and signals for good.

The three system calls have no libc wrapper, so they are made by number (equal on all
architectures). This module runs inside the sandbox and imports only the standard library.

Reference: ``landlock(7)``; bits are named as in ``linux/landlock.h``.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

__all__ = ["READ", "READ_WRITE", "abi_version", "make_ruleset", "restrict_self"]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_O_PATH = 0o10000000

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE = 1 << 13, 1 << 14

READ = _READ_FILE | _READ_DIR
"""Open files for reading and list directories, nothing else: no execution either."""
READ_WRITE = (
    READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _REFER | _TRUNCATE
)
"""Also make, change and remove regular files and directories."""
_FILE_RIGHTS = _WRITE_FILE | _READ_FILE | _TRUNCATE

_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the file-system rights each ABI knows; later ones know as many as 5."""
_TCP_BIND_AND_CONNECT = 0b11
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_libc = ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock system call {number}: {os.strerror(code)}")
    return result


def abi_version() -> int:
    """Return the kernel's Landlock ABI version, 0 if it has none or it is switched off."""
    try:
        return _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    except OSError:
        return 0


def make_ruleset(rules: Iterable[tuple[str, int]]) -> int:
    """Return a descriptor of rules that deny what Landlock knows, except what ``rules`` allow.

    Args:
        rules: ``(path, rights)``: rights below that path. Paths that do not exist are skipped.

    Raises:
        OSError: If the kernel has no Landlock.
    """
    abi = abi_version()
    known = (1 << _RIGHTS_BY_ABI.get(abi, 16)) - 1
    network = _TCP_BIND_AND_CONNECT if abi >= 4 else 0
    scoped = _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8  # the kernel refuses unknown non-zero tails
    attributes = struct.pack("<QQQ", known, network, scoped)[:size]
    ruleset = _syscall(
        _CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)
    )
    for path, rights in rules:
        _allow(ruleset, path, rights & known)
    return ruleset


def restrict_self(ruleset: int) -> None:
    """Put this process, and all it will fork, under a ruleset for good.

    Raises:
        OSError: If the kernel refuses.
    """
    _syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        _syscall(
            _ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_RULE_PATH_BENEATH),
            rule,
            ctypes.c_uint(0),
        )
    finally:
        os.close(descriptor)
