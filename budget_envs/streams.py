"""Counter-based random streams: any draw of any episode is a pure function of integers.

A draw is ``SplitMix64(key + counter)`` (Steele, Lea and Flood, 2014, "Fast splittable
pseudorandom number generators"). Nothing is advanced, so a snapshot of a stream is its counter,
rollouts get their own stream by deriving a key, and a vector environment draws for thousands of
copies in one NumPy expression and still gets the bits that the scalar environment gets.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["derive_key", "derive_keys", "text_key", "uniform", "uniforms"]

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_GOLDEN: Final = 0x9E37_79B9_7F4A_7C15
_MIX_1: Final = 0xBF58_476D_1CE4_E5B9
_MIX_2: Final = 0x94D0_49BB_1331_11EB
_FORK: Final = 0xD1B5_4A32_D192_ED03  # odd, unrelated to _GOLDEN: children are no later draws
_TO_UNIT: Final = 2.0**-53
_GOLDEN_U64: Final = np.uint64(_GOLDEN)
_MIX_1_U64: Final = np.uint64(_MIX_1)
_MIX_2_U64: Final = np.uint64(_MIX_2)
_SHIFT_1: Final = np.uint64(30)
_SHIFT_2: Final = np.uint64(27)
_SHIFT_3: Final = np.uint64(31)
_SHIFT_UNIT: Final = np.uint64(11)
_ONE: Final = np.uint64(1)


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return z ^ (z >> 31)


def derive_key(key: int, *path: int) -> int:
    """Derive an independent 64-bit key, e.g. ``derive_key(episode_key, DYNAMICS, rollout)``.

    Args:
        key: Parent key; any integer, taken modulo 2**64.
        *path: Integers that name the child; different paths give unrelated keys.

    Returns:
        A key in [0, 2**64).
    """
    key &= _MASK
    for part in path:
        key = _mix(key ^ (((part + 1) * _FORK) & _MASK))
    return key


def derive_keys(keys: NDArray[np.uint64], *path: int) -> NDArray[np.uint64]:
    """Derive many keys at once: element for element equal to :func:`derive_key`.

    Args:
        keys: ``uint64``, any shape.
        *path: As in :func:`derive_key`.

    Returns:
        ``uint64``, the shape of ``keys``.
    """
    for part in path:
        keys = _mix_array(keys ^ np.uint64(((part + 1) * _FORK) & _MASK))
    return keys


def text_key(text: str) -> int:
    """Return a 64-bit key of a text, equal in every process (unlike the builtin ``hash``)."""
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "big")


def uniform(key: int, counter: int) -> float:
    """Draw number ``counter`` of the stream ``key``: a float in [0, 1) with 53 random bits."""
    return (_mix((key + (counter + 1) * _GOLDEN) & _MASK) >> 11) * _TO_UNIT


def uniforms(
    keys: NDArray[np.uint64] | np.uint64, counters: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Draw many numbers at once: element for element equal to :func:`uniform`.

    Args:
        keys: ``uint64``, any shape that broadcasts with ``counters``.
        counters: ``uint64``.

    Returns:
        ``float64`` in [0, 1), of the broadcast shape.
    """
    z = _mix_array(keys + (counters + _ONE) * _GOLDEN_U64)
    z >>= _SHIFT_UNIT
    return np.multiply(z, _TO_UNIT, dtype=np.float64)


def _mix_array(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z ^= z >> _SHIFT_1
    z *= _MIX_1_U64
    z ^= z >> _SHIFT_2
    z *= _MIX_2_U64
    z ^= z >> _SHIFT_3
    return z
