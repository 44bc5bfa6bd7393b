"""A football league."""

from budget_envs.tasks.synthetic_sql.columns import (
    HEIGHT,
    SIZE,
    TIME,
    category,
    date,
    key,
    label,
    real,
    reference,
    whole,
)
from budget_envs.tasks.synthetic_sql.schema import Schema, Table
from budget_envs.tasks.synthetic_sql.words import CITIES, COUNTRIES, FIRST_NAMES, LAST_NAMES

__all__ = ["FOOTBALL"]

FOOTBALL = Schema("football", (
    Table("teams", "team", "teams", (
        key("team_id", "team number"),
        label("name", "name", CITIES, ("Athletic", "City", "Rovers", "United", "Wanderers")),
        category("region", "region", "regions", ("Coast", "East", "North", "South", "West")),
        whole("founded_in", "founding year", 1880, 1990, comparison=TIME,
              over="founded after {}", under="founded before {}"),
        whole("capacity", "stadium capacity", 4000, 60000, 500, additive=True),
    ), rows=(10, 14)),
    Table("players", "player", "players", (
        key("player_id", "player number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        reference("team_id", "teams", "team", "player", "players"),
        category("field_role", "field position", "field positions",
                 ("defender", "forward", "goalkeeper", "midfielder")),
        category("nationality", "nationality", "nationalities", COUNTRIES[:8]),
        date("born_on", "date of birth", -11000, -4400,
             over="born after {}", under="born before {}"),
        real("height_cm", "height in centimeters", 165, 201, 0.5, comparison=HEIGHT),
        real("market_value", "market value in millions", 0.25, 40, 0.25, additive=True,
             nullable=0.15),
    ), rows=(40, 56), person=True),
    Table("matches", "match", "matches", (
        key("match_id", "match number"),
        reference("home_team_id", "teams", "home team", "home match", "home matches"),
        reference("away_team_id", "teams", "away team", "away match", "away matches"),
        date("played_on", "match date", 1800, 2100,
             over="played after {}", under="played before {}"),
        whole("home_goals", "number of home goals", 0, 5, additive=True,
              over="with more than {} home goals", under="with fewer than {} home goals"),
        whole("away_goals", "number of away goals", 0, 5, additive=True,
              over="with more than {} away goals", under="with fewer than {} away goals"),
        whole("attendance", "attendance", 1000, 48000, 500, additive=True),
        category("weather", "weather", "kinds of weather", ("cloudy", "fog", "rain", "sun")),
    ), rows=(40, 60)),
    Table("goals", "goal", "goals", (
        key("goal_id", "goal number"),
        reference("match_id", "matches", "match", "goal", "goals"),
        reference("player_id", "players", "scorer", "goal", "goals"),
        whole("goal_minute", "minute", 1, 90, comparison=TIME,
              over="scored after minute {}", under="scored before minute {}"),
        category("manner", "manner", "manners", ("foot", "free kick", "header", "penalty")),
        real("distance_m", "distance in meters", 1, 35, 0.5, comparison=SIZE),
    ), rows=(50, 75)),
))  # fmt: skip
