"""How fast is InterCode-SQL? Against bare sqlite3 and skyrl-gym's text-to-SQL, in one run.

    python benchmarks/speed_sql.py [--repeats 7] [--mysql URL] [--json]

Needs the files of ``intercode_sql`` (``budget-envs tasks show intercode_sql`` says where from). One
thread. The statements are its gold queries, each on its own database, and every repeat runs them
once on each side in turn. A ratio is the median of the repeats' own ratios, so that a machine that
slows down for a while slows all sides. Times are CPU time of this process; where a server is
involved, time on the clock, on both sides. Our side is what ``gym.make`` gives, with nothing taken
off, and begins each pass knowing no results. It keeps what a read-only statement returned, and
many gold queries belong to two questions: so statements that nobody asked before in the pass are
also compared by themselves.

- Bare sqlite3: ``execute(sql).fetchall()``, on connections opened before the clock starts; on the
  same images with the same collation, and on copies with SQLite's own NOCASE in its place.
- skyrl-gym, if it can be imported: the "text2sql" environment of ``skyrl_gym.make`` on files of the
  same databases, in memory-backed storage where there is some. It knows no collation of MySQL's,
  so its files have NOCASE: it answers by simpler rules. A step runs a gold query; an episode is
  that, the submission, and a new environment, since theirs is made for one episode.
- A reset is ``reset`` and the opening of the session on an untouched database, after an episode
  that wrote or did not. It is compared with running the script that makes the database.
- MySQL: the server of ``--mysql``, or a private MariaDB if one is installed. Golds that only SQLite
  can read are left out.
"""

import argparse
import contextlib
import gc
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium as gym

import budget_envs
from budget_envs import tasks
from budget_envs.errors import BudgetEnvsError, DependencyNotInstalled
from budget_envs.sql import sqlite_connection
from budget_envs.sql.collation import MYSQL_CI, compare
from budget_envs.tasks.intercode_sql import DATASET, SqlTask, databases

ENV_ID = "budget_envs/InterCodeSQL-v0"
NOCASE = "NOCASE"
RESETS = 100  # tasks in a pass of resets
SERVER_TASKS = 200  # tasks in a pass on a server
WRITE = "CREATE TABLE budget_envs_note (n INTEGER)"

One = Callable[[SqlTask], float]
"""Does something with one task; returns the seconds that it took."""
Pass = Sequence[tuple[SqlTask, float]]
"""Tasks, and the seconds that each took."""
Chosen = Callable[[SqlTask], bool]


@dataclass(frozen=True)
class Side:
    """Something that is timed.

    Attributes:
        questions: The tasks of one pass.
        begin: Called before each pass.
    """

    questions: Sequence[SqlTask]
    begin: Callable[[], One]

    def timed(self) -> Pass:
        one = self.begin()
        return [(task, one(task)) for task in self.questions]


@dataclass(frozen=True)
class Ratio:
    """A comparison: how many times as fast ours is.

    Attributes:
        is_new: Only of statements that were not asked before in the pass.
    """

    what: str
    theirs: str
    ours: str
    target: float | None = None
    is_new: bool = False


QUERY, EPISODE, RESET = "query, sqlite", "episode, sqlite", "reset"
AFTER_WRITE, FROM_SCRIPT = "reset after a write", "database from its script"
BARE, BARE_NOCASE = "query, bare sqlite3", "query, bare sqlite3, NOCASE"
THEIR_QUERY, THEIR_EPISODE = "query, skyrl-gym", "episode, skyrl-gym"

RATIOS = (
    Ratio("a query / bare sqlite3", BARE, QUERY),
    Ratio("a new query / bare sqlite3", BARE, QUERY, 0.5, is_new=True),
    Ratio("a new query / bare sqlite3, NOCASE", BARE_NOCASE, QUERY, is_new=True),
    Ratio("a query / skyrl-gym", THEIR_QUERY, QUERY, 5.0),
    Ratio("a new query / skyrl-gym", THEIR_QUERY, QUERY, is_new=True),
    Ratio("an episode / skyrl-gym", THEIR_EPISODE, EPISODE),
    Ratio("a reset / running the script", FROM_SCRIPT, RESET),
    Ratio("a reset after a write / running the script", FROM_SCRIPT, AFTER_WRITE),
)
BY_DATABASE = Ratio("a new query / skyrl-gym", THEIR_QUERY, QUERY, 5.0, is_new=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="how often all sides are timed")
    parser.add_argument("--mysql", help="URL of a server; by default a private one is started")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    try:
        questions = list(tasks.load(DATASET))
    except BudgetEnvsError as error:  # the files are not here
        raise SystemExit(str(error)) from error
    with contextlib.ExitStack() as stack:
        sides, missing = all_sides(questions, arguments.mysql, stack)
        passes = measure(sides, arguments.repeats)
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": versions(),
        "missing": missing,
        "rows": [row(name, each) for name, each in passes.items()],
        "golds": len(questions),
        "new": len(first_asked(passes[QUERY][0])),
        "ratios": [ratio(each, passes) for each in RATIOS if each.theirs in passes],
        "by_database": by_database(passes) if THEIR_QUERY in passes else {},
    }
    sys.stdout.write(json.dumps(results, indent=2) + "\n" if arguments.json else text(results))
    return 0


def versions() -> dict[str, str]:
    found = {"budget_envs": budget_envs.__version__, "sqlite": sqlite3.sqlite_version}
    for name in ("skyrl-gym", "pandas", "pymysql"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def measure(sides: Mapping[str, Side], repeats: int) -> dict[str, list[Pass]]:
    """Time all sides ``repeats`` times, taking turns."""
    passes = {name: [] for name in sides}
    for side in sides.values():
        side.timed()  # warm: caches filled, gold results known, code paths specialised
    for _ in range(repeats):
        for name, side in sides.items():
            passes[name].append(side.timed())
    return passes


# The sides.


def all_sides(
    questions: list[SqlTask], url: str | None, stack: contextlib.ExitStack
) -> tuple[dict[str, Side], list[str]]:
    """Return what is timed, by name, and what is missing here."""
    few = questions[:: -(-len(questions) // RESETS)]
    env, reader, writer = made(), made(), made(writable=True)
    sides = {
        QUERY: Side(questions, lambda: our_query(env)),
        EPISODE: Side(questions, lambda: our_episode(env)),
        BARE: Side(questions, lambda: bare_query(MYSQL_CI)),
        BARE_NOCASE: Side(questions, lambda: bare_query(NOCASE)),
        RESET: Side(few, lambda: our_reset(reader)),
        AFTER_WRITE: Side(few, lambda: our_reset(writer)),
        FROM_SCRIPT: Side(few, lambda: from_script),
    }
    missing = []
    try:
        sides |= their_sides(questions, stack)
    except ImportError as error:
        missing.append(f"skyrl-gym is not compared: {error} (pip install skyrl-gym)")
    try:
        sides |= server_sides(questions[:: -(-len(questions) // SERVER_TASKS)], url, stack)
    except (FileNotFoundError, DependencyNotInstalled) as error:
        missing.append(f"MySQL is not measured: {error}")
    return sides, missing


def our_query(env: gym.Env[str, str], clock: Callable[[], float] = time.process_time) -> One:
    forget()

    def one(task: SqlTask) -> float:
        env.reset(options={"task": task.task_id})
        env.unwrapped.session  # noqa: B018  # opened here: that is another row
        start = clock()
        env.step(task.gold)
        return clock() - start

    return one


def our_episode(env: gym.Env[str, str], clock: Callable[[], float] = time.process_time) -> One:
    forget()

    def one(task: SqlTask) -> float:
        start = clock()
        env.reset(options={"task": task.task_id})
        env.step(task.gold)
        reward = env.step("submit")[1]
        seconds = clock() - start
        if reward != 1:
            raise SystemExit(f"not solved by its gold query: {task.task_id}")
        return seconds

    return one


_MADE: list[gym.Env[str, str]] = []


def made(**options: Any) -> gym.Env[str, str]:
    """Make one of our environments."""
    _MADE.append(gym.make(ENV_ID, dataset=DATASET, **options))
    return _MADE[-1]


def forget() -> None:
    """Drop what is known of results: it goes with the last connection, of all environments."""
    for env in _MADE:
        env.unwrapped.close()
    sqlite_connection.close_idle()
    gc.collect()
    if sqlite_connection._memories:
        raise SystemExit("Results are still known where none should be: a session is open.")


def our_reset(env: gym.Env[str, str]) -> One:
    def one(task: SqlTask) -> float:
        start = time.process_time()
        env.reset(options={"task": task.task_id})
        env.unwrapped.session  # noqa: B018  # else opened by the first statement
        seconds = time.process_time() - start
        env.step(WRITE)
        return seconds

    return one


def bare_query(collation: str) -> One:
    opened = cache(lambda name: connected(content(name, collation)))

    def one(task: SqlTask) -> float:
        execute = opened(task.database).execute
        start = time.process_time()
        execute(task.gold).fetchall()
        return time.process_time() - start

    return one


def from_script(task: SqlTask) -> float:
    lines = script(task.database)
    start = time.process_time()
    connection = connected()
    connection.executescript(lines)
    seconds = time.process_time() - start
    connection.close()
    return seconds


def connected(content: bytes | None = None) -> sqlite3.Connection:
    """Return a bare connection, on a copy of a database if one is given."""
    connection = sqlite3.connect(":memory:")
    connection.create_collation(MYSQL_CI, compare)
    if content is not None:
        connection.deserialize(content)
    return connection


@cache
def content(name: str, collation: str) -> bytes:
    """Return a database as bytes, with this collation on its text columns."""
    if collation == MYSQL_CI:
        return databases().image(name).content
    connection = connected()
    connection.executescript(script(name).replace(f"COLLATE {MYSQL_CI}", f"COLLATE {collation}"))
    return connection.serialize()


@cache
def script(name: str) -> str:
    """Return the statements that make a database."""
    return "\n".join(connected(content(name, MYSQL_CI)).iterdump())


# skyrl-gym.


def their_sides(questions: list[SqlTask], stack: contextlib.ExitStack) -> dict[str, Side]:
    import skyrl_gym
    from omegaconf import OmegaConf

    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    folder = stack.enter_context(tempfile.TemporaryDirectory(dir=place))
    for name in {task.database for task in questions}:
        file = Path(folder) / "spider" / "database" / name / f"{name}.sqlite"
        file.parent.mkdir(parents=True)
        file.write_bytes(content(name, NOCASE))
    config = OmegaConf.create({"db_path": folder})

    def make(task: SqlTask) -> Any:
        spec = {"ground_truth": task.gold}
        extras = {"db_id": task.database, "data": "spider", "reward_spec": spec, "max_turns": 10}
        env = skyrl_gym.make("text2sql", env_config=config, extras=extras)
        env.init([{"role": "user", "content": task.question}])
        return env

    return {
        THEIR_QUERY: Side(questions, lambda: their_query(make)),
        THEIR_EPISODE: Side(questions, lambda: their_episode(make)),
    }


def their_query(make: Callable[[SqlTask], Any]) -> One:
    def one(task: SqlTask) -> float:
        env, action = make(task), f"<think>.</think><sql>{task.gold}</sql>"
        start = time.process_time()
        env.step(action)
        return time.process_time() - start

    return one


def their_episode(make: Callable[[SqlTask], Any]) -> One:
    def one(task: SqlTask) -> float:
        start = time.process_time()
        env = make(task)
        env.step(f"<think>.</think><sql>{task.gold}</sql>")
        reward = env.step(f"<think>.</think><solution>{task.gold}</solution>")["reward"]
        seconds = time.process_time() - start
        if reward != 1:
            raise SystemExit(f"skyrl-gym: not solved by its gold query: {task.task_id}")
        return seconds

    return one


# MySQL.


def server_sides(
    questions: list[SqlTask], url: str | None, stack: contextlib.ExitStack
) -> dict[str, Side]:
    url = url or stack.enter_context(private_mariadb())
    there = made(engine=url)
    here = made()
    stack.callback(there.close)
    readable = []
    for task in questions:
        there.reset(options={"task": task.task_id})
        if not there.step(task.gold)[4]["sql_error"]:
            readable.append(task)
    return {
        "query, mysql (clock)": Side(readable, lambda: our_query(there, time.perf_counter)),
        "query, sqlite (clock)": Side(readable, lambda: our_query(here, time.perf_counter)),
        "episode, mysql (clock)": Side(readable, lambda: our_episode(there, time.perf_counter)),
        "episode, sqlite (clock)": Side(readable, lambda: our_episode(here, time.perf_counter)),
    }


@contextlib.contextmanager
def private_mariadb() -> Iterator[str]:
    """Start a server in a folder of its own, reached by a socket only; give its URL."""
    for program in ("mariadbd", "mariadb-install-db"):
        if shutil.which(program) is None:
            raise FileNotFoundError(f"{program} is not installed (package mariadb-server)")
    folder = Path(tempfile.mkdtemp(prefix="budget-envs-mariadb-"))
    common = ["--no-defaults", f"--datadir={folder / 'files'}"]
    if os.geteuid() == 0:
        common.append("--user=mysql")
        shutil.chown(folder, "mysql")
    account = ["--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(["mariadb-install-db", *common, *account], check=True, capture_output=True)
    socket = folder / "socket"
    settings = ["--skip-networking", "--lower-case-table-names=1", "--skip-log-bin"]
    settings += [f"--socket={socket}", f"--pid-file={folder / 'pid'}"]
    server = subprocess.Popen(["mariadbd", *common, *settings], stderr=subprocess.DEVNULL)
    try:
        while not socket.exists():
            if server.poll() is not None:
                raise SystemExit("MariaDB did not start.")
            time.sleep(0.05)
        yield f"mysql+unix://root@{socket}"
    finally:
        server.terminate()
        server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


# The report.


def mean(one_pass: Pass, chosen: Chosen = lambda _: True) -> float:
    return statistics.fmean(seconds for task, seconds in one_pass if chosen(task))


def first_asked(one_pass: Pass) -> Set[str]:
    """Return the ids of the tasks whose statement comes for the first time."""
    first = {}
    for task, _ in one_pass:
        first.setdefault((task.database, task.gold), task.task_id)
    return set(first.values())


def row(name: str, passes: list[Pass]) -> dict[str, Any]:
    seconds = statistics.median(map(mean, passes))
    return {"what": name, "us": seconds * 1e6, "per_second": 1 / seconds}


def ratio(
    what: Ratio, passes: Mapping[str, list[Pass]], chosen: Chosen = lambda _: True
) -> dict[str, Any]:
    """Compare two sides, on all tasks or on chosen ones."""
    new = first_asked(passes[what.ours][0])

    def counts(task: SqlTask) -> bool:
        return chosen(task) and (task.task_id in new or not what.is_new)

    pairs = zip(passes[what.theirs], passes[what.ours], strict=True)
    each = [mean(theirs, counts) / mean(ours, counts) for theirs, ours in pairs]
    return {
        "what": what.what,
        "times_as_fast": statistics.median(each),
        "lowest": min(each),
        "highest": max(each),
        "target": what.target,
    }


def by_database(passes: Mapping[str, list[Pass]]) -> dict[str, Any]:
    """Compare with skyrl-gym on each database by itself."""

    def compared(name: str) -> float:
        return ratio(BY_DATABASE, passes, lambda task: task.database == name)["times_as_fast"]

    ratios = {name: compared(name) for name in {task.database for task, _ in passes[QUERY][0]}}
    return {
        "what": BY_DATABASE.what,
        "times_as_fast": dict(sorted(ratios.items(), key=lambda pair: pair[1])),
        "median": statistics.median(ratios.values()),
        "target": BY_DATABASE.target,
    }


def text(results: dict[str, Any]) -> str:
    lines = [f"{results['machine']}; {results['versions']}"]
    lines.append(f"{'mean over all golds':32}{'microseconds':>14}{'a second':>12}")
    lines += [f"{r['what']:32}{r['us']:14.1f}{r['per_second']:12,.0f}" for r in results["rows"]]
    lines.append(f"{results['new']} of {results['golds']} gold queries are new when asked")
    lines.append(f"{'times as fast':46}{'':8}  (lowest-highest)   target")
    for each in results["ratios"]:
        spread = f"({each['lowest']:.2f}-{each['highest']:.2f})"
        target = "" if each["target"] is None else f">= {each['target']:g}"
        lines.append(f"{each['what']:46}{each['times_as_fast']:8.2f}{spread:>18}   {target}")
    if found := results["by_database"]:
        least, *_ = low = list(found["times_as_fast"].items())
        reached = sum(value >= found["target"] for _, value in low)
        lines.append(
            f"{found['what']} on one database: median {found['median']:.1f}, lowest "
            f"{least[1]:.1f} ({least[0]}); {reached} of {len(low)} reach {found['target']:g}"
        )
    return "\n".join([*lines, *results["missing"]]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
