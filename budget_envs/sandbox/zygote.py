r"""The slim server inside a sandbox: forks a confined child per request, watches it, ends it.

It is started on its own with few imports, never forked from the judge, because a fork copies the
page tables of everything that is loaded: under a millisecond here, many in a process with torch.
It captures output with a bound, enforces the deadline and the file limit, kills, reaps, wipes
the private directory, and reports. It never interprets a byte that the child wrote.

======================== ===================== =================================================
from the judge           ``config``            once: what `_Server` is made of
\                        ``("run", request)``  start; locally the call channel comes along as a
                                               descriptor, elsewhere calls are relayed
\                        ``("call", bytes)``   relayed: one framed request for the child
\                        ``("close",)``        relayed: close the child's channel
\                        ``("stop",)``         kill the child
from the server          ``("ready", facts)``  once, or ``("failed", why)``
\                        ``("reply", bytes)``  relayed: one framed reply of the child
\                        ``("end", report)``   the child is gone, or as good as
\                        ``("idle",)``         so is all that it left: the next run may start
======================== ===================== =================================================
"""

from __future__ import annotations

import _socket
import builtins
import gc
import importlib
import math
import os
import select
import sys
import time
from contextlib import suppress
from typing import Any

from budget_envs.sandbox import confined, landlock
from budget_envs.sandbox.files import BLOCK_BYTES, bytes_below, input_file, wipe
from budget_envs.sandbox.nursery import Nursery
from budget_envs.sandbox.pipes import Capture, Control, Relay
from budget_envs.sandbox.runner import DONE, prepare_modules, prepare_streams, warm_up

__all__ = ["main"]

_PRELOADED = (
    *("bisect", "collections", "copy", "functools", "heapq", "itertools", "json", "math"),
    *("operator", "re", "string", "typing"),
)
"""Modules that most programs import: loaded once here, so that no run pays for them."""
_RECURSION_LIMIT = 1000 + 20  # the candidate does not start at the bottom of the stack

_PRIVATE = "run"
_STATUS_BYTES = 4096
_LOOK_AT_FILES_EVERY_S = 0.05


class _Run:
    """One child, from its fork to its report."""

    def __init__(self, control: Control, request: dict[str, Any], root: str) -> None:
        self.control = control
        self.request = request
        self.is_called: bool = request["calls"]
        self.root = root  # not the private directory, which a program may rename in it
        self.relay: Relay | None = None
        self.cause = ""
        self.is_over = False
        self.is_done = False
        self.poller = select.poll()

    def start(self, nursery: Nursery, channel: int | None) -> None:
        """Start the child; calls without a channel of their own are relayed."""
        pipes = {name: os.pipe() for name in ("stdout", "stderr")}
        # Not a pipe, which the program could open through /proc to take back what was said of it.
        ours, theirs = _socket.socketpair()
        pipes["status"] = (ours.detach(), theirs.detach())
        limits = dict.fromkeys(("stdout", "stderr"), self.request["output_bytes"])
        limits["status"] = _STATUS_BYTES
        self.captures = {name: Capture(pipes[name][0], limits[name]) for name in pipes}
        given = {name: pipe[1] for name, pipe in pipes.items()}
        given["stdin"] = self._stdin()
        if self.is_called and channel is None:
            self.relay = Relay(self.control, self.poller)
            channel = self.relay.theirs.detach()
        if channel is not None:
            given["channel"] = channel
        self.child = nursery.start(confined.pack_order(self.request), given)
        self.started = time.monotonic()
        for descriptor in given.values():
            os.close(descriptor)

    def _stdin(self) -> int:
        if self.is_called:
            return os.open("/dev/null", os.O_RDONLY)
        return input_file(self.request["stdin"])

    def watch(self) -> None:
        """Serve the child until it is dead, one way or another."""
        self.deadline = self.started + self.request["wall_s"]
        self.next_look = self.started + _LOOK_AT_FILES_EVERY_S
        # Not the status: its few bytes can wait, and more of them block their writer.
        outputs = (self.captures["stdout"], self.captures["stderr"])
        self.outputs = {capture.descriptor: capture for capture in outputs}
        self.open_outputs = len(outputs)
        for descriptor in (0, self.child.death, *self.outputs):
            self.poller.register(descriptor, select.POLLIN)
        while not self.is_over:
            wait_s = min(self.deadline, self.next_look) - time.monotonic()
            for descriptor, event in self.poller.poll(max(0, math.ceil(wait_s * 1000))):
                self._on_event(descriptor, event)
            self._on_time(time.monotonic())

    def _on_event(self, descriptor: int, event: int) -> None:
        if descriptor == self.child.death:
            self.is_over = True
        elif descriptor == 0:
            self._on_control()
        elif descriptor in self.outputs:
            self._on_output(self.outputs[descriptor])
        elif self.relay is not None:
            self.relay.on_event(event)

    def _on_control(self) -> None:
        received = self.control.receive()
        if received is None:  # the judge is gone: the server finds out again after this run
            self.poller.unregister(0)
            self._kill("stop")
            return
        frame = received[0]
        if frame[0] == "stop":
            self._kill("stop")
        elif self.relay is not None:
            self.relay.request(frame[1]) if frame[0] == "call" else self.relay.close()

    def _on_output(self, capture: Capture) -> None:
        if not capture.pump():
            self.poller.unregister(capture.descriptor)
            self.open_outputs -= 1
            if self.open_outputs == 0 and self.is_called:
                self._look_for_end()
        if self._wrote_too_much():
            self._kill("output")

    def _look_for_end(self) -> None:
        """Take a called program that was told to end, and says so, for ended: kill the rest."""
        status = self.captures["status"]
        if select.select([status.descriptor], [], [], 0)[0]:
            status.pump()
        if DONE in status.kept:
            self.is_done = self.is_over = True
            self.child.kill()

    def _wrote_too_much(self) -> bool:
        """A program's stdout is its answer; what called functions print is not."""
        return self.captures["stdout"].overflowed and not self.is_called

    def _on_time(self, now: float) -> None:
        if now >= self.deadline:
            self._kill("timeout")
            self.deadline = math.inf
        if now >= self.next_look:
            if bytes_below(self.root) - BLOCK_BYTES > self.request["file_bytes"]:
                self._kill("files")
            took_s = time.monotonic() - now
            self.next_look = now + max(_LOOK_AT_FILES_EVERY_S, 10 * took_s)

    def _kill(self, cause: str) -> None:
        """Kill the child; the first cause is the one reported."""
        self.cause = self.cause or cause
        self.child.kill()

    def report(self, exit_code: int) -> dict[str, Any]:
        """Read what the pipes still hold, and say how it went."""
        seconds = time.monotonic() - self.started
        self.child.close()
        if self.relay is not None:
            self.relay.drain()
            self.relay.close()
        for capture in self.captures.values():
            while not self.is_done and capture.pump():
                pass
            os.close(capture.descriptor)
        if self._wrote_too_much():
            self.cause = self.cause or "output"
        return {
            "exit_code": exit_code,
            "cause": self.cause,
            "seconds": seconds,
            **{name: bytes(capture.kept) for name, capture in self.captures.items()},
            "truncated": [name for name, c in self.captures.items() if c.overflowed],
        }


class _Server:
    """Confines itself, then serves one run after another.

    Args:
        control: The stream to the judge.
        config: ``filters`` (per machine, see `seccomp.Filters`), ``uid`` (to become in the
            child, or None), ``processes`` (thread limit, or None), ``root`` (a directory for the
            private directories), ``make_root`` (whether it is this server's to make and
            remove), ``landlock`` (whether it must be there) and ``follow_parent`` (whether to
            die with the parent; wrong where a thread of the judge is the parent).
    """

    def __init__(self, control: Control, config: dict[str, Any]) -> None:
        self.control = control
        self.root = config["root"]
        self.made_root = config["make_root"]
        parent, child, offsets = config["filters"][os.uname().machine]
        self.private_dir = os.path.join(self.root, _PRIVATE)
        self.policy = confined.Policy(
            parent, child, offsets, self.private_dir, config["uid"], config["processes"]
        )
        self.needs_landlock = config["landlock"]
        self.follows_parent = config["follow_parent"]

    def prepare(self) -> dict[str, Any]:
        """Load what programs need, then give up what this server does not need."""
        if self.follows_parent:
            confined.follow_parent(os.getppid())
        if self.made_root:
            os.mkdir(self.root, 0o711)
        self._make_private_dir()
        _load_like_site()
        prepare_streams()
        prepare_modules()
        confined.set_no_new_privileges()
        confined.set_dumpable(False)
        abi = landlock.abi_version()
        if abi or self.needs_landlock:  # which then fails, and says why
            self.policy.ruleset = self._make_ruleset()
        sys.setrecursionlimit(_RECURSION_LIMIT)
        warm_up()
        gc.collect()
        gc.freeze()
        self.nursery = Nursery(self.policy)
        return {"python": sys.version.split()[0], "landlock": abi}

    def _make_ruleset(self) -> int:
        readable = [os.path.dirname(os.__file__), os.path.join(sys.base_prefix, "lib")]
        readable += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"]
        readable += ["/usr/share/zoneinfo", "/etc/ld.so.cache", "/dev/urandom", "/dev/zero"]
        rules = [(path, landlock.READ) for path in readable]
        writable = [(path, landlock.READ_WRITE) for path in (self.root, "/dev/null")]
        return landlock.make_ruleset(rules + writable)

    def serve(self) -> None:
        """Answer until the judge goes away."""
        while (received := self.control.receive()) is not None:
            frame, descriptors = received
            if frame[0] == "run":  # the others came late for a run that has ended
                self._serve_run(frame[1], descriptors[0] if descriptors else None)

    def _serve_run(self, request: dict[str, Any], channel: int | None) -> None:
        run = _Run(self.control, request, self.root)
        run.start(self.nursery, channel)
        run.watch()
        if run.is_done:  # the judge need not wait for its death
            self.control.send(("end", run.report(0)))
            self.nursery.exit_code()
        else:
            self.control.send(("end", run.report(self.nursery.exit_code())))
        if not self._is_untouched():
            wipe(self.root)
            self._make_private_dir()
        self.control.send(("idle",))

    def _make_private_dir(self) -> None:
        os.mkdir(self.private_dir, 0o700)
        if self.policy.uid is not None:
            os.chown(self.private_dir, self.policy.uid, self.policy.uid)
        self.made = _identity(self.private_dir)

    def _is_untouched(self) -> bool:
        """Most programs write no file. A change that was undone shows in the time, mostly."""
        try:
            is_alone = os.listdir(self.root) == [_PRIVATE] and not os.listdir(self.private_dir)
            return is_alone and _identity(self.private_dir) == self.made
        except OSError:  # another thing is in its place: a file, or a folder without rights
            return False

    def close(self) -> None:
        """Remove what is this server's."""
        if self.made_root and os.path.isdir(self.root):
            wipe(self.root)
            os.rmdir(self.root)


def _identity(path: str) -> tuple[int, ...]:
    """Return what a program cannot give to another directory; it can set the first time."""
    status = os.lstat(path)
    return status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns


def main(local: bool) -> None:
    """Serve the judge on the control stream until it goes away.

    Args:
        local: See `Control`.
    """
    control = Control(local)
    received = control.receive()
    if received is None:
        return
    try:
        server = _Server(control, received[0])
    except KeyError as error:  # no filter for this machine
        control.send(("failed", f"not known here: {error}"))
        return
    with suppress(ConnectionError):  # the judge went away while it was being answered
        try:
            _prepare_and_serve(server, control)
        finally:
            server.close()


def _prepare_and_serve(server: _Server, control: Control) -> None:
    try:
        facts = server.prepare()
    except OSError as error:
        control.send(("failed", f"{type(error).__name__}: {error}"))
    else:
        control.send(("ready", facts))
        server.serve()


def _load_like_site() -> None:
    """Preload common modules, and give programs the builtins that the ``site`` module adds."""
    for name in _PRELOADED:
        importlib.import_module(name)
    import _sitebuiltins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    builtins.help = _sitebuiltins._Helper()
    for name in [name for name in sys.modules if name.startswith("budget_envs")]:
        del sys.modules[name]
    os.environ.clear()
