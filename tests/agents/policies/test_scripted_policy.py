import gymnasium as gym
import pytest

from budget_envs.agents.policies.scripted_policy import ScriptedPolicy
from budget_envs.errors import OptionError
from budget_envs.evaluation.evaluate import evaluate
from budget_envs.evaluation.policy import Action, Failure

LAKE = "budget_envs/FrozenLake-v0"


@pytest.mark.parametrize(
    ("then", "expected"), [("cycle", "ababab"), ("repeat_last", "abbbbb"), ("stop", "ab----")]
)
def test_what_comes_after_the_last_action(talk, then, expected):
    policy = ScriptedPolicy(["a", "b"], then)
    env = gym.make(LAKE)
    answers = [policy.act([talk(env, turn=turn)])[0] for turn in range(6)]
    assert "".join(a.text if isinstance(a, Action) else "-" for a in answers) == expected


def test_giving_up_is_the_agents_failure(talk):
    (answer,) = ScriptedPolicy(["a"], "stop").act([talk(gym.make(LAKE), turn=1)])
    assert isinstance(answer, Failure)
    assert (answer.boundary, answer.error) == ("agent", "the script ended after 1 actions.")


def test_a_script_solves_the_task_that_it_was_written_for():
    policy = ScriptedPolicy(["Down", "Down", "Right", "Right", "Down", "Right"])
    result = evaluate(policy, LAKE, [5, 6], k=1, env_kwargs={"map_name": "4x4"})
    assert result.pass_kt([1]).mean.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("actions", ["Left", [], [1], None])
def test_a_script_is_a_list_of_texts(actions):
    with pytest.raises(OptionError, match="actions must be a list"):
        ScriptedPolicy(actions)


def test_an_unknown_rule_names_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'cycle'"):
        ScriptedPolicy(["a"], "cycles")


def test_the_settings_are_the_script():
    assert ScriptedPolicy(("a", "b")).settings == {"actions": ["a", "b"], "then": "cycle"}
