"""`BudgetEnvsWrapper` and `OuterWrapper`: what the wrappers of the suite have in common."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym

from budget_envs.budget import Ledger
from budget_envs.errors import OptionError
from budget_envs.snapshot import Snapshot, inner_snapshot, restore_inner
from budget_envs.spaces import TextSpace

if TYPE_CHECKING:
    from budget_envs.wrappers.interaction_budget import InteractionBudget

__all__ = ["BudgetEnvsWrapper", "OuterWrapper", "copied", "has_text", "layers"]

_IMMUTABLE = (str, int, float, bool, type(None))


class BudgetEnvsWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """A wrapper that can be saved, restored and rebuilt from its spec.

    A subclass records its keywords first, in the form that JSON stores, and overrides
    :meth:`save` and :meth:`load` if it has state of its own.

    Attributes:
        reads_budget: Whether what this layer does depends on the remaining budget, so that a budget
            belongs inside it.

    Args:
        env: The environment to wrap.
    """

    reads_budget: ClassVar[bool] = False

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.Wrapper.__init__(self, env)
        self._budget_layer = _budget_layer(env)

    def save(self) -> Mapping[str, Any]:
        """Return this layer's own state as values that nobody mutates."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`save` returned."""

    def snapshot(self) -> Snapshot:
        """Return the whole state of this layer and those inside it.

        Raises:
            SnapshotError: If the environment inside cannot be saved.
        """
        return Snapshot(type(self).__name__, self.save(), inner_snapshot(self.env))

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot: from here the same actions give the same bytes.

        Raises:
            SnapshotError: If another kind of layer made the snapshot, or the environment inside
                cannot be restored.
        """
        snapshot.check_layer(type(self).__name__)
        restore_inner(self.env, snapshot.inner)
        self.load(snapshot.state)


class OuterWrapper(BudgetEnvsWrapper):
    """A wrapper that may have a budget inside, and hands its ledger and its charges on."""

    @property
    def ledger(self) -> Ledger:
        """What the current episode has used: the ledger of the nearest budget wrapper.

        Raises:
            AttributeError: If there is no budget wrapper.
        """
        if self._budget_layer is None:
            raise AttributeError(f"{self} holds no InteractionBudget, so it has no ledger.")
        return self._budget_layer.ledger

    def charge(self, **amounts: float) -> None:
        """Charge what a step cannot see: see `InteractionBudget.charge`.

        Raises:
            OptionError: If there is no budget wrapper.
        """
        if self._budget_layer is None:
            raise OptionError(
                f"{self} holds no InteractionBudget to charge: make the environment with budget=, "
                "or wrap it in InteractionBudget first."
            )
        self._budget_layer.charge(**amounts)


def layers(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    """Iterate over an environment's wrappers from the outside in, the environment itself last."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def has_text(space: gym.Space[Any]) -> bool:
    """Return whether the members of a space are strings."""
    return isinstance(space, TextSpace | gym.spaces.Text)


def copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an info that shares nothing mutable with it."""
    return {
        key: value if isinstance(value, _IMMUTABLE) else copy.deepcopy(value)
        for key, value in values.items()
    }


def _budget_layer(env: gym.Env[Any, Any]) -> InteractionBudget | None:
    for layer in layers(env):
        if isinstance(layer, BudgetEnvsWrapper):
            return layer._budget_layer
    return None
