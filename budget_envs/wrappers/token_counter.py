"""Named counters of tokens, for runs in which nobody charges them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from budget_envs.errors import OptionError, did_you_mean, require

__all__ = ["TokenizerCounter", "token_counter"]


def token_counter(name: str) -> Callable[[str], int]:
    """Return the counter of a name.

    Args:
        name: ``"characters"`` (code points), ``"words"`` (separated by white space), ``"bytes"``
            (of UTF-8), or the path of a ``tokenizer.json``.

    Raises:
        OptionError: If it is neither a known name nor a file.
        DependencyNotInstalled: If a tokenizer is named and ``tokenizers`` is missing.
    """
    if not isinstance(name, str):
        raise OptionError(f"token_counter must be a name or a path, got {name!r}.")
    if name in _COUNTERS:
        return _COUNTERS[name]
    if os.path.isfile(name):
        return TokenizerCounter(name)
    raise OptionError(
        f"token_counter must be one of {', '.join(_COUNTERS)}, or the path of a tokenizer.json, "
        f"got {name!r}, which is no file." + did_you_mean(name, _COUNTERS)
    )


class TokenizerCounter:
    """Counts the tokens of a text without special tokens.

    Args:
        path: A ``tokenizer.json``, as the ``tokenizers`` library writes it.

    Raises:
        OptionError: If the file cannot be read as a tokenizer.
    """

    def __init__(self, path: str) -> None:
        tokenizers = require("tokenizers", "agents")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(path)
        except Exception as error:  # the library raises bare Exception
            raise OptionError(f"{path!r} cannot be read as a tokenizer.json: {error}") from error

    def __call__(self, text: str) -> int:
        """Return the number of tokens; what UTF-8 cannot hold counts as a question mark."""
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return len(self._tokenizer.encode(readable, add_special_tokens=False).ids)


def _words(text: str) -> int:
    return len(text.split())


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_COUNTERS: Final[dict[str, Callable[[str], int]]] = {
    "characters": len,
    "words": _words,
    "bytes": _bytes,
}
