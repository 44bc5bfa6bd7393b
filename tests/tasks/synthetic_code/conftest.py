"""Runs generated solutions, which are trusted: they come from the language, not from a model."""

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest


def _call(source: str, arguments: tuple[Any, ...]) -> Any:
    namespace: dict[str, Any] = {"__name__": "solution"}
    exec(compile(source, "<solution>", "exec"), namespace)
    return namespace["solve"](*copy.deepcopy(arguments))


def _run(source: str, stdin: str) -> str:
    lines, printed = io.StringIO(stdin), io.StringIO()

    def read_line() -> str:
        line = lines.readline()
        if not line:
            raise EOFError
        return line.removesuffix("\n")

    def write(*values: Any) -> None:
        print(*values, file=printed)

    exec(compile(source, "<script>", "exec"), {"input": read_line, "print": write})
    return printed.getvalue()


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and left == right


@pytest.fixture(scope="session")
def call() -> Callable[[str, tuple[Any, ...]], Any]:
    """``call(source, arguments)``: the result of ``solve``."""
    return _call


@pytest.fixture(scope="session")
def run_script() -> Callable[[str, str], str]:
    """``run_script(source, stdin)``: what a script prints."""
    return _run


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], bool]:
    """``same(left, right)``: equality by type and value, also inside lists."""
    return _same
