from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.lake import ACTIONS, Lake
from budget_envs.envs.frozen_lake.text import (
    first_observation,
    grid,
    invalid_observation,
    moved_observation,
)

LAKE = Lake.from_rows(["SFH", "FFG"])


def test_the_grid_shows_every_symbol():
    assert grid(LAKE, 0) == "P _ O\n_ _ G"


@given(st.integers(0, 5))
def test_the_player_covers_exactly_its_tile(position):
    symbols = grid(LAKE, position).replace("\n", " ").split(" ")
    assert symbols[position] == "P"
    bare = ["_", "_", "O", "_", "_", "G"]
    assert [s for i, s in enumerate(symbols) if i != position] == [
        s for i, s in enumerate(bare) if i != position
    ]


def test_the_first_observation_names_every_symbol_and_action():
    text = first_observation(LAKE, 1.0)
    assert text.endswith(grid(LAKE, 0))
    for word in (*ACTIONS, "P is you", "_ is ice", "O is a hole", "G is the goal"):
        assert word in text
    assert "slippery" not in text


def test_a_slippery_lake_says_so_with_its_rate():
    assert "with probability 0.80" in first_observation(LAKE, 0.8)


def test_a_move_says_where_it_led():
    assert moved_observation(LAKE, 0, 1, 2, 2).startswith("You went Right, to row 1, column 2.\n\n")


def test_a_slip_says_both_directions_and_where_it_led():
    text = moved_observation(LAKE, 0, 3, 2, 1)
    assert text.startswith("You slipped: instead of Right you went Down, to row 2, column 1.")


def test_the_edge_a_hole_and_the_goal_are_told_apart():
    assert "against the edge, and stay at row 1, column 1" in moved_observation(LAKE, 0, 0, 0, 0)
    assert "fell into a hole" in moved_observation(LAKE, 1, 2, 2, 2)
    assert "reached the goal" in moved_observation(LAKE, 4, 5, 2, 2)


@given(st.text())
def test_the_answer_to_an_unreadable_action_is_short_and_encodable(action):
    text = invalid_observation(LAKE, 0, action)
    assert "Left, Down, Right or Up" in text
    assert len(text) < 500
    text.encode("utf-8")
