"""A farming cooperative."""

from budget_envs.tasks.synthetic_sql.columns import (
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
from budget_envs.tasks.synthetic_sql.words import CITIES, FIRST_NAMES, LAST_NAMES

__all__ = ["FARM"]

FARM = Schema("farm", (
    Table("farmers", "farmer", "farmers", (
        key("farmer_id", "farmer number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("village", "village", "villages", CITIES[8:]),
        whole("joined_in", "joining year", 1985, 2019, comparison=TIME,
              over="who joined after {}", under="who joined before {}"),
    ), rows=(10, 16), person=True),
    Table("fields", "field", "fields", (
        key("field_id", "field number"),
        label("name", "name", ("Far", "High", "Long", "Low", "North", "Old", "South", "Stony"),
              ("Acre", "Bank", "Croft", "Meadow", "Pasture")),
        reference("farmer_id", "farmers", "owner", "field", "fields"),
        category("soil", "soil", "soils", ("chalk", "clay", "loam", "peat", "sand")),
        real("hectares", "area in hectares", 1, 40, 0.5, comparison=SIZE, additive=True,
             over="of more than {} hectares", under="of less than {} hectares"),
        whole("slope", "slope in percent", 0, 30, nullable=0.2),
    ), rows=(20, 28)),
    Table("harvests", "harvest", "harvests", (
        key("harvest_id", "harvest number"),
        reference("field_id", "fields", "field", "harvest", "harvests"),
        category("crop", "crop", "crops",
                 ("Barley", "Beets", "Clover", "Maize", "Oats", "Potatoes", "Wheat")),
        whole("harvest_year", "harvest year", 2012, 2021, comparison=TIME,
              over="brought in after {}", under="brought in before {}"),
        real("tonnes", "yield in tonnes", 2, 120, 0.5, comparison=SIZE, additive=True,
             over="of more than {} tonnes", under="of less than {} tonnes"),
        real("price_per_tonne", "price per tonne", 40, 260, 2.5),
    ), rows=(50, 70)),
    Table("animals", "animal", "animals", (
        key("animal_id", "animal number"),
        label("tag", "ear tag", ("C", "D", "F", "H", "R"), ("1", "2", "3", "4"),
              ("05", "16", "27", "38", "49"), joiner=""),
        reference("farmer_id", "farmers", "owner", "animal", "animals"),
        category("species", "species", "species", ("cow", "goat", "horse", "pig", "sheep")),
        date("born_on", "date of birth", -500, 2000,
             over="born after {}", under="born before {}"),
        real("weight_kg", "weight in kilograms", 30, 700, 2.5, comparison=SIZE, additive=True),
    ), rows=(30, 45)),
    Table("treatments", "treatment", "treatments", (
        key("treatment_id", "treatment number"),
        reference("animal_id", "animals", "animal", "treatment", "treatments"),
        reference("farmer_id", "farmers", "payer", "paid treatment", "paid treatments"),
        date("treated_on", "treatment date", 2000, 2400,
             over="given after {}", under="given before {}"),
        real("cost", "cost", 5, 160, 0.5, additive=True,
             over="that cost more than {}", under="that cost less than {}"),
        whole("doses", "number of doses", 1, 6, additive=True,
              over="with more than {} doses", under="with fewer than {} doses"),
    ), rows=(30, 45)),
))  # fmt: skip
