from __future__ import annotations

import itertools
import sqlite3
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.sql import collation as module
from budget_envs.sql.collation import MYSQL_CI, collation, compare, sort_key
from budget_envs.sql.mysql_address import MySqlAddress

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("aAbBéE ß_\t"), max_size=8)


def padded(left: str, right: str) -> int:
    """The definition, without any short cut."""
    width = max(len(left), len(right))
    a, b = (sort_key(text.ljust(width)) for text in (left, right))
    return (a > b) - (a < b)


@given(TEXTS, TEXTS)
def test_texts_compare_as_if_padded_with_spaces(left: str, right: str) -> None:
    assert compare(left, right) == padded(left, right)


@given(TEXTS, st.integers(0, 3))
def test_trailing_spaces_make_no_difference(text: str, spaces: int) -> None:
    assert compare(text, text + " " * spaces) == compare(text + " " * spaces, text) == 0


@given(st.lists(TEXTS, min_size=3, max_size=3))
def test_it_is_an_order(texts: list[str]) -> None:
    for a, b, c in itertools.permutations(texts):
        assert compare(a, b) == -compare(b, a)
        if compare(a, b) <= 0 and compare(b, c) <= 0:
            assert compare(a, c) <= 0


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("france", "France", 0),
        ("Zoë", "ZOE", 0),
        ("Curaçao", "curacao ", 0),
        ("ß", "s", 0),
        ("a\t", "a", -1),  # a tab comes before the space it is compared with
        ("a \t", "a", -1),
        ("a  b", "a \tb", 1),
        ("a\t", "a\t ", 0),
        ("a\t\t", "a\t", -1),
        ("a\x7f", "a", 1),
        ("\t", "", -1),
        ("a_", "aZ", 1),  # upper case: '_' comes after the letters
        ("", " ", 0),
        ("10", "9", -1),
        ("😀", "😁", 0),
    ],
)
def test_what_is_equal_and_what_comes_first(left: str, right: str, result: int) -> None:
    assert compare(left, right) == result
    assert compare(right, left) == -result


@given(TEXTS, st.integers(1, 300))
def test_long_texts_compare_as_short_ones_do(text: str, times: int) -> None:
    long = text * times
    for other in (text, long + "b", long + " ", long + "\t", long[:-1]):
        assert compare(long, other) == padded(long, other) == -compare(other, long)


@pytest.mark.parametrize("longest", [0, 3, 100])
@given(texts=st.lists(TEXTS, max_size=8))
def test_what_is_kept_makes_no_difference(longest: int, texts: list[str]) -> None:
    """Also where everything kept is forgotten again and again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LONGEST_KEPT", longest)
        patch.setattr(module, "_MAX_KEPT", 2)
        for left, right in itertools.product(texts, repeat=2):
            assert compare(left, right) == padded(left, right)


def test_a_bounded_number_of_short_texts_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_KEPT", 50)
    module._keys.clear()
    for number in range(200):
        compare(f"text {number}", "x" * 101)
        assert len(module._keys) <= 50
    assert "text 199" in module._keys
    assert max(map(len, module._keys)) < 101


class CountingMeter:
    """Lets ``batches`` times ``size`` comparisons go ahead."""

    def __init__(self, batches: int, size: int) -> None:
        self.batches, self.size, self.asked = batches, size, 0
        self.allowance: Iterator[None] = iter(())

    def renew(self) -> bool:
        self.asked += 1
        self.allowance = itertools.repeat(None, self.size if self.asked <= self.batches else 0)
        return self.asked <= self.batches


def test_an_exhausted_meter_ends_a_sort() -> None:
    meter = CountingMeter(batches=2, size=5)
    with_meter = collation(meter)
    results = [with_meter("a", "b") for _ in range(20)]
    # Asking counts as one: the meter gives five more after it.
    assert results == [-1] * 12 + [0] * 8
    assert meter.asked == 2 + 8


def test_equal_texts_are_not_counted() -> None:
    meter = CountingMeter(batches=0, size=0)
    assert collation(meter)("a", "a") == 0
    assert meter.asked == 0
    assert collation(meter)("a", "A ") == 0
    assert meter.asked == 1


def test_sqlite_uses_it_for_comparison_order_and_grouping() -> None:
    connection = sqlite3.connect(":memory:")
    connection.create_collation(MYSQL_CI, compare)
    connection.execute("CREATE TABLE t (a TEXT COLLATE MYSQL_CI)")
    connection.executemany("INSERT INTO t VALUES (?)", [("b ",), ("A",), ("B",), ("a",)])
    assert connection.execute("SELECT count(*) FROM t WHERE a = 'b'").fetchone() == (2,)
    assert connection.execute("SELECT count(*) FROM t GROUP BY a").fetchall() == [(2,), (2,)]
    assert connection.execute("SELECT a FROM t WHERE a > 'A' ORDER BY a, rowid").fetchall() == [
        ("b ",),
        ("B",),
    ]
    connection.close()


def test_weights_are_those_of_a_real_server(mysql_url: str) -> None:
    connection = MySqlAddress.parse(mysql_url).connect()
    different = {}
    with connection.cursor() as cursor:
        for start in range(1, 0x10000, 256):
            block = range(start, min(start + 256, 0x10000))
            codes = [code for code in block if not 0xD800 <= code <= 0xDFFF]
            columns = (
                f"HEX(WEIGHT_STRING(CONVERT(x'{chr(code).encode().hex()}' USING utf8mb4) "
                "COLLATE utf8mb4_general_ci))"
                for code in codes
            )
            if codes:
                cursor.execute(f"SELECT {', '.join(columns)}")
                weights = (int(weight, 16) for weight in cursor.fetchone())
                different |= {
                    code: weight
                    for code, weight in zip(codes, weights, strict=True)
                    if ord(sort_key(chr(code))) != weight
                }
        cursor.execute("SELECT _utf8mb4'😀' COLLATE utf8mb4_general_ci = _utf8mb4'😁'")
        assert cursor.fetchone() == (1,)
    connection.close()
    # Signs and letters that Unicode gave another case or other parts after MySQL's table was made.
    assert [code for code in different if code < 0x340] == [0x19E]
    assert len(different) < 60
    assert sys.maxunicode == 0x10FFFF
