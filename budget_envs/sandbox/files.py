"""The private directory of a candidate, and its stdin: made, measured and removed.

This module runs inside the sandbox and imports only small modules of the standard library.
"""

from __future__ import annotations

import fcntl
import math
import os

__all__ = ["BLOCK_BYTES", "bytes_below", "input_file", "wipe"]

BLOCK_BYTES = 4096
"""What any file or directory counts for at least."""


def input_file(text: bytes) -> int:
    """Return a sealed file in memory: a regular stdin, of any size, that nobody has to feed."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def bytes_below(directory: str) -> float:
    """Return the size of all files, each at least a block; infinite if it cannot be told."""
    total = 0
    pending = [directory]
    while pending:
        try:
            for entry in os.scandir(pending.pop()):
                total += max(BLOCK_BYTES, _size(entry))
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
        except FileNotFoundError:  # removed meanwhile
            continue
        except OSError:  # a path grown too long, or forbidden: made to hide something
            return math.inf
    return total


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def wipe(root: str) -> None:
    """Remove everything below ``root``, however deep, without following a link.

    It walks by changing the directory: paths of hostile depth are longer than the kernel takes.
    """
    os.chdir(root)
    levels = [os.listdir()]
    entered: list[str] = []
    while levels:
        if levels[-1]:
            name = levels[-1].pop()
            if not _remove(name):
                os.chmod(name, 0o700)
                os.chdir(name)
                entered.append(name)
                levels.append(os.listdir())
            continue
        levels.pop()
        if levels:
            os.chdir("..")
            os.rmdir(entered.pop())
    os.chdir("/")


def _remove(name: str) -> bool:
    """Remove a file or an empty directory; return False for a directory that is not empty."""
    try:
        os.rmdir(name)
    except NotADirectoryError:
        os.unlink(name)
    except OSError:
        return False
    return True
