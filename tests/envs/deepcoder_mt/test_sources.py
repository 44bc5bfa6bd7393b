import pickle
import threading
from collections import Counter

import pytest

from budget_envs.envs.deepcoder_mt import sources
from budget_envs.envs.deepcoder_mt.sources import DatasetTasks, SyntheticTasks
from budget_envs.errors import OptionError, TaskDataUnavailable
from budget_envs.streams import derive_key
from budget_envs.tasks import synthetic_code


def own(path, split=None):
    return DatasetTasks("deepcoder", str(path), split, include_excluded=False)


def level(task):
    return int(task.task_id.split("/")[1][1:])


# The generator.


def test_a_key_picks_a_task_whatever_was_drawn_before():
    source = SyntheticTasks((1, 2), "functional", None)
    keys = [derive_key(number) for number in range(12)]
    first = [source.draw(key).task_id for key in keys]
    assert [source.draw(key).task_id for key in reversed(keys)] == first[::-1]
    assert len(set(first)) == 12


def test_all_levels_are_drawn_and_no_other():
    source = SyntheticTasks((2, 4), "functional", None)
    counts = Counter(level(source.draw(derive_key(number))) for number in range(60))
    assert set(counts) == {2, 4}
    assert min(counts.values()) > 15


@pytest.mark.parametrize("kind", ["functional", "stdin"])
def test_tasks_are_of_the_kind_asked_for(kind):
    source = SyntheticTasks((1,), kind, None)
    assert {source.draw(derive_key(n)).kind for n in range(5)} == {kind}
    assert {source.at("test", n).kind for n in range(3)} == {kind}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_draws_stay_in_their_split(split):
    source = SyntheticTasks((1, 2), "functional", split)
    ids = [source.draw(derive_key(number)).task_id for number in range(5)]
    assert {synthetic_code.task_from_id(task_id).split for task_id in ids} == {split}


def test_a_listed_task_is_the_generators():
    source = SyntheticTasks((1, 3), "functional", None)
    listed = [task.task_id for task in synthetic_code.tasks("test", (1, 3), 6)]
    assert [source.at("test", index).task_id for index in (5, 0, 3, 1, 2, 4)] == [
        listed[index] for index in (5, 0, 3, 1, 2, 4)
    ]


def test_listing_from_many_threads_gives_the_same():
    source = SyntheticTasks((5,), "functional", None)
    seen = [None] * 8

    def look(index):
        seen[index] = source.at("train", index).task_id

    threads = [threading.Thread(target=look, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [task.task_id for task in synthetic_code.tasks("train", 5, 8)]


def test_an_interrupted_listing_begins_anew(monkeypatch):
    listing = sources._Listing("train", (4,), "functional")
    expected = listing.at(2)

    def interrupted():
        raise KeyboardInterrupt
        yield

    listing.rest = interrupted()
    with pytest.raises(KeyboardInterrupt):
        listing.at(5)
    assert listing.at(2) == expected


def test_an_id_is_loaded_whatever_the_settings():
    source = SyntheticTasks((1,), "functional", "train")
    task = source.load("deepcoder_synthetic/L5/000003-stdin")
    assert (task.kind, task.task_id) == ("stdin", "deepcoder_synthetic/L5/000003-stdin")


@pytest.mark.parametrize("task_id", ["nope", "deepcoder_synthetic/L9/000001", 7, None])
def test_an_id_of_no_task_is_refused(task_id):
    with pytest.raises(OptionError):
        SyntheticTasks((1,), "functional", None).load(task_id)


@pytest.mark.parametrize("levels", [(), [], 3, "12", (0,), (6,), ("1",), (1.0,), (True,)])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(OptionError, match="level"):
        SyntheticTasks(levels, "functional", None)


def test_a_kind_that_is_none_gets_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'stdin'"):
        SyntheticTasks((1,), "sdtin", None)


def test_generated_tasks_have_solutions_and_no_files():
    source = SyntheticTasks((1,), "functional", None)
    assert source.has_solutions
    assert dict(source.checksums) == {}


# Datasets.


def test_a_file_of_the_users_own_is_read(rows_file):
    source = own(rows_file)
    drawn = {source.draw(derive_key(number)).task_id for number in range(60)}
    assert drawn == {f"own/{number}" for number in range(6)}


def test_a_split_limits_what_is_drawn_and_not_what_is_loaded(rows_file):
    source = own(rows_file, "train")
    drawn = {source.draw(derive_key(number)).task_id for number in range(30)}
    assert drawn == {"own/4", "own/5"}
    assert source.load("own/0").task_id == "own/0"
    assert source.at("test", 3).task_id == "own/3"


def test_an_index_out_of_range_is_refused(rows_file):
    with pytest.raises(OptionError, match=r"index 4 is out of range: split 'test' .* 4 tasks"):
        own(rows_file).at("test", 4)


def test_an_unknown_task_gets_the_nearest(rows_file):
    with pytest.raises(OptionError, match="Did you mean"):
        own(rows_file).load("own/9")
    with pytest.raises(OptionError, match="a task id is a text, got 3"):
        own(rows_file).load(3)


def test_a_split_that_the_dataset_lacks_is_refused(rows_file):
    with pytest.raises(OptionError, match="validation"):
        own(rows_file, "validation")


def test_checksums_are_those_of_the_files(rows_file):
    checksums = own(rows_file).checksums
    assert list(checksums) == ["rows.json"]
    assert len(checksums["rows.json"]) == 64


def test_some_solutions_are_solutions(rows_file):
    assert own(rows_file).has_solutions


def test_a_pickle_holds_the_settings_and_not_the_tasks(rows_file):
    source = own(rows_file)
    pickled = pickle.dumps(source)
    assert b"Print the sum" not in pickled
    assert pickle.loads(pickled).load("own/1") == source.load("own/1")


def test_missing_files_are_an_error_that_says_how_to_get_them(no_data):
    with pytest.raises(TaskDataUnavailable, match="curl -L"):
        DatasetTasks("mbpp", None, None, include_excluded=False)


def test_an_unknown_dataset_gets_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'humaneval'"):
        DatasetTasks("humanevl", None, None, include_excluded=False)


def test_a_dataset_of_another_environment_is_refused(monkeypatch):
    class Info:
        env = "intercode_sql"

    monkeypatch.setattr("budget_envs.tasks.dataset", lambda name: Info)
    with pytest.raises(OptionError, match="belongs to intercode_sql"):
        DatasetTasks("spider", None, None, include_excluded=False)
