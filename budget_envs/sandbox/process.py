"""The tier without namespaces: a slim server, confined by seccomp, Landlock, rlimits and a uid.

A candidate may read Python's standard library and write to its own directory. It cannot make
processes, sockets or signals, look into another process, or change the rights of a file.
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import IO, Any

from budget_envs.errors import UnsupportedError
from budget_envs.sandbox.boot import SERVER_ENVIRONMENT, server_command
from budget_envs.sandbox.candidate import run_program_on
from budget_envs.sandbox.protocol import Limits, SandboxLost, SandboxUnavailable
from budget_envs.sandbox.seccomp import ARCHITECTURES, build_filters
from budget_envs.sandbox.worker import SocketStream, Worker

__all__ = [
    "check_confinement",
    "find_python",
    "launch_process_worker",
    "next_uid",
    "server_filters",
    "start_local_worker",
]

THREADS = 64
"""How many threads a candidate may have where its user's threads are not shared."""
_FIRST_UID, _UIDS = 60578, 600
"""User ids that no distribution assigns: 60578-61183 are unused by convention (systemd)."""
_ALTERNATIVE = (
    "Use tier='bubblewrap' (apt-get install bubblewrap) or tier='docker' (apt-get install "
    'docker.io; pip install "budget-envs[sandbox]").'
)
_END_S = 5.0

_uids = itertools.count(os.getpid() * 7)


def launch_process_worker() -> Worker:
    """Start one worker of the ``process`` tier.

    Raises:
        SandboxUnavailable: If the kernel lacks a part of the isolation, or no Python fits.
    """
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable(
            f"The process sandbox needs Linux, not {sys.platform}. Use tier='docker'."
        )
    uid = next_uid()
    root = os.path.join(tempfile.gettempdir(), f"budget-envs-{secrets.token_hex(8)}")
    config = {
        "filters": server_filters(os.uname().machine),
        "uid": uid,
        "processes": None if uid is None else THREADS,
        "root": root,
        "make_root": True,
        "landlock": True,
        "follow_parent": False,
    }
    return start_local_worker(server_command(find_python(uid), local=True), config, _ALTERNATIVE)


def next_uid() -> int | None:
    """Return a user id for one worker's candidates, or None if only root could change to it."""
    return _FIRST_UID + next(_uids) % _UIDS if os.geteuid() == 0 else None


def server_filters(*machines: str) -> dict[str, tuple[bytes, bytes, tuple[int, ...]]]:
    """Return the system call filters that a server on one of these machines picks from.

    Raises:
        SandboxUnavailable: If there is none for one of them.
    """
    try:
        filters = {machine: build_filters(machine) for machine in machines or ARCHITECTURES}
    except UnsupportedError as error:
        raise SandboxUnavailable(str(error)) from error
    return {
        machine: (built.parent, built.child, built.pid_offsets)
        for machine, built in filters.items()
    }


def find_python(uid: int | None) -> str:
    """Return the interpreter for the server: this one, else the system's.

    A candidate imports modules after it has become ``uid``, which an interpreter in, say, root's
    home does not allow.

    Raises:
        SandboxUnavailable: If none can be used.
    """
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    for python, library in ((own, os.path.dirname(os.__file__)), ("/usr/bin/python3", "/usr/lib")):
        if os.access(python, os.X_OK) and (uid is None or _readable_by_all(python, library)):
            return python
    raise SandboxUnavailable(
        f"No Python that an unprivileged user may read: {own!r} is in a private folder and "
        "/usr/bin/python3 is missing. Run: apt-get install python3"
    )


def _readable_by_all(*paths: str) -> bool:
    for path in paths:
        while True:
            if not os.stat(path).st_mode & 0o001:
                return False
            if path == "/":
                break
            path = os.path.dirname(path)
    return True


def start_local_worker(
    command: list[str],
    config: Mapping[str, Any],
    alternative: str,
    user: int | None = None,
) -> Worker:
    """Start a server on this machine, confine it and make sure that it is.

    Args:
        command: Starts the server with the control socket on its descriptor 0.
        config: See the server.
        alternative: What to do where this does not work.
        user: User and group id of the command, None for the caller's.

    Raises:
        SandboxUnavailable: If it does not start or does not isolate.
    """
    with tempfile.TemporaryFile() as complaints:
        worker = _started(command, config, user, complaints)
        try:
            check_confinement(worker, worker.configure(config))
        except SandboxLost as error:
            worker.close()
            complaints.seek(0)
            text = complaints.read(2000).decode("utf-8", "replace").strip()
            raise SandboxUnavailable(f"{error} {text} {alternative}") from error
        except BaseException:  # an interrupt must not leave it behind either
            worker.close()
            raise
    return worker


def _started(
    command: list[str], config: Mapping[str, Any], user: int | None, complaints: IO[bytes]
) -> Worker:
    no_groups: list[int] | None = None if user is None else []
    ours, theirs = socket.socketpair()
    try:
        server = subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env=SERVER_ENVIRONMENT,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the judge
            user=user,
            group=user,
            extra_groups=no_groups,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return Worker(SocketStream(ours), local=True, end=lambda: _end(server, config))


def _end(server: subprocess.Popen[bytes], config: Mapping[str, Any]) -> None:
    """Wait for a server whose stream was closed; kill it if it does not end by itself."""
    try:
        server.wait(_END_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if config["make_root"]:
        shutil.rmtree(config["root"], ignore_errors=True)  # a killed server leaves it


_PROBE = """\
import os, _socket

def attempt(name, action):
    try:
        action()
    except OSError:
        return
    print(name, flush=True)

attempt("make processes", lambda: os.waitpid(os.fork() or os._exit(0), 0))
attempt("make sockets", _socket.socket)
attempt("signal others", lambda: os.kill(os.getppid(), 0))
attempt("change rights", lambda: os.chmod(".", 0o777))
attempt("run programs", lambda: os.execv("/bin/true", ["true"]))
if LANDLOCK:
    attempt("read elsewhere", lambda: os.listdir("/"))
    attempt("write elsewhere", lambda: open("../../planted", "w"))
"""


def check_confinement(worker: Worker, facts: Mapping[str, Any]) -> None:
    """Try on a fresh worker what no candidate must be able to do.

    Raises:
        SandboxLost: If something of it worked.
    """
    source = f"LANDLOCK = {bool(facts['landlock'])}\n{_PROBE}"
    execution = run_program_on(worker, source, "", Limits())
    if execution.status != "ok" or execution.stdout:
        leaks = execution.stdout.split("\n") if execution.stdout else [execution.stderr]
        raise SandboxLost(f"The sandbox does not isolate: {execution.status}, {leaks!r}.")
    if not worker.becomes_idle():
        raise SandboxLost("The sandbox's server does not outlive a run.")
