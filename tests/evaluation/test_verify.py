"""Checking datasets against the environment that plays them."""

import json
import os
from pathlib import Path

import pytest

from budget_envs.errors import BudgetError, OptionError, TaskDataUnavailable, UnsupportedError
from budget_envs.evaluation import verify as module
from budget_envs.evaluation.verify import verify
from budget_envs.sandbox import SandboxLost
from budget_envs.tasks import dataset

PATIENT_S = 12.0  # some reference solutions take a second of a processor that is not busy


@pytest.fixture
def benchmark_data(monkeypatch, tmp_path):
    sibling = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("BUDGET_ENVS_DATA", sibling)).expanduser()
    if not folder.is_dir():
        pytest.skip("no benchmark files: set BUDGET_ENVS_DATA to a folder that has them")
    monkeypatch.setenv("BUDGET_ENVS_DATA", str(folder))
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path))


@pytest.fixture
def own_questions(tmp_path, monkeypatch):
    """Write questions on one table: plain, with a gold query that fails, and one that 0 answers."""
    dump = """
CREATE DATABASE `shop`;
USE `shop`;
CREATE TABLE `item` (`name` varchar(20), `price` int);
INSERT INTO `item` VALUES ('tea', 3), ('milk', 1);
"""
    golds = {
        "plain": "SELECT name FROM item ORDER BY price",
        "broken": "SELECT nothing FROM nowhere",
        "zero": "SELECT count(*) FROM item WHERE price > 9",
    }
    tables = {"item": ["name", "price"]}
    rows = [
        {"db": "shop", "query": name, "gold": gold, "hardness": "easy", "db_tables": tables}
        for name, gold in golds.items()
    ]
    (tmp_path / "ic_spider_dev.json").write_text(json.dumps(rows))
    (tmp_path / "ic_spider_dbs.sql").write_text(dump)
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def own(tmp_path):
    """Write problems: right, wrong and missing solutions, and one that nothing solves."""

    def problem(task_id, output, **fields):
        tests = [{"input": f"{number}\n", "output": output(number)} for number in (1, 2)]
        return {"task_id": task_id, "problem": f"Problem {task_id}.", "tests": tests, **fields}

    path = tmp_path / "rows.json"
    rows = [
        problem("right", lambda n: str(2 * n), solution="print(2 * int(input()))"),
        problem("wrong", lambda n: str(2 * n), solution="print(2)"),
        problem("none", lambda n: str(2 * n)),
        problem("empty", lambda n: "", solution="pass"),
    ]
    path.write_text(json.dumps(rows))
    return path


def test_verdicts_are_those_of_the_environment(own):
    report = verify("deepcoder", own, sandbox="process")
    assert report.gold == {"right": "pass", "wrong": "fail", "empty": "pass"}
    assert report.null == {"right": "fail", "wrong": "fail", "none": "fail", "empty": "pass"}
    assert report.surprises == (
        "wrong: the reference solution fails",
        "empty: an empty answer passes",
    )


PLAIN, BROKEN, ZERO = (f"intercode_sql/{number:04d}" for number in range(3))


def test_queries_are_run_and_submitted(own_questions):
    report = verify("intercode_sql", own_questions)
    assert report.gold == {PLAIN: "pass", BROKEN: "void", ZERO: "pass"}
    assert report.null == {PLAIN: "fail", BROKEN: "void", ZERO: "pass"}


def test_an_empty_answer_may_pass_where_it_is_why_a_task_is_left_out(own_questions):
    report = verify("intercode_sql", own_questions)
    assert report.left_out == (BROKEN, ZERO)
    assert report.surprises == (f"{BROKEN}: could not be judged",)


def test_what_cannot_be_judged_is_void(own, monkeypatch):
    def lose(self, program):
        raise SandboxLost("gone")

    monkeypatch.setattr("budget_envs.envs.deepcoder_mt.DeepCoderMTEnv.judge", lose)
    report = verify("deepcoder", own)
    assert set(report.gold.values()) == set(report.null.values()) == {"void"}
    assert report.void == ("right", "wrong", "empty", "none")


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_workers_change_nothing(own, workers):
    assert verify("deepcoder", own, workers=workers, sandbox="process") == verify(
        "deepcoder", own, sandbox="process"
    )


def test_progress_is_told_after_each_task(own):
    told = []
    verify("deepcoder", own, workers=2, sandbox="process", progress=lambda *n: told.append(n))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


EVERY = ["right", "wrong", "none", "empty"]


@pytest.mark.parametrize(("limit", "expected"), [(1, EVERY[:1]), (2, EVERY[::2]), (9, EVERY)])
def test_a_limit_takes_tasks_from_all_over_the_dataset(own, limit, expected):
    assert list(verify("deepcoder", own, limit=limit, sandbox="process").null) == expected


@pytest.mark.parametrize("bad", [{"limit": 0}, {"limit": True}, {"workers": 0}, {"workers": 1.5}])
def test_numbers_are_positive_integers(own, bad):
    with pytest.raises(BudgetError):
        verify("deepcoder", own, **bad)


def test_a_sandbox_that_is_none_is_refused(own):
    with pytest.raises(OptionError, match="Did you mean 'process'"):
        verify("deepcoder", own, sandbox="proces")


def test_an_unknown_dataset_is_refused():
    with pytest.raises(OptionError, match="Did you mean 'mbpp'"):
        verify("mbp")


def test_a_dataset_of_another_environment_is_refused(monkeypatch):
    class Info:
        env = "frozen_lake"

    monkeypatch.setattr(module.tasks, "dataset", lambda name: Info)
    with pytest.raises(UnsupportedError, match=r"deepcoder_mt and intercode_sql .* 'frozen_lake'"):
        verify("lakes")


@pytest.mark.parametrize("setting", [{"sandbox": "process"}, {"time_limit_s": 3.0}])
def test_settings_of_code_are_refused_for_queries(setting):
    with pytest.raises(OptionError, match=f"{next(iter(setting))} is for code"):
        verify("intercode_sql_synthetic", **setting)


def test_missing_files_are_said(monkeypatch, tmp_path):
    monkeypatch.delenv("BUDGET_ENVS_DATA", raising=False)
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path))
    monkeypatch.setenv("BUDGET_ENVS_OFFLINE", "1")
    with pytest.raises(TaskDataUnavailable, match="curl -L"):
        verify("mbpp")


def test_the_generated_set_verifies():
    report = verify("deepcoder_synthetic", limit=60, workers=2)
    assert report.surprises == ()
    assert (report.gold_passed, report.null_passed) == (60, 0)
    assert {task_id.split("/")[1] for task_id in report.gold} == {"L1", "L2", "L3", "L4", "L5"}
    assert {task_id.endswith("-stdin") for task_id in report.gold} == {True, False}


def test_the_generated_questions_verify():
    report = verify("intercode_sql_synthetic", workers=2)
    expected = dataset("intercode_sql_synthetic").expected
    assert report.surprises == ()
    assert (report.gold_passed, report.null_passed) == (expected.gold, expected.null)
    levels = {task_id.split("/")[1] for task_id in report.gold}
    assert levels == {"easy", "medium", "hard", "extra"}


@pytest.mark.parametrize("name", ["humaneval", "mbpp", "intercode_sql"])
def test_a_published_benchmark_verifies(benchmark_data, name):
    settings = {"time_limit_s": PATIENT_S} if dataset(name).env == "deepcoder_mt" else {}
    report = verify(name, workers=2, **settings)
    expected = dataset(name).expected
    assert report.surprises == ()
    assert (report.gold_passed, report.null_passed) == (expected.gold, expected.null)
    assert set(report.gold_failed) == set(expected.bad)


@pytest.mark.parametrize("name", ["deepcoder_codeforces", "code_contests"])
def test_contest_problems_are_not_solved_by_nothing(benchmark_data, name):
    report = verify(name, limit=40, workers=2)
    assert report.gold == {}
    assert report.null_passed == 0
    assert report.void == ()
