import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.judging import Judgement, TestOutcome, clip, shown

LIMITS = st.integers(50, 400)


@given(st.text(max_size=300))
def test_a_short_text_is_not_cut(text):
    assert clip(text) == text


@given(st.text(max_size=2000), LIMITS)
def test_a_cut_text_keeps_head_and_tail_and_is_no_longer_than_the_limit(text, limit):
    cut = clip(text, limit)
    assert len(cut) <= limit
    if cut != text:
        half = (limit - 40) // 2
        assert cut.startswith(text[:half])
        assert cut.endswith(text[-half:])
        assert f"({len(text) - 2 * half} characters cut)" in cut


@given(st.text(max_size=2000), LIMITS)
def test_cutting_again_changes_nothing(text, limit):
    assert clip(clip(text, limit), limit) == clip(text, limit)


def test_a_cut_says_how_much_is_missing():
    assert clip("a" * 600 + "b" * 600) == "a" * 130 + "... (940 characters cut) ..." + "b" * 130


@pytest.mark.parametrize("value", [None, True, 3, 1.5, "a\nb", [1, (2,)], {"a": {1}}, b"x"])
def test_values_are_shown_as_python_writes_them(value):
    assert shown(value) == repr(value)


def test_an_integer_too_long_to_print_is_described():
    assert shown(10**5000).startswith("(int with")
    assert shown([10**5000]).startswith("(list with")


def test_outcomes_are_small_whatever_a_program_printed():
    outcome = TestOutcome(False, got="x" * 10**6, error="y" * 10**6, timed_out=True)
    assert len(outcome.got) <= 300
    assert len(outcome.error) <= 300
    assert pickle.loads(pickle.dumps(outcome)) == outcome


def judged(*passed, public=()):
    return Judgement(tuple(map(TestOutcome, public)), tuple(map(TestOutcome, passed)))


def test_the_share_is_that_of_the_hidden_tests():
    assert judged(True, False, True, False, public=[True]).share == 0.5


def test_success_needs_every_hidden_test_and_no_public_one():
    assert judged(True, True, public=[False]).is_success
    assert not judged(True, False, public=[True]).is_success


def test_a_judgement_tells_whether_a_test_ran_out_of_time():
    late = TestOutcome(False, timed_out=True)
    assert Judgement((late,), (TestOutcome(True),)).timed_out
    assert Judgement((), (TestOutcome(True), late)).timed_out
    assert not judged(True, False).timed_out
