import ast
import itertools
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import OptionError
from budget_envs.tasks.mutation import Mutant, failing_mutant, mutants
from budget_envs.tasks.synthetic_code import generate

PROGRAM = '''\
"""Module docstring."""
import math  # kept


def solve(xs: list[int], k: int = 3) -> list[int]:
    """Docstring with 1 number."""
    total = 0  # start
    for i, x in enumerate(xs):
        if x > k and not x == 3:
            total += x * 2
        elif i in (1, 2):
            continue
    flags = [True, 1.5, "text", ""]
    ys = sorted([y for y in xs if y], key=abs)
    while total < 10:
        total = total - -1
        if total is None:
            break
    best = max(ys[::-1], default=0) if ys else math.floor(total / 2)
    return ys[1:k] + [xs[i], best, len(flags), range(k)[0]]
'''

PIECES = st.sampled_from(
    [
        "x = {a} + {b}\n",
        "if x > {a}:\n    x -= {b}\n",
        "for i in range({a}):\n    x += i\n",
        "y = [i for i in [1, 2, x] if i != {b}]\n",
        "print(x, {a}, sep='')\n",
        "def f(u, v={a}):\n    return u * v - {b}\n",
        "z = 'é' if x else \"b\"\n",
        "w = f'{{x + {a}}} {{x!r:>{b}}}'\n",
        "while x < {a} and x:\n\tx = x + 1\n",
        "t = (x, x[{a}:], x[{b}], x[::2])  # comment\n",
        "g = lambda u: not u == {a}\n",
        "m = {{1: x, 2: {b}}}\n",
        "match x:\n    case {a}:\n        x = {b}\n    case _:\n        pass\n",
        "try:\n    x = -{a}\nexcept ValueError:\n    raise\n",
    ]
)


@st.composite
def programs(draw):
    pieces = draw(
        st.lists(st.tuples(PIECES, st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6)
    )
    return "x = 1\n" + "".join(piece.format(a=a, b=b) for piece, a, b in pieces)


def dump(source):
    return ast.dump(ast.parse(source))


def sources(source, seed=0):
    return [mutant.source for mutant in mutants(source, seed)]


def first_sources(source, seed, count):
    return tuple(mutant.source for mutant in itertools.islice(mutants(source, seed), count))


def mutations_of(line, seed=0):
    """The lines that replace the given line of a function of xs and k."""
    source = f"def f(xs, k):\n    {line}\n"
    changed = [text.splitlines() for text in sources(source, seed)]
    return {"\n".join(lines[1:]).strip() for lines in changed}


# --- What holds for every mutant --------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers())
def test_mutant_is_valid_python_that_compiles(source, seed):
    for mutant in itertools.islice(mutants(source, seed), 12):
        compile(mutant.source, "<mutant>", "exec")


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers())
def test_mutant_survives_unparsing(source, seed):
    for mutant in itertools.islice(mutants(source, seed), 12):
        assert dump(ast.unparse(ast.parse(mutant.source))) == dump(mutant.source)


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers())
def test_mutant_differs_from_its_source_as_a_tree(source, seed):
    original = dump(source)
    assert all(dump(mutant.source) != original for mutant in mutants(source, seed))


@settings(max_examples=25, deadline=None)
@given(programs(), st.integers())
def test_no_two_mutants_are_the_same_program(source, seed):
    trees = [dump(mutant.source) for mutant in mutants(source, seed)]
    assert len(set(trees)) == len(trees)


@settings(max_examples=25, deadline=None)
@given(programs(), st.integers(), st.integers())
def test_seed_decides_the_order_and_not_the_set(source, first, second):
    assert sorted(sources(source, first)) == sorted(sources(source, second))
    assert sources(source, first) == sources(source, first)


def changed_lines(before, after):
    """The lines that differ: what is left without the common beginning and end."""
    before, after = before.splitlines(), after.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return before, after


@settings(max_examples=40, deadline=None)
@given(programs(), st.integers())
def test_only_the_edited_statement_changes(source, seed):
    for mutant in itertools.islice(mutants(source, seed), 30):
        before, after = changed_lines(source, mutant.source)
        assert len(after) <= 1
        if "removed" not in mutant.description:
            assert len(before) <= 1


def test_comments_and_formatting_stay():
    source = "def f(a,b):  # first\n    return (a  -  b) # second\n"
    assert "def f(a,b):  # first\n    return (b - a) # second\n" in sources(source)


@settings(max_examples=15, deadline=None)
@given(programs(), st.integers(), st.integers(0, 10))
def test_asking_in_between_does_not_disturb_the_rest(source, seed, stop):
    running = mutants(source, seed)
    first = list(itertools.islice(running, stop))
    other = sources(source, seed + 1)
    rest = list(running)
    assert [mutant.source for mutant in first + rest] == sources(source, seed)
    assert other == sources(source, seed + 1)


def test_different_seeds_give_different_orders():
    assert len({first_sources(PROGRAM, seed, 5) for seed in range(20)}) > 15


def test_first_mutants_are_of_different_kinds():
    first = [mutant.description for mutant in itertools.islice(mutants(PROGRAM, 1), 8)]
    lines = {description.split(":")[0] for description in first}
    assert len(lines) > 3


def test_same_mutants_in_every_process_and_hash_seed():
    code = (
        "import sys; from budget_envs.tasks.mutation import mutants\n"
        "for mutant in mutants(sys.stdin.read(), 5): print(mutant)"
    )

    def run(hash_seed):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", code],
            input=PROGRAM,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    first = run("0")
    assert first == run("1") == run("77")
    assert first.count("Mutant(") > 50


def test_description_names_the_line_and_both_texts():
    descriptions = {mutant.description for mutant in mutants(PROGRAM, 0)}
    assert "line 9: `x > k` became `x >= k`" in descriptions
    assert "line 10: `total += x * 2` removed" in descriptions
    assert all(description.startswith("line ") for description in descriptions)
    assert all(len(description) < 250 for description in descriptions)


def test_mutating_never_runs_the_program(tmp_path):
    witness = tmp_path / "ran"
    source = f"open({str(witness)!r}, 'w').close()\nx = 1 + 2\n"
    assert len(sources(source)) > 3
    assert not witness.exists()


# --- The kinds of mistakes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return xs < k", {"return xs <= k", "return xs > k"}),
        ("return xs >= k", {"return xs > k", "return xs <= k"}),
        ("return xs == k", {"return xs != k"}),
        ("return xs not in k", {"return xs in k"}),
        ("return xs is k", {"return xs is not k"}),
        ("return xs + 7", {"return xs - 7", "return xs + 8", "return xs + 6"}),
        ("return xs - k", {"return xs + k", "return k - xs"}),
        ("return xs * k", {"return xs + k", "return xs // k"}),
        ("return xs % k", {"return xs // k", "return k % xs"}),
        ("return xs and k", {"return xs or k"}),
        ("return not xs", {"return xs"}),
        ("return -xs", {"return xs"}),
        ("return 0", {"return 1", "return -1"}),
        ("return True", {"return False"}),
        ("return 1.5", {"return 2.5"}),
        ("return 'abc'", {"return 'ab'"}),
        ("return ''", {"return ' '"}),
        ("return xs", {"return k", "pass"}),
        (
            "return xs[1:k]",
            {
                "return xs[2:k]",
                "return xs[:k]",
                "return xs[1:]",
                "return xs[1:k + 1]",
                "return xs[1:k - 1]",
            },
        ),
        ("return xs[:k]", {"return xs[1:k]", "return xs[:]"}),
        ("return xs[:]", {"return xs[1:]", "return xs[:-1]", "return xs"}),
        ("return xs[::-1]", {"return xs", "return xs[::1]"}),
        ("return xs[k]", {"return xs[k + 1]", "return xs[k - 1]", "return k[k]"}),
        ("return sorted(xs)", {"return sorted(xs, reverse=True)", "return xs"}),
        ("return sorted(xs, reverse=True)", {"return sorted(xs)"}),
        (
            "return sorted(xs, key=k)",
            {"return sorted(xs)", "return sorted(xs, key=k, reverse=True)"},
        ),
        ("xs.sort()", {"xs.sort(reverse=True)", "pass"}),
        ("return max(xs)", {"return min(xs)"}),
        ("return any(xs)", {"return all(xs)"}),
        ("return xs.upper()", {"return xs.lower()"}),
        ("return range(k)", {"return range(k + 1)", "return range(k - 1)"}),
        ("return range(2, k)", {"return range(2, k + 1)", "return range(3, k)"}),
        ("return xs if k else 2", {"return 2 if k else xs"}),
        (
            "return [x for x in xs if x > k]",
            {"return [x for x in xs]", "return [x for x in xs if not x > k]"},
        ),
        (
            "return sum(x for x in xs if x)",
            {"return sum(x for x in xs)", "return len((x for x in xs if x))"},
        ),
        ("xs += k", {"xs -= k", "pass"}),
    ],
)
def test_line_has_these_mutants(line, expected):
    assert expected <= mutations_of(line)


def test_condition_is_negated():
    texts = sources("def f(xs, k):\n    if xs > k:\n        return 1\n    return 2\n")
    assert "def f(xs, k):\n    if not xs > k:\n        return 1\n    return 2\n" in texts


def test_loop_ends_after_its_first_turn():
    source = "def f(xs):\n    t = 0\n    for x in xs:\n        t += x  # add\n    return t\n"
    expected = source.replace("# add", "# add").replace("t += x", "t += x\n        break")
    texts = sources(source)
    assert any(dump(text) == dump(expected) for text in texts)


def test_edited_expression_gets_parentheses_where_they_are_needed():
    texts = sources("def f(a, b, c):\n    return (a - b)[c] * 2\n")
    assert "def f(a, b, c):\n    return (b - a)[c] * 2\n" in texts
    texts = sources("def f(a, b):\n    return a * b[::-1].c\n")
    assert all(compile(text, "<t>", "exec") for text in texts)


def test_wrong_variable_is_one_that_has_a_value_by_then():
    source = "def f(a):\n    b = a\n    later = b\n    return later\n"
    assert "def f(a):\n    b = a\n    later = a\n    return later\n" in sources(source)
    assert "def f(a):\n    b = later\n    later = b\n    return later\n" not in sources(source)


def test_comprehension_variable_stays_inside_its_comprehension():
    texts = mutations_of("return [x for x in xs] + k")
    assert "return [k for x in xs] + k" in texts
    assert "return [xs for x in xs] + k" in texts
    assert "return [x for x in x] + k" not in texts
    assert "return [x for x in xs] + x" not in texts


def test_function_names_imports_and_builtins_are_not_variables():
    source = "import math\n\ndef f(a):\n    return math.floor(len(a))\n"
    changed = {mutant.description for mutant in mutants(source, 0)}
    assert changed == {
        "line 4: `math.floor(len(a))` became `math.ceil(len(a))`",
        "line 4: `len(a)` became `sum(a)`",
        "line 4: `return math.floor(len(a))` removed",
    }


def test_docstrings_and_annotations_are_left_alone():
    for text in sources(PROGRAM):
        assert '"""Module docstring."""' in text
        assert '"""Docstring with 1 number."""' in text
        assert "xs: list[int], k: int" in text


def test_text_inside_an_f_string_can_change():
    texts = sources("def f(a):\n    return f'{a + 1}!'\n")
    assert any(dump(text) == dump("def f(a):\n    return f'{a - 1}!'\n") for text in texts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "source",
    [
        "x = 'é' + 'ü' * 2\n",
        "if 1 > 0:\n\tx = 1\n\ty = x + 1\n",
        "x = 1; y = x + 2; print(y)\n",
        "x = [1,\n     2]  # two\n",
        "x = 1 + \\\n    2\n",
        "x = 1\r\ny = x + 1\r\n",
        "x = 1\ry = x + 1\r",
        "for i in [1]: print(i + 1)\n",
        "x = 1 + 2",
        "\n\n# only\nx = 1 < 2\n",
        "x = '''a\nb''' + '1'\n",
        "async def f(a):\n    async for b in a:\n        await b(1)\n",
        "class A:\n    x = 1\n\n    def f(self):\n        return self.x + 1\n",
        "def f(x, /, y=1, *a, z=2, **k):\n    return x < y\n",
        "x = (yes := 1) + 2\n",
        "def g():\n    x = yield 1\n    return x\n",
        "x = '\\d' + '1'\n",
        "x = 1 is 1\n",
        "x = 1 if 1 else 2 if 3 else 4\n",
        "@cache\ndef f(a):\n    global b\n    b = a\n    del a\n    return b\n",
        "x = 9 ** 9 ** 9\n",
        "x = 1e999 + 0.5j + 0x10\n",
        "x = b'ab' + b''\n",
        "x = u'a'\n",
        "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x += 1\n    return g\n",
    ],
)
def test_unusual_source_has_sound_mutants(source):
    original = dump(source)
    texts = sources(source)
    assert texts
    for text in texts:
        compile(ast.parse(text), "<mutant>", "exec")
        assert dump(text) != original
        assert dump(ast.unparse(ast.parse(text))) == dump(text)


# --- Failing mutants ------------------------------------------------------------------------------


def judge_by(function_name, tests):
    """A judge that runs the program here, which is safe for the programs of these tests."""

    def judge(source):
        namespace = {}
        try:
            exec(compile(source, "<program>", "exec"), namespace)
            return all(namespace[function_name](*given) == expected for given, expected in tests)
        except Exception:
            return False

    return judge


GOOD = "def add(a, b):\n    c = a + b\n    return c\n"
JUDGE = judge_by("add", [((1, 2), 3), ((0, 0), 0), ((-4, 9), 5)])


@given(st.integers())
def test_failing_mutant_fails_and_its_source_passes(seed):
    mutant = failing_mutant(GOOD, JUDGE, seed)
    assert JUDGE(GOOD)
    assert mutant is not None
    assert not JUDGE(mutant.source)


@given(st.integers())
def test_failing_mutant_is_the_first_that_the_judge_refuses(seed):
    asked = []

    def judge(source):
        asked.append(source)
        return JUDGE(source)

    mutant = failing_mutant(GOOD, judge, seed)
    assert asked == sources(GOOD, seed)[: len(asked)]
    assert asked[-1] == mutant.source
    assert all(JUDGE(source) for source in asked[:-1])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6), st.integers())
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_every_generated_task_has_a_failing_mutant(level, index, seed):
    task = generate(level, index)
    judge = judge_by("solve", task.hidden_tests)
    mutant = failing_mutant(task.reference_solution, judge, seed)
    assert mutant is not None
    assert judge(task.reference_solution)
    assert not judge(mutant.source)


def test_mutant_of_a_mutant_can_be_had():
    first = failing_mutant(GOOD, JUDGE, 0)
    second = failing_mutant(first.source, JUDGE, 1)
    assert second is not None
    assert second.source != first.source


def test_judge_is_asked_at_most_max_tries_times():
    asked = []

    def judge(source):
        asked.append(source)
        return True

    assert failing_mutant(PROGRAM, judge, 0, max_tries=7) is None
    assert len(asked) == 7


def test_no_failing_mutant_where_every_mutant_passes():
    assert failing_mutant(PROGRAM, lambda source: True, 0, max_tries=1000) is None


UNPARSABLE = [
    "def f(:\n",
    "return 1\n",
    "x = 'open\n",
    "  indented = 1\n",
    "\x00",
    "x = '\ud800'\n",
    "(" * 500,
    "x = " + "-" * 20_000 + "1\n",
    "x = " + "1 + " * 3000 + "1\n",
    "print 'old'\n",
    "I cannot solve this task.",
]


@pytest.mark.parametrize("source", UNPARSABLE, ids=range(len(UNPARSABLE)))
def test_source_that_is_not_python_has_no_mutants_and_the_judge_is_not_asked(source):
    def judge(source):
        raise AssertionError("asked")

    assert sources(source) == []
    assert failing_mutant(source, judge, 0) is None


@pytest.mark.parametrize(
    "source", ["", "# only a comment\n", '"""Only a docstring."""\n', "pass\n"]
)
def test_program_without_anything_to_edit_has_no_mutants(source):
    assert sources(source) == []
    assert failing_mutant(source, lambda source: False, 0) is None


def test_what_the_judge_raises_passes_through():
    def judge(source):
        raise RuntimeError("sandbox lost")

    with pytest.raises(RuntimeError, match="sandbox lost"):
        failing_mutant(GOOD, judge, 0)


@pytest.mark.parametrize("max_tries", [0, -1, True, 1.5, None])
def test_max_tries_must_be_a_positive_integer(max_tries):
    with pytest.raises(OptionError, match="positive integer"):
        failing_mutant(GOOD, JUDGE, 0, max_tries=max_tries)


def test_mutant_is_plain_data():
    assert Mutant("x", "y") == Mutant(source="x", description="y")
