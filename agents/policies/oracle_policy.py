"""`OraclePolicy`: takes the action that an oracle values most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, get_args

import gymnasium as gym

from budget_envs.errors import OptionError, UnsupportedError, did_you_mean
from budget_envs.evaluation.env_maker import oracle_entry
from budget_envs.evaluation.policy import Action, Conversation, Policy
from budget_envs.oracle import EnumerableOracle, GuidingOracle, load_oracle
from budget_envs.streams import uniform

__all__ = ["OraclePolicy"]

Ties = Literal["soonest", "first", "random"]

_TIE: Final = 1e-12  # values closer than this are the same value, summed in another order


class OraclePolicy(Policy):
    """Plays optimally with the turns that remain, as far as its oracle is exact.

    It reads the environment, and it knows the budget, told or not.

    Args:
        oracle: ``"module:Class"`` of an oracle that lists actions; ``None`` for the environment's
            own.
        ties: Among the best actions, the one that wins ``"soonest"`` where the oracle can tell
            (``soonest_action``), the ``"first"`` in the oracle's order, or one at ``"random"``,
            from the conversation's stream.
    """

    needs_env: ClassVar[bool] = True
    uses_budget: ClassVar[bool] = True

    def __init__(self, oracle: str | None = None, ties: Ties = "soonest") -> None:
        if ties not in get_args(Ties):
            raise OptionError(
                f"ties must be one of {', '.join(get_args(Ties))}, got {ties!r}."
                + did_you_mean(ties, get_args(Ties))
            )
        self.name = "oracle"
        self.settings = {"oracle": oracle, "ties": ties}
        self.oracle = oracle
        self.ties = ties
        self._loaded: dict[str, EnumerableOracle | GuidingOracle] = {}

    def act(self, conversations: Sequence[Conversation]) -> list[Action]:
        """Return a best action of each conversation."""
        return [Action(self._choose(conversation)) for conversation in conversations]

    def check_env(self, env: gym.Env[Any, Any]) -> None:
        """Refuse an environment without an oracle that lists actions, or names a best one.

        Raises:
            UnsupportedError: If there is none.
        """
        self._oracle_of(env)

    def _choose(self, conversation: Conversation) -> str:
        env: gym.Env[Any, Any] = conversation.env  # type: ignore[assignment]  # needs_env
        oracle: Any = self._oracle_of(env)
        if self.ties == "soonest" and hasattr(oracle, "soonest_action"):
            return str(oracle.soonest_action(env))
        if not isinstance(oracle, EnumerableOracle):
            return str(oracle.best_action(env))
        best = _best(oracle.values(env))
        if self.ties != "random":
            return best[0]
        return best[int(uniform(conversation.key, conversation.turn) * len(best))]

    def _oracle_of(self, env: gym.Env[Any, Any]) -> EnumerableOracle | GuidingOracle:
        entry = self.oracle or oracle_entry(env)
        if entry is None:
            raise UnsupportedError(
                f"{env} has no oracle of its own: name one, oracle='module:Class'."
            )
        if entry not in self._loaded:
            oracle = load_oracle(entry)
            if not isinstance(oracle, EnumerableOracle | GuidingOracle):
                raise UnsupportedError(
                    f"the oracle {entry!r} neither lists actions nor names a best one to take."
                )
            self._loaded[entry] = oracle
        return self._loaded[entry]


def _best(values: Mapping[str, float]) -> list[str]:
    highest = max(values.values())
    return [action for action, value in values.items() if value >= highest - _TIE]
