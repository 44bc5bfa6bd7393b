import math

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake.env import FrozenLakeEnv
from budget_envs.errors import EnvStateError, OptionError
from budget_envs.wrappers import ErrorStates, InteractionBudget
from budget_envs.wrappers.faults import REFUSED

OBSERVATION_FAULTS = ["timeout", "empty", "garbled", "stale"]
FAULTS = [*OBSERVATION_FAULTS, "refused"]
ROUTE = ["Right", "Right", "Right"]


class LeftIsWrong:
    """Replaces any action that is not Left by Left; values fall from 1 to 0.25 with it."""

    exact = True

    def value(self, env, action):
        return 0.25 if action == "Left" else 1.0

    def upper_bound(self, task, turns):
        return 1.0

    def error_action(self, env, action, key):
        return None if action == "Left" else "Left"


class ByKey(LeftIsWrong):
    """Picks among many texts by the key, to see which keys are asked with."""

    def error_action(self, env, action, key):
        return f"wrong {key}"


class ReadsTheLedger(LeftIsWrong):
    """Names a wrong action only while more than two turns remain."""

    def error_action(self, env, action, key):
        return "Left" if env.ledger.remaining("turns") > 2 else None


class NoErrors:
    exact = True

    def value(self, env, action):
        return 1.0

    def upper_bound(self, task, turns):
        return 1.0


def wrapped(env, budget=9, **keywords):
    if keywords.get("kind", "wrong_action") == "wrong_action":
        keywords.setdefault("oracle", LeftIsWrong())
    return ErrorStates(InteractionBudget(env, budget=budget), **keywords)


def receipts(seen):
    return [result[-1]["injected"] for result in seen if "injected" in result[-1]]


# Wrong actions.


def test_a_wrong_action_takes_the_place_of_the_agents(corridor, play):
    seen = play(wrapped(corridor(), at=2), ROUTE)
    assert [result[-1]["executed_action"] for result in seen] == ["", "Right", "Left", "Right"]
    assert receipts(seen) == [
        {
            "turn": 2,
            "kind": "wrong_action",
            "intended": "Right",
            "executed": "Left",
            "value_intended": 1.0,
            "value_executed": 0.25,
        }
    ]
    assert [result[-1]["injected_count"] for result in seen] == [0, 0, 1, 1]
    assert "You went Left" in seen[2][0]


def test_only_the_step_of_an_injection_has_a_receipt(corridor, play):
    seen = play(wrapped(corridor(), at=[1, 3]), ["Right"] * 4)
    assert ["injected" in result[-1] for result in seen] == [False, True, False, True, False]


def test_where_there_is_no_wrong_action_none_lands_and_the_run_says_so(corridor, play):
    seen = play(wrapped(corridor(), at=1), ["Left", "Right"])
    assert receipts(seen) == []
    assert [result[-1]["injected_count"] for result in seen] == [0, 0, 0]


def test_the_oracle_sees_the_budget_that_remains(corridor, play):
    seen = play(wrapped(corridor(), budget=5, rate=1.0, oracle=ReadsTheLedger()), ["Right"] * 5)
    assert [receipt["turn"] for receipt in receipts(seen)] == [1, 2, 3]


def test_the_agents_own_tokens_are_counted_and_not_the_replacements(corridor):
    env = wrapped(corridor(), budget={"tokens": 100}, at=1)
    env.reset(seed=0)
    text = "thinking long ... Right"
    assert env.step(text)[-1]["budget"]["tokens"]["used"] == len(text)
    assert env.step("Up")[-1]["budget"]["tokens"]["used"] == len(text) + 2


def test_charged_tokens_are_not_counted_again_at_an_injection(corridor):
    env = wrapped(corridor(), budget={"tokens": 100}, at=1)
    env.reset(seed=0)
    env.charge(tokens=40)
    report = env.step("Right")[-1]["budget"]["tokens"]
    assert (report["used"], report["counter"]) == (40, "charged")


def test_an_injection_that_the_budget_does_not_carry_out_has_not_landed(corridor):
    env = wrapped(corridor(), budget={"tokens": 3}, at=1)
    env.reset(seed=0)
    info = env.step("Right")[-1]
    assert info["action_executed"] is False
    assert "injected" not in info
    assert info["injected_count"] == 0


def test_an_environment_that_does_not_report_what_ran_gets_it_reported(spy_env, play):
    spy = spy_env()
    env = ErrorStates(spy, at=1, oracle=LeftIsWrong())
    info = play(env, ["Right"])[-1][-1]
    assert spy.actions == ["Left"]
    assert info["executed_action"] == "Left"


def test_what_the_ice_made_of_a_wrong_action_is_what_really_ran(play):
    lake = FrozenLakeEnv(map_name="4x4", success_rate=1 / 3)
    slips = [
        (info["injected"]["executed"], info["executed_action"])
        for seed in range(30)
        for info in [play(wrapped(lake, at=1), ["Right"], seed=seed)[-1][-1]]
    ]
    assert {intended for intended, _ in slips} == {"Left"}
    assert {ran for _, ran in slips} == {"Up", "Left", "Down"}


def test_the_lakes_own_oracle_never_ends_an_episode_or_the_hope_of_success(play):
    oracle = "budget_envs.oracles.frozen_lake:FrozenLakeOracle"
    landed = 0
    for seed in range(40):
        env = gym.make("budget_envs/FrozenLake-v0", budget=10, error_states={"at": 2}, oracle=True)
        seen = play(env, ["Right", "Down", "Right"], seed=seed)
        for result in seen:
            info = result[-1]
            if "injected" in info:
                landed += 1
                assert not result[2]
                assert info["injected"]["kind"] == "wrong_action"
                assert info["injected"]["value_executed"] > 0
                assert info["executed_action"] == info["injected"]["executed"]
    assert landed > 10
    assert env.get_wrapper_attr("spec").additional_wrappers[1].kwargs["oracle"] == oracle


# Faults of the environment.


@pytest.mark.parametrize("kind", OBSERVATION_FAULTS)
def test_a_fault_hides_the_observation_and_nothing_else(corridor, play, kind):
    plain = play(InteractionBudget(corridor(), budget=9), ROUTE)
    faulty = play(wrapped(corridor(), at=2, kind=kind), ROUTE)
    assert faulty[2][0] != plain[2][0]
    assert [r[0] for i, r in enumerate(faulty) if i != 2] == [
        r[0] for i, r in enumerate(plain) if i != 2
    ]
    for real, shown in zip(plain, faulty, strict=True):
        assert shown[1:-1] == real[1:-1]
        extra = {"injected", "injected_count"}
        assert {k: v for k, v in shown[-1].items() if k not in extra} == real[-1]
    assert receipts(faulty) == [
        {
            "turn": 2,
            "kind": kind,
            "intended": "Right",
            "executed": "Right",
            "observation": plain[2][0],
        }
    ]


def test_a_stale_observation_repeats_what_the_agent_saw_last(corridor, play):
    seen = play(wrapped(corridor(), rate=1.0, kind="stale"), ["Right", "Right"])
    assert seen[0][0] == seen[1][0] == seen[2][0]


def test_a_stale_observation_that_is_equal_to_the_true_one_has_not_landed(spy_env, play):
    seen = play(ErrorStates(spy_env(), rate=1.0, kind="stale"), ["same", "same"])
    assert [r[-1]["injected_count"] for r in seen] == [0, 1, 2]
    env = ErrorStates(spy_env(), at=2, kind="stale")
    assert [r[-1]["injected_count"] for r in play(env, ["same", "same"])] == [0, 0, 0]


@pytest.mark.parametrize("kind", OBSERVATION_FAULTS)
def test_an_observation_that_ends_the_episode_is_left_alone(corridor, play, kind):
    seen = play(wrapped(corridor(), at=3, kind=kind), ROUTE)
    assert "reached the goal" in seen[-1][0]
    assert receipts(seen) == []
    cut = play(wrapped(corridor(), budget=2, at=2, kind=kind), ROUTE)
    assert receipts(cut) == []
    assert cut[-1][0].startswith("You went Right")


def test_a_refused_action_is_not_carried_out_and_costs_its_turn_and_tokens(corridor):
    env = wrapped(corridor(), budget={"turns": 5, "tokens": 100}, at=1, kind="refused")
    _, before = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("Right")
    assert observation == REFUSED
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["state_key"] == before["state_key"]
    assert info["invalid_action"] is False
    assert info["executed_action"] == ""
    assert info["budget"]["turns"]["used"] == 1
    assert info["budget"]["tokens"]["used"] == len("Right")
    assert info["injected"]["executed"] == ""
    assert info["injected"]["intended"] == "Right"


def test_a_refused_last_turn_ends_the_episode_by_budget(corridor, play):
    seen = play(wrapped(corridor(), budget=3, at=3, kind="refused"), ROUTE)
    observation, reward, terminated, truncated, info = seen[-1]
    assert (observation, reward, terminated, truncated) == (REFUSED, 0.0, False, True)
    assert info["budget"]["exhausted"] == "turns"
    assert info["injected_count"] == 1


@pytest.mark.parametrize("kind", FAULTS)
@given(actions=st.lists(st.sampled_from(["Left", "Right", "Up", "nonsense"]), max_size=8))
def test_the_state_key_always_belongs_to_the_true_state(corridor_env, kind, actions):
    env = wrapped(corridor_env(), rate=0.5, kind=kind, seed=3)
    _, info = env.reset(seed=1)
    for action in actions:
        *_, terminated, truncated, info = env.step(action)
        assert info["state_key"] == env.unwrapped.state_key
        if terminated or truncated:
            break


# When.


def test_the_share_of_injected_turns_is_the_rate(corridor, play):
    env = wrapped(corridor(), budget=None, rate=0.3, kind="empty")
    seen = play(env, ["Left"] * 3000)
    assert abs(seen[-1][-1]["injected_count"] / 3000 - 0.3) < 3 * math.sqrt(0.3 * 0.7 / 3000)


def test_without_at_or_rate_the_rate_is_one_in_five(corridor, play):
    seen = play(wrapped(corridor(), budget=None, kind="empty"), ["Left"] * 3000)
    assert abs(seen[-1][-1]["injected_count"] / 3000 - 0.2) < 3 * math.sqrt(0.2 * 0.8 / 3000)


@pytest.mark.parametrize(("rate", "count"), [(0, 0), (1, 40)])
def test_rates_of_nothing_and_everything(corridor, play, rate, count):
    seen = play(wrapped(corridor(), budget=None, rate=rate, kind="empty"), ["Left"] * 40)
    assert seen[-1][-1]["injected_count"] == count


def test_a_list_of_kinds_draws_each_of_them(corridor, play):
    kinds = ["wrong_action", *FAULTS]
    env = wrapped(corridor(), budget=None, rate=1.0, kind=kinds, oracle=LeftIsWrong())
    found = [receipt["kind"] for receipt in receipts(play(env, ["Up"] * 300))]
    assert set(found) == set(kinds)
    assert min(found.count(kind) for kind in kinds) > 25


def injected_turns(env, play, **reset):
    return [receipt["turn"] for receipt in receipts(play(env, ["Up"] * 60, **reset))]


def test_the_same_seed_injects_the_same_errors(corridor, play):
    runs = [
        receipts(play(wrapped(corridor(), budget=None, rate=0.3, kind=FAULTS, seed=4), ["Up"] * 60))
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert runs[0]


def test_other_seeds_tasks_visits_and_rollouts_have_errors_of_their_own(play):
    def turns(seed=0, task="SFFG", rollout=0, reset=0, visits=0):
        env = wrapped(FrozenLakeEnv(), budget=None, rate=0.5, kind="empty", seed=seed)
        env.reset(seed=reset)
        for _ in range(visits):
            env.reset(options={"task": task})
        first = {"seed": reset} if not visits else {"seed": None}
        return tuple(injected_turns(env, play, **first, options={"task": task, "rollout": rollout}))

    different = [turns(), turns(seed=1), turns(task="SFG"), turns(rollout=1), turns(reset=1)]
    assert len({*different, turns(visits=1), turns(visits=2)}) == 7
    assert turns() == turns()


def test_common_random_numbers_share_the_errors_too(corridor, play):
    env = wrapped(corridor(), budget=None, rate=0.5, kind="empty")
    common = {"common_random_numbers": True}
    first = injected_turns(env, play, options={"rollout": 1, **common})
    assert injected_turns(env, play, options={"rollout": 2, **common}) == first


def test_the_key_of_a_wrong_action_differs_from_turn_to_turn(corridor, play):
    seen = play(wrapped(corridor(), rate=1.0, oracle=ByKey()), ["Up"] * 6)
    assert len({receipt["executed"] for receipt in receipts(seen)}) == 6


def test_counting_starts_again_with_every_episode(corridor, play):
    env = wrapped(corridor(), at=1, kind="empty")
    for _ in range(3):
        seen = play(env, ["Up", "Up"])
        assert [r[-1]["injected_count"] for r in seen] == [0, 1, 1]


def test_no_receipt_is_shared_with_a_later_info(corridor, play):
    found = receipts(play(wrapped(corridor(), rate=1.0, kind="empty"), ["Up"] * 4))
    assert len({id(receipt) for receipt in found}) == 4


def test_the_inner_infos_are_left_as_they_were(spy_env, play):
    spy = spy_env("t1")
    play(ErrorStates(spy, rate=1.0, kind="empty"), ["wait"] * 4)
    play(ErrorStates(spy, rate=1.0, oracle=LeftIsWrong()), ["wait"] * 4)
    assert all(repr(info) == before for info, before in spy.infos)


# Misuse.


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"kind": "wrong"}, "Did you mean 'wrong_action'"),
        ({"kind": ["empty", "full"]}, "got 'full'"),
        ({"kind": []}, "at least one"),
        ({"kind": [3]}, "got 3"),
        ({"at": 0}, "counted from 1"),
        ({"at": True}, "counted from 1"),
        ({"at": [1, 0]}, "counted from 1"),
        ({"at": []}, "counted from 1"),
        ({"at": 1.5}, "counted from 1"),
        ({"at": "2"}, "counted from 1"),
        ({"at": [True]}, "counted from 1"),
        ({"rate": 1.1}, r"probability in \[0, 1\]"),
        ({"rate": -0.1}, r"probability in \[0, 1\]"),
        ({"rate": True}, r"probability in \[0, 1\]"),
        ({"rate": "0.5"}, r"probability in \[0, 1\]"),
        ({"rate": float("nan")}, r"probability in \[0, 1\]"),
        ({"at": 1, "rate": 0.5}, "not both"),
        ({"seed": -1}, "seed must be"),
        ({"kind": "wrong_action", "oracle": None}, "needs an oracle"),
        ({"kind": "wrong_action", "oracle": NoErrors()}, "error_action"),
        ({"oracle": "nowhere"}, "module:Class"),
        ({"oracle": 3}, "expected an oracle"),
        ({"oracle": LeftIsWrong}, "expected an oracle"),
    ],
)
def test_misuse_is_refused_with_the_way_out(corridor, keywords, message):
    with pytest.raises(OptionError, match=message):
        ErrorStates(corridor(), **{"oracle": LeftIsWrong(), **keywords})


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_text_need_text(kind):
    with pytest.raises(OptionError, match="replace text"):
        ErrorStates(gym.make("CartPole-v1").unwrapped, kind=kind)


def test_refusing_needs_an_environment_known_not_to_act_on_the_empty_text(spy_env):
    with pytest.raises(OptionError, match="TextEnv"):
        ErrorStates(spy_env(), kind="refused")


@pytest.mark.parametrize("kind", ["wrong_action", "empty"])
def test_steps_at_the_wrong_moment_raise_as_they_do_without_errors(corridor, play, kind):
    env = wrapped(corridor(), rate=1.0, kind=kind)
    with pytest.raises(EnvStateError, match="before reset"):
        env.step("Right")
    env = wrapped(corridor(), budget=2, rate=1.0, kind=kind)
    play(env, ["Right"] * 2)
    with pytest.raises(EnvStateError, match="after the episode ended"):
        env.step("Right")


# State.


@pytest.mark.parametrize("kind", [["wrong_action", *FAULTS], "stale"])
@given(
    before=st.lists(st.sampled_from(["Left", "Right", "Up", "?"]), max_size=5),
    after=st.lists(st.sampled_from(["Left", "Right", "Up", "?"]), max_size=5),
)
def test_after_restore_the_same_errors_come_again(corridor_env, kind, before, after):
    def make():
        keywords = {"rate": 0.5, "kind": kind, "oracle": LeftIsWrong(), "seed": 2}
        return ErrorStates(InteractionBudget(corridor_env(), budget=30), **keywords)

    def steps(env, actions):
        seen = []
        for action in actions:
            seen.append(env.step(action))
            if seen[-1][2]:
                break
        return seen

    env = make()
    env.reset(seed=1)
    if any(step[2] for step in steps(env, before)):
        return
    saved = env.snapshot()
    expected = steps(env, after)
    twin = make()
    for each in (env, twin, twin):
        each.restore(saved)
        assert steps(each, after) == expected


def test_the_true_observation_is_restored_as_the_last_one_seen(corridor):
    env = wrapped(corridor(), at=2, kind="stale")
    env.reset(seed=0)
    first, *_ = env.step("Right")
    saved = env.snapshot()
    twin = wrapped(corridor(), at=2, kind="stale")
    twin.restore(saved)
    assert twin.step("Right")[0] == first
