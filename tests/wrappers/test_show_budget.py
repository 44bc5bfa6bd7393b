import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.errors import OptionError
from budget_envs.wrappers import (
    BudgetMix,
    DiscreteActions,
    InteractionBudget,
    NumericObservation,
    ShowBudget,
)


def shown(env, budget=4, **keywords):
    return ShowBudget(InteractionBudget(env, budget=budget), **keywords)


def lines(seen):
    """The line that was added to each observation; empty where none was."""
    return [result[0][len(result[-1]["observation"]) :].lstrip("\n") for result in seen]


# Text.


def test_every_observation_says_what_remains(corridor, play):
    seen = play(shown(corridor(), 3), ["Left"] * 3)
    assert lines(seen) == [
        "[Budget: 3 of 3 turns left]",
        "[Budget: 2 of 3 turns left]",
        "[Budget: 1 of 3 turns left]",
        "[Budget: 0 of 3 turns left]",
    ]


def test_the_line_is_the_last_one_and_the_text_above_it_is_untouched(corridor, play):
    plain = play(InteractionBudget(corridor(), budget=3), ["Left", "Right"])
    seen = play(shown(corridor(), 3), ["Left", "Right"])
    for bare, told in zip(plain, seen, strict=True):
        assert told[-1]["observation"] == bare[0]
        assert told[0].rpartition("\n")[0] == bare[0]
        assert told[-1]["state_key"] == bare[-1]["state_key"]


@pytest.mark.parametrize(
    ("when", "turns"),
    [
        ("every_turn", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("last_turn", [6]),
        ("total_only", [0]),
        ("never", []),
        (["half"], [4]),
        (["half", 3, 1], [4, 6]),  # three turns left is reached with the half of seven
        ([3, 1], [4, 6]),
        ([1, 3], [4, 6]),
        ([5, 2], [2, 5]),
        ([7], [0]),
        ([99], [0]),
    ],
)
def test_each_mode_tells_at_its_turns_and_each_threshold_once(corridor, play, when, turns):
    seen = play(shown(corridor(), 7, when=when), ["Left"] * 7)
    assert [turn for turn, line in enumerate(lines(seen)) if line] == turns
    assert all("observation" in result[-1] for result in seen)


@given(
    limit=st.integers(1, 12),
    points=st.lists(st.one_of(st.just("half"), st.integers(1, 14)), min_size=1, max_size=4),
)
def test_thresholds_fire_at_the_first_turn_at_or_below_them(corridor_env, limit, points):
    env = shown(corridor_env(), limit, when=points)
    told = {0} if lines([env.reset(seed=0)])[0] else set()
    told |= {turn for turn in range(1, limit + 1) if lines([env.step("Left")])[0]}
    values = [limit / 2 if point == "half" else point for point in points]
    expected = {min(t for t in range(limit + 1) if limit - t <= v) for v in values}
    assert told == expected


def test_thresholds_start_again_with_every_episode(corridor, play):
    env = shown(corridor(), 4, when=["half", 99])
    for _ in range(2):
        assert [bool(line) for line in lines(play(env, ["Left"] * 3))] == [1, 0, 1, 0]


def test_a_threshold_that_a_charge_jumps_over_is_still_told(corridor):
    env = shown(corridor(), 9, when=[6, 5])
    env.reset(seed=0)
    env.charge(turns=4)
    assert lines([env.step("Left")]) == ["[Budget: 4 of 9 turns left]"]
    assert lines([env.step("Left")]) == [""]


def test_the_total_alone_is_said_once_at_the_start(corridor, play):
    seen = play(shown(corridor(), {"turns": 8, "tokens": 90}, when="total_only"), ["Left"])
    assert lines(seen) == ["[Budget: 8 turns (runs out first); 90 tokens]", ""]


def test_on_the_last_turn_of_one_the_first_observation_says_so(corridor):
    assert lines([shown(corridor(), 1, when="last_turn").reset(seed=0)]) == [
        "[Budget: 1 of 1 turns left]"
    ]


def test_of_several_resources_each_is_shown_and_the_scarcest_marked(corridor):
    env = shown(corridor(), {"turns": 4, "tokens": 100, "seconds": 60})
    env.reset(seed=0)
    env.charge(tokens=90, seconds=0.123)
    assert lines([env.step("Left")]) == [
        "[Budget: 3 of 4 turns left; 10 of 100 tokens left (runs out first); "
        "59.88 of 60 seconds left]"
    ]


def test_a_single_resource_other_than_turns_is_shown(corridor):
    env = shown(corridor(), {"tokens": 100})
    env.reset(seed=0)
    assert lines([env.step("Left")]) == ["[Budget: 96 of 100 tokens left]"]


def test_no_limit_shows_nothing(corridor, play):
    assert lines(play(shown(corridor(), None), ["Left"] * 2)) == ["", "", ""]


@pytest.mark.parametrize("when", ["last_turn", ["half", 2]])
def test_turns_that_are_not_limited_reach_no_threshold(corridor, play, when):
    seen = play(shown(corridor(), {"tokens": 500}, when=when), ["Left"] * 3)
    assert lines(seen) == ["", "", "", ""]


def test_the_limit_of_one_episode_and_of_a_limit_inside_is_the_one_shown(corridor):
    env = shown(InteractionBudget(corridor(), budget=6), 8)
    assert lines([env.reset(seed=0)]) == ["[Budget: 6 of 6 turns left]"]
    assert lines([env.reset(options={"budget": 2})]) == ["[Budget: 2 of 2 turns left]"]


def test_a_drawn_budget_is_the_one_shown(corridor, play):
    env = ShowBudget(BudgetMix(corridor(), budget=10))
    for seed in range(5):
        _, info = first = env.reset(seed=seed)
        limit = info["budget"]["turns"]["limit"]
        assert lines([first]) == [f"[Budget: {limit} of {limit} turns left]"]


def test_a_step_that_was_not_carried_out_tells_the_end_too(corridor):
    env = shown(corridor(), {"tokens": 3})
    env.reset(seed=0)
    observation, *_, info = env.step("Right")
    assert "was exceeded" in info["observation"]
    assert observation.endswith("[Budget: 0 of 3 tokens left]")


def test_a_template_takes_the_place_of_the_line(corridor):
    env = shown(corridor(), 8, template="{remaining}/{limit} {resource}, {used:02d} used {{x}}")
    env.reset(seed=0)
    assert lines([env.step("Left")]) == ["7/8 turns, 01 used {x}"]


def test_a_template_is_repeated_for_each_resource(corridor):
    env = shown(corridor(), {"turns": 4, "tokens": 9}, template="<{resource}: {remaining}>")
    assert lines([env.reset(seed=0)]) == ["<turns: 4> (runs out first) <tokens: 9>"]


def test_the_line_is_a_function_of_the_account_also_when_many_were_shown(corridor):
    env = shown(corridor(), 5000)
    env.reset(seed=0)
    for _ in range(4500):
        observation, *_ = env.step("Left")
    assert observation.endswith("[Budget: 500 of 5000 turns left]")
    observation, _ = env.reset()
    assert observation.endswith("[Budget: 5000 of 5000 turns left]")


def test_the_inner_infos_are_left_as_they_were(spy_env, play):
    class Remembers(gym.Wrapper):
        def reset(self, **keywords):
            self.infos = []
            return self.remember(*self.env.reset(**keywords))

        def step(self, action):
            return self.remember(*self.env.step(action))

        def remember(self, *result):
            self.infos.append((result[-1], repr(result[-1])))
            return result

    inner = Remembers(InteractionBudget(spy_env("t1"), budget=3))
    for when in ("every_turn", "last_turn"):
        play(ShowBudget(inner, when=when), ["wait"] * 3)
        assert all(repr(info) == before for info, before in inner.infos)


def test_foreign_text_environments_can_be_shown_their_budget(spy_env):
    assert shown(spy_env(), 2).reset()[0] == "start\n[Budget: 2 of 2 turns left]"


# Arrays and the rest.


class Still(gym.Env):
    """Always gives the same member of a space."""

    render_mode = None

    def __init__(self, space):
        self.observation_space = space
        self.action_space = gym.spaces.Discrete(2)
        space.seed(0)
        self.member = space.sample()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.member, {}

    def step(self, action):
        return self.member, 0.0, False, False, {}


def test_a_float_vector_gets_the_share_left_as_one_more_element():
    inner = gym.make("CartPole-v1").unwrapped
    env = shown(inner, 4)
    bare, _ = inner.reset(seed=0)
    observation, _ = env.reset(seed=0)
    space = env.observation_space
    assert space.shape == (5,)
    assert observation.dtype == space.dtype == np.float32
    assert np.array_equal(observation[:-1], bare)
    shares = [observation[-1]] + [env.step(turn % 2)[0][-1] for turn in range(4)]
    assert shares == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert (space.low[-1], space.high[-1]) == (0, 1)
    assert np.array_equal(space.low[:-1], inner.observation_space.low)


def test_a_double_vector_stays_double():
    env = shown(Still(gym.spaces.Box(-2.0, 2.0, (3,), np.float64)))
    observation, _ = env.reset(seed=0)
    assert observation.dtype == env.observation_space.dtype == np.float64
    assert observation in env.observation_space


def test_a_dict_gets_one_more_key():
    env = shown(Still(gym.spaces.Dict({"place": gym.spaces.Discrete(3)})), 2)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert set(observation) == {"place", "budget"}
    assert env.step(0)[0]["budget"] == np.array([0.5], np.float32)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Discrete(4),
        gym.spaces.Box(0.0, 1.0, (2, 2), np.float32),
        gym.spaces.Box(0, 255, (6,), np.uint8),
        gym.spaces.MultiBinary(3),
        gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Discrete(3)]),
    ],
)
def test_anything_else_becomes_a_dict(space):
    env = shown(Still(space), 2)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert set(observation) == {"observation", "budget"}
    assert observation["budget"].dtype == np.float32
    env.step(0)
    assert env.step(0)[0]["budget"] == 0.0


def test_the_inner_observation_is_left_as_it_was():
    still = Still(gym.spaces.Dict({"place": gym.spaces.Discrete(3)}))
    shown(still).reset(seed=0)
    assert set(still.member) == {"place"}


def test_the_share_is_that_of_the_scarcest_resource():
    env = shown(Still(gym.spaces.Discrete(2)), {"turns": 4, "seconds": 10})
    env.reset(seed=0)
    env.charge(seconds=9)
    assert env.step(0)[0]["budget"] == np.float32(0.1)


def test_a_smaller_budget_for_one_episode_starts_at_a_smaller_share():
    env = ShowBudget(BudgetMix(gym.make("CartPole-v1").unwrapped, budget=10))
    for seed in range(8):
        observation, info = env.reset(seed=seed)
        assert observation[-1] == np.float32(info["budget"]["turns"]["limit"] / 10)
    observation, _ = env.reset(options={"budget": 40})
    assert observation[-1] == 1.0


def test_no_limit_leaves_the_whole_share():
    assert shown(Still(gym.spaces.Discrete(2)), None).reset(seed=0)[0]["budget"] == 1.0


def test_never_leaves_arrays_and_their_space_as_they_are():
    inner = gym.make("CartPole-v1").unwrapped
    env = shown(inner, 4, when="never")
    assert env.observation_space == inner.observation_space
    assert env.reset(seed=0)[0].shape == (4,)
    assert env.step(0)[0].shape == (4,)


@pytest.mark.parametrize("when", ["last_turn", "total_only", ["half"]])
def test_an_array_cannot_be_told_now_and_then(when):
    with pytest.raises(OptionError, match="is for text"):
        shown(gym.make("CartPole-v1").unwrapped, when=when)


def test_a_key_that_is_there_already_is_not_overwritten():
    with pytest.raises(OptionError, match="key 'budget' already"):
        shown(Still(gym.spaces.Dict({"budget": gym.spaces.Discrete(3)})))


def test_numeric_text_environments_keep_their_text_beside_the_numbers():
    inner = InteractionBudget(FrozenLakeEnv(desc=["SFFG"]), budget=4)
    env = ShowBudget(NumericObservation(DiscreteActions(inner)))
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["observation"].startswith("You are on a frozen lake")
    assert "[Budget" not in info["observation"]


# Misuse.


def test_a_budget_must_be_inside(corridor):
    with pytest.raises(OptionError, match="budget="):
        ShowBudget(corridor())


def test_a_budget_is_found_behind_foreign_wrappers(corridor):
    inner = gym.wrappers.RecordEpisodeStatistics(InteractionBudget(corridor(), budget=2))
    assert ShowBudget(inner).reset(seed=0)[0].endswith("[Budget: 2 of 2 turns left]")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"when": "always"}, "when must be one of"),
        ({"when": "every turn"}, "Did you mean 'every_turn'"),
        ({"when": []}, "when must be one of"),
        ({"when": True}, "when must be one of"),
        ({"when": 3}, "when must be one of"),
        ({"when": None}, "when must be one of"),
        ({"when": ["quarter"]}, "a threshold is"),
        ({"when": [0]}, "a threshold is"),
        ({"when": [True]}, "a threshold is"),
        ({"when": [1.5]}, "a threshold is"),
        ({"template": 3}, "must be a text"),
        ({"template": "{left} turns"}, r"known are \{resource\}"),
        ({"template": "{remainin}"}, "Did you mean 'remaining'"),
        ({"template": "{limit.__class__}"}, "has the field"),
        ({"template": "{0}"}, "has the field"),
        ({"template": "{} left"}, "has the field"),
        ({"template": "{remaining"}, "cannot be filled in"),
        ({"template": "left: }"}, "cannot be filled in"),
        ({"template": "{remaining:q}"}, "cannot be filled in"),
        ({"template": "{remaining!z}"}, "cannot be filled in"),
        ({"template": "{remaining:{secret}}"}, "cannot be filled in"),
    ],
)
def test_misuse_is_refused_with_the_way_out(corridor, keywords, message):
    with pytest.raises(OptionError, match=message):
        shown(corridor(), **keywords)


def test_thresholds_are_recorded_as_a_list_of_integers(corridor):
    env = shown(corridor(), when=("half", np.int64(3)))
    assert env._saved_kwargs["when"] == ["half", 3]
    assert type(env._saved_kwargs["when"][1]) is int


def test_snapshots_remember_which_thresholds_were_told(corridor):
    env = shown(corridor(), 6, when=[3])
    env.reset(seed=0)
    for _ in range(3):
        env.step("Left")
    saved = env.snapshot()
    twin = shown(corridor(), 6, when=[3])
    twin.restore(saved)
    assert lines([twin.step("Left")]) == [""]
