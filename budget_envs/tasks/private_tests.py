"""LiveCodeBench's private tests: JSON, or JSON inside a pickle inside zlib inside base64.

A pickle can run any code when it is loaded. These hold one piece of text, so the unpickler here
builds plain values only and refuses every name that a pickle asks to import.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import zlib
from typing import Any

from budget_envs.errors import TaskDataInvalid

__all__ = ["decode_tests"]

_MAX_BYTES = 1 << 30  # far more than the tests of one problem


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Refuse to import anything."""
        raise TaskDataInvalid(
            f"Packed tests may hold text, lists and dicts only; this pickle asks for "
            f"{module}.{name}. Do not use this file: loading it elsewhere may run its code."
        )

    def persistent_load(self, pid: Any) -> Any:
        """Refuse references to the outside."""
        raise TaskDataInvalid(f"Packed tests hold no outside references; this one has {pid!r}.")


def decode_tests(text: str) -> Any:
    """Decode a field of tests.

    Args:
        text: JSON, or base64 of zlib of a pickle of JSON text or of lists and dicts.

    Returns:
        Lists, dicts, text, numbers, booleans and ``None``.

    Raises:
        TaskDataInvalid: If the text is neither, holds another type, or asks to run code.
    """
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        value = _PlainUnpickler(io.BytesIO(_inflate(base64.b64decode(text, validate=True)))).load()
        decoded = json.loads(value) if isinstance(value, str) else value
    except TaskDataInvalid:
        raise
    except (binascii.Error, zlib.error, pickle.UnpicklingError, EOFError) as error:
        raise _unreadable(text, error) from error
    except (ValueError, LookupError, TypeError, AttributeError, MemoryError) as error:
        raise _unreadable(text, error) from error  # what a damaged pickle raises as well
    _check_plain(decoded)
    return decoded


def _unreadable(text: str, error: Exception) -> TaskDataInvalid:
    return TaskDataInvalid(
        f"Tests are JSON, or JSON packed as LiveCodeBench does; got {text[:60]!r}: {error}."
    )


def _inflate(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    content = stream.decompress(packed, _MAX_BYTES)
    if stream.unconsumed_tail:
        raise TaskDataInvalid(f"Packed tests unfold to more than {_MAX_BYTES} bytes.")
    return content


def _check_plain(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _check_plain(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_plain(key)
            _check_plain(item)
    elif not isinstance(value, str | int | float | bool | None):
        raise TaskDataInvalid(
            f"Packed tests hold text, numbers, lists and dicts only; got {type(value).__name__}."
        )
