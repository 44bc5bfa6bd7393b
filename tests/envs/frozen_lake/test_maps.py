import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.lake import Lake
from budget_envs.envs.frozen_lake.maps import MapSource, build_lake, draw_tiles, split_of
from budget_envs.errors import OptionError
from budget_envs.streams import derive_key
from budget_envs.text_env import TASK_SPLITS


def source(**changes):
    settings = {"sizes": (4,), "frozen_share": 0.8, "placement": "random"}
    return MapSource(**{**settings, **changes})


def lakes(maps, count, first=0):
    return [maps.draw(derive_key(first, i)) for i in range(count)]


@given(st.integers(0, 2**64 - 1))
def test_a_key_always_gives_the_same_solvable_map(key):
    lake = source().draw(key)
    assert lake == source().draw(key)
    assert lake.min_turns >= 1
    assert Lake.from_rows(lake.id.split("/")).min_turns == lake.min_turns


def test_maps_are_equal_in_processes_with_other_hash_seeds():
    code = (
        "from budget_envs.envs.frozen_lake.maps import MapSource\n"
        "maps = MapSource(sizes=(4, 5, 6), frozen_share=0.8, placement='random')\n"
        "print([maps.draw(i).id for i in range(20)], maps.at('test', 5).id)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_corner_placement_is_gymnasiums():
    for lake in lakes(source(placement="corners"), 50):
        assert lake.start == 0
        assert lake.tiles[-1] == "G"
        assert lake.tiles.count("G") == 1


def test_random_placement_reaches_every_tile_and_start_is_never_goal():
    drawn = lakes(source(), 1500)
    assert {lake.start for lake in drawn} == set(range(16))
    assert {lake.tiles.index("G") for lake in drawn} == set(range(16))
    assert all(lake.tiles[lake.start] == "F" for lake in drawn)


def test_candidates_have_the_asked_share_of_ice():
    keys = np.arange(4000, dtype=np.uint64)
    frozen, starts, goals = draw_tiles(keys, 0, 4, 0.7, "corners")
    inner = np.ones(16, dtype=bool)
    inner[[0, 15]] = False
    share = frozen[:, inner].mean()
    assert abs(share - 0.7) < 4 * (0.7 * 0.3 / (4000 * 14)) ** 0.5
    assert (starts == 0).all()
    assert (goals == 15).all()


@given(st.integers(0, 2**64 - 1), st.integers(0, 50), st.integers(2, 8))
def test_a_batch_of_candidates_equals_them_one_by_one(key, attempt, size):
    keys = np.array([key, key ^ 1, 7], dtype=np.uint64)
    together = draw_tiles(keys, attempt, size, 0.8, "random")
    for i in range(3):
        alone = draw_tiles(keys[i : i + 1], attempt, size, 0.8, "random")
        assert all((a[0] == t[i]).all() for a, t in zip(alone, together, strict=True))


def test_an_unsolvable_candidate_is_no_lake():
    assert build_lake(bytes([1, 0, 0, 1]), 0, 3, 2) is None
    lake = build_lake(bytes([1, 1, 0, 1]), 0, 3, 2)
    assert lake is not None
    assert lake.id == "SF/HG"


def test_mixed_sizes_all_occur():
    assert {lake.ncol for lake in lakes(source(sizes=(4, 5, 6, 7, 8)), 200)} == {4, 5, 6, 7, 8}


@pytest.mark.parametrize("split", TASK_SPLITS)
def test_a_split_source_draws_from_its_split_only(split):
    assert {split_of(lake) for lake in lakes(source(split=split), 40)} == {split}


def test_splits_have_their_shares():
    names = [split_of(lake) for lake in lakes(source(sizes=(8,)), 2000)]
    for name, share in zip(TASK_SPLITS, (0.8, 0.1, 0.1), strict=True):
        sigma = (share * (1 - share) / 2000) ** 0.5
        assert abs(names.count(name) / 2000 - share) < 4 * sigma


def test_no_map_turned_or_mirrored_is_in_two_splits():
    forms = {
        split: {source().at(split, i).canonical_id() for i in range(60)} for split in TASK_SPLITS
    }
    assert not forms["train"] & forms["test"]
    assert not forms["train"] & forms["validation"]
    assert not forms["validation"] & forms["test"]


def test_the_maps_of_a_split_are_distinct_and_stable_whatever_the_order_of_asking():
    forward = source()
    listed = [forward.at("test", i) for i in range(30)]
    assert len(set(listed)) == 30
    backward = source()
    assert [backward.at("test", i) for i in reversed(range(30))] == listed[::-1]


def test_an_index_beyond_the_distinct_maps_is_refused():
    with pytest.raises(OptionError, match="distinct maps"):
        source(sizes=(2,), placement="corners").at("train", 1000)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_asked_share_of_infeasible_tasks_is_hit(share):
    drawn = lakes(source(horizon=3, infeasible_share=share), 2000)
    found = sum(lake.min_turns > 3 for lake in drawn) / 2000
    assert abs(found - share) <= 3 * (share * (1 - share) / 2000) ** 0.5


def test_settings_that_no_map_meets_are_refused_by_name():
    maps = source(sizes=(2,), horizon=5, infeasible_share=1.0)
    with pytest.raises(OptionError, match=r"2x2.*longer than 5 turns"):
        maps.draw(0)
