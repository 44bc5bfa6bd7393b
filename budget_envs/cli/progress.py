"""A progress bar on standard error, where that is a terminal; lines of text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from budget_envs.cli.output import console
from budget_envs.evaluation import Progress

__all__ = ["shown_progress"]


@contextmanager
def shown_progress(name: str, total: int) -> Iterator[Callable[[Progress], None] | None]:
    """Show how an evaluation gets on, and give what is to be called with its progress.

    Args:
        name: What is evaluated.
        total: Its episodes.
    """
    if not sys.stderr.isatty():
        print(f"{name}: {total:,} episode{'s' if total != 1 else ''}", file=sys.stderr, flush=True)
        yield None
        return
    from rich import progress

    bar = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[problems]}"),
        console=console(stderr=True),
    )
    with bar:
        task = bar.add_task(name, total=total, rate="", problems="")

        def update(state: Progress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            played = state.done - state.resumed
            bar.update(
                task,
                completed=state.done,
                rate=f"{played / elapsed:,.0f} episodes/s" if elapsed > 0 else "",
                problems=_problems(state),
            )

        yield update


def _problems(state: Progress) -> str:
    return f"{state.dead} ended by errors, {state.void} of them void" if state.dead else ""
