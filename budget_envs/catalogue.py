"""The table of environments and ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from budget_envs.errors import OptionError, did_you_mean

__all__ = ["FAMILIES", "NAMESPACE", "PRESETS", "EnvFamily", "Preset", "family_of"]

NAMESPACE: Final = "budget_envs"


@dataclass(frozen=True)
class EnvFamily:
    """One environment class and what belongs to it, all as entry points (``module:name``).

    Attributes:
        env: The environment class.
        oracle: Its oracle class, or ``None``.
        vector: Its native vector environment class, or ``None``.
    """

    env: str
    oracle: str | None = None
    vector: str | None = None


@dataclass(frozen=True)
class Preset:
    """One registered id.

    Attributes:
        name: The id without namespace and version.
        family: Key of `FAMILIES`.
        turns: The turn budget T_max that the id comes with.
        settings: Keywords of the environment class.
        version: Raised whenever a seed can yield another observation, reward or ending.
    """

    name: str
    family: str
    turns: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0

    @property
    def id(self) -> str:
        """The id for ``gym.make``."""
        return f"{NAMESPACE}/{self.name}-v{self.version}"


FAMILIES: Final[Mapping[str, EnvFamily]] = {
    "frozen_lake": EnvFamily(
        env="budget_envs.envs.frozen_lake.env:FrozenLakeEnv",
        oracle="budget_envs.oracles.frozen_lake:FrozenLakeOracle",
        vector="budget_envs.envs.frozen_lake.vector:FrozenLakeVectorEnv",
    ),
    "deepcoder_mt": EnvFamily(
        env="budget_envs.envs.deepcoder_mt.env:DeepCoderMTEnv",
        oracle="budget_envs.oracles.unit_tests:UnitTestOracle",
    ),
    "intercode_sql": EnvFamily(
        env="budget_envs.envs.intercode_sql.env:InterCodeSQLEnv",
        oracle="budget_envs.oracles.sql:SqlOracle",
    ),
    "tool_use": EnvFamily(
        env="budget_envs.envs.tool_use.env:ToolUseEnv",
        oracle="budget_envs.oracles.function_calls:FunctionCallOracle",
    ),
    "bfcl": EnvFamily(
        env="budget_envs.envs.bfcl.env:BFCLEnv",
        oracle="budget_envs.oracles.function_calls:FunctionCallOracle",
    ),
}

PRESETS: Final = (
    Preset("FrozenLake", "frozen_lake", 10),
    Preset("FrozenLake-4x4", "frozen_lake", 10, {"size": 4}),
    Preset("FrozenLake-8x8", "frozen_lake", 20, {"size": 8}),
    Preset("FrozenLake-Slippery", "frozen_lake", 10, {"success_rate": 1 / 3}),
    Preset("FrozenLake-MildlySlippery", "frozen_lake", 10, {"success_rate": 0.8}),
    Preset("FrozenLake-Mixed", "frozen_lake", 20, {"size": [4, 8]}),
    Preset("DeepCoderMT", "deepcoder_mt", 10),
    Preset("InterCodeSQL", "intercode_sql", 10),
    Preset("ToolUse", "tool_use", 30),
    Preset("BFCL", "bfcl", 30),
    Preset("BFCL-MissFunc", "bfcl", 30, {"category": "miss_func"}),
    Preset("BFCL-MissParam", "bfcl", 30, {"category": "miss_param"}),
    Preset("BFCL-LongContext", "bfcl", 30, {"category": "long_context"}),
)


def family_of(family: str | Mapping[str, Any]) -> EnvFamily:
    """Return what belongs to an environment.

    Args:
        family: A key of `FAMILIES`, or the fields of an `EnvFamily` by name, which is what the spec
            of an id holds that another package registered.

    Raises:
        OptionError: If there is no such family, or the fields are not those of one.
    """
    if isinstance(family, str):
        if family not in FAMILIES:
            raise OptionError(
                f"unknown environment family {family!r}; known are {', '.join(FAMILIES)}."
                + did_you_mean(family, FAMILIES)
            )
        return FAMILIES[family]
    try:
        return EnvFamily(**family)
    except TypeError as error:
        raise OptionError(
            f"family must be a name, or a mapping with 'env' and optionally 'oracle' and "
            f"'vector', got {family!r}."
        ) from error
