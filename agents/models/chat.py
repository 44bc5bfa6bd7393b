"""`ChatFormat`: messages to token ids through a model's own chat template, a message at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation.policy import Message

__all__ = ["CHATML", "ChatFormat", "EncodedChat"]

CHATML: Final = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The plainest template of the ChatML form: every message as it is, none added, none dropped."""

_TEMPLATES: Final = {"chatml": CHATML}
_ASKED: Final = "First question?"
_ANSWERS: Final = {
    "an answer": "First answer.",
    "the thinking of an earlier answer": "<think>\nSome thought.\n</think>\n\nSecond answer.",
    "the spaces around an answer": "  Third answer. \n",
    "a tool call": '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>',
    "an empty answer": "",
}
_OBSERVATIONS: Final = (
    "Second question?",
    "<tool_response>\n42\n</tool_response>",
    " {{ edges }} \n",
    "/no_think",
    "",
)
_EXCERPT: Final = 60


@dataclass(frozen=True, slots=True, eq=False)
class EncodedChat:
    """A conversation as tokens, with the part that an agent wrote.

    Attributes:
        ids: ``(L,) int64``.
        is_action: ``(L,) bool``: contents of assistant messages and the token that ends each.
        turns: ``(L,) int64``, turn of each token from 0, as in `TokenTrajectory`.
    """

    ids: NDArray[np.int64]
    is_action: NDArray[np.bool_]
    turns: NDArray[np.int64]


class ChatFormat:
    """Renders conversations incrementally: what was rendered before is never rendered anew.

    The texts of ``first(messages)``, ``action(text)``, ``append(observation)``, ... put together
    are what the template makes of the whole conversation, which is tried on a few conversations
    when the format is made. An action's ids are whatever was sampled: they are never made from its
    text again, as the same text often has other tokens too.

    Args:
        tokenizer: A Hugging Face tokenizer.
        template: A chat template (Jinja) in place of the tokenizer's own, or ``"chatml"`` for
            `CHATML`.

    Attributes:
        end_id: The token that ends an assistant message.
        stop_ids: All tokens at which a generation ends, ``end_id`` among them.

    Raises:
        UnsupportedError: If there is no template, or it rewrites what came before (drops past
            thinking, strips answers), or ends no answer with a token of its own; the message says
            what differs.
    """

    def __init__(self, tokenizer: Any, *, template: str | None = None) -> None:
        self._tokenizer = tokenizer
        self._template = _TEMPLATES.get(template, template) if template else None
        if self._template is None and not getattr(tokenizer, "chat_template", None):
            raise UnsupportedError(
                "the tokenizer has no chat template: give one, for instance chat_template='chatml'."
            )
        self._start = self._render([_user(_ASKED)])
        self.end_id = self._find_end()
        self._end: str = tokenizer.convert_ids_to_tokens(self.end_id)
        self._frame = self._find_frame()
        self._check_history()
        self._check_ids()
        self.stop_ids = frozenset({self.end_id, tokenizer.eos_token_id} - {None})

    def first(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a conversation that ends with an observation, ready to be answered.

        Raises:
            OptionError: If the messages are not observations and actions in turn.
        """
        if len(messages) % 2 == 0:
            raise OptionError(f"expected an observation as the last message of {messages!r:.200}.")
        ids: list[int] = self.encode(messages).ids.tolist()
        return ids

    def append(self, observation: str, *, is_closed: bool = True) -> list[int]:
        """Return the ids that follow an action: the rest of its message, and the next observation.

        Args:
            observation: The next observation.
            is_closed: Whether the action's ids end with ``end_id``; if not, it is added here.
        """
        ids = self._encode(self._end + self._rest(observation))
        return ids[1:] if is_closed else ids

    def action(self, text: str) -> list[int]:
        """Return the ids of an action, with ``end_id`` at the end: what a model should sample."""
        return [*self._encode(text), self.end_id]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of an action's ids, without the stop token at their end."""
        said = ids[:-1] if ids and ids[-1] in self.stop_ids else ids
        text: str = self._tokenizer.decode(
            list(said), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def encode(self, messages: Sequence[Message]) -> EncodedChat:
        """Return a whole conversation, as the pieces above put together (for SFT).

        Args:
            messages: Observations and actions in turn; may end with either.

        Raises:
            OptionError: If they are not.
        """
        roles = [message["role"] for message in messages]
        if not roles or roles != [("user", "assistant")[i % 2] for i in range(len(roles))]:
            raise OptionError(f"expected user and assistant messages in turn, got roles {roles!r}.")
        pieces = [self._encode(self._render(messages[:1]))]
        for message in messages[1:]:
            is_action = message["role"] == "assistant"
            text = message["content"]
            pieces.append(self.action(text) if is_action else self.append(text))
        lengths = [len(piece) for piece in pieces]
        order = np.arange(len(pieces))
        return EncodedChat(
            ids=np.array([token for piece in pieces for token in piece], np.int64),
            is_action=np.repeat(order % 2 == 1, lengths),
            turns=np.repeat(order // 2, lengths).astype(np.int64),
        )

    def _render(self, messages: Sequence[Message]) -> str:
        """Return the text of a conversation, ready to be answered."""
        try:
            text: str = self._tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=True,
                chat_template=self._template,
            )
        except Exception as error:  # whatever a template raises
            raise UnsupportedError(
                f"the chat template cannot render a conversation: {type(error).__name__}: {error}."
            ) from error
        return text

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _rest(self, observation: str) -> str:
        """Return what comes between an answer's end token and the next answer."""
        if self._frame is not None:
            return self._frame[0] + observation + self._frame[1]
        return self._after_answer(observation)[len(self._end) :]

    def _after_answer(self, observation: str) -> str:
        answer = _ANSWERS["an answer"]
        text = self._render([_user(_ASKED), _assistant(answer), _user(observation)])
        _check_prefix(self._start + answer, text, "an answer")
        return text[len(self._start + answer) :]

    def _find_end(self) -> int:
        rest = self._after_answer(_OBSERVATIONS[0])
        first = self._encode(rest)[0]
        text = self._tokenizer.convert_ids_to_tokens(first)
        is_control = first in self._tokenizer.added_tokens_decoder
        if not is_control or not rest.startswith(text):
            raise UnsupportedError(
                "the chat template ends no answer with a token of its own, so nothing tells where "
                f"one ends: after an answer comes {rest[:_EXCERPT]!r}. Give another template, for "
                "instance chat_template='chatml', if the model knows it."
            )
        return int(first)

    def _find_frame(self) -> tuple[str, str] | None:
        """Return what stands around an observation if all are shown as they are, else ``None``.

        Most templates do; putting texts together is fifty times as fast as rendering them.
        """
        sample = _OBSERVATIONS[0]
        before, found, after = self._after_answer(sample)[len(self._end) :].partition(sample)
        verbatim = all(
            self._after_answer(text) == self._end + before + text + after for text in _OBSERVATIONS
        )
        return (before, after) if found and verbatim else None

    def _check_history(self) -> None:
        """Refuse a template that makes of an earlier answer something else than what was said."""
        for what, answer in _ANSWERS.items():
            messages, text = [_user(_ASKED)], self._start
            for observation in _OBSERVATIONS[:2]:
                messages += [_assistant(answer), _user(observation)]
                text += answer + self._end + self._rest(observation)
                _check_prefix(text, self._render(messages), what)

    def _check_ids(self) -> None:
        """Refuse a tokenizer that makes other tokens of the parts than of the whole."""
        answer, observation = _ANSWERS["an answer"], _OBSERVATIONS[0]
        messages = [_user(_ASKED), _assistant(answer), _user(observation)]
        whole, parts = self._encode(self._render(messages)), self.first(messages)
        if whole != parts:
            raise UnsupportedError(
                "the tokenizer makes other tokens of the parts of a conversation than of the "
                f"whole: {self._tokenizer.convert_ids_to_tokens(parts)} in place of "
                f"{self._tokenizer.convert_ids_to_tokens(whole)}."
            )


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}


def _check_prefix(expected: str, text: str, what: str) -> None:
    """Refuse a rendering that does not start with what was there before."""
    if text.startswith(expected):
        return
    same = next(
        (i for i, (one, two) in enumerate(zip(expected, text, strict=False)) if one != two),
        min(len(expected), len(text)),
    )
    raise UnsupportedError(
        f"the chat template rewrites {what} in later turns, so that what a model said is not what "
        f"it would be shown: expected {expected[same:][:_EXCERPT]!r} after "
        f"{text[:same][-_EXCERPT:]!r}, got {text[same:][:_EXCERPT]!r}. Give a template that keeps "
        "history as it was, for instance chat_template='chatml', if the model knows it."
    )
