"""`ScalarLog`: what a training run measures, as SQLite, CSV and TensorBoard.

Keys are those that CleanRL and Stable-Baselines3 have made customary: ``charts/episodic_return``,
``charts/SPS``, ``losses/policy_loss``, ``losses/approx_kl``, ``rollout/success_rate``, and of this
package ``rollout/R_multi`` and ``rollout/R_single``.
"""

from __future__ import annotations

import csv
import io
import math
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from budget_envs.agents.trainers.files import write_atomically
from budget_envs.errors import DataError, require

__all__ = ["ScalarLog", "read_scalars"]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS scalars (
    step INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (step, name)
) WITHOUT ROWID
"""


class ScalarLog:
    """Writes scalars of a run into ``log.sqlite``; ``log.csv`` is the same as one wide table.

    Args:
        folder: Of the run; it exists.
        first_step: What is logged from this step on belongs to steps that are going to be repeated
            after a resume, and is removed.
        tensorboard: Also write event files, into ``tensorboard``.

    Raises:
        DataError: If the database cannot be written.
        DependencyNotInstalled: If TensorBoard is asked for and missing.
    """

    def __init__(self, folder: Path, *, first_step: int = 0, tensorboard: bool = False) -> None:
        self.folder = folder
        self._events = _event_writer(folder, first_step) if tensorboard else None
        try:
            self._database = sqlite3.connect(folder / "log.sqlite")
            with self._database:
                self._database.execute(_SCHEMA)
                self._database.execute("DELETE FROM scalars WHERE step >= ?", (first_step,))
        except sqlite3.Error as error:
            raise DataError(f"cannot write the log in {str(folder)!r}: {error}.") from error

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Log values by key; what is not finite is left out, as no curve can show it."""
        finite = {name: float(v) for name, v in values.items() if math.isfinite(v)}
        rows = [(step, name, value) for name, value in finite.items()]
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO scalars VALUES (?, ?, ?)", rows)
        if self._events is not None:
            for name, value in finite.items():
                self._events.add_scalar(name, value, step)

    def export(self) -> None:
        """Write ``log.csv``: a row for each step, a column for each key."""
        write_atomically(self.folder / "log.csv", _as_csv(_read(self._database)).encode())

    def close(self) -> None:
        """Write ``log.csv`` and close everything."""
        self.export()
        self._database.close()
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_scalars(folder: Path) -> dict[str, dict[int, float]]:
    """Return what a run has logged: key to step to value.

    Raises:
        DataError: If there is no log.
    """
    file = folder / "log.sqlite"
    if not file.is_file():
        raise DataError(f"there is no training log {str(file)!r}.")
    database = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        return _read(database)
    except sqlite3.Error as error:
        raise DataError(f"cannot read the training log {str(file)!r}: {error}.") from error
    finally:
        database.close()


def _read(database: sqlite3.Connection) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for step, name, value in database.execute("SELECT * FROM scalars ORDER BY name, step"):
        found.setdefault(name, {})[step] = value
    return found


def _as_csv(scalars: Mapping[str, Mapping[int, float]]) -> str:
    steps = sorted({step for values in scalars.values() for step in values})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", *scalars])
    writer.writerows([step, *(v.get(step, "") for v in scalars.values())] for step in steps)
    return text.getvalue()


def _event_writer(folder: Path, first_step: int) -> Any:
    require("tensorboard", "track")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"), purge_step=first_step)
