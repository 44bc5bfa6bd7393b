"""`ErrorStates`: puts the agent into a state that an error led to, and keeps the receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

import gymnasium as gym

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.oracle import ErrorOracle, Oracle
from budget_envs.streams import derive_key, text_key, uniform
from budget_envs.text_env import TextEnv
from budget_envs.wrappers.base import OuterWrapper, has_text
from budget_envs.wrappers.budget_mix import as_seed
from budget_envs.wrappers.episode_key import EpisodeKey, rollout_of
from budget_envs.wrappers.faults import TEXT_FAULTS, faulty_text
from budget_envs.wrappers.step_oracle import resolve_oracle

__all__ = ["ErrorKind", "ErrorStates"]

ErrorKind = Literal["wrong_action", "timeout", "empty", "garbled", "stale", "refused"]
Step = tuple[Any, Any, bool, bool, dict[str, Any]]

_KINDS: Final = ("wrong_action", *TEXT_FAULTS)
_STREAM: Final = text_key("budget_envs.wrappers.ErrorStates")
_DEFAULT_RATE: Final = 0.2
_COIN, _KIND, _DETAIL = 1, 2, 3  # names of the streams derived from an episode's key


class ErrorStates(OuterWrapper):
    """Injects errors into an episode, the same ones for the same seed.

    Kinds:

    ``"wrong_action"``
        The agent's action is replaced, before it is carried out, by a worse one from which
        success stays possible within the remaining budget and which does not end the episode; an
        oracle chooses it. A transcript shows ``info["injected"]["executed"]`` as the agent's own
        action. Where the state has no such action, nothing is injected.
    ``"timeout"``, ``"empty"``, ``"garbled"``, ``"stale"``
        The action is carried out and the observation lost: replaced by a notice, by nothing, by
        noise on its visible characters, or by the observation before it. Observations that end an
        episode are left alone, since nobody acts on them.
    ``"refused"``
        The action is not carried out, costs its turn and its tokens, and the observation says so.
        (The environment is stepped with the empty text, which no text environment can read.)

    Every injection that landed leaves ``info["injected"]``: ``turn`` (from 1), ``kind``,
    ``intended`` and ``executed`` (the action that the agent chose and the one that was carried
    out, ``""`` for none); of a wrong action also ``value_intended`` and ``value_executed`` by the
    oracle, and of the other kinds ``observation``, the true one. ``info["injected_count"]``, on
    reset and on every step, is the number of injections so far, so a run in which none landed says
    so. ``info["executed_action"]`` is what really ran. ``info["state_key"]`` is never changed.

    What is injected depends on ``seed``, the episode's seed, task and rollout, and the turn.

    Args:
        env: The environment to wrap, with its budget inside.
        at: Turn or turns at which to inject, counted from 1.
        rate: Probability in [0, 1] of an injection at each turn. Give ``at`` or ``rate``, not
            both; with neither, ``rate`` is 0.2.
        kind: One kind, or a list of which each injection draws one.
        oracle: Chooses wrong actions: an oracle with ``error_action``, or its entry point.
        seed: Seed of the injections.

    Attributes:
        text_faults: The kinds in use that change observations.

    Raises:
        OptionError: If a keyword is not valid, or the environment or oracle lacks what a kind
            needs.
    """

    reads_budget: ClassVar[bool] = True

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        at: int | Sequence[int] | None = None,
        rate: float | None = None,
        kind: ErrorKind | Sequence[ErrorKind] = "wrong_action",
        oracle: str | Oracle | None = None,
        seed: int = 0,
    ) -> None:
        at = at if at is None or _is_turn(at) else _as_turns(at)
        kind = kind if isinstance(kind, str) else list(kind)
        found, name = (None, None) if oracle is None else resolve_oracle(oracle)
        gym.utils.RecordConstructorArgs.__init__(
            self, at=at, rate=rate, kind=kind, oracle=name, seed=as_seed(seed)
        )
        super().__init__(env)
        self._kinds = _checked_kinds(kind)
        self.text_faults = tuple(each for each in self._kinds if each != "wrong_action")
        self._check_needs(found)
        self._rate = _checked_rate(at, rate)
        self._turns = frozenset() if at is None else frozenset([at] if _is_turn(at) else at)  # type: ignore[arg-type]
        self.oracle: Any = found
        self._episode_key = EpisodeKey(_STREAM ^ as_seed(seed))
        self._start(0)
        self._seen: Any = None
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; its first observation is never faulty."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode_key.begin(self.env, seed)
        task = str(info.get("task_id", ""))
        self._start(self._episode_key.of_task(task, rollout_of(options)))
        self._seen = observation if self.text_faults else None
        self._running = True
        return observation, {**info, "injected_count": 0}

    def step(self, action: Any) -> Step:
        """Take a step, with an injection if this turn has one."""
        if not self._running:
            return self.env.step(action)  # which says what is wrong
        self._turn += 1
        kind = self._kind_now()
        if kind is None:
            result = self._plain_step(action)
        elif kind == "wrong_action":
            result = self._wrong_step(action)
        else:
            result = self._faulty_step(action, kind)
        self._running = not (result[2] or result[3])
        if self.text_faults:
            self._seen = result[0]
        return result

    # When.

    def _start(self, key: int) -> None:
        self._key = key
        self._coins = derive_key(key, _COIN)
        self._turn = self._count = 0

    def _kind_now(self) -> str | None:
        turn, rate = self._turn, self._rate
        if not (turn in self._turns if rate is None else uniform(self._coins, turn) < rate):
            return None
        kinds = self._kinds
        if len(kinds) == 1:
            return kinds[0]
        return kinds[int(uniform(derive_key(self._key, _KIND), turn) * len(kinds))]

    # What.

    def _plain_step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = info.copy()
        info["injected_count"] = self._count
        return observation, reward, terminated, truncated, info

    def _wrong_step(self, action: Any) -> Step:
        wrong = self.oracle.error_action(self.env, action, self._detail_key())
        if wrong is None:
            return self._plain_step(action)
        receipt = {
            "turn": self._turn,
            "kind": "wrong_action",
            "intended": action,
            "executed": wrong,
            "value_intended": self.oracle.value(self.env, action),
            "value_executed": self.oracle.value(self.env, wrong),
        }
        self._count_tokens(action)
        observation, reward, terminated, truncated, info = self._plain_step(wrong)
        if info.get("action_executed", True):
            self._count += 1
            info["injected"] = receipt
            info["injected_count"] = self._count
            info.setdefault("executed_action", wrong)
        return observation, reward, terminated, truncated, info

    def _faulty_step(self, action: Any, kind: str) -> Step:
        refused = kind == "refused"
        if refused:
            self._count_tokens(action)
        executed = "" if refused else action
        observation, reward, terminated, truncated, info = self._plain_step(executed)
        shown = faulty_text(kind, observation, self._seen, self._detail_key())
        unread = (terminated or truncated) and not refused
        if unread or shown == observation or not info.get("action_executed", True):
            return observation, reward, terminated, truncated, info
        self._count += 1
        info["injected_count"] = self._count
        info["injected"] = {
            "turn": self._turn,
            "kind": kind,
            "intended": action,
            "executed": executed,
            "observation": observation,
        }
        if refused:
            info["invalid_action"] = False  # the agent's own text was never read
            info["executed_action"] = ""
        return shown, reward, terminated, truncated, info

    def _detail_key(self) -> int:
        return derive_key(self._key, _DETAIL, self._turn)

    def _count_tokens(self, action: Any) -> None:
        """Let the budget count the agent's own text rather than what stands in for it."""
        if self._budget_layer is not None:
            self._budget_layer.count_action(action)

    def _check_needs(self, oracle: Any) -> None:
        if "wrong_action" in self._kinds and not isinstance(oracle, ErrorOracle):
            raise OptionError(
                "kind='wrong_action' needs an oracle that names wrong actions (error_action), got "
                f"oracle={oracle!r}: pass one, or use another kind."
            )
        if self.text_faults and not has_text(self.env.observation_space):
            raise OptionError(
                f"the faults {', '.join(self.text_faults)} replace text; observations here are in "
                f"{self.env.observation_space}."
            )
        if "refused" in self._kinds and not isinstance(self.env.unwrapped, TextEnv):
            raise OptionError(
                "kind='refused' steps with an action that only a TextEnv is known not to carry "
                f"out; {self.env.unwrapped} is none."
            )

    # State.

    def save(self) -> Mapping[str, Any]:
        """Return the place in the episode, and what the agent saw last."""
        return {
            "key": self._key,
            "turn": self._turn,
            "count": self._count,
            "seen": self._seen,
            "running": self._running,
            "episode_key": self._episode_key.save(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the state."""
        self._start(state["key"])
        self._turn = state["turn"]
        self._count = state["count"]
        self._seen = state["seen"]
        self._running = state["running"]
        self._episode_key.load(state["episode_key"])


def _is_turn(value: Any) -> bool:
    return type(value) is int and value >= 1


def _as_turns(at: Any) -> list[int]:
    whole = hasattr(at, "__index__") and not isinstance(at, bool)
    turns = [at] if whole else at
    if isinstance(turns, list | tuple) and turns:
        numbers = [t.__index__() if hasattr(t, "__index__") else t for t in turns]
        if all(
            _is_turn(n) and not isinstance(t, bool) for n, t in zip(numbers, turns, strict=True)
        ):
            return numbers
    raise OptionError(f"at must be a turn or a list of turns, counted from 1, got {at!r}.")


def _checked_kinds(kind: str | Sequence[str]) -> tuple[str, ...]:
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    for each in kinds:
        if each not in _KINDS:
            raise OptionError(
                f"kind must be one or a list of {', '.join(_KINDS)}, got {each!r}."
                + did_you_mean(each, _KINDS)
            )
    if not kinds:
        raise OptionError(f"kind must name at least one of {', '.join(_KINDS)}, got {kind!r}.")
    return kinds


def _checked_rate(at: Any, rate: Any) -> float | None:
    """Return the rate, or ``None`` where turns are given."""
    if at is not None and rate is not None:
        raise OptionError("give either at or rate, not both.")
    if at is not None:
        return None
    if rate is None:
        return _DEFAULT_RATE
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise OptionError(f"rate must be a probability in [0, 1], got {rate!r}.")
    return float(rate)
