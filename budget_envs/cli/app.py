"""The commands as one application, and what their errors look like."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import gymnasium as gym
from cyclopts import App, CycloptsError, UnusedCliTokensError

from budget_envs.cli.bench.command import bench
from budget_envs.cli.compare import compare
from budget_envs.cli.doctor import doctor
from budget_envs.cli.evaluate import evaluate
from budget_envs.cli.list_ids import list_ids
from budget_envs.cli.output import INTERRUPTED, console, tolerate_any_text
from budget_envs.cli.play import play
from budget_envs.cli.report import report
from budget_envs.cli.tasks import tasks
from budget_envs.cli.train import train
from budget_envs.errors import BudgetEnvsError, OptionError, UnsupportedError
from budget_envs.evaluation.report.text import visible
from budget_envs.version import __version__

__all__ = ["COMMANDS", "build_app", "run"]

FAILED, MISUSED, NOBODY_READS = 1, 2, 141

COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    "list": list_ids,
    "play": play,
    "evaluate": evaluate,
    "train": train,
    "compare": compare,
    "report": report,
    "tasks": tasks,
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
        console=console(width_of_files=None),
    )
    for place, (name, command) in enumerate(COMMANDS.items()):
        app.command(command, name=name, sort_key=place)
    return app


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    tolerate_any_text()
    try:
        with _stopped_by_a_scheduler_as_by_hand():
            return _run(argv)
    except BrokenPipeError:  # of the output, or of the message about something else
        _drop_output()
        return NOBODY_READS


@contextmanager
def _stopped_by_a_scheduler_as_by_hand() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: finished episodes are stored, and workers end with the parent."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(argv: Sequence[str]) -> int:
    try:
        code = build_app()(list(argv), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return _complain("stopped.", INTERRUPTED)
    except CycloptsError as error:
        return _complain(f"{_misuse(error)}{_where_to_look(error)}", MISUSED)
    except (OptionError, UnsupportedError) as error:
        return _complain(str(error), MISUSED)
    except (BudgetEnvsError, gym.error.Error) as error:
        return _complain(str(error), FAILED)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", FAILED)
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    print(f"budget-envs: {visible(message)}", file=sys.stderr, flush=True)
    return code


def _misuse(error: CycloptsError) -> str:
    if not isinstance(error, UnusedCliTokensError):
        return str(error)
    command = " ".join(error.command_chain or ())
    extra = ", ".join(map(repr, error.unused_tokens or ()))
    return f"{command} takes no such argument: {extra}.".lstrip()


def _where_to_look(error: CycloptsError) -> str:
    command = " ".join(["budget-envs", *(error.command_chain or ())])
    return f" See: {command} --help"


def _drop_output() -> None:
    """Let the interpreter's last flush go nowhere, as whoever read the output has left."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # a stream that is no file needs no flush
        return
