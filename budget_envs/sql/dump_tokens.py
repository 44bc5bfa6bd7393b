r"""The tokens of a MySQL dump, read piece by piece from a file of any size.

Comments are skipped, also the "executable" ones (``/*!40101 SET ... */``): in a dump they hold
settings of the server that wrote it. String literals come out decoded: ``'it\'s'`` and
``'it''s'`` are one and the same.

Reference: MySQL 8.0 Reference Manual, sections 11.1 (literals) and 11.7 (comments).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from budget_envs.errors import DataError

__all__ = ["Token", "decode_string", "tokens"]

_PIECE_CHARACTERS = 1 << 16

# No alternative may match a part of a longer token that the end of the piece cuts off.
_TOKEN = re.compile(
    r"""
    (?P<skip>    \s+ | --(?=\s|\Z)[^\n]*\n? | \#[^\n]*\n? | /\*.*?\*/ )
  | (?P<hex>     [xX]'[0-9A-Fa-f]*' | 0x[0-9A-Fa-f]+ )
  | (?P<bits>    [bB]'[01]*' | 0b[01]+ )
  | (?P<number>  [-+]? (?: \d+(?:\.\d*)? | \.\d+ ) (?: [eE][-+]?\d+ )? (?![\w$]) )
  | (?P<word>    (?![xXbB]') [^\W\d][\w$]* )
  | (?P<string>  '[^'\\]*(?:(?:\\.|'')[^'\\]*)*'(?!') | "[^"\\]*(?:(?:\\.|"")[^"\\]*)*"(?!") )
  | (?P<name>    `[^`]*(?:``[^`]*)*`(?!`) )
  | (?P<mark>    (?!/\*) [^\w\s'"`\#] )
    """,
    re.VERBOSE | re.DOTALL,
)

_ESCAPED = {quote: re.compile(rf"\\(.)|{quote}{quote}", re.DOTALL) for quote in "'\""}
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


class Token(NamedTuple):
    """One token.

    Args:
        kind: ``"word"``, ``"name"`` (in backticks), ``"string"``, ``"number"``, ``"hex"``,
            ``"bits"`` or ``"mark"`` (one character).
        text: What a name or a string means, without quotes and escapes; anything else as written.
    """

    kind: str
    text: str


def tokens(stream: TextIO) -> Iterator[Token]:
    """Yield the tokens of a dump; a small piece of it is in memory at a time.

    Args:
        stream: The text of the dump. Bytes that are no UTF-8 may come as lone surrogates
            (``errors="surrogateescape"``).

    Raises:
        DataError: If a string, a name or a comment does not end, or a character has no place.
    """
    text, start, is_last = "", 0, False
    while not is_last:
        piece = stream.read(max(_PIECE_CHARACTERS, len(text) - start))
        text, start, is_last = text[start:] + piece, 0, not piece
        # A token that touches the end of the piece may go on: it waits for the next piece.
        while (match := _TOKEN.match(text, start)) and (is_last or match.end() < len(text)):
            if match.lastgroup != "skip":
                yield _token(match)
            start = match.end()
    if start < len(text):
        raise DataError(
            f"A dump's strings, names and comments end, and its numbers are numbers; the last "
            f"that could be read is followed by {text[start : start + 60]!r}."
        )


def _token(match: re.Match[str]) -> Token:
    kind, text = str(match.lastgroup), match[0]
    if kind == "string":
        return Token(kind, decode_string(text))
    if kind == "name":
        return Token(kind, text[1:-1].replace("``", "`"))
    return Token(kind, text)


def decode_string(literal: str) -> str:
    r"""Return the text that a string literal stands for.

    Args:
        literal: With its quotes, single or double: ``'it\'s'``.

    Returns:
        For example ``it's``. ``\%`` and ``\_`` keep their backslash, as in MySQL.
    """
    return _ESCAPED[literal[0]].sub(_unescaped, literal[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped is None:  # a doubled quote
        return match[0][0]
    return match[0] if escaped in "%_" else _ESCAPES.get(escaped, escaped)
