import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

import budget_envs
from budget_envs.budget import Budget
from budget_envs.envs.frozen_lake import FrozenLakeEnv, vector_budget, vector_lakes
from budget_envs.envs.frozen_lake.vector import FrozenLakeVectorEnv
from budget_envs.errors import (
    BudgetEnvsError,
    BudgetError,
    EnvStateError,
    OptionError,
    UnsupportedError,
)
from budget_envs.registration import build, build_vec

MODES = list(AutoresetMode)
NAMES = ["Left", "Down", "Right", "Up"]
every_mode = pytest.mark.parametrize("mode", MODES)


def native(num_envs, mode=AutoresetMode.NEXT_STEP, **keywords):
    return FrozenLakeVectorEnv(num_envs=num_envs, autoreset_mode=mode, **keywords)


def scalars(num_envs, mode=AutoresetMode.NEXT_STEP, **keywords):
    makers = [lambda: build(family="frozen_lake", **keywords)] * num_envs
    return SyncVectorEnv(makers, autoreset_mode=mode)


def assert_equal(found, expected, path="result"):
    """Equal in value and in type, down to dtypes, masks and elements."""
    assert type(found) is type(expected), path
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for key in expected:
            assert_equal(found[key], expected[key], f"{path}[{key!r}]")
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), path
        assert_equal(found.tolist(), expected.tolist(), path)
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected), path
        for number, pair in enumerate(zip(found, expected, strict=True)):
            assert_equal(*pair, f"{path}[{number}]")
    else:
        assert found == expected, path


def states(env):
    return [generator.bit_generator.state for generator in env.np_random]


def random_names(num_envs, seed):
    rng = np.random.default_rng(seed)
    while True:
        yield [NAMES[number] for number in rng.integers(0, 4, num_envs)]


def play(env, batches, *, reset_mask=True, seed=0):
    """Everything that an environment gives over some batches of actions."""
    seen = [env.reset(seed=seed)]
    disabled = env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    for batch in batches:
        seen.append(env.step(batch))
        ended = seen[-1][2] | seen[-1][3]
        if disabled and ended.any():
            seen.append(env.reset(options={"reset_mask": ended}))
    return seen


def assert_plays_equal(num_envs, mode, steps, **keywords):
    def batches():
        source = random_names(num_envs, seed=1)
        return (next(source) for _ in range(steps))

    ours = play(native(num_envs, mode, **keywords), batches())
    theirs = play(scalars(num_envs, mode, **keywords), batches())
    assert_equal(ours, theirs)


# Random settings, seeds, options and actions: what native gives is what scalars give.

PLACES = [
    {},
    {"map_name": "4x4"},
    {"desc": ["SFF", "FHG"]},
    {"desc": ["SG"]},
    {"size": 3},
    {"size": [3, 6], "frozen_share": 0.7},
    {"placement": "corners"},
    {"size": (4, 5), "split": "train"},
    {"budget": 3, "feasible_only": True},
    {"budget": 3, "size": 5, "infeasible_share": 0.5},
]
SHOWN = [
    True,
    "last_turn",
    "total_only",
    "never",
    ["half", 1],
    {"when": [2], "template": "({remaining} {resource} of {limit}, {used} used)"},
]
BUDGETS = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"budget": st.sampled_from([1, 2, 5, {"turns": 3}, Budget(turns=4)])},
        optional={
            "on_exhausted": st.sampled_from(["truncate", "terminate"]),
            "show_budget": st.sampled_from(SHOWN),
        },
    ),
)
SETTINGS = st.builds(
    lambda budget, place, rate: {**budget, **place, "success_rate": rate},
    BUDGETS,
    st.sampled_from(PLACES),
    st.sampled_from([1, 0.8, 1 / 3]),
)
TEXTS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(["left", "UP", "<answer>Right</answer>", "I go\n**Down**.", "```\nup\n```"]),
    st.sampled_from(["", "north", "\x00", "\ud800", "\U0001f600", "<answer>", "Left Right"]),
    st.text(max_size=60),
)
OPTIONS = st.one_of(
    st.none(),
    st.just({}),
    st.sampled_from([{"rollout": 2}, {"rollout": 3, "common_random_numbers": True}]),
    st.sampled_from([{"task": "SFF/HFG"}, {"task": "SFFFFFF/FFFFFFG", "rollout": 1}]),
    st.sampled_from([{"split": "test", "index": 1}]),
    st.sampled_from([{"budget": 2}, {"budget": {"turns": None}}, {"budget": {"turns": 7}}]),
)


@st.composite
def operations(draw, num_envs):
    kind = draw(st.sampled_from(["step"] * 12 + ["reset", "masked reset", "look"]))
    if kind == "step":
        return kind, draw(st.lists(TEXTS, min_size=num_envs, max_size=num_envs))
    seeds = st.one_of(
        st.none(),
        st.integers(0, 2**64),
        st.lists(st.none() | st.integers(0, 9), min_size=num_envs, max_size=num_envs),
    )
    mask = draw(st.lists(st.booleans(), min_size=num_envs, max_size=num_envs).filter(any))
    return kind, (draw(seeds), draw(OPTIONS), mask)


def apply(env, operation):
    """Carry out one operation; an error counts as its result."""
    kind, value = operation
    if kind == "look":
        return states(env)
    if kind == "step":
        return env.step(value)
    seed, options, mask = value
    options = None if options is None else dict(options)
    if kind == "masked reset":
        options = {**(options or {}), "reset_mask": np.array(mask)}
    try:
        return env.reset(seed=seed, options=options)
    except BudgetEnvsError as error:
        return type(error), str(error)


@settings(max_examples=150)
@given(st.data())
def test_every_result_equals_that_of_scalar_environments(data):
    num_envs = data.draw(st.integers(1, 4))
    mode = data.draw(st.sampled_from(MODES))
    keywords = data.draw(SETTINGS)
    ours, theirs = native(num_envs, mode, **keywords), scalars(num_envs, mode, **keywords)
    expected = theirs.reset(seed=5)
    assert_equal(ours.reset(seed=5), expected)
    for operation in data.draw(st.lists(operations(num_envs), max_size=25)):
        expected = apply(theirs, operation)
        assert_equal(apply(ours, operation), expected)
        if isinstance(expected[0], type):
            return  # a refused reset leaves scalar copies half reset: see the tests of errors
        if mode is AutoresetMode.DISABLED and operation[0] == "step":
            ended = expected[2] | expected[3]
            if ended.any():
                again = {"reset_mask": ended}
                assert_equal(ours.reset(options=dict(again)), theirs.reset(options=dict(again)))


@every_mode
@pytest.mark.parametrize("budget", [None, 7])
def test_long_runs_on_a_shared_map_equal_scalar_ones(mode, budget):
    assert_plays_equal(5, mode, 120, map_name="4x4", success_rate=1 / 3, budget=budget)


@every_mode
def test_long_runs_on_fresh_maps_of_mixed_sizes_equal_scalar_ones(mode):
    assert_plays_equal(4, mode, 120, size=[2, 6], success_rate=0.8, budget=6, show_budget=True)


@every_mode
def test_keys_drawn_in_advance_are_those_of_scalar_environments(mode):
    assert_plays_equal(3, mode, 200, desc=["SG"])  # about a hundred episodes for each copy


@every_mode
def test_infeasible_shares_are_those_of_scalar_environments(mode):
    assert_plays_equal(4, mode, 30, size=5, budget=3, infeasible_share=0.5)


def test_texts_are_equal_after_the_table_of_texts_was_dropped(monkeypatch):
    monkeypatch.setattr(vector_lakes, "_MAX_CHARACTERS", 500)
    assert_plays_equal(4, AutoresetMode.NEXT_STEP, 60, map_name="8x8", success_rate=0.5)


def test_the_table_of_texts_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(vector_lakes, "_MAX_CHARACTERS", 500)
    rendered = [f"{number} " * 20 for number in range(1000)]
    table = vector_lakes._TextTable(1000)
    for code in range(1000):
        assert table.take(np.array([code]), lambda _, code=code: rendered[code])[0]
        assert sum(len(text) for text in table._texts if text) < 500 + 100


def test_budget_lines_are_equal_after_the_remembered_ones_were_dropped(monkeypatch):
    monkeypatch.setattr(vector_budget, "_MANY_LINES", 2)
    assert_plays_equal(3, AutoresetMode.SAME_STEP, 40, budget=6, show_budget=["half", 2])


@pytest.mark.parametrize(
    "options",
    [
        {"rollout": 2},
        {"rollout": 2, "common_random_numbers": True},
        {"common_random_numbers": False, "rollout": 3},
        {"task": "SFFF/FFFF/FFHG", "rollout": 1},
        {"task": "SFFF/FFFF/FFHG", "budget": 3},
        {"budget": 3},
        {"budget": {"turns": None}},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [{"map_name": "4x4"}, {"size": [3, 5]}], ids=str)
@pytest.mark.parametrize("masks", [[[1, 1, 1]], [[1, 1, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 0]]])
def test_options_have_the_effect_that_they_have_on_scalar_environments(options, place, masks):
    keywords = {**place, "success_rate": 1 / 3, "budget": 8, "show_budget": True}
    ours, theirs = native(3, **keywords), scalars(3, **keywords)
    source = random_names(3, 5)
    for env in (ours, theirs):
        env.reset(seed=1)
    for mask in masks:
        masked = {"reset_mask": np.array(mask, dtype=bool)}
        found = ours.reset(seed=2, options={**options, **masked})
        assert_equal(found, theirs.reset(seed=2, options={**options, **masked}))
        for _ in range(12):
            batch = next(source)
            assert_equal(ours.step(batch), theirs.step(batch))
    assert_equal(ours.reset(), theirs.reset())
    assert_equal(ours.step(batch), theirs.step(batch))


def test_rollouts_of_a_seed_share_the_task_and_not_the_luck():
    env = native(4, success_rate=1 / 3, frozen_share=1.0, budget=30)
    tasks, slips = [], []
    for rollout in (0, 1):
        _, infos = env.reset(seed=3, options={"rollout": rollout})
        tasks.append(infos["task_id"].tolist())
        slips.append([env.step(["Up"] * 4)[4]["executed_action"].tolist() for _ in range(5)])
    assert tasks[0] == tasks[1]
    assert slips[0] != slips[1]


# The autoreset modes.


@every_mode
def test_episodes_last_exactly_as_long_as_their_budget(mode):
    env = native(2, mode, desc=["SFF", "FFG"], budget=3)
    env.reset(seed=0)
    lengths = []
    for _ in range(12):
        _, _, _, truncated, infos = env.step(["Left", "Left"])
        if truncated[0]:
            last = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
            lengths.append(last["turn"].tolist())
            if mode is AutoresetMode.DISABLED:
                env.reset(options={"reset_mask": truncated})
    # NEXT_STEP spends a call of its own on every reset.
    assert lengths == [[3, 3]] * (3 if mode is AutoresetMode.NEXT_STEP else 4)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_recorded_statistics_equal_those_of_scalar_environments(mode):
    recorded = []
    for kind in (native, scalars):
        env = RecordEpisodeStatistics(kind(3, mode, map_name="4x4", success_rate=0.8, budget=6))
        play(env, (batch for batch, _ in zip(random_names(3, 2), range(60), strict=False)))
        recorded.append((list(env.length_queue), list(env.return_queue)))
    assert recorded[0] == recorded[1]
    assert len(recorded[0][0]) > 10


def test_same_step_gives_the_last_text_with_its_spent_budget():
    env = native(2, AutoresetMode.SAME_STEP, desc=["SFF", "FFG"], budget=2, show_budget=True)
    first, _ = env.reset(seed=0)
    env.step(["Left", "Left"])
    observations, _, _, truncated, infos = env.step(["Left", "Left"])
    assert truncated.all()
    assert infos["final_obs"][0].endswith("[Budget: 0 of 2 turns left]")
    assert infos["final_info"]["budget"]["exhausted"].tolist() == ["turns", "turns"]
    assert observations == first
    assert infos["budget"]["turns"]["remaining"].tolist() == [2, 2]


def test_a_reset_in_the_middle_of_an_episode_restores_the_whole_budget():
    env = native(2, budget=5)
    env.reset(seed=0)
    env.step(["Left", "Left"])
    _, infos = env.reset()
    assert infos["budget"]["turns"]["remaining"].tolist() == [5, 5]


def test_only_the_copy_that_solves_its_task_terminates():
    env = native(8, desc=["SG"])
    env.reset(seed=0)
    actions = ["Up"] * 8
    actions[3] = "Right"
    _, rewards, terminated, _, infos = env.step(actions)
    assert np.flatnonzero(terminated).tolist() == [3]
    assert np.flatnonzero(rewards).tolist() == [3]
    assert np.flatnonzero(infos["_verdict"]).tolist() == [3]


def test_actions_of_copies_that_autoreset_are_not_looked_at():
    env = native(2, desc=["SG"])
    env.reset(seed=0)
    env.step(["Right", "Up"])
    observations, _, _, _, infos = env.step([None, "Up"])
    assert infos["turn"].tolist() == [0, 2]
    assert observations[0].startswith("You are on a frozen lake")


def test_disabled_autoreset_names_the_copies_that_are_over():
    env = native(3, AutoresetMode.DISABLED, desc=["SG"])
    env.reset(seed=0)
    env.step(["Right", "Up", "Right"])
    with pytest.raises(EnvStateError, match=r"copies \[0, 2\] are over.*reset_mask"):
        env.step(["Up", "Up", "Up"])


def test_remembered_budget_lines_are_bounded(monkeypatch):
    monkeypatch.setattr(vector_budget, "_MANY_LINES", 5)
    env = native(1, budget=40, show_budget=True, desc=["SFG"])
    env.reset(seed=0)
    for _ in range(40):
        env.step(["Left"])
        assert len(env._budgets._lines) <= 5


# Results are the caller's own.


@every_mode
def test_what_callers_do_to_results_changes_nothing_later(mode):
    def spoil(value):
        if isinstance(value, dict):
            for entry in value.values():
                spoil(entry)
            value.clear()
        elif isinstance(value, np.ndarray):
            value[...] = value.dtype.type(7) if value.dtype != object else "spoiled"

    keywords = {"map_name": "4x4", "success_rate": 0.5, "budget": 4, "show_budget": True}
    ours, theirs = native(3, mode, **keywords), native(3, mode, **keywords)
    source = random_names(3, 4)
    for env in (ours, theirs):
        env.reset(seed=1)
    for _ in range(40):
        batch = next(source)
        result, expected = ours.step(batch), theirs.step(batch)
        assert_equal(result, expected)
        ended = expected[2] | expected[3]
        for part in result:
            spoil(part)
        if mode is AutoresetMode.DISABLED and ended.any():
            mask = {"reset_mask": ended}
            spoil(ours.reset(options=mask)[1])
            theirs.reset(options=mask)


def test_no_two_arrays_of_a_result_share_memory():
    env = native(4, AutoresetMode.SAME_STEP, desc=["SG"], budget=1, show_budget=True)
    env.reset(seed=0)
    arrays = []

    def collect(value):
        if isinstance(value, dict):
            for entry in value.values():
                collect(entry)
        elif isinstance(value, np.ndarray):
            arrays.append(value)

    for part in env.step(["Right"] * 4):
        collect(part)
    for number, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[:number])


def test_reset_does_not_change_the_options_it_is_given():
    env = native(2)
    options = {"reset_mask": np.array([True, False]), "rollout": 1}
    env.reset(seed=0, options=options)
    assert set(options) == {"reset_mask", "rollout"}


# Seeds.


def test_one_seed_gives_the_same_run_twice():
    batches = [batch for batch, _ in zip(random_names(3, 0), range(20), strict=False)]
    runs = [play(native(3, success_rate=0.5, budget=5), batches, seed=0) for _ in range(2)]
    assert_equal(runs[0], runs[1])


def test_unseeded_environments_differ():
    keys = {native(1).reset()[1]["task_id"][0] for _ in range(8)}
    assert len(keys) > 1


def test_resets_without_a_seed_go_on_to_other_tasks():
    env = native(1)
    env.reset(seed=3)
    assert len({env.reset()[1]["task_id"][0] for _ in range(8)}) > 1


def test_looking_at_the_generators_does_not_change_what_follows():
    batches = [batch for batch, _ in zip(random_names(2, 0), range(30), strict=False)]
    plain, looked_at = native(2, budget=3), native(2, budget=3)
    expected = play(plain, batches)
    seen = [looked_at.reset(seed=0)]
    for batch in batches:
        states(looked_at)
        seen.append(looked_at.step(batch))
    assert_equal(seen, expected)


def test_generators_that_were_handed_out_stay_in_step_with_the_copies():
    ours, theirs = native(2, budget=2), scalars(2, budget=2)
    results = []
    for env in (ours, theirs):
        env.reset(seed=0)
        generators = env.np_random
        for batch, _ in zip(random_names(2, 0), range(9), strict=False):
            env.step(batch)
        results.append([generator.integers(0, 100, 3).tolist() for generator in generators])
        results.append(env.reset())
    assert_equal(results[0], results[2])
    assert_equal(results[1], results[3])


def test_the_seeds_of_the_copies_can_be_read():
    env = native(3)
    env.reset(seed=[7, 8, 9])
    assert env.np_random_seed == (7, 8, 9)


def test_global_random_state_is_left_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002  # the global one is the point
    env = native(3)
    env.reset()
    env.step(["Up"] * 3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


# Spaces, metadata, rendering.


def test_spaces_are_the_scalar_ones_and_their_batches():
    ours, theirs = native(3, budget=4, show_budget=True), scalars(3, budget=4, show_budget=True)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    observations, _ = ours.reset(seed=0)
    assert ours.observation_space.contains(observations)


def test_sampled_actions_can_be_read():
    env = native(5)
    env.reset(seed=0)
    env.action_space.seed(0)
    assert not env.step(env.action_space.sample())[4]["invalid_action"].any()


def test_metadata_belongs_to_the_instance():
    first, second = native(1, AutoresetMode.SAME_STEP), native(1)
    assert first.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert second.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert "autoreset_mode" not in FrozenLakeEnv.metadata
    assert FrozenLakeVectorEnv.metadata == gym.vector.VectorEnv.metadata


def test_render_gives_the_grid_of_every_copy():
    ours, theirs = native(3, render_mode="ansi"), scalars(3, render_mode="ansi")
    for env in (ours, theirs):
        env.reset(seed=2)
        env.step(["Right", "Down", "Left"])
    assert_equal(ours.render(), theirs.render())


def test_render_without_a_render_mode_says_so():
    env = native(1)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render mode"):
        assert env.render() is None


def test_render_before_reset_is_refused():
    with pytest.raises(EnvStateError, match="before reset"):
        native(1, render_mode="ansi").render()


def test_a_pickled_environment_goes_on_where_the_original_does():
    env = native(3, size=[3, 4], success_rate=0.5, budget=4, show_budget=True)
    env.reset(seed=0)
    source = random_names(3, 0)
    for _ in range(10):
        env.step(next(source))
    twin = pickle.loads(pickle.dumps(env))
    for _ in range(20):
        batch = next(source)
        assert_equal(twin.step(batch), env.step(batch))


def test_close_may_be_called_twice():
    env = native(2)
    env.close()
    env.close()
    assert env.closed


# Actions.


@pytest.mark.parametrize(
    "batch",
    [
        ("Right", "Up"),
        ["Right", "Up"],
        np.array(["Right", "Up"]),
        np.array(["Right", "Up"], dtype=object),
        (name for name in ("Right", "Up")),
        {"Right": 1, "Up": 2}.keys(),
    ],
    ids=["tuple", "list", "array", "object array", "generator", "keys"],
)
def test_actions_may_come_in_any_sequence(batch):
    env = native(2, desc=["SF", "FG"])
    env.reset(seed=0)
    assert env.step(batch)[4]["executed_action"].tolist() == ["Right", "Up"]


@pytest.mark.parametrize("batch", [[], ["Up"], ["Up"] * 3, np.array("Up")])
def test_a_batch_of_another_length_is_refused_before_anything_moves(batch):
    env, twin = native(2), native(2)
    for each in (env, twin):
        each.reset(seed=0)
    with pytest.raises(OptionError, match="batch of 2 actions"):
        env.step(batch)
    assert_equal(env.step(["Up", "Up"]), twin.step(["Up", "Up"]))


@pytest.mark.parametrize("action", [1, None, b"Left", ["Left"], {}, np.int64(2), 1.5, ("Left",)])
def test_an_action_that_is_no_string_raises_as_the_scalar_does_and_moves_nothing(action):
    env, twin, scalar = native(2), native(2), build(family="frozen_lake")
    for each in (env, twin, scalar):
        each.reset(seed=0)
    with pytest.raises(TypeError) as expected:
        scalar.step(action)
    with pytest.raises(TypeError) as found:
        env.step(["Up", action])
    assert str(found.value) == str(expected.value)
    assert_equal(env.step(["Up", "Up"]), twin.step(["Up", "Up"]))


def test_one_string_is_not_taken_for_a_batch_of_letters():
    env = native(2)
    env.reset(seed=0)
    with pytest.raises(TypeError, match="sequence of 2 strings"):
        env.step("Up")


def test_subclasses_of_str_are_strings():
    env = native(1, desc=["SG"])
    env.reset(seed=0)
    assert env.step([np.str_("Right")])[1][0] == 1


# What is refused.


@pytest.mark.parametrize(
    "keywords",
    [
        {"siz": 4},
        {"size": 1},
        {"map_name": "5x5"},
        {"desc": ["SFH"]},
        {"success_rate": 2},
        {"budget": 0},
        {"budget": True},
        {"budget": "8"},
        {"budget": {"turn": 3}},
        {"budget": 3, "on_exhausted": "stop"},
        {"show_budget": True},
        {"budget": 3, "show_budget": "evry_turn"},
        {"feasible_only": True},
        {"oracle": 0},
        {"render_mode": "rgb_array"},
    ],
    ids=str,
)
def test_keywords_are_refused_as_the_scalar_environment_refuses_them(keywords):
    with pytest.raises(BudgetEnvsError) as expected:
        build(family="frozen_lake", **keywords)
    with pytest.raises(type(expected.value)) as found:
        build_vec(num_envs=2, family="frozen_lake", **keywords)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "options",
    [
        {"tsk": "SG"},
        {"task": "XG"},
        {"task": "SG", "split": "test"},
        {"split": "test"},
        {"split": "tset", "index": 0},
        {"rollout": -1},
        {"budget": 0},
        {"budget": {"turn": 2}},
    ],
    ids=str,
)
def test_reset_options_are_refused_as_by_the_scalar_and_nothing_is_reset(options):
    env, twin, scalar = (
        native(2, budget=4),
        native(2, budget=4),
        build(family="frozen_lake", budget=4),
    )
    for each in (env, twin):
        each.reset(seed=0)
    with pytest.raises(BudgetEnvsError) as expected:
        scalar.reset(seed=0, options=options)
    with pytest.raises(type(expected.value)) as found:
        env.reset(seed=9, options=options)
    assert str(found.value) == str(expected.value)
    assert_equal(env.step(["Up", "Up"]), twin.step(["Up", "Up"]))
    assert_equal(states(env), states(twin))


def test_a_budget_option_without_a_budget_is_refused():
    with pytest.raises(OptionError, match="budget first"):
        native(1).reset(options={"budget": 3})


def test_an_option_that_limits_tokens_is_refused_with_the_way_out():
    with pytest.raises(UnsupportedError, match="vectorization_mode='sync'"):
        native(1, budget=5).reset(options={"budget": {"tokens": 3}})


@pytest.mark.parametrize(
    "mask",
    [[True, False], np.array([1, 0]), np.array([True]), np.array([False, False])],
    ids=["list", "integers", "length", "empty"],
)
def test_reset_masks_that_are_not_masks_are_refused(mask):
    with pytest.raises(OptionError, match="'reset_mask' is a NumPy array of 2 booleans"):
        native(2).reset(options={"reset_mask": mask})


@pytest.mark.parametrize("seed", [[1], [1, 2, 3], "12", 1.5, np.int64(3)], ids=repr)
def test_seeds_of_another_number_or_kind_are_refused(seed):
    with pytest.raises((OptionError, gym.error.Error)):
        native(2).reset(seed=seed)


@pytest.mark.parametrize("num_envs", [0, -1, True, 1.5, "2", None])
def test_the_number_of_copies_is_a_positive_integer(num_envs):
    with pytest.raises(BudgetError, match="num_envs"):
        native(num_envs)


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(EnvStateError, match="before reset"):
        native(1).step(["Up"])


def test_a_step_before_all_copies_were_reset_is_refused():
    env = native(2)
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(EnvStateError, match="before reset"):
        env.step(["Up", "Up"])


# Which class make_vec gives.


@pytest.mark.parametrize(
    "keywords", [{}, {"budget": None}, {"budget": {"turns": 3}, "show_budget": True}, {"size": 5}]
)
def test_make_vec_gives_the_native_environment(keywords):
    env = budget_envs.make_vec("budget_envs/FrozenLake-v0", num_envs=2, **keywords)
    assert type(env) is FrozenLakeVectorEnv
    assert env.spec.id == "budget_envs/FrozenLake-v0"


@pytest.mark.parametrize(
    "keywords",
    [
        {"oracle": True},
        {"oracle_reward": True},
        {"numeric": True},
        {"budget_mix": True},
        {"error_states": True},
        {"budget": {"turns": 5, "tokens": 100}},
        {"render_mode": "human"},
    ],
    ids=str,
)
def test_make_vec_gives_scalar_copies_where_a_feature_is_not_native(keywords):
    assert not FrozenLakeVectorEnv.supports(keywords)
    env = budget_envs.make_vec("budget_envs/FrozenLake-v0", num_envs=2, **keywords)
    assert type(env) is SyncVectorEnv
