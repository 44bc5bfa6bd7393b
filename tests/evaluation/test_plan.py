import dataclasses
import json
import math
from fractions import Fraction

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import budget_envs
from budget_envs.agents.policies import make_policy
from budget_envs.errors import BudgetError, OptionError, UnsupportedError
from budget_envs.evaluation import plan as plan_module
from budget_envs.evaluation.env_maker import oracle_entry
from budget_envs.evaluation.plan import make_plan, resolve_budgets

LAKE = "budget_envs/FrozenLake-v0"


def plan(env_id=LAKE, budgets=("50%", "100%"), policy="random", **keywords):
    keywords = {"tasks": 3, "k": 1, **keywords}
    return make_plan(make_policy(policy), env_id, list(budgets), **keywords)


# Budgets.


@pytest.mark.parametrize(
    ("budgets", "t_max", "expected"),
    [
        ([4, 2], None, (2, 4)),
        (["25%", "50%", "75%", "100%"], 10, (3, 5, 8, 10)),
        (["1%"], 10, (1,)),
        (["12.5%"], 8, (1,)),
        (["10%", "70%"], 10, (1, 7)),
        (["50%", 5, 5], 10, (5,)),
        (["30%", "40%"], 3, (1, 2)),
    ],
)
def test_budgets_become_distinct_rising_integers(budgets, t_max, expected):
    assert resolve_budgets(budgets, t_max) == expected


@given(percent=st.integers(1, 100), t_max=st.integers(1, 10_000))
def test_a_share_is_rounded_up_exactly(percent, t_max):
    expected = math.ceil(Fraction(percent, 100) * t_max)
    assert resolve_budgets([f"{percent}%"], t_max) == (expected,)


@pytest.mark.parametrize(
    "budget", [0, -1, True, 1.5, None, "8", "0%", "101%", "-5%", "x%", "%", ""]
)
def test_what_is_no_budget_is_refused(budget):
    with pytest.raises(BudgetError, match=r"got .*"):
        resolve_budgets([budget], 10)


@pytest.mark.parametrize("budget", ["1/0%", "nan%", "inf%"])
def test_shares_that_are_no_numbers_are_refused(budget):
    with pytest.raises(BudgetError, match="a share such as '25%'"):
        resolve_budgets([budget], 10)


@pytest.mark.parametrize("budgets", [[], (), "50%", 5])
def test_budgets_are_a_list(budgets):
    with pytest.raises(BudgetError, match="budgets must be a list"):
        resolve_budgets(budgets, 10)


def test_a_share_needs_something_to_be_of(fake_id):
    with pytest.raises(BudgetError, match="'50%' of what"):
        plan(fake_id, tasks=["pass-3"])


def test_shares_are_of_the_ids_own_budget():
    assert plan("budget_envs/FrozenLake-8x8-v0").run.budgets == (10, 20)


def test_shares_are_of_the_budget_asked_for():
    assert plan(env_kwargs={"budget": 16}).run.budgets == (8, 16)


def test_other_resources_can_be_limited():
    made = plan(budgets=[4], env_kwargs={"budget": {"tokens": 99}})
    assert made.make_env.limits.limits() == {"turns": 4, "tokens": 99}
    assert made.run.token_counter == "characters"


def test_without_a_budget_of_tokens_nothing_counts_them():
    assert plan().run.token_counter is None


def test_the_tasks_do_not_depend_on_the_budgets_evaluated():
    kwargs = {"feasible_only": True, "size": 8, "budget": 6}
    one, other = plan(budgets=[2], env_kwargs=kwargs), plan(budgets=[6], env_kwargs=kwargs)
    assert one.run.task_ids == other.run.task_ids


# Tasks.


def test_tasks_are_the_first_of_the_split():
    env = gym.make(LAKE).unwrapped
    expected = tuple(env.task_at("test", index).id for index in range(3))
    assert (plan().run.task_ids, plan().run.split) == (expected, "test")


def test_another_split_has_other_tasks():
    assert not set(plan(split="train").run.task_ids) & set(plan().run.task_ids)


def test_tasks_can_be_named():
    made = plan(tasks=["SFG", "SFFG"])
    assert (made.run.task_ids, made.run.split) == (("SFG", "SFFG"), None)


@pytest.mark.parametrize("number", [1, 100])
def test_an_environment_with_one_map_has_that_task_only(number):
    made = plan(tasks=number, env_kwargs={"map_name": "4x4"})
    assert (made.run.task_ids, made.run.split) == (("SFFF/FHFH/FFFH/HFFG",), None)


def test_too_many_tasks_are_refused_before_anything_is_played(fake_id):
    with pytest.raises(OptionError, match="20 tasks, so index 20 is out of range"):
        plan(fake_id, budgets=[3], tasks=21)


def test_an_unknown_task_is_refused_before_anything_is_played():
    with pytest.raises(OptionError, match="map row 1"):
        plan(tasks=["SXG"])


def test_an_unknown_split_is_refused(fake_id):
    with pytest.raises(OptionError, match=r"unknown split 'tset'.* Did you mean 'test'"):
        plan(split="tset")


@pytest.mark.parametrize("tasks", [0, -1, True, 1.5, "SFG", None])
def test_tasks_are_a_number_or_a_list(tasks):
    with pytest.raises(OptionError, match="tasks must be"):
        plan(tasks=tasks)


def test_a_task_named_twice_is_refused():
    with pytest.raises(OptionError, match="got 'SFG' more than once"):
        plan(tasks=["SFG", "SFFG", "SFG"])


def test_an_empty_list_of_tasks_is_refused():
    with pytest.raises(OptionError, match="got none"):
        plan(tasks=[])


@pytest.fixture
def repeating(fake_id, monkeypatch):
    """Let the tasks of the fake environment begin again after three, and count what is begun."""
    begun = []
    kind = gym.registry[fake_id].entry_point
    monkeypatch.setattr(kind, "task_at", lambda self, split, index: f"pass-{1 + index % 3}")
    monkeypatch.setattr(kind, "begin", lambda self, task: begun.append(task))
    return fake_id, begun


def test_a_split_that_repeats_a_task_is_refused_before_anything_is_played(repeating):
    env_id, begun = repeating
    message = r"ScriptedEnv has task 'pass-1' at test 0 and at test 3: task_at must give another"
    with pytest.raises(UnsupportedError, match=message):
        plan(env_id, budgets=[3], tasks=5)
    assert begun == []


def test_as_many_tasks_as_differ_can_be_evaluated(repeating):
    assert len(plan(repeating[0], budgets=[3], tasks=3).run.task_ids) == 3


def test_two_tasks_with_one_name_are_refused(fake_id, monkeypatch):
    kind = gym.registry[fake_id].entry_point
    monkeypatch.setattr(kind, "name_task", lambda self, task: "pass-1")
    with pytest.raises(UnsupportedError, match="name_task another id"):
        plan(fake_id, budgets=[3], tasks=2)


# Episodes.


def test_truncate_plays_one_set_under_the_largest_budget():
    made = plan(budgets=[2, 5], protocol="truncate", k=1, num_rollouts=4)
    assert (made.num_episodes, made.max_turns) == (12, 60)
    assert {request.key.budget for request in made.requests} == {5}
    assert made.run.num_requested == 12


def test_rerun_plays_every_budget():
    made = plan(budgets=[2, 5], protocol="rerun", k=1, num_rollouts=4)
    assert (made.num_episodes, made.max_turns) == (24, 84)
    assert made.run.num_requested == 24


def test_the_default_is_twice_k_rollouts():
    assert plan(k=3).run.num_rollouts == 6


def test_fewer_rollouts_than_k_are_refused():
    with pytest.raises(OptionError, match=r"Pass@\(8,T\) needs at least 8 rollouts"):
        plan(k=8, num_rollouts=7)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "8"])
@pytest.mark.parametrize("name", ["k", "num_rollouts"])
def test_counts_are_positive_integers(name, value):
    with pytest.raises(OptionError, match=f"{name} must be an integer|num_rollouts must be"):
        plan(**{name: value})


@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.5, None, "0"])
def test_a_seed_fits_a_database(seed):
    with pytest.raises(OptionError, match="seed must be an integer in"):
        plan(seed=seed)


# Protocols.


@pytest.mark.parametrize("when", [True, "every_turn", "last_turn", "total_only", ["half"]])
def test_truncate_is_refused_where_the_agent_can_see_its_budget(when):
    with pytest.raises(UnsupportedError, match=r"shows its budget .* Use protocol='rerun'"):
        plan(protocol="truncate", env_kwargs={"show_budget": when})


def test_truncate_is_refused_where_the_policy_knows_its_budget():
    with pytest.raises(UnsupportedError, match=r"'oracle' knows its budget .*'rerun'"):
        plan(protocol="truncate", policy="oracle")


def test_truncate_is_allowed_where_the_budget_is_never_shown():
    made = plan(protocol="truncate", env_kwargs={"show_budget": "never"})
    assert not made.run.is_budget_shown


def test_rerun_is_allowed_where_the_budget_is_shown():
    assert plan(env_kwargs={"show_budget": True}).run.is_budget_shown


def test_an_unknown_protocol_names_the_nearest():
    with pytest.raises(OptionError, match=r"got 'reruns'\. Did you mean 'rerun'"):
        plan(protocol="reruns")


# Environments and policies.


def test_an_unknown_id_is_refused():
    with pytest.raises(gym.error.Error, match="FrozenLke"):
        plan("budget_envs/FrozenLke-v0")


def test_an_unknown_keyword_names_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'size'"):
        plan(env_kwargs={"sizes": 4})


def test_an_environment_without_text_is_refused():
    with pytest.raises(UnsupportedError, match="needs text observations"):
        plan(env_kwargs={"numeric": True})


def test_an_environment_of_another_project_without_text_is_refused():
    with pytest.raises(UnsupportedError):
        make_plan(make_policy("scripted", actions=["0"]), "CartPole-v1", [5], k=1)


def test_a_mixed_budget_is_refused():
    with pytest.raises(UnsupportedError, match="leave budget_mix out"):
        plan(env_kwargs={"budget_mix": True})


def test_an_environment_of_another_project_gets_a_budget(fake_id):
    made = plan(fake_id, budgets=[3, 6])
    env = made.make_env()
    _, info = env.reset(seed=0, options={"budget": {"turns": 3}})
    assert info["budget"]["turns"]["limit"] == 3


def test_what_is_no_policy_is_refused():
    with pytest.raises(OptionError, match="expected a policy"):
        make_plan("random", LAKE, [3])


def test_a_policy_may_refuse_the_environment(fake_id):
    with pytest.raises(UnsupportedError, match="plays frozen lakes"):
        plan(fake_id, budgets=[3], policy="shortest_path")


def test_planning_closes_its_environment(fake_id, monkeypatch):
    closed = []
    monkeypatch.setattr(
        gym.registry[fake_id].entry_point, "close", lambda self: closed.append(self)
    )
    plan(fake_id, budgets=[3])
    assert len(closed) == 1


def test_bounds_come_from_the_environments_own_oracle():
    made = plan(budgets=[1, 2, 3], tasks=["SFG"])
    env = made.make_env()
    env.reset(seed=0, options={"task": "SFG"})
    assert made.bounds(env) == {1: 0.0, 2: 1.0, 3: 1.0}


LAKES = "budget_envs.envs.frozen_lake.env:FrozenLakeEnv"
ORACLE = "budget_envs.oracles.frozen_lake:FrozenLakeOracle"


@pytest.fixture
def registered():
    """Register ids as another package does."""
    made = []

    def register(oracle):
        made.append(f"other/Lake{len(made)}-v0")
        budget_envs.register(made[-1], LAKES, turns=6, oracle=oracle)
        return made[-1]

    yield register
    for env_id in made:
        del gym.registry[env_id]


def test_bounds_of_an_id_of_another_package_come_from_the_oracle_registered_with_it(registered):
    made = plan(registered(ORACLE), tasks=["SFG"])
    env = made.make_env()
    env.reset(seed=0, options={"task": "SFG"})
    assert made.bounds(env) == {3: 1.0, 6: 1.0}


def test_an_id_of_another_package_without_an_oracle_has_no_bounds(registered):
    assert plan(registered(None), tasks=["SFG"]).bounds is None


@pytest.mark.parametrize("family", ["frozen_lake", "tabby", {"env": LAKES, "oracle": ORACLE}, 7])
def test_a_keyword_that_another_project_calls_family_means_nothing(fake_id, family):
    env = gym.make(fake_id)
    env.spec.kwargs["family"] = family
    assert oracle_entry(env) is None


def test_an_environment_without_oracle_has_no_bounds(fake_id):
    assert plan(fake_id, budgets=[3]).bounds is None


# Identity.


def test_equal_settings_have_equal_ids():
    assert plan().run.run_id == plan().run.run_id


def test_k_alone_changes_only_how_the_run_is_read():
    one, other = plan(k=1, num_rollouts=4), plan(k=2, num_rollouts=4)
    assert one.run.run_id == other.run.run_id


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"tasks": 2},
        {"split": "train"},
        {"num_rollouts": 5},
        {"budgets": ["50%"]},
        {"policy": "shortest_path"},
        {"protocol": "truncate"},
        {"env_kwargs": {"success_rate": 0.8}},
        {"env_id": "budget_envs/FrozenLake-Slippery-v0"},
    ],
)
def test_any_other_setting_changes_the_id(change):
    assert plan(**change).run.run_id != plan().run.run_id


def test_the_settings_of_the_policy_change_the_id():
    ids = {
        make_plan(make_policy("oracle", ties=ties), LAKE, [3], tasks=1).run.run_id
        for ties in ("first", "random")
    }
    assert len(ids) == 2


def test_another_version_of_the_package_changes_the_id(monkeypatch):
    before = plan().run.run_id
    monkeypatch.setattr(plan_module, "__version__", "999")
    assert plan().run.run_id != before


def test_settings_that_json_lacks_are_refused():
    policy = make_policy("random")
    policy.settings = {"model": object()}
    with pytest.raises(OptionError, match="must be JSON-safe"):
        make_plan(policy, LAKE, [3], tasks=1)


def test_the_spec_rebuilds_the_environment():
    spec = gym.envs.registration.EnvSpec.from_json(plan(env_kwargs={"size": 5}).run.env_spec)
    assert gym.make(spec).unwrapped.maps.sizes == (5,)


def test_a_spec_that_json_lacks_is_described(fake_id):
    spec = json.loads(plan(fake_id, budgets=[3]).run.env_spec)
    assert spec["id"] == fake_id


def test_a_plan_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan().run = None


# Who plays, and what nobody can play.


def test_policies_of_different_classes_with_one_name_are_different_runs():
    class One(type(make_policy("random"))):
        pass

    class Two(type(make_policy("random"))):
        def act(self, conversations):
            return super().act(conversations)

    runs = [make_plan(kind(), LAKE, [2], tasks=1, k=1).run for kind in (One, Two, One)]
    assert runs[0].run_id == runs[2].run_id != runs[1].run_id
    assert runs[0].policy_settings == runs[1].policy_settings
    assert "One" in runs[0].versions["policy"]


@pytest.mark.parametrize(
    "faults", [True, {"kind": "wrong_action"}, {"kind": ["empty", "wrong_action"]}]
)
def test_truncate_is_refused_where_an_injection_depends_on_the_budget(faults):
    keywords = {"env_kwargs": {"error_states": faults}}
    with pytest.raises(UnsupportedError, match="wrong_action depends on the remaining budget"):
        plan(protocol="truncate", **keywords)
    assert plan(protocol="rerun", **keywords).num_episodes


@pytest.mark.parametrize("keywords", [{"error_states": {"kind": "empty"}}, {"oracle": True}])
def test_truncate_is_fine_with_layers_that_change_no_episode_by_the_budget(keywords):
    assert plan(protocol="truncate", env_kwargs=keywords).run.protocol == "truncate"


@pytest.mark.parametrize("steps", [0, 3, -1, None])
def test_another_limit_on_the_steps_is_refused(steps):
    with pytest.raises(OptionError, match=r"max_episode_steps .* budgets"):
        plan(env_kwargs={"max_episode_steps": steps})


def test_a_policy_that_cannot_check_an_environment_is_named():
    policy = make_policy("random")
    policy.check_env = lambda env: 1 / 0
    with pytest.raises(OptionError, match=r"policy 'random' .*ZeroDivisionError"):
        make_plan(policy, LAKE, [2])


@pytest.mark.parametrize(
    "budget",
    ["1e999999999%", "1e1%", "+5%", " 5%", "1/3%", "9" * 5000 + "%", 10**20, 10**5000],
    ids=range(8),
)
def test_budgets_out_of_any_range_are_refused_in_few_words(budget):
    with pytest.raises(BudgetError) as caught:
        resolve_budgets([budget], 10)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("size", [{"k": 10_000_000}, {"tasks": 1_000_000}, {"tasks": 10**30}])
def test_more_episodes_than_can_be_listed_are_refused(size):
    with pytest.raises(OptionError, match="at most"):
        plan(**size)


def test_counts_are_those_of_the_requests():
    for protocol in ("rerun", "truncate"):
        made = plan(protocol=protocol, k=2)
        assert made.num_episodes == len(made.requests)
        assert made.max_turns == sum(request.key.budget for request in made.requests)
