import pickle

import gymnasium as gym
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.errors import OptionError, SnapshotError
from budget_envs.evaluation.evaluate import evaluate
from budget_envs.evaluation.live_episode import request_episode
from budget_envs.evaluation.plan import make_plan
from budget_envs.evaluation.policy import Action
from budget_envs.evaluation.states import balanced_pool, collect_states
from budget_envs.wrappers import InteractionBudget

LAKE = "budget_envs/FrozenLake-v0"


@pytest.fixture
def collect():
    def collect(name="random", *, env_kwargs=None, tasks=6, budget=8, **keywords):
        policy = make_policy(name)
        kwargs = {"success_rate": 0.8, **(env_kwargs or {})}
        plan = make_plan(policy, LAKE, [budget], tasks=tasks, k=1, env_kwargs=kwargs)
        return plan, collect_states(policy, plan.make_env, plan.requests, **keywords)

    return collect


def played(name="random", *, tasks=6, budget=8):
    kwargs = {"success_rate": 0.8}
    return evaluate(make_policy(name), LAKE, [budget], tasks=tasks, k=1, env_kwargs=kwargs).episodes


@pytest.mark.parametrize("name", ["random", "oracle"])
def test_there_is_one_state_for_each_turn_of_what_evaluate_plays(collect, name):
    _, states = collect(name)
    episodes = played(name)
    expected = [(e.task_id, t, e.num_turns) for e in episodes for t in range(e.num_turns)]
    assert [(s.task_id, s.turn, s.length) for s in states] == expected


def test_a_state_holds_the_conversation_so_far(collect):
    _, states = collect()
    turns = [turn for episode in played() for turn in episode.turns]
    for state, turn in zip(states, turns, strict=True):
        assert len(state.messages) == 2 * state.turn + 1
        assert state.messages[-1]["content"] == turn.observation


def test_a_state_can_be_returned_to_exactly(collect):
    plan, states = collect()
    env = plan.make_env()
    turns = [(e, turn) for e in played() for turn in e.turns]
    for state, (episode, turn) in zip(states, turns, strict=True):
        env.reset(seed=0)
        env.restore(state.snapshot)
        observation, *_, info = env.step(turn.action)
        after = episode.turns[turn.turn :]
        assert observation == (after[0].observation if after else episode.final_observation)
        assert info["budget"] == turn.budget


def test_the_batch_size_changes_nothing(collect):
    assert collect(batch_size=1)[1] == collect(batch_size=5)[1] == collect()[1]


def test_states_can_be_sent_to_another_process(collect):
    _, states = collect(tasks=1)
    assert pickle.loads(pickle.dumps(states)) == states


def test_keys_differ_between_states_and_policies(collect):
    keys = [state.key for name in ("random", "shortest_path") for state in collect(name)[1]]
    assert len(set(keys)) == len(keys)


def test_the_position_grows_from_zero_towards_one(collect):
    _, states = collect()
    assert all(0 <= state.position < 1 for state in states)
    assert all((state.position == 0) == (state.turn == 0) for state in states)


def test_the_state_after_an_injected_error_is_an_error_state(collect):
    _, states = collect("shortest_path", env_kwargs={"error_states": {"at": 2}}, tasks=20)
    assert {state.turn for state in states if state.is_error} == {2}
    assert not any(state.is_error for state in collect("shortest_path", tasks=20)[1])


def test_a_replaced_action_stands_in_the_conversation(collect):
    _, states = collect("shortest_path", env_kwargs={"error_states": {"at": 1}}, tasks=20)
    errors = [state for state in states if state.is_error]
    firsts = {s.task_id: s for s in states if s.turn == 0}
    assert errors
    for state in errors:
        before = firsts[state.task_id]
        assert state.messages[:1] == before.messages
        assert state.messages[1]["content"] in ("Left", "Down", "Right", "Up")


def test_a_policy_cannot_change_what_is_collected(fake_id, counting):
    def forge(conversation):
        conversation.messages[-1]["content"] = "FORGED"
        conversation.messages.append({"role": "user", "content": "FORGED"})
        return Action("go")

    class Privileged(counting):
        needs_env = True

    plan = make_plan(counting(), fake_id, [4], tasks=["pass-3"], k=1, num_rollouts=1)
    plain = collect_states(counting(), plan.make_env, plan.requests)
    for policy in (counting(forge), Privileged(forge)):
        assert collect_states(policy, plan.make_env, plan.requests) == plain


def test_void_episodes_give_no_states(fake_id, counting):
    policy = counting()
    plan = make_plan(policy, fake_id, [4], tasks=["void-3", "pass-2"], k=1, num_rollouts=1)
    states = collect_states(policy, plan.make_env, plan.requests)
    assert [(state.task_id, state.turn) for state in states] == [("pass-2", 0), ("pass-2", 1)]


def test_a_policy_sees_the_environment_only_if_it_says_so(fake_id, counting):
    seen = []
    policy = counting(lambda c: seen.append(c.env) or Action("go"))
    plan = make_plan(policy, fake_id, [4], tasks=["pass-2"], k=1, num_rollouts=1)
    collect_states(policy, plan.make_env, plan.requests)
    assert seen == [None, None]
    assert policy.begun == policy.ended == ["pass-2#4#0"]


def test_an_environment_that_cannot_be_saved_is_refused(counting):
    def make_env():
        return InteractionBudget(gym.make("CartPole-v1"), budget=4)

    with pytest.raises(SnapshotError, match="has no snapshot"):
        collect_states(counting(), make_env, [request_episode(0, "a", 4, 0)])


def test_nothing_played_gives_no_states(counting):
    assert collect_states(counting(), lambda: pytest.fail("made an environment"), []) == []


# Pools.


def test_a_pool_has_equally_many_states_of_each_source(collect):
    sources = [collect(name)[1] for name in ("random", "shortest_path")]
    pool = balanced_pool(*sources, num_states=10)
    assert [state.source for state in pool] == ["random"] * 5 + ["shortest_path"] * 5
    assert len({state.key for state in pool}) == 10


def test_a_pool_depends_on_its_seed_alone(collect):
    _, states = collect()
    assert balanced_pool(states, num_states=8) == balanced_pool(states, num_states=8)
    assert balanced_pool(states, num_states=8) != balanced_pool(states, num_states=8, seed=1)


def test_a_source_can_be_taken_whole(collect):
    _, states = collect(tasks=2)
    assert balanced_pool(states, num_states=len(states)) == states


def test_states_are_drawn_from_early_and_late(collect):
    _, states = collect(tasks=20)
    pool = balanced_pool(states, num_states=40)
    first_half = sum(state in states[: len(states) // 2] for state in pool)
    assert 8 < first_half < 32


def test_too_few_states_are_refused(collect):
    _, states = collect(tasks=1)
    with pytest.raises(OptionError, match=r"source 0 has \d+ states, and 1000 are wanted"):
        balanced_pool(states, num_states=1000)


@pytest.mark.parametrize("number", [0, -2, 3])
def test_a_number_that_cannot_be_shared_is_refused(number):
    with pytest.raises(OptionError, match="positive multiple of the 2 sources"):
        balanced_pool([], [], num_states=number)
