"""`SB3Policy`: plays a model that Stable-Baselines3 has trained on the numeric view."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from budget_envs.errors import OptionError, UnsupportedError, did_you_mean, require
from budget_envs.evaluation.policy import Action, Conversation, Policy
from budget_envs.streams import uniform
from budget_envs.wrappers import DiscreteActions, NumericObservation, ShowBudget

__all__ = ["Algorithm", "SB3Policy"]

Algorithm = Literal["PPO", "A2C", "DQN"]


class SB3Policy(Policy):
    """Shows a model the numbers that it was trained on, and plays the actions that it picks.

    The model was trained on an environment made with ``numeric=True``; it plays the same one
    without that keyword, under the same others. With ``show_budget`` it sees the share that remains
    where it saw it in training. Log-probabilities, one to an action, are the model's own; DQN has
    none.

    Loading a model runs code that its file holds: load those that you trust.

    Args:
        path: File that ``model.save`` has written. What it holds is part of a run's identity.
        algorithm: The class that saved it.
        deterministic: Take the action that the model likes best. Otherwise draw one from its
            probabilities, with the conversation's stream.

    Raises:
        OptionError: If there is no such file, or a setting is not valid.
    """

    needs_env: ClassVar[bool] = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        algorithm: Algorithm = "PPO",
        *,
        deterministic: bool = True,
    ) -> None:
        if algorithm not in get_args(Algorithm):
            raise OptionError(
                f"algorithm must be one of {', '.join(get_args(Algorithm))}, got {algorithm!r}."
                + did_you_mean(algorithm, get_args(Algorithm))
            )
        if not isinstance(deterministic, bool):
            raise OptionError(f"deterministic must be True or False, got {deterministic!r}.")
        if algorithm == "DQN" and not deterministic:
            raise OptionError("DQN has no probabilities to draw from: leave deterministic=True.")
        self.name = "sb3"
        self.path = Path(path)
        self.algorithm = algorithm
        self.deterministic = deterministic
        self.settings = {
            "path": str(path),
            "sha256": _checksum(self.path),
            "algorithm": algorithm,
            "deterministic": deterministic,
        }
        self._loaded: Any = None
        self._views: dict[str, gym.Env[Any, Any]] = {}  # of the conversations in progress

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return what the model picks in each conversation.

        One at a time: in a batch the last bits of a probability depend on the batch.
        """
        return [self._choose(conversation) for conversation in conversations]

    def begin(self, conversations: Sequence[Conversation]) -> None:
        """Make the numeric views of the environments that are played."""
        for conversation in conversations:
            self._views[conversation.id] = self._view(conversation)

    def end(self, conversations: Sequence[Conversation]) -> None:
        """Let the views go."""
        for conversation in conversations:
            self._views.pop(conversation.id, None)

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment whose numeric view is not what the model was trained on.

        Raises:
            UnsupportedError: If it is not.
            OptionError: If there is no numeric view, or the model cannot be loaded.
            DependencyNotInstalled: If Stable-Baselines3 is missing.
        """
        model = self._model()
        view = _numeric_view(env, model)
        for what in ("observation", "action"):
            trained, offered = getattr(model, f"{what}_space"), getattr(view, f"{what}_space")
            if trained != offered:
                raise UnsupportedError(
                    f"the model {str(self.path)!r} was trained on {what}s in {trained}, and the "
                    f"numeric view of {env} has {offered}: make the environment with the keywords "
                    "that it had in training, numeric aside."
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: it loads the model itself."""
        return {**self.__dict__, "_loaded": None, "_views": {}}

    def _view(self, conversation: Conversation) -> gym.Env[Any, Any]:
        return _numeric_view(conversation.env, self._model())  # type: ignore[arg-type]  # needs_env

    def _choose(self, conversation: Conversation) -> Action:
        model = self._model()
        view = self._views.get(conversation.id) or self._view(conversation)
        observation = _observation(view, conversation.observation)
        names: tuple[str, ...] = view.get_wrapper_attr("action_names")
        if not hasattr(model.policy, "get_distribution"):
            number, _ = model.predict(observation, deterministic=True)
            return Action(names[int(number)])
        logprobs = _logprobs(model.policy, observation)
        draw = None if self.deterministic else uniform(conversation.key, conversation.turn)
        chosen = _pick(logprobs, draw)
        return Action(names[chosen], logprobs=(float(logprobs[chosen]),))

    def _model(self) -> Any:
        if self._loaded is None:
            self._loaded = _load(self.path, self.algorithm)
        return self._loaded


def _checksum(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise OptionError(f"path must be a file that model.save has written: {error}.") from error


def _load(path: Path, algorithm: str) -> Any:
    kind = getattr(require("stable_baselines3", "sb3"), algorithm)
    torch = require("torch", "sb3")
    # The model brings a seed, and its networks are drawn before they are filled: neither may
    # reach the global random state.
    with torch.random.fork_rng(devices=[]):
        try:
            model = kind.load(path, device="cpu", seed=None)
        except Exception as error:  # of whatever the file holds
            raise OptionError(
                f"cannot load {str(path)!r} as a model of {algorithm}: "
                f"{type(error).__name__}: {error}."
            ) from error
    model.policy.set_training_mode(False)
    return model


def _numeric_view(env: gym.Env[Any, Any], model: Any) -> gym.Env[Any, Any]:
    """Wrap an environment as ``numeric=True`` does, to look at and not to step.

    Raises:
        OptionError: If it has no numeric view.
        UnsupportedError: If the view is made from text that has the budget's line in it.
    """
    shown = env if isinstance(env, ShowBudget) else None
    inner = env if shown is None else shown.env
    space = model.observation_space
    is_bytes = isinstance(space, gym.spaces.Box) and space.dtype == np.uint8
    width = {"max_bytes": space.shape[0]} if is_bytes and len(space.shape) == 1 else {}
    view = NumericObservation(DiscreteActions(inner), **width)
    if shown is None:
        return view
    if not hasattr(env.unwrapped, "numeric_observation"):
        raise UnsupportedError(
            f"the numbers of {env.unwrapped} are made from its text, to which show_budget adds a "
            "line that the model has not seen in training: leave show_budget out."
        )
    return ShowBudget(view, when=shown.when)


def _observation(view: gym.Env[Any, Any], text: str) -> Any:
    if isinstance(view, ShowBudget):
        return view.extended(_observation(view.env, text), view.ledger.report())
    return view.numbers(text)  # type: ignore[attr-defined]  # _numeric_view has made it


def _logprobs(policy: Any, observation: Any) -> NDArray[np.float64]:
    """Return the log-probability of each action, ``(actions,) float64``."""
    torch = require("torch", "sb3")
    with torch.no_grad():
        tensor, _ = policy.obs_to_tensor(observation)
        logits = policy.get_distribution(tensor).distribution.logits
    found: NDArray[np.float64] = logits[0].double().numpy()
    return found


def _pick(logprobs: NDArray[np.float64], draw: float | None) -> int:
    """Return the likeliest action, or the one that a number in [0, 1) falls on."""
    if draw is None:
        return int(np.argmax(logprobs))
    below = np.cumsum(np.exp(logprobs))
    return int(np.searchsorted(below, draw * below[-1], side="right"))
