"""`Policy`: what acts in an evaluation, for many conversations at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol, TypedDict

import gymnasium as gym

from budget_envs.errors import OptionError
from budget_envs.evaluation.trajectory import BOUNDARIES, Boundary

__all__ = ["Action", "Conversation", "Failure", "Message", "Policy", "boundary_of", "check_policy"]


_MAX_TOKENS: Final = 2**63  # what a database holds


class Message(TypedDict):
    """One message of a conversation, in the form that chat templates take."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(slots=True, eq=False)
class Conversation:
    """One episode as the agent sees it. Messages are only ever appended.

    Attributes:
        id: Distinct among the conversations in progress.
        key: 64-bit key of the policy's own randomness, a function of seed, task and rollout. A
            policy that draws from it and nothing else gives the same actions in any batch.
        action_space: The environment's action space; not to be sampled from, as that advances it.
        messages: Observations (``"user"``) and actions (``"assistant"``) in turn, newest last.
            Where the environment replaced the agent's action, the replacement stands here.
        token_limit: Tokens that may still be generated in this episode; ``None`` if unlimited.
        env: The environment, for policies that declare ``needs_env``; ``None`` for all others.
            It must not be stepped or changed.
    """

    id: str
    key: int
    action_space: gym.Space[Any]
    messages: list[Message] = field(default_factory=list)
    token_limit: int | None = None
    env: gym.Env[Any, Any] | None = None

    @property
    def turn(self) -> int:
        """Number of actions taken so far."""
        return len(self.messages) // 2

    @property
    def observation(self) -> str:
        """The newest message: what is to be answered."""
        return self.messages[-1]["content"]


@dataclass(frozen=True, slots=True)
class Action:
    """What a policy does in one turn.

    Attributes:
        text: The action.
        logprobs: Log-probability of each generated token in nats; ``None`` if not known.
        num_tokens: Tokens generated, charged to the budget before the step; with ``None`` the
            environment's own counter counts.
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
                f"an action's text must be a str, got {self.text!r} of type "
                f"{type(self.text).__name__}."
            )
        if self.num_tokens is not None:
            object.__setattr__(self, "num_tokens", _token_count(self.num_tokens))
        if self.logprobs is not None:
            object.__setattr__(self, "logprobs", _floats(self.logprobs))

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
        error: What happened.
        boundary: ``"agent"``: the agent's fault, counted as a failed episode. ``"provider"`` or
            another: not its fault, the episode is void.
    """

    error: str
    boundary: Boundary = "agent"


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
        has an attribute ``boundary`` that names another boundary, as a void one.
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


def _token_count(value: Any) -> int:
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or not 0 <= value.__index__() < _MAX_TOKENS:
        raise OptionError(f"num_tokens must be a whole number of at least 0, got {value!r}.")
    return value.__index__()  # type: ignore[no-any-return]


def _floats(values: Any) -> tuple[float, ...]:
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError) as error:
        raise OptionError(f"logprobs must be numbers, got {values!r:.200}.") from error
    if not all(number < math.inf for number in numbers):  # NaN compares false
        raise OptionError(f"logprobs must be below infinity and not NaN, got {values!r:.200}.")
    return numbers


def boundary_of(error: BaseException, default: Boundary) -> Boundary:
    """Return where an exception came from: its attribute ``boundary``, or the default."""
    named = getattr(error, "boundary", None)
    return named if named in BOUNDARIES else default


def check_policy(policy: object) -> None:
    """Refuse an object that is no policy, naming what it lacks.

    Raises:
        OptionError: If an attribute or method is missing.
    """
    wanted = ("name", "settings", "needs_env", "uses_budget", "act", "begin", "end", "check_env")
    missing = [name for name in wanted if not hasattr(policy, name)]
    is_class = isinstance(policy, type)
    if missing or is_class:
        why = "it is a class: make an object" if is_class else f"it lacks {', '.join(missing)}"
        raise OptionError(
            f"expected a policy, got {policy!r}: {why}. Inherit from budget_envs.evaluation."
            "policy.Policy, or build one by name with budget_envs.agents.policies.make_policy."
        )
