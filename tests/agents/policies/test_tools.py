import gymnasium as gym
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.envs.frozen_lake import FrozenLakeEnv
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.evaluate import evaluate

TOOLS = "budget_envs/ToolUse-v0"


def play(name, **settings):
    options = {"tasks": 10, "k": 1, "num_rollouts": 1, "env_kwargs": settings}
    return evaluate(make_policy(name), TOOLS, [40], **options).episodes


def lengths(name):
    return {each.task_id: each.num_turns for each in play(name, levels=[4])}


@pytest.mark.parametrize("form", ["hermes", "bracket", "openai"])
@pytest.mark.parametrize("name", ["tool_gold", "tool_gold_stepwise"])
def test_gold_serves_every_dialogue(name, form):
    assert all(episode.verdict == "pass" for episode in play(name, format=form))


def test_one_call_at_a_time_takes_longer():
    batched, stepwise = lengths("tool_gold"), lengths("tool_gold_stepwise")
    assert all(batched[task] <= stepwise[task] for task in batched)
    assert sum(batched.values()) < sum(stepwise.values())


def test_null_serves_none():
    assert not any(episode.verdict == "pass" for episode in play("tool_null"))


@pytest.mark.parametrize("name", ["tool_gold", "tool_gold_stepwise", "tool_null"])
def test_other_environments_are_refused(name):
    env: gym.Env = FrozenLakeEnv()
    with pytest.raises(UnsupportedError, match="tool dialogues"):
        make_policy(name).check_env(env)
