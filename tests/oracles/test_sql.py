import gymnasium as gym
import pytest

from budget_envs.envs.intercode_sql import InterCodeSQLEnv
from budget_envs.errors import BudgetError, UnsupportedError
from budget_envs.oracles.sql import SqlOracle
from budget_envs.wrappers import InteractionBudget

ORACLE = SqlOracle()


@pytest.fixture
def env():
    env = InteractionBudget(InterCodeSQLEnv(), budget=6)
    env.reset(seed=0)
    return env


def test_gold_is_worth_one_and_nonsense_nothing(env):
    gold = env.unwrapped.task.gold
    assert ORACLE.value(env, gold) == 1.0
    assert ORACLE.value(env, f"```sql\n{gold}\n```") == 1.0
    for action in ("SELECT broken", "nonsense", "skip", "submit", ""):
        assert ORACLE.value(env, action) == 0.0


def test_submit_is_worth_the_newest_result(env):
    env.step(env.unwrapped.task.gold)
    assert ORACLE.value(env, "submit") == 1.0


def test_judging_changes_nothing(env):
    saved, key = env.snapshot(), env.unwrapped.state_key
    ORACLE.value(env, "SELECT 1")
    ORACLE.error_action(env, "SELECT 1", 5)
    assert env.unwrapped.state_key == key
    assert env.snapshot() == saved


def test_judging_a_writing_statement_writes_nothing():
    env = InterCodeSQLEnv(writable=True)
    env.reset(seed=0)
    env.step("CREATE TABLE t (n INTEGER)")
    assert ORACLE.value(env, "INSERT INTO t VALUES (1)") == 0.0
    assert "0" in env.step("SELECT count(*) FROM t")[0]


@pytest.mark.parametrize(("auto_submit", "bounds"), [(False, [0, 1, 1]), (True, [1, 1, 1])])
def test_the_bound_counts_submit(auto_submit, bounds):
    env = InterCodeSQLEnv(auto_submit=auto_submit)
    env.reset(seed=0)
    assert [ORACLE.upper_bound(env, turns) for turns in (1, 2, 3)] == bounds
    with pytest.raises(BudgetError):
        ORACLE.upper_bound(env, 0)


def test_errors_run_are_wrong_and_leave_turns_for_the_right_query():
    landed = 0
    for seed in range(20):
        env = InteractionBudget(InterCodeSQLEnv(), budget=3)
        env.reset(seed=seed)
        wrong = ORACLE.error_action(env, env.unwrapped.task.gold, seed)
        if wrong is None:
            continue
        landed += 1
        assert ORACLE.value(env, wrong) < 1
        info = env.step(wrong)[4]
        assert info["sql_error"] is False
        env.step(env.unwrapped.task.gold)
        assert env.step("submit")[1] == 1.0
    assert landed >= 15


def test_no_error_is_put_where_too_few_turns_remain():
    env = InteractionBudget(InterCodeSQLEnv(), budget=2)
    env.reset(seed=0)
    assert ORACLE.error_action(env, env.unwrapped.task.gold, 0) is None


def test_it_says_that_it_is_not_exact_and_judges_nothing_else():
    assert ORACLE.exact is False
    with pytest.raises(UnsupportedError, match="InterCodeSQLEnv"):
        ORACLE.value(gym.make("CartPole-v1"), "SELECT 1")
