import ast
import typing

import gymnasium as gym
import numpy as np
import pytest

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.spaces import TextSpace

CORRIDOR = ["SFFG"]  # three moves to the right
POND = ["SFF", "FHF", "FFG"]


class SpyEnv(gym.Env):
    """A foreign text environment that never ends by itself, and remembers what was done to it.

    An action "calls 3" reports three calls, "end" terminates, "lost" truncates with a reason of
    its own, "cut" without a reason, "void" ends as an environment that could not judge.
    """

    metadata: typing.ClassVar = {"render_modes": ["ansi"]}
    render_mode = None

    def __init__(self, task_id=None, calls_allowed="absent"):
        self.observation_space = TextSpace()
        self.action_space = TextSpace(["wait"])
        self.task = {} if task_id is None else {"task_id": task_id, "executed_action": ""}
        if calls_allowed != "absent":
            self.calls_allowed = calls_allowed
        self.actions, self.options, self.infos, self.allowed = [], [], [], []

    def _told(self, info):
        self.infos.append((info, repr(info)))
        return info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.options.append(options)
        return "start", self._told({**self.task, "nested": {"list": [1]}})

    def step(self, action):
        self.actions.append(action)
        self.allowed.append(getattr(self, "calls_allowed", None))
        info = {**self.task, "nested": {"list": [1]}}
        if action.startswith("calls "):
            info["calls"] = ast.literal_eval(action.split()[1])
        if action in ("lost", "void"):
            info["truncation_reason"] = {"lost": "sandbox_lost", "void": "void"}[action]
        if action == "void":
            info.update(is_success=False, verdict="void")
        reward = float("nan") if action == "void" else 0.5
        cut = action in ("lost", "cut", "void")
        return f"saw {action}", reward, action == "end", cut, self._told(info)


@pytest.fixture
def spy_env():
    return SpyEnv


@pytest.fixture(scope="session")
def spy_class():
    return SpyEnv


@pytest.fixture(scope="session")
def corridor_env():
    return lambda: FrozenLakeEnv(desc=CORRIDOR)


@pytest.fixture
def corridor():
    return lambda **keywords: FrozenLakeEnv(desc=CORRIDOR, **keywords)


@pytest.fixture
def pond():
    return lambda **keywords: FrozenLakeEnv(desc=POND, **keywords)


@pytest.fixture
def play():
    """Play an episode to its end, or through the actions; return what reset and step returned."""

    def run(env, actions, **reset):
        seen = [env.reset(**{"seed": 0, **reset})]
        for action in actions:
            seen.append(env.step(action))
            if seen[-1][2] or seen[-1][3]:
                break
        return seen

    return run


@pytest.fixture(scope="session")
def same():
    """Compare nested results that may hold arrays."""

    def equal(a, b):
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return np.array_equal(a, b) and a.dtype == b.dtype
        if isinstance(a, dict):
            return (
                isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
            )
        if isinstance(a, list | tuple):
            return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
        return type(a) is type(b) and (a == b or (a != a and b != b))

    return equal
