"""Benchmarks by name: pinned files, checked checksums, leak-free splits, typed tasks.

    >>> from budget_envs import tasks
    >>> problems = tasks.load("mbpp", split="train")          # doctest: +SKIP
    >>> problems[0].task_id, problems.manifest.split_sha256   # doctest: +SKIP

`datasets` lists what there is, `show` describes one, `locate` says where its files lie, `load`
reads it. Where a file is nowhere, the error gives the command that brings it: nothing is ever
replaced by made-up data.
"""

from __future__ import annotations

from budget_envs.tasks.code_task import CodeTask, UnitTest
from budget_envs.tasks.description import show
from budget_envs.tasks.loading import load
from budget_envs.tasks.registry import DatasetInfo, dataset, datasets, needs_files
from budget_envs.tasks.sources import LocatedFile, cache_folder, locate
from budget_envs.tasks.task_set import Contents, Entry, Manifest, TaskSet
from budget_envs.tasks.verification import VerifyReport

__all__ = [
    "CodeTask",
    "Contents",
    "DatasetInfo",
    "Entry",
    "LocatedFile",
    "Manifest",
    "TaskSet",
    "UnitTest",
    "VerifyReport",
    "cache_folder",
    "dataset",
    "datasets",
    "load",
    "locate",
    "needs_files",
    "show",
]
