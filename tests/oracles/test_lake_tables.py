"""The tables and their cache: shared, bounded, and never a reason for another answer."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from budget_envs.envs.frozen_lake.lake import MAPS, Lake
from budget_envs.envs.frozen_lake.maps import MapSource
from budget_envs.envs.frozen_lake.text import grid
from budget_envs.oracles import lake_tables
from budget_envs.oracles.frozen_lake import FrozenLakeOracle
from budget_envs.oracles.lake_tables import UNLIMITED, LakeTable, TableCache
from budget_envs.streams import derive_key

LAKE = Lake.from_rows(MAPS["4x4"])


def lakes(count, size=4):
    source = MapSource(sizes=(size,), frozen_share=0.8, placement="random")
    return [source.draw(derive_key(3, index)) for index in range(count)]


def test_equal_lakes_share_one_table():
    cache = TableCache(10**9)
    table = cache.get(LAKE, 0.8, 10)
    assert cache.get(Lake.from_rows(MAPS["4x4"]), 0.8, 10) is table
    assert cache.get(LAKE, 0.8, 3) is table
    assert len(cache) == 1


def test_another_success_rate_another_lake_and_no_limit_have_tables_of_their_own():
    cache = TableCache(10**9)
    tables = [
        cache.get(LAKE, 0.8, 10),
        cache.get(LAKE, 0.7, 10),
        cache.get(LAKE, 0.8, UNLIMITED),
        cache.get(Lake.from_rows(MAPS["8x8"]), 0.8, 10),
    ]
    assert len({id(table) for table in tables}) == len(cache) == 4


def test_more_turns_replace_a_table_by_a_longer_one():
    cache = TableCache(10**9)
    short = cache.get(LAKE, 0.8, 5)
    long = cache.get(LAKE, 0.8, 9)
    assert (short.most, long.most) == (5, 9)
    assert len(cache) == 1
    assert cache.nbytes == long.nbytes
    assert np.array_equal(long.solution.v[:6], short.solution.v)


def test_a_table_whose_values_have_settled_answers_for_every_number_of_turns():
    cache = TableCache(10**9)
    table = cache.get(LAKE, 0.8, 10**6)
    assert table.most == sys.maxsize
    assert cache.get(LAKE, 0.8, 10**9) is table
    assert table.make_row(10**9, 0)["Left"] == table.make_row(10**6, 0)["Left"]


def test_the_cache_stays_within_its_capacity():
    capacity = 20 * LakeTable(LAKE, 1.0, 10).nbytes
    cache = TableCache(capacity)
    for lake in lakes(100):
        cache.get(lake, 1.0, 10)
        assert cache.nbytes <= capacity
        assert len(cache) <= 20
    assert len(cache) == 20


def test_the_table_that_was_not_used_for_longest_goes_first():
    first, second, third = lakes(3)
    cache = TableCache(2 * LakeTable(first, 1.0, 10).nbytes)
    kept, dropped = cache.get(first, 1.0, 10), cache.get(second, 1.0, 10)
    cache.get(first, 1.0, 10)
    cache.get(third, 1.0, 10)
    assert cache.get(first, 1.0, 10) is kept
    assert cache.get(second, 1.0, 10) is not dropped


def test_a_table_larger_than_the_cache_is_kept_alone():
    cache = TableCache(1)
    table = cache.get(LAKE, 1.0, 10)
    assert cache.get(LAKE, 1.0, 10) is table
    assert len(cache) == 1


def test_the_size_of_a_table_covers_all_of_its_rows():
    table = LakeTable(LAKE, 1 / 3, 10)
    for turns in range(11):
        for tile in range(16):
            table.make_row(turns, tile)
    parts = {id(table.rows): table.rows, id(table.solution.q): table.solution.q}
    parts[id(table.solution.v)] = table.solution.v
    for key, row in table.rows.items():
        for part in (key, row, *row.values(), *(x for judged in row.values() for x in judged)):
            parts[id(part)] = part
    assert sum(sys.getsizeof(part) for part in parts.values()) <= table.nbytes


def test_rows_are_dropped_before_they_become_too_many(monkeypatch):
    monkeypatch.setattr(lake_tables, "_MAX_ROWS", 20)
    table = LakeTable(LAKE, 1 / 3, 10)
    before = {tile: table.make_row(10, tile) for tile in range(16)}
    for turns in range(10):
        for tile in range(16):
            table.make_row(turns, tile)
            assert len(table.rows) <= 20
    assert {tile: table.make_row(10, tile) for tile in range(16)} == before


def test_a_table_keeps_no_rendered_texts_alive():
    lake = Lake.from_rows(MAPS["4x4"])
    lake.remember((0, 1, 1), (4, "a rendered text", 0.0, None))
    grid(lake, 3)
    table = LakeTable(lake, 1.0, 5)
    assert table.lake == lake
    assert (table.lake.outcomes, table.lake.base) == ({}, "")


def test_the_oracles_of_a_process_share_their_tables(make_lake_env):
    env = make_lake_env(turns=7, seed=77)
    first, second = FrozenLakeOracle(), FrozenLakeOracle()
    assert first.judge(env, "Left") is second.judge(env, "Left")


@pytest.mark.parametrize("success_rate", [1.0, 0.6])
def test_a_cache_that_keeps_nothing_gives_the_same_answers(
    make_lake_env, monkeypatch, success_rate
):
    envs = [make_lake_env(turns=6, seed=seed, success_rate=success_rate) for seed in range(10)]
    expected = [FrozenLakeOracle().values(env) for env in envs]
    monkeypatch.setattr("budget_envs.oracles.frozen_lake.TABLES", TableCache(1))
    oracle = FrozenLakeOracle()
    assert [oracle.values(env) for env in envs] == expected


def test_threads_leave_the_count_of_bytes_right():
    cache = TableCache(6 * LakeTable(LAKE, 1.0, 10).nbytes)
    wanted = [(lake, turns) for turns in (3, 9, 6) for lake in lakes(8)]
    errors = []

    def use(offset):
        try:
            for place in range(150):
                lake, turns = wanted[(place * (offset + 1)) % len(wanted)]
                table = cache.get(lake, 1.0, turns)
                assert (table.lake.id, table.most >= turns) == (lake.id, True)
        except Exception as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []
    assert cache.nbytes == sum(table.nbytes for table in cache._tables.values())
    assert cache.nbytes <= cache.capacity


def test_a_thread_that_was_slower_gets_the_table_that_is_there(monkeypatch):
    cache, made = TableCache(10**9), []

    class Raced(LakeTable):
        def __init__(self, lake, success_rate, turns):
            super().__init__(lake, success_rate, turns)
            if not made:  # meanwhile another thread asks for more turns
                made.append(self)
                made.append(cache.get(lake, success_rate, turns + 4))

    monkeypatch.setattr(lake_tables, "LakeTable", Raced)
    assert cache.get(LAKE, 1.0, 5) is made[1]
    assert (len(cache), cache.nbytes) == (1, made[1].nbytes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_is_forked_while_a_thread_holds_the_lock_is_not_stuck():
    script = """
        import os
        from budget_envs.oracles.lake_tables import TABLES
        TABLES._lock.acquire()
        child = os.fork()
        if child == 0:
            os._exit(0 if TABLES._lock.acquire(timeout=5) else 1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    assert subprocess.run(command, timeout=60).returncode == 0
