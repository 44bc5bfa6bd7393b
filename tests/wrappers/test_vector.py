import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from budget_envs.text_env import TextEnv

ID = "budget_envs/FrozenLake-v0"
CORRIDOR = {"desc": ["SFFG"]}
MODES = list(AutoresetMode)


def maker(**keywords):
    return lambda: gym.make(ID, **{**CORRIDOR, "show_budget": True, **keywords})


def sync(makers, mode=AutoresetMode.NEXT_STEP):
    return SyncVectorEnv(makers, autoreset_mode=mode)


def run(vector, mode, action, steps):
    """Step all copies with one action; return the length of each copy's finished episodes."""
    count = vector.num_envs
    vector.reset(seed=0)
    lengths, now, over = [[] for _ in range(count)], np.zeros(count, int), np.zeros(count, bool)
    for _ in range(steps):
        if mode is AutoresetMode.DISABLED and over.any():
            vector.reset(options={"reset_mask": over})
        skipped = over if mode is AutoresetMode.NEXT_STEP else np.zeros(count, bool)
        _, _, terminated, truncated, _ = vector.step((action,) * count)
        now += ~skipped
        over = terminated | truncated
        for i in np.flatnonzero(over):
            lengths[i].append(int(now[i]))
            now[i] = 0
    return lengths


@pytest.mark.parametrize("mode", MODES)
def test_every_episode_has_the_whole_budget_in_every_autoreset_mode(mode):
    vector = sync([maker(budget=4), maker(budget=3)], mode)
    lengths = run(vector, mode, "Left", 15)
    assert [set(each) for each in lengths] == [{4}, {3}]
    assert min(len(each) for each in lengths) >= 3


@pytest.mark.parametrize("mode", MODES)
def test_every_solved_episode_is_as_long_as_its_way(mode):
    lengths = run(sync([maker(budget=9)], mode), mode, "Right", 12)
    assert set(lengths[0]) == {3}


@pytest.mark.parametrize("mode", MODES)
def test_oracles_errors_and_drawn_budgets_work_in_every_autoreset_mode(mode):
    keywords = {
        "oracle": True,
        "budget_mix": True,
        "error_states": {"kind": "stale", "rate": 0.5},
    }
    run(sync([maker(**keywords)] * 2, mode), mode, "Left", 30)


def test_the_final_observation_says_that_nothing_is_left():
    vector = sync([maker(budget=2)], AutoresetMode.SAME_STEP)
    vector.reset(seed=0)
    vector.step(("Left",))
    observations, _, _, truncated, infos = vector.step(("Left",))
    assert truncated.tolist() == [True]
    assert infos["final_obs"][0].endswith("[Budget: 0 of 2 turns left]")
    assert infos["final_info"]["budget"]["exhausted"][0] == "turns"
    assert observations[0].endswith("[Budget: 2 of 2 turns left]")


def test_only_the_copy_that_solved_its_task_has_ended():
    vector = sync([maker(budget=9)] * 8)
    vector.reset(seed=0)
    for _ in range(3):
        actions = tuple("Right" if i == 5 else "Left" for i in range(8))
        _, rewards, terminated, truncated, infos = vector.step(actions)
    assert terminated.tolist() == [i == 5 for i in range(8)]
    assert rewards.tolist() == [float(i == 5) for i in range(8)]
    assert not truncated.any()
    assert infos["_is_success"].tolist() == [i == 5 for i in range(8)]


def test_infos_are_batched_in_their_own_types():
    budget = {"turns": 3, "seconds": 9}
    vector = sync([maker(budget=budget, oracle=True), maker(budget=budget, oracle=True)])
    _, infos = vector.reset(seed=0)
    vector.envs[1].charge(seconds=1.5)
    _, _, _, _, infos = vector.step(("Right", "Right"))
    assert infos["budget"]["turns"]["remaining"].tolist() == [2, 2]
    assert infos["budget"]["seconds"]["used"].tolist() == [0.0, 1.5]
    assert infos["oracle"]["value"].dtype == float
    assert infos["oracle"]["best_actions"][0] == ["Right"]
    assert infos["budget"]["exhausted"].tolist() == [None, None]


def test_a_reset_in_the_middle_gives_every_copy_its_whole_budget():
    vector = sync([maker(budget=4)] * 2)
    vector.reset(seed=0)
    vector.step(("Left", "Left"))
    observations, infos = vector.reset()
    assert infos["budget"]["turns"]["remaining"].tolist() == [4, 4]
    assert all(text.endswith("[Budget: 4 of 4 turns left]") for text in observations)


def test_worker_processes_see_what_one_process_sees():
    keywords = {"budget": 3, "oracle": True, "error_states": {"at": 2}}
    one = sync([maker(**keywords)] * 2)
    many = AsyncVectorEnv([maker(**keywords)] * 2, shared_memory=False)
    try:
        assert one.reset(seed=4)[0] == many.reset(seed=4)[0]
        for action in ("Right", "Up", "Left", "Left", "Right"):
            a, b = one.step((action,) * 2), many.step((action,) * 2)
            assert a[0] == b[0]
            for first, second in zip(a[1:4], b[1:4], strict=True):
                assert np.array_equal(first, second)
            turns = [r[4]["budget"]["turns"]["remaining"].tolist() for r in (a, b)]
            assert turns[0] == turns[1]
    finally:
        many.close()


def test_vector_environments_leave_the_metadata_of_the_class_alone():
    before = copy.deepcopy(TextEnv.metadata)
    sync([maker(budget=3)] * 2).reset(seed=0)
    assert TextEnv.metadata == before
    assert maker(budget=3)().metadata == before


def test_numbers_batch_into_arrays():
    vector = sync([maker(budget=4, numeric=True)] * 3)
    observations, _ = vector.reset(seed=0)
    assert observations.dtype == np.float32
    assert observations.shape[0] == 3
    observations, *_ = vector.step(np.array([2, 0, 1]))
    assert observations[:, -1].tolist() == [0.75] * 3
