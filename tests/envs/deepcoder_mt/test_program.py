import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.deepcoder_mt import read_program, write_program

LINES = st.lists(
    st.sampled_from(["```", "````", "```python", "x = 1", "    ```", "'''", "`", "", "\r", "# é"])
    | st.text(max_size=12),
    max_size=12,
)


@given(st.text(max_size=300) | LINES.map("\n".join))
def test_what_is_written_is_read_back(program):
    assert read_program(write_program(program)) == program.removesuffix("\n") + "\n"


@given(st.text(max_size=300) | LINES.map("\n".join), st.text(max_size=60), st.text(max_size=60))
def test_text_around_the_last_block_does_not_matter(program, before, after):
    before, after = before.replace("`", "'"), after.replace("`", "'")
    text = f"{before}\n{write_program(program)}\n{after}"
    assert read_program(text) == read_program(write_program(program))


@given(LINES.map("\n".join))
def test_reading_never_raises_and_gives_whole_lines(text):
    program = read_program(text)
    assert program is None or program == "" or program.endswith("\n")


@given(LINES.map("\n".join))
def test_reading_what_was_read_gives_the_same(text):
    program = read_program(text)
    if program:
        assert read_program(write_program(program)) == program


PROGRAM = "x = 1\n"


@pytest.mark.parametrize("tag", ["python", "py", "python3", "Python", "PY", " python ", "", "  "])
def test_python_tags_and_no_tag_mark_programs(tag):
    assert read_program(f"```{tag}\nx = 1\n```") == PROGRAM


@pytest.mark.parametrize("tag", ["python title=a.py", "python {.numbered}", "py  3"])
def test_only_the_first_word_is_the_tag(tag):
    assert read_program(f"```{tag}\nx = 1\n```") == PROGRAM


@pytest.mark.parametrize("tag", ["text", "json", "cpp", "pythonic", "output"])
def test_blocks_in_other_languages_are_no_programs(tag):
    assert read_program(f"```{tag}\nx = 1\n```") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "```python\nx = 1",
        "```",
        "```python",
        "`x = 1`",
        "``python\nx = 1\n``",
        "~~~\nx\n~~~",
    ],
)
def test_a_text_without_a_closed_block_has_no_program(text):
    assert read_program(text) is None


def test_the_last_block_counts():
    assert read_program("```python\nx = 0\n```\nbetter:\n```py\nx = 1\n```\n") == PROGRAM


def test_a_tagged_block_comes_before_a_later_one_without_a_tag():
    assert read_program("```python\nx = 1\n```\nprints\n```\n1\n```") == PROGRAM


def test_a_block_in_another_language_after_it_changes_nothing():
    assert read_program("```python\nx = 1\n```\n```text\n1\n```") == PROGRAM


def test_an_unclosed_block_after_it_changes_nothing():
    assert read_program("```python\nx = 1\n```\n```python\nx = 2") == PROGRAM


def test_backquotes_inside_a_program_do_not_end_it():
    inner = 'x = """\n    ```python\n    y\n    ```\n"""\n'
    assert read_program(f"```python\n{inner}```") == inner
    outer = 'x = """\n```\ny\n```\n"""\n'
    assert read_program(f"````python\n{outer}````") == outer


def test_a_longer_fence_may_close_a_shorter_one():
    assert read_program("```python\nx = 1\n`````") == PROGRAM


def test_a_block_in_a_list_loses_the_indentation_of_its_fence():
    text = "1. Try this:\n\n   ```python\n   if True:\n       x = 1\n\n   ```\n"
    assert read_program(text) == "if True:\n    x = 1\n\n"


def test_lines_that_are_less_indented_than_their_fence_are_kept():
    assert read_program("  ```\nx = 1\n  y = 2\n  ```") == "x = 1\ny = 2\n"


def test_windows_line_ends_are_kept_for_python_to_read():
    assert read_program("```python\r\nx = 1\r\n```\r\n") == "x = 1\r\n"


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\u2028", "\x85", "\x1c"])
def test_only_newlines_end_lines(odd):
    program = f"x = '{odd}'\n"
    assert read_program(f"```python\n{program}```") == program


def test_an_empty_block_is_an_empty_program():
    assert read_program("```python\n```") == ""
