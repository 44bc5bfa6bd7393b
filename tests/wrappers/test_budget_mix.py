import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import BudgetError, OptionError
from budget_envs.wrappers import BudgetMix, InteractionBudget
from budget_envs.wrappers.budget_mix import grid


def drawn(env, **reset):
    return env.reset(**reset)[1]["budget"]["turns"]["limit"]


# The grid.


@given(st.integers(1, 5000))
def test_the_grid_is_the_exact_ceiling_of_every_tenth(t_max):
    exact = {max(1, math.ceil(Fraction(j, 10) * t_max)) for j in range(1, 11)}
    assert grid(t_max) == tuple(sorted(exact))


@pytest.mark.parametrize(
    ("t_max", "points"),
    [
        (1, (1,)),
        (3, (1, 2, 3)),
        (10, tuple(range(1, 11))),
        (20, tuple(range(2, 21, 2))),
        (30, tuple(range(3, 31, 3))),  # 0.1 * 3 * 10 is a little more than 3
    ],
)
def test_known_grids(t_max, points):
    assert grid(t_max) == points


@pytest.mark.parametrize("schedule", ["grid", "uniform"])
def test_every_candidate_is_drawn_equally_often(corridor, schedule):
    env = BudgetMix(corridor(), budget=10, schedule=schedule)
    env.reset(seed=0)
    count = 4000
    found = Counter(drawn(env) for _ in range(count))
    assert set(found) == set(range(1, 11))
    chi_square = sum((n - count / 10) ** 2 / (count / 10) for n in found.values())
    assert chi_square < 27.9  # 9 degrees of freedom, one draw in a thousand is worse


def test_seeds_one_after_the_other_draw_uniformly_too(corridor):
    env = BudgetMix(corridor(), budget=10)
    found = Counter(drawn(env, seed=seed) for seed in range(4000))
    assert sum((n - 400) ** 2 / 400 for n in found.values()) < 27.9


def test_full_and_fixed_never_vary(corridor):
    full = BudgetMix(corridor(), budget=7, schedule="full")
    fixed = BudgetMix(corridor(), budget=7, schedule="fixed", fixed_turns=2)
    assert {drawn(full, seed=seed) for seed in range(40)} == {7}
    assert {drawn(fixed, seed=seed) for seed in range(40)} == {2}


def test_the_drawn_budget_is_the_one_that_ends_the_episode(corridor, play):
    env = BudgetMix(corridor(), budget=10)
    for seed in range(12):
        seen = play(env, ["Left"] * 20, seed=seed)
        assert len(seen) - 1 == seen[0][1]["budget"]["turns"]["limit"]
        assert seen[-1][-1]["budget"]["exhausted"] == "turns"


def test_other_limits_are_kept(corridor):
    env = BudgetMix(corridor(), budget={"turns": 10, "tokens": 77})
    assert env.reset(seed=0)[1]["budget"]["tokens"]["limit"] == 77


# Groups.


def test_rollouts_of_a_group_share_the_draw(corridor):
    env, other = BudgetMix(corridor(), budget=10), BudgetMix(corridor(), budget=10)
    for seed in range(30):
        draws = {
            drawn(each, seed=seed, options={"rollout": rollout})
            for each in (env, other)
            for rollout in range(3)
        }
        assert len(draws) == 1


def test_groups_of_different_seeds_tasks_and_wrapper_seeds_draw_for_themselves():
    def draws(wrapper_seed, reset_seed=None, task=None):
        env = BudgetMix(gym.make("budget_envs/FrozenLake-v0", budget=None), budget=1000,
                        schedule="uniform", seed=wrapper_seed)  # fmt: skip
        options = {"task": task} if task else {}
        return drawn(env, seed=reset_seed, options=options)

    base = draws(0, 1, "SFG")
    assert draws(0, 1, "SFG") == base
    assert draws(0, 2, "SFG") != base
    assert draws(0, 1, "SGF") != base
    assert draws(1, 1, "SFG") != base


def test_seed_zero_is_a_seed(corridor):
    env = BudgetMix(corridor(), budget=1000, schedule="uniform")
    first = drawn(env, seed=0)
    drawn(env)
    assert drawn(env, seed=0) == first


def test_visits_without_a_seed_draw_anew_and_repeatably(corridor):
    def sequence():
        env = BudgetMix(corridor(), budget=1000, schedule="uniform")
        return [drawn(env, seed=5)] + [drawn(env) for _ in range(5)]

    assert sequence() == sequence()
    assert len(set(sequence())) == 6


def test_environments_that_were_never_seeded_draw_independently(corridor):
    draws = {drawn(BudgetMix(corridor(), budget=10**6, schedule="uniform")) for _ in range(8)}
    assert len(draws) > 1


def test_draws_are_equal_in_processes_with_other_hash_seeds():
    code = (
        "import budget_envs, gymnasium as gym, json\n"
        "mix = {'schedule': 'uniform'}\n"
        "env = gym.make('budget_envs/FrozenLake-v0', budget=1000, budget_mix=mix)\n"
        "infos = [env.reset(seed=seed)[1] for seed in (0, 1, None)]\n"
        "print(json.dumps([info['budget']['turns']['limit'] for info in infos]))"
    )
    printed = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
                capture_output=True,
                check=True,
            ).stdout
        )
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]


def test_the_reset_option_wins_over_the_draw(corridor):
    env = BudgetMix(corridor(), budget=10)
    assert {drawn(env, seed=s, options={"budget": 15}) for s in range(20)} == {15}
    assert {drawn(env, seed=s, options={"budget": {"turns": 4}}) for s in range(20)} == {4}


def test_an_overridden_visit_still_counts_as_a_visit(corridor):
    env, other = (BudgetMix(corridor(), budget=1000, schedule="uniform") for _ in range(2))
    drawn(env, seed=0)
    drawn(other, seed=0)
    drawn(env, options={"budget": 5})
    drawn(other)
    assert drawn(env) == drawn(other)


# Growing.


def test_a_curriculum_starts_at_the_smallest_budget_and_grows_to_the_grid(corridor):
    env = BudgetMix(corridor(), budget=20, schedule="curriculum")
    assert env.candidates() == (2,)
    for share, last in [(0.1, 2), (0.11, 4), (0.3, 6), (0.7, 14), (1.0, 20)]:
        env.set_progress(share)
        assert env.candidates()[-1] <= last
        assert {drawn(env, seed=s) for s in range(200)} == set(
            range(2, env.candidates()[-1] + 1, 2)
        )


@pytest.mark.parametrize("tenths", range(1, 11))
def test_a_tenth_of_progress_is_a_tenth_of_the_grid_whatever_floats_do(corridor, tenths):
    env = BudgetMix(corridor(), budget=10, schedule="curriculum")
    env.set_progress(0.1 * tenths if tenths < 10 else 1.0)
    assert env.candidates() == tuple(range(1, tenths + 1))


def test_progress_is_reached_through_outer_wrappers_and_vector_environments():
    env = gym.make(
        "budget_envs/FrozenLake-v0", show_budget=True, budget_mix={"schedule": "curriculum"}
    )
    env.get_wrapper_attr("set_progress")(1.0)
    assert env.get_wrapper_attr("progress") == 1.0
    vector = gym.vector.SyncVectorEnv([lambda: env])
    vector.call("set_progress", 0.5)
    assert env.get_wrapper_attr("progress") == 0.5


@pytest.mark.parametrize("bad", [-0.1, 1.1, True, "half", None, float("nan")])
def test_progress_out_of_range_is_refused(corridor, bad):
    env = BudgetMix(corridor(), budget=10, schedule="curriculum")
    with pytest.raises(OptionError, match="share in"):
        env.set_progress(bad)


def test_only_a_curriculum_has_progress(corridor):
    with pytest.raises(OptionError, match="curriculum"):
        BudgetMix(corridor(), budget=10).set_progress(0.5)


def test_snapshots_hold_the_progress_and_the_place_in_the_draws(corridor):
    env = BudgetMix(corridor(), budget=100, schedule="curriculum")
    env.set_progress(1.0)
    env.reset(seed=3)
    saved = env.snapshot()
    expected = [drawn(env) for _ in range(4)]
    twin = BudgetMix(corridor(), budget=100, schedule="curriculum")
    twin.restore(saved)
    assert twin.progress == 1.0
    assert [drawn(twin) for _ in range(4)] == expected


# Beside other limits, and misuse.


def test_the_draw_is_cut_by_a_smaller_limit_inside(corridor):
    env = BudgetMix(InteractionBudget(corridor(), budget=3), budget=10)
    assert {drawn(env, seed=s) for s in range(60)} == {1, 2, 3}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"budget": None}, "give one, e.g. budget=10"),
        ({"budget": {"tokens": 5}}, "give one, e.g. budget=10"),
        ({"budget": 10, "schedule": "grids"}, "Did you mean 'grid'"),
        ({"budget": 10, "schedule": "fixed"}, "go together"),
        ({"budget": 10, "fixed_turns": 3}, "go together"),
        ({"budget": 10, "schedule": "fixed", "fixed_turns": 11}, "at most the budget's 10"),
        ({"budget": 10, "seed": -1}, "seed must be"),
        ({"budget": 10, "seed": True}, "seed must be"),
        ({"budget": 10, "seed": "a"}, "seed must be"),
        ({"budget": 10, "on_exhausted": "stop"}, "on_exhausted must be"),
    ],
)
def test_misuse_is_refused_with_the_way_out(corridor, keywords, message):
    with pytest.raises(OptionError, match=message):
        BudgetMix(corridor(), **keywords)


def test_fixed_turns_is_a_limit_like_any_other(corridor):
    with pytest.raises(BudgetError):
        BudgetMix(corridor(), budget=10, schedule="fixed", fixed_turns=0)


def test_any_gymnasium_environment_can_have_a_mix():
    env = BudgetMix(gym.make("CartPole-v1").unwrapped, budget=10)
    for seed in range(6):
        limit = drawn(env, seed=seed)
        steps = [env.step(turn % 2) for turn in range(limit)]
        assert [step[3] for step in steps] == [False] * (limit - 1) + [True]
