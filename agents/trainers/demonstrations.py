"""Demonstrations: what a policy plays, or what an evaluation recorded, as token trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import gymnasium as gym
import numpy as np

from budget_envs.agents.models.chat import ChatFormat
from budget_envs.agents.models.tokens import TokenTrajectory
from budget_envs.agents.policies import make_policy
from budget_envs.agents.policies.random_policy import RandomPolicy
from budget_envs.agents.trainers.config import check_range
from budget_envs.errors import DataError, OptionError
from budget_envs.evaluation.env_maker import EnvMaker
from budget_envs.evaluation.live_episode import request_episode
from budget_envs.evaluation.policy import Action, Conversation, Failure, Message, Policy
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, Turn
from budget_envs.streams import derive_key, text_key, uniform

__all__ = [
    "DemonstrationSettings",
    "NoisyPolicy",
    "as_messages",
    "encode",
    "play_demonstrations",
    "recorded",
]

_COIN: Final = text_key("budget_envs.agents.trainers.NoisyPolicy")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationSettings:
    """Where demonstrations are from.

    Attributes:
        policy: Who plays them: a name or ``module:Class``, as for ``budget-envs evaluate``.
        settings: Keywords of the policy.
        noise: Share in [0, 1] of its actions that a random one replaces. They are learned from like
            the others: what is imitated is the noisy player.
        episodes: How many are played, or taken from a database.
        database: A results database to take recorded episodes from, instead of playing.
        run: The run in it; a unique beginning of its id is enough.
        only_successes: Leave out episodes that did not succeed.
    """

    policy: str = "oracle"
    settings: dict[str, Any] = field(default_factory=dict)
    noise: float = 0.0
    episodes: int = 1000
    database: str | None = None
    run: str | None = None
    only_successes: bool = False

    def __post_init__(self) -> None:
        check_range("noise", self.noise, 0, 1)
        check_range("episodes", self.episodes, 1)
        if (self.database is None) != (self.run is None):
            raise OptionError("database and run go together: give both or neither.")


class NoisyPolicy(Policy):
    """Plays another policy's actions, but for a share of random ones.

    Args:
        policy: The other policy.
        noise: Share in [0, 1] of actions drawn from the examples of the action space.
    """

    uses_budget: ClassVar[bool] = True

    def __init__(self, policy: Policy, noise: float) -> None:
        self.name = f"noisy {policy.name}"
        self.settings = {"policy": policy.name, "noise": noise, **policy.settings}
        self.needs_env = policy.needs_env  # type: ignore[misc]  # a class variable, for most
        self.policy = policy
        self.noise = noise
        self._random = RandomPolicy()

    def act(self, conversations: Sequence[Conversation]) -> list[Action | Failure]:
        """Return the action of the policy, or a random one."""
        chosen = self.policy.act(conversations)
        at_random = self._random.act(conversations)
        return [
            drawn if uniform(derive_key(c.key, _COIN), c.turn) < self.noise else action
            for c, action, drawn in zip(conversations, chosen, at_random, strict=True)
        ]

    def begin(self, conversations: Sequence[Conversation]) -> None:
        """Tell the policy."""
        self.policy.begin(conversations)

    def end(self, conversations: Sequence[Conversation]) -> None:
        """Tell the policy."""
        self.policy.end(conversations)

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse what the policy refuses, and an environment without example actions."""
        self.policy.check_env(env)
        if self.noise:
            self._random.check_env(env)


def play_demonstrations(
    settings: DemonstrationSettings,
    make_env: EnvMaker,
    tasks: Iterable[tuple[str, int]],
    *,
    seed: int,
) -> list[Episode]:
    """Let the demonstrating policy play; return its episodes, void ones left out.

    Args:
        settings: Who plays.
        make_env: Makes environments.
        tasks: Task and turn budget of each episode; a task may come again.
        seed: Of the luck.

    Raises:
        UnsupportedError: If the policy cannot play these environments.
    """
    player = make_policy(settings.policy, **settings.settings)
    policy = NoisyPolicy(player, settings.noise) if settings.noise else player
    env = make_env()
    try:
        policy.check_env(env)
    finally:
        env.close()
    requests = [
        request_episode(seed, task, budget, number) for number, (task, budget) in enumerate(tasks)
    ]
    rounds = rollout(policy, make_env, requests)
    played = {episode.key: episode for finished in rounds for episode in finished}
    return list(_useful((played[request.key] for request in requests), settings))


def recorded(settings: DemonstrationSettings) -> list[Episode]:
    """Return episodes of a results database, in its order.

    Raises:
        DataError: If there are none.
    """
    assert settings.database is not None
    assert settings.run is not None
    if not Path(settings.database).is_file():
        raise DataError(f"there is no results database {settings.database!r}.")
    with Store.open(settings.database) as store:
        run = store.run(settings.run)
        found = list(_useful(store.episodes(run.run_id, with_turns=True), settings))
    if not found:
        raise DataError(f"run {settings.run!r} has no episode to learn from.")
    return found[: settings.episodes]


def as_messages(episode: Episode) -> list[Message]:
    """Return an episode's conversation up to its last action."""
    messages: list[Message] = []
    for turn in episode.turns:
        messages.append({"role": "user", "content": turn.observation})
        messages.append({"role": "assistant", "content": _said(turn)})
    return messages


def encode(chat: ChatFormat, episode: Episode) -> TokenTrajectory:
    """Return an episode as tokens, of which those of its actions are to be learned.

    An error that was injected stands in the conversation, and is not learned.
    """
    encoded = chat.encode(as_messages(episode))
    injected = [number for number, turn in enumerate(episode.turns) if _is_replaced(turn)]
    learned = encoded.is_action & ~np.isin(encoded.turns, injected)
    return TokenTrajectory(
        encoded.ids, learned, np.zeros(len(encoded.ids), np.float32), encoded.turns
    )


def _useful(episodes: Iterable[Episode], settings: DemonstrationSettings) -> Iterator[Episode]:
    for episode in episodes:
        is_wanted = episode.verdict == "pass" or not settings.only_successes
        if episode.verdict != "void" and episode.turns and is_wanted:
            yield episode


def _is_replaced(turn: Turn) -> bool:
    return (turn.injected or {}).get("kind") == "wrong_action"


def _said(turn: Turn) -> str:
    """Return what stands in the conversation as the agent's action."""
    return str(turn.injected["executed"]) if _is_replaced(turn) and turn.injected else turn.action
