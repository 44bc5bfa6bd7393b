import pickle
from collections import deque

import pytest
from gymnasium.envs.toy_text import frozen_lake as peer
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.lake import ACTIONS, MAPS, Lake, moves
from budget_envs.errors import OptionError


@st.composite
def rows_of_a_map(draw, max_side=6):
    """Any map with one start and at least one goal, solvable or not."""
    nrow, ncol = draw(st.integers(1, max_side)), draw(st.integers(2, max_side))
    letters = draw(st.lists(st.sampled_from("FFFHG"), min_size=nrow * ncol, max_size=nrow * ncol))
    start, goal = draw(
        st.lists(st.integers(0, nrow * ncol - 1), min_size=2, max_size=2, unique=True)
    )
    letters[start], letters[goal] = "S", "G"
    text = "".join(letters)
    return [text[i : i + ncol] for i in range(0, len(text), ncol)]


def fewest_moves(rows):
    """Breadth-first search on coordinates, written independently of the bit sets."""
    cells = {(r, c): letter for r, row in enumerate(rows) for c, letter in enumerate(row)}
    start = next(cell for cell, letter in cells.items() if letter == "S")
    queue, seen = deque([(start, 0)]), {start}
    while queue:
        (r, c), steps = queue.popleft()
        if cells[r, c] == "G":
            return steps
        for cell in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if cells.get(cell, "H") != "H" and cell not in seen:
                seen.add(cell)
                queue.append((cell, steps + 1))
    return -1


@given(rows_of_a_map())
def test_the_shortest_path_equals_a_breadth_first_search(rows):
    assert Lake.from_rows(rows).min_turns == fewest_moves(rows)


def test_the_shortest_path_equals_a_search_on_2000_random_maps():
    import random

    drawn = random.Random(0)
    for _ in range(2000):
        side = drawn.randint(2, 8)
        letters = [drawn.choice("FFFH") for _ in range(side * side)]
        start, goal = drawn.sample(range(side * side), 2)
        letters[start], letters[goal] = "S", "G"
        rows = ["".join(letters[i : i + side]) for i in range(0, side * side, side)]
        assert Lake.from_rows(rows).min_turns == fewest_moves(rows)


def test_a_large_lake_is_searched_quickly_enough_to_be_used():
    rows = ["S" + "F" * 99, *["F" * 100] * 98, "F" * 99 + "G"]
    assert Lake.from_rows(rows).min_turns == 198


@given(rows_of_a_map())
def test_an_id_reads_back_into_an_equal_lake(rows):
    lake = Lake.from_rows(rows)
    assert lake.id == "/".join(rows)
    again = Lake.from_rows(lake.id.split("/"))
    assert again == lake
    assert hash(again) == hash(lake)
    assert again.key == lake.key


@given(rows_of_a_map())
def test_rotations_and_reflections_have_one_canonical_form(rows):
    turned = ["".join(column) for column in zip(*reversed(rows), strict=True)]
    mirrored = [row[::-1] for row in rows]
    forms = {Lake.from_rows(form).canonical_id() for form in (rows, turned, mirrored, rows[::-1])}
    assert len(forms) == 1


def test_different_maps_differ():
    assert Lake.from_rows(["SFG"]) != Lake.from_rows(["SFFG"])
    assert Lake.from_rows(["SFG"]).key != Lake.from_rows(["SFFG"]).key
    assert Lake.from_rows(["SFG"]) != "SFG"


def test_the_named_maps_are_gymnasiums():
    assert {name: list(rows) for name, rows in MAPS.items()} == peer.MAPS


def test_actions_are_numbered_as_in_gymnasium():
    assert [ACTIONS[i] for i in (peer.LEFT, peer.DOWN, peer.RIGHT, peer.UP)] == list(ACTIONS)


@given(st.integers(1, 6), st.integers(1, 6))
def test_moves_stay_on_the_lake_and_change_at_most_one_coordinate(nrow, ncol):
    for tile, reached in enumerate(moves(nrow, ncol)):
        for other in reached:
            assert 0 <= other < nrow * ncol
            rows_apart = abs(other // ncol - tile // ncol)
            columns_apart = abs(other % ncol - tile % ncol)
            assert rows_apart + columns_apart <= 1


@given(rows_of_a_map())
def test_pickling_keeps_the_lake_and_drops_its_cache(rows):
    lake = Lake.from_rows(rows)
    lake.remember((0, 1, 1), (0, "cached", 0.0, None))
    again = pickle.loads(pickle.dumps(lake))
    assert (again, again.min_turns, again.outcomes) == (lake, lake.min_turns, {})


def test_repr_builds_an_equal_lake():
    lake = Lake.from_rows(["SF", "HG"])
    assert eval(repr(lake)) == lake


def test_an_episode_is_over_on_holes_and_goals_only():
    lake = Lake.from_rows(["SH", "FG"])
    assert [lake.is_over(tile) for tile in range(4)] == [False, True, False, True]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["SFX", "FFG"], "row 1, column 3: expected S, F, H or G, got 'X'"),
        (["SFF", "FG"], "row 2 has 2 tiles, expected 3"),
        (["SFF", "FSG"], "exactly one start S, found row 1, column 1 and row 2, column 2"),
        (["FFF", "FFG"], "exactly one start S, found none"),
        (["SFF", "FFF"], "at least one goal G"),
        (["SF\n", "FFG"], "row 1, column 3"),
        ([], "list of strings"),
        ("SFG", "list of strings"),
        ([1, 2], "list of strings"),
        ([""], "row 1"),
    ],
)
def test_a_bad_map_is_refused_with_its_place(rows, message):
    with pytest.raises(OptionError, match=message):
        Lake.from_rows(rows)


def test_what_a_large_lake_remembers_is_bounded():
    lake = Lake.from_rows(["S" + "F" * 199, *["F" * 200] * 198, "F" * 199 + "G"])
    most = 0
    for tile in range(1000):
        lake.remember((tile, 0, 0), (tile, "observation", 0.0, None))
        most = max(most, len(lake.outcomes))
    assert lake.outcomes[999, 0, 0] == (999, "observation", 0.0, None)
    assert most * 200 * 200 < 2**24
