"""Judges programs by unit tests: the program runs in a sandbox, the comparison happens here."""

from budget_envs.judging.compare import equal_value, same_output, same_value
from budget_envs.judging.judge import UnitTestJudge
from budget_envs.judging.outcome import Judgement, TestOutcome, clip, shown

__all__ = [
    "Judgement",
    "TestOutcome",
    "UnitTestJudge",
    "clip",
    "equal_value",
    "same_output",
    "same_value",
    "shown",
]
