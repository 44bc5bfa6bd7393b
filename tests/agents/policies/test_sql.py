import gymnasium as gym
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.agents.policies.sql import (
    SqlExploreThenGoldPolicy,
    SqlGoldPolicy,
    SqlNullPolicy,
)
from budget_envs.envs.intercode_sql import InterCodeSQLEnv
from budget_envs.errors import UnsupportedError
from budget_envs.evaluation.evaluate import evaluate

SQL = "budget_envs/InterCodeSQL-v0"
NAMES = ("sql_gold", "sql_explore_then_gold", "sql_null")


def episodes(policy, budgets, **settings):
    options = {"tasks": 8, "k": 1, "num_rollouts": 1, "env_kwargs": settings}
    return evaluate(policy, SQL, budgets, **options).episodes


def successes(policy, budgets, **settings):
    """Return, by budget, the turns in which episodes succeeded."""
    turns = {}
    for episode in episodes(policy, budgets, **settings):
        turns.setdefault(episode.budget, set()).add(episode.success_turn)
    return turns


@pytest.mark.parametrize("reward", ["execution", "intercode"])
def test_gold_needs_the_query_and_submit(reward):
    found = successes(SqlGoldPolicy(), [1, 2, 10], reward=reward)
    assert found == {1: {None}, 2: {2}, 10: {2}}


def test_gold_needs_one_turn_where_every_result_is_submitted_by_itself():
    assert successes(SqlGoldPolicy(), [1, 5], auto_submit=True) == {1: {1}, 5: {1}}


def test_explore_then_gold_needs_three_turns_more():
    assert successes(SqlExploreThenGoldPolicy(), [4, 5, 10]) == {4: {None}, 5: {5}, 10: {5}}


def test_explore_then_gold_looks_at_tables_that_there_are(talk):
    env = InterCodeSQLEnv()
    conversation = talk(env)
    shown = []
    for _ in range(3):
        (action,) = SqlExploreThenGoldPolicy().act([conversation])
        text, *_, info = env.step(action.text)
        assert not info["sql_error"]
        shown.append((action.text, text))
        conversation.messages += [{"role": "assistant", "content": action.text}] * 2
    assert shown[0][0] == "SHOW TABLES"
    for action, text in shown[1:]:
        table = action.removeprefix("DESC ").strip("`")
        assert table in shown[0][1].splitlines()
        columns = dict(env.task.tables)[table]
        assert [line.split(" | ")[0] for line in text.splitlines()[1:-1]] == list(columns)


def test_explore_then_gold_goes_on_like_gold(talk):
    env = InterCodeSQLEnv()
    for turn in (0, 1, 2):
        gold = SqlGoldPolicy().act([talk(env, turn=turn)])
        assert SqlExploreThenGoldPolicy().act([talk(env, turn=turn + 3)]) == gold


@pytest.mark.parametrize("reward", ["execution", "intercode"])
def test_null_solves_nothing_and_makes_no_error(reward):
    played = episodes(SqlNullPolicy(), [10], reward=reward)
    assert {(episode.verdict, episode.num_turns) for episode in played} == {("fail", 2)}
    assert {turn.action for episode in played for turn in episode.turns} == {"SELECT 0", "submit"}
    assert {episode.num_invalid for episode in played} == {0}


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_answered_like_each_conversation_alone(talk, name):
    policy = make_policy(name)
    conversations = [
        talk(InterCodeSQLEnv(), turn=turn, split="test", index=turn) for turn in range(6)
    ]
    together = policy.act(conversations)
    assert together == [policy.act([conversation])[0] for conversation in conversations]


def test_null_does_not_read_the_environment_and_gold_does():
    assert not SqlNullPolicy.needs_env
    assert SqlGoldPolicy.needs_env
    assert SqlExploreThenGoldPolicy.needs_env


@pytest.mark.parametrize("name", NAMES)
def test_the_short_name_makes_the_policy(name):
    policy = make_policy(name)
    assert (policy.name, policy.settings) == (name, {})


@pytest.mark.parametrize("name", NAMES)
def test_other_environments_are_refused(name):
    with pytest.raises(UnsupportedError, match=f"{name}.*plays SQL tasks"):
        make_policy(name).check_env(gym.make("budget_envs/FrozenLake-v0"))


@pytest.mark.parametrize("name", NAMES)
def test_sql_tasks_are_played(name):
    make_policy(name).check_env(gym.make(SQL))
