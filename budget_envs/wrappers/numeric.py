"""`DiscreteActions` and `NumericObservation`: numbers for libraries that know no text."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from budget_envs.budget import as_limit
from budget_envs.errors import OptionError
from budget_envs.wrappers.base import OuterWrapper, has_text, layers

__all__ = ["DiscreteActions", "NumericObservation"]


class DiscreteActions(OuterWrapper):
    """Takes action numbers, and hands on the environment's action texts.

    Number i stands for element i of the environment's ``action_names``.

    Args:
        env: An environment with the attribute ``action_names``, a tuple of texts.

    Attributes:
        action_names: What each number stands for.

    Raises:
        OptionError: If the environment does not name its actions.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        names = getattr(env.unwrapped, "action_names", None)
        if not names:
            raise OptionError(
                f"{env.unwrapped} has no action_names: its actions are free text and have no "
                "numbers. Step it with text (numeric=False)."
            )
        self.action_names: tuple[str, ...] = tuple(names)
        self.action_space = gym.spaces.Discrete(len(self.action_names))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take the action of a number.

        Args:
            action: An integer of Python or NumPy, in 0..n-1.

        Raises:
            OptionError: If it is not.
        """
        try:
            number = action.__index__()
            if number < 0:
                raise IndexError
            name = self.action_names[number]
        except (AttributeError, TypeError, IndexError):
            raise OptionError(
                f"expected an action number in 0..{len(self.action_names) - 1}, standing for "
                f"{', '.join(self.action_names)}, got {action!r}."
            ) from None
        return self.env.step(name)


class NumericObservation(OuterWrapper):
    """Gives observations as arrays; the text stays in ``info["observation"]``.

    An environment with ``numeric_space`` (a ``Box``) and ``numeric_observation()`` describes its
    state itself. Any other text is given as its UTF-8 bytes, padded with zeros to ``max_bytes``,
    and ``info["observation_cut"]`` says whether it was longer.

    Args:
        env: A text environment.
        max_bytes: Length of the observation where the text's bytes are given.

    Raises:
        OptionError: If the observations are not text, or if injected faults change texts that the
            array would not show.
    """

    def __init__(self, env: gym.Env[Any, Any], *, max_bytes: int = 2048) -> None:
        max_bytes = as_limit(max_bytes, "max_bytes")
        gym.utils.RecordConstructorArgs.__init__(self, max_bytes=max_bytes)
        super().__init__(env)
        self._describes_itself = hasattr(env.unwrapped, "numeric_observation")
        self.max_bytes = max_bytes
        if self._describes_itself:
            _refuse_text_faults(env)
            self.observation_space = env.unwrapped.numeric_space  # type: ignore[attr-defined]
            return
        if not has_text(env.observation_space):
            raise OptionError(
                f"NumericObservation turns text into numbers; observations of {env} are in "
                f"{env.observation_space}."
            )
        self.observation_space = gym.spaces.Box(0, 255, (max_bytes,), np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start an episode."""
        text, info = self.env.reset(seed=seed, options=options)
        return self._told(text, info)

    def step(self, action: Any) -> tuple[NDArray[Any], Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        text, reward, terminated, truncated, info = self.env.step(action)
        observation, info = self._told(text, info)
        return observation, reward, terminated, truncated, info

    def numbers(self, text: str) -> NDArray[Any]:
        """Return the array for the state that the environment is in.

        Args:
            text: The newest observation, from which the array is made where the environment does
                not describe itself.
        """
        if self._describes_itself:
            return self.env.unwrapped.numeric_observation()  # type: ignore[attr-defined, no-any-return]
        return self._as_bytes(text)[0]

    def _told(self, text: str, info: dict[str, Any]) -> tuple[NDArray[Any], dict[str, Any]]:
        if self._describes_itself:
            return self.numbers(text), {**info, "observation": text}
        numbers, is_cut = self._as_bytes(text)
        return numbers, {**info, "observation": text, "observation_cut": is_cut}

    def _as_bytes(self, text: str) -> tuple[NDArray[np.uint8], bool]:
        encoded = text.encode("utf-8", "surrogatepass")
        numbers = np.zeros(self.max_bytes, np.uint8)
        kept = np.frombuffer(encoded, np.uint8, min(len(encoded), self.max_bytes))
        numbers[: len(kept)] = kept
        return numbers, len(encoded) > self.max_bytes


def _refuse_text_faults(env: gym.Env[Any, Any]) -> None:
    for layer in layers(env):
        faults = getattr(layer, "text_faults", ())
        if faults:
            raise OptionError(
                f"the faults {', '.join(faults)} change the text, which the numbers of "
                f"{env.unwrapped} do not come from: use kind='wrong_action', or text observations."
            )
