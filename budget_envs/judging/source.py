"""The text that is run for a program: what its task gives away comes first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from budget_envs.tasks.code_task import CodeTask

__all__ = ["ENTRY", "Source", "source_of"]

ENTRY: Final = "_budget_envs_call"
"""Name of the function that stands for a method of ``class Solution``."""

_FUTURE: Final = re.compile(r"^from __future__ import [\w ,]+$", re.MULTILINE | re.ASCII)
_FRAME: Final = re.compile(r'^  File "main\.py", line (\d+)', re.MULTILINE)
_MESSAGE: Final = re.compile(r"^\S", re.MULTILINE)
_LINE_NUMBER: Final = re.compile(r"(?<=\(line )\d+(?=\)$)")
_ENTRY_SOURCE: Final = """

def {entry}(*arguments):
    return (Solution().{name} if {is_method} else {name})(*arguments)
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A program ready to run.

    Attributes:
        text: What is run.
        entry: The function that its tests call; ``""`` for a program that is run whole.
        lines_before: How many lines of ``text`` come before the program's own first line.
    """

    text: str
    entry: str = ""
    lines_before: int = 0

    def in_own_lines(self, error: str) -> str:
        """Return an error that ends in ``(line 7)``, the lines counted as the author wrote them."""
        return _LINE_NUMBER.sub(lambda number: str(self._own_line(int(number[0]))), error)

    def complaint(self, stderr: str) -> str:
        """Return the exception that a program died of, and its line; else all that it said.

        Tracebacks cost an agent many tokens, and look different in every version of Python.
        """
        frames = list(_FRAME.finditer(stderr))
        message = _MESSAGE.search(stderr, frames[-1].end()) if frames else None
        if message is None:
            return stderr.strip()
        return self.in_own_lines(f"{stderr[message.start() :].rstrip()} (line {frames[-1][1]})")

    def _own_line(self, line: int) -> int:
        return line - self.lines_before if line > self.lines_before else line


def source_of(task: CodeTask, program: str) -> Source:
    """Put a program and what its task gives away together.

    Args:
        task: The task.
        program: The agent's program.
    """
    text, lines_before = _with_preamble(task.preamble, program)
    if task.kind == "stdin":
        return Source(text, lines_before=lines_before)
    name = task.function_name or ""
    wants_method = "class Solution" in task.starter_code
    if task.kind == "assert" or not (wants_method or "class Solution" in program):
        return Source(text, name, lines_before)
    has_class, has_function = "'Solution' in globals()", f"{name!r} in globals()"
    is_method = has_class if wants_method else f"{has_class} and not {has_function}"
    text += _ENTRY_SOURCE.format(entry=ENTRY, name=name, is_method=is_method)
    return Source(text, ENTRY, lines_before)


def _with_preamble(preamble: str, program: str) -> tuple[str, int]:
    """Return the two as one text, and on which line the program begins, from 0."""
    if not preamble:
        return program, 0
    futures = _FUTURE.findall(program)  # must come first, and leave an empty line behind
    before = "\n".join([*futures, preamble.rstrip(), "", ""])
    return before + _FUTURE.sub("", program), before.count("\n")
