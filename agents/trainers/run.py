"""`TrainingRun`: the folder of one run, and what makes it go on where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from budget_envs.agents.models.loading import LanguageModel, load_language_model
from budget_envs.agents.trainers.checkpoint import latest, load_training_state, save_checkpoint
from budget_envs.agents.trainers.config import TrainSettings, as_toml
from budget_envs.agents.trainers.files import new_folder, write_atomically
from budget_envs.agents.trainers.logging import ScalarLog
from budget_envs.errors import OptionError

__all__ = ["Report", "TrainingRun", "steps_done"]

Report = Callable[[int, int, Mapping[str, float]], None]
"""Called after each step with the number of steps done, that of all, and what was logged."""


class TrainingRun:
    """Keeps a run's settings, log and checkpoints in its folder.

    The folder holds ``settings.toml``, ``log.sqlite`` and ``log.csv``, ``checkpoints/``, and at
    the end the trained model in ``model/``. Opened again with the same settings, it goes on from
    the newest checkpoint, and ends with the same bits as a run that was never stopped.

    Args:
        settings: Of the trainer.
        report: See `Report`.

    Attributes:
        first_step: Step to go on from.

    Raises:
        OptionError: If the folder belongs to a run with other settings.
    """

    def __init__(self, settings: TrainSettings, report: Report | None = None) -> None:
        self.settings = settings
        self.folder = Path(settings.folder)
        self._report = report
        self._claim()
        checkpoint = latest(self.folder / "checkpoints")
        self._checkpoint = checkpoint
        self._state = {} if checkpoint is None else load_training_state(checkpoint)
        self.first_step: int = self._state.get("step", 0)
        self._log = ScalarLog(
            self.folder, first_step=self.first_step, tensorboard=settings.tensorboard
        )
        self._keepers: dict[str, Any] = {}
        self._model: LanguageModel | None = None
        self._started = time.perf_counter()

    def load_model(self, make: Callable[[], LanguageModel] | None = None) -> LanguageModel:
        """Return the model to train: the checkpoint's, or else the one to start from.

        Args:
            make: Makes the model to start from; ``None`` loads the one that the settings name.
        """
        if self._checkpoint is not None:
            self._model = load_language_model(self._checkpoint)
        else:
            self._model = make() if make else load_language_model(self.settings.model)
        return self._model

    def keep(self, **keepers: Any) -> None:
        """Save what has a ``state_dict`` with every checkpoint, and give it back what was saved."""
        self._keepers.update(keepers)
        for name, keeper in keepers.items():
            if name in self._state:
                keeper.load_state_dict(self._state[name])

    def finish_step(self, done: int, values: Mapping[str, float]) -> None:
        """Log a step, and save where it is time to.

        Args:
            done: Steps done, this one included.
            values: By key of the log.
        """
        elapsed = time.perf_counter() - self._started
        self._started = time.perf_counter()
        logged = {**values, "time/step": elapsed}
        self._log.write(done - 1, logged)
        total = self.settings.num_steps
        if done % self.settings.save_every == 0 or done == total:
            self.save(done)
        if self._report is not None:
            self._report(done, total, logged)

    def save(self, done: int) -> None:
        """Write a checkpoint after ``done`` steps."""
        state = {name: keeper.state_dict() for name, keeper in self._keepers.items()}
        save_checkpoint(
            self.folder / "checkpoints",
            done,
            self._trained(),
            state,
            keep=self.settings.keep_checkpoints,
        )
        self._log.export()

    def finish(self, values: Mapping[str, float] | None = None) -> Path:
        """Log what was measured last, write the trained model, and return its folder."""
        self._log.write(self.settings.num_steps, values or {})
        with new_folder(self.folder / "model") as draft:
            self._trained().save(draft)
        return self.folder / "model"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._log.close()

    def _trained(self) -> LanguageModel:
        assert self._model is not None  # load_model comes first in every trainer
        return self._model

    def _claim(self) -> None:
        """Write the settings into the folder, or see that they are those it was begun with."""
        text = as_toml(self.settings)
        file = self.folder / "settings.toml"
        self.folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            write_atomically(file, text.encode())
        elif file.read_text(encoding="utf-8") != text:
            raise OptionError(
                f"{str(self.folder)!r} holds a run with other settings, see its settings.toml: "
                "give another folder, or the same settings to go on with it."
            )


def steps_done(settings: TrainSettings) -> int:
    """Return after how many steps a run would go on."""
    checkpoint = latest(Path(settings.folder) / "checkpoints")
    return 0 if checkpoint is None else int(load_training_state(checkpoint)["step"])
