from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import TaskDataInvalid
from budget_envs.tasks import private_tests
from budget_envs.tasks.private_tests import decode_tests

TESTS = [{"input": "1\n2\n", "output": "3", "testtype": "stdin"}]
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def pack(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def pack_object(value: Any, protocol: int = 4) -> str:
    return pack(pickle.dumps(value, protocol))


class RunsOnLoad:
    """Pickles into a call of ``os.mkdir``, which would leave a trace."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("pickle-was-here",)


def test_json_is_read_as_json() -> None:
    assert decode_tests(json.dumps(TESTS)) == TESTS


def test_livecodebenchs_packing_is_undone() -> None:
    assert decode_tests(pack_object(json.dumps(TESTS))) == TESTS


@given(plain, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_back_from_every_pickle_protocol(value: Any, protocol: int) -> None:
    assert decode_tests(pack_object([value], protocol)) == [value]


def test_a_pickle_that_runs_code_is_refused_and_not_run(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskDataInvalid, match=r"asks for posix\.mkdir|asks for nt\.mkdir"):
        decode_tests(pack_object([RunsOnLoad()]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "attack",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"(S'1'\nibuiltins\neval\n.",
        b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.",
        b"\x80\x02\x82\x01.",
        b"\x80\x04\x8c\x04spamQ.",
        b"Pspam\n.",
    ],
    ids=["GLOBAL", "REDUCE", "INST", "STACK_GLOBAL", "EXT1", "BINPERSID", "PERSID"],
)
def test_every_way_a_pickle_reaches_outside_is_refused(attack: bytes) -> None:
    with pytest.raises(TaskDataInvalid):
        decode_tests(pack(attack))


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, 2j, ("a",), [bytearray(b"x")], {"a": (1,)}])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(TaskDataInvalid):
        decode_tests(pack_object(value))


@pytest.mark.parametrize(
    "text",
    [
        "not json, not base64",
        base64.b64encode(b"not zlib").decode(),
        pack(b"not a pickle"),
        pack(b""),
        pack(pickle.dumps(TESTS)[:-3]),
        pack_object("text that is not json"),
    ],
)
def test_damaged_text_is_refused_and_shown(text: str) -> None:
    with pytest.raises(TaskDataInvalid, match="Tests are JSON"):
        decode_tests(text)


def test_a_bomb_is_not_unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_tests, "_MAX_BYTES", 1000)
    with pytest.raises(TaskDataInvalid, match="unfold to more than 1000 bytes"):
        decode_tests(pack_object("0" * 100_000))


@given(st.binary(max_size=60))
def test_no_garbage_raises_anything_else(content: bytes) -> None:
    try:
        decode_tests(pack(content))
    except TaskDataInvalid:
        return
