"""A part of the benchmark that compares our verdicts with the official checker's, run as a test."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[3] / "benchmarks")


@pytest.fixture
def agreement(make_env, monkeypatch):
    make_env()  # skips where the files are not at hand
    pytest.importorskip("bfcl_eval", reason="the official checker is not installed")
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    import bfcl_agreement

    yield bfcl_agreement
    for name in set(sys.modules) - before:
        if name.startswith("bfcl_"):
            del sys.modules[name]


def test_verdicts_and_results_are_the_official_ones(agreement, make_env):
    env = make_env(category=list(agreement.CATEGORIES))
    official = agreement.Official()
    some = agreement.entries()[::9]
    judged = [
        agreement.compare(env, official, case) for case in agreement.cases(some, env, 3, seed=5)
    ]
    assert len(judged) == 4 * len(some)
    truths = [each for each in judged if each.case.mutation == agreement.GROUND_TRUTH]
    assert all(each.theirs.valid and each.ours.valid and not each.results for each in truths)
    assert [each for each in judged if each.why == agreement.UNKNOWN] == []
    assert {each.why for each in judged if agreement.differs(each)} <= {agreement.REWRITTEN}
    assert {each.theirs.valid for each in judged if each not in truths} == {True, False}
