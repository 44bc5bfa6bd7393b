"""``budget-envs bench``: a unit benchmark of one environment."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import Any, Final

import gymnasium as gym

from budget_envs.cli.bench.determinism import Determinism, Rollout, check_determinism
from budget_envs.cli.bench.layers import LayerShare, measure_layers
from budget_envs.cli.bench.memory import measure_memory
from budget_envs.cli.bench.speed import (
    Speed,
    VectorSpeed,
    measure_speed,
    measure_vector_speed,
)
from budget_envs.cli.ids import find_id, make_env, read_keywords
from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag, OptionalInteger, Texts
from budget_envs.errors import BudgetEnvsError, OptionError
from budget_envs.evaluation.policy import describe_error

__all__ = ["bench"]

_NUM_ENVS: Final = 1024
_MOST_STEPS: Final = 10**9  # of one pass: hours, of the fastest environments
_MOST_REPLAYED: Final = 500  # steps of the rollout that determinism is tested on


@dataclasses.dataclass(frozen=True, slots=True)
class Benchmark:
    """What ``bench`` measures of one environment; see the classes of its parts."""

    id: str
    settings: Mapping[str, Any]
    speed: Speed
    layers: list[LayerShare]
    vector: VectorSpeed | None
    bytes_per_env: int
    copies: int
    determinism: Determinism


def bench(
    id: str, /, *, steps: OptionalInteger = None, set: Texts = None, json: Flag = False
) -> None:
    """Measure one environment, of this package or any other, with random actions.

    Steps and resets per second, the share of each wrapper, the vector environment if there is one,
    memory, and whether a seed gives the same episode in other processes. Every figure is of this
    machine and this moment: compare environments by the ratio of two runs.

    Args:
        id: An environment that Gymnasium knows.
        steps: Steps of one pass; without it, as many as fit into about 0.3 s.
        set: A keyword of the environment, as key=value with a JSON value. May be repeated.
        json: Print one JSON document.
    """
    if steps is not None and not 1 <= steps <= _MOST_STEPS:
        raise OptionError(f"--steps must be in 1 ... {_MOST_STEPS:,}, got {steps!r}.")
    env_id, keywords = find_id(id), read_keywords(set)
    with _explained(env_id), redirect_stdout(sys.stderr):  # an environment may print
        found = _measure(env_id, keywords, steps)
    if json:
        print_json(dataclasses.asdict(found))
    else:
        _print_table(found)


@contextmanager
def _explained(env_id: str) -> Iterator[None]:
    """Say which environment broke, and where: it is somebody else's code that runs here."""
    try:
        yield
    except (BudgetEnvsError, gym.error.Error):
        raise
    except (Exception, SystemExit) as error:
        raise BudgetEnvsError(
            f"{env_id} broke while it was measured: {describe_error(error)}."
        ) from error


def _measure(env_id: str, keywords: dict[str, Any], steps: int | None) -> Benchmark:
    make: Callable[[], gym.Env[Any, Any]] = partial(make_env, env_id, keywords)
    env = make()
    try:
        speed = measure_speed(env, steps)
        shares = measure_layers(env, speed.steps)
    finally:
        env.close()
    bytes_per_env, copies = measure_memory(make)
    replayed = min(speed.steps, _MOST_REPLAYED)
    return Benchmark(
        id=env_id,
        settings=keywords,
        speed=speed,
        layers=shares,
        vector=_measure_vector(env_id, keywords),
        bytes_per_env=bytes_per_env,
        copies=copies,
        determinism=check_determinism(Rollout(env_id, keywords, replayed)),
    )


def _measure_vector(env_id: str, keywords: dict[str, Any]) -> VectorSpeed | None:
    if gym.spec(env_id.rpartition(":")[2]).vector_entry_point is None:
        return None
    mode = gym.VectorizeMode.VECTOR_ENTRY_POINT
    venv = gym.make_vec(env_id, num_envs=_NUM_ENVS, vectorization_mode=mode, **keywords)
    try:
        return measure_vector_speed(venv)
    finally:
        venv.close()


def _print_table(found: Benchmark) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=False, title=found.id, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    for row in _rows(found):
        table.add_row(*row)
    console().print(table)


def _rows(found: Benchmark) -> list[tuple[str, str]]:
    speed, vector = found.speed, found.vector
    rows = [
        ("steps per second", f"{speed.steps_per_second:,.0f}"),
        ("  with resets", f"{speed.steps_per_second_with_resets:,.0f}"),
        ("resets per second", f"{speed.resets_per_second:,.0f}"),
        ("steps per episode", f"{speed.mean_episode_length:,.1f}"),
    ]
    for layer in found.layers:
        rows.append((f"  {layer.layer}", f"{layer.own_us:.2f} us  {layer.share:6.1%}"))
    if vector is None:
        rows.append(("vector environment", "none"))
    else:
        ratio = vector.steps_per_second / speed.steps_per_second_with_resets
        rows.append(
            (
                f"vector steps per second, {vector.num_envs:,} copies",
                f"{vector.steps_per_second:,.0f}",
            )
        )
        rows.append((f"  {vector.kind}", f"{ratio:.1f} x one copy"))
    rows.append(
        (f"memory of a copy, mean of {found.copies}", f"{found.bytes_per_env / 1024:,.1f} KiB")
    )
    rows.append(("same episode in other processes", _verdict(found.determinism)))
    return rows


def _verdict(determinism: Determinism) -> str:
    if determinism.problem is not None:
        return f"not checked: {determinism.problem}"
    if not determinism.episode:
        return "no"
    return f"yes ({determinism.processes} compared)" if determinism.infos else "yes, infos differ"
