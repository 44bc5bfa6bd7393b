"""``budget-envs train``: train a language model on an environment."""

from __future__ import annotations

import dataclasses
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from budget_envs.cli.ids import find_id, make_env, read_keywords
from budget_envs.cli.output import INTERRUPTED, console, print_json
from budget_envs.cli.parameters import Flag, Integer, Texts
from budget_envs.errors import OptionError, did_you_mean, require
from budget_envs.evaluation.report.text import visible

__all__ = ["train"]

_MODULES: Final = "budget_envs.agents.trainers"
_TRAINERS: Final[Mapping[str, tuple[str, str]]] = {
    "sft": ("SFTSettings", "train_sft"),
    "grpo": ("GRPOSettings", "train_grpo"),
    "gigpo": ("GiGPOSettings", "train_gigpo"),
    "ppo": ("PPOSettings", "train_ppo"),
}
_SHOWN: Final[Mapping[str, str]] = {
    "rollout/R_multi": "held-out success",
    "rollout/R_single": "first action",
    "rollout/success_rate": "success",
    "losses/sft_loss": "loss",
    "losses/approx_kl": "KL",
}


def train(
    algorithm: str,
    /,
    *,
    settings: Path | None = None,
    set: Texts = None,
    threads: Integer = 1,
    dry_run: Flag = False,
    json: Flag = False,
) -> int:
    """Train a language model by imitation or on its own episodes.

    The run is kept in a folder of its own: settings, log, checkpoints, and at the end the model,
    which evaluates as any other. The same command continues where an earlier one stopped, and ends
    with the same bits.

    Args:
        algorithm: sft, grpo, gigpo or ppo.
        settings: A TOML file; examples/ has some.
        set: A setting, as key=value with a JSON value, that wins over the file; optimizer.decay=1
            is a key of a table. May be repeated.
        threads: Threads of a matrix product. More than one rarely helps a small model.
        dry_run: Say what would be done, and do nothing.
        json: Print one JSON document.
    """
    kind, run = _trainer(algorithm)
    chosen = _settings(kind, settings, set)
    if dry_run:
        _describe(chosen, as_json=json)
        return 0
    require("torch", "agents").set_num_threads(_at_least_one(threads))
    _quiet_transformers()
    try:
        with _shown_steps(f"{algorithm} {chosen.folder}") as report:
            model = run(chosen, report)
    except KeyboardInterrupt:
        print(
            f"budget-envs: stopped. {visible(chosen.folder)} holds the run; run the same command "
            "to continue from its newest checkpoint.",
            file=sys.stderr,
        )
        return INTERRUPTED
    _conclude(chosen, model, as_json=json)
    return 0


def _trainer(algorithm: str) -> tuple[Any, Callable[..., Path]]:
    if algorithm not in _TRAINERS:
        raise OptionError(
            f"algorithm must be one of {', '.join(_TRAINERS)}, got {algorithm!r}."
            + did_you_mean(algorithm, _TRAINERS)
        )
    for module in ("torch", "transformers"):
        require(module, "agents")
    found = importlib.import_module(f"{_MODULES}.{algorithm}")
    kind, run = _TRAINERS[algorithm]
    return getattr(found, kind), getattr(found, run)


def _settings(kind: Any, file: Path | None, pairs: Texts) -> Any:
    from budget_envs.agents.trainers.config import read_toml

    changes = {}
    for pair in pairs or ():
        path, equals, value = pair.partition("=")
        table, dot, key = path.rpartition(".")
        read = read_keywords([f"{key}={value}" if equals else pair])
        changes[f"{table}{dot}{key}"] = read[key]
    chosen = read_toml(kind, file, changes)
    env_id = find_id(chosen.env.id).rpartition(":")[2]
    make_env(env_id, chosen.env.set).close()  # refuses what it does not take, early
    return dataclasses.replace(chosen, env=dataclasses.replace(chosen.env, id=env_id))


def _at_least_one(threads: int) -> int:
    if threads < 1:
        raise OptionError(f"threads must be at least 1, got {threads}.")
    return threads


def _quiet_transformers() -> None:
    """Keep bars for the saving of single files out of the output."""
    require("transformers.utils.logging", "agents").disable_progress_bar()


def _describe(settings: Any, *, as_json: bool) -> None:
    from budget_envs.agents.trainers.config import as_toml
    from budget_envs.agents.trainers.run import steps_done

    done = steps_done(settings)
    if as_json:
        print_json({"settings": dataclasses.asdict(settings), "steps_done": done})
        return
    print(as_toml(settings))
    print(
        f"{done:,} of {settings.num_steps:,} steps are done. Nothing was trained: this was a dry "
        "run."
    )


def _conclude(settings: Any, model: Path, *, as_json: bool) -> None:
    from budget_envs.agents.trainers.logging import read_scalars

    scalars = read_scalars(Path(settings.folder))
    last = {name: values[max(values)] for name, values in scalars.items()}
    if as_json:
        print_json({"model": str(model), "num_steps": settings.num_steps, "last": last})
        return
    for name, what in _SHOWN.items():
        if name in last:
            print(f"{what}: {last[name]:.3f}")
    print(f"Model: {visible(str(model))}")
    print(f"Log: {visible(str(Path(settings.folder) / 'log.csv'))}")


@contextmanager
def _shown_steps(name: str) -> Iterator[Callable[[int, int, Mapping[str, float]], None]]:
    """Show how a run gets on: a bar on a terminal, else a line where held-out tasks were played."""
    if not sys.stderr.isatty():
        yield lambda done, total, values: _print_line(name, done, total, values)
        return
    from rich import progress

    bar = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[notes]}", markup=False),
        console=console(stderr=True),
    )
    known: dict[str, float] = {}
    with bar:
        task = bar.add_task(visible(name), total=None, notes="")

        def update(done: int, total: int, values: Mapping[str, float]) -> None:
            known.update(values)
            bar.update(task, completed=done, total=total, notes=_notes(known))

        yield update


def _print_line(name: str, done: int, total: int, values: Mapping[str, float]) -> None:
    if "rollout/R_multi" in values or done in (1, total):
        clock = time.strftime("%H:%M:%S")
        line = f"{clock} {visible(name)}: step {done:,} of {total:,}; {_notes(values)}"
        print(line, file=sys.stderr, flush=True)


def _notes(values: Mapping[str, float]) -> str:
    """Return what is watched, and where a step's time goes."""
    watched = [f"{what} {values[key]:.3f}" for key, what in _SHOWN.items() if key in values]
    total = values.get("time/step", 0.0)
    shares = [
        f"{phase} {100 * values[key] / total:.0f} %"
        for phase in ("environment", "prefill", "decode", "train")
        if (key := f"time/{phase}") in values and total > 0
    ]
    return "; ".join(watched + [", ".join(shares)] * bool(shares))
