"""All 1,034 published questions, played through the environment, on SQLite and on MariaDB."""

import importlib.util
import math
import os
from pathlib import Path

import gymnasium as gym
import pytest

import budget_envs  # registers the ids
from budget_envs import tasks
from budget_envs.envs.intercode_sql import InterCodeSQLEnv

pytest.importorskip("sqlglot", reason='needs pip install "budget-envs[sql]"')

DATASET = "intercode_sql"
HERE = Path(__file__).resolve()
REWARDS = ["execution", "intercode"]
SAMPLE = 12  # one task in so many is played on a server a second time
# Golds that only SQLite can read: a table named SHOW, a subquery without a name, COUNT (*).
NO_MYSQL = [f"intercode_sql/{number:04d}" for number in (164, 178, 225, 531, 638, 802)]

spec = importlib.util.spec_from_file_location(
    "sql_fixtures", HERE.parents[1] / "sql" / "conftest.py"
)
sql_fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sql_fixtures)
mysql_url = sql_fixtures.mysql_url  # a private MariaDB


@pytest.fixture(scope="module", autouse=True)
def benchmark_data(tmp_path_factory):
    """Name the folder of the published files for all tests here; keep out of the user's cache."""
    given = os.environ.get("BUDGET_ENVS_DATA")
    folder = Path(given).expanduser() if given else HERE.parents[3] / "shared" / "data"
    if not (folder / DATASET).is_dir():
        pytest.skip("no benchmark files: set BUDGET_ENVS_DATA to a folder that has them")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUDGET_ENVS_DATA", str(folder))
        patch.setenv("BUDGET_ENVS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def everything():
    return tasks.load(DATASET, include_excluded=True)


@pytest.fixture(scope="module")
def in_use():
    return tasks.load(DATASET)


def play(env, task, sql):
    """Run one statement and submit; return its text, its info and the reward."""
    env.reset(seed=0, options={"task": task.task_id})
    text, reward, terminated, truncated, info = env.step(sql)
    assert (reward, terminated, truncated) == (0.0, False, False)
    return text, info, env.step("submit")[1]


def playable(task):
    return task.task_id not in NO_MYSQL


def test_the_set_is_whole(everything, in_use):
    assert len(everything) == 1034
    assert len(everything.excluded) == len(everything) - len(in_use) == 167
    assert everything.manifest.pinned


@pytest.mark.parametrize("reward", REWARDS)
def test_every_gold_query_executes_and_scores_one(everything, reward):
    env = InterCodeSQLEnv(dataset=DATASET, include_excluded=True, reward=reward)
    failures = {}
    for task in everything:
        text, info, score = play(env, task, task.gold)
        if info["sql_error"] or score != 1.0:
            failures[task.task_id] = score, text
    assert failures == {}


@pytest.mark.parametrize("reward", REWARDS)
def test_the_null_policy_scores_nothing_on_any_task_in_use(in_use, reward):
    env = InterCodeSQLEnv(dataset=DATASET, reward=reward)
    scores = {task.task_id: play(env, task, "SELECT 0")[2] for task in in_use}
    assert {task_id: score for task_id, score in scores.items() if score != 0.0} == {}


def test_nothing_submitted_scores_nothing_even_where_gold_returns_nothing(everything):
    env = InterCodeSQLEnv(dataset=DATASET, include_excluded=True)
    for task in everything:
        env.reset(seed=0, options={"task": task.task_id})
        assert env.step("submit")[1] == 0.0


def test_tasks_left_out_are_neither_drawn_nor_loaded_by_default(everything):
    env = InterCodeSQLEnv(dataset=DATASET)
    drawn = {env.reset(seed=seed)[1]["task_id"] for seed in range(300)}
    assert not drawn & set(everything.excluded)
    with pytest.raises(budget_envs.errors.OptionError, match="left out"):
        env.reset(options={"task": next(iter(everything.excluded))})


@pytest.mark.parametrize("hardness", ["easy", "medium", "hard", "extra"])
def test_a_hardness_can_be_chosen(in_use, hardness):
    env = InterCodeSQLEnv(dataset=DATASET, hardness=[hardness])
    drawn = {env.reset(seed=seed)[1]["task_id"] for seed in range(50)}
    assert {in_use.task(task_id).hardness for task_id in drawn} == {hardness}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_tasks_of_a_split_are_those_of_the_dataset(in_use, split):
    env = InterCodeSQLEnv(dataset=DATASET)
    members = [task for task in in_use if in_use.split_of(task.task_id) == split]
    assert [env.task_at(split, index) for index in range(len(members))] == members
    with pytest.raises(budget_envs.errors.OptionError, match="out of range"):
        env.task_at(split, len(members))


def test_the_id_plays_the_published_questions(in_use):
    env = gym.make("budget_envs/InterCodeSQL-v0", dataset=DATASET, oracle=True, show_budget=True)
    task = in_use[0]
    text, info = env.reset(seed=0, options={"task": task.task_id})
    assert task.question.strip() in text
    assert task.gold not in text
    assert env.step(task.gold)[4]["oracle"]["value"] == 1.0
    assert env.step("submit")[1] == 1.0
    assert gym.make(env.spec).reset(seed=0, options={"task": task.task_id}) == (text, info)


def test_gold_scores_one_on_a_server_too_wherever_the_server_can_read_it(in_use, mysql_url):
    env = InterCodeSQLEnv(dataset=DATASET, engine=mysql_url)
    scores = {}
    for task in in_use:
        _, info, scores[task.task_id] = play(env, task, task.gold)
        assert info["sql_error"] == (task.task_id in NO_MYSQL), task.gold
    env.close()
    others = {task_id: score for task_id, score in scores.items() if score != 1.0}
    assert list(others) == NO_MYSQL
    assert all(map(math.isnan, others.values()))  # void, not failed


def test_null_scores_nothing_on_a_server_too(in_use, mysql_url):
    env = InterCodeSQLEnv(dataset=DATASET, engine=mysql_url)
    scores = [play(env, task, "SELECT 0")[2] for task in in_use[::SAMPLE] if playable(task)]
    env.close()
    assert set(scores) == {0.0}


@pytest.mark.parametrize("reward", REWARDS)
def test_both_engines_show_the_same_results(in_use, mysql_url, reward):
    here = InterCodeSQLEnv(dataset=DATASET, reward=reward)
    there = InterCodeSQLEnv(dataset=DATASET, reward=reward, engine=mysql_url)
    for task in filter(playable, in_use[::SAMPLE]):
        _, info_here, score_here = play(here, task, task.gold)
        _, info_there, score_there = play(there, task, task.gold)
        assert info_here["num_rows"] == info_there["num_rows"], task.gold
        assert score_here == score_there == 1.0
    there.close()


def test_what_one_episode_writes_on_a_server_is_gone_in_the_next(in_use, mysql_url):
    env = InterCodeSQLEnv(dataset=DATASET, engine=mysql_url, writable=True)
    task = in_use[0]
    table = task.tables[0][0]
    count = f"SELECT count(*) FROM {table}"
    env.reset(options={"task": task.task_id})
    before = env.step(count)[0]
    env.step(f"DELETE FROM {table}")
    assert env.step(count)[0] != before
    env.reset(options={"task": task.task_id})
    assert env.step(count)[0] == before
    env.close()
