"""Museums, artists and exhibits."""

from budget_envs.tasks.synthetic_sql.columns import (
    HEIGHT,
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

__all__ = ["MUSEUM"]

MUSEUM = Schema("museum", (
    Table("artists", "artist", "artists", (
        key("artist_id", "artist number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("country", "country", "countries", COUNTRIES[4:12]),
        whole("birth_year", "birth year", 1780, 1960, comparison=TIME,
              over="born after {}", under="born before {}"),
    ), rows=(12, 18), person=True),
    Table("museums", "museum", "museums", (
        key("museum_id", "museum number"),
        label("name", "name", ("City", "Civic", "Modern", "National", "Royal", "State"),
              ("Collection", "Gallery", "Hall", "Museum")),
        category("city", "city", "cities", CITIES[6:13]),
        whole("opened_in", "opening year", 1850, 2010, comparison=TIME,
              over="opened after {}", under="opened before {}"),
        real("ticket_price", "ticket price", 3, 24, 0.5),
    ), rows=(8, 12)),
    Table("artworks", "artwork", "artworks", (
        key("artwork_id", "artwork number"),
        label("title", "title", ("Blue", "Dark", "Great", "Green", "Little", "Old", "Young"),
              ("Boat", "Cloud", "Dancer", "Forest", "Harvest", "Horse", "Storm")),
        reference("artist_id", "artists", "artist", "artwork", "artworks"),
        reference("museum_id", "museums", "museum", "artwork", "artworks"),
        category("medium", "medium", "media",
                 ("collage", "drawing", "oil", "print", "sculpture", "watercolor")),
        whole("made_in", "year of creation", 1800, 2000, comparison=TIME,
              over="made after {}", under="made before {}"),
        whole("height_cm", "height in centimeters", 20, 300, 10, comparison=HEIGHT),
        real("insured_value", "insured value in thousands", 2, 900, 0.5, additive=True),
        category("frame", "frame", "frames", ("gilded", "metal", "wood"), nullable=0.3),
    ), rows=(36, 48)),
    Table("restorations", "restoration", "restorations", (
        key("restoration_id", "restoration number"),
        reference("artwork_id", "artworks", "artwork", "restoration", "restorations"),
        date("started_on", "start date", 200, 2200,
             over="started after {}", under="started before {}"),
        category("method", "method", "methods", ("cleaning", "lining", "retouching", "varnishing")),
        whole("days", "number of days", 3, 60, additive=True,
              over="that took more than {} days", under="that took fewer than {} days"),
        real("cost", "cost in thousands", 0.5, 30, 0.25, additive=True),
    ), rows=(40, 60)),
))  # fmt: skip
