"""Checkpoints: everything that the next training step depends on, written as a whole or not at all.

A checkpoint ``step-00000120`` is a Hugging Face folder, which can be evaluated as it is, with a
``training.pt`` beside the weights: the optimiser, the trainer's own tensors and the number of the
next step. Randomness needs no place in it, as every draw is a function of seed, step and task.
"""

from __future__ import annotations

import pickle
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch

from budget_envs.agents.models.loading import LanguageModel
from budget_envs.agents.trainers.files import new_folder
from budget_envs.errors import DataError

__all__ = ["checkpoints", "latest", "load_training_state", "save_checkpoint"]

_NAME: Final = re.compile(r"step-(\d+)")
_STATE: Final = "training.pt"


def save_checkpoint(
    folder: Path,
    step: int,
    language_model: LanguageModel,
    state: Mapping[str, Any],
    *,
    keep: int,
) -> Path:
    """Write a checkpoint, then remove the oldest beyond ``keep``.

    Args:
        folder: Folder of all checkpoints of the run.
        step: Number of the next step: that many are done.
        language_model: Saved as an ordinary Hugging Face folder.
        state: Whatever ``torch.save`` takes: state of the optimiser and of further modules.
        keep: How many checkpoints remain.

    Returns:
        The folder of the checkpoint.
    """
    target = folder / f"step-{step:08d}"
    with new_folder(target) as draft:
        language_model.save(draft)
        torch.save({"step": step, **state}, draft / _STATE)
    for old in checkpoints(folder)[:-keep]:
        shutil.rmtree(old)
    return target


def checkpoints(folder: Path) -> list[Path]:
    """Return the finished checkpoints of a run, oldest first."""
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.name.partition("-")[2]))


def latest(folder: Path) -> Path | None:
    """Return the newest finished checkpoint, or ``None`` if there is none."""
    found = checkpoints(folder)
    return found[-1] if found else None


def load_training_state(checkpoint: Path) -> dict[str, Any]:
    """Return what was saved beside the model, with the number of the next step as ``"step"``.

    Raises:
        DataError: If it cannot be read.
    """
    file = checkpoint / _STATE
    try:
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise DataError(f"cannot read the checkpoint {str(file)!r}: {error}.") from error
    return state
