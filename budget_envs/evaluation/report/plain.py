"""The report as plain values, for JSON and for the page's scripts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from budget_envs.evaluation.report.model import Comparison, ReportData, RunReport
from budget_envs.evaluation.trajectory import Run

__all__ = ["as_plain", "task_table"]

_DIGITS: Final = 6
_PROVENANCE: Final = tuple(
    field.name
    for field in dataclasses.fields(Run)
    if field.name not in ("task_ids", "upper_bounds", "env_kwargs")
)


def as_plain(report: ReportData) -> dict[str, Any]:
    """Return the report as strict JSON takes it: undefined numbers are ``None``, six decimals.

    Args:
        report: From `summarize`.
    """
    return {
        "database": report.database,
        "level": report.level,
        "num_resamples": report.num_resamples,
        "seed": report.seed,
        "comparisons": [_comparison(comparison) for comparison in report.comparisons],
    }


def task_table(comparison: Comparison) -> dict[str, Any]:
    """Return what every run did on every task.

    Returns:
        ``budgets``; ``task_ids``; ``bounds``, by task and budget, ``None`` where there is none;
        and ``runs`` with ``label``, ``ks``, and ``successes``, ``judged`` and ``void`` by task and
        budget, ``None`` at budgets that the run does not have.
    """
    return {
        "budgets": list(comparison.budgets),
        "task_ids": list(comparison.task_ids),
        "bounds": [
            [_number(comparison.task_bounds.get(task, {}).get(T)) for T in comparison.budgets]
            for task in comparison.task_ids
        ],
        "runs": [_task_counts(comparison, report) for report in comparison.runs],
    }


def _task_counts(comparison: Comparison, report: RunReport) -> dict[str, Any]:
    counts = report.counts.align(comparison.task_ids)
    place = {budget: column for column, budget in enumerate(counts.budgets.tolist())}
    columns = [place.get(budget) for budget in comparison.budgets]

    def rows(name: str) -> list[list[int | None]]:
        table = getattr(counts, name).tolist()
        return [[None if c is None else row[c] for c in columns] for row in table]

    return {"label": report.label, **{name: rows(name) for name in ("successes", "judged", "void")}}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "env_id": comparison.env_id,
        "env_kwargs": _plain(comparison.env_kwargs),
        "protocol": comparison.protocol,
        "split": comparison.split,
        "bounds": [{"budget": T, **_plain(b)} for T, b in comparison.bounds.items()],
        "pass_bounds": [
            {"k": k, "budget": T, "bound": _number(bound)}
            for (k, T), bound in comparison.pass_bounds.items()
        ],
        "runs": [_run(report) for report in comparison.runs],
        "tasks": task_table(comparison),
    }


def _run(report: RunReport) -> dict[str, Any]:
    return {
        "label": report.label,
        **{name: _plain(getattr(report.run, name)) for name in _PROVENANCE},
        "num_requested": report.run.num_requested,
        "num_stored": report.num_stored,
        "num_void": report.num_void,
        "endings": dict(sorted(report.endings.items())),
        "notes": list(report.notes),
        "cells": [_plain(cell) for cell in report.cells.values()],
        "budget_use": [_plain(use) for use in report.use],
        "turn_quality": [_plain(quality) for quality in report.quality],
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, _DIGITS)
