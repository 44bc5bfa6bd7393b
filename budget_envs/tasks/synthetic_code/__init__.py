"""``deepcoder_synthetic``: list-and-string programming tasks generated from a typed language.

Endless, solvable by construction, with hidden tests, five difficulty levels and three splits
that share no task. In the spirit of DeepCoder (Balog et al., 2017, arXiv:1611.01989).

>>> task = generate(level=2, index=7)
>>> task.task_id
'deepcoder_synthetic/L2/000007'
"""

from budget_envs.tasks.synthetic_code.generator import (
    DATASET,
    GENERATOR_VERSION,
    Kind,
    Split,
    SyntheticTask,
    generate,
    program_of,
    split_of,
    task_from_id,
    tasks,
)

__all__ = [
    "DATASET",
    "GENERATOR_VERSION",
    "Kind",
    "Split",
    "SyntheticTask",
    "generate",
    "program_of",
    "split_of",
    "task_from_id",
    "tasks",
]
