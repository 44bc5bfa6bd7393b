"""What an evaluation records: `Turn`, `Episode` and `Run`, as plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from budget_envs.evaluation.outcomes import Protocol
from budget_envs.text_env import Verdict

__all__ = ["BOUNDARIES", "Boundary", "Episode", "EpisodeKey", "Run", "Turn"]

Boundary = Literal["agent", "env", "sandbox", "provider", "budget"]
BOUNDARIES: Final[tuple[Boundary, ...]] = ("agent", "env", "sandbox", "provider", "budget")


class EpisodeKey(NamedTuple):
    """What tells the episodes of one run apart.

    Attributes:
        task_id: The task, as ``info["task_id"]`` has it.
        budget: The hard turn limit that the episode ran under.
        rollout: Which rollout of the task, from 0.
    """

    task_id: str
    budget: int
    rollout: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: what the agent was shown, what it did, and what came of it.

    Attributes:
        turn: Number of the turn, from 1.
        observation: What the agent was shown before it acted, a budget line included.
        action: The agent's text.
        executed_action: What the environment made of it (a slip, an injected error); ``None``
            where the environment does not say.
        reward: Reward of the turn; ``None`` where the environment could not judge.
        is_invalid: Whether the environment could not read the action.
        state_key: Anchor of the state that the agent acted in.
        budget: ``info["budget"]`` after the turn; ``None`` without a budget.
        oracle: ``info["oracle"]``: value, best, regret, best_actions; ``None`` without an oracle.
        injected: Receipt of the error injected in this turn; ``None`` if there was none.
        num_tokens: Tokens that the policy says it generated; ``None`` if it does not say.
        logprob: Sum of the tokens' log-probabilities in nats; ``None`` if the policy gives none.
    """

    turn: int
    observation: str
    action: str
    executed_action: str | None = None
    reward: float | None = 0.0
    is_invalid: bool = False
    state_key: str = ""
    budget: Mapping[str, Any] | None = None
    oracle: Mapping[str, Any] | None = None
    injected: Mapping[str, Any] | None = None
    num_tokens: int | None = None
    logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """One requested episode, finished, cut or dead.

    Attributes:
        task_id: The task.
        budget: The hard turn limit that the episode ran under.
        rollout: Which rollout of the task, from 0.
        seed: Seed that the environment was reset with.
        verdict: ``"pass"``; ``"fail"``, also when the agent broke down or ran out of budget; or
            ``"void"``: nobody can say, because environment, sandbox or provider broke down.
        success_turn: Turn of the first verified success; 0 if the task was solved at reset;
            ``None`` without success.
        num_turns: Turns carried out: all of ``turns``, but a last one that its own cost forbade.
        episode_return: Sum of the rewards; ``None`` if the verdict is void.
        boundary: What ended the episode where the task itself did not: ``"budget"`` when it ran
            out, else where an error came from.
        error: The error, or ``None``.
        final_observation: The newest observation.
        budget_report: ``info["budget"]`` at the end; ``None`` without a budget.
        num_tokens: Tokens that the policy says it generated; ``None`` if it does not say.
        num_invalid: Turns whose action could not be read.
        num_injected: Injected errors that landed.
        mean_regret: Mean regret of the turns that an oracle judged; ``None`` if none was.
        upper_bounds: Turn budget to the best success probability of any policy on this task;
            ``None`` without an oracle.
        turns: The turns; empty where only the episode was read from a database.
    """

    task_id: str
    budget: int
    rollout: int
    seed: int
    verdict: Verdict
    success_turn: int | None = None
    num_turns: int = 0
    episode_return: float | None = 0.0
    boundary: Boundary | None = None
    error: str | None = None
    final_observation: str = ""
    budget_report: Mapping[str, Any] | None = None
    num_tokens: int | None = None
    num_invalid: int = 0
    num_injected: int = 0
    mean_regret: float | None = None
    upper_bounds: Mapping[int, float] | None = None
    turns: tuple[Turn, ...] = ()

    @property
    def key(self) -> EpisodeKey:
        """What tells this episode apart within its run."""
        return EpisodeKey(self.task_id, self.budget, self.rollout)

    @property
    def is_solved_at_reset(self) -> bool:
        """Whether there was nothing to do; such an episode enters no rate."""
        return self.success_turn == 0


@dataclass(frozen=True, slots=True)
class Run:
    """One evaluation: everything needed to read its episodes, and to run it again.

    Attributes:
        run_id: Hash of the settings below up to ``env_spec``, K aside, and of the package version.
        env_id: The environment's id.
        env_kwargs: Keywords given to ``gym.make`` beside the budget.
        policy: Name of the policy.
        policy_settings: Its settings.
        protocol: ``"truncate"`` or ``"rerun"``.
        budgets: Turn limits T, increasing.
        k: The K of the depth curve Pass@(K,T).
        num_rollouts: Requested episodes n of each task (and, under ``rerun``, each budget).
        task_ids: The tasks, in order.
        split: Split that the tasks are from; ``None`` if they were named.
        seed: Base seed.
        env_spec: ``EnvSpec`` as JSON.
        is_budget_shown: Whether the agent was told its budget.
        token_counter: What counts tokens where the policy does not; ``None`` without a budget of
            tokens.
        versions: Package to version.
        git_commit: Commit of the working directory; ``None`` outside a repository.
        dataset_checksums: File to checksum; empty for generated tasks.
        command: What was typed to start the run; ``None`` in an interactive session.
        created: Start, ISO 8601 in UTC.
        finished: End; ``None`` while episodes are missing.
        upper_bounds: Turn budget to the structural upper bound, averaged over the tasks; ``None``
            without an oracle, and before the end.
    """

    run_id: str
    env_id: str
    env_kwargs: Mapping[str, Any]
    policy: str
    policy_settings: Mapping[str, Any]
    protocol: Protocol
    budgets: tuple[int, ...]
    k: int
    num_rollouts: int
    task_ids: tuple[str, ...]
    split: str | None
    seed: int
    env_spec: str = ""
    is_budget_shown: bool = False
    token_counter: str | None = None
    versions: Mapping[str, str] | None = None
    git_commit: str | None = None
    dataset_checksums: Mapping[str, str] | None = None
    command: str | None = None
    created: str = ""
    finished: str | None = None
    upper_bounds: Mapping[int, float] | None = None

    @property
    def num_requested(self) -> int:
        """Number of episodes that the run consists of."""
        caps = 1 if self.protocol == "truncate" else len(self.budgets)
        return len(self.task_ids) * self.num_rollouts * caps
