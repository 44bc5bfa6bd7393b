"""`load_language_model`: a causal LM, its tokenizer and its chat format, from wherever it lies."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from budget_envs.agents.models import smollm2
from budget_envs.agents.models.chat import ChatFormat
from budget_envs.errors import OptionError, require
from budget_envs.tasks.checksums import file_sha256

__all__ = ["LanguageModel", "ModelPlace", "load_language_model", "pretrained", "without_bars"]

_NO_CONTEXT: Final = 2**30  # of a model that states none
_HUB_NAME: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A model, ready to be talked to.

    Attributes:
        model: A Hugging Face causal LM (``torch.nn.Module``), in evaluation mode when loaded.
        tokenizer: Its tokenizer.
        chat: Its chat format.
        name: What it was loaded from; for tables and settings.
    """

    model: Any
    tokenizer: Any
    chat: ChatFormat
    name: str

    @property
    def context_length(self) -> int:
        """Most tokens of a conversation."""
        config = self.model.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", None) or _NO_CONTEXT)

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens at which a generation ends: the template's, the tokenizer's and the model's."""
        generation = getattr(self.model, "generation_config", None)
        eos = getattr(generation, "eos_token_id", None)
        own = eos if isinstance(eos, list) else [] if eos is None else [eos]
        return self.chat.stop_ids | frozenset(own)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write model and tokenizer as an ordinary Hugging Face folder."""
        with without_bars():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model is, before anything heavy is loaded.

    Attributes:
        name: As the user gave it.
        source: What ``from_pretrained`` takes: a folder, or a name of the hub; of ``"smollm2"``
            it is found when it is loaded.
        gguf_file: The file in the folder, if it is one of GGUF.
        is_local: Whether it is on this machine.
    """

    name: str
    source: str
    gguf_file: str | None
    is_local: bool

    @classmethod
    def of(cls, name: str | os.PathLike[str]) -> ModelPlace:
        """Find a model by what a user gives: a folder, a GGUF file, a hub name or ``"smollm2"``.

        Raises:
            OptionError: If there is nothing there, and it cannot be the name of a hub.
            TaskDataUnavailable: If ``"smollm2"`` is not on this machine.
        """
        text = os.fspath(name)
        if text == smollm2.NAME:
            smollm2.check_available()
            return cls(text, text, None, True)
        path = Path(text).expanduser()
        if text and path.is_dir():
            return cls(text, str(path), None, True)
        if path.is_file():
            return cls(text, str(path.parent), path.name, True)
        if isinstance(name, str) and _HUB_NAME.fullmatch(text) and not path.is_absolute():
            return cls(text, text, None, False)
        raise OptionError(
            f"there is no model {text!r}: give a folder with config.json and weights, a GGUF file, "
            "the name of a Hugging Face hub's model, or 'smollm2'."
        )

    def checksum(self) -> str | None:
        """Return a SHA-256 of the files of a local model, 64 hexadecimal digits; else ``None``."""
        if self.name == smollm2.NAME:
            return smollm2.SHA256
        if not self.is_local:
            return None
        folder = Path(self.source)
        files = [folder / self.gguf_file] if self.gguf_file else sorted(folder.iterdir())
        sums = [f"{f.name} {file_sha256(f)}" for f in files if f.is_file()]
        return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def load_language_model(
    name: str | os.PathLike[str], *, chat_template: str | None = None
) -> LanguageModel:
    """Load a model from a Hugging Face folder, a GGUF file, a hub name, or ``"smollm2"``.

    In float32, on the CPU.

    Args:
        name: Where it is.
        chat_template: In place of the model's own, see `ChatFormat`.

    Raises:
        OptionError: If there is no such model, or it cannot be loaded.
        UnsupportedError: If its chat template cannot be used.
        TaskDataUnavailable: If ``"smollm2"`` is not on this machine.
        DependencyNotInstalled: Without torch or transformers.
    """
    place = ModelPlace.of(name)
    is_shipped = place.name == smollm2.NAME
    source = str(smollm2.model_folder()) if is_shipped else place.source
    model, tokenizer = pretrained(source, place.gguf_file)
    chat = ChatFormat(tokenizer, template=chat_template)
    return LanguageModel(model, tokenizer, chat, place.name)


def pretrained(source: str, gguf_file: str | None = None) -> tuple[Any, Any]:
    """Return model and tokenizer as transformers loads them, without its progress bars.

    Raises:
        OptionError: If it cannot.
        DependencyNotInstalled: If what it needs is not installed.
    """
    torch, transformers = require("torch", "agents"), require("transformers", "agents")
    for module in ("gguf", "accelerate") if gguf_file else ():
        require(module, "agents")
    extra = {"gguf_file": gguf_file} if gguf_file else {}
    try:
        with without_bars():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **extra)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                source, dtype=torch.float32, **extra
            )
    except Exception as error:  # of many kinds: no such name, no network, damaged files
        what = f"{source!r} ({gguf_file})" if gguf_file else repr(source)
        raise OptionError(
            f"no language model could be loaded from {what}: {type(error).__name__}: {error}"
        ) from error
    return (_ordinary(model) if gguf_file else model).eval(), tokenizer


def _ordinary(model: Any) -> Any:
    """Return a model from a GGUF file as one that can be saved: its weights are numbers by now."""
    torch, transformers = require("torch", "agents"), require("transformers", "agents")
    config = transformers.AutoConfig.for_model(**_without_quantization(model.config.to_dict()))
    with torch.random.fork_rng(devices=[]):  # it draws weights that are not kept
        plain = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(model.state_dict())
    plain.generation_config = model.generation_config
    return plain


def _without_quantization(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "quantization_config"}


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep transformers from drawing progress bars; those of GGUF heed no setting of its own."""
    logging = require("transformers", "agents").utils.logging
    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        if was_shown:
            logging.enable_progress_bar()
