"""Whether a seed gives the same episode in every process and under every hash seed.

As a program (``python -m budget_envs.cli.bench.determinism FILE``) this module reads a `Rollout` as
JSON from standard input and writes its `Digests` to the file: what the environment prints is its
own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from budget_envs.cli.bench.speed import draw_actions
from budget_envs.cli.ids import find_id, make_env

__all__ = ["Determinism", "Digests", "Rollout", "check_determinism"]

_HASH_SEEDS: Final = ("1", "4242")
_TIMEOUT_S: Final = 300


@dataclass(frozen=True, slots=True)
class Rollout:
    """Seeded episodes with random actions.

    Attributes:
        env_id: The environment.
        keywords: Its keywords.
        steps: Number of steps.
        seed: Seed of the first reset; later ones continue it.
    """

    env_id: str
    keywords: Mapping[str, Any]
    steps: int
    seed: int = 0

    def play(self) -> Digests:
        """Play it, and return hashes of all that was returned."""
        env = make_env(find_id(self.env_id), self.keywords)
        actions = draw_actions(env.action_space, self.steps)
        episode, infos = hashlib.sha256(), hashlib.sha256()
        try:
            observation, info = env.reset(seed=self.seed)
            _feed(episode, observation)
            _feed(infos, info)
            for action in actions:
                *returned, info = env.step(action)
                _feed(episode, returned)
                _feed(infos, info)
                if returned[2] or returned[3]:
                    observation, info = env.reset()
                    _feed(episode, observation)
                    _feed(infos, info)
        finally:
            env.close()
        return Digests(episode.hexdigest(), infos.hexdigest())


@dataclass(frozen=True, slots=True)
class Digests:
    """Hashes of a rollout.

    Attributes:
        episode: SHA-256 of actions, observations, rewards and endings.
        infos: SHA-256 of the infos, in which some environments have clocks.
    """

    episode: str
    infos: str


@dataclass(frozen=True, slots=True)
class Determinism:
    """What replaying a rollout in other processes showed.

    Attributes:
        episode: Whether observations, rewards and endings were the same everywhere; ``None`` if
            the other processes could not play it.
        infos: The same of the infos.
        processes: Processes compared, this one included.
        problem: Why another process could not play it; ``None`` if all could.
    """

    episode: bool | None
    infos: bool | None
    processes: int
    problem: str | None = None


def check_determinism(rollout: Rollout) -> Determinism:
    """Play a rollout here and in fresh processes with other hash seeds, and compare."""
    found = [rollout.play()]
    for hash_seed in _HASH_SEEDS:
        digests = _play_elsewhere(rollout, hash_seed)
        if isinstance(digests, str):
            return Determinism(None, None, len(found), digests)
        found.append(digests)
    return Determinism(
        episode=len({digests.episode for digests in found}) == 1,
        infos=len({digests.infos for digests in found}) == 1,
        processes=len(found),
    )


def _play_elsewhere(rollout: Rollout, hash_seed: str) -> Digests | str:
    """Play in a fresh process; return its digests, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "digests.json")
        problem = _run_program(rollout, hash_seed, result)
        if problem is not None:
            return problem
        if not result.is_file():
            return "the environment ended the process before it had played."
        return Digests(**json.loads(result.read_text(encoding="utf-8")))


def _run_program(rollout: Rollout, hash_seed: str, result: Path) -> str | None:
    """Play in a fresh process, with a file for the digests; return what went wrong."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(result)],
            input=json.dumps(dataclasses.asdict(rollout)),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
    return None


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a hash, with its type and length, so that no two values look alike."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            _feed(digest, key)
            _feed(digest, value[key])
    elif isinstance(value, list | tuple):
        for inner in value:
            _feed(digest, inner)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        digest.update(np.ascontiguousarray(value).tobytes())
    else:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    digest.update(
        f"|{type(value).__name__}:{len(value) if hasattr(value, '__len__') else 0}|".encode()
    )


if __name__ == "__main__":
    played = Rollout(**json.load(sys.stdin)).play()
    Path(sys.argv[1]).write_text(json.dumps(dataclasses.asdict(played)), encoding="utf-8")
