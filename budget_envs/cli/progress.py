"""A progress bar on standard error, where that is a terminal; a line of text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from budget_envs.cli.output import console
from budget_envs.evaluation import Progress
from budget_envs.evaluation.report.text import visible

__all__ = ["shown_progress"]


@contextmanager
def shown_progress(name: str, total: int) -> Iterator[Callable[[Progress], None]]:
    """Show how an evaluation gets on, and give what is to be called with its progress.

    Args:
        name: What is evaluated.
        total: Its episodes.
    """
    if not sys.stderr.isatty():
        yield _Line(name)
        return
    from rich import progress

    name = visible(name)
    bar = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[notes]}", markup=False),
        console=console(stderr=True),
    )
    with bar:
        task = bar.add_task(name, total=total, rate="", notes="")

        def update(state: Progress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            played = state.done - state.resumed
            bar.update(
                task,
                completed=state.done,
                rate=f"{played / elapsed:,.0f} episodes/s" if elapsed > 0 else "",
                notes=_notes(state),
            )

        yield update


class _Line:
    """Prints one line when an evaluation begins, and nothing more."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_printed = False

    def __call__(self, state: Progress) -> None:
        if not self._is_printed:
            count = f"{state.total:,} episode{'s' if state.total != 1 else ''}"
            stored = f", {_stored(state)}" if state.resumed else ""
            print(f"{visible(self._name)}: {count}{stored}", file=sys.stderr, flush=True)
        self._is_printed = True


def _stored(state: Progress) -> str:
    count = "all" if state.resumed == state.total else f"{state.resumed:,}"
    return f"{count} of them in the database already"


def _notes(state: Progress) -> str:
    notes = [_stored(state)] if state.resumed else []
    if state.dead:
        notes.append(f"{state.dead} ended by errors, {state.void} of them void")
    return "; ".join(notes)
