"""How `Run`, `Episode` and `Turn` become SQL rows and come back equal."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from budget_envs.evaluation.trajectory import Episode, Run, Turn

__all__ = ["COLUMNS", "from_row", "to_json", "to_row", "to_sql", "to_text"]

RecordT = TypeVar("RecordT", Run, Episode, Turn)
Record = Run | Episode | Turn

COLUMNS: Final[Mapping[type[Record], tuple[str, ...]]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind) if field.name != "turns")
    for kind in (Run, Episode, Turn)
}
"""The columns of each record's table: its attributes, an episode's turns aside."""


def to_row(record: Record) -> list[Any]:
    """Return the record's values in the order of its columns, as SQLite takes them."""
    kind = type(record)
    composite = _COMPOSITE[kind]
    return [
        to_json(value) if name in composite else to_sql(value)
        for name, value in ((name, getattr(record, name)) for name in COLUMNS[kind])
    ]


def from_row(kind: type[RecordT], row: Sequence[Any]) -> RecordT:
    """Return the record of a row that :func:`to_row` made."""
    readers = _READERS[kind]
    values: dict[str, Any] = {
        name: value if value is None else readers.get(name, to_text)(value)
        for name, value in zip(COLUMNS[kind], row, strict=True)
    }
    return kind(**values)


def to_sql(value: Any) -> Any:
    """Return a plain value as SQLite takes it: text without a UTF-8 form becomes a blob."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def to_text(value: Any) -> Any:
    """Undo :func:`to_sql`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def to_json(value: Any) -> str | None:
    """Return a composite value as strict JSON; NaN and infinities, which it lacks, become null.

    NumPy scalars and arrays are written as numbers and lists, and what else JSON lacks as its
    ``repr``. ``None`` stays ``None``.
    """
    if value is None:
        return None
    try:
        return _STRICT.encode(value)
    except ValueError:
        return _STRICT.encode(_finite(json.loads(json.dumps(value, default=_plain))))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else repr(value)


_STRICT: Final = json.JSONEncoder(allow_nan=False, default=_plain)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_tuple(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


def _read_bounds(text: str) -> dict[int, float]:
    return {int(turns): bound for turns, bound in json.loads(text).items()}


_READERS: Final[Mapping[type[Record], Mapping[str, Callable[[Any], Any]]]] = {
    Run: {
        "env_kwargs": json.loads,
        "policy_settings": json.loads,
        "budgets": _read_tuple,
        "task_ids": _read_tuple,
        "is_budget_shown": bool,
        "versions": json.loads,
        "dataset_checksums": json.loads,
        "upper_bounds": _read_bounds,
    },
    Episode: {"budget_report": json.loads, "upper_bounds": _read_bounds},
    Turn: {"is_invalid": bool, "budget": json.loads, "oracle": json.loads, "injected": json.loads},
}
_COMPOSITE: Final = {
    kind: frozenset(name for name, reader in readers.items() if reader is not bool)
    for kind, readers in _READERS.items()
}
