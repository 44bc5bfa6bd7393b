"""Runs untrusted Python programs, so that their verdict can be trusted.

Three tiers keep one protocol (`Sandbox`): ``process``, ``bubblewrap`` and ``docker``. Only inputs
go in and only plain values come out; whoever judges compares them outside.
"""

from __future__ import annotations

from budget_envs.sandbox.codec import NotPlainError, Reference
from budget_envs.sandbox.protocol import (
    Call,
    CallResult,
    CallsRun,
    Candidate,
    CandidateError,
    Execution,
    Limits,
    Sandbox,
    SandboxLost,
    SandboxUnavailable,
    Status,
)
from budget_envs.sandbox.tiers import TIERS, available, open_sandbox

__all__ = [
    "TIERS",
    "Call",
    "CallResult",
    "CallsRun",
    "Candidate",
    "CandidateError",
    "Execution",
    "Limits",
    "NotPlainError",
    "Reference",
    "Sandbox",
    "SandboxLost",
    "SandboxUnavailable",
    "Status",
    "available",
    "open_sandbox",
]
