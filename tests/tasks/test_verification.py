from __future__ import annotations

import pytest

from budget_envs.tasks import VerifyReport, dataset

PASSES = {f"MBPP/{number}": "pass" for number in range(1, 975)}
BAD = ("MBPP/367", "MBPP/927")
NULL = dict.fromkeys(PASSES, "fail")


def report(gold: dict[str, str], null: dict[str, str] = NULL) -> VerifyReport:
    return VerifyReport("mbpp", gold, null)  # type: ignore[arg-type]


def test_the_expected_result_holds_no_surprise() -> None:
    result = report({**PASSES, **dict.fromkeys(BAD, "fail")})
    expected = dataset("mbpp").expected
    assert expected is not None
    assert result.surprises == ()
    assert (result.gold_passed, result.null_passed) == (expected.gold, expected.null) == (972, 0)
    assert result.gold_failed == tuple(expected.bad) == BAD
    assert str(result) == "mbpp: gold 972/974, null 0/974, as expected"


@pytest.mark.parametrize(
    ("gold", "null", "line"),
    [
        ({"MBPP/1": "fail"}, {}, "MBPP/1: the reference solution fails"),
        ({"MBPP/367": "pass"}, {}, "MBPP/367: listed as bad, but the reference solution passes"),
        ({"MBPP/1": "pass"}, {"MBPP/1": "pass"}, "MBPP/1: an empty answer passes"),
        ({"MBPP/1": "void"}, {}, "MBPP/1: could not be judged"),
        ({}, {"MBPP/1": "void"}, "MBPP/1: could not be judged"),
    ],
)
def test_every_difference_is_a_surprise(
    gold: dict[str, str], null: dict[str, str], line: str
) -> None:
    result = report(gold, null)
    assert result.surprises == (line,)
    assert str(result).endswith("1 surprises")


def test_a_void_verdict_is_neither_pass_nor_fail() -> None:
    result = report({"MBPP/1": "void", "MBPP/2": "pass"}, {"MBPP/1": "void"})
    assert (result.gold_passed, result.gold_failed, result.void) == (1, (), ("MBPP/1",))


def test_a_part_of_a_dataset_can_be_checked() -> None:
    assert report({"MBPP/5": "pass"}, {"MBPP/5": "fail"}).surprises == ()


def test_a_dataset_without_expectation_expects_all_to_pass() -> None:
    result = VerifyReport("deepcoder", {"a": "pass", "b": "fail"}, {})
    assert result.surprises == ("b: the reference solution fails",)
