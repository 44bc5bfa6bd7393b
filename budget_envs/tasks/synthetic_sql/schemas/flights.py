"""Airports, aircraft and flights."""

from budget_envs.tasks.synthetic_sql.columns import (
    HEIGHT,
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
from budget_envs.tasks.synthetic_sql.words import CITIES, COUNTRIES

__all__ = ["FLIGHTS"]

_LETTERS = ("A", "B", "D", "K", "L", "M", "N", "P", "S", "T")

FLIGHTS = Schema("flights", (
    Table("airlines", "airline", "airlines", (
        key("airline_id", "airline number"),
        label("name", "name", ("Alpine", "Blue", "Coastal", "Desert", "Northern", "Pacific",
                               "Polar", "Royal", "Silver"), ("Air", "Airways", "Jet", "Wings")),
        category("country", "country", "countries", COUNTRIES),
        whole("founded_in", "founding year", 1925, 2012, comparison=TIME,
              over="founded after {}", under="founded before {}"),
        whole("fleet_size", "fleet size", 5, 240, 5, additive=True),
    ), rows=(8, 12)),
    Table("airports", "airport", "airports", (
        key("airport_id", "airport number"),
        label("code", "code", _LETTERS, ("A", "E", "O", "U"), _LETTERS, joiner=""),
        category("city", "city", "cities", CITIES[:8]),
        category("climate", "climate", "climates", ("arid", "continental", "mild", "tropical")),
        whole("elevation", "elevation in meters", 0, 2400, 20, comparison=HEIGHT),
        whole("runways", "number of runways", 1, 6, additive=True,
              over="with more than {} runways", under="with fewer than {} runways"),
    ), rows=(14, 20)),
    Table("flights", "flight", "flights", (
        key("flight_id", "flight number"),
        reference("airline_id", "airlines", "airline", "flight", "flights"),
        reference("origin_id", "airports", "origin airport", "departing flight",
                  "departing flights"),
        reference("destination_id", "airports", "destination airport", "arriving flight",
                  "arriving flights"),
        date("flight_date", "flight date", 1500, 1700,
             over="that took place after {}", under="that took place before {}"),
        category("aircraft", "aircraft type", "aircraft types",
                 ("Falcon 9", "Heron 200", "Kestrel 70", "Osprey 3", "Swift 100")),
        whole("distance_km", "distance in kilometers", 200, 6400, 50, additive=True),
        real("fare", "fare", 40, 620, 2.5, additive=True,
             over="with a fare of more than {}", under="with a fare of less than {}"),
        whole("delay_minutes", "delay in minutes", 0, 120, 5, comparison=LENGTH, nullable=0.2),
    ), rows=(50, 75)),
    Table("bookings", "booking", "bookings", (
        key("booking_id", "booking number"),
        reference("flight_id", "flights", "flight", "booking", "bookings"),
        category("cabin", "cabin", "cabins", ("business", "economy", "first", "premium")),
        whole("seats", "number of seats", 1, 6, additive=True,
              over="for more than {} seats", under="for fewer than {} seats"),
        real("paid", "amount paid", 50, 900, 2.5, additive=True),
    ), rows=(45, 65)),
))  # fmt: skip
