"""Writes the golden tasks: ``python tests/tasks/synthetic_sql/regenerate_golden.py``.

A change in these files means that ids now name other tasks: review it, and raise
``GENERATOR_VERSION``.
"""

from pathlib import Path

from budget_envs.tasks.checksums import text_sha256
from budget_envs.tasks.synthetic_sql import GENERATOR_VERSION, SyntheticSqlTask, task_from_id
from budget_envs.tasks.synthetic_sql.database import database

GOLDEN = Path(__file__).parent / "golden"
TASK_IDS = tuple(
    f"intercode_sql_synthetic/{hardness}/{index:06d}"
    for hardness in ("easy", "medium", "hard", "extra")
    for index in (7, 123)
)
DATABASE = "library_0"
DATABASE_PATH = GOLDEN / f"{DATABASE}.sql"


def golden_path(task_id: str) -> Path:
    return GOLDEN / (task_id.split("/", 1)[1].replace("/", "-") + ".txt")


def golden_text(task: SyntheticSqlTask) -> str:
    """Return everything about a task as readable text."""
    with database(task.database).connect() as connection:
        rows = connection.execute(task.gold).fetchall()
    tables = "\n".join(f"{table}: {', '.join(names)}" for table, names in task.tables.items())
    head = (
        f"id: {task.task_id}\ngenerator version: {GENERATOR_VERSION}\n"
        f"hardness: {task.hardness}\ntemplate: {task.template}\nsplit: {task.split}\n"
        f"database: {task.database}\nsha256 of its statements: {text_sha256(task.schema_sql)}\n"
        f"fingerprint: {task.fingerprint}\n"
    )
    result = "\n".join(map(repr, rows))
    return (
        f"{head}\n=== question\n{task.question}\n\n=== gold\n{task.gold}\n\n=== result\n{result}\n"
        f"\n=== tables\n{tables}\n"
    )


def database_text() -> str:
    """Return the statements of one database."""
    return ";\n".join(database(DATABASE).statements).replace("), (", "),\n  (") + ";\n"


if __name__ == "__main__":
    for task_id in TASK_IDS:
        golden_path(task_id).write_text(golden_text(task_from_id(task_id)), encoding="utf-8")
    DATABASE_PATH.write_text(database_text(), encoding="utf-8")
