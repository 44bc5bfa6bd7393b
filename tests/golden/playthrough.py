"""Golden playthroughs: one readable text for every id and version.

A changed text is a changed environment: raise the version of its id, or mend the change. Where
tasks come from a published dataset only, observations are given by their length and checksum: they
are not ours to print.
Regenerate with ``python tests/golden/playthrough.py`` and review the difference as text.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import gymnasium as gym

import budget_envs  # noqa: F401  # registers the ids
from budget_envs.registration import PRESETS, family_of
from budget_envs.tasks import needs_files

FOLDER = Path(__file__).parent
EPISODES = 2


def playthrough(env_id: str) -> str:
    """Play two short seeded episodes and return everything that was said."""
    name = gym.spec(env_id).kwargs["family"]
    family = family_of(name)
    show = _digest if needs_files(name) else str
    env = gym.make(env_id, budget=5, show_budget=True, oracle=family.oracle is not None)
    env.action_space.seed(0)
    lines = [f"# {env_id}, budget of 5 turns shown, oracle attached where there is one"]
    for episode in range(EPISODES):
        observation, info = env.reset(seed=episode)
        lines += [f"\n## reset(seed={episode})", show(observation), f"info: {_show(info)}"]
        over = False
        while not over:
            action = env.action_space.sample() if info["turn"] != 1 else "I am not sure."
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
            lines += [f"\n> {action}", show(observation)]
            lines += [f"reward: {reward}, terminated: {terminated}, truncated: {truncated}"]
            lines += [f"info: {_show(info)}"]
    return "\n".join(lines) + "\n"


def path_of(env_id: str) -> Path:
    """Return the golden file of an id."""
    return FOLDER / f"{env_id.split('/')[1]}.txt"


def _digest(text: str) -> str:
    return f"({len(text)} characters, sha256 {sha256(text.encode()).hexdigest()[:16]})"


def _show(info: dict[str, object]) -> str:
    """Return an info on one line, rounded, without the text that is shown already."""
    shown = {key: value for key, value in info.items() if key != "observation"}
    return repr(_rounded(shown))


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return value


if __name__ == "__main__":
    for preset in PRESETS:
        path_of(preset.id).write_text(playthrough(preset.id), encoding="utf-8")
