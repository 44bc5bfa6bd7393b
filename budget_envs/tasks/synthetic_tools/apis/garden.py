"""A garden: beds with plants, water, and a clock that waters them."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import (
    Refusal,
    flag,
    integer,
    number,
    text,
    tidy,
)

__all__ = ["GARDEN"]

_BEDS: Final = ("north", "south", "pond", "fence", "wall", "gate", "shed", "hill", "path", "well")
_PLANTS: Final = (
    "beans", "roses", "carrots", "tulips", "onions", "herbs", "peas", "lilies",
    "radishes", "asters", "leeks", "poppies",
)  # fmt: skip

_BED: Final = text("Name of a bed")


def _start(draw: Draws, level: int) -> State:
    names = draw.sample(_BEDS[:7], 5) if level == 1 else draw.sample(_BEDS, 8)
    plants = _PLANTS[:8] if level == 1 else _PLANTS
    return {
        name: {
            "plant": draw.choice(plants) if draw.chance(0.6) else None,
            "litres": draw.integer(1, 20),
            "hour": draw.integer(5, 22) if draw.chance(0.4) else None,
            "covered": draw.chance(0.3),
        }
        for name in sorted(names)
    }


# Tools.


def _look_at(state: State, bed: str) -> Result:
    return {"bed": bed, **_found(state, bed)}


def _driest_bed(state: State) -> Result:
    bed = min(sorted(state), key=lambda name: state[name]["litres"])
    return {"bed": bed, "litres": state[bed]["litres"]}


def _sow(state: State, bed: str, plant: str) -> Result:
    found = _found(state, bed)
    if found["plant"] is not None:
        raise Refusal(f"The bed has {found['plant'][:40]} already.")
    found["plant"] = plant
    return _look_at(state, bed)


def _clear_bed(state: State, bed: str) -> Result:
    found = _found(state, bed)
    if found["plant"] is None:
        raise Refusal("The bed is empty.")
    found["plant"] = None
    return _look_at(state, bed)


def _water(state: State, bed: str, litres: float) -> Result:
    found = _found(state, bed)
    if found["covered"]:
        raise Refusal("The bed is covered.")
    found["litres"] = tidy(found["litres"] + litres)
    return _look_at(state, bed)


def _set_timer(state: State, bed: str, hour: int) -> Result:
    _found(state, bed)["hour"] = hour
    return _look_at(state, bed)


def _cover_bed(state: State, bed: str, covered: bool) -> Result:
    _found(state, bed)["covered"] = covered
    return _look_at(state, bed)


def _found(state: State, bed: str) -> State:
    if bed not in state:
        raise Refusal("There is no such bed.")
    found: State = state[bed]
    return found


# Requests.


def _ask_bed(scene: Scene) -> Request:
    bed = scene.one_of(scene.state)
    return Request(
        says=(
            f"What grows in the {bed} bed?",
            f"Look at the {bed} bed.",
            f"How is the {bed} bed doing?",
        ),
        calls=(call("look_at", bed=bed),),
        focus=Focus("plant", (bed, scene.state[bed]["plant"])),
    )


def _ask_driest(scene: Scene) -> Request:
    litres = sorted(bed["litres"] for bed in scene.state.values())
    if litres[0] == litres[1]:
        raise DeadEnd
    bed = min(scene.state, key=lambda name: scene.state[name]["litres"])
    return Request(
        says=("Which bed is the driest?", "Which bed has the least water?", "What is driest?"),
        calls=(call("driest_bed"),),
        withheld="driest_bed",
        focus=Focus("bed", (bed,)),
    )


def _sow_one(scene: Scene) -> Request:
    bed = scene.one_of(name for name, each in scene.state.items() if each["plant"] is None)
    plant = scene.one_of(_PLANTS[:8] if scene.level == 1 else _PLANTS)
    return Request(
        says=(
            f"Sow {plant} in the {bed} bed.",
            f"Put {plant} in the {bed} bed.",
            f"The {bed} bed should get {plant}.",
        ),
        calls=(call("sow", bed=bed, plant=plant),),
        vague=(f"Sow something in the {bed} bed.", f"Put a plant in the {bed} bed."),
        details=(f"Sow {plant}.", f"I want {plant}."),
        withheld="sow",
    )


def _clear(scene: Scene) -> Request:
    planted = [name for name, each in scene.state.items() if each["plant"] is not None]
    bed = scene.one_of(planted)
    return Request(
        says=(
            f"Clear the {bed} bed.",
            f"Empty the {bed} bed.",
            f"Dig up what grows in the {bed} bed.",
        ),
        calls=(call("clear_bed", bed=bed),),
        vague=("Clear a bed.", "Empty one bed.") if len(planted) > 1 else (),
        details=(f"The {bed} bed.", f"I want the {bed} one."),
        withheld="clear_bed",
    )


def _water_one(scene: Scene) -> Request:
    bed = scene.one_of(name for name, each in scene.state.items() if not each["covered"])
    litres = _amount(scene)
    return Request(
        says=(
            f"Put {litres} litres on the {bed} bed.",
            f"Water the {bed} bed with {litres} litres.",
            f"The {bed} bed should get {litres} more litres.",
        ),
        calls=(call("water", bed=bed, litres=litres),),
        vague=(f"Water the {bed} bed.", f"Put water on the {bed} bed."),
        details=(f"{litres} litres.", f"I want {litres} litres."),
        withheld="water",
    )


def _time(scene: Scene) -> Request:
    bed = scene.one_of(scene.state)
    hour = scene.integer(5, 22, other_than=scene.state[bed]["hour"])
    return Request(
        says=(
            f"Set the timer of the {bed} bed to {hour}.",
            f"Water for the {bed} bed should start at {hour}; set the timer.",
            f"Timer for the {bed} bed: {hour}.",
        ),
        calls=(call("set_timer", bed=bed, hour=hour),),
        vague=(f"Set the timer of the {bed} bed.", f"Set a timer for the {bed} bed."),
        details=(f"Set it to {hour}.", f"To {hour}."),
        withheld="set_timer",
    )


def _cover(scene: Scene) -> Request:
    bed = scene.one_of(scene.state)
    covered = not scene.state[bed]["covered"]
    word = "Cover" if covered else "Uncover"
    return Request(
        says=(
            f"{word} the {bed} bed.",
            f"{word} the bed {bed}.",
            f"The {bed} bed should be {word.lower()}ed.",
        ),
        calls=(call("cover_bed", bed=bed, covered=covered),),
        withheld="cover_bed",
    )


def _water_driest(scene: Scene) -> Request:
    (bed,) = scene.focus("bed")
    if scene.state[bed]["covered"]:
        raise DeadEnd
    litres = _amount(scene)
    return Request(
        says=(f"Put {litres} litres on it.", f"Water that bed with {litres} litres."),
        calls=(call("water", bed=bed, litres=litres),),
        vague=("Water it.", "Put water on that bed."),
        details=(f"{litres} litres.", f"I want {litres} litres."),
        withheld="water",
    )


def _sow_alike(scene: Scene) -> Request:
    like, plant = scene.focus("plant")
    if plant is None:
        raise DeadEnd
    bed = scene.one_of(
        name for name, each in scene.state.items() if name != like and each["plant"] is None
    )
    return Request(
        says=(f"Sow the same in the {bed} bed.", f"The {bed} bed should get that plant too."),
        calls=(call("sow", bed=bed, plant=plant),),
        withheld="sow",
    )


def _amount(scene: Scene) -> float:
    litres = scene.integer(2, 20)
    return litres + 0.5 if scene.level > 1 and scene.draw.chance(0.3) else litres


GARDEN: Final = Api(
    "garden",
    _start,
    methods=(
        query(_look_at, "Tell all about a bed.", bed=_BED),
        query(_driest_bed, "Tell the bed with the least water."),
        action(_sow, "Sow a plant in an empty bed.", bed=_BED, plant=text()),
        action(_clear_bed, "Dig up the plant of a bed.", bed=_BED),
        action(_water, "Water a bed.", bed=_BED, litres=number(0.5, 100)),
        action(
            _set_timer, "Set the hour at which a bed gets water.", bed=_BED, hour=integer(0, 23)
        ),
        action(_cover_bed, "Cover or uncover a bed.", bed=_BED, covered=flag()),
    ),
    kinds=(
        Kind(_ask_bed),
        Kind(_ask_driest),
        Kind(_sow_one),
        Kind(_clear),
        Kind(_water_one),
        Kind(_time),
        Kind(_cover),
        Kind(_water_driest, follows="bed"),
        Kind(_sow_alike, level=2, follows="plant"),
    ),
)
