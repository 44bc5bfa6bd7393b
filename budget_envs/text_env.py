"""`TextEnv`: the contract that every environment of the suite keeps."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import gymnasium as gym

from budget_envs.errors import EnvStateError, OptionError, RenderModeError, did_you_mean
from budget_envs.snapshot import Snapshot
from budget_envs.spaces import TextSpace
from budget_envs.streams import derive_key

__all__ = ["DYNAMICS", "TASK_SPLITS", "StepResult", "TextEnv", "Verdict"]

TaskT = TypeVar("TaskT")
Verdict = Literal["pass", "fail", "void"]
StepResult = tuple[str, float, Verdict | None, dict[str, Any]]
TASK_SPLITS: Final = ("train", "validation", "test")

DYNAMICS: Final = 1  # name of the stream that the environment's own chance is drawn from
_OPTIONS: Final = ("task", "split", "index", "rollout", "common_random_numbers")


class TextEnv(gym.Env[str, str], Generic[TaskT]):
    """A Gymnasium environment whose observations and actions are text.

    Observations are the newest message only; the first one holds the instructions and the task.
    Any string is a legal action: one that cannot be read is answered by an observation that says
    what was expected, sets ``info["invalid_action"]`` and costs the turn. The empty string is such
    an action in every environment: it changes nothing but the turn.

    ``reset(seed=..., options=...)`` understands these options:

    ``task``
        A task id, as ``info["task_id"]`` gives it.
    ``split``, ``index``
        The ``index``-th task of ``"train"``, ``"validation"`` or ``"test"``.
    ``rollout``
        Integer of at least 0. Rollouts of one seed share the task and not the luck.
    ``common_random_numbers``
        If true, all rollouts of a seed share the luck too.

    ``info`` holds on reset and on every step: ``task_id`` (str), ``turn`` (int, steps taken),
    ``state_key`` (str, equal if and only if the task's state is equal; free of budget, history
    and injected faults) and ``invalid_action`` (bool). On the last step also ``is_success``
    (bool) and ``verdict``: ``"pass"``, ``"fail"``, or ``"void"`` when the environment could not
    judge. A void episode ends truncated with reward NaN, so that nobody averages it in silently.

    A subclass implements :meth:`draw_task`, :meth:`load_task`, :meth:`task_at`, :meth:`name_task`,
    :meth:`begin`, :meth:`act`, :meth:`save`, :meth:`load`, :attr:`state_key` and :meth:`describe`.
    Everything random in it comes from the keys it is given.

    Attributes:
        task: The current task; ``None`` before the first reset.
        dynamics_key: 64-bit key of the current episode's own chance, drawn at reset. Setting it
            gives the rest of the episode other luck; two environments with the same state and key
            go on alike.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi", "human"],
        "render_fps": 4,
    }
    observation_space: gym.spaces.Space[str]
    action_space: gym.spaces.Space[str]

    def __init__(self, *, action_examples: tuple[str, ...], render_mode: str | None = None) -> None:
        if render_mode not in (None, "ansi", "human"):
            raise RenderModeError(
                f"render_mode must be None, 'ansi' or 'human', got {render_mode!r}."
            )
        self.render_mode = render_mode
        self.observation_space = TextSpace()
        self.action_space = TextSpace(action_examples)
        self.task: TaskT | None = None
        self.dynamics_key = 0
        self.turn = 0
        self._task_id = ""
        self._running = False

    # What a subclass provides.

    @abstractmethod
    def draw_task(self, key: int) -> TaskT:
        """Return the task that the 64-bit ``key`` picks."""

    @abstractmethod
    def load_task(self, task_id: str) -> TaskT:
        """Return the task of that id, or raise `OptionError`."""

    @abstractmethod
    def task_at(self, split: str, index: int) -> TaskT:
        """Return task ``index`` (from 0) of a split, or raise `OptionError`.

        Tasks of different indices differ, and no task is in two splits.
        """

    @abstractmethod
    def name_task(self, task: TaskT) -> str:
        """Return the task's id: a text that :meth:`load_task` reads back."""

    @abstractmethod
    def begin(self, task: TaskT) -> tuple[str, dict[str, Any]]:
        """Set the state to the task's start; return the first observation and more info."""

    @abstractmethod
    def act(self, action: str) -> StepResult:
        """Take one turn; return observation, reward, verdict (``None``: goes on), more info.

        The info holds ``invalid_action`` at least. ``self.turn`` already counts this turn.
        """

    @property
    @abstractmethod
    def state_key(self) -> str:
        """Text equal if and only if the task's state is equal."""

    @abstractmethod
    def save(self) -> Mapping[str, Any]:
        """Return the task's state as plain values that nobody mutates."""

    @abstractmethod
    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`save` returned; ``self.task`` is already the right one."""

    @abstractmethod
    def describe(self) -> str:
        """Return the current state as text, for people."""

    # The Gymnasium interface.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; see the class for the options.

        Args:
            seed: Seeds this environment's generator; ``None`` continues it.
            options: See the class. ``None`` draws a task from the generator.

        Returns:
            The first observation, and the info.

        Raises:
            OptionError: If an option is unknown or not valid.
        """
        super().reset(seed=seed)
        key = int(self.np_random.bit_generator.random_raw())
        if options:
            task, rollout = self._choose(key, options)
        else:
            task, rollout = self.draw_task(key), 0
        self.task = task
        self._task_id = self.name_task(task)
        self.dynamics_key = derive_key(key, DYNAMICS, rollout)
        self.turn = 0
        self._running = True
        observation, extra = self.begin(task)
        if self.render_mode == "human":
            self.render()
        return observation, {
            "task_id": self._task_id,
            "turn": 0,
            "state_key": self.state_key,
            "invalid_action": False,
            **extra,
        }

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn.

        Args:
            action: Any string.

        Returns:
            Observation, reward, terminated, truncated (only by a void verdict), info.

        Raises:
            EnvStateError: Before the first reset, and after the episode ended.
            TypeError: If ``action`` is not a string.
        """
        if not self._running:
            raise EnvStateError(self._why_not_running())
        if not isinstance(action, str):
            raise TypeError(
                f"expected the action as a str, got {action!r} of type {type(action).__name__}; "
                "for integer actions make the environment with numeric=True."
            )
        self.turn += 1
        observation, reward, verdict, extra = self.act(action)
        info = {
            "task_id": self._task_id,
            "turn": self.turn,
            "state_key": self.state_key,
            **extra,
        }
        void = False
        if verdict is not None:
            self._running = False
            void = verdict == "void"
            info["is_success"] = verdict == "pass"
            info["verdict"] = verdict
            if void:
                reward = float("nan")
                info["truncation_reason"] = "void"
        if self.render_mode == "human":
            self.render()
        return observation, reward, verdict is not None and not void, void, info

    def render(self) -> str | None:
        """Return the state as text ("ansi"), or write it to standard output ("human")."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() was called without a render mode: "
                'use gym.make(..., render_mode="ansi") or "human".'
            )
            return None
        if not self._running and self.task is None:
            raise EnvStateError("render() was called before reset().")
        text = self.describe()
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(text + "\n")
        return None

    def snapshot(self) -> Snapshot:
        """Return the whole state, to be given to :meth:`restore` any number of times.

        Raises:
            EnvStateError: Before the first reset.
        """
        if self.task is None:
            raise EnvStateError("snapshot() was called before reset().")
        return Snapshot(
            layer=type(self).__name__,
            state={
                "task": self.task,
                "turn": self.turn,
                "running": self._running,
                "dynamics_key": self.dynamics_key,
                "generator": self.np_random.bit_generator.state,
                "task_state": self.save(),
            },
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot: from here the same actions give the same bytes.

        Raises:
            SnapshotError: If another kind of environment made the snapshot.
        """
        snapshot.check_layer(type(self).__name__)
        state = snapshot.state
        self.task = state["task"]
        self._task_id = self.name_task(state["task"])
        self.turn = state["turn"]
        self._running = state["running"]
        self.dynamics_key = state["dynamics_key"]
        self.np_random.bit_generator.state = state["generator"]
        self.load(state["task_state"])

    # Reset options.

    def _choose(self, key: int, options: Mapping[str, Any]) -> tuple[TaskT, int]:
        for name in options:
            if name not in _OPTIONS:
                hint = (
                    " Give the environment a budget first: gym.make(..., budget=8)."
                    if name == "budget"
                    else did_you_mean(name, _OPTIONS)
                )
                raise OptionError(
                    f"unknown reset option {name!r}; known are {', '.join(_OPTIONS)}.{hint}"
                )
        rollout = _natural(options.get("rollout", 0), "rollout")
        task = self._named_task(options)
        shared = options.get("common_random_numbers", False)
        if not isinstance(shared, bool):
            raise OptionError(
                f"option 'common_random_numbers' must be True or False, got {shared!r}."
            )
        if shared:
            rollout = 0
        return (self.draw_task(key) if task is None else task), rollout

    def _named_task(self, options: Mapping[str, Any]) -> TaskT | None:
        if "task" in options:
            if "split" in options or "index" in options:
                raise OptionError("give either the option 'task' or 'split' and 'index', not both.")
            return self.load_task(options["task"])
        if ("split" in options) != ("index" in options):
            raise OptionError("the options 'split' and 'index' go together: give both.")
        if "split" not in options:
            return None
        split = options["split"]
        if split not in TASK_SPLITS:
            raise OptionError(
                f"unknown split {split!r}; known are {', '.join(TASK_SPLITS)}."
                + did_you_mean(split, TASK_SPLITS)
            )
        return self.task_at(split, _natural(options["index"], "index"))

    def _why_not_running(self) -> str:
        if self.task is None:
            return "step() was called before reset(): call reset() to start an episode."
        return "step() was called after the episode ended: call reset() to start the next one."


def _natural(value: object, name: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise OptionError(f"option {name!r} must be an integer of at least 0, got {value!r}.")
    return value.__index__()  # type: ignore[no-any-return]
