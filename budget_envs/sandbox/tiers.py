"""Choosing a tier by name, or the strongest one that works here."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from budget_envs.errors import DependencyNotInstalled, OptionError, did_you_mean
from budget_envs.sandbox import bubblewrap, docker, process
from budget_envs.sandbox.pool import PooledSandbox
from budget_envs.sandbox.protocol import Limits, Sandbox, SandboxUnavailable
from budget_envs.sandbox.worker import Worker

__all__ = ["TIERS", "available", "open_sandbox"]

TIERS = ("docker", "bubblewrap", "process")
"""Strongest first: own kernel resources, own namespaces, own rights."""


def open_sandbox(
    tier: str = "auto",
    workers: int = 1,
    limits: Limits | None = None,
    image: str | None = None,
) -> Sandbox:
    """Open a sandbox.

    Args:
        tier: One of `TIERS`, or ``"auto"`` for the first of them that works here. ``tier`` of
            the sandbox says which one it became.
        workers: How many programs may run at the same time.
        limits: Limits of a run that names none; a run may name others, but no more memory or
            files than these.
        image: Image of the ``docker`` tier; by default what ``BUDGET_ENVS_SANDBOX_IMAGE`` names,
            else ``python:3.11-slim``. It has to be on the engine already.

    Raises:
        SandboxUnavailable: If the tier asked for, or every tier, is missing. Nothing weaker is
            ever used in its place.
        OptionError: If there is no such tier, or ``workers`` is not a positive integer.
    """
    limits = limits or Limits()
    image = image or os.environ.get(docker.IMAGE_VARIABLE) or docker.DEFAULT_IMAGE
    if tier != "auto":
        return PooledSandbox(tier, _launcher(tier, limits, image), workers, limits)
    reasons = []
    for name in TIERS:
        try:
            return PooledSandbox(name, _launcher(name, limits, image), workers, limits)
        except (SandboxUnavailable, DependencyNotInstalled) as error:
            reasons.append(f"{name}: {error}")
    raise SandboxUnavailable("No sandbox works here.\n" + "\n".join(reasons))


def available() -> dict[str, str | None]:
    """Return for each tier None if it works here, else why not and what would help."""
    return {tier: _reason(tier) for tier in TIERS}


def _reason(tier: str) -> str | None:
    try:
        open_sandbox(tier).close()
    except (SandboxUnavailable, DependencyNotInstalled) as error:
        return str(error)
    return None


def _launcher(tier: str, limits: Limits, image: str) -> Callable[[], Worker]:
    if tier == "process":
        return process.launch_process_worker
    if tier == "bubblewrap":
        return partial(bubblewrap.launch_bubblewrap_worker, limits)
    if tier == "docker":
        docker.remove_stale_containers()
        return partial(docker.launch_docker_worker, limits, image)
    raise OptionError(
        f"tier must be 'auto' or one of {TIERS}, got {tier!r}.{did_you_mean(tier, TIERS)}"
    )
