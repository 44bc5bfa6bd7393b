"""Names that several schemas share. ASCII, one capital a word, so that engines sort them alike."""

from __future__ import annotations

from typing import Final

__all__ = ["CITIES", "COUNTRIES", "FIRST_NAMES", "LAST_NAMES", "STREETS"]

FIRST_NAMES: Final = (
    "Ada", "Amir", "Bela", "Carla", "Chen", "Dario", "Elif", "Emil", "Fatima", "Goran", "Hana",
    "Ivan", "Jana", "Kofi", "Lena", "Luis", "Maya", "Nadia", "Noah", "Olga", "Pedro", "Quinn",
    "Rosa", "Samir", "Tara", "Uma", "Viktor", "Wanda", "Yusuf", "Zoe",
)  # fmt: skip
LAST_NAMES: Final = (
    "Abara", "Berg", "Castro", "Dahl", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito", "Jansen",
    "Kovac", "Lopez", "Moreau", "Novak", "Okafor", "Petrov", "Quist", "Rossi", "Sato", "Tanaka",
    "Ulrich", "Varga", "Weber", "Yilmaz", "Zeman",
)  # fmt: skip
CITIES: Final = (
    "Arden", "Brook", "Calder", "Dover", "Elmwood", "Fairview", "Granby", "Holton", "Kingsley",
    "Lakeside", "Milford", "Norwood", "Oakdale", "Preston", "Redhill", "Stanton", "Thornbury",
    "Westport",
)  # fmt: skip
COUNTRIES: Final = (
    "Brazil", "Canada", "Egypt", "France", "Ghana", "India", "Italy", "Japan", "Kenya", "Mexico",
    "Norway", "Peru", "Poland", "Spain", "Turkey", "Vietnam",
)  # fmt: skip
STREETS: Final = (
    "Ash", "Birch", "Cedar", "Chapel", "Church", "Garden", "Harbor", "High", "Hill", "Maple",
    "Market", "Mill", "Park", "River", "School", "Station",
)  # fmt: skip
