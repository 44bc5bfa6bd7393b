"""The tier with namespaces: the same slim server inside ``bwrap``.

On top of the ``process`` tier a candidate has its own process ids, network, IPC and users, and a
file system in which nothing else exists.
"""

from __future__ import annotations

import os
import shutil

from budget_envs.sandbox.boot import server_command
from budget_envs.sandbox.process import (
    THREADS,
    find_python,
    next_uid,
    server_filters,
    start_local_worker,
)
from budget_envs.sandbox.protocol import Limits, SandboxUnavailable
from budget_envs.sandbox.worker import Worker

__all__ = ["launch_bubblewrap_worker"]

_ROOT = "/tmp"
_ALTERNATIVE = (
    "bwrap needs unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0); else use tier='process'."
)


def launch_bubblewrap_worker(limits: Limits) -> Worker:
    """Start one worker of the ``bubblewrap`` tier.

    Args:
        limits: Their ``file_bytes`` is the size of the file system that candidates write to.

    Raises:
        SandboxUnavailable: If bwrap is missing or not allowed to make namespaces.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailable("bwrap is not installed. Run: apt-get install bubblewrap")
    uid = next_uid()  # inside bwrap root would still be root to the kernel's process limits
    python = find_python(uid)
    config = {
        "filters": server_filters(os.uname().machine),
        "uid": None,
        "processes": THREADS,
        "root": _ROOT,
        "make_root": False,
        "landlock": False,
        "follow_parent": True,  # the parent is bwrap, which has one thread
    }
    command = [bwrap, *_namespaces(), *_file_system(python, limits), "--"]
    command += server_command(python, local=True)
    return start_local_worker(command, config, _ALTERNATIVE, user=uid)


def _namespaces() -> list[str]:
    # --die-with-parent is left out: it follows the *thread* that started bwrap. The server ends
    # when its control stream does, and as process 1 takes everything in its namespace along.
    return ["--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1"]


def _file_system(python: str, limits: Limits) -> list[str]:
    """Python's own files, read-only, three devices and a small file system for candidates."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for folder in ("/lib", "/lib64"):
        if os.path.islink(folder):
            arguments += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            arguments += ["--ro-bind", folder, folder]
    if not python.startswith("/usr/"):
        prefix = os.path.dirname(os.path.dirname(python))
        arguments += ["--ro-bind", prefix, prefix]
    for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
        arguments += ["--dev-bind", device, device]
    arguments += ["--proc", "/proc", "--symlink", "/proc/self/fd/0", "/dev/stdin"]
    size = str(2 * limits.file_bytes)  # room for the look at the files to come first
    return [*arguments, "--size", size, "--tmpfs", _ROOT, "--remount-ro", "/"]
