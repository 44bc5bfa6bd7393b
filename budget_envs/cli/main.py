"""`main`: the entry point, which finds out whether the packages of the command are there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from budget_envs.errors import DependencyNotInstalled, require

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``budget-envs``.

    Args:
        argv: What follows the command's name; ``None`` takes it from ``sys.argv``.

    Returns:
        The exit code: 0; 1 where something is missing, unreadable or damaged; 2 for misuse; 130
        after Ctrl-C; 141 where nobody reads the output.
    """
    _open_closed_streams()
    try:
        require("cyclopts", "eval")
        require("rich", "eval")
    except DependencyNotInstalled as error:
        print(f"budget-envs: {error}", file=sys.stderr)
        return 1
    try:
        from budget_envs.cli.app import run

        return run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:  # before a command began
        return 130


def _open_closed_streams() -> None:
    """Let a standard stream that the shell has closed read and write nothing.

    Python has ``None`` in its place, and the next file that is opened would get its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for good
