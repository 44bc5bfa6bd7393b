"""A group of hotels."""

from budget_envs.tasks.synthetic_sql.columns import (
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

__all__ = ["HOTEL"]

HOTEL = Schema("hotel", (
    Table("hotels", "hotel", "hotels", (
        key("hotel_id", "hotel number"),
        label("name", "name", ("Bay", "Crown", "Forest", "Grand", "Lake", "Park", "Sun"),
              ("Court", "House", "Inn", "Lodge", "Palace", "Resort")),
        category("city", "city", "cities", CITIES[:7]),
        whole("stars", "number of stars", 1, 5, additive=False,
              over="with more than {} stars", under="with fewer than {} stars"),
        whole("opened_in", "opening year", 1950, 2018, comparison=TIME,
              over="opened after {}", under="opened before {}"),
    ), rows=(10, 14)),
    Table("rooms", "room", "rooms", (
        key("room_id", "room number"),
        reference("hotel_id", "hotels", "hotel", "room", "rooms"),
        category("kind", "kind", "kinds", ("double", "family", "single", "suite")),
        category("outlook", "outlook", "outlooks", ("garden", "mountain", "sea", "street"),
                 nullable=0.2),
        real("price", "price per night", 45, 320, 2.5,
             over="that cost more than {} a night", under="that cost less than {} a night"),
        whole("area", "area in square meters", 12, 80, 2, additive=True),
    ), rows=(34, 48)),
    Table("guests", "guest", "guests", (
        key("guest_id", "guest number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("country", "country", "countries", COUNTRIES[:8]),
        whole("birth_year", "birth year", 1940, 2000, comparison=TIME,
              over="born after {}", under="born before {}"),
        whole("stays", "number of earlier stays", 0, 12, additive=True,
              over="with more than {} earlier stays", under="with fewer than {} earlier stays"),
    ), rows=(20, 28), person=True),
    Table("reservations", "reservation", "reservations", (
        key("reservation_id", "reservation number"),
        reference("room_id", "rooms", "room", "reservation", "reservations"),
        reference("guest_id", "guests", "guest", "reservation", "reservations"),
        date("arrival", "arrival date", 1700, 2100,
             over="with arrival after {}", under="with arrival before {}"),
        whole("nights", "number of nights", 1, 14, additive=True,
              over="for more than {} nights", under="for fewer than {} nights"),
        real("deposit", "deposit", 0, 240, 2.5, additive=True),
        category("channel", "booking channel", "booking channels",
                 ("agency", "desk", "phone", "website")),
    ), rows=(50, 75)),
))  # fmt: skip
