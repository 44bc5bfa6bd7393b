"""Infos of N copies in the form that Gymnasium's vector environments give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["vector_info"]


def vector_info(columns: Mapping[str, Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what ``gymnasium.vector.VectorEnv._add_info`` makes of the masked copies' infos.

    Args:
        columns: Key to values: an ``(N,)`` array, of which the masked entries count; an ``(M,)``
            array with one entry for each masked copy; or a ``dict`` of such for a nested info.
            Arrays are handed on, so give fresh ones.
        mask: ``(N,) bool``, the ``M`` copies that have these keys.

    Returns:
        Each key with its values, zero or ``None`` where a copy lacks it, and a fresh mask under
        ``_key``. Empty if the mask is.
    """
    count = np.count_nonzero(mask)
    if not count:
        return {}
    copies = None if count == len(mask) else np.flatnonzero(mask)
    info: dict[str, Any] = {}
    for key, values in columns.items():
        if isinstance(values, dict):
            info[key] = vector_info(values, mask)
        elif copies is None:
            info[key] = values
        else:
            info[key] = blank = _blank(len(mask), values.dtype)
            blank[copies] = values[copies] if len(values) == len(mask) else values
        info[f"_{key}"] = mask.copy()
    return info


def _blank(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of zeros, or of ``None`` (which is what NumPy puts into empty objects)."""
    return np.empty(length, dtype) if dtype.hasobject else np.zeros(length, dtype)
