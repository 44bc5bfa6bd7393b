from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest

from budget_envs.errors import BudgetEnvsError, OptionError
from budget_envs.sql.protocol import QueryResult, SqlEngineError, SqlLimits

NAMES = [field.name for field in fields(SqlLimits)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, True, None, "5", math.nan, math.inf])
def test_a_limit_is_a_positive_number(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=f"{name} is a positive"):
        SqlLimits(**{name: value})


@pytest.mark.parametrize("name", [name for name in NAMES if name != "time_s"])
def test_what_is_counted_is_an_integer(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} is a positive integer; got 1.5"):
        SqlLimits(**{name: 1.5})


def test_seconds_may_be_fractions() -> None:
    assert SqlLimits(time_s=0.5).time_s == 0.5


def test_limits_are_values() -> None:
    assert SqlLimits() == SqlLimits()
    assert len({SqlLimits(), SqlLimits(), SqlLimits(max_rows=1)}) == 2


def test_an_error_has_no_rows() -> None:
    assert QueryResult(error="x") == QueryResult((), (), 0, False, "x")


def test_a_broken_engine_is_an_error_of_the_package_and_of_the_connection() -> None:
    assert issubclass(SqlEngineError, BudgetEnvsError)
    assert issubclass(SqlEngineError, ConnectionError)
