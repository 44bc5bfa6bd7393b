import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs import Snapshot, TextEnv
from budget_envs.envs.frozen_lake import FrozenLakeEnv
from budget_envs.errors import EnvStateError, SnapshotError
from budget_envs.streams import uniform


class CountdownEnv(TextEnv[int]):
    """The smallest environment: say "down" until zero; "void" cannot be judged."""

    def __init__(self, render_mode=None):
        super().__init__(action_examples=("down", "wait"), render_mode=render_mode)
        self.left = 0

    def draw_task(self, key):
        return 1 + int(uniform(key, 0) * 5)

    def load_task(self, task_id):
        return int(task_id)

    def task_at(self, split, index):
        return index + 1

    def name_task(self, task):
        return str(task)

    def begin(self, task):
        self.left = task
        return f"{task} to go", {}

    def act(self, action):
        if action == "void":
            return "the judge is gone", 0.0, "void", {"invalid_action": False}
        self.left -= action == "down"
        verdict = "pass" if self.left == 0 else None
        return f"{self.left} to go", float(self.left == 0), verdict, {"invalid_action": False}

    @property
    def state_key(self):
        return str(self.left)

    def save(self):
        return {"left": self.left}

    def load(self, state):
        self.left = state["left"]

    def describe(self):
        return str(self.left)


def test_an_environment_in_few_lines_keeps_the_contract():
    env = CountdownEnv()
    text, info = env.reset(seed=0, options={"task": "2"})
    assert (text, info) == (
        "2 to go",
        {"task_id": "2", "turn": 0, "state_key": "2", "invalid_action": False},
    )
    env.step("down")
    text, reward, terminated, truncated, info = env.step("down")
    assert (text, reward, terminated, truncated) == ("0 to go", 1.0, True, False)
    assert (info["turn"], info["is_success"], info["verdict"]) == (2, True, "pass")


def test_a_void_verdict_truncates_with_a_reward_that_cannot_be_averaged_in():
    env = CountdownEnv()
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step("void")
    assert math.isnan(reward)
    assert (terminated, truncated) == (False, True)
    assert (info["verdict"], info["is_success"]) == ("void", False)
    assert info["truncation_reason"] == "void"
    with pytest.raises(EnvStateError):
        env.step("down")


def test_verdict_keys_come_on_the_last_step_only():
    env = CountdownEnv()
    env.reset(seed=0, options={"task": "2"})
    info = env.step("down")[4]
    assert "verdict" not in info
    assert "is_success" not in info


def test_an_index_alone_names_nothing_but_with_its_split_a_task():
    env = CountdownEnv()
    assert env.reset(options={"split": "train", "index": 4})[1]["task_id"] == "5"


def test_actions_in_infos_are_fresh_objects():
    env = CountdownEnv()
    _, first = env.reset(seed=0)
    _, second = env.reset(seed=0)
    assert first == second
    assert first is not second


actions = st.lists(st.sampled_from(["Left", "Down", "Right", "Up", "nonsense", ""]), max_size=12)


def play(env, some_actions):
    seen = []
    for action in some_actions:
        seen.append(env.step(action))
        if seen[-1][2] or seen[-1][3]:
            break
    return seen


@given(st.integers(0, 2**32), actions, actions, st.sampled_from([1.0, 0.8, 1 / 3]))
def test_after_restore_the_same_actions_give_the_same_bytes(seed, before, after, success_rate):
    env = FrozenLakeEnv(success_rate=success_rate)
    env.reset(seed=seed)
    if any(step[2] for step in play(env, before)):
        return
    saved = env.snapshot()
    first = play(env, after)
    follow_up = env.reset()
    env.restore(saved)
    assert play(env, after) == first
    assert env.reset() == follow_up


@given(st.integers(0, 2**32), actions)
def test_a_snapshot_moves_to_another_environment_through_pickle(seed, after):
    env = FrozenLakeEnv(success_rate=0.5)
    env.reset(seed=seed)
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    other = FrozenLakeEnv(success_rate=0.5)
    other.reset(seed=seed + 1)
    other.restore(saved)
    assert other.state_key == env.state_key
    assert play(other, after) == play(env, after)


def test_a_snapshot_of_a_finished_episode_restores_as_finished():
    env = FrozenLakeEnv(desc=["SG"])
    env.reset(seed=0)
    env.step("Right")
    saved = env.snapshot()
    env.reset()
    env.restore(saved)
    with pytest.raises(EnvStateError, match="after the episode ended"):
        env.step("Right")


def test_stepping_does_not_change_a_snapshot():
    env = FrozenLakeEnv(success_rate=0.5)
    env.reset(seed=0)
    saved = env.snapshot()
    before = copy.deepcopy(saved)
    play(env, ["Left", "Up", "Left"])
    env.reset()
    assert saved == before


def test_a_snapshot_before_reset_is_refused():
    with pytest.raises(EnvStateError, match="before reset"):
        FrozenLakeEnv().snapshot()


def test_a_snapshot_of_another_environment_is_refused():
    lake, countdown = FrozenLakeEnv(), CountdownEnv()
    lake.reset(seed=0)
    countdown.reset(seed=0)
    with pytest.raises(SnapshotError, match="expected a snapshot of CountdownEnv"):
        countdown.restore(lake.snapshot())


def test_a_snapshot_holds_layer_state_and_inner():
    env = CountdownEnv()
    env.reset(seed=0)
    saved = env.snapshot()
    assert isinstance(saved, Snapshot)
    assert (saved.layer, saved.inner) == ("CountdownEnv", None)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("started", [False, True])
def test_copies_of_an_environment_play_alike(copied, started):
    env = FrozenLakeEnv(success_rate=0.5)
    if started:
        env.reset(seed=4)
        env.step("Up")
    twin = copied(env)
    if not started:
        assert env.reset(seed=4) == twin.reset(seed=4)
    if env.turn == 0 or env._running:
        assert play(env, ["Left", "Up"]) == play(twin, ["Left", "Up"])
