"""A public library."""

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

__all__ = ["LIBRARY"]

_GENRES = ("Biography", "Crime", "Fantasy", "History", "Poetry", "Science", "Travel")
_ADJECTIVES = ("Broken", "Distant", "Golden", "Hidden", "Last", "Quiet", "Red", "Silent", "Winter")
_NOUNS = ("Bridge", "Garden", "Harbor", "Island", "Letter", "Mirror", "Mountain", "River", "Star")

LIBRARY = Schema(
    "library",
    (
        Table(
            "authors",
            "author",
            "authors",
            (
                key("author_id", "author number"),
                label("name", "name", FIRST_NAMES, LAST_NAMES),
                category("country", "country", "countries", COUNTRIES),
                whole("birth_year", "birth year", 1920, 1995, comparison=TIME,
                      over="born after {}", under="born before {}"),
            ),
            rows=(12, 18),
            person=True,
        ),
        Table(
            "books",
            "book",
            "books",
            (
                key("book_id", "book number"),
                label("title", "title", ("The",), _ADJECTIVES, _NOUNS),
                reference("author_id", "authors", "author", "book", "books"),
                category("genre", "genre", "genres", _GENRES),
                whole("pages", "number of pages", 90, 720, 10, additive=True,
                      over="with more than {} pages", under="with fewer than {} pages"),
                whole("publication_year", "publication year", 1970, 2020, comparison=TIME,
                      over="published after {}", under="published before {}"),
                real("price", "price", 5, 48, 0.25, additive=True,
                     over="that cost more than {}", under="that cost less than {}"),
                real("rating", "rating", 1, 5, 0.25, nullable=0.2),
            ),
            rows=(26, 38),
        ),
        Table(
            "members",
            "member",
            "members",
            (
                key("member_id", "member number"),
                label("name", "name", FIRST_NAMES, LAST_NAMES),
                category("city", "city", "cities", CITIES),
                category("status", "status", "statuses", ("adult", "child", "senior", "student")),
                date("joined_on", "joining date", 0, 1800,
                     over="who joined after {}", under="who joined before {}"),
            ),
            rows=(18, 26),
            person=True,
        ),
        Table(
            "loans",
            "loan",
            "loans",
            (
                key("loan_id", "loan number"),
                reference("book_id", "books", "book", "loan", "loans"),
                reference("member_id", "members", "member", "loan", "loans"),
                date("loan_date", "loan date", 1400, 2200,
                     over="made after {}", under="made before {}"),
                date("return_date", "return date", 2200, 2300, nullable=0.25),
                whole("renewals", "number of renewals", 0, 5, additive=True,
                      over="with more than {} renewals", under="with fewer than {} renewals"),
                real("fine", "fine", 0, 12, 0.5, comparison=HEIGHT, additive=True,
                     over="with a fine of more than {}", under="with a fine of less than {}"),
            ),
            rows=(45, 70),
        ),
    ),
)  # fmt: skip
