import gymnasium as gym
import pytest

from budget_envs.agents.policies.oracle_policy import OraclePolicy
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation.evaluate import evaluate
from budget_envs.oracles.frozen_lake import FrozenLakeOracle

LAKE = "budget_envs/FrozenLake-v0"
OPEN = ["SFF", "FFF", "FFG"]


class ValueOnly:
    """An oracle that cannot list the actions."""

    exact = True

    def value(self, env, action):
        return 0.0

    def upper_bound(self, env, turns):
        return 1.0


def test_the_action_is_a_best_one(talk):
    env = gym.make(LAKE, success_rate=0.8)
    for index in range(30):
        conversation = talk(env, split="test", index=index)
        values = FrozenLakeOracle().values(env)
        (action,) = OraclePolicy().act([conversation])
        assert values[action.text] == max(values.values())


def test_the_action_that_wins_soonest_is_taken_by_default(talk):
    conversations = [talk(gym.make(LAKE, desc=OPEN, budget=9), key=key) for key in range(20)]
    assert {action.text for action in OraclePolicy().act(conversations)} == {"Down"}
    first = OraclePolicy(ties="first").act(conversations)
    assert {action.text for action in first} == {"Left"}


@pytest.mark.parametrize("budget", [4, 9, None])
def test_no_turn_is_wasted_where_every_way_is_safe(budget):
    env = gym.make(LAKE, desc=OPEN, budget=budget)
    env.reset(seed=0)
    oracle, turns, over = FrozenLakeOracle(), 0, False
    while not over:
        _, _, over, _, info = env.step(oracle.soonest_action(env))
        turns += 1
    assert (turns, info["is_success"]) == (4, True)


def test_ties_can_be_broken_at_random_from_the_conversations_stream(talk):
    conversations = [talk(gym.make(LAKE, desc=OPEN, budget=4), key=key) for key in range(40)]
    policy = OraclePolicy(ties="random")
    drawn = [action.text for action in policy.act(conversations)]
    assert set(drawn) == {"Down", "Right"}
    assert drawn == [policy.act([conversation])[0].text for conversation in conversations]


def test_the_action_depends_on_the_turns_that_remain(talk):
    """With time to spare the safe detour is best, in a hurry the risky short way."""
    desc = ["SFFF", "FHFH", "FFFH", "HFFG"]
    texts = set()
    for budget in (6, 100):
        env = gym.make(LAKE, desc=desc, success_rate=1 / 3, budget=budget)
        texts.add(OraclePolicy().act([talk(env)])[0].text)
    assert len(texts) == 2


@pytest.mark.parametrize("env_id", [LAKE, "budget_envs/FrozenLake-8x8-v0"])
def test_every_task_that_fits_into_the_budget_is_solved(env_id):
    result = evaluate(OraclePolicy(), env_id, ["50%", "100%"], tasks=40, k=1, num_rollouts=1)
    for episode in result.episodes:
        assert (episode.verdict == "pass") == (episode.upper_bounds[episode.budget] == 1.0)


def test_its_regret_is_zero():
    kwargs = {"success_rate": 0.8, "oracle": True}
    result = evaluate(OraclePolicy(), LAKE, [3, 10], tasks=20, k=1, env_kwargs=kwargs)
    assert {episode.mean_regret for episode in result.episodes} == {0.0}


def test_it_says_that_it_reads_the_environment_and_knows_the_budget():
    assert (OraclePolicy.needs_env, OraclePolicy.uses_budget) == (True, True)


def test_another_oracle_can_be_named(talk):
    policy = OraclePolicy("budget_envs.oracles.frozen_lake:FrozenLakeOracle")
    assert policy.act([talk(gym.make(LAKE, desc=["SFG"], budget=2))])[0].text == "Right"


def test_an_environment_without_oracle_is_refused():
    with pytest.raises(UnsupportedError, match="has no oracle of its own"):
        OraclePolicy().check_env(gym.make("CartPole-v1"))


def test_an_oracle_that_lists_no_actions_is_refused(monkeypatch):
    import budget_envs.agents.policies.oracle_policy as module

    monkeypatch.setattr(module, "load_oracle", lambda entry: ValueOnly())
    with pytest.raises(UnsupportedError, match="neither lists actions nor names a best one"):
        OraclePolicy().check_env(gym.make(LAKE))


def test_an_unknown_rule_for_ties_names_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'random'"):
        OraclePolicy(ties="rndom")
