import copy
import json
import pickle

import pytest

from budget_envs.envs.intercode_sql import InterCodeSQLEnv, sources
from budget_envs.errors import OptionError

DUMP = """
CREATE DATABASE `shop`;
USE `shop`;
CREATE TABLE `item` (`name` varchar(20), `price` int);
INSERT INTO `item` VALUES ('tea', 3), ('milk', 1);
"""
GOLDS = ["SELECT name FROM item", "SELECT price FROM item", "SELECT count(*) FROM item WHERE 0"]
LEVELS = ["easy", "hard", "easy"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A dataset of the user's own: two questions, and one whose gold result is 0."""
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path / "cache"))
    rows = [
        {"db": "shop", "query": "?", "gold": gold, "hardness": level, "db_tables": {"item": []}}
        for gold, level in zip(GOLDS, LEVELS, strict=True)
    ]
    (tmp_path / "ic_spider_dev.json").write_text(json.dumps(rows))
    (tmp_path / "ic_spider_dbs.sql").write_text(DUMP)
    return str(tmp_path)


def made(folder, **settings):
    return InterCodeSQLEnv(dataset="intercode_sql", data_path=folder, **settings)


def drawn(env):
    return {env.reset(seed=seed)[1]["task_id"] for seed in range(30)}


def test_files_of_the_users_own_are_played(folder):
    env = made(folder)
    assert drawn(env) == {"intercode_sql/0000", "intercode_sql/0001"}
    env.step(env.task.gold)
    assert env.step("submit")[1] == 1.0


def test_what_is_left_out_can_be_asked_for(folder):
    assert len(drawn(made(folder, include_excluded=True))) == 3


def test_a_level_narrows_what_is_drawn_and_listed_but_not_what_an_id_names(folder):
    env = made(folder, hardness=["hard"])
    assert drawn(env) == {"intercode_sql/0001"}
    assert env.task_at("train", 0).task_id == "intercode_sql/0001"
    assert env.load_task("intercode_sql/0000").hardness == "easy"


def test_a_level_or_split_without_tasks_is_refused(folder):
    with pytest.raises(OptionError, match="no task of hardness extra"):
        made(folder, hardness=["extra"])
    with pytest.raises(OptionError, match="in the split 'test'"):
        made(folder, split="test")


def test_an_index_beyond_the_split_is_refused(folder):
    env = made(folder)
    with pytest.raises(OptionError, match="'train' has 2 tasks"):
        env.task_at("train", 2)
    with pytest.raises(OptionError, match="'test' has 0 tasks"):
        env.task_at("test", 0)


def test_files_are_read_when_the_environment_is_made_and_not_at_a_reset(folder, monkeypatch):
    env = made(folder)

    def read_again(*_, **__):
        raise AssertionError("the files were read again")

    monkeypatch.setattr(sources.tasks, "load", read_again)
    env.reset(seed=0)
    env.reset(options={"task": "intercode_sql/0001"})
    env.reset(options={"split": "train", "index": 1})


def test_pickles_name_the_files_and_do_not_hold_them(folder):
    env = made(folder)
    env.reset(seed=0)
    pickled = pickle.dumps(env.source)
    assert GOLDS[0].encode() not in pickled
    assert [pickle.loads(pickled).at("train", i) for i in (0, 1)] == [
        env.task_at("train", i) for i in (0, 1)
    ]


def test_copies_share_the_tasks(folder):
    env = made(folder)
    assert copy.deepcopy(env).source is env.source


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_judges_alike(folder, copied):
    env = made(folder)
    env.reset(seed=0)
    env.step(env.task.gold)
    twin = copied(env)
    assert twin.step("submit") == env.step("submit")


def test_generated_databases_are_made_on_demand():
    env = InterCodeSQLEnv()
    env.reset(options={"task": "intercode_sql_synthetic/easy/000007"})
    assert env.engine.databases == ()
    assert not env.step("SHOW TABLES")[4]["sql_error"]


@pytest.mark.parametrize("task_id", [7, None, "easy/7", "intercode_sql_synthetic/easy/7"])
def test_a_task_id_that_is_none_is_refused(task_id):
    with pytest.raises(OptionError, match="task id"):
        InterCodeSQLEnv().load_task(task_id)
