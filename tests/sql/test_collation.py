from __future__ import annotations

import itertools
import sqlite3
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("a_", "aZ", 1),  # upper case: '_' comes after the letters
        ("", " ", 0),
        ("10", "9", -1),
        ("😀", "😁", 0),
    ],
)
def test_what_is_equal_and_what_comes_first(left: str, right: str, result: int) -> None:
    assert compare(left, right) == result
    assert compare(right, left) == -result


class CountingMeter:
    comparisons = 0
    max_comparisons = 10
    exhausted = False

    def is_exhausted(self) -> bool:
        self.exhausted = self.comparisons > self.max_comparisons
        return self.exhausted


def test_an_exhausted_meter_ends_a_sort() -> None:
    meter = CountingMeter()
    with_meter = collation(meter)
    results = [with_meter("a", "b") for _ in range(20)]
    assert results == [-1] * 10 + [0] * 10
    assert meter.comparisons == 20


def test_equal_texts_are_not_counted() -> None:
    meter = CountingMeter()
    assert collation(meter)("a", "a") == 0
    assert meter.comparisons == 0


def test_long_texts_ask_the_meter_at_once() -> None:
    meter = CountingMeter()
    assert collation(meter)("x" * 1000, "b") == 1
    assert meter.comparisons == 1
    meter.max_comparisons = 0
    assert collation(meter)("x" * 1000, "b") == 0


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
