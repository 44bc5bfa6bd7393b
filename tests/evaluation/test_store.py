import dataclasses
import sqlite3
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import DataError
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, EpisodeKey, Run, Turn

RUN = Run(
    run_id="0123abcd",
    env_id="fake/Scripted-v0",
    env_kwargs={},
    policy="random",
    policy_settings={},
    protocol="rerun",
    budgets=(2, 5),
    k=1,
    num_rollouts=2,
    task_ids=("b", "a"),
    split="test",
    seed=0,
    created="2030-01-01T00:00:00+00:00",
)
TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=20)


def turn(number=1, **values):
    return Turn(number, "see", "do", **values)


def episode(task="a", budget=2, rollout=0, turns=1, **values):
    played = tuple(turn(number + 1) for number in range(turns))
    return Episode(
        task, budget, rollout, seed=9, verdict="fail", num_turns=turns, turns=played, **values
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


@pytest.fixture
def store(path):
    with Store.open(path, create=True, timeout_s=0.05) as opened:
        opened.add_run(RUN)
        yield opened


def test_a_run_comes_back_as_it_was(store):
    assert store.runs() == [RUN]


def test_an_episode_comes_back_with_its_turns(store):
    whole = episode(turns=3, upper_bounds={2: 0.5, 5: 1.0}, error="it broke", boundary="agent")
    store.add_episodes(RUN.run_id, [whole])
    assert store.episodes(RUN.run_id, with_turns=True) == [whole]


def test_without_turns_an_episode_comes_back_without_them(store):
    store.add_episodes(RUN.run_id, [episode(turns=3)])
    (found,) = store.episodes(RUN.run_id)
    assert found == dataclasses.replace(episode(turns=3), turns=())


def test_the_turns_of_one_episode_can_be_read_alone(store):
    store.add_episodes(RUN.run_id, [episode(turns=1), episode(rollout=1, turns=4)])
    assert [t.turn for t in store.turns(RUN.run_id, ("a", 2, 1))] == [1, 2, 3, 4]


def test_the_turns_of_an_unknown_episode_are_refused(store):
    with pytest.raises(DataError, match=r"no episode of task 'a' under budget 9 with number 0"):
        store.turns(RUN.run_id, ("a", 9, 0))


def test_everything_is_there_after_reopening(store, path):
    store.add_episodes(RUN.run_id, [episode(turns=2)])
    store.close()
    with Store.open(path) as reopened:
        assert reopened.episodes(RUN.run_id, with_turns=True) == [episode(turns=2)]


@settings(max_examples=40)
@given(observation=TEXT, action=TEXT, task=TEXT, error=TEXT, note=TEXT)
def test_any_text_survives(observation, action, task, error, note):
    said = Turn(1, observation, action, executed_action=action, injected={"note": note, note: 1})
    whole = Episode(task, 2, 0, 9, "fail", error=error, final_observation=note, turns=(said,))
    with Store.in_memory() as store:
        store.add_run(dataclasses.replace(RUN, task_ids=(task,)))
        store.add_episodes(RUN.run_id, [whole])
        assert store.episodes(RUN.run_id, with_turns=True) == [whole]
        assert store.keys(RUN.run_id) == {EpisodeKey(task, 2, 0)}
        assert store.turns(RUN.run_id, (task, 2, 0)) == (said,)
        assert store.episodes(RUN.run_id, task_id=task, with_turns=True) == [whole]


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfffb", "nul\x00inside", "🧊" * 1000, "x" * 100_000]
)
def test_hostile_text_survives_a_file(store, path, text):
    whole = Episode("a", 2, 0, 9, "fail", turns=(Turn(1, text, text),))
    store.add_episodes(RUN.run_id, [whole])
    store.close()
    with Store.open(path) as reopened:
        assert reopened.episodes(RUN.run_id, with_turns=True) == [whole]


def test_adding_an_episode_again_changes_nothing(store):
    assert store.add_episodes(RUN.run_id, [episode(turns=2)]) == 1
    assert store.add_episodes(RUN.run_id, [episode(turns=3, error="other")]) == 0
    assert store.episodes(RUN.run_id, with_turns=True) == [episode(turns=2)]


def test_adding_a_run_again_changes_only_the_k_it_is_read_at(store):
    store.add_run(dataclasses.replace(RUN, k=2, created="later", policy="other"))
    assert store.runs() == [dataclasses.replace(RUN, k=2)]


@pytest.mark.parametrize("field", ["task_id", "budget", "rollout"])
def test_episodes_differ_by_task_budget_and_rollout(store, field):
    other = dataclasses.replace(episode(), **{field: "b" if field == "task_id" else 5})
    assert store.add_episodes(RUN.run_id, [episode(), other]) == 2


def test_episodes_of_different_runs_do_not_meet(store):
    store.add_run(dataclasses.replace(RUN, run_id="ffff"))
    store.add_episodes(RUN.run_id, [episode()])
    store.add_episodes("ffff", [episode(turns=2)])
    assert store.episodes("ffff", with_turns=True) == [episode(turns=2)]


def test_episodes_are_added_all_or_none(store):
    broken = dataclasses.replace(episode(rollout=1), turns=(turn(1), turn(1)))
    with pytest.raises(DataError, match="UNIQUE"):
        store.add_episodes(RUN.run_id, [episode(), broken])
    assert store.keys(RUN.run_id) == set()


def test_an_episode_needs_its_run(store):
    with pytest.raises(DataError, match="FOREIGN KEY"):
        store.add_episodes("unknown", [episode()])


def test_episodes_come_in_the_order_of_the_runs_tasks_then_budgets_then_rollouts(store):
    order = [(t, b, r) for t in ("b", "a") for b in (2, 5) for r in (0, 1)]
    store.add_episodes(RUN.run_id, [episode(*key) for key in reversed(order)])
    assert [tuple(found.key) for found in store.episodes(RUN.run_id)] == order


def test_the_episodes_of_one_task_can_be_read_alone(store):
    store.add_episodes(RUN.run_id, [episode("a"), episode("b")])
    assert [found.task_id for found in store.episodes(RUN.run_id, task_id="b")] == ["b"]


def test_keys_tell_what_is_there(store):
    store.add_episodes(RUN.run_id, [episode("a", 5, 1)])
    assert store.keys(RUN.run_id) == {EpisodeKey("a", 5, 1)}


def test_finishing_records_time_and_bounds(store):
    store.finish_run(RUN.run_id, finished="then", upper_bounds={2: 0.25, 5: 1.0})
    run = store.run(RUN.run_id)
    assert (run.finished, run.upper_bounds) == ("then", {2: 0.25, 5: 1.0})


def test_the_first_digits_find_a_run(store):
    assert store.run("0123") == RUN


def test_digits_of_several_runs_find_none(store):
    store.add_run(dataclasses.replace(RUN, run_id="0123ffff"))
    with pytest.raises(DataError, match="several runs '0123'; it holds 0123abcd, 0123ffff"):
        store.run("0123")


def test_a_whole_id_wins_over_one_that_it_begins(store):
    store.add_run(dataclasses.replace(RUN, run_id="0123abcdef"))
    assert store.run("0123abcd") == RUN


def test_an_unknown_run_names_the_nearest(store):
    with pytest.raises(DataError, match=r"no run '0123abce'.* Did you mean '0123abcd'"):
        store.run("0123abce")


def test_runs_come_oldest_first(store):
    store.add_run(dataclasses.replace(RUN, run_id="old", created="2029-01-01"))
    assert [run.run_id for run in store.runs()] == ["old", RUN.run_id]


def test_while_another_program_writes_nothing_is_lost(store, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DataError, match="another program is writing"):
        store.add_episodes(RUN.run_id, [episode()])
    other.execute("ROLLBACK")
    other.close()
    assert store.add_episodes(RUN.run_id, [episode()]) == 1


def test_on_a_full_disk_nothing_stored_is_lost(store):
    store.add_episodes(RUN.run_id, [episode()])
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DataError, match="no space is left on the disk"):
        store.add_episodes(RUN.run_id, [episode(rollout=1, error="x" * 100_000)])
    store._connection.execute("PRAGMA max_page_count = 100000")
    assert store.add_episodes(RUN.run_id, [episode(rollout=2)]) == 1
    assert [found.rollout for found in store.episodes(RUN.run_id)] == [0, 2]


def test_two_writers_of_one_run_store_each_episode_once(path):
    keys = [(t, b, r) for t in ("b", "a") for b in (2, 5) for r in range(20)]
    added = []

    def write(order):
        with Store.open(path, create=True, timeout_s=30) as store:
            store.add_run(RUN)
            added.append(sum(store.add_episodes(RUN.run_id, [episode(*key)]) for key in order))

    threads = [threading.Thread(target=write, args=(o,)) for o in (keys, keys[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store.open(path) as store:
        found = store.episodes(RUN.run_id, with_turns=True)
    assert sum(added) == len(found) == len(keys)
    assert all(len(each.turns) == 1 for each in found)


def test_a_store_in_memory_starts_empty():
    with Store.in_memory() as store:
        assert store.runs() == []


def test_plain_sql_reads_what_the_columns_say(store, path):
    store.add_episodes(RUN.run_id, [episode(turns=2)])
    connection = sqlite3.connect(path)
    query = "SELECT task_id, turn, action FROM episodes JOIN turns USING (episode_id)"
    assert connection.execute(query).fetchall() == [("a", 1, "do"), ("a", 2, "do")]
    connection.close()


# Rows that no evaluation wrote.


def damage(path, statement, *values):
    connection = sqlite3.connect(path)
    assert connection.execute(statement, values).rowcount == 1
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "env_kwargs", "{broken"),
        ("runs", "env_kwargs", "[1]"),
        ("runs", "budgets", "5"),
        ("runs", "upper_bounds", "[]"),
        ("runs", "upper_bounds", '{"many": 1}'),
        ("runs", "protocol", "guess"),
        ("runs", "k", "eight"),
        ("runs", "policy", b"\xff"),
        ("runs", "task_ids", "[" * 100_000),
        ("episodes", "budget_report", "{"),
        ("episodes", "verdict", "maybe"),
        ("episodes", "boundary", "moon"),
        ("episodes", "success_turn", "late"),
        ("episodes", "num_turns", 1.5),
        ("episodes", "mean_regret", "none"),
        ("turns", "oracle", "nothing"),
        ("turns", "is_invalid", 7),
    ],
)
def test_a_row_that_cannot_be_read_is_named_with_its_column(store, path, table, column, value):
    store.add_episodes(RUN.run_id, [episode()])
    damage(path, f"UPDATE {table} SET {column} = ?", value)
    with pytest.raises(DataError, match=f"table {table}, row .*column '{column}' holds"):
        store.episodes(RUN.run_id, with_turns=True)


def test_an_episode_of_a_task_that_its_run_does_not_have_is_named(store, path):
    store.add_episodes(RUN.run_id, [episode()])
    damage(path, "UPDATE episodes SET task_id = 'unknown'")
    with pytest.raises(DataError, match=r"table episodes: \('unknown', 2, 0\) of run .* not have"):
        store.episodes(RUN.run_id)


def test_a_task_that_is_no_text_is_refused(store, path):
    store.add_episodes(RUN.run_id, [episode()])
    damage(path, "UPDATE episodes SET task_id = ?", b"\xff")
    with pytest.raises(DataError, match="has a task without a text"):
        store.keys(RUN.run_id)
