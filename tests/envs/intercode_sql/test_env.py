import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.envs.intercode_sql import InterCodeSQLEnv
from budget_envs.errors import OptionError
from budget_envs.sql.protocol import QueryResult, SqlEngineError


def made(**keywords):
    env = InterCodeSQLEnv(**keywords)
    env.reset(seed=0)
    return env


def test_the_gold_query_and_submit_succeed():
    env = made()
    _, reward, terminated, truncated, info = env.step(env.task.gold)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["action_kind"] == "sql"
    text, reward, terminated, truncated, info = env.step("submit")
    assert (text, reward, terminated, truncated) == ("The result is right.", 1.0, True, False)
    assert (info["is_success"], info["verdict"]) == (True, "pass")


@pytest.mark.parametrize("reward", ["execution", "intercode"])
def test_gold_succeeds_and_a_constant_fails_on_many_tasks(reward):
    env = InterCodeSQLEnv(reward=reward)
    for index in range(25):
        for answer, expected in ((None, 1.0), ("SELECT 0", 0.0)):
            env.reset(options={"split": "train", "index": index})
            env.step(answer or env.task.gold)
            assert env.step("submit")[1] == expected


def test_submitting_at_once_or_after_an_error_fails():
    env = made()
    assert env.step("submit")[1:3] == (0.0, True)
    env.reset(seed=0)
    env.step(env.task.gold)
    env.step("SELECT no_such_column FROM nowhere")
    text, reward, *_ = env.step("submit")
    assert (text, reward) == ("The result is not right.", 0.0)


def test_skip_ends_with_nothing():
    _, reward, terminated, _, info = made().step("skip")
    assert (reward, terminated, info["verdict"]) == (0.0, True, "fail")


def test_success_is_not_visible_before_the_end():
    env = made()
    right = env.step(env.task.gold)
    wrong = env.step("SELECT 0")
    assert right[4].keys() == wrong[4].keys()
    assert (right[1], wrong[1]) == (0.0, 0.0)
    assert "right" not in right[0].lower()


def test_a_result_shows_headers_rows_in_order_and_their_number():
    env = made()
    text = env.step("SELECT 2 AS b, NULL AS a UNION ALL SELECT 1, 'x'")[0]
    assert text == "b | a\n2 | NULL\n1 | x\n(2 rows)"


def test_a_long_result_is_cut_visibly():
    env = made()
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
    sql = f"{count} SELECT i FROM n"
    lines = env.step(sql)[0].splitlines()
    assert lines[:2] == ["i", "1"]
    assert lines[-1] == "(300 rows, the first 50 shown)"


def test_a_result_too_large_to_keep_is_never_right():
    env = made()
    env.result = QueryResult(("a",), ((1,),), 10**6, truncated=True)
    assert env.score() == 0.0


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE '/tmp/budget_envs_escape.db' AS x",
        "VACUUM INTO '/tmp/budget_envs_escape.db'",
        "PRAGMA query_only = 0",
        "SELECT load_extension('x')",
        "SELECT length(zeroblob(1000000000))",
        "DROP TABLE sqlite_master",
        "INSERT INTO nowhere VALUES (1)",
        "SELECT 1; DELETE FROM nowhere",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    ],
)
def test_what_reaches_too_far_is_refused_as_text_and_the_next_query_works(sql, tmp_path):
    env = made()
    text, _, terminated, truncated, info = env.step(sql)
    assert text.startswith("Error: ")
    assert info["sql_error"] is True
    assert (terminated, truncated) == (False, False)
    assert env.step("SELECT 1 AS one")[0] == "one\n1\n(1 row)"


def test_episodes_in_parallel_write_without_seeing_each_other():
    def play(number):
        env = InterCodeSQLEnv(writable=True)
        env.reset(seed=0)
        env.step("CREATE TABLE notes (n INTEGER)")
        for _ in range(number + 1):
            env.step(f"INSERT INTO notes VALUES ({number})")
        text = env.step("SELECT count(*), min(n), max(n) FROM notes")[0]
        env.close()
        return text.splitlines()[1]

    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(play, range(64)))
    assert counted == [f"{number + 1} | {number} | {number}" for number in range(64)]


def test_what_is_written_is_gone_in_the_next_episode():
    env = made(writable=True)
    table = env.task.tables[0][0]
    before = env.step(f"SELECT count(*) FROM {table}")[0]
    env.step(f"DELETE FROM {table}")
    assert env.step(f"SELECT count(*) FROM {table}")[0] != before
    env.reset(seed=0)
    assert env.step(f"SELECT count(*) FROM {table}")[0] == before


def test_a_read_only_episode_refuses_to_write():
    env = made()
    text = env.step(f"DELETE FROM {env.task.tables[0][0]}")[0]
    assert text.startswith("Error: ")


statements = st.lists(
    st.sampled_from(
        [
            "SHOW TABLES",
            "SELECT 1",
            "nonsense",
            "CREATE TABLE t (n INTEGER)",
            "INSERT INTO t VALUES (1)",
            "SELECT count(*) FROM t",
            "DROP TABLE t",
            "SELECT broken",
        ]
    ),
    max_size=6,
)


@settings(max_examples=25)
@given(before=statements, after=statements, writable=st.booleans())
def test_after_restore_the_same_statements_give_the_same_bytes(before, after, writable):
    env = made(writable=writable)
    for action in before:
        env.step(action)
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    first = [env.step(action) for action in [*after, "submit"]]
    env.restore(saved)
    assert [env.step(action) for action in [*after, "submit"]] == first


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("writable", [False, True])
def test_a_copy_goes_on_alike_and_apart(copied, writable):
    env = made(writable=writable)
    env.step("CREATE TABLE t (n INTEGER)")
    twin = copied(env)
    assert twin.step("SELECT count(*) FROM t") == env.step("SELECT count(*) FROM t")
    env.step("INSERT INTO t VALUES (1)")
    assert "0" in twin.step("SELECT count(*) FROM t")[0] or not writable


def test_state_keys_tell_results_and_writes_apart():
    env = made(writable=True)
    keys = [env.state_key]
    for action in ("SELECT 1", "SELECT 2", "CREATE TABLE t (n INTEGER)"):
        env.step(action)
        keys.append(env.state_key)
    assert len(set(keys)) == 4
    env.step("SELECT 7 AS x")
    first = env.state_key
    env.step("SELECT 3 + 4 AS x")
    assert env.state_key == first


def test_equal_states_have_equal_keys_whatever_writes_led_there():
    """Also if nothing is left of them."""
    one, other = made(writable=True), made(writable=True)
    untouched = one.state_key
    for action in ("CREATE TABLE t (n)", "INSERT INTO t VALUES (1)", "SELECT 1 AS x"):
        one.step(action)
    for action in (
        "CREATE TABLE u (n)",
        "CREATE TABLE t (n)",
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET n = 1",
        "DROP TABLE u",
        "SELECT 1 AS x",
    ):
        other.step(action)
    assert one.state_key == other.state_key != untouched
    other.step("INSERT INTO t VALUES (1)")
    other.step("SELECT 1 AS x")
    assert one.state_key != other.state_key
    for env in (one, other):
        env.step("DROP TABLE t")
        env.step("SELECT 1 AS x")
    reader = made()
    reader.step("SELECT 1 AS x")
    assert one.state_key == other.state_key == reader.state_key


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_and_a_restored_episode_have_the_same_key(copied):
    env = made(writable=True)
    env.step("CREATE TABLE t (n)")
    key, saved = env.state_key, env.snapshot()
    assert copied(env).state_key == key
    env.step("INSERT INTO t VALUES (1)")
    assert env.state_key != key
    env.restore(saved)
    assert env.state_key == key


def test_states_that_differ_in_hidden_numbers_have_different_keys():
    """A query can read them, so they are part of what the agent can see."""
    one, other = made(writable=True), made(writable=True)
    for env, rows in ((one, "(1), (2), (3)"), (other, "(1), (3)")):
        env.step("CREATE TABLE t (n)")
        env.step(f"INSERT INTO t VALUES {rows}")
        env.step("DELETE FROM t WHERE n = 2")
        env.step("SELECT n FROM t")
    assert one.result == other.result
    assert one.state_key != other.state_key
    seen = [env.step("SELECT rowid FROM t")[0] for env in (one, other)]
    assert seen[0] != seen[1]


def test_a_database_that_cannot_be_read_for_its_key_voids_the_episode(monkeypatch):
    def fails(_):
        raise SqlEngineError("no memory")

    env = made(writable=True)
    env.step("CREATE TABLE t (n)")
    monkeypatch.setattr("budget_envs.sql.sqlite_engine.SqliteSession.digest", fails)
    text, reward, _, _, info = env.step("INSERT INTO t VALUES (1)")
    assert text == "The environment failed: no memory"
    assert (info["verdict"], math.isnan(reward)) == ("void", True)


def test_auto_submit_tells_the_reward_and_ends_at_one():
    env = made(auto_submit=True)
    text, reward, terminated, *_ = env.step("SELECT 0")
    assert text.endswith("Reward: 0")
    assert (reward, terminated) == (0.0, False)
    text, reward, terminated, _, info = env.step(env.task.gold)
    assert (reward, terminated, info["verdict"]) == (1.0, True, "pass")
    assert text.endswith("Reward: 1")


def test_intercodes_reward_may_be_negative_at_submit():
    env = InterCodeSQLEnv(reward="intercode")
    env.reset(seed=0)
    env._golds[env.task.task_id] = env.gold()
    rows = tuple((str(i),) for i in range(3))
    env._golds[env.task.task_id] = env.gold().__class__(rows, False, None, (rows,))
    env.step("SELECT '2' AS a UNION ALL SELECT '1' UNION ALL SELECT '0'")
    assert env.step("submit")[1] == -1.0


def test_a_broken_engine_or_gold_is_void(monkeypatch):
    def broken(*_):
        raise SqlEngineError("the server is gone")

    env = made()
    monkeypatch.setattr(type(env.session), "execute", broken)
    _, reward, _, truncated, info = env.step("SELECT 1")
    assert math.isnan(reward)
    assert (truncated, info["verdict"]) == (True, "void")
    monkeypatch.undo()
    env.reset(seed=0)
    env.task = env.task.__class__(
        env.task.task_id, env.task.database, "?", "SELECT broken", env.task.hardness
    )
    env._golds.clear()
    env.step("SELECT 1")
    assert env.step("submit")[4]["verdict"] == "void"


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dataset": "intercode"}, "Did you mean 'intercode_sql'"),
        ({"hardness": ["hardd"]}, "Did you mean 'hard'"),
        ({"hardness": []}, "one or more"),
        ({"split": "dev"}, "split"),
        ({"reward": "exact"}, "reward"),
        ({"engine": "postgres"}, "sqlite"),
        ({"data_path": "x"}, "generated"),
        ({"data_path": 5}, "data_path is the path"),
        ({"dataset": "intercode_sql", "data_path": 5}, "data_path is the path"),
        ({"hardness": 3}, "one or more"),
        ({"hardness": None}, "one or more"),
        ({"hardness": [3]}, "hardness must be among"),
        ({"writable": "no"}, "writable is True or False"),
        ({"auto_submit": "no"}, "auto_submit is True or False"),
        ({"include_excluded": 3}, "include_excluded is True or False"),
    ],
)
def test_a_bad_setting_is_refused(keywords, message):
    with pytest.raises(OptionError, match=message):
        InterCodeSQLEnv(**keywords)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_drawn_tasks_are_of_the_split(split):
    from budget_envs.tasks import synthetic_sql

    env = InterCodeSQLEnv(split=split, hardness=("easy", "extra"))
    for seed in range(10):
        task_id = env.reset(seed=seed)[1]["task_id"]
        assert synthetic_sql.task_from_id(task_id).split == split


def test_the_id_comes_with_ten_turns_and_an_oracle():
    env = gym.make("budget_envs/InterCodeSQL-v0", oracle=True, show_budget=True)
    text, _ = env.reset(seed=0)
    assert text.endswith("[Budget: 10 of 10 turns left]")
