"""`Settings` of an evaluation: from a TOML file, from flags, and back into TOML."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from budget_envs.errors import DataError, OptionError, did_you_mean, require
from budget_envs.text_env import TASK_SPLITS

__all__ = ["PolicyChoice", "Settings"]


_MAX_DIGITS: Final = 20  # of a number in a text; no setting is near it


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy by name, with its settings.

    Attributes:
        name: Name, or ``module:Class``.
        settings: Keywords of its class.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any) -> Self:
        """Read ``"name"``, ``'name={"key": value}'``, or a mapping with a name and settings.

        Raises:
            OptionError: If it is none of these.
        """
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            return cls(value["name"], {k: v for k, v in value.items() if k != "name"})
        if not isinstance(value, str) or not value:
            raise OptionError(f"a policy is a name, or a table with a name, got {value!r}.")
        name, equals, settings = value.partition("=")
        return cls(name, _json_object(value, settings) if equals else {})

    def plain(self) -> str | dict[str, Any]:
        """Return what :meth:`of` reads."""
        return {"name": self.name, **self.settings} if self.settings else self.name


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``budget-envs evaluate`` plays. Names are those of the flags, and of the TOML keys.

    Attributes:
        id: The environment.
        policy: The policies, one run each.
        budgets: Turn budgets: integers, or shares such as ``"25%"`` of the id's own.
        k: The K of the depth curve Pass@(K,T).
        rollouts: Rollouts of each task.
        tasks: Number of tasks, or task ids.
        split: Split that the tasks are from.
        protocol: ``"truncate"`` or ``"rerun"``.
        seed: Base seed.
        database: File of the results.
        workers: Number of processes, or ``"ray"``.
        set: Keywords of the environment.
    """

    id: str
    policy: tuple[PolicyChoice, ...]
    budgets: tuple[int | str, ...] = ("25%", "50%", "75%", "100%")
    k: int = 8
    rollouts: int = 16
    tasks: int | tuple[str, ...] = 50
    split: str = "test"
    protocol: str = "rerun"
    seed: int = 0
    database: str = "runs/results.sqlite"
    workers: int | str = 1
    set: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def merge(cls, file: Path | None, flags: Mapping[str, Any]) -> Self:
        """Return the settings of a file with those of the flags on top.

        Args:
            file: A TOML file; ``None`` for none.
            flags: What was given on the command line; what is ``None`` was not. ``set`` replaces
                single keywords, everything else whole values. ``rollouts`` is 2K by default.

        Raises:
            OptionError: If a key is unknown, a value is of the wrong type, or no environment or no
                policy is given.
            DataError: If the file cannot be read.
        """
        given = {} if file is None else _read_toml(file)
        typed = {name: _READERS[name](name, v) for name, v in flags.items() if v is not None}
        merged = {**given, **typed, "set": {**given.get("set", {}), **typed.get("set", {})}}
        for name, what in (("id", "an environment"), ("policy", "a policy, --policy NAME")):
            if not merged.get(name):
                raise OptionError(f"evaluate needs {what}, here or in the file of --settings.")
        merged.setdefault("rollouts", 2 * merged.get("k", 8))
        return cls(**merged)

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain values, in the form that a file has them."""
        values = dataclasses.asdict(self)
        values["policy"] = [choice.plain() for choice in self.policy]
        return values

    def to_toml(self) -> str:
        """Return a file that :meth:`merge` reads back.

        Keywords of the environment with a ``null`` in them have no form in TOML: a comment says
        how to give them.
        """
        values = self.plain()
        nulls = [key for key, value in self.set.items() if "null" in json.dumps(value)]
        values["set"] = {key: value for key, value in self.set.items() if key not in nulls}
        text: str = require("tomli_w", "eval").dumps(_as_lists(values))
        notes = [f"# not in TOML: --set {key}={json.dumps(self.set[key])}\n" for key in nulls]
        return "".join([*notes, text])


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read settings from {str(file)!r}: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"settings {str(file)!r} are no TOML: {error}.") from error
    for key in given:
        if key not in _READERS:
            raise OptionError(
                f"unknown key {key!r} in {str(file)!r}; known are {', '.join(_READERS)}."
                + did_you_mean(key, _READERS)
            )
    return {key: _READERS[key](key, value) for key, value in given.items()}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise OptionError(f"{name} must be a text, got {value!r}.")
    return value


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"{name} must be an integer, got {value!r}.")
    return value


def _policies(name: str, value: Any) -> tuple[PolicyChoice, ...]:
    return tuple(PolicyChoice.of(one) for one in (value if isinstance(value, list) else [value]))


def _budgets(name: str, value: Any) -> tuple[int | str, ...]:
    """Read a list, or what a flag has: ``2,4,8`` or ``25%,100%``."""
    values = value if isinstance(value, list) else [value]
    parts = [part for one in values for part in (one.split(",") if isinstance(one, str) else [one])]
    return tuple(_budget(part) for part in parts)


def _budget(part: Any) -> int | str:
    text = part.strip() if isinstance(part, str) else part
    return _whole(text) if isinstance(text, str) else text


def _whole(text: str) -> int | str:
    """Return digits as a number, and any other text as it is: also digits that no limit has."""
    is_digits = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_digits else text


def _tasks(name: str, value: Any) -> int | tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text("a task id", task) for task in value)
    return _integer(name, value)


def _split(name: str, value: Any) -> str:
    if value not in TASK_SPLITS:
        raise OptionError(
            f"split must be one of {', '.join(TASK_SPLITS)}, got {value!r}."
            + did_you_mean(value, TASK_SPLITS)
        )
    return str(value)


def _workers(name: str, value: Any) -> int | str:
    if value == "ray":
        return "ray"
    count = _whole(value) if isinstance(value, str) else value
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"{name} must be a positive integer or 'ray', got {value!r:.80}.")
    return count


def _keywords(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise OptionError(f"{name} must be a table of the environment's keywords, got {value!r}.")
    return dict(value)


_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "id": _text,
    "policy": _policies,
    "budgets": _budgets,
    "k": _integer,
    "rollouts": _integer,
    "tasks": _tasks,
    "split": _split,
    "protocol": _text,
    "seed": _integer,
    "database": _text,
    "workers": _workers,
    "set": _keywords,
}


def _json_object(whole: str, text: str) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise OptionError(f"policy {whole!r}: its settings must be JSON: {error}.") from error
    if not isinstance(settings, dict):
        raise OptionError(f'policy {whole!r}: settings are an object, as in name={{"key": 1}}.')
    return settings


def _as_lists(value: Any) -> Any:
    """Return a value with lists for tuples, as TOML is written from them."""
    if isinstance(value, Mapping):
        return {key: _as_lists(inner) for key, inner in value.items()}
    return [_as_lists(inner) for inner in value] if isinstance(value, list | tuple) else value
