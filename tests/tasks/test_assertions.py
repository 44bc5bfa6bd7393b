from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.assertions import called_names, comparison, parse_source, split_assertions


def split(source: str, name: str = "f") -> tuple[str, ...]:
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return split_assertions(function, name)


def passes(source: str, function: Any) -> bool:
    try:
        exec(source, {"f": function})
    except Exception:
        return False
    return True


def test_each_assertion_becomes_a_test_of_the_named_function() -> None:
    source = (
        "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3, 'no'\n"
    )
    assert split(source, "plus") == ("assert plus(1) == 2", "assert plus(2) == 3")


def test_statements_before_an_assertion_come_with_it() -> None:
    source = "def check(c):\n  import math\n  assert c(1)\n  x = 2\n  assert c(x) == math.e\n"
    assert split(source) == (
        "import math\nassert f(1)",
        "import math\nx = 2\nassert f(x) == math.e",
    )


@pytest.mark.parametrize("idle", ["assert True, 'works'", "'docstring'", "print", "assert 1"])
def test_statements_that_do_nothing_are_left_out(idle: str) -> None:
    assert split(f"def check(c):\n  {idle}\n  assert c(1)\n") == ("assert f(1)",)


def test_an_assertion_of_a_false_constant_stays() -> None:
    assert split("def check(c):\n  assert False\n") == ("assert False",)


def test_a_call_for_its_effect_is_kept_as_setup() -> None:
    source = "def check(c):\n  import random\n  random.seed(1)\n  assert c(random.random())\n"
    assert split(source) == ("import random\nrandom.seed(1)\nassert f(random.random())",)


def test_a_loop_of_assertions_is_one_test() -> None:
    source = (
        "def check(c):\n  assert c(0)\n  for x in range(3):\n    assert c(x), x\n  assert c(9)\n"
    )
    assert split(source) == ("assert f(0)", "for x in range(3):\n    assert f(x)", "assert f(9)")


def test_a_variable_that_a_test_leaves_to_the_next_keeps_the_body_whole() -> None:
    source = "def check(c):\n  for x in range(3):\n    assert c(x)\n  assert c(x) == 2\n"
    assert split(source) == ("for x in range(3):\n    assert f(x)\nassert f(x) == 2",)


def test_a_variable_that_is_set_again_does_not_tie_tests_together() -> None:
    source = "def check(c):\n  for x in range(3):\n    assert c(x)\n  x = 5\n  assert c(x)\n"
    assert len(split(source)) == 2


@given(
    st.lists(st.tuples(st.sampled_from("ASL"), st.integers(0, 4)), max_size=8), st.integers(0, 4)
)
@settings(max_examples=150)
def test_all_parts_pass_exactly_when_the_whole_passes(
    statements: list[tuple[str, int]], wrong: int
) -> None:
    lines = ["y = 0"]
    for kind, number in statements:
        if kind == "A":
            lines.append(f"assert candidate({number}) == {number} and y < 4")
        elif kind == "S":
            lines.append(f"y = {number}")
        else:
            lines.append(
                f"for x{number} in range({number}): assert candidate(x{number}) == x{number}"
            )
    source = "def check(candidate):\n" + "".join(f"    {line}\n" for line in lines)

    def function(value: int) -> int:
        return -1 if value == wrong else value

    whole = passes(source + "check(f)", function)
    assert all(passes(part, function) for part in split(source)) == whole


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("assert f(1, [2]) == (3, 4)", ("f(1, [2])", "(3, 4)")),
        ("assert (f(1)) == 2", ("f(1)", "2")),
        ("assert set(f(1)) == set([2])", ("set(f(1))", "set([2])")),
        ("assert f((1,)) == sys.getsizeof((1,))", ("f((1,))", "sys.getsizeof((1,))")),
        ("assert f(1)", None),
        ("assert not f(1) == 2", None),
        ("assert f(1) < 2", None),
        ("assert f(1) == 2 == 2", None),
        ("assert f(1) == f(2)", None),
        ("assert 2 == f(1)", None),
        ("assert g(1) == 2", None),
        ("x = 1\nassert f(x) == 1", None),
    ],
)
def test_only_a_plain_comparison_is_taken_apart(
    source: str, expected: tuple[str, str] | None
) -> None:
    assert comparison(source, "f") == expected


def test_called_names_are_in_order_of_appearance() -> None:
    assert called_names("assert set(g(h(1))) == k(2) and a.b(3)") == ["set", "g", "h", "k"]


def test_odd_escapes_are_parsed_without_a_warning() -> None:
    assert ast.unparse(parse_source(r"x = '\d'")) == r"x = '\\d'"
