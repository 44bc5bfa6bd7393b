"""`State`: a moment of an episode that can be returned to, and how such moments are collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym

from budget_envs.errors import OptionError
from budget_envs.evaluation.live_episode import EpisodeRequest
from budget_envs.evaluation.policy import Action, Conversation, Failure, Message, Policy
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.trajectory import Episode
from budget_envs.snapshot import Snapshot, inner_snapshot
from budget_envs.streams import derive_key, text_key, uniform

__all__ = ["State", "balanced_pool", "collect_states"]

MakeEnv = Callable[[], gym.Env[Any, Any]]


@dataclass(frozen=True, slots=True)
class State:
    """A moment before an action: what the agent knows, and the environment as it is.

    Attributes:
        task_id: The task.
        budget: The turn limit of the episode.
        source: Name of the policy whose episode it is from.
        turn: Turns taken before.
        length: Turns that the episode had in all.
        messages: The conversation so far.
        token_limit: Tokens that may still be generated; ``None`` if unlimited.
        snapshot: The environment and its budget.
        is_error: Whether an error was injected in the turn before.
        key: 64-bit key of what is drawn from here; a function of the episode and the turn.
    """

    task_id: str
    budget: int
    source: str
    turn: int
    length: int
    messages: tuple[Message, ...]
    token_limit: int | None
    snapshot: Snapshot
    is_error: bool
    key: int

    @property
    def position(self) -> float:
        """Where in its episode the state is: 0 at the first turn, towards 1 at the last."""
        return self.turn / self.length


def collect_states(
    policy: Policy,
    make_env: MakeEnv,
    requests: Iterable[EpisodeRequest],
    *,
    batch_size: int = 64,
) -> list[State]:
    """Play episodes and return the states in which the policy acted.

    Args:
        policy: What plays.
        make_env: Makes environments, as in `budget_envs.evaluation.rollout.rollout`.
        requests: Episodes to play; a plan has them.
        batch_size: Episodes in progress at once.

    Returns:
        States in the order of the requests and turns. Void episodes give none.

    Raises:
        SnapshotError: If the environment cannot be saved.
    """
    wanted = list(requests)
    _check_can_save(make_env, wanted)
    recorder = _Recorder(policy)
    played = rollout(recorder, make_env, wanted, batch_size=batch_size)
    episodes = {episode.key: episode for finished in played for episode in finished}
    return [
        state for request in wanted for state in recorder.states_of(request, episodes[request.key])
    ]


def balanced_pool(*sources: Sequence[State], num_states: int, seed: int = 0) -> list[State]:
    """Draw equally many states from each source, without replacement.

    States that one policy visits favour it or not; a pool of both policies' states, half and half,
    is fair to both.

    Args:
        *sources: States of one policy each.
        num_states: States in all; a multiple of the number of sources.
        seed: Of the draw.

    Returns:
        The states, source after source; a function of ``seed`` and the sources alone.

    Raises:
        OptionError: If a source has too few states, or the number cannot be shared equally.
    """
    if not sources or num_states < 1 or num_states % len(sources):
        raise OptionError(
            f"num_states must be a positive multiple of the {len(sources)} sources, got "
            f"{num_states!r}."
        )
    share = num_states // len(sources)
    pool: list[State] = []
    for number, states in enumerate(sources):
        if len(states) < share:
            raise OptionError(
                f"source {number} has {len(states)} states, and {share} are wanted of each: "
                "collect more, or lower num_states."
            )
        key = derive_key(seed, number)
        drawn = [uniform(key, index) for index in range(len(states))]
        order = sorted(range(len(states)), key=drawn.__getitem__)
        pool += [states[index] for index in sorted(order[:share])]
    return pool


def _check_can_save(make_env: MakeEnv, requests: Sequence[EpisodeRequest]) -> None:
    """Raise what saving raises before it is taken for a failure of the agent."""
    if not requests:
        return
    env = make_env()
    try:
        env.reset(seed=requests[0].seed, options=requests[0].options())
        inner_snapshot(env)
    finally:
        env.close()


class _Recorder(Policy):
    """Saves each state that another policy is asked about."""

    needs_env: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self.settings = policy.settings
        self._policy = policy
        self._moments: dict[str, list[tuple[tuple[Message, ...], int | None, Snapshot]]] = {}

    def act(self, conversations: Sequence[Conversation]) -> Sequence[Action | Failure]:
        for conversation in conversations:
            env: gym.Env[Any, Any] = conversation.env  # type: ignore[assignment]  # needs_env
            moments = self._moments.setdefault(conversation.id, [])
            if len(moments) == conversation.turn:  # else asked again, alone
                moment = tuple(conversation.messages), conversation.token_limit, inner_snapshot(env)
                moments.append(moment)
        return self._policy.act(self._shown(conversations))

    def begin(self, conversations: Sequence[Conversation]) -> None:
        self._policy.begin(self._shown(conversations))

    def end(self, conversations: Sequence[Conversation]) -> None:
        self._policy.end(self._shown(conversations))

    def states_of(self, request: EpisodeRequest, episode: Episode) -> list[State]:
        """Return the states of a finished episode."""
        if episode.verdict == "void":
            return []
        moments = self._moments.get(request.conversation_id, [])
        seed = derive_key(request.policy_key, text_key(self.name))
        return [
            State(
                *request.key[:2],
                source=self.name,
                turn=turn,
                length=len(moments),
                messages=messages,
                token_limit=token_limit,
                snapshot=snapshot,
                is_error=turn > 0 and episode.turns[turn - 1].injected is not None,
                key=derive_key(seed, turn),
            )
            for turn, (messages, token_limit, snapshot) in enumerate(moments)
        ]

    def _shown(self, conversations: Sequence[Conversation]) -> Sequence[Conversation]:
        """Return copies, so that the policy cannot change what is collected."""
        with_env = self._policy.needs_env
        return [each.copy(with_env=with_env) for each in conversations]
