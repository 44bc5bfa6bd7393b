"""What every id promises, tested on every id. A new environment gets no special case here."""

import copy
import json
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import budget_envs
from budget_envs.registration import FAMILIES, PRESETS

IDS = [preset.id for preset in PRESETS]
STACKED = {
    "budget": {"turns": 6, "tokens": 4000},
    "show_budget": True,
    "oracle": True,
    "budget_mix": {"seed": 1},
    "error_states": {"rate": 0.3, "kind": ["wrong_action", "stale"], "seed": 5},
}
WEIRD = ["", "x" * 100_000, "\U0001f600", "\x00", "\ud800", "<answer>", "```", "\n" * 50]

every_id = pytest.mark.parametrize("env_id", IDS)


def stacked(env_id):
    family = next(preset.family for preset in PRESETS if preset.id == env_id)
    keywords = dict(STACKED)
    if FAMILIES[family].oracle is None:
        keywords.pop("oracle")
        keywords.pop("error_states")
    return keywords


def variants(env_id):
    return [{}, {"budget": 4}, {"budget": 4, "show_budget": True}, stacked(env_id)]


def play(env, actions, seed=0, **options):
    seen = [env.reset(seed=seed, **options)]
    for action in actions:
        seen.append(env.step(action))
        if seen[-1][2] or seen[-1][3]:
            break
    return seen


def sampled(env, count, seed):
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(count)]


@every_id
def test_check_env_has_no_complaint_about_the_environment(env_id):
    env = gym.make(env_id).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


@every_id
def test_check_env_has_no_complaint_about_the_stacked_wrappers(env_id):
    # The checker takes two steps: no drawn budget may be smaller.
    keywords = {**stacked(env_id), "budget": {"turns": 20, "tokens": 4000}}
    env = gym.make(env_id, render_mode="ansi", **keywords)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Said of every wrapped environment, whatever it does.
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        check_env(env)


@every_id
def test_specs_rebuild_the_same_environment_also_through_json(env_id):
    for keywords in variants(env_id):
        env = gym.make(env_id, **keywords)
        text = env.spec.to_json()
        again = [gym.make(env.spec), gym.make(EnvSpec.from_json(text))]
        actions = sampled(env, 6, seed=1)
        expected = play(env, actions)
        for twin in again:
            assert str(twin) == str(env)
            assert json.loads(twin.spec.to_json()) == json.loads(text)
            assert play(twin, actions) == expected


@every_id
def test_environments_pickle_and_copy_before_and_after_reset(env_id):
    for keywords in variants(env_id):
        env = gym.make(env_id, **keywords)
        actions = sampled(env, 5, seed=2)
        twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        expected = play(env, actions)
        assert [play(twin, actions) for twin in twins] == [expected, expected]
        env.reset(seed=9)
        twin = pickle.loads(pickle.dumps(env))
        assert twin.step(actions[0]) == env.step(actions[0])


@every_id
def test_episodes_are_equal_in_processes_with_other_hash_seeds(env_id):
    code = (
        "import sys, gymnasium as gym, budget_envs, json\n"
        "env = gym.make(sys.argv[1], budget=4, show_budget=True)\n"
        "env.action_space.seed(0); out = []\n"
        "for episode in range(4):\n"
        "    out.append(repr(env.reset(seed=3 if episode == 0 else None)))\n"
        "    over = False\n"
        "    while not over:\n"
        "        step = env.step(env.action_space.sample()); over = step[2] or step[3]\n"
        "        out.append(repr(step))\n"
        "print(out)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, env_id],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


@every_id
@pytest.mark.parametrize("action", WEIRD)
def test_any_text_is_answered_and_costs_one_turn(env_id, action):
    env = gym.make(env_id, budget=3, show_budget=True)
    env.reset(seed=0)
    text, _, terminated, truncated, info = env.step(action)
    assert text in env.observation_space
    text.encode("utf-8")
    assert info["turn"] == 1
    if not (terminated or truncated):
        assert info["budget"]["turns"] == {"limit": 3, "used": 1, "remaining": 2}


@every_id
@settings(max_examples=20)
@given(budget=st.integers(1, 7), seed=st.integers(0, 2**31))
def test_a_budget_of_t_allows_exactly_t_steps(env_id, budget, seed):
    env = gym.make(env_id, budget=budget)
    env.reset(seed=seed)
    flags = []
    while not flags or flags[-1] == (False, False):
        flags.append(env.step("")[2:4])
        assert len(flags) <= budget
    assert len(flags) == budget
    assert flags[-1] == (False, True)


@every_id
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**31),
    before=st.integers(0, 3),
    picks=st.lists(st.integers(0, 10), min_size=1, max_size=6),
)
def test_snapshots_are_exact_with_every_wrapper_stacked(env_id, seed, before, picks):
    env = gym.make(env_id, **stacked(env_id))
    examples = [*env.action_space.examples, "not an action"]
    env.reset(seed=seed)
    for _ in range(before):
        if any(env.step(examples[0])[2:4]):
            return
    saved = env.snapshot()

    def rest():
        seen = []
        for pick in picks:
            seen.append(env.step(examples[pick % len(examples)]))
            if any(seen[-1][2:4]):
                break
        return [*seen, env.reset()]

    first = rest()
    env.restore(pickle.loads(pickle.dumps(saved)))
    assert rest() == first


@every_id
def test_infos_have_the_promised_keys_on_reset_and_on_every_step(env_id):
    env = gym.make(env_id, budget=3)
    seen = play(env, [""] * 3)
    infos = [seen[0][1], *(step[4] for step in seen[1:])]
    for info in infos:
        assert isinstance(info["task_id"], str)
        assert isinstance(info["turn"], int)
        assert isinstance(info["state_key"], str)
        assert isinstance(info["invalid_action"], bool)
        assert not any(key.startswith("_") for key in info)
    assert infos[-1]["is_success"] is False
    assert infos[-1]["verdict"] == "fail"
    assert infos[-1]["truncation_reason"] == "budget"
    assert infos[-1]["budget"]["exhausted"] == "turns"


@every_id
def test_state_keys_are_free_of_budget_and_faults(env_id):
    plain, full = gym.make(env_id, budget=None), gym.make(env_id, budget=6, show_budget=True)
    actions = sampled(plain, 5, seed=4)
    keys = [[info["state_key"] for *_, info in play(env, actions, seed=8)] for env in (plain, full)]
    assert keys[0] == keys[1]


@every_id
def test_a_task_id_names_its_task(env_id):
    env = gym.make(env_id)
    text, info = env.reset(seed=11)
    again, named = gym.make(env_id).reset(seed=99, options={"task": info["task_id"]})
    assert (again, named["task_id"]) == (text, info["task_id"])


@every_id
def test_the_tasks_of_the_splits_differ(env_id):
    env = gym.make(env_id).unwrapped
    names = [
        env.name_task(env.task_at(split, index))
        for split in budget_envs.text_env.TASK_SPLITS
        for index in range(6)
    ]
    assert len(set(names)) == len(names)


@every_id
def test_five_unseeded_resets_after_a_seed_are_the_same_every_time(env_id):
    def tasks():
        env = gym.make(env_id)
        return [env.reset(seed=1 if i == 0 else None)[1]["task_id"] for i in range(5)]

    assert tasks() == tasks()


@every_id
def test_synchronous_and_asynchronous_vectors_equal_scalar_environments(env_id):
    scalar = [gym.make(env_id, budget=3, show_budget=True) for _ in range(2)]
    actions = sampled(scalar[0], 2, seed=6)
    expected = [env.reset(seed=5 + i)[0] for i, env in enumerate(scalar)]
    stepped = [env.step(actions[i])[0] for i, env in enumerate(scalar)]
    for mode in ("sync", "async"):
        envs = budget_envs.make_vec(env_id, 2, vectorization_mode=mode, budget=3, show_budget=True)
        try:
            assert list(envs.reset(seed=5)[0]) == expected
            assert list(envs.step(tuple(actions))[0]) == stepped
        finally:
            envs.close()


@every_id
def test_asynchronous_vectors_with_shared_memory_are_refused(env_id):
    with pytest.raises((gym.error.CustomSpaceError, ValueError), match=r"(?i)shared.memory|custom"):
        gym.make_vec(env_id, 2, vectorization_mode="async", vector_kwargs={"shared_memory": True})


@every_id
def test_episode_statistics_are_recorded_outside_and_inside(env_id):
    env = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id, budget=2))
    assert play(env, [""] * 2)[-1][4]["episode"]["l"] == 2


@every_id
def test_class_metadata_is_not_changed_by_making_environments(env_id):
    before = copy.deepcopy(budget_envs.TextEnv.metadata)
    gym.make_vec(env_id, 2, vectorization_mode="sync").close()
    gym.make_vec(env_id, 2).close()
    assert budget_envs.TextEnv.metadata == before
    assert gym.make(env_id).metadata == before
