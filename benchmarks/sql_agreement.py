"""Do SQLite and a real MySQL or MariaDB answer InterCode's gold queries alike? Every difference.

    python benchmarks/sql_agreement.py --mysql mysql+unix://root@/path/to.sock \
        --output benchmarks/results/sql_agreement.md

Both engines hold the same rows: the server is loaded from the images that SQLite uses. The 1,034
gold queries run on both, through sessions. Results are compared as the reward compares them: cells
within a relative 1e-6, text never equal to a number.

Two lists of the dataset's registry are found here too. ``several_answers``: the LIMIT cuts through
rows that sort alike. ``engine_decides``: what is left of the differences when ties and rounding are
taken out, and what changes on SQLite itself when all rows are stored in reverse.
"""

import argparse
import platform
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from budget_envs import tasks
from budget_envs.sql.mysql_engine import MySqlEngine
from budget_envs.sql.protocol import QueryResult, SqlEngine, SqlSession
from budget_envs.sql.results import GoldResult, equal, gold_result
from budget_envs.sql.row_bags import overlap, same_row
from budget_envs.sql.schema import Database, Table
from budget_envs.sql.sqlite_engine import SqliteEngine
from budget_envs.sql.sqlite_image import Images, SqliteImage
from budget_envs.sql.sqlite_schema import read_database
from budget_envs.tasks.intercode_sql import SqlTask, cuts_through_tie, databases

SAME = "the same rows in the same order"
ORDER = "the same rows in another order; the query asks for none"
TIE = "another choice among rows that sort alike (ORDER BY ... LIMIT)"
INNER_TIE = "another choice among rows that sort alike, in a nested query"
ROUNDED = "MySQL rounds the average of integers to four decimals"
DATE_AVERAGE = "the average of a date: MySQL takes 20180302173000, SQLite 2018"
TEXT_NUMBER = "text compared with a number: MySQL as numbers, SQLite as text"
BARE = "a column neither grouped nor aggregated: SQLite takes the row of the maximum, MySQL any"
SPACE = "MySQL rejects it: COUNT (*) with a space"
RESERVED = "MySQL rejects it: SHOW is a reserved word"
NO_ALIAS = "MySQL rejects it: a derived table without an alias"
UNKNOWN = "NOT CLASSIFIED"


@dataclass(frozen=True)
class Compared:
    """One gold query on both engines."""

    task: SqlTask
    kind: str
    here: QueryResult
    there: QueryResult


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mysql", required=True, help="URL of the server; see MySqlAddress")
    parser.add_argument("--loads", type=int, default=5, help="how often the server is loaded anew")
    parser.add_argument("--output", type=Path, help="write the tables here, in Markdown")
    arguments = parser.parse_args()
    catalog = databases()
    golds = tasks.load("intercode_sql", include_excluded=True)
    here = SqliteEngine(catalog)
    there = MySqlEngine(arguments.mysql, catalog, prefix="agreement_")
    runs = []
    for _ in range(arguments.loads):
        there.remove()
        runs.append(compare_all(golds, here, there))
    text = report(runs, found_on_sqlite(golds, here), server_version(there))
    there.remove()
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text, "utf-8")
    sys.stdout.write(text)
    return int(any(row.kind == UNKNOWN for run in runs for row in run))


def compare_all(golds: Sequence[SqlTask], here: SqlEngine, there: SqlEngine) -> list[Compared]:
    """Run all golds on both engines."""
    sessions = {name: (here.open(name), there.open(name)) for name in here.databases}
    found = []
    for task in golds:
        ours, theirs = (session.execute(task.gold) for session in sessions[task.database])
        gold = gold_of(task, sessions[task.database][0])
        found.append(Compared(task, kind_of(task, ours, theirs, gold), ours, theirs))
    for pair in sessions.values():
        for session in pair:
            session.close()
    return found


def gold_of(task: SqlTask, session: SqlSession) -> GoldResult:
    def run(sql: str) -> tuple[tuple[object, ...], ...]:
        result = session.execute(sql)
        if result.error is not None:
            raise RuntimeError(result.error)
        return result.rows

    return gold_result(task.gold, run)


def kind_of(task: SqlTask, here: QueryResult, there: QueryResult, gold: GoldResult) -> str:
    """The class of a pair of results; the rules were written after reading every difference."""
    sql = task.gold
    if there.error is not None:
        return rejection(sql)
    if len(here.rows) == len(there.rows):
        if all(
            same_row(got, expected) for got, expected in zip(there.rows, here.rows, strict=True)
        ):
            return SAME
        if overlap(there.rows, here.rows) == len(here.rows) and equal(there.rows, gold):
            return ORDER
    if equal(there.rows, gold):
        return TIE
    if re.search(r"\(\s*SELECT\b[^()]*(\([^()]*\)[^()]*)*\bLIMIT\b", sql, re.I):
        return INNER_TIE
    if re.search(r"\bAVG\s*\(\s*\w*date\w*\s*\)", sql, re.I):
        return DATE_AVERAGE
    if re.search(r"\bAVG\s*\(", sql, re.I) and rounded(here.rows) == rounded(there.rows):
        return ROUNDED
    if re.search(r"\bWHERE\s+horsepower\s*[<>]\s*\d", sql, re.I):  # a column of text
        return TEXT_NUMBER
    if re.search(r"\bSELECT\b.*\bMAX\s*\(", sql, re.I):
        return BARE
    return UNKNOWN


def rejection(sql: str) -> str:
    if re.search(r"\bCOUNT\s+\(", sql, re.I):
        return SPACE
    if re.search(r"\bFROM\s+SHOW\b", sql, re.I):
        return RESERVED
    return NO_ALIAS if re.search(r"\bFROM\s*\(.*\)\s*$", sql, re.I) else UNKNOWN


def rounded(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    return [[round(cell, 4) if isinstance(cell, float) else cell for cell in row] for row in rows]


def found_on_sqlite(golds: Sequence[SqlTask], here: SqliteEngine) -> dict[str, list[SqlTask]]:
    """What SQLite alone shows: ties that are cut, and results that hang on the stored order."""
    reversed_rows = SqliteEngine(
        Images(backwards(here.catalog.image(name)) for name in here.databases)
    )
    sessions = {name: (here.open(name), reversed_rows.open(name)) for name in here.databases}
    cut, moved = [], []
    for task in golds:
        session, backward = sessions[task.database]
        gold = gold_of(task, session)
        if cuts_through_tie(gold):
            cut.append(task)
        if not equal(backward.execute(task.gold).rows, gold):
            moved.append(task)
    return {"cut": cut, "moved": moved}


def backwards(image: SqliteImage) -> SqliteImage:
    """The same database with the rows of every table stored in reverse."""
    database = read_database(image)
    tables = tuple(
        Table(
            table.name,
            # A key that counts on would put the rows back in order.
            tuple(replace(column, auto_increment=False) for column in table.columns),
            table.keys,
            rows=table.rows[::-1],
        )
        for table in database.tables
    )
    return SqliteImage.from_database(Database(image.name, tables))


def server_version(engine: MySqlEngine) -> str:
    with engine.open(engine.databases[0]) as session:
        ((version,),) = session.execute("SELECT VERSION()").rows
    return str(version)


def report(
    runs: Sequence[Sequence[Compared]], found: dict[str, list[SqlTask]], version: str
) -> str:
    counts = [Counter(row.kind for row in run) for run in runs]
    kinds = sorted({kind for count in counts for kind in count}, key=lambda kind: -counts[0][kind])
    differences = {(row.task.task_id, row.kind): row for run in reversed(runs) for row in run}
    lines = [
        "# InterCode's gold queries on SQLite and on a server",
        "",
        f"SQLite {sqlite3.sqlite_version}, {version}, Python {platform.python_version()}. Of "
        f"{len(runs[0])} gold queries {sum(row.here.error is None for row in runs[0])} run on "
        f"SQLite and {sum(row.there.error is None for row in runs[0])} on the server, which was "
        f"loaded anew {len(runs)} times.",
        "",
        f"    python benchmarks/sql_agreement.py --mysql URL --loads {len(runs)} --output FILE",
        "",
        "| difference |" + "".join(f" load {place + 1} |" for place in range(len(runs))),
        "|---|" + "---:|" * len(runs),
        *(
            "| " + " | ".join([kind, *(str(count[kind]) for count in counts)]) + " |"
            for kind in kinds
        ),
        "",
        "Which rows of a tie the server returns changes from load to load. The reward accepts each "
        "of them, except in nested queries.",
        "",
        "## Every difference beyond the order of rows, in any load",
        "",
        "| task | difference | SQLite | server | gold |",
        "|---|---|---|---|---|",
        *(
            difference(differences[key])
            for key in sorted(differences)
            if key[1] not in (SAME, ORDER)
        ),
        "",
        "## What SQLite alone shows",
        "",
        f"The LIMIT of {len(found['cut'])} golds cuts through rows that sort alike and differ "
        f"(`several_answers` in the registry): {numbers(found['cut'])}.",
        "",
        f"The result of {len(found['moved'])} golds is another one when all rows are stored in "
        f"reverse, ties at the outermost level aside: {numbers(found['moved'])}.",
        "",
    ]
    return "\n".join(lines)


def difference(row: Compared) -> str:
    here, there = (result.error or f"{shortened(result.rows)}" for result in (row.here, row.there))
    cells = (number(row.task), row.kind, here, there, f"`{row.task.gold}`")
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def shortened(rows: Sequence[object]) -> str:
    text = ", ".join(map(str, rows[:2]))
    return (text if len(text) < 120 else text[:117] + "...") + (", ..." if len(rows) > 2 else "")


def number(task: SqlTask) -> str:
    return task.task_id.rsplit("/", 1)[1]


def numbers(found: Sequence[SqlTask]) -> str:
    return ", ".join(str(int(number(task))) for task in found)


if __name__ == "__main__":
    raise SystemExit(main())
