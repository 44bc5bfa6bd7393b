"""The schemas of the set. Each belongs to one split, so that no split knows another's tables."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.schema import Schema
from budget_envs.tasks.synthetic_sql.schemas.bakery import BAKERY
from budget_envs.tasks.synthetic_sql.schemas.cinema import CINEMA
from budget_envs.tasks.synthetic_sql.schemas.clinic import CLINIC
from budget_envs.tasks.synthetic_sql.schemas.farm import FARM
from budget_envs.tasks.synthetic_sql.schemas.flights import FLIGHTS
from budget_envs.tasks.synthetic_sql.schemas.football import FOOTBALL
from budget_envs.tasks.synthetic_sql.schemas.hotel import HOTEL
from budget_envs.tasks.synthetic_sql.schemas.library import LIBRARY
from budget_envs.tasks.synthetic_sql.schemas.museum import MUSEUM
from budget_envs.tasks.synthetic_sql.schemas.school import SCHOOL
from budget_envs.tasks.synthetic_sql.schemas.shop import SHOP

__all__ = ["SCHEMAS", "SCHEMAS_OF"]

SCHEMAS_OF: Final[dict[str, tuple[Schema, ...]]] = {
    "train": (LIBRARY, CLINIC, FLIGHTS, SHOP, SCHOOL, FARM, HOTEL),
    "validation": (CINEMA, BAKERY),
    "test": (MUSEUM, FOOTBALL),
}
"""Split -> its schemas."""

SCHEMAS: Final[dict[str, Schema]] = {
    schema.name: schema for schemas in SCHEMAS_OF.values() for schema in schemas
}
"""Name -> schema."""
