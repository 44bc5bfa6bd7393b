from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budget_envs.errors import OptionError
from budget_envs.tasks import show

Write = Callable[[str, Any], Path]


def test_a_missing_set_is_described_with_the_commands_that_bring_it() -> None:
    text = show("mbpp")
    for part in ("MBPP: mostly basic", "CC-BY-4.0", "arXiv:2108.07732", "curl -L", "was not found"):
        assert part in text


def test_showing_downloads_nothing(hub_server: Any) -> None:
    text = show("mbpp") + show("deepcoder_taco")
    assert hub_server.requests == []
    assert "downloads were not tried" in text


def test_a_set_at_hand_is_described_with_its_splits_and_what_is_left_out(
    write: Write, rows: list[dict[str, Any]]
) -> None:
    rows[0]["problem"] = "If there are several answers, print any of them."
    path = write("test.json", rows)
    lines = show("deepcoder", path).splitlines()
    assert f"  file      {path} (path, not the published file)" in lines
    assert "  tasks     9 (test 9)" in lines
    assert "  left out  1: several answers" in lines


def test_a_broken_file_is_described_and_not_raised(write: Write) -> None:
    assert "cannot be read" in show("deepcoder", write("rows.json", "[1,"))


def test_there_is_nothing_to_show_of_an_unknown_set() -> None:
    with pytest.raises(OptionError, match="no dataset 'nope'"):
        show("nope")
