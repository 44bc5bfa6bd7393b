"""``budget-envs list``: the environments of this package."""

from __future__ import annotations

from typing import Any

from budget_envs.cli.ids import lacks, oracle_kind
from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag
from budget_envs.errors import BudgetEnvsError
from budget_envs.registration import PRESETS, Preset, family_of

__all__ = ["list_ids"]


def list_ids(*, json: Flag = False) -> None:
    """List the environments: id, turn budget, oracle, vector environment, what is missing.

    An exact oracle knows the best success probability; an indicative one only points to progress.

    Args:
        json: Print one JSON document.
    """
    rows = [_describe(preset) for preset in PRESETS]
    if json:
        print_json(rows)
    else:
        _print_table(rows)


def _describe(preset: Preset) -> dict[str, Any]:
    missing = lacks(preset, start=False)
    try:
        oracle = oracle_kind(preset)
    except (BudgetEnvsError, ImportError):
        oracle = "missing"
    return {
        "id": preset.id,
        "turns": preset.turns,
        "settings": dict(preset.settings),
        "oracle": oracle,
        "has_native_vector": family_of(preset.family).vector is not None,
        "missing": missing,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for column in ("id", "turns", "oracle", "vector", "missing"):
        table.add_column(column, justify="right" if column == "turns" else "left")
    for row in rows:
        vector = "native" if row["has_native_vector"] else "sync"
        missing = "; ".join(row["missing"]) or "nothing"
        table.add_row(row["id"], str(row["turns"]), row["oracle"] or "none", vector, missing)
    console().print(table)
