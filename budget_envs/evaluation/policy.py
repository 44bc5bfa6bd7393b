"""`Policy`: what acts in an evaluation, for many conversations at once."""

from __future__ import annotations

import json
import math
import operator
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol, TypedDict

import gymnasium as gym

from budget_envs.errors import DependencyNotInstalled, OptionError, PolicyUnavailable
from budget_envs.evaluation.trajectory import BOUNDARIES, Boundary

__all__ = [
    "Action",
    "Conversation",
    "Failure",
    "Message",
    "Policy",
    "boundary_of",
    "check_policy",
    "describe_error",
    "exact_text",
    "shown",
    "stops",
]

_MAX_TOKENS: Final = 2**40  # of one action: a database's 63 bits hold the sum of an episode
_MAX_AMOUNT: Final = 2**63
_STOPPING: Final = (KeyboardInterrupt, GeneratorExit, DependencyNotInstalled, PolicyUnavailable)


class Message(TypedDict):
    """One message of a conversation, in the form that chat templates take."""

    role: Literal["user", "assistant"]
    content: str


class Conversation:
    """One episode as the agent sees it, made anew for every call of a policy.

    From call to call, messages are only ever appended. What a policy changes in what it was given
    changes neither the episode nor its record.

    Args:
        id: Distinct among the conversations in progress.
        key: 64-bit key of the policy's own randomness, a function of seed, task and rollout. A
            policy that draws from it and nothing else gives the same actions in any batch.
        action_space: The environment's action space; not to be sampled from, as that advances it.
        messages: The messages so far; see the attribute.
        token_limit: Tokens that may still be generated in this episode; ``None`` if unlimited.
        env: The environment, for policies that declare ``needs_env``; ``None`` for all others.
            It must not be stepped or changed.
    """

    __slots__ = ("_messages", "_own", "action_space", "env", "id", "key", "token_limit")

    def __init__(
        self,
        id: str,
        key: int,
        action_space: gym.Space[Any],
        messages: Iterable[Message] = (),
        token_limit: int | None = None,
        env: gym.Env[Any, Any] | None = None,
    ) -> None:
        self.id = id
        self.key = key
        self.action_space = action_space
        self.token_limit = token_limit
        self.env = env
        self._messages = tuple(messages)
        self._own: list[Message] | None = None  # copied when first asked for

    @property
    def messages(self) -> list[Message]:
        """Observations (``"user"``) and actions (``"assistant"``) in turn, newest last, as a copy.

        Where the environment replaced the agent's action, the replacement stands here.
        """
        if self._own is None:
            self._own = [message.copy() for message in self._messages]
        return self._own

    @messages.setter
    def messages(self, messages: list[Message]) -> None:
        self._own = messages

    @property
    def turn(self) -> int:
        """Number of actions taken so far."""
        return len(self._messages if self._own is None else self._own) // 2

    @property
    def observation(self) -> str:
        """The newest message: what is to be answered."""
        return (self._messages if self._own is None else self._own)[-1]["content"]

    def copy(self, *, with_env: bool) -> Conversation:
        """Return the conversation as it was made, for another policy to be asked about."""
        env = self.env if with_env else None
        return Conversation(
            self.id, self.key, self.action_space, self._messages, self.token_limit, env
        )


@dataclass(frozen=True, slots=True)
class Action:
    """What a policy does in one turn.

    Attributes:
        text: The action, kept as a plain ``str``.
        logprobs: Log-probability of each generated token in nats; ``None`` if not known.
        num_tokens: Tokens generated, in [0, 2**40), charged to the budget before the step; with
            ``None`` the environment's own counter counts.
        seconds: Thinking time in seconds, charged likewise; ``None`` charges nothing.
        cost: Money in whole units of the budget's, charged likewise; ``None`` charges nothing.

    Raises:
        OptionError: If the text is none, or a number is not one.
    """

    text: str
    logprobs: tuple[float, ...] | None = None
    num_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise OptionError(
                f"an action's text must be a str, got {shown(self.text)} of type "
                f"{type(self.text).__name__}."
            )
        object.__setattr__(self, "text", exact_text(self.text))
        if self.num_tokens is not None:
            object.__setattr__(self, "num_tokens", _token_count(self.num_tokens))
        if self.logprobs is not None:
            object.__setattr__(self, "logprobs", _floats(self.logprobs))
        for name in ("seconds", "cost"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _amount(name, getattr(self, name)))

    @property
    def logprob(self) -> float | None:
        """Log-probability of the whole action in nats; ``None`` if not known."""
        return None if self.logprobs is None else math.fsum(self.logprobs)

    def charges(self) -> dict[str, float]:
        """Return what the action costs, by resource."""
        amounts = {"tokens": self.num_tokens, "seconds": self.seconds, "cost": self.cost}
        return {name: amount for name, amount in amounts.items() if amount is not None}


@dataclass(frozen=True, slots=True)
class Failure:
    """In place of an action: this one conversation cannot go on; the others of the batch do.

    Attributes:
        error: What happened: a text, or an exception, of which the description is kept.
        boundary: ``"agent"``: the agent's fault, counted as a failed episode. ``"provider"`` or
            another of `BOUNDARIES`: not its fault, the episode is void. What is none of them
            excuses nothing, and becomes ``"agent"``.
    """

    error: str
    boundary: Boundary = "agent"

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", _error_text(self.error))
        object.__setattr__(self, "boundary", _known(self.boundary, "agent"))


class Policy(Protocol):
    """Chooses actions for a batch of conversations.

    Inherit from it to get the defaults below, or offer the same attributes.

    Attributes:
        name: Short name, for tables.
        settings: What determines its behaviour, as JSON-safe values; part of a run's identity.
        needs_env: Whether it reads the environment behind the text (oracles do).
        uses_budget: Whether it knows the budget by other means than the text.
    """

    name: str
    settings: Mapping[str, Any]
    needs_env: ClassVar[bool] = False
    uses_budget: ClassVar[bool] = False

    def act(self, conversations: Sequence[Conversation]) -> Sequence[Action | Failure]:
        """Return one action for each conversation, in order.

        Called once for each turn of a conversation, never after its end. If it raises for a batch
        of several, it is called again for each of them alone, so that one bad conversation ends
        only itself. An exception ends the episode: as a failure of the agent, or, if the exception
        has an attribute ``boundary`` that names another boundary, as a void one. That goes for
        ``SystemExit`` too; only ``KeyboardInterrupt``, a missing dependency and
        `PolicyUnavailable` end the evaluation.
        """
        ...

    def begin(self, conversations: Sequence[Conversation]) -> None:
        """Learn that conversations start; they hold the first observation.

        Where it raises, it is called again for each conversation alone, as :meth:`act` is.
        """
        return

    def end(self, conversations: Sequence[Conversation]) -> None:
        """Learn that conversations are over, so that what is kept for them can go."""
        return

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment that this policy cannot play, by raising `UnsupportedError`."""
        return


def exact_text(text: str) -> str:
    """Return the same characters as a plain ``str``: a subclass may say otherwise what they are."""
    return str.__str__(text)


def shown(value: object) -> str:
    """Return the start of a value's ``repr``, whatever its class does, for messages."""
    try:
        return exact_text(repr(value))[:200]
    except Exception:  # a message about something else must not fail for this
        return f"a {type(value).__name__} that cannot be shown"


def stops(error: BaseException) -> bool:
    """Return whether an exception ends the evaluation rather than the episode it came up in."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(_STOPPING) is not None
    return isinstance(error, _STOPPING)


def describe_error(error: BaseException) -> str:
    """Return an error's kind, text and place, the same in every process."""
    kind = type(error).__name__
    try:
        text, frames = exact_text(str(error)), traceback.extract_tb(error.__traceback__)
    except BaseException as another:  # of the exception's own class, about which nothing is known
        if stops(another):
            raise
        return f"{kind}: (its text cannot be shown: {type(another).__name__})"
    place = f" ({frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"{kind}: {text}{place}"


def boundary_of(error: BaseException, default: Boundary) -> Boundary:
    """Return where an exception came from: its attribute ``boundary``, or the default."""
    try:
        return _known(getattr(error, "boundary", None), default)
    except Exception:  # a property that fails names nothing
        return default


def check_policy(policy: object) -> None:
    """Refuse an object that is no policy, naming what it lacks.

    Raises:
        OptionError: If an attribute or method is missing, the name is no text, or the settings
            are not JSON-safe.
    """
    wanted = ("name", "settings", "needs_env", "uses_budget", "act", "begin", "end", "check_env")
    missing = [name for name in wanted if not hasattr(policy, name)]
    is_class = isinstance(policy, type)
    if missing or is_class:
        why = "it is a class: make an object" if is_class else f"it lacks {', '.join(missing)}"
        raise OptionError(
            f"expected a policy, got {shown(policy)}: {why}. Inherit from budget_envs.evaluation."
            "policy.Policy, or build one by name with budget_envs.agents.policies.make_policy."
        )
    _check_identity(policy)


def _check_identity(policy: Any) -> None:
    """Refuse a name or settings that a database could not tell runs apart by."""
    if not isinstance(policy.name, str) or not policy.name:
        raise OptionError(
            f"a policy's name must be a text for tables, got {shown(policy.name)} from "
            f"{shown(policy)}: set self.name."
        )
    try:
        if not isinstance(policy.settings, Mapping):
            raise TypeError("expected a mapping")
        if not all(isinstance(key, str) for key in policy.settings):
            raise TypeError("expected texts as keys")
        json.dumps(dict(policy.settings), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(
            f"the settings of policy {policy.name!r} must be JSON-safe (a mapping of text to text, "
            f"finite numbers, lists, mappings), got {shown(policy.settings)}: {error}."
        ) from error


def _token_count(value: Any) -> int:
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or not 0 <= operator.index(value) < _MAX_TOKENS:
        raise OptionError(f"num_tokens must be a whole number in [0, 2**40), got {shown(value)}.")
    return operator.index(value)


def _floats(values: Any) -> tuple[float, ...]:
    """Return log-probabilities of which the sum is a number too, or minus infinity."""
    try:
        numbers = tuple(float(value) for value in values)
        total = math.fsum(numbers)
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(
            f"logprobs must be numbers with a sum, got {shown(values)}: {error}."
        ) from error
    if not all(number < math.inf for number in (*numbers, total)):  # NaN compares false
        raise OptionError(f"logprobs must be below infinity and not NaN, got {shown(values)}.")
    return numbers


def _amount(name: str, value: Any) -> Any:
    """Return a charge as a plain number; what is none stays, for the ledger to refuse."""
    if isinstance(value, float):
        number: float = float.__float__(value)
    elif hasattr(value, "__index__") and not isinstance(value, bool):
        number = operator.index(value)
    else:
        return value
    if math.inf > number >= _MAX_AMOUNT:
        raise OptionError(f"{name} must be below 2**63, got {shown(value)}.")
    return number


def _error_text(error: object) -> str:
    if isinstance(error, str):
        return exact_text(error)
    return describe_error(error) if isinstance(error, BaseException) else shown(error)


def _known(named: object, default: Boundary) -> Boundary:
    text = exact_text(named) if isinstance(named, str) else None
    return next((boundary for boundary in BOUNDARIES if boundary == text), default)
