"""`LiveEpisode`: an episode in progress, and the record that it ends as."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import gymnasium as gym

from budget_envs.errors import OptionError
from budget_envs.evaluation.policy import Action, Conversation, Failure, Message, exact_text
from budget_envs.evaluation.trajectory import Boundary, Episode, EpisodeKey, Turn
from budget_envs.streams import derive_key, text_key
from budget_envs.text_env import Verdict

__all__ = ["EpisodeRequest", "LiveEpisode", "request_episode", "token_limit"]

_ENV_SEED, _POLICY_KEY = 1, 2  # names of the streams derived from a run's seed
_REASONS: Final[Mapping[str, Boundary]] = {"budget": "budget", "sandbox_lost": "sandbox"}


@dataclass(frozen=True)
class EpisodeRequest:
    """One episode to play.

    Attributes:
        key: Task, turn limit and rollout.
        seed: Seed for the environment, shared by all rollouts of the task.
        policy_key: 64-bit key for the policy's own randomness.
    """

    key: EpisodeKey
    seed: int
    policy_key: int

    def options(self) -> dict[str, Any]:
        """Return the options that the environment is reset with."""
        task_id, budget, number = self.key
        return {"task": task_id, "rollout": number, "budget": {"turns": budget}}

    @property
    def conversation_id(self) -> str:
        """Name of the conversation that the policy sees."""
        task_id, budget, number = self.key
        return f"{task_id}#{budget}#{number}"

    def begin(self, env: gym.Env[Any, Any], *, with_env: bool) -> LiveEpisode:
        """Reset an environment to the task, and start its conversation.

        Args:
            env: An environment with text actions and a turn budget.
            with_env: Let the policy see ``env``.
        """
        observation, info = env.reset(seed=self.seed, options=self.options())
        message: Message = {"role": "user", "content": _checked_text(observation)}
        return LiveEpisode(self, env, info, [message], token_limit(info), with_env)

    def solved_at_reset(
        self, observation: str, upper_bounds: Mapping[int, float] | None
    ) -> Episode:
        """Return the record of an episode in which there was nothing to do."""
        return Episode(
            *self.key,
            seed=self.seed,
            verdict="pass",
            success_turn=0,
            final_observation=observation,
            upper_bounds=upper_bounds,
        )

    def not_begun(self, boundary: Boundary, error: str) -> Episode:
        """Return the record of an episode that an error kept from starting."""
        verdict = _verdict_of(boundary)
        return Episode(
            *self.key,
            seed=self.seed,
            verdict=verdict,
            episode_return=None if verdict == "void" else 0.0,
            boundary=boundary,
            error=error,
        )


def request_episode(seed: int, task_id: str, budget: int, rollout: int) -> EpisodeRequest:
    """Derive an episode's seeds from a run's seed, its task and its rollout.

    They depend neither on the other tasks nor on the budget: the same rollout under another
    budget, or by another policy, meets the same luck.
    """
    task = text_key(task_id)
    return EpisodeRequest(
        key=EpisodeKey(task_id, budget, rollout),
        seed=derive_key(seed, _ENV_SEED, task) >> 1,  # databases hold 63 bits
        policy_key=derive_key(seed, _POLICY_KEY, task, rollout),
    )


@dataclass(slots=True, eq=False)
class LiveEpisode:
    """An episode in progress.

    Attributes:
        request: What is played.
        env: The environment it is played in, which nobody else uses meanwhile.
        info: Info of the newest reset or step.
        messages: The conversation so far, which no policy gets hold of.
        token_limit: Tokens that may still be generated; ``None`` if unlimited.
        with_env: Whether the policy sees ``env``.
        upper_bounds: Bounds of the task; ``None`` without an oracle.
        turns: The turns so far.
        num_turns: How many of them were carried out: all, but one that its own cost forbade.
        is_cut: Whether the last step cut the episode short of an end of its own.
    """

    request: EpisodeRequest
    env: gym.Env[Any, Any]
    info: Mapping[str, Any]
    messages: list[Message]
    token_limit: int | None
    with_env: bool
    upper_bounds: Mapping[int, float] | None = None
    turns: list[Turn] = field(default_factory=list)
    num_turns: int = 0
    is_cut: bool = False

    @property
    def observation(self) -> str:
        """The newest observation."""
        return self.messages[-1]["content"]

    def conversation(self) -> Conversation:
        """Return a copy of the episode as the policy sees it."""
        return Conversation(
            id=self.request.conversation_id,
            key=self.request.policy_key,
            action_space=self.env.action_space,
            messages=self.messages,
            token_limit=self.token_limit,
            env=self.env if self.with_env else None,
        )

    def charge(self, action: Action) -> None:
        """Charge what the action says it cost, before the step that it belongs to."""
        charges = action.charges()
        if charges:
            self.env.get_wrapper_attr("charge")(**charges)

    def step(self, action: Action) -> bool:
        """Take one turn; return whether it was the last.

        Where the environment breaks down, the turn is recorded without a reward, and the
        exception goes on.
        """
        try:
            observation, reward, terminated, truncated, info = self.env.step(action.text)
            text, gained = _checked_text(observation), float(reward)
        except BaseException:
            self._record(action, math.nan, {})
            raise
        self._record(action, gained, info)
        self.info = info
        self._tell(action, text)
        self.is_cut = bool(truncated and not terminated)
        return bool(terminated or truncated)

    def judged(self) -> Episode:
        """Return the record of an episode that the environment ended.

        The last info says how it went, by ``verdict`` or else by ``is_success``. If it has neither,
        an episode that was only truncated has failed: a limit around the environment, such as
        Gymnasium's ``TimeLimit``, ran out before the task was solved (unless
        ``truncation_reason`` names another cause, which makes it void). One that terminated is
        void: the environment owes a verdict, and a reward is none.
        """
        info = self.info
        verdict = info.get("verdict")
        if verdict is None and "is_success" in info:
            verdict = "pass" if info["is_success"] else "fail"
        if verdict is None and self.is_cut:
            boundary = self._cut_by()
            return self._ended(_verdict_of(boundary), boundary)
        if verdict not in ("pass", "fail", "void"):
            return self.stopped(
                Failure(f"expected a verdict in the last step's info, got {verdict!r}.", "env")
            )
        return self._ended(verdict, self._boundary(verdict))

    def stopped(self, failure: Failure) -> Episode:
        """Return the record of an episode that an error ended."""
        return self._ended(_verdict_of(failure.boundary), failure.boundary, failure.error)

    def _record(self, action: Action, reward: float, info: Mapping[str, Any]) -> None:
        executed = info.get("executed_action")
        self.num_turns += bool(info.get("action_executed", True))
        self.turns.append(
            Turn(
                turn=len(self.turns) + 1,
                observation=self.observation,
                action=action.text,
                executed_action=None if executed is None else str(executed),
                reward=reward if math.isfinite(reward) else None,
                is_invalid=bool(info.get("invalid_action", False)),
                state_key=str(self.info.get("state_key", "")),
                budget=info.get("budget"),
                oracle=_mapping(info.get("oracle")),
                injected=_mapping(info.get("injected")),
                num_tokens=action.num_tokens,
                logprob=action.logprob,
            )
        )

    def _tell(self, action: Action, observation: str) -> None:
        injected = _mapping(self.info.get("injected")) or {}
        is_replaced = injected.get("kind") == "wrong_action"
        said = exact_text(injected["executed"]) if is_replaced else action.text
        self.messages.append({"role": "assistant", "content": said})
        self.messages.append({"role": "user", "content": observation})
        self.token_limit = token_limit(self.info)

    def _cut_by(self) -> Boundary:
        """Return what cut an episode that has no verdict."""
        reason = self.info.get("truncation_reason")
        return "budget" if reason is None else _REASONS.get(str(reason), "env")

    def _boundary(self, verdict: Verdict) -> Boundary | None:
        reason = _REASONS.get(str(self.info.get("truncation_reason")))
        if verdict == "void":
            return reason or "env"
        exhausted = (self.info.get("budget") or {}).get("exhausted")
        is_spent = exhausted or reason == "budget" or self.is_cut
        return "budget" if verdict == "fail" and is_spent else None

    def _ended(
        self, verdict: Verdict, boundary: Boundary | None, error: str | None = None
    ) -> Episode:
        turns = self.turns
        tokens = [turn.num_tokens for turn in turns if turn.num_tokens is not None]
        rewards = [turn.reward for turn in turns if turn.reward is not None]
        return Episode(
            *self.request.key,
            seed=self.request.seed,
            verdict=verdict,
            success_turn=self.num_turns if verdict == "pass" else None,
            num_turns=self.num_turns,
            episode_return=None if verdict == "void" else _total(rewards),
            boundary=boundary,
            error=error,
            final_observation=self.observation,
            budget_report=self.info.get("budget"),
            num_tokens=sum(tokens) if tokens else None,
            num_invalid=sum(turn.is_invalid for turn in turns),
            num_injected=sum(turn.injected is not None for turn in turns),
            mean_regret=_mean_regret(turns),
            upper_bounds=self.upper_bounds,
            turns=tuple(turns),
        )


def _verdict_of(boundary: Boundary) -> Verdict:
    """An agent that breaks down has failed; where anything else does, nobody can say."""
    return "fail" if boundary in ("agent", "budget") else "void"


def _total(rewards: list[float]) -> float | None:
    """Return the sum; ``None`` if it is beyond what a float holds."""
    try:
        return math.fsum(rewards)
    except OverflowError:
        return None


def _mean_regret(turns: list[Turn]) -> float | None:
    regrets = [_regret(turn.oracle) for turn in turns if turn.oracle]
    judged = [regret for regret in regrets if math.isfinite(regret)]
    total = _total(judged)
    return None if total is None or not judged else total / len(judged)


def _regret(oracle: Mapping[str, Any]) -> float:
    """Return the regret; NaN where the oracle gives none."""
    try:
        return float(oracle["regret"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return math.nan


def _mapping(value: Any) -> Mapping[str, Any] | None:
    """Return what an environment put under a key of this package, if it can be that."""
    return value if isinstance(value, Mapping) else None


def token_limit(info: Mapping[str, Any]) -> int | None:
    """Return the tokens that may still be generated, by an environment's info."""
    tokens = (info.get("budget") or {}).get("tokens")
    return None if tokens is None else tokens["remaining"]


def _checked_text(observation: object) -> str:
    if not isinstance(observation, str):
        raise OptionError(
            f"expected the observation as text, got {type(observation).__name__}: make the "
            "environment without numeric=True."
        )
    return exact_text(observation)
