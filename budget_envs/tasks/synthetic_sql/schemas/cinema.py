"""Films and the cinemas that show them."""

from budget_envs.tasks.synthetic_sql.columns import (
    LENGTH,
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

__all__ = ["CINEMA"]

CINEMA = Schema("cinema", (
    Table("directors", "director", "directors", (
        key("director_id", "director number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("country", "country", "countries", COUNTRIES[2:9]),
        whole("birth_year", "birth year", 1930, 1990, comparison=TIME,
              over="born after {}", under="born before {}"),
    ), rows=(10, 14), person=True),
    Table("films", "film", "films", (
        key("film_id", "film number"),
        label("title", "title", ("Black", "Cold", "Lost", "New", "Paper", "Secret", "Velvet"),
              ("City", "Dream", "Empire", "Night", "Road", "Summer", "Train")),
        reference("director_id", "directors", "director", "film", "films"),
        category("genre", "genre", "genres",
                 ("Comedy", "Drama", "Horror", "Musical", "Thriller", "Western")),
        whole("minutes", "length in minutes", 75, 190, 5, comparison=LENGTH, additive=True,
              over="of more than {} minutes", under="of less than {} minutes"),
        whole("release_year", "release year", 1975, 2020, comparison=TIME,
              over="released after {}", under="released before {}"),
        real("budget", "budget in millions", 1, 90, 0.5, additive=True),
        real("rating", "rating", 1, 10, 0.25, nullable=0.15),
    ), rows=(24, 34)),
    Table("theaters", "theater", "theaters", (
        key("theater_id", "theater number"),
        label("name", "name", ("Apollo", "Astor", "Capitol", "Luxor", "Odeon", "Rex", "Rialto"),
              ("Center", "One", "Plaza", "Two")),
        category("city", "city", "cities", CITIES[4:10]),
        whole("seats", "number of seats", 60, 480, 20, additive=True,
              over="with more than {} seats", under="with fewer than {} seats"),
    ), rows=(10, 14)),
    Table("screenings", "screening", "screenings", (
        key("screening_id", "screening number"),
        reference("film_id", "films", "film", "screening", "screenings"),
        reference("theater_id", "theaters", "theater", "screening", "screenings"),
        date("screening_date", "screening date", 1900, 2100,
             over="that took place after {}", under="that took place before {}"),
        category("format", "format", "formats", ("analog", "digital", "giant screen", "stereo")),
        whole("tickets", "number of tickets sold", 5, 200, 5, additive=True,
              over="with more than {} tickets sold", under="with fewer than {} tickets sold"),
        real("ticket_price", "ticket price", 4, 18, 0.5),
    ), rows=(50, 75)),
))  # fmt: skip
