"""Writes the golden tasks: ``python tests/tasks/synthetic_code/regenerate_golden.py``.

A change in these files means that ids now name other tasks: review it, and raise
``GENERATOR_VERSION``.
"""

from pathlib import Path

from budget_envs.tasks.synthetic_code import GENERATOR_VERSION, SyntheticTask, task_from_id

GOLDEN = Path(__file__).parent / "golden"
TASK_IDS = (
    "deepcoder_synthetic/L1/000007",
    "deepcoder_synthetic/L2/000003-stdin",
    "deepcoder_synthetic/L3/000123",
    "deepcoder_synthetic/L4/000000-stdin",
    "deepcoder_synthetic/L5/000042",
)


def golden_path(task_id: str) -> Path:
    return GOLDEN / (task_id.split("/", 1)[1].replace("/", "-") + ".txt")


def golden_text(task: SyntheticTask) -> str:
    """Return everything about a task as readable text."""
    head = (
        f"id: {task.task_id}\ngenerator version: {GENERATOR_VERSION}\nkind: {task.kind}\n"
        f"level: {task.level}\nfingerprint: {task.fingerprint}\nsplit: {task.split}\n"
        f"function: {task.function_name}\nstarter code: {task.starter_code!r}\n"
    )
    tests = "\n".join(f"{given!r} -> {expected!r}" for given, expected in task.hidden_tests)
    public = "\n".join(f"{given!r} -> {expected!r}" for given, expected in task.public_tests)
    return (
        f"{head}\n=== statement\n{task.statement}\n=== reference solution\n"
        f"{task.reference_solution}\n=== public tests\n{public}\n\n=== hidden tests\n{tests}\n"
    )


if __name__ == "__main__":
    for task_id in TASK_IDS:
        golden_path(task_id).write_text(golden_text(task_from_id(task_id)), encoding="utf-8")
