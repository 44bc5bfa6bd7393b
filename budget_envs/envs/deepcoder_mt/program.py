"""Reading a program from free text, by one documented rule, and writing one down."""

from __future__ import annotations

from typing import Final

__all__ = ["read_program", "write_program"]

_PYTHON_TAGS: Final = ("python", "py", "python3")
_CODE_INDENT: Final = 4  # a closing fence so much further in than the opening one is content


def read_program(text: str) -> str | None:
    """Return the last closed fenced block of Python.

    A fence is a line that starts with three or more backquotes, however far it is indented. The
    block ends at the next line that holds as many backquotes or more and nothing else, and is
    less than four columns further in, so backquotes inside a program do not end it. A block
    inside a list loses the indentation of its fence.

    The first word after the opening fence is the block's tag. Blocks tagged ``python``, ``py`` or
    ``python3``, in any case, come before blocks without a tag, and blocks with another tag are no
    programs.

    Args:
        text: Any string. Time is linear in its length.

    Returns:
        The program, or ``None`` if no block is one. Each of its lines ends with a newline.
    """
    tagged: str | None = None
    untagged: str | None = None
    fence, tag, indent, lines = "", "", 0, list[str]()
    for line in text.split("\n"):
        content = line.strip()
        if not fence:
            if content.startswith("```"):
                info = content.lstrip("`")
                fence = content[: len(content) - len(info)]
                tag = (info.lower().split() or [""])[0]
                indent, lines = _indentation(line), []
        elif _closes(fence, content) and _indentation(line) < indent + _CODE_INDENT:
            block = "".join(f"{line}\n" for line in lines)
            if tag in _PYTHON_TAGS:
                tagged = block
            elif not tag:
                untagged = block
            fence = ""
        else:
            lines.append(line[min(indent, _indentation(line)) :])
    return tagged if tagged is not None else untagged


def write_program(program: str) -> str:
    """Return a program as the action that :func:`read_program` reads back.

    The fence is longer than any run of backquotes that starts a line of the program. What is read
    back is the program with a newline at its end.

    Args:
        program: Any text.
    """
    contents = [line.strip() for line in program.split("\n")]
    longest = max(len(content) - len(content.lstrip("`")) for content in contents)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{program.removesuffix(chr(10))}\n{fence}"


def _closes(fence: str, content: str) -> bool:
    return content.startswith(fence) and not content.strip("`")


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
