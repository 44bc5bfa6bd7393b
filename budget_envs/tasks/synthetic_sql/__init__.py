"""``intercode_sql_synthetic``: questions on generated databases, answered by one SQL query.

Endless, with executed gold queries that tell near misses apart, four hardness levels in the
spirit of Spider (Yu et al., 2018, arXiv:1809.08887) and three splits that share no schema.

>>> task = generate("medium", 7)
>>> task.task_id
'intercode_sql_synthetic/medium/000007'
"""

from budget_envs.tasks.synthetic_sql.generator import (
    DATASET,
    GENERATOR_VERSION,
    Split,
    SyntheticSqlTask,
    generate,
    split_of,
    task_from_id,
    tasks,
)
from budget_envs.tasks.synthetic_sql.template import Hardness

__all__ = [
    "DATASET",
    "GENERATOR_VERSION",
    "Hardness",
    "Split",
    "SyntheticSqlTask",
    "generate",
    "split_of",
    "task_from_id",
    "tasks",
]
