import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.wrappers.faults import TEXT_FAULTS, faulty_text, garbled

TEXT = "You went Left, to row 1, column 1.\n\nP _ _\n_ O G"


@given(st.text(min_size=1), st.integers(0, 2**64 - 1))
def test_noise_keeps_length_and_white_space_and_changes_something_visible(text, key):
    noisy = garbled(text, key)
    assert len(noisy) == len(text)
    changed = [(a, b) for a, b in zip(text, noisy, strict=True) if a != b]
    assert not any(a.isspace() for a, _ in changed)
    assert bool(changed) == any(not letter.isspace() for letter in text)


def test_noise_replaces_about_three_characters_in_ten():
    noisy = garbled("x" * 5000, key=7)
    assert 0.27 < sum(letter != "x" for letter in noisy) / 5000 < 0.33


def test_noise_of_nothing_is_nothing():
    assert garbled("", key=1) == ""


def test_noise_is_a_function_of_its_key():
    assert garbled(TEXT, 3) == garbled(TEXT, 3)
    assert len({garbled(TEXT, key) for key in range(20)}) == 20


def test_noise_never_replaces_a_noise_symbol_by_itself():
    def changed(text):
        return [
            i for i, (a, b) in enumerate(zip(text, garbled(text, key=5), strict=True)) if a != b
        ]

    symbols = "#%&?@~^*+=<>|$" * 30
    assert changed(symbols) == changed("x" * len(symbols))


@pytest.mark.parametrize("kind", TEXT_FAULTS)
def test_every_fault_hides_the_true_observation(kind):
    assert faulty_text(kind, TEXT, "what came before", 1) != TEXT


def test_a_stale_observation_is_the_one_before():
    assert faulty_text("stale", TEXT, "what came before", 1) == "what came before"


def test_an_empty_observation_is_empty():
    assert faulty_text("empty", TEXT, "before", 1) == ""


def test_notices_do_not_give_away_the_observation():
    for kind in ("timeout", "refused"):
        assert faulty_text(kind, "secret", "before", 1) == faulty_text(kind, "other", "x", 2)
