from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv as PeerEnv
from gymnasium.envs.toy_text.frozen_lake import generate_random_map
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake import ACTIONS, FrozenLakeEnv, Lake
from budget_envs.envs.frozen_lake.maps import split_of
from budget_envs.errors import EnvStateError, OptionError

GRID = 3000


def slide_shares(success_rate, monkeypatch):
    """How the environment splits the unit interval of its draws, for each action."""
    env = FrozenLakeEnv(success_rate=success_rate)
    env.reset(seed=0)
    shares = []
    for action in range(4):
        executed: Counter = Counter()
        for i in range(GRID):
            monkeypatch.setattr(
                "budget_envs.envs.frozen_lake.env.uniform", lambda *_, i=i: (i + 0.5) / GRID
            )
            executed[env._slide(action) if success_rate < 1 else action] += 1 / GRID
        shares.append(executed)
    return shares


@pytest.mark.parametrize("success_rate", [1.0, 0.8, 1 / 3])
def test_dynamics_equal_gymnasiums_on_every_tile_of_200_random_maps(success_rate, monkeypatch):
    shares = slide_shares(success_rate, monkeypatch)
    for seed in range(200):
        rows = generate_random_map(size=4 + seed % 3, p=0.8, seed=seed)
        peer = PeerEnv(desc=rows, is_slippery=success_rate < 1, success_rate=success_rate)
        lake = Lake.from_rows(rows)
        for tile in range(len(lake.tiles)):
            if lake.is_over(tile):
                continue
            for action in range(4):
                expected: Counter = Counter()
                for share, reached, reward, over in peer.P[tile][action]:
                    expected[reached] += share
                    assert over == lake.is_over(reached)
                    assert reward == (lake.tiles[reached] == "G")
                ours: Counter = Counter()
                for executed, share in shares[action].items():
                    ours[lake.moves[tile][executed]] += share
                assert ours == pytest.approx(expected, abs=1.5 / GRID)


@pytest.mark.parametrize("success_rate", [0.8, 1 / 3, 0.5])
def test_executed_actions_have_the_frequencies_of_the_rule(success_rate):
    env = FrozenLakeEnv(desc=["FFF", "FSF", "FFG"], success_rate=success_rate)
    executed: Counter = Counter()
    count = 6000
    for seed in range(count):
        env.reset(seed=seed)
        executed[env.step("Right")[4]["executed_action"]] += 1
    side = (1 - success_rate) / 2
    for name, share in (("Right", success_rate), ("Up", side), ("Down", side)):
        sigma = (share * (1 - share) / count) ** 0.5
        assert abs(executed[name] / count - share) < 4 * sigma
    assert executed["Left"] == 0


def test_a_sure_success_rate_never_slips():
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    assert [env.step(a)[4]["slipped"] for a in ("Down", "Up", "Down", "Down")] == [False] * 4


def test_a_slip_is_reported_in_info_and_text():
    env = FrozenLakeEnv(desc=["FFF", "FSF", "FFG"], success_rate=1 / 3)
    for seed in range(20):
        env.reset(seed=seed)
        text, _, _, _, info = env.step("Right")
        assert info["slipped"] == (info["executed_action"] != "Right")
        assert info["slipped"] == text.startswith("You slipped: instead of Right")


def test_the_shortest_path_wins_and_pays_one():
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    steps = [env.step(a) for a in ("Down", "Down", "Right", "Right", "Down", "Right")]
    assert [reward for _, reward, *_ in steps] == [0, 0, 0, 0, 0, 1]
    assert [(terminated, truncated) for _, _, terminated, truncated, _ in steps] == [
        (False, False)
    ] * 5 + [(True, False)]
    assert steps[-1][4]["is_success"] is True
    assert steps[-1][4]["verdict"] == "pass"


def test_a_hole_ends_the_episode_and_pays_nothing():
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    env.step("Down")
    text, reward, terminated, truncated, info = env.step("Right")
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert (info["is_success"], info["verdict"]) == (False, "fail")
    assert "fell into a hole" in text


@given(st.text(max_size=80))
def test_any_text_is_a_legal_action_that_costs_a_turn(action):
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    text, reward, _, truncated, info = env.step(action)
    assert isinstance(text, str)
    assert info["turn"] == 1
    assert (reward, truncated) == (0.0, False)


@pytest.mark.parametrize(
    "action", ["", "x" * 100_000, "\U0001f600", "\x00", "\ud800", "Left Left", "<answer>"]
)
def test_an_unreadable_action_moves_nothing_and_is_explained(action):
    env = FrozenLakeEnv(map_name="4x4")
    _, before = env.reset(seed=0)
    text, reward, terminated, truncated, info = env.step(action)
    assert info["invalid_action"] is True
    assert info["executed_action"] == ""
    assert info["state_key"] == before["state_key"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert "Left, Down, Right or Up" in text
    assert len(text) < 400


@pytest.mark.parametrize("action", [0, None, b"Left", ["Left"], np.int64(1)])
def test_an_action_that_is_no_text_is_a_type_error(action):
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="numeric=True"):
        env.step(action)


def test_stepping_before_reset_and_after_the_end_is_refused():
    env = FrozenLakeEnv(desc=["SG"])
    with pytest.raises(EnvStateError, match="before reset"):
        env.step("Right")
    env.reset(seed=0)
    env.step("Right")
    with pytest.raises(EnvStateError, match="after the episode ended"):
        env.step("Right")


def test_rollouts_of_a_seed_share_the_task_and_not_the_luck():
    env = FrozenLakeEnv(success_rate=1 / 3)
    plays = []
    for rollout in range(12):
        _, info = env.reset(seed=7, options={"rollout": rollout})
        executed = []
        for _ in range(6):
            _, _, over, _, step = env.step("Up")
            executed.append(step["executed_action"])
            if over:
                break
        plays.append((info["task_id"], tuple(executed)))
    assert len({task for task, _ in plays}) == 1
    assert len({executed for _, executed in plays}) > 3


def test_common_random_numbers_share_the_luck_too():
    env = FrozenLakeEnv(success_rate=1 / 3)
    executed = set()
    for rollout in range(6):
        env.reset(seed=7, options={"rollout": rollout, "common_random_numbers": True})
        executed.add(env.step("Up")[4]["executed_action"])
    assert len(executed) == 1


def test_rollout_zero_is_the_plain_reset():
    env = FrozenLakeEnv(success_rate=1 / 3)

    def play(options):
        env.reset(seed=3, options=options)
        return [env.step("Up")[0]]

    assert play(None) == play({"rollout": 0})


def test_a_task_is_named_by_its_map():
    env = FrozenLakeEnv()
    _, info = env.reset(seed=0, options={"task": "SFF/HFG"})
    assert info["task_id"] == "SFF/HFG"
    assert info["min_turns"] == 3


def test_a_task_is_named_by_split_and_index():
    env = FrozenLakeEnv()
    _, info = env.reset(seed=0, options={"split": "test", "index": 3})
    assert split_of(Lake.from_rows(info["task_id"].split("/"))) == "test"
    assert env.split == "test"
    assert (
        env.reset(seed=99, options={"split": "test", "index": 3})[1]["task_id"] == info["task_id"]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"taks": "SG"}, "Did you mean 'task'"),
        ({"budget": 5}, "budget=8"),
        ({"split": "test"}, "go together"),
        ({"index": 0}, "go together"),
        ({"split": "tets", "index": 0}, "Did you mean 'test'"),
        ({"split": "test", "index": -1}, "at least 0"),
        ({"split": "test", "index": True}, "at least 0"),
        ({"rollout": 1.5}, "at least 0"),
        ({"task": "SG", "split": "test", "index": 0}, "not both"),
        ({"task": "SX"}, "row 1, column 2"),
        ({"task": 5}, "task id"),
        ({"common_random_numbers": "false"}, "True or False"),
    ],
)
def test_a_bad_reset_option_is_refused(options, message):
    with pytest.raises(OptionError, match=message):
        FrozenLakeEnv().reset(seed=0, options=options)


def test_a_refused_reset_leaves_the_running_episode_as_it_was():
    env = FrozenLakeEnv(map_name="4x4")
    env.reset(seed=0)
    with pytest.raises(OptionError):
        env.reset(options={"nonsense": 1})
    assert env.step("Down")[4]["turn"] == 1


def test_the_callers_options_are_not_changed():
    options = {"rollout": 2}
    FrozenLakeEnv().reset(seed=0, options=options)
    assert options == {"rollout": 2}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"success_rate": 0.2}, "1/3, 1"),
        ({"success_rate": 1.2}, "1/3, 1"),
        ({"success_rate": True}, "1/3, 1"),
        ({"success_rate": float("nan")}, "1/3, 1"),
        ({"size": 1}, "at least 2"),
        ({"size": True}, "at least 2"),
        ({"size": 4.0}, "at least 2"),
        ({"size": (8, 4)}, "pair"),
        ({"size": "4"}, "pair"),
        ({"frozen_share": 0}, "frozen_share"),
        ({"frozen_share": 1.1}, "frozen_share"),
        ({"placement": "corner"}, "Did you mean 'corners'"),
        ({"map_name": "4X4"}, "Did you mean '4x4'"),
        ({"map_name": "4x4", "desc": ["SG"]}, "not both"),
        ({"desc": ["SH", "HG"]}, "no path from S to G"),
        ({"desc": ["SX"]}, "row 1, column 2"),
        ({"split": "all"}, "split"),
        ({"map_name": "4x4", "split": "test"}, "give no map"),
        ({"feasible_only": True}, "budget="),
        ({"infeasible_share": 0.5}, "budget="),
        ({"infeasible_share": 1.5, "horizon": 3}, "infeasible_share"),
        ({"feasible_only": True, "infeasible_share": 0.5, "horizon": 3}, "not both"),
        ({"render_mode": "rgb_array"}, "render_mode"),
        ({"feasible_only": "no"}, "True or False"),
        ({"allow_unsolvable": "no"}, "True or False"),
        ({"map_name": "8x8", "feasible_only": True, "horizon": 5}, "give no map"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 1.5}, "horizon"),
        ({"horizon": "x"}, "horizon"),
    ],
)
def test_a_bad_setting_is_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        FrozenLakeEnv(**settings)


def test_an_unsolvable_map_may_be_asked_for_by_name():
    env = FrozenLakeEnv(desc=["SH", "HG"], allow_unsolvable=True)
    assert env.reset(seed=0)[1]["min_turns"] == -1


def test_numpy_integers_are_sizes():
    assert FrozenLakeEnv(size=np.int64(4)).maps.sizes == (4,)


def test_feasible_only_draws_tasks_that_fit():
    env = FrozenLakeEnv(feasible_only=True, horizon=2)
    assert all(env.reset(seed=s)[1]["min_turns"] <= 2 for s in range(100))


def test_loops_without_a_seed_visit_many_tasks():
    env = FrozenLakeEnv()
    env.reset(seed=0)
    assert len({env.reset()[1]["task_id"] for _ in range(30)}) > 20


def test_seed_zero_is_a_seed():
    env = FrozenLakeEnv()
    assert env.reset(seed=0) == env.reset(seed=0)
    assert env.reset(seed=0) != env.reset(seed=1)


def test_interleaving_another_environment_changes_nothing():
    def play(disturb):
        env, other = FrozenLakeEnv(success_rate=0.5), FrozenLakeEnv()
        seen = [env.reset(seed=5)]
        for action in ("Up", "Left", "Down"):
            if disturb:
                other.reset()
            seen.append(env.step(action))
            if seen[-1][2]:
                break
        return seen

    assert play(False) == play(True)


def test_rendering_shows_the_grid():
    env = FrozenLakeEnv(map_name="4x4", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "P _ _ _\n_ O _ O\n_ _ _ O\nO _ _ G"


def test_human_rendering_writes_on_reset_and_step(capsys):
    env = FrozenLakeEnv(desc=["SFG"], render_mode="human")
    env.reset(seed=0)
    env.step("Right")
    assert capsys.readouterr().out == "P _ G\n_ P G\n"
    assert env.render() is None


def test_rendering_before_reset_is_refused():
    with pytest.raises(EnvStateError, match="before reset"):
        FrozenLakeEnv(render_mode="ansi").render()


def test_rendering_without_a_mode_warns():
    env = FrozenLakeEnv()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_numeric_planes_hold_player_ice_holes_and_goal():
    env = FrozenLakeEnv(desc=["SFH", "FFG"])
    env.reset(seed=0)
    planes = env.numeric_observation().reshape(4, 3, 3)
    assert env.numeric_observation() in env.numeric_space
    assert planes[0].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert planes[1].tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert planes[2].tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert planes[3].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_a_task_larger_than_the_numeric_space_is_refused():
    env = FrozenLakeEnv(size=4)
    env.reset(seed=0, options={"task": "SFFFFG"})
    with pytest.raises(OptionError, match="size"):
        env.numeric_observation()


def test_reward_order_hole_stay_goal():
    env = FrozenLakeEnv(desc=["HSG"])
    rewards = {}
    for action in ("Left", "Up", "Right"):
        env.reset(seed=0)
        rewards[action] = env.step(action)[1]
    assert rewards["Left"] <= rewards["Up"] <= rewards["Right"]


def test_the_docstring_has_gymnasiums_headings():
    for heading in ("Observation Space", "Action Space", "Rewards", "Budget", "Oracle"):
        assert f"**{heading}**" in (FrozenLakeEnv.__doc__ or "")


def test_actions_sample_from_the_action_space():
    env = FrozenLakeEnv()
    assert isinstance(env, gym.Env)
    assert {env.action_space.sample() for _ in range(100)} == set(ACTIONS)
