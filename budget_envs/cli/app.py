"""The commands as one application, and what their errors look like."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium as gym
from cyclopts import App, CycloptsError

from budget_envs.cli.bench.command import bench
from budget_envs.cli.compare import compare
from budget_envs.cli.doctor import doctor
from budget_envs.cli.evaluate import evaluate
from budget_envs.cli.list_ids import list_ids
from budget_envs.cli.output import INTERRUPTED, tolerate_any_text
from budget_envs.cli.play import play
from budget_envs.cli.report import report
from budget_envs.errors import BudgetEnvsError, OptionError, UnsupportedError
from budget_envs.evaluation.report.text import visible
from budget_envs.version import __version__

__all__ = ["COMMANDS", "build_app", "run"]

FAILED, MISUSED, NOBODY_READS = 1, 2, 141

COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    "list": list_ids,
    "play": play,
    "evaluate": evaluate,
    "compare": compare,
    "report": report,
    "bench": bench,
    "doctor": doctor,
}


def build_app() -> App:
    """Return the application with all commands."""
    app = App(
        name="budget-envs",
        help="Gymnasium text environments in which the interaction budget is part of the task.",
        version=__version__,
        help_format="markdown",
        version_format="plaintext",
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for place, (name, command) in enumerate(COMMANDS.items()):
        app.command(command, name=name, sort_key=place)
    return app


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    tolerate_any_text()
    try:
        code = build_app()(list(argv), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return NOBODY_READS
    except KeyboardInterrupt:
        return _complain("stopped.", INTERRUPTED)
    except CycloptsError as error:
        return _complain(f"{error}{_where_to_look(error)}", MISUSED)
    except (OptionError, UnsupportedError) as error:
        return _complain(str(error), MISUSED)
    except (BudgetEnvsError, gym.error.Error) as error:
        return _complain(str(error), FAILED)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", FAILED)
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    print(f"budget-envs: {visible(message)}", file=sys.stderr)
    return code


def _where_to_look(error: CycloptsError) -> str:
    command = " ".join(["budget-envs", *(error.command_chain or ())])
    return f" See: {command} --help"


def _drop_output() -> None:
    """Let the interpreter's last flush go nowhere, as whoever read the output has left."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # a stream that is no file needs no flush
        return
