from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import DataError
from budget_envs.sql import dump_tokens
from budget_envs.sql.dump_tokens import Token, decode_string, tokens

ESCAPES = {"\0": "0", "\b": "b", "\n": "n", "\r": "r", "\t": "t", "\x1a": "Z", "\\": "\\"}


def read(text: str) -> list[tuple[str, str]]:
    return [tuple(token) for token in tokens(io.StringIO(text, newline=""))]


def escaped(text: str, quote: str, choices: Any) -> str:
    """A literal for a text; what may be written in two ways is written in either."""
    parts = []
    for character in text:
        if character == quote:
            parts.append(choices.draw(st.sampled_from([quote * 2, "\\" + quote])))
        elif character == "\\":
            parts.append("\\\\")
        elif character in ESCAPES and choices.draw(st.booleans()):
            parts.append("\\" + ESCAPES[character])
        else:
            parts.append(character)
    return quote + "".join(parts) + quote


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("'\"`\\;,()%_\0\n\t\x1a-#/*"))


@given(TEXTS, st.sampled_from("'\""), st.data())
def test_any_text_survives_escaping(text: str, quote: str, choices: Any) -> None:
    literal = escaped(text, quote, choices)
    # ``\%`` means itself and a backslash, which no writer of literals emits on its own.
    assert decode_string(literal) == text


@given(st.lists(TEXTS, max_size=6), st.sampled_from("'\""), st.integers(1, 9), st.data())
def test_the_size_of_the_pieces_makes_no_difference(
    texts: list[str], quote: str, size: int, choices: Any
) -> None:
    source = ", ".join(escaped(text, quote, choices) for text in texts) + " -- end\n/* ; */ x12"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dump_tokens, "_PIECE_CHARACTERS", size)
        found = read(source)
    assert [text for kind, text in found if kind == "string"] == texts
    assert found == read(source)
    assert found[-1] == ("word", "x12")


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (r"'it\'s'", "it's"),
        ("'it''s'", "it's"),
        (r"'\''''''", "'''"),
        (r"'a\\''b'", "a\\'b"),
        (r"'50\% a\_b'", r"50\% a\_b"),
        (r"'\q\"'", 'q"'),
        ("'\"\"'", '""'),
        ('"a""b\'\'"', "a\"b''"),
        ("''", ""),
        (r"'\\'", "\\"),
        (r"'\\n'", r"\n"),
    ],
)
def test_literals_mean_what_they_mean_in_mysql(literal: str, text: str) -> None:
    assert decode_string(literal) == text
    assert read(literal) == [("string", text)]


def test_comments_are_skipped_and_their_content_with_them() -> None:
    source = "a -- 'b;\n# `c\n/*!40101 SET x='y' */b/**/c --\n-1"
    assert read(source) == [("word", "a"), ("word", "b"), ("word", "c"), ("number", "-1")]


def test_two_dashes_are_a_comment_only_before_a_space() -> None:
    assert read("1 --1") == [("number", "1"), ("mark", "-"), ("number", "-1")]


@pytest.mark.parametrize("number", ["0", "-12", "+3", "1.5", ".5", "2.", "1e5", "-1.25E-7"])
def test_numbers_are_one_token(number: str) -> None:
    assert read(f"({number},")[1] == ("number", number)


@pytest.mark.parametrize(
    ("source", "token"),
    [
        ("`a``b`", ("name", "a`b")),
        ("`group by`", ("name", "group by")),
        ("0xFF", ("hex", "0xFF")),
        ("x'ff'", ("hex", "x'ff'")),
        ("b'101'", ("bits", "b'101'")),
        ("xb", ("word", "xb")),
        ("Straße$1", ("word", "Straße$1")),
        ("_binary", ("word", "_binary")),
    ],
)
def test_other_tokens(source: str, token: tuple[str, str]) -> None:
    assert read(source) == [token]
    assert read(source + " ") == [token]


@pytest.mark.parametrize("source", ["'a", "`a", "/* a", '"a\\"', "12abc", "a 'b\\'"])
def test_what_does_not_end_is_an_error(source: str) -> None:
    with pytest.raises(DataError, match="strings, names and comments end"):
        read(source)


def test_tokens_come_before_the_file_is_read_to_its_end() -> None:
    stream = io.StringIO("a, " * 100_000)
    assert next(tokens(stream)) == Token("word", "a")
    assert stream.tell() < 100_000
