import traceback

import pytest

from budget_envs.judging.source import source_of
from budget_envs.tasks import CodeTask, UnitTest

CALL = (UnitTest.functional([1], 2),)
PRINT = (UnitTest("stdin", "", "1"),)


def task(tests=CALL, **fields):
    name = None if tests is PRINT else "f"
    return CodeTask("t/1", "Do it.", (), tests, "test", function_name=name, **fields)


def loaded(source):
    names = {"__name__": "candidate"}
    exec(source.text, names)
    return names[source.entry]


def test_a_program_without_a_preamble_is_run_as_it_is():
    program = "print(1)  # odd\r\n\x0c"
    assert source_of(task(PRINT), program).text == program


def test_functions_are_called_by_their_own_name():
    assert source_of(task(), "def f(x): return x").entry == "f"


def test_a_preamble_comes_first():
    source = source_of(task(preamble="ONE = 1"), "def f(x): return x + ONE")
    assert loaded(source)(1) == 2


def test_future_imports_come_before_the_preamble():
    program = (
        '"""Says."""\nfrom __future__ import annotations, division\n\ndef f(x: Nothing): return x'
    )
    source = source_of(task(preamble="ONE = 1"), program)
    assert loaded(source)(1) == 1


@pytest.mark.parametrize("preamble", ["", "ONE = 1", "import math\n\nONE = 1\n\n\n"])
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_errors_are_told_in_the_lines_of_the_program(preamble, future):
    program = future + "x = 1\ny = 2\n1 / 0\n"
    source = source_of(task(preamble=preamble), program)
    line = source.text.split("\n").index("1 / 0") + 1
    wanted = program.split("\n").index("1 / 0") + 1
    assert source.in_own_lines(f"ZeroDivisionError: no (line {line})") == (
        f"ZeroDivisionError: no (line {wanted})"
    )


def test_other_numbers_in_errors_are_left_alone():
    source = source_of(task(preamble="A = 1\nB = 2"), "def f(x): return x")
    text = 'File "other.py", line 9\nValueError: line 9 (line 9) of 9'
    assert source.in_own_lines(text) == text


def died(program, preamble=""):
    """Return what Python says of a program, and what the agent is told."""
    source = source_of(task(PRINT, preamble=preamble), program)
    try:
        exec(compile(source.text, "main.py", "exec"), {"__name__": "__main__"})
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        return source.complaint("".join(traceback.format_exception(error)))
    raise AssertionError("it lives")


@pytest.mark.parametrize("preamble", ["", "import math\n\nONE = 1"])
@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("x = 1\n1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("def g():\n    raise KeyError('a')\ng()", "KeyError: 'a' (line 2)"),
        ("raise ValueError('one\\ntwo')", "ValueError: one\ntwo (line 1)"),
        ("raise ValueError", "ValueError (line 1)"),
        ("\n\ndef f(x) return x", "SyntaxError: expected ':' (line 3)"),
        (
            "import json\n\njson.loads('')",
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0) (line 3)",
        ),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError:\n    [][1]",
            "IndexError: list index out of range (line 4)",
        ),
        ("def f():\n    f()\nf()", "RecursionError: maximum recursion depth exceeded (line 2)"),
    ],
)
def test_of_a_traceback_the_exception_and_its_last_line_are_told(program, preamble, complaint):
    assert died(program, preamble) == complaint


@pytest.mark.parametrize("stderr", ["", "it is my own fault\n", '  File "main.py", line 3, in f\n'])
def test_what_is_no_traceback_is_told_as_it_is(stderr):
    assert source_of(task(PRINT), "").complaint(stderr) == stderr.strip()


def test_lines_of_the_preamble_keep_their_numbers():
    source = source_of(task(preamble="A = 1\nB = 2"), "def f(x): return x")
    assert source.in_own_lines("error (line 2)") == "error (line 2)"


METHOD = "class Solution:\n    def f(self, x):\n        return x + 1\n"
FUNCTION = "def f(x):\n    return x + 2\n"


@pytest.mark.parametrize(
    ("starter", "program", "result"),
    [
        ("class Solution:\n    def f(self, x):", METHOD, 2),
        ("class Solution:\n    def f(self, x):", FUNCTION, 3),
        ("class Solution:\n    def f(self, x):", METHOD + FUNCTION, 2),
        ("", METHOD, 2),
        ("", FUNCTION, 3),
        ("", METHOD + FUNCTION, 3),
        ("", "def f(x):\n    return 9\nclass Solution: pass", 9),
        (
            "class Solution:\n    def f(self, x):",
            "def f(x):\n    return 7\nclass Solution:\n    def f(self, x):\n        return f(x)",
            7,
        ),
    ],
)
def test_a_method_or_a_function_is_called_whichever_there_is(starter, program, result):
    assert loaded(source_of(task(starter_code=starter), program))(1) == result


def test_each_call_of_a_method_has_a_fresh_object():
    program = (
        "class Solution:\n    n = 0\n    def f(self, x):\n"
        "        self.n += 1\n        return self.n"
    )
    call = loaded(source_of(task(), program))
    assert [call(0), call(0)] == [1, 1]


def test_a_program_that_is_run_whole_has_no_entry():
    assert source_of(task(PRINT), "class Solution: pass").entry == ""
