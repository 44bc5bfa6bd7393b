import copy
import pickle

import gymnasium as gym
import pytest
from gymnasium.wrappers import TimeLimit
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.errors import EnvStateError, SnapshotError
from budget_envs.snapshot import Snapshot
from budget_envs.wrappers import (
    BudgetMix,
    DiscreteActions,
    ErrorStates,
    InteractionBudget,
    NumericObservation,
    ShowBudget,
    StepOracle,
)

ORACLE = "budget_envs.oracles.frozen_lake:FrozenLakeOracle"
ACTIONS = ["Left", "Down", "Right", "Up", "", "<answer>Up</answer>", "\ud800"]


def text_stack(budget=None):
    env = FrozenLakeEnv(success_rate=0.8)
    env = BudgetMix(env, budget=budget or {"turns": 10, "tokens": 60, "cost": 9})
    env = ErrorStates(env, rate=0.4, kind=["wrong_action", "stale", "garbled"], oracle=ORACLE)
    return ShowBudget(StepOracle(env, oracle=ORACLE), when=["half", 1])


def numeric_stack():
    env = InteractionBudget(FrozenLakeEnv(success_rate=0.8), budget=9)
    env = ErrorStates(env, rate=0.4, oracle=ORACLE)
    env = StepOracle(env, oracle=ORACLE, reward=True)
    return ShowBudget(NumericObservation(DiscreteActions(env)))


def foreign_stack():
    """With a Gymnasium limit inside, whose count belongs to the state too."""
    return ShowBudget(InteractionBudget(TimeLimit(FrozenLakeEnv(), 6), budget=9))


@pytest.fixture
def saved_spy(spy_class):
    class Saved(spy_class):
        def snapshot(self):
            return Snapshot("Saved", {})

        def restore(self, snapshot):
            snapshot.check_layer("Saved")

    return Saved()


STACKS = {
    "text": (text_stack, ACTIONS),
    "turns only": (lambda: text_stack(8), ACTIONS),
    "numeric": (numeric_stack, [0, 1, 2, 3]),
    "time limit": (foreign_stack, ACTIONS),
}


def play(env, actions):
    """Step, charge now and then, and reset where an episode ends; return everything seen."""
    seen = []
    for number, action in enumerate(actions):
        if number % 3 == 1:
            env.charge(tokens=number % 5, cost=0.25)
        step = env.step(action)
        seen.append(step)
        if step[2] or step[3]:
            seen.append(env.reset())
    return seen


@pytest.mark.parametrize("name", STACKS)
@given(choices=st.data(), seed=st.integers(0, 99))
def test_after_restore_the_same_actions_give_the_same_everything(name, same, choices, seed):
    make, actions = STACKS[name]
    some = st.lists(st.sampled_from(actions), max_size=8)
    before, after = choices.draw(some), choices.draw(some)
    env = make()
    env.reset(seed=seed)
    play(env, before)
    saved = env.snapshot()
    frozen = pickle.dumps(saved)
    expected = play(env, after)
    twin = make()
    twin.reset(seed=seed + 1)
    for each, state in ((env, saved), (twin, pickle.loads(frozen)), (twin, saved)):
        each.restore(state)
        assert same(play(each, after), expected)
    assert pickle.dumps(saved) == frozen


@pytest.mark.parametrize("name", STACKS)
def test_a_snapshot_shares_nothing_with_the_living_environment(name, same):
    make, actions = STACKS[name]
    env = make()
    env.reset(seed=5)
    env.step(actions[0])
    saved = env.snapshot()
    before = copy.deepcopy(saved)
    play(env, actions * 3)
    assert same(unfolded(saved), unfolded(before))


@pytest.mark.parametrize("name", STACKS)
def test_a_copy_in_the_middle_of_an_episode_goes_on_alike(name, same):
    make, actions = STACKS[name]
    env = make()
    env.reset(seed=5)
    env.step(actions[0])
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = play(env, actions)
    assert all(same(play(twin, actions), expected) for twin in twins)


def unfolded(snapshot):
    layers = []
    while snapshot is not None:
        layers.append((snapshot.layer, dict(snapshot.state)))
        snapshot = snapshot.inner
    return layers


def test_each_layer_has_its_part():
    env = text_stack()
    env.reset(seed=0)
    assert [layer for layer, _ in unfolded(env.snapshot())] == [
        "ShowBudget",
        "StepOracle",
        "ErrorStates",
        "BudgetMix",
        "FrozenLakeEnv",
    ]


def test_an_environment_that_cannot_be_saved_says_so():
    env = InteractionBudget(gym.make("CartPole-v1").unwrapped, budget=3)
    env.reset(seed=0)
    with pytest.raises(SnapshotError, match=r"no snapshot\(\)"):
        env.snapshot()


def test_a_snapshot_of_another_stack_is_refused_and_changes_nothing():
    env, other = numeric_stack(), InteractionBudget(FrozenLakeEnv(), budget=9)
    env.reset(seed=0)
    other.reset(seed=0)
    other.step("Left")
    with pytest.raises(SnapshotError, match="expected a snapshot of InteractionBudget"):
        other.restore(env.snapshot())
    assert other.ledger.used["turns"] == 1


def test_before_reset_there_is_nothing_to_save():
    with pytest.raises(EnvStateError, match="before reset"):
        text_stack().snapshot()


def test_snapshots_of_an_ended_episode_are_of_an_ended_episode():
    env = InteractionBudget(FrozenLakeEnv(desc=["SFFG"]), budget=1)
    env.reset(seed=0)
    env.step("Left")
    saved = env.snapshot()
    env.reset()
    env.restore(saved)
    with pytest.raises(EnvStateError, match="after the episode ended"):
        env.step("Left")


def test_many_actions_can_be_tried_from_one_state():
    env = text_stack({"turns": 10})
    env.reset(seed=0, options={"budget": 10})
    saved = env.snapshot()
    tried = {}
    for action in ("Left", "Down", "Right", "Up"):
        env.restore(saved)
        tried[action] = env.step(action)
    env.restore(saved)
    assert env.step("Down") == tried["Down"]
    assert all(step[-1]["budget"]["turns"]["used"] == 1 for step in tried.values())


def test_a_charge_is_part_of_the_state(corridor):
    env, twin = (InteractionBudget(corridor(), budget={"tokens": 50}) for _ in range(2))
    env.reset(seed=0)
    env.charge(tokens=20)
    twin.restore(env.snapshot())
    report = twin.step("Left")[-1]["budget"]["tokens"]
    assert (report["used"], report["counter"]) == (20, "charged")


def test_what_a_refused_step_repeats_is_part_of_the_state(corridor):
    env, twin = (InteractionBudget(corridor(), budget={"tokens": 9}) for _ in range(2))
    env.reset(seed=0)
    before = env.step("Right")[-1]
    twin.restore(env.snapshot())
    after = twin.step("too long")[-1]
    assert after["action_executed"] is False
    assert after["state_key"] == before["state_key"]
    assert after["turn"] == 1


def test_changing_what_was_handed_out_changes_no_snapshot(saved_spy):
    env = InteractionBudget(saved_spy, budget={"tokens": 9})
    _, info = env.reset()
    saved = env.snapshot()
    info["nested"]["list"].append(2)
    env.restore(saved)
    assert env.step("much too long")[-1]["nested"] == {"list": [1]}


def test_restoring_an_episode_with_another_budget_brings_its_budget():
    env = InteractionBudget(FrozenLakeEnv(desc=["SFFG"]), budget=9)
    env.reset(seed=0, options={"budget": {"turns": 2, "tokens": 30}})
    saved = env.snapshot()
    env.reset()
    env.restore(saved)
    info = env.step("Left")[-1]
    assert info["budget"]["turns"]["limit"] == 2
    assert info["budget"]["tokens"]["used"] == 4
