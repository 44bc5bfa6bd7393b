import dataclasses
import math

import pytest

from budget_envs.errors import BudgetEnvsError, OptionError
from budget_envs.sandbox import CandidateError, Execution, Limits, SandboxLost, SandboxUnavailable


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, True, None, "1", math.inf, math.nan])
def test_a_limit_is_positive_and_finite(name, value):
    with pytest.raises(OptionError, match=rf"Limits\.{name} must be a positive"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["memory_bytes", "output_bytes", "file_bytes"])
def test_bytes_come_whole(name):
    with pytest.raises(OptionError, match="int"):
        Limits(**{name: 1.5})


def test_seconds_may_be_fractions_or_whole():
    assert (Limits(time_s=0.5).time_s, Limits(time_s=2).time_s) == (0.5, 2)


@pytest.mark.parametrize("kind", [CandidateError, SandboxLost, SandboxUnavailable])
def test_errors_belong_to_the_tree(kind):
    assert issubclass(kind, BudgetEnvsError)
    assert issubclass(kind, RuntimeError)


def test_an_execution_compares_by_value():
    assert Execution("ok", "x", exit_code=0) == Execution("ok", "x", exit_code=0)
