"""A medical practice."""

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
from budget_envs.tasks.synthetic_sql.words import CITIES, FIRST_NAMES, LAST_NAMES

__all__ = ["CLINIC"]

_DRUGS_1 = ("Aldo", "Beta", "Cori", "Dexa", "Lipo", "Neuro", "Vita")
_DRUGS_2 = ("cillin", "dine", "fen", "lax", "mycin", "zol")

CLINIC = Schema("clinic", (
    Table("doctors", "doctor", "doctors", (
        key("doctor_id", "doctor number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("specialty", "specialty", "specialties",
                 ("Cardiology", "Dermatology", "Neurology", "Pediatrics", "Surgery")),
        whole("hired_in", "year of hiring", 1995, 2020, comparison=TIME,
              over="hired after {}", under="hired before {}"),
        real("hourly_fee", "hourly fee", 60, 180, 2.5),
    ), rows=(10, 14), person=True),
    Table("patients", "patient", "patients", (
        key("patient_id", "patient number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        date("born_on", "date of birth", -20000, -1000,
             over="born after {}", under="born before {}"),
        category("city", "home city", "home cities", CITIES),
        category("blood_type", "blood type", "blood types",
                 ("A", "AB", "B", "O"), nullable=0.15),
        real("weight_kg", "weight in kilograms", 40, 110, 0.5, comparison=SIZE),
    ), rows=(22, 30), person=True),
    Table("visits", "visit", "visits", (
        key("visit_id", "visit number"),
        reference("patient_id", "patients", "patient", "visit", "visits"),
        reference("doctor_id", "doctors", "doctor", "visit", "visits"),
        date("visit_date", "visit date", 1000, 2000,
             over="that took place after {}", under="that took place before {}"),
        category("reason", "reason", "reasons",
                 ("Checkup", "Cough", "Fever", "Headache", "Injury", "Vaccination")),
        whole("minutes", "duration in minutes", 10, 60, 5, comparison=LENGTH, additive=True,
              over="that took more than {} minutes", under="that took less than {} minutes"),
        real("temperature", "body temperature", 36, 40, 0.25, nullable=0.3),
    ), rows=(45, 70)),
    Table("prescriptions", "prescription", "prescriptions", (
        key("prescription_id", "prescription number"),
        reference("visit_id", "visits", "visit", "prescription", "prescriptions"),
        category("drug", "drug", "drugs", tuple(a + b for a in _DRUGS_1 for b in _DRUGS_2)[::5]),
        whole("days", "number of days", 2, 30, additive=True,
              over="for more than {} days", under="for fewer than {} days"),
        real("cost", "cost", 3, 80, 0.25, additive=True,
             over="that cost more than {}", under="that cost less than {}"),
    ), rows=(30, 50)),
))  # fmt: skip
