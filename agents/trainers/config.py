"""Settings of a training run as dataclasses: from TOML, and back into TOML beside the results.

Every table of a settings file is one dataclass, and every key one of its fields. A value of the
wrong type and an unknown key are refused with the name of the key; nothing is converted silently.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from budget_envs.agents.trainers.losses import Normalisation
from budget_envs.errors import DataError, OptionError, did_you_mean, require

__all__ = [
    "Arm",
    "BudgetSettings",
    "EnvSettings",
    "HeldOutSettings",
    "LossSettings",
    "OptimizerSettings",
    "RLSettings",
    "RolloutSettings",
    "TrainSettings",
    "as_toml",
    "from_mapping",
    "read_toml",
]

Arm = Literal["budget_mix", "full", "full_shown", "fixed", "turn_matched"]
SettingsT = TypeVar("SettingsT")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSettings:
    """What is played.

    Attributes:
        id: The environment.
        set: Keywords for ``gym.make``; a ``budget`` among them gives T_max.
        split: Split that the tasks are from.
        tasks: How many tasks of the split are used, from its first on. Each step visits the next
            ones of a shuffled order, which is drawn anew when all were visited.
    """

    id: str
    set: Mapping[str, Any] = field(default_factory=dict)
    split: str = "train"
    tasks: int = 1000

    def __post_init__(self) -> None:
        check_range("tasks", self.tasks, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """Which turn budget each group of rollouts gets.

    Attributes:
        arm: ``"budget_mix"``: drawn from the 10 % steps of T_max, told to the agent.
            ``"full"``: always T_max, not told. ``"full_shown"``: always T_max, told.
            ``"fixed"``: always ``fixed_turns``, told. ``"turn_matched"``: as ``"full"``, with
            fewer groups, so that a step has at most as many turns as one of ``"budget_mix"`` has
            in the mean. Where ``env.set`` says ``show_budget``, that holds in every arm.
        fixed_turns: T of ``"fixed"``.
    """

    arm: Arm = "full"
    fixed_turns: int | None = None

    def __post_init__(self) -> None:
        if (self.arm == "fixed") != (self.fixed_turns is not None):
            raise OptionError("arm='fixed' and fixed_turns go together: give both or neither.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """How many episodes a step plays, and how actions are sampled.

    Attributes:
        groups: Groups of a step; each has one task and one budget.
        group_size: Rollouts G of a group.
        temperature: Of sampling, above 0; the losses use the same.
        max_tokens_per_turn: Most tokens of one action.
        batch_size: Episodes in progress at once; ``None`` for all of a step.
    """

    groups: int = 16
    group_size: int = 8
    temperature: float = 1.0
    max_tokens_per_turn: int = 32
    batch_size: int | None = None

    def __post_init__(self) -> None:
        for name in ("groups", "group_size", "max_tokens_per_turn"):
            check_range(name, getattr(self, name), 1)
        check_range("temperature", self.temperature, 1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerSettings:
    """AdamW, its schedule, and how a batch is cut.

    Attributes:
        learning_rate: After the warm-up.
        warmup_steps: Optimiser updates in which the rate rises linearly from 0.
        decay: Share in [0, 1] of the rate that is lost linearly until the last step: 1 ends at 0.
        betas: Of Adam.
        weight_decay: Of AdamW.
        max_grad_norm: Gradients are scaled down to this norm.
        tokens_per_pass: Most tokens, padding included, in one forward pass. It changes memory and
            speed, not gradients, which are accumulated.
    """

    learning_rate: float = 1e-3
    warmup_steps: int = 10
    decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    tokens_per_pass: int = 8192

    def __post_init__(self) -> None:
        check_range("learning_rate", self.learning_rate, 0)
        check_range("decay", self.decay, 0, 1)
        check_range("tokens_per_pass", self.tokens_per_pass, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """The clipped policy loss and what is added to it.

    Attributes:
        clip_low: See `budget_envs.agents.trainers.losses.policy_loss`.
        clip_high: See there.
        dual_clip: See there.
        normalisation: See `budget_envs.agents.trainers.losses.token_weights`.
        constant: Length of ``normalisation="constant"``.
        kl_coef: Weight of the k3 estimate of KL(policy || initial model); 0 keeps no copy of it.
        entropy_coef: Weight of the entropy, which is maximised.
        epochs: Passes over each batch of rollouts.
        minibatches: Optimiser updates in each pass, each on a part of the trajectories.
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    normalisation: Normalisation = "token"
    constant: int | None = None
    kl_coef: float = 0.0
    entropy_coef: float = 0.0
    epochs: int = 1
    minibatches: int = 1

    def __post_init__(self) -> None:
        check_range("epochs", self.epochs, 1)
        check_range("minibatches", self.minibatches, 1)
        if (self.normalisation == "constant") != (self.constant is not None):
            raise OptionError("normalisation='constant' and constant go together.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutSettings:
    """What is measured during training, and never trained on.

    Attributes:
        every: Steps between two measurements; 0 for none. There is one before the first step and
            one after the last.
        split: Split of the held-out tasks.
        tasks: Their number.
        rollouts: Episodes of each.
        temperature: Of sampling; 0 is greedy.
    """

    every: int = 10
    split: str = "validation"
    tasks: int = 64
    rollouts: int = 1
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_range("every", self.every, 0)
        check_range("tasks", self.tasks, 1)
        check_range("rollouts", self.rollouts, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """What every trainer takes.

    Attributes:
        folder: Where the run is kept: settings, log, checkpoints, the final model.
        model: Model to start from: a Hugging Face folder, GGUF file or hub name.
        env: What is played.
        num_steps: Training steps.
        seed: Of everything random.
        optimizer: AdamW and its schedule.
        held_out: What is measured on the side.
        save_every: Steps between two checkpoints, from which a stopped run goes on.
        keep_checkpoints: The newest so many are kept.
        tensorboard: Also write TensorBoard's event files.
    """

    folder: str
    model: str
    env: EnvSettings
    num_steps: int
    seed: int = 0
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    held_out: HeldOutSettings = field(default_factory=HeldOutSettings)
    save_every: int = 50
    keep_checkpoints: int = 2
    tensorboard: bool = False

    def __post_init__(self) -> None:
        for name in ("num_steps", "save_every", "keep_checkpoints"):
            check_range(name, getattr(self, name), 1)
        check_range("seed", self.seed, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RLSettings(TrainSettings):
    """What the trainers that learn from their own rollouts take as well.

    Attributes:
        rollouts: How many episodes a step plays.
        budget: Which turn budgets they have.
        loss: The policy loss.
        oracle_reward: Learn from the oracle's value of each action instead of the outcome.
    """

    rollouts: RolloutSettings = field(default_factory=RolloutSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    oracle_reward: bool = False


def read_toml(
    kind: type[SettingsT], file: Path | None, changes: Mapping[str, Any] | None = None
) -> SettingsT:
    """Read a settings file.

    Args:
        kind: The dataclass.
        file: The file; ``None`` for none.
        changes: Values in place of those of the file; ``"optimizer.learning_rate"`` is a key of a
            table.

    Raises:
        DataError: If the file cannot be read.
        OptionError: If a key is unknown or missing, or a value not valid.
    """
    given = {} if file is None else _tables(file)
    for path, value in (changes or {}).items():
        *tables, key = path.split(".")
        table = given
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise OptionError(f"setting {path!r}: {name!r} is no table.")
        table[key] = value
    return from_mapping(kind, given)


def _tables(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read settings from {str(file)!r}: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"settings {str(file)!r} are no TOML: {error}.") from error


def as_toml(settings: Any) -> str:
    """Return settings as a file that :func:`read_toml` reads back; what is ``None`` is left out."""
    text: str = require("tomli_w", "eval").dumps(_plain(dataclasses.asdict(settings)))
    return text


def from_mapping(kind: type[SettingsT], given: Mapping[str, Any], where: str = "") -> SettingsT:
    """Make a dataclass of plain values, tables as mappings.

    Args:
        kind: The dataclass.
        given: Values by field.
        where: Name of the table that the values are from, for messages.

    Raises:
        OptionError: If a key is unknown or missing, or a value not valid.
    """
    hints = get_type_hints(kind)
    known = {entry.name: entry for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in given:
        if key not in known:
            raise OptionError(
                f"unknown setting {where + key!r}; known are {', '.join(known)}."
                + did_you_mean(key, known)
            )
    for name, entry in known.items():
        has_default = entry.default is not dataclasses.MISSING
        if name not in given and not has_default and entry.default_factory is dataclasses.MISSING:
            raise OptionError(f"the settings lack {where + name!r}.")
    read = {key: _value(hints[key], value, where + key) for key, value in given.items()}
    return kind(**read)


def check_range(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Refuse a setting outside a range.

    Raises:
        OptionError: If it is.
    """
    if not low <= value <= high:
        bound = f"in [{low}, {high}]" if high < math.inf else f"at least {low}"
        raise OptionError(f"setting {name!r} must be {bound}, got {value!r}.")


def _value(kind: Any, value: Any, name: str) -> Any:
    """Return a value as a type that occurs in the dataclasses above, or refuse it."""
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return from_mapping(kind, value, f"{name}.")  # type: ignore[arg-type]
    origin = get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _value(next(k for k in get_args(kind) if k is not types.NoneType), value, name)
    if origin is Literal:
        if value in get_args(kind):
            return value
        known = get_args(kind)
        raise OptionError(
            f"setting {name!r} must be one of {', '.join(known)}, got {value!r}."
            + did_you_mean(value, known)
        )
    if origin is tuple and isinstance(value, list | tuple):
        inner = get_args(kind)
        inner = (inner[0],) * len(value) if inner[-1] is ... else inner
        if len(inner) == len(value):
            return tuple(_value(k, v, name) for k, v in zip(inner, value, strict=True))
    wanted = Mapping if origin is not None and issubclass(origin, Mapping) else kind
    is_number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if is_number:
        return float(value)
    if isinstance(wanted, type) and isinstance(value, wanted) and type(value) is not bool:
        return value
    if kind is bool and isinstance(value, bool):
        return value
    shown = getattr(wanted, "__name__", str(wanted))
    raise OptionError(f"setting {name!r} must be of type {shown}, got {value!r}.")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
