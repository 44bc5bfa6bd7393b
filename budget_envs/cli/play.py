"""``budget-envs play``: a person plays any environment in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym

from budget_envs.cli.game import Game
from budget_envs.cli.ids import find_id, make_env, read_keywords, takes_our_keywords
from budget_envs.cli.output import print_json
from budget_envs.cli.parameters import Flag, Integer, OptionalInteger, Texts
from budget_envs.errors import OptionError
from budget_envs.wrappers import InteractionBudget

__all__ = ["play"]


def play(
    id: str,
    /,
    *,
    budget: OptionalInteger = None,
    seed: Integer = 0,
    show_budget: bool = True,
    oracle: Flag = False,
    set: Texts = None,
    json: Flag = False,
) -> None:
    """Play an environment yourself: a line from the terminal or a pipe is one action.

    Lines with a meaning of their own are :undo, :help and :q. Three quotes on a line begin an
    action of several lines, and end it.

    Args:
        id: An environment, of this package or any other that Gymnasium knows.
        budget: Turns; without it, as many as the id comes with.
        seed: Picks the task and the luck; 0 or more.
        show_budget: Say after every turn what remains.
        oracle: Say after every turn what the action was worth, and what would have been best.
        set: A keyword of the environment, as key=value with a JSON value. May be repeated.
        json: Print the game as one JSON document; the game itself goes to standard error.
    """
    if seed < 0:
        raise OptionError(f"--seed must be at least 0, got {seed!r}.")
    env_id, keywords = find_id(id), read_keywords(set)
    env = _make(env_id, keywords, budget, shown=show_budget, oracle=oracle)
    shows_budget = show_budget and keywords.get("show_budget") is not False
    game = Game(env, sys.stderr if json else sys.stdout, shows_budget=shows_budget)
    try:
        game.begin(seed)
        game.play_on()
    finally:
        env.close()
    if json:
        print_json({"id": env_id, "seed": seed, "settings": keywords, **game.record()})


def _make(
    env_id: str, keywords: dict[str, Any], budget: int | None, *, shown: bool, oracle: bool
) -> gym.Env[Any, Any]:
    if not takes_our_keywords(env_id):
        return _make_other(env_id, keywords, budget, oracle=oracle)
    if budget is not None:
        keywords = {**keywords, "budget": budget}
    has_budget = keywords.get("budget", "the id's own") is not None
    return make_env(env_id, {"show_budget": shown and has_budget, "oracle": oracle, **keywords})


def _make_other(
    env_id: str, keywords: dict[str, Any], budget: int | None, *, oracle: bool
) -> gym.Env[Any, Any]:
    """Make an environment of another package, drawn as text where it can be."""
    if oracle:
        raise OptionError(f"{env_id} has no oracle: leave --oracle out.")
    env = make_env(env_id, keywords)
    if "render_mode" not in keywords and "ansi" in env.metadata.get("render_modes", ()):
        env.close()
        env = make_env(env_id, {**keywords, "render_mode": "ansi"})
    return env if budget is None else InteractionBudget(env, budget=budget)
