from collections import Counter

import gymnasium as gym
import pytest

import budget_envs  # noqa: F401  registers the ids
from budget_envs.agents.trainers.budget_mix import BudgetSampler, with_budget_text
from budget_envs.agents.trainers.config import BudgetSettings
from budget_envs.errors import BudgetError


def test_budget_mix_draws_every_tenth_evenly():
    sampler = BudgetSampler(BudgetSettings(arm="budget_mix"), 20, seed=0)
    drawn = Counter(sampler.draw(step, "task") for step in range(5000))
    assert sorted(drawn) == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    assert min(drawn.values()) > 400


def test_a_draw_is_a_function_of_seed_step_and_task():
    def draws(seed):
        sampler = BudgetSampler(BudgetSettings(arm="budget_mix"), 10, seed)
        return [sampler.draw(step, task) for step in range(20) for task in "abc"]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert len(set(draws(1)[:3] + draws(1)[3:6])) > 1


@pytest.mark.parametrize("arm", ["full", "full_shown", "turn_matched"])
def test_the_full_arms_have_all_turns(arm):
    sampler = BudgetSampler(BudgetSettings(arm=arm), 10, seed=0)
    assert {sampler.draw(step, "task") for step in range(50)} == {10}


def test_the_fixed_arm_has_its_own():
    sampler = BudgetSampler(BudgetSettings(arm="fixed", fixed_turns=3), 10, seed=0)
    assert {sampler.draw(step, "task") for step in range(50)} == {3}
    with pytest.raises(BudgetError, match=r"1\.\.10"):
        BudgetSampler(BudgetSettings(arm="fixed", fixed_turns=11), 10, seed=0)


def test_turn_matched_has_as_many_turns_as_budget_mix_has_in_the_mean():
    assert BudgetSampler(BudgetSettings(arm="turn_matched"), 10, 0).num_groups(100) == 55
    assert BudgetSampler(BudgetSettings(arm="turn_matched"), 10, 0).num_groups(1) == 1
    assert BudgetSampler(BudgetSettings(arm="full"), 10, 0).num_groups(100) == 100


@pytest.mark.parametrize(
    ("arm", "is_shown"),
    [
        ("budget_mix", True),
        ("full", False),
        ("full_shown", True),
        ("fixed", True),
        ("turn_matched", False),
    ],
)
def test_the_text_of_the_budget_goes_with_the_arm(arm, is_shown):
    env = gym.make("budget_envs/FrozenLake-v0", **with_budget_text({}, arm))
    assert ("[Budget:" in env.reset(seed=0)[0]) == is_shown


def test_what_the_user_says_about_the_text_holds():
    assert with_budget_text({"show_budget": "last_turn"}, "budget_mix") == {
        "show_budget": "last_turn"
    }
