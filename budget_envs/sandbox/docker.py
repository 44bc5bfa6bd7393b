"""The tier with an engine of its own: the slim server is the only process of a container.

On top of seccomp (and Landlock, where the engine lets it through) a candidate has no network, a
read-only root, no capabilities, and a bound on memory, processors and processes that the kernel
keeps for the whole container. The server is attached to, not started by an ``exec`` per run: that
takes 5 ms instead of 70. When the judge goes away, however it does, the engine closes the
server's input, the server ends, and the engine removes the container.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
from contextlib import suppress
from typing import Any

from budget_envs.errors import require
from budget_envs.sandbox.boot import SERVER_ENVIRONMENT, server_command
from budget_envs.sandbox.process import THREADS, check_confinement, server_filters
from budget_envs.sandbox.protocol import Limits, SandboxLost, SandboxUnavailable
from budget_envs.sandbox.worker import SocketStream, Worker, receive_exactly, wait_readable

__all__ = [
    "DEFAULT_IMAGE",
    "IMAGE_VARIABLE",
    "LABEL",
    "connect",
    "launch_docker_worker",
    "remove_stale_containers",
]

DEFAULT_IMAGE = "python:3.11-slim"
IMAGE_VARIABLE = "BUDGET_ENVS_SANDBOX_IMAGE"
"""Environment variable that names another image: any that has ``python3``, 3.9 or newer."""
LABEL = "budget-envs.sandbox.owner"
"""Label of every container: which process made it, in a form that outlives the process."""

_USER = "10001:10001"
_ROOT = "/tmp"
_OVERHEAD_BYTES = 64 << 20
_TIMEOUT_S = 60
_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_OUT, _ERR = 1, 2
_LONGEST_COMPLAINT = 4096


def launch_docker_worker(limits: Limits, image: str) -> Worker:
    """Start one container with one worker in it.

    Args:
        limits: What the container as a whole may use, plus the server's own share.
        image: Name of a local image.

    Raises:
        DependencyNotInstalled: If the SDK is missing.
        SandboxUnavailable: If no engine answers, the image is missing, or it does not isolate.
    """
    engine = connect()
    name = f"budget-envs-{secrets.token_hex(8)}"
    try:
        stream = _start_container(engine, name, limits, image)
    except BaseException:  # an interrupt too: the container may exist already
        _remove(engine, name)
        raise
    worker = Worker(stream, local=False, end=lambda: _remove(engine, name))
    try:
        check_confinement(worker, worker.configure(_config()))
    except SandboxLost as error:
        worker.close()
        raise SandboxUnavailable(f"{error} {stream.complaint} (image {image!r})") from error
    except BaseException:
        worker.close()
        raise
    return worker


def connect() -> Any:
    """Return the SDK's low-level client of the engine that the environment names.

    Raises:
        DependencyNotInstalled: If the SDK is missing.
        SandboxUnavailable: If no engine answers.
    """
    docker = require("docker", "sandbox")
    settings = docker.utils.kwargs_from_env()
    try:
        _knock(settings.get("base_url", _DEFAULT_ADDRESS))
        return docker.APIClient(version="auto", timeout=_TIMEOUT_S, **settings)
    except (docker.errors.DockerException, OSError) as error:
        raise SandboxUnavailable(
            f"No Docker engine answers: {error}. Run: apt-get install docker.io && "
            "systemctl start docker; or set DOCKER_HOST to the engine's address."
        ) from error


def _knock(address: str) -> None:
    """Raise OSError if nobody listens; the SDK would find out too, and leak the socket."""
    scheme, _, path = address.partition("://")
    if scheme in ("unix", "http+unix"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_TIMEOUT_S)
            probe.connect(path)


def _start_container(engine: Any, name: str, limits: Limits, image: str) -> _AttachedStream:
    docker = require("docker", "sandbox")
    try:
        engine.create_container(
            image,
            name=name,
            entrypoint=[],
            command=server_command("python3", local=False),
            user=_USER,
            environment=SERVER_ENVIRONMENT,
            labels={LABEL: _owner(os.getpid())},
            stdin_open=True,  # also: closed when the attached client goes away
            working_dir="/",
            host_config=_host_config(engine, limits),
        )
        return _attached_and_started(engine, name)
    except docker.errors.ImageNotFound as error:
        raise SandboxUnavailable(
            f"The image {image!r} is not on this engine. Run: docker pull {image}; or name one "
            f"that is there in {IMAGE_VARIABLE}."
        ) from error
    except (docker.errors.DockerException, OSError) as error:
        raise SandboxUnavailable(f"The engine did not start a container: {error}") from error


def _attached_and_started(engine: Any, name: str) -> _AttachedStream:
    stream = _AttachedStream(engine, name)
    try:
        engine.start(name)
    except BaseException:
        stream.close()
        raise
    return stream


def _host_config(engine: Any, limits: Limits) -> Any:
    files = 2 * limits.file_bytes  # room for the look at the files to come first
    memory = limits.memory_bytes + files + _OVERHEAD_BYTES
    return engine.create_host_config(
        network_mode="none",
        ipc_mode="none",  # no /dev/shm to leave something in for the next run
        read_only=True,
        tmpfs={_ROOT: f"rw,noexec,nosuid,nodev,size={files},mode=1777"},
        mem_limit=memory,
        memswap_limit=memory,
        pids_limit=THREADS + 8,
        nano_cpus=10**9,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        log_config={"Type": "none", "Config": {}},
        auto_remove=True,
    )


def _config() -> dict[str, Any]:
    return {
        "filters": server_filters(),
        "uid": None,
        "processes": None,  # the container has its own limit; the user's id is shared by all
        "root": _ROOT,
        "make_root": False,
        "landlock": False,
        "follow_parent": False,
    }


class _AttachedStream(SocketStream):
    """The server's stdin and stdout over one attached connection to the engine.

    The engine frames what comes out: a stream number, three zeros, a big-endian length. The
    SDK's own timeout does not hold on such a connection, so every read has its deadline here.
    """

    def __init__(self, engine: Any, name: str) -> None:
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._attached = engine.attach_socket(name, params=parameters)
        super().__init__(getattr(self._attached, "_sock", self._attached))
        self._received = bytearray()
        self.complaint = ""

    def receive(self, size: int, deadline: float) -> bytes:
        """Return exactly ``size`` bytes of the server's stdout."""
        while len(self._received) < size:
            kind, length = struct.unpack(">BxxxI", self._read(8, deadline))
            chunk = self._read(length, deadline)
            if kind == _OUT:
                self._received += chunk
            elif kind == _ERR:
                self.complaint = self.complaint + chunk.decode("utf-8", "replace")
                self.complaint = self.complaint[:_LONGEST_COMPLAINT]
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def _read(self, size: int, deadline: float) -> bytes:
        return receive_exactly(self.connection, size, deadline)

    def wait(self, deadline: float) -> None:
        """Return when something can be received."""
        decrypted = getattr(self.connection, "pending", None)  # of a TLS connection
        if not self._received and not (decrypted and decrypted()):
            wait_readable(self.connection, deadline)

    def release(self) -> None:
        """Close this process's descriptor: with the last one the container ends."""
        response = getattr(self._attached, "_response", None)
        for part in (response, self._attached, self.connection):  # each holds the descriptor
            if part is not None:
                part.close()


def _remove(engine: Any, name: str) -> None:
    """Remove a container, if it is there, and hang up."""
    docker = require("docker", "sandbox")
    with suppress(docker.errors.APIError, OSError):  # gone, or going, or the engine is gone
        engine.remove_container(name, force=True)
    engine.close()


def remove_stale_containers() -> int:
    """Remove containers whose owner, on this machine, is gone; return how many.

    Raises:
        DependencyNotInstalled: If the SDK is missing.
        SandboxUnavailable: If no engine answers.
    """
    docker = require("docker", "sandbox")
    engine = connect()
    removed = 0
    try:
        for container in engine.containers(all=True, filters={"label": LABEL}):
            if _is_stale(container["Labels"][LABEL]):
                with suppress(docker.errors.APIError):
                    engine.remove_container(container["Id"], force=True)
                    removed += 1
    finally:
        engine.close()
    return removed


def _owner(pid: int) -> str:
    """Return what tells a process apart from all others, also later ones with its number."""
    return f"{socket.gethostname()}/{_boot_id()}/{pid}/{_start_time(pid)}"


def _is_stale(owner: str) -> bool:
    host, _, rest = owner.partition("/")
    pid = rest.split("/")[1] if rest.count("/") == 2 else ""
    return host == socket.gethostname() and pid.isdecimal() and _owner(int(pid)) != owner


def _boot_id() -> str:
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
    return "-"


def _start_time(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; ``-`` where that is unknown."""
    if os.path.exists("/proc/self/stat"):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[19]
        except OSError:
            return "gone"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    return "-"
