"""`DeepCoderMTEnv`: multi-turn code generation."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from budget_envs.envs.deepcoder_mt.feedback import (
    first_observation,
    no_program_observation,
    verdict_observation,
)
from budget_envs.envs.deepcoder_mt.program import read_program, write_program
from budget_envs.envs.deepcoder_mt.sources import DatasetTasks, SyntheticTasks, TaskSource
from budget_envs.errors import EnvStateError, OptionError, did_you_mean
from budget_envs.judging import Judgement, UnitTestJudge
from budget_envs.sandbox import TIERS, SandboxLost
from budget_envs.sandbox.shared import shared_sandbox
from budget_envs.tasks import CodeTask, synthetic_code
from budget_envs.text_env import TASK_SPLITS, StepResult, TextEnv, Verdict

__all__ = ["DeepCoderMTEnv"]

_EXAMPLES: Final = (
    write_program("def solve(*arguments):\n    return arguments[0]"),
    write_program("print(input())"),
)
_LEVELS: Final = (1, 2, 3)
_REMEMBERED: Final = 64  # judgements kept
_LEAST_S, _MOST_S = 0.01, 3600  # in less no program even starts


class DeepCoderMTEnv(TextEnv[CodeTask]):
    """Write a program that passes hidden tests; after each attempt, see why it fails.

    **Observation Space**
    Text. The first observation holds the problem, later ones how many public tests the last
    attempt passed and at most two that it failed: input, expected, got and error, each cut visibly
    to 300 characters.

    **Action Space**
    Text holding one program, read by `budget_envs.envs.deepcoder_mt.read_program`: the last closed
    fenced block of Python. A text without one costs the turn.

    **Starting State**
    A task of the dataset and no program.

    **Transitions**
    Each program runs in a sandbox on all tests. Printed and returned values leave it as plain data
    and are compared outside: integers exactly, other numbers within 1e-6, blanks at line ends
    ignored. A program that ends with an error is wrong, whatever it printed. One that runs out of
    time on two tests is not run on the others. Judgements are remembered, so that a program that
    comes again, or that an oracle has judged before the step, runs once.

    **Rewards**
    1 when all hidden tests pass, else 0.

    **Episode End**
    Terminates when all hidden tests pass. Void, with reward NaN, if the sandbox fails.

    **Budget**
    One turn is one program. ``default_turns`` is 10.

    **Oracle**
    `budget_envs.oracles.unit_tests.UnitTestOracle`, exact: the share of hidden tests passed.

    **Information**
    Beside what `TextEnv` promises: ``public_passed`` and ``public_total`` (int), of this turn's
    program; nothing of the hidden tests. ``state_key`` is a hash of the task and the last program.

    **Arguments**
    Args:
        dataset: ``"deepcoder_synthetic"``, the embedded generator, or a dataset of the registry
            (`budget_envs.tasks.datasets`): ``"humaneval"``, ``"mbpp"``,
            ``"deepcoder_codeforces"``, ``"code_contests"``, ...
        data_path: File or folder to read the dataset from, instead of the registry's sources.
        levels: Difficulties, 1 to 5, of the embedded set.
        kind: ``"functional"`` or ``"stdin"`` tasks of the embedded set.
        split: Draw tasks of ``"train"``, ``"validation"`` or ``"test"`` only.
        include_excluded: Also use tasks that a dataset leaves out by default.
        sandbox: ``"process"``, ``"bubblewrap"``, ``"docker"``, or ``"auto"`` for the strongest one
            that works here. Missing isolation is an error, never a weaker sandbox.
        time_limit_s: Seconds for one test, 0.01 to 3600; ``None`` takes each task's own limit.
        render_mode: ``"ansi"`` or ``"human"``.

    **Version History**
    * v0: first version.

    References:
        Luo et al., 2025, "DeepCoder" (tasks and reward); Zhu et al., 2026, "What Does Multi-Turn
        Reinforcement Learning Really Improve in LLM Agents?" (the multi-turn form).
    """

    default_turns: ClassVar[int] = 10

    def __init__(
        self,
        *,
        dataset: str = synthetic_code.DATASET,
        data_path: str | None = None,
        levels: Sequence[int] = _LEVELS,
        kind: synthetic_code.Kind = "functional",
        split: str | None = None,
        include_excluded: bool = False,
        sandbox: str = "auto",
        time_limit_s: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(action_examples=_EXAMPLES, render_mode=render_mode)
        self.sandbox = _one_of("sandbox", sandbox, ("auto", *TIERS))
        self.time_limit_s = _seconds(time_limit_s)
        if split is not None:
            _one_of("split", split, TASK_SPLITS)
        self.source: TaskSource
        _check_names(dataset, data_path)
        if dataset == synthetic_code.DATASET:
            _refuse(dataset, data_path=data_path, include_excluded=include_excluded)
            self.source = SyntheticTasks(levels, kind, split)
        else:
            own_levels = None if levels in (_LEVELS, list(_LEVELS)) else levels
            _refuse(dataset, levels=own_levels, kind="" if kind == "functional" else kind)
            self.source = DatasetTasks(dataset, data_path, split, include_excluded)
        self.program: str | None = None
        self._judgements: OrderedDict[tuple[str, str], Judgement] = OrderedDict()
        self._loss: tuple[tuple[str, str], SandboxLost] | None = None

    @property
    def dataset_checksums(self) -> Mapping[str, str]:
        """File to SHA-256 of the dataset; empty for generated tasks."""
        return self.source.checksums

    # Tasks.

    def draw_task(self, key: int) -> CodeTask:
        """Return the task that the key picks."""
        return self.source.draw(key)

    def load_task(self, task_id: str) -> CodeTask:
        """Return the task of an id."""
        return self.source.load(task_id)

    def task_at(self, split: str, index: int) -> CodeTask:
        """Return task ``index`` of a split."""
        return self.source.at(split, index)

    def name_task(self, task: CodeTask) -> str:
        """Return the task's id."""
        return task.task_id

    # Attempts.

    def begin(self, task: CodeTask) -> tuple[str, dict[str, Any]]:
        """Show the problem."""
        self.program = self._loss = None
        return first_observation(task), {"public_passed": 0, "public_total": len(task.public)}

    def act(self, action: str) -> StepResult:
        """Judge the program of an action."""
        task = self._task()
        info = {"invalid_action": False, "public_passed": 0, "public_total": len(task.public)}
        program = read_program(action)
        if program is None:
            return no_program_observation(), 0.0, None, {**info, "invalid_action": True}
        self.program = program
        try:
            judgement = self.judge(program)
        except SandboxLost as error:
            return f"The program could not be judged: {error}", 0.0, "void", info
        info["public_passed"] = sum(outcome.passed for outcome in judgement.public)
        verdict: Verdict | None = "pass" if judgement.is_success else None
        observation = verdict_observation(task, judgement)
        return observation, float(judgement.is_success), verdict, info

    def judge(self, program: str) -> Judgement:
        """Judge a program on the current task, without taking a turn.

        What was judged before is remembered, a sandbox that was lost over it until the next
        reset: the step that follows an oracle's question gets the oracle's answer.

        Args:
            program: Any text.

        Raises:
            SandboxLost: If the sandbox failed.
            SandboxUnavailable: If the isolation asked for is missing here.
        """
        task = self._task()
        key = (task.task_id, program)
        if self._loss is not None and self._loss[0] == key:
            raise self._loss[1]
        if key not in self._judgements:
            self._judgements[key] = self._judge_anew(key, task)
        self._judgements.move_to_end(key)
        if len(self._judgements) > _REMEMBERED:
            self._judgements.popitem(last=False)
        return self._judgements[key]

    def _judge_anew(self, key: tuple[str, str], task: CodeTask) -> Judgement:
        judge = UnitTestJudge(shared_sandbox(self.sandbox), self.time_limit_s)
        try:
            return judge.judge(task, key[1])
        except SandboxLost as error:
            self._loss = (key, error)
            raise

    def _task(self) -> CodeTask:
        if self.task is None:
            raise EnvStateError("there is no task before reset(): call reset() first.")
        return self.task

    # State.

    @property
    def state_key(self) -> str:
        """Hash of the task and the last program."""
        text = f"{self._task_id}\x00{self.program or ''}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def save(self) -> Mapping[str, Any]:
        """Return the last program."""
        return {"program": self.program}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the last program."""
        self.program = state["program"]
        self._loss = None

    def describe(self) -> str:
        """Return the task's id and the last program."""
        text = f"{self._task_id}\n\n{self.program or '(no program yet)'}"
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise OptionError(
            f"{name} must be one of {', '.join(known)}, got {value!r}." + did_you_mean(value, known)
        )
    return value


def _check_names(dataset: object, data_path: object) -> None:
    if not isinstance(dataset, str):
        raise OptionError(f"dataset must be the name of one, got {dataset!r}.")
    if data_path is not None and not isinstance(data_path, str | os.PathLike):
        raise OptionError(f"data_path must be a file or folder, got {data_path!r}.")


def _refuse(dataset: str, **settings: object) -> None:
    """Refuse settings that would have no effect."""
    for name, value in settings.items():
        if value:
            raise OptionError(f"dataset {dataset!r} has no {name}: leave {name}={value!r} out.")


def _seconds(value: float | None) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not _LEAST_S <= value <= _MOST_S:
        raise OptionError(
            f"time_limit_s must be a number of seconds from {_LEAST_S} to {_MOST_S}, got {value!r}."
        )
    return float(value)
