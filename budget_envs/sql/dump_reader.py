"""A stream of a dump's tokens with one token of lookahead, and the shapes that all parts share."""

from __future__ import annotations

from collections.abc import Iterator

from budget_envs.errors import DataError
from budget_envs.sql.dump_tokens import Token

__all__ = ["CLOSE", "COMMA", "END", "OPEN", "DumpReader"]

OPEN, CLOSE = Token("mark", "("), Token("mark", ")")
COMMA, END = Token("mark", ","), Token("mark", ";")


class DumpReader:
    """A stream of tokens with one token of lookahead.

    Args:
        stream: The tokens.
    """

    def __init__(self, stream: Iterator[Token]) -> None:
        self._stream = stream
        self._next = next(stream, None)

    def peek(self) -> Token | None:
        """The next token; ``None`` at the end."""
        return self._next

    def take(self) -> Token:
        """Take the next token.

        Raises:
            DataError: If there is none.
        """
        token = self._next
        if token is None:
            raise DataError("The dump ends within a statement.")
        self._next = next(self._stream, None)
        return token

    def word(self) -> str:
        """Take the next token; its text in lower case if it is a word, else ``""``."""
        token = self.take()
        return token.text.lower() if token.kind == "word" else ""

    def next_word(self) -> str:
        """The next token in lower case if it is a word, else ``""``; it is not taken."""
        return self._next.text.lower() if self._next and self._next.kind == "word" else ""

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these marks or words."""
        token = self._next
        if token is None or token.kind not in ("word", "mark") or token.text.lower() not in texts:
            return False
        self.take()
        return True

    def expect(self, text: str) -> None:
        """Take the next token, which is this mark or word.

        Raises:
            DataError: If it is not.
        """
        if not self.accept(text):
            raise DataError(f"The dump has {self._next!r} where {text!r} belongs.")

    def name(self) -> str:
        """Take a name, in backticks or not.

        Raises:
            DataError: If there is none.
        """
        token = self.take()
        if token.kind not in ("name", "word"):
            raise DataError(f"The dump has {token!r} where a name belongs.")
        return token.text

    def names(self) -> tuple[str, ...]:
        """A list of names in parentheses; lengths and directions of key parts are dropped."""
        found = []
        self.expect("(")
        while True:
            found.append(self.name())
            if self.accept("("):
                self.skip_parentheses()
            self.accept("asc", "desc")
            if not self.accept(","):
                self.expect(")")
                return tuple(found)

    def skip_parentheses(self) -> None:
        """Skip up to the closing parenthesis; the opening one was taken."""
        depth = 1
        while depth:
            token = self.take()
            depth += (token == OPEN) - (token == CLOSE)

    def skip_statement(self) -> None:
        """Skip to the end of the statement and take its semicolon."""
        while self._next is not None and self.take() != END:
            pass
