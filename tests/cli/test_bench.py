import dataclasses
import itertools
import json
import os
import re
import subprocess
import sys
import tracemalloc

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from hypothesis import given
from hypothesis import strategies as st

import budget_envs  # noqa: F401  # registers the ids
from budget_envs.cli.bench import determinism, layers, speed
from budget_envs.cli.bench.determinism import Rollout, check_determinism
from budget_envs.cli.bench.layers import measure_layers
from budget_envs.cli.bench.memory import measure_memory
from budget_envs.cli.bench.speed import measure_speed, measure_vector_speed
from budget_envs.wrappers import InteractionBudget

LAKE = "budget_envs/FrozenLake-v0"


class Clocked(gym.Env):
    """An environment whose episodes last 5 steps, on a clock of its own that the tests read."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, clock, step_s=1.0, reset_s=10.0):
        self.clock, self.step_s, self.reset_s = clock, step_s, reset_s
        self.turn = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.clock.now += self.reset_s
        self.turn = 0
        return 0, {}

    def step(self, action):
        self.clock.now += self.step_s
        self.turn += 1
        return 0, 0.0, self.turn == 5, False, {}


class Clock:
    """A clock that only moves when it is told to, and a little whenever it is read."""

    def __init__(self, tick=0.0):
        self.now, self.tick = 0.0, tick

    def seconds(self):
        self.now += self.tick
        return self.now

    def nanoseconds(self):
        return int(self.seconds() * 1e9)


class Slow(gym.Wrapper):
    """A wrapper that spends time of its own before and after what it wraps."""

    def __init__(self, env, own_s):
        super().__init__(env)
        self.own_s = own_s

    def step(self, action):
        self.env.unwrapped.clock.now += self.own_s / 2
        result = self.env.step(action)
        self.env.unwrapped.clock.now += self.own_s / 2
        return result


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(speed, "perf_counter", made.seconds)
    monkeypatch.setattr(layers, "perf_counter_ns", made.nanoseconds)
    return made


# Speed.


def test_steps_and_resets_are_told_apart(clock):
    found = measure_speed(Clocked(clock, step_s=0.5, reset_s=10.0), steps=100)
    assert found.steps == 100
    assert found.steps_per_second == pytest.approx(2.0)
    assert found.resets_per_second == pytest.approx(0.1)
    assert found.steps_per_second_with_resets == pytest.approx(100 / (50 + 200))
    assert found.mean_episode_length == 5.0


def test_an_environment_that_never_ends_is_still_reset_a_few_times(clock):
    env = Clocked(clock, reset_s=2.0)
    env.step = lambda action: (setattr(clock, "now", clock.now + 1), 0.0, False, False, {})
    found = measure_speed(env, steps=10)
    assert found.resets_per_second == pytest.approx(0.5)
    assert found.mean_episode_length == 10.0
    assert found.steps_per_second_with_resets == pytest.approx(10 / 12)


def test_without_a_number_the_steps_fill_a_pass(clock):
    found = measure_speed(Clocked(clock, step_s=1e-4, reset_s=0.0))
    assert found.steps == pytest.approx(3000, rel=0.01)


def test_the_fastest_pass_counts(clock):
    env = Clocked(clock, reset_s=0.0)
    slowness = itertools.cycle([3.0] * 10 + [1.0] * 10 + [2.0] * 10)
    play = env.step

    def step(action):
        env.step_s = next(slowness)
        return play(action)

    env.step = step
    assert measure_speed(env, steps=10).steps_per_second == pytest.approx(1.0)


def test_the_same_actions_are_drawn_every_time():
    space = gym.spaces.Discrete(1000)
    assert speed.draw_actions(space, 50) == speed.draw_actions(space, 50)


def test_a_vector_environment_counts_the_steps_of_its_copies(monkeypatch):
    clock = Clock(tick=0.01)
    monkeypatch.setattr(speed, "perf_counter", clock.seconds)
    venv = gym.make_vec("CartPole-v1", num_envs=4)
    found = measure_vector_speed(venv, seconds=1.0)
    assert found.num_envs == 4
    assert found.steps_per_second == pytest.approx(4 / 0.01, rel=0.05)


# Layers.


def test_every_layer_is_given_the_time_it_spends_itself(clock):
    env = Slow(Slow(Clocked(clock, step_s=4.0), own_s=2.0), own_s=2.0)
    found = measure_layers(env, steps=40)
    assert [layer.layer for layer in found] == ["Slow", "Slow", "Clocked"]
    assert [layer.share for layer in found] == pytest.approx([0.25, 0.25, 0.5])
    assert [layer.own_us for layer in found] == pytest.approx([2e6, 2e6, 4e6])


def test_what_the_clocks_cost_is_taken_off(clock):
    clock.tick = 0.5  # reading the clock takes half as long as a step of a wrapper
    env = Slow(Clocked(clock, step_s=4.0), own_s=1.0)
    found = measure_layers(env, steps=40)
    assert [layer.own_us for layer in found] == pytest.approx([1e6, 4e6], rel=1e-6)


def test_a_wrapper_that_goes_its_own_way_counts_with_what_it_wraps(clock):
    class Direct(Slow):
        def step(self, action):
            return type(self.env).step(self.env, action)

    found = measure_layers(Direct(Clocked(clock, step_s=4.0), own_s=0.0), steps=10)
    assert [layer.share for layer in found] == pytest.approx([1.0, 0.0])


def test_the_shares_of_a_real_stack_add_up():
    env = gym.make(LAKE, show_budget=True, oracle=True)
    found = measure_layers(env, steps=200)
    names = ["ShowBudget", "StepOracle", "InteractionBudget", "FrozenLakeEnv"]
    assert [layer.layer for layer in found] == names
    assert sum(layer.share for layer in found) == pytest.approx(1.0)


# Memory.


class Heavy(gym.Env):
    observation_space = action_space = gym.spaces.Discrete(2)
    shared = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        Heavy.shared = Heavy.shared if Heavy.shared is not None else bytearray(10_000_000)
        self.own = np.zeros(100_000, dtype=np.uint8)
        return 0, {}


def test_the_memory_of_a_copy_is_what_it_allocates_alone():
    found, copies = measure_memory(Heavy)
    assert 100_000 <= found < 120_000
    assert copies >= 1


def test_measuring_memory_leaves_tracing_as_it_was():
    measure_memory(Heavy)
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        measure_memory(Heavy)
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_every_copy_is_closed():
    closed = []

    class Closing(Heavy):
        def close(self):
            closed.append(self)

    _, copies = measure_memory(Closing)
    assert len(closed) == copies + 1


# Determinism.


def test_our_environments_are_the_same_in_every_process():
    found = check_determinism(Rollout(LAKE, {"success_rate": 0.8, "show_budget": True}, 60))
    assert found == determinism.Determinism(episode=True, infos=True, processes=3)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a module of environments that other processes can import too."""

    def write(body):
        (tmp_path / "made_envs.py").write_text(
            "import os\nimport gymnasium as gym\n"
            "class Made(gym.Env):\n"
            "    observation_space = action_space = gym.spaces.Discrete(10**6)\n"
            "    def reset(self, *, seed=None, options=None):\n"
            "        super().reset(seed=seed)\n"
            "        return 0, {}\n"
            "    def step(self, action):\n"
            f"        {body}\n"
            "if 'Made-v0' not in gym.registry:\n"
            "    gym.register('Made-v0', entry_point='made_envs:Made')\n",
            encoding="utf-8",
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        return "made_envs:Made-v0"

    yield write
    sys.modules.pop("made_envs", None)
    gym.registry.pop("Made-v0", None)


def test_an_environment_that_uses_hash_is_found_out(module):
    env_id = module("return hash(str(action)) % 10**6, 0.0, False, False, {}")
    found = check_determinism(Rollout(env_id, {}, 20))
    assert (found.episode, found.infos) == (False, True)


def test_an_info_that_differs_is_told_from_an_episode_that_does(module):
    env_id = module("return 0, 0.0, False, False, {'process': os.getpid()}")
    found = check_determinism(Rollout(env_id, {}, 20))
    assert (found.episode, found.infos) == (True, False)


def test_an_environment_that_other_processes_do_not_know_is_not_judged(monkeypatch):
    spec = EnvSpec("OnlyHere-v0", entry_point=lambda: gym.make("CartPole-v1"))
    monkeypatch.setitem(gym.registry, spec.id, spec)
    found = check_determinism(Rollout("OnlyHere-v0", {}, 5))
    assert found.episode is None
    assert "OnlyHere-v0" in found.problem


def test_another_seed_is_another_rollout():
    rollout = Rollout(LAKE, {}, 30)
    assert rollout.play() == rollout.play()
    assert rollout.play() != dataclasses.replace(rollout, seed=1).play()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Recorded:
    def __init__(self):
        self.bytes = b""

    def update(self, more):
        self.bytes += more


@given(values, values)
def test_only_equal_values_of_equal_types_look_alike_to_the_hash(left, right):
    first, second = Recorded(), Recorded()
    determinism._feed(first, left)
    determinism._feed(second, right)
    assert (first.bytes == second.bytes) == (repr_sorted(left) == repr_sorted(right))


def repr_sorted(value):
    """Return a value as text that does not depend on the order of keys."""
    if isinstance(value, dict):
        return repr(sorted((key, repr_sorted(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return repr([repr_sorted(inner) for inner in value])
    return repr(value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.array([1, 2], np.int64), np.array([1, 2], np.int32)),
        (np.array([[1, 2]]), np.array([[1], [2]])),
        (np.float32(0.5), 0.5),
        (1, True),
        ((1,), [1]),
        ({}, []),
        ([[1], 2], [[1, 2]]),
    ],
)
def test_values_of_other_type_or_shape_differ(left, right):
    first, second = Recorded(), Recorded()
    determinism._feed(first, left)
    determinism._feed(second, right)
    assert first.bytes != second.bytes


# The command.


def test_the_command_reports_every_measure_as_json(cli):
    document = cli("bench", LAKE, "--steps", "50", "--set", "show_budget=true", "--json").document
    assert document["id"] == LAKE
    assert document["settings"] == {"show_budget": True}
    assert document["speed"]["steps"] == 50
    assert document["speed"]["steps_per_second"] > 0
    assert document["layers"][0]["layer"] == "ShowBudget"
    assert document["vector"]["num_envs"] == 1024
    assert document["bytes_per_env"] > 0
    assert document["determinism"]["episode"] is True


def test_a_foreign_environment_is_measured_too(cli):
    done = cli("bench", "MountainCar-v0", "--steps", "50")
    assert done.code == 0
    assert "MountainCarEnv" in done.out
    assert "vector environment" in done.out
    assert "yes (3 compared)" in done.out


def test_a_budget_can_be_measured_around_any_environment():
    env = InteractionBudget(gym.make("CartPole-v1"), budget=5)
    assert measure_layers(env, steps=50)[0].layer == "InteractionBudget"


def test_an_environment_that_is_not_installed_ends_with_1(cli, monkeypatch):
    def fail(*args, **keywords):
        raise gym.error.DependencyNotInstalled("pip install box2d")

    monkeypatch.setattr(gym, "make", fail)
    done = cli("bench", "CartPole-v1")
    assert (done.code, done.err) == (1, "budget-envs: pip install box2d\n")


def test_the_program_of_determinism_writes_json_to_a_file(tmp_path):
    rollout, result = Rollout(LAKE, {}, 5), tmp_path / "digests.json"
    subprocess.run(
        [sys.executable, "-m", "budget_envs.cli.bench.determinism", str(result)],
        input=json.dumps(dataclasses.asdict(rollout)),
        text=True,
        check=True,
    )
    assert json.loads(result.read_text()) == dataclasses.asdict(rollout.play())


# Environments that behave badly.


LOUD = "print('{\"episode\": 1}'); os.write(1, b'\\xff raw'); return 0, 0.0, False, False, {}"


def test_an_environment_that_prints_is_compared_like_any_other(module):
    found = check_determinism(Rollout(module(LOUD), {}, 3))
    assert found == determinism.Determinism(episode=True, infos=True, processes=3)


def test_what_an_environment_prints_is_no_part_of_the_json(cli, module):
    env_id = module("print('noise'); return 0, 0.0, False, False, {}")
    done = cli("bench", env_id, "--steps", "5", "--json")
    assert done.code == 0
    assert done.document["determinism"]["episode"] is True
    assert "noise" in done.err


def test_an_environment_that_ends_other_processes_is_not_judged(module):
    env_id = module(
        f"os._exit(0) if os.getpid() != {os.getpid()} else None; return 0, 0.0, False, False, {{}}"
    )
    found = check_determinism(Rollout(env_id, {}, 3))
    assert found.episode is None
    assert "ended the process" in found.problem


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise ValueError('no such move')", r"ValueError: no such move \(step, line "),
        ("raise SystemExit(0)", r"SystemExit: 0 \(step, line "),
        ("return None", r"AssertionError: Expects step result to be a tuple"),
    ],
)
def test_an_environment_that_breaks_is_named_with_what_it_said(cli, module, body, expected):
    env_id = module(body)
    done = cli("bench", env_id, "--steps", "5")
    assert done.code == 1
    assert re.search(f"budget-envs: {env_id} broke while it was measured: {expected}", done.err)


@pytest.mark.parametrize("steps", [0, -1, 10**9 + 1, 10**18])
def test_a_number_of_steps_that_is_none_is_misuse(cli, steps):
    done = cli("bench", LAKE, f"--steps={steps}")
    assert (done.code, done.out) == (2, "")
    assert f"--steps must be in 1 ... 1,000,000,000, got {steps}" in done.err
