import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.evaluation.report.text import MISSING, cut, interval, number, percent, visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates included


@given(ANY_TEXT)
def test_visible_text_has_a_utf8_form_and_no_invisible_character(text):
    shown = visible(text)
    shown.encode()
    assert all(char in "\n\t" or char.isprintable() or char.isspace() for char in shown)


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_what_can_be_seen_stays_as_it_is(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", r"a\x00b"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\ud83d", r"\ud83d"),
        ("\u200b\ufeff", r"\u200b\ufeff"),
        ("\x85", r"\x85"),
        ("\r\n", "\\r\n"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("שלום 👩 漢字", "שלום 👩 漢字"),
    ],
)
def test_characters_that_cannot_be_seen_are_written_out(text, shown):
    assert visible(text) == shown


def test_a_long_text_is_cut_and_says_how_long_it_was():
    text = cut("x" * 1_000_000, 100)
    assert text.startswith("x" * 100 + "\n")
    assert "[cut here: 100 of 1,000,000 characters shown]" in text


@pytest.mark.parametrize("length", [0, 99, 100])
def test_a_text_within_the_limit_is_not_cut(length):
    assert cut("x" * length, 100) == "x" * length


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0"), (0.12345, "12.3"), (1.0, "100.0"), (math.nan, MISSING)]
)
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, MISSING), (math.nan, MISSING), (-1e-9, "0.00"), (-1.5, "-1.50")]
)
def test_a_number_is_never_minus_zero_and_never_nan(value, text):
    assert number(value, 2) == text


def test_an_interval_is_in_percent():
    assert interval(0.125, 0.4) == "[12.5, 40.0]"


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted))
def test_what_is_printed_of_an_interval_holds_what_is_printed_of_its_estimate(numbers):
    low, share, high = numbers
    ends = interval(low, high).strip("[]").split(", ")
    assert float(ends[0]) <= float(percent(share)) <= float(ends[1])


def test_an_undefined_interval_is_empty():
    assert interval(math.nan, math.nan) == ""
