"""`StopStrings`: finds the end of a generation by its text, without decoding it at every token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from budget_envs.errors import OptionError

__all__ = ["StopStrings", "checked_stops"]

_PART_OF_CHARACTER: Final = "\N{REPLACEMENT CHARACTER}"


def checked_stops(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts that can end a generation.

    Raises:
        OptionError: If a text is none, or empty.
    """
    if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
        raise OptionError(f"stop must be a list of texts, none of them empty, got {texts!r}.")
    return tuple(texts)


class StopStrings:
    """Texts that end a generation.

    Args:
        texts: The texts, none of them empty.
        tokenizer: The model's tokenizer.

    Raises:
        OptionError: If a text is none, or empty.
    """

    def __init__(self, texts: Sequence[str], tokenizer: Any) -> None:
        self.texts = checked_stops(texts)
        self._tokenizer = tokenizer
        self._may_end = self._enders() if texts else frozenset()

    def found(self, ids: Sequence[int]) -> bool:
        """Return whether a text of which the last token is part is complete."""
        if not self._may_end or ids[-1] not in self._may_end:
            return False
        said = self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return any(text in said for text in self.texts)

    def _enders(self) -> frozenset[int]:
        """Return the tokens that hold some text's last character, or a part of a character."""
        endings = {text[-1] for text in self.texts} | {_PART_OF_CHARACTER}
        count = len(self._tokenizer)
        pieces = self._tokenizer.batch_decode(
            [[index] for index in range(count)],
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        return frozenset(i for i, piece in enumerate(pieces) if not endings.isdisjoint(piece))
