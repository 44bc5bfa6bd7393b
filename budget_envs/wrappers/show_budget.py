"""`ShowBudget`: tells the agent how much of its budget remains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, Final, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from budget_envs.errors import OptionError, did_you_mean
from budget_envs.wrappers.base import OuterWrapper, has_text

__all__ = ["ShowBudget", "When"]

When = Literal["every_turn", "last_turn", "total_only", "never"]

_WHEN: Final = ("every_turn", "last_turn", "total_only", "never")
_FIELDS: Final = ("resource", "remaining", "limit", "used")
_REMAINING: Final = "{remaining} of {limit} {resource} left"
_TOTAL: Final = "{limit} {resource}"
_NOT_RESOURCES: Final = ("binding", "exhausted")  # keys of info["budget"] beside the resources
_MANY_LINES: Final = 4096  # cached; a run over many limits starts over rather than grow


class ShowBudget(OuterWrapper):
    """Appends the remaining budget to the newest observation.

    To a text it adds a last line, by default ``[Budget: 7 of 8 turns left]``. Of several limited
    resources each is shown and the one with the smallest share left is marked: ``[Budget: 7 of 8
    turns left; 90 of 2000 tokens left (runs out first)]``. The text without the line is in
    ``info["observation"]``.

    To an array or any other observation it adds the share that remains of the resource with the
    smallest share left, in [0, 1], relative to the limits that the budget wrapper was made with,
    so that a smaller budget for one episode shows as a smaller share: one more element of a
    one-dimensional floating-point ``Box``, the key ``"budget"`` (``Box(0, 1, (1,))``) of a
    ``Dict``, and of anything else a ``Dict`` of ``"observation"`` and ``"budget"``.

    Args:
        env: The environment to wrap, with an `InteractionBudget` or `BudgetMix` inside.
        when: ``"every_turn"``; ``"last_turn"``, when one turn is left; ``"total_only"``, the
            limits in the first observation and nothing later; ``"never"``; or a list of
            thresholds, each a number of turns left or ``"half"``, of which each is told once, when
            it is reached. Observations that are not text take ``"every_turn"`` or ``"never"``.
        template: The line for one resource, in place of the default, with any of the fields
            ``{resource}``, ``{remaining}``, ``{limit}`` and ``{used}``; of several resources the
            texts follow one another.

    Raises:
        OptionError: If there is no budget inside, or a keyword is not valid.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        when: When | Sequence[str | int] = "every_turn",
        template: str | None = None,
    ) -> None:
        when = when if isinstance(when, str) else _as_thresholds(when)
        gym.utils.RecordConstructorArgs.__init__(self, when=when, template=template)
        super().__init__(env)
        if isinstance(when, str) and when not in _WHEN:
            raise OptionError(
                f"when must be one of {', '.join(_WHEN)}, or a list of thresholds such as "
                f"['half', 3], got {when!r}." + did_you_mean(when, _WHEN)
            )
        if self._budget_layer is None:
            raise OptionError(
                "ShowBudget has no budget to show: make the environment with budget=, or wrap it "
                "in InteractionBudget first."
            )
        self.when = when
        self.template = _checked_template(template, when)
        # A template is the user's whole line; the default is one part of a line with a frame.
        self._frame, self._separator = ("[Budget: {}]", "; ") if template is None else ("{}", " ")
        self._every_turn = when == "every_turn"
        self._lines: dict[tuple[Any, ...], str] = {}
        self._turns_before = math.inf
        self._is_text = has_text(env.observation_space)
        if not self._is_text:
            self._extend_space(env.observation_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; the first observation says what remains, which is all of it."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._turns_before = math.inf
        if not self._is_text:
            return self.extended(observation, info["budget"]), info
        if self.when == "total_only" or self._is_due(info["budget"]):
            return self._annotated(observation, info)
        return observation, {**info, "observation": observation}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step; the observation says what remains after it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not self._is_text:
            observation = self.extended(observation, info["budget"])
        elif self._every_turn or self._is_due(info["budget"]):
            observation, info = self._annotated(observation, info)
        else:
            info = {**info, "observation": observation}
        return observation, reward, terminated, truncated, info

    # Text.

    def _is_due(self, budget: Mapping[str, Any]) -> bool:
        """Return whether the agent is told now, and note which thresholds were reached."""
        if self._every_turn:
            return True
        if "turns" not in budget or self.when in ("never", "total_only"):
            return False
        left, limit = budget["turns"]["remaining"], budget["turns"]["limit"]
        if self.when == "last_turn":
            return bool(left == 1)
        before, self._turns_before = self._turns_before, left
        points = [limit / 2 if isinstance(point, str) else point for point in self.when]
        return any(left <= point < before for point in points)

    def _annotated(self, text: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        budget = info["budget"]
        if len(budget) == 3:  # one resource, "binding" and "exhausted"
            resource = budget["binding"]
            amounts = budget[resource]
            key = (resource, amounts["used"], amounts["limit"])
            line = self._lines.get(key)
            if line is None:
                line = self._remember(key, self._frame.format(self._part(resource, amounts)))
        else:
            line = self._line_of_many(budget)
        info = info.copy()
        info["observation"] = text
        return (f"{text}\n{line}" if line else text), info

    def _line_of_many(self, budget: Mapping[str, Any]) -> str:
        parts = [
            self._part(name, budget[name])
            + (" (runs out first)" if name == budget["binding"] else "")
            for name in budget
            if name not in _NOT_RESOURCES
        ]
        return self._frame.format(self._separator.join(parts)) if parts else ""

    def _part(self, resource: str, amounts: Mapping[str, Any]) -> str:
        fields = {name: _rounded(amounts[name]) for name in ("remaining", "limit", "used")}
        return self.template.format(resource=resource, **fields)

    def _remember(self, key: tuple[Any, ...], line: str) -> str:
        if len(self._lines) >= _MANY_LINES:
            self._lines.clear()
        self._lines[key] = line
        return line

    # Observations that are not text.

    def _extend_space(self, space: gym.Space[Any]) -> None:
        if self.when not in ("every_turn", "never"):
            raise OptionError(
                f"when={self.when!r} is for text; an observation in {space} is told the share left "
                "on 'every_turn' or 'never'."
            )
        if self.when == "never":
            return
        share = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
        if isinstance(space, gym.spaces.Dict):
            if "budget" in space.spaces:
                raise OptionError(f"the observation has a key 'budget' already: {space}.")
            self.observation_space = gym.spaces.Dict({**space.spaces, "budget": share})
        elif _is_float_vector(space):
            low = np.append(space.low, 0).astype(space.dtype)  # type: ignore[attr-defined]
            high = np.append(space.high, 1).astype(space.dtype)  # type: ignore[attr-defined]
            self.observation_space = gym.spaces.Box(low, high, dtype=space.dtype)  # type: ignore[arg-type]
        else:
            self.observation_space = gym.spaces.Dict({"observation": space, "budget": share})

    def extended(self, observation: Any, budget: Mapping[str, Any]) -> Any:
        """Return an observation that is no text with the share that remains.

        Args:
            observation: What the environment inside gave.
            budget: ``info["budget"]``, or the ledger's own report.
        """
        if self.when == "never":
            return observation
        share = self._share(budget)
        inner_space = self.env.observation_space
        if isinstance(inner_space, gym.spaces.Dict):
            return {**observation, "budget": np.array([share], np.float32)}
        if _is_float_vector(inner_space):
            longer: NDArray[Any] = np.empty(len(observation) + 1, inner_space.dtype)
            longer[:-1] = observation
            longer[-1] = share
            return longer
        return {"observation": observation, "budget": np.array([share], np.float32)}

    def _share(self, budget: Mapping[str, Any]) -> float:
        """Return the smallest share left, relative to the limits before any draw or override."""
        layer = self._budget_layer
        full: Mapping[Any, int] = {} if layer is None else layer.budget.limits()
        shares = [
            amounts["remaining"] / max(amounts["limit"], full.get(name, 0))
            for name, amounts in budget.items()
            if name not in _NOT_RESOURCES
        ]
        return min(shares, default=1.0)

    # State.

    def save(self) -> Mapping[str, Any]:
        """Return which thresholds are still to come."""
        return {"turns_before": self._turns_before}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over the state."""
        self._turns_before = state["turns_before"]


def _as_thresholds(when: Any) -> Any:
    """Return thresholds as a list, or refuse them."""
    if not isinstance(when, list | tuple) or not when:
        raise OptionError(
            f"when must be one of {', '.join(_WHEN)}, or a list of thresholds such as ['half', 3], "
            f"got {when!r}."
        )
    for point in when:
        whole = hasattr(point, "__index__") and not isinstance(point, bool) and point >= 1
        if point != "half" and not whole:
            raise OptionError(
                f"a threshold is 'half' or a number of turns of at least 1, got {point!r}."
            )
    return [point if point == "half" else point.__index__() for point in when]


def _checked_template(template: str | None, when: Any) -> str:
    """Return the template to use, or refuse one that cannot be filled in."""
    if template is None:
        return _TOTAL if when == "total_only" else _REMAINING
    if not isinstance(template, str):
        raise OptionError(f"template must be a text, got {template!r}.")
    known = ", ".join(f"{{{name}}}" for name in _FIELDS)
    try:
        fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
        for field in fields:
            if field not in _FIELDS:
                raise OptionError(
                    f"template has the field {{{field}}}; known are {known}."
                    + did_you_mean(field, _FIELDS)
                )
        template.format(resource="turns", remaining=7, limit=8, used=1)
    except (ValueError, LookupError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(
            f"template {template!r} cannot be filled in ({error}); its fields are {known}, and "
            "braces of its own are doubled."
        ) from error
    return template


def _rounded(amount: float) -> int | float:
    """Return an amount as people write it: whole numbers without a point, others to 0.01."""
    return int(amount) if amount == int(amount) else round(amount, 2)


def _is_float_vector(space: gym.Space[Any]) -> bool:
    return (
        isinstance(space, gym.spaces.Box)
        and len(space.shape) == 1
        and np.issubdtype(space.dtype, np.floating)
    )
