"""`Snapshot`: the whole state of a stack of environment and wrappers, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from budget_envs.errors import SnapshotError

__all__ = ["Snapshot", "inner_snapshot", "restore_inner"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one layer, and the snapshot of the layer that it wraps.

    Snapshots are picklable, hold no reference to a living environment, and may be restored any
    number of times, also into another environment of the same make.

    Attributes:
        layer: Class name of the environment or wrapper that made it.
        state: That layer's own state: values that nobody mutates.
        inner: The wrapped layer's snapshot; ``None`` for the environment itself.
    """

    layer: str
    state: Mapping[str, Any]
    inner: Snapshot | None = None

    def check_layer(self, layer: str) -> None:
        """Refuse a snapshot that another kind of layer made.

        Raises:
            SnapshotError: If ``layer`` is not the maker of this snapshot.
        """
        if self.layer != layer:
            raise SnapshotError(
                f"expected a snapshot of {layer}, got one of {self.layer}: restore snapshots into "
                "an environment made by the same gym.make call."
            )


def inner_snapshot(env: gym.Env[Any, Any]) -> Snapshot:
    """Return the snapshot of a wrapped environment, looking past wrappers of other packages.

    Raises:
        SnapshotError: If the environment has no ``snapshot`` method.
    """
    return _method(env, "snapshot")()  # type: ignore[no-any-return]


def restore_inner(env: gym.Env[Any, Any], snapshot: Snapshot | None) -> None:
    """Restore a wrapped environment, looking past wrappers of other packages.

    Raises:
        SnapshotError: If the environment has no ``restore`` method.
    """
    _method(env, "restore")(snapshot)


def _method(env: gym.Env[Any, Any], name: str) -> Any:
    try:
        return env.get_wrapper_attr(name)
    except AttributeError:
        raise SnapshotError(
            f"{env.unwrapped} has no {name}(): only environments with snapshot() and restore(), "
            "as budget_envs.TextEnv has them, can be saved and restored."
        ) from None
