import math

import gymnasium as gym
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation.plan import make_plan
from budget_envs.evaluation.policy import Action
from budget_envs.evaluation.recovery import compare_recovery, continue_from, recovery
from budget_envs.evaluation.states import collect_states
from budget_envs.evaluation.trajectory import Episode
from budget_envs.oracles.frozen_lake import FrozenLakeOracle

LAKE = "budget_envs/FrozenLake-v0"


def collect(success_rate, tasks=12):
    """Return a way to make environments, and the error states of a shortest-path player."""
    policy = make_policy("shortest_path")
    kwargs = {"success_rate": success_rate, "error_states": {"at": 1}}
    plan = make_plan(policy, LAKE, [8], tasks=tasks, k=1, env_kwargs=kwargs)
    states = collect_states(policy, plan.make_env, plan.requests)
    return plan.make_env, [state for state in states if state.is_error]


@pytest.fixture(scope="module")
def slippery():
    return collect(0.8)


@pytest.fixture(scope="module")
def firm():
    return collect(1.0)


def best_values(make_env, states):
    env = make_env()
    env.reset(seed=0)
    found = []
    for state in states:
        env.restore(state.snapshot)
        found.append(max(FrozenLakeOracle().values(env).values()))
    return found


def test_there_is_something_to_recover_from(slippery, firm):
    assert len(slippery[1]) > 5
    assert len(firm[1]) > 5


def test_on_firm_ice_the_oracle_recovers_from_every_error(firm):
    make_env, states = firm
    found = recovery(continue_from(make_policy("oracle"), states, make_env))
    assert (found.rate.estimate, found.num_states, found.num_void) == (1.0, len(states), 0)


def test_on_slippery_ice_the_oracle_recovers_as_often_as_its_value_says(slippery):
    make_env, states = slippery
    continuations = continue_from(make_policy("oracle"), states, make_env, num_continuations=60)
    expected = best_values(make_env, states)
    found = recovery(continuations).rate.estimate
    assert found == pytest.approx(sum(expected) / len(expected), abs=0.05)


def test_random_play_recovers_less_often(slippery):
    make_env, states = slippery
    ours, theirs = (
        continue_from(make_policy(name), states, make_env) for name in ("oracle", "random")
    )
    assert compare_recovery(ours, theirs).low > 0.3


def test_every_continuation_has_its_own_luck(slippery):
    make_env, states = slippery
    continuations = continue_from(make_policy("shortest_path"), states, make_env)
    slips = {
        tuple(turn.executed_action for turn in episode.turns)
        for episodes in continuations[:1]
        for episode in episodes
    }
    assert len(slips) > 1


@pytest.fixture(scope="module")
def faulty():
    """States on firm ice where observations keep getting lost."""
    policy = make_policy("shortest_path")
    kwargs = {"error_states": {"rate": 0.5, "kind": "timeout"}}
    plan = make_plan(policy, LAKE, [8], tasks=6, k=1, env_kwargs=kwargs)
    states = collect_states(policy, plan.make_env, plan.requests)
    return plan.make_env, [state for state in states if state.turn == 1]


def injections(rows):
    return [[[t.injected is not None for t in e.turns[:-1]] for e in row] for row in rows]


def test_every_continuation_has_its_own_injected_errors(faulty):
    make_env, states = faulty
    rows = injections(continue_from(make_policy("scripted", actions=["x"]), states, make_env))
    assert all(len(set(map(tuple, row))) > 1 for row in rows)


def test_two_policies_meet_the_same_injected_errors(faulty):
    make_env, states = faulty
    ours, theirs = (
        injections(continue_from(make_policy("scripted", actions=["x", text]), states, make_env))
        for text in ("x", "y")
    )
    assert ours == theirs


def test_two_policies_meet_the_same_luck(slippery):
    make_env, states = slippery
    luck = []
    for later in ("Down", "Up"):  # the first action of a continuation is that of turn 1
        policy = make_policy("scripted", actions=["", "Down", later], then="repeat_last")
        episodes = continue_from(policy, states, make_env)
        luck.append([[e.turns[0].executed_action for e in row] for row in episodes])
    assert luck[0] == luck[1]
    assert {action for row in luck[0] for action in row} == {"Left", "Down", "Right"}


def test_both_start_from_the_same_prefix_and_the_remaining_budget(slippery, counting):
    make_env, states = slippery
    seen = {}

    def respond(conversation):
        seen.setdefault(conversation.id, list(conversation.messages))
        return Action("nonsense")

    episodes = continue_from(counting(respond), states, make_env, num_continuations=2)
    for state, row in zip(states, episodes, strict=True):
        for episode in row:
            first = seen[f"{state.task_id}#{state.budget}#{episode.rollout}"]
            assert first == list(state.messages)
            assert episode.num_turns == state.budget - state.turn
            assert episode.boundary == "budget"


def test_turns_count_from_the_state_on(firm):
    make_env, states = firm
    (episode,), *_ = continue_from(make_policy("oracle"), states, make_env, num_continuations=1)
    assert episode.success_turn == len(episode.turns) == episode.num_turns
    assert episode.turns[0].observation == states[0].messages[-1]["content"]
    assert episode.turns[0].state_key


def test_no_further_error_is_injected(slippery):
    make_env, states = slippery
    rows = continue_from(make_policy("random"), states, make_env)
    assert sum(episode.num_injected for row in rows for episode in row) == 0


def test_results_are_reproducible_and_independent_of_the_batch(slippery):
    make_env, states = slippery
    one = continue_from(make_policy("random"), states, make_env)
    assert one == continue_from(make_policy("random"), states, make_env, batch_size=3)


def test_continuing_leaves_the_states_as_they_were(slippery):
    make_env, states = slippery
    before = [state.messages for state in states]
    continue_from(make_policy("random"), states, make_env)
    assert [state.messages for state in states] == before


def test_a_policy_that_dies_has_not_recovered(slippery, counting):
    make_env, states = slippery

    def respond(conversation):
        raise ValueError("confused")

    found = recovery(continue_from(counting(respond), states, make_env))
    assert (found.rate.estimate, found.num_void) == (0.0, 0)


@pytest.mark.parametrize("number", [0, -1, True, 1.5, None])
def test_the_number_of_continuations_is_a_positive_integer(slippery, number):
    make_env, states = slippery
    with pytest.raises(OptionError, match="num_continuations must be an integer"):
        continue_from(make_policy("random"), states, make_env, num_continuations=number)


def test_an_environment_whose_luck_cannot_be_renewed_is_refused():
    with pytest.raises(UnsupportedError, match="derives from TextEnv"):
        continue_from(make_policy("random"), [], lambda: gym.make("CartPole-v1"))


# Rates.


def episode(verdict):
    return Episode("a", 8, 0, 0, verdict)


def test_the_rate_averages_within_states_first():
    rows = [[episode("pass"), episode("fail")], [episode("pass")], [episode("fail")] * 4]
    assert recovery(rows).rate.estimate == pytest.approx((0.5 + 1 + 0) / 3)


def test_void_continuations_enter_no_rate_and_are_counted():
    rows = [[episode("pass"), episode("void")], [episode("void")]]
    found = recovery(rows)
    assert (found.rate.estimate, found.rate.num_tasks, found.num_void) == (1.0, 1, 2)
    assert found.num_states == 2


def test_no_states_have_no_rate():
    assert math.isnan(recovery([]).rate.estimate)


def test_a_difference_is_taken_state_by_state():
    ours = [[episode("pass")], [episode("pass")]]
    theirs = [[episode("fail")], [episode("pass")]]
    assert compare_recovery(ours, theirs).estimate == 0.5


def test_the_number_of_resamples_changes_the_intervals_alone():
    ours = [[episode("pass")], [episode("fail")]]
    theirs = [[episode("fail")], [episode("fail")]]
    for measure in (
        lambda **settings: recovery(ours, **settings).rate,
        lambda **settings: compare_recovery(ours, theirs, **settings),
    ):
        one, many = measure(num_resamples=1), measure(num_resamples=1000)
        assert one.estimate == many.estimate == measure().estimate == 0.5
        assert one.low == one.high
        assert (many.low, many.high) == (0.0, 1.0)


def test_both_sides_need_the_same_states():
    with pytest.raises(OptionError, match="both sides need the same states, got 1 and 2"):
        compare_recovery([[]], [[], []])
