"""A bakery with branches."""

from budget_envs.tasks.synthetic_sql.columns import (
    LENGTH,
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
from budget_envs.tasks.synthetic_sql.words import CITIES, FIRST_NAMES, LAST_NAMES, STREETS

__all__ = ["BAKERY"]

BAKERY = Schema("bakery", (
    Table("branches", "branch", "branches", (
        key("branch_id", "branch number"),
        label("street", "street", STREETS, ("Lane", "Road", "Street")),
        category("city", "city", "cities", CITIES[:5]),
        whole("opened_in", "opening year", 1980, 2019, comparison=TIME,
              over="opened after {}", under="opened before {}"),
        real("rent", "monthly rent", 400, 2400, 50),
    ), rows=(10, 14)),
    Table("bakers", "baker", "bakers", (
        key("baker_id", "baker number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        reference("branch_id", "branches", "branch", "baker", "bakers"),
        category("diploma", "diploma", "diplomas", ("basic", "master", "none", "pastry")),
        real("wage", "hourly wage", 11, 32, 0.25),
        whole("years", "number of years of experience", 0, 30, additive=True,
              over="with more than {} years of experience",
              under="with fewer than {} years of experience"),
    ), rows=(20, 28), person=True),
    Table("recipes", "recipe", "recipes", (
        key("recipe_id", "recipe number"),
        label("name", "name", ("Almond", "Butter", "Cherry", "Honey", "Lemon", "Nut", "Rye"),
              ("Bread", "Bun", "Cake", "Pie", "Roll", "Tart")),
        category("family", "family", "families", ("bread", "cake", "pastry", "seasonal")),
        real("price", "price", 1, 24, 0.25, additive=True,
             over="that cost more than {}", under="that cost less than {}"),
        whole("calories", "number of calories", 120, 620, 10, additive=True,
              over="with more than {} calories", under="with fewer than {} calories"),
        whole("minutes", "baking time in minutes", 15, 90, 5, comparison=LENGTH, nullable=0.2),
    ), rows=(18, 26)),
    Table("batches", "batch", "batches", (
        key("batch_id", "batch number"),
        reference("recipe_id", "recipes", "recipe", "batch", "batches"),
        reference("baker_id", "bakers", "baker", "batch", "batches"),
        date("baked_on", "baking date", 2000, 2200,
             over="baked after {}", under="baked before {}"),
        whole("pieces", "number of pieces", 10, 120, 5, additive=True,
              over="of more than {} pieces", under="of fewer than {} pieces"),
        real("flour_kg", "amount of flour in kilograms", 1, 30, 0.5, comparison=SIZE,
             additive=True),
        category("shift", "shift", "shifts", ("day", "evening", "night")),
    ), rows=(50, 75)),
))  # fmt: skip
