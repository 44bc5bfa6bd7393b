import ast
import dataclasses
import itertools
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.tasks.mutation import mutants
from budget_envs.tasks.synthetic_code import (
    DATASET,
    SyntheticTask,
    generate,
    generator,
    program_of,
    split_of,
    task_from_id,
    tasks,
)
from budget_envs.tasks.synthetic_code.inputs import SHAPES, draw_arguments
from budget_envs.tasks.synthetic_code.splitmix import SplitMix64

levels = st.integers(1, 5)
indices = st.integers(0, 10**9)
kinds = st.sampled_from(["functional", "stdin"])


# --- The reference solves its task ----------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(levels, indices)
def test_reference_function_passes_all_tests(call, same, level, index):
    task = generate(level, index)
    for arguments, expected in (*task.public_tests, *task.hidden_tests):
        assert same(call(task.reference_solution, arguments), expected)


@settings(max_examples=50, deadline=None)
@given(levels, indices)
def test_reference_script_passes_all_tests(run_script, level, index):
    task = generate(level, index, "stdin")
    for stdin, stdout in (*task.public_tests, *task.hidden_tests):
        assert run_script(task.reference_solution, stdin) == stdout


@settings(max_examples=60, deadline=None)
@given(levels, indices, st.integers(0, 2**32))
def test_reference_and_program_agree_on_inputs_that_are_not_tests(call, same, level, index, seed):
    program, source = program_of(level, index), generate(level, index).reference_solution
    rng = SplitMix64(seed)
    for _ in range(10):
        shapes = tuple(rng.choice(SHAPES) for _ in program.arguments)
        arguments = draw_arguments(program.arguments, shapes, program.literals(), rng)
        assert same(call(source, arguments), program(*arguments))


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_reference_script_runs_as_a_real_program(level):
    task = generate(level, 11, "stdin")
    for stdin, stdout in task.hidden_tests[:2]:
        done = subprocess.run(
            [sys.executable, "-I", "-c", task.reference_solution],
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stdout == stdout


@settings(max_examples=40, deadline=None)
@given(levels, indices, kinds)
def test_reference_is_plain_python_of_moderate_length(level, index, kind):
    source = generate(level, index, kind).reference_solution
    assert ast.parse(source)
    assert len(source.splitlines()) < 50
    assert source.endswith("\n")


@settings(max_examples=40, deadline=None)
@given(levels, indices)
def test_starter_code_is_the_first_line_of_the_reference_function(level, index):
    task = generate(level, index)
    assert f"\n{task.starter_code}" in f"\n{task.reference_solution}"
    assert ast.parse(task.starter_code + "    pass\n")
    assert task.function_name == "solve"


def test_script_form_has_no_function():
    task = generate(2, 0, "stdin")
    assert (task.function_name, task.starter_code) == (None, "")


# --- Wrong solutions do not --------------------------------------------------------------------

_EMPTY = {"int": "0", "bool": "False", "str": "''", "list[int]": "[]", "list[str]": "[]"}


def passes(call, same, task, source):
    try:
        return all(same(call(source, arguments), e) for arguments, e in task.hidden_tests)
    except Exception:
        return False


def trivial_solutions(task):
    head = task.starter_code
    names = [item.arg for item in ast.parse(head + "    pass\n").body[0].args.args]
    results = [*_EMPTY.values(), "True", "1", "None", *names]
    results += [f"len({names[0]})", f"sorted({names[0]})", f"{names[0]}[::-1]"]
    results += [repr(expected) for _, expected in task.public_tests]
    results += [repr(expected) for _, expected in task.hidden_tests]
    for result in results:
        yield f"{head}    return {result}\n"
    table = {repr(arguments): expected for arguments, expected in task.public_tests}
    default = _EMPTY[head.rsplit("-> ", 1)[1].strip(":\n")]
    key = f"repr(({', '.join(names)},))"
    yield f"{head}    return {table!r}.get({key}, {default})\n"


def is_that_simple(task, source):
    """Whether a one-step task truly asks for what the trivial solution does."""
    step = task.reference_solution.splitlines()[-1].strip()
    return step == source.splitlines()[-1].strip()


@settings(max_examples=40, deadline=None)
@given(levels, indices)
def test_trivial_solutions_fail(call, same, level, index):
    task = generate(level, index)
    for source in trivial_solutions(task):
        if not is_that_simple(task, source):
            assert not passes(call, same, task, source), source


@settings(max_examples=60, deadline=None)
@given(levels, indices)
def test_script_that_prints_nothing_or_echoes_fails(run_script, level, index):
    task = generate(level, index, "stdin")
    assert any(stdout.strip() for _, stdout in task.hidden_tests)
    assert any(stdin.strip() != stdout.strip() for stdin, stdout in task.hidden_tests)


def behaves_alike(call, same, program, source, count=250):
    rng = SplitMix64(17)
    for _ in range(count):
        shapes = tuple(rng.choice(SHAPES) if rng.chance(40) else "any" for _ in program.arguments)
        arguments = draw_arguments(program.arguments, shapes, program.literals(), rng)
        try:
            if not same(call(source, arguments), program(*arguments)):
                return False
        except Exception:
            return False
    return True


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_hidden_tests_kill_97_percent_of_the_mutants_that_are_not_equivalent(call, same, level):
    killed = survived = 0
    for index in range(1000, 1020):
        task, program = generate(level, index), program_of(level, index)
        for mutant in itertools.islice(mutants(task.reference_solution, index), 25):
            if not passes(call, same, task, mutant.source):
                killed += 1
            elif not behaves_alike(call, same, program, mutant.source):
                survived += 1
    assert killed + survived > 150
    assert killed >= 0.97 * (killed + survived)


# --- Identity -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(levels, indices, kinds)
def test_same_level_and_index_give_equal_tasks(level, index, kind):
    assert generate(level, index, kind) == generate(level, index, kind)


@settings(max_examples=60, deadline=None)
@given(levels, indices, kinds)
def test_id_names_the_task(level, index, kind):
    task = generate(level, index, kind)
    assert task_from_id(task.task_id) == task


def test_ids_are_self_describing():
    assert generate(3, 123).task_id == "deepcoder_synthetic/L3/000123"
    assert generate(1, 0, "stdin").task_id == "deepcoder_synthetic/L1/000000-stdin"
    assert generate(5, 12345678).task_id == "deepcoder_synthetic/L5/12345678"


@settings(max_examples=60, deadline=None)
@given(levels, indices)
def test_both_kinds_of_a_task_compute_the_same(level, index):
    function, script = generate(level, index), generate(level, index, "stdin")
    assert function.fingerprint == script.fingerprint
    assert function.split == script.split
    assert function.reference_solution in script.reference_solution


def test_changing_a_returned_task_does_not_change_the_next_one():
    first = next(task for task in map(generate, [2] * 50, range(50)) if "xs" in task.starter_code)
    level, index = first.level, int(first.task_id[-6:])
    before = repr(first.hidden_tests)
    for arguments, _ in first.hidden_tests:
        arguments[0].append(99)
    assert repr(generate(level, index).hidden_tests) == before


def test_task_is_frozen_and_pickles():
    task = generate(4, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.level = 1
    assert pickle.loads(pickle.dumps(task)) == task


def test_task_holds_plain_data_only():
    def plain(value):
        if isinstance(value, tuple | list):
            return all(map(plain, value))
        return value is None or type(value) in (int, str, bool)

    for kind in ("functional", "stdin"):
        fields = dataclasses.astuple(generate(4, 2, kind))
        assert plain(fields)


_DUMP = """
from budget_envs.tasks.synthetic_code import generate, tasks
for level in range(1, 6):
    for kind in ("functional", "stdin"):
        print(generate(level, 31, kind))
print([task.task_id for task in tasks("test", [1, 3], 5)])
"""


def test_same_bytes_in_every_process_and_hash_seed():
    def dump(hash_seed):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", _DUMP]
        return subprocess.run(
            command, env=environment, capture_output=True, check=True, timeout=120
        ).stdout

    first = dump("0")
    assert first == dump("1") == dump("4242")
    assert first.count(b"SyntheticTask") == 10


# --- Splits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("remainder", "expected"),
    [
        (0, "train"),
        (79, "train"),
        (80, "validation"),
        (89, "validation"),
        (90, "test"),
        (99, "test"),
    ],
)
def test_split_is_the_fingerprint_modulo_a_hundred(remainder, expected):
    assert split_of(f"{1700 + remainder:016x}") == expected


def test_splits_share_no_task_and_repeat_none():
    prints = {
        split: [task.fingerprint for task in tasks(split, [1, 2], 60)]
        for split in ("train", "validation", "test")
    }
    for values in prints.values():
        assert len(set(values)) == len(values) == 60
    for left, right in itertools.combinations(prints.values(), 2):
        assert not set(left) & set(right)


def test_splits_share_no_behaviour():
    behaviours = {}
    for split in ("train", "validation", "test"):
        for task in tasks(split, 1, 60):
            program = program_of(1, int(task.task_id.rsplit("/", 1)[1]))
            rng = SplitMix64(99)
            inputs = [
                draw_arguments(program.arguments, ("any",) * len(program.arguments), [], rng)
                for _ in range(100)
            ]
            key = program.arguments, repr([program(*arguments) for arguments in inputs])
            behaviours.setdefault(key, set()).add(split)
    assert len(behaviours) > 150
    assert all(len(splits) == 1 for splits in behaviours.values())


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_tasks_belong_to_the_split_asked_for(split):
    assert {task.split for task in tasks(split, 2, 20)} == {split}


def test_shares_of_the_splits_are_about_80_10_10():
    counts = {"train": 0, "validation": 0, "test": 0}
    for index in range(400):
        counts[split_of(generator._draw_program(2, index)[1])] += 1
    assert 290 < counts["train"] < 350
    assert counts["validation"] > 15
    assert counts["test"] > 15


def test_tasks_take_turns_between_levels():
    taken = [task.level for task in tasks("train", [1, 4], 40)]
    assert 12 < taken.count(1) < 28


def test_asking_for_fewer_tasks_gives_a_prefix():
    more = [task.task_id for task in tasks("train", [2, 3], 12)]
    fewer = [task.task_id for task in tasks("train", [2, 3], 5)]
    assert more[:5] == fewer


def test_tasks_without_number_go_on():
    assert len(list(itertools.islice(tasks("train", 3), 25))) == 25


def test_no_tasks_are_generated_for_zero():
    assert list(tasks("train", 1, 0)) == []


def test_tasks_of_the_script_kind():
    assert {task.kind for task in tasks("train", 2, 5, "stdin")} == {"stdin"}


def test_exhausted_level_ends_an_open_request_and_fails_a_counted_one(monkeypatch):
    monkeypatch.setattr(generator, "_GIVE_UP", 5)
    draw = generator._draw_program
    monkeypatch.setattr(generator, "_draw_program", lambda level, index: draw(level, index % 7))
    found = len(list(tasks("train", 2)))
    assert 0 < found <= 7
    with pytest.raises(OptionError, match=f"Expected 50 tasks of 'train', found {found}"):
        list(tasks("train", 2, 50))


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 6, -1, True, "1", 1.0, None])
def test_unknown_level_is_refused(level):
    with pytest.raises(OptionError, match="Expected a level from 1 to 5"):
        generate(level, 0)


@pytest.mark.parametrize("index", [-1, True, "0", 1.5, None])
def test_impossible_index_is_refused(index):
    with pytest.raises(OptionError, match="Expected an index"):
        generate(1, index)


def test_unknown_kind_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'functional'"):
        generate(1, 0, "function")


def test_unknown_split_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'train'"):
        tasks("trian", 1, 1)


@pytest.mark.parametrize("n", [-1, True, 1.5, "3"])
def test_impossible_number_of_tasks_is_refused(n):
    with pytest.raises(OptionError, match="n >= 0"):
        tasks("train", 1, n)


def test_no_levels_are_refused():
    with pytest.raises(OptionError, match="Expected levels"):
        tasks("train", [], 1)


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "deepcoder_synthetic",
        "deepcoder_synthetic/L3/123",
        "deepcoder_synthetic/L3/0000123",
        "deepcoder_synthetic/L3/000123-script",
        "deepcoder_synthetic/L3/000123\n",
        "deepcoder_synthetic/L3/-00123",
        "deepcoder_synthetic/3/000123",
        "deepcoder/L3/000123",
        "DEEPCODER_SYNTHETIC/L3/000123",
        "deepcoder_synthetic/L3/٠٠٠١٢٣",
    ],
)
def test_malformed_id_is_refused(task_id):
    with pytest.raises(OptionError, match="Expected a task id"):
        task_from_id(task_id)


def test_id_of_a_level_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="Expected a level"):
        task_from_id(f"{DATASET}/L7/000000")


def test_task_type_has_the_documented_fields():
    assert [field.name for field in dataclasses.fields(SyntheticTask)] == [
        "task_id",
        "statement",
        "starter_code",
        "function_name",
        "kind",
        "public_tests",
        "hidden_tests",
        "reference_solution",
        "level",
        "fingerprint",
    ]
