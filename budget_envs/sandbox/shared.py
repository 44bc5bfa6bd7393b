"""Sandboxes that all environments of one process use together."""

from __future__ import annotations

import os
from threading import Lock

from budget_envs.sandbox.protocol import Sandbox
from budget_envs.sandbox.tiers import open_sandbox

__all__ = ["shared_sandbox"]

_open: dict[str, Sandbox] = {}
_inherited: list[Sandbox] = []  # of the process that this one was forked from: kept, never used
_lock = Lock()


def shared_sandbox(tier: str = "auto") -> Sandbox:
    """Return this process's sandbox of a tier, opened at the first call and closed at exit.

    It has a worker for each processor, but starts one only when that many threads run programs at
    the same time. A forked child opens its own: its parent's workers answer the parent.

    Args:
        tier: As for `budget_envs.sandbox.open_sandbox`.

    Raises:
        SandboxUnavailable: If the tier is missing here.
    """
    with _lock:
        sandbox = _open.get(tier)
        if sandbox is None:
            sandbox = _open[tier] = open_sandbox(tier, workers=os.cpu_count() or 1)
        return sandbox


def _start_anew() -> None:
    global _lock
    _lock = Lock()  # another thread may have held it during the fork
    _inherited.extend(_open.values())
    _open.clear()


os.register_at_fork(after_in_child=_start_anew)
