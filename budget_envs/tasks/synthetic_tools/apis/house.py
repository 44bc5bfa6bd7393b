"""A house: heating and lamps in its rooms, and doors with a secret code."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, choice, flag, integer, number, text

__all__ = ["HOUSE"]

_ROOMS: Final = (
    "kitchen", "hall", "attic", "study", "cellar", "bathroom", "porch", "bedroom",
    "library", "laundry", "nursery", "workshop",
)  # fmt: skip
_DOORS: Final = ("front", "back", "side", "garage")

_ROOM: Final = text()
_DEGREES: Final = number(5, 30)
_DOOR: Final = choice(*_DOORS)


def _start(draw: Draws, level: int) -> State:
    rooms = draw.sample(_ROOMS[:8], 6) if level == 1 else draw.sample(_ROOMS, 9)
    return {
        "rooms": {
            room: {"degrees": draw.integer(8, 24), "lamp": draw.chance(0.5)}
            for room in sorted(rooms)
        },
        "doors": {door: draw.chance(0.5) for door in _DOORS},  # whether it is locked
        "code": draw.integer(1000, 9999),
    }


# Tools.


def _read_room(state: State, room: str) -> Result:
    return {"room": room, **_found(state, room)}


def _warmest_room(state: State) -> Result:
    rooms = state["rooms"]
    room = max(sorted(rooms), key=lambda name: rooms[name]["degrees"])
    return {"room": room, "degrees": rooms[room]["degrees"]}


def _set_heat(state: State, room: str, degrees: float) -> Result:
    _found(state, room)["degrees"] = degrees
    return _read_room(state, room)


def _set_lamp(state: State, room: str, on: bool) -> Result:
    _found(state, room)["lamp"] = on
    return _read_room(state, room)


def _check_door(state: State, door: str) -> Result:
    return {"door": door, "locked": state["doors"][door]}


def _lock_door(state: State, door: str) -> Result:
    state["doors"][door] = True
    return _check_door(state, door)


def _unlock_door(state: State, door: str, code: int) -> Result:
    if code != state["code"]:
        raise Refusal("The code is wrong.")
    state["doors"][door] = False
    return _check_door(state, door)


def _found(state: State, room: str) -> State:
    if room not in state["rooms"]:
        raise Refusal("There is no such room.")
    found: State = state["rooms"][room]
    return found


# Requests.


def _ask_room(scene: Scene) -> Request:
    room = scene.one_of(scene.state["rooms"])
    return Request(
        says=(
            f"How warm is the {room}?",
            f"Is the lamp on in the {room}?",
            f"How are things in the {room}, heat and lamp?",
        ),
        calls=(call("read_room", room=room),),
        focus=Focus("warmth", (room, scene.state["rooms"][room]["degrees"])),
    )


def _ask_warmest(scene: Scene) -> Request:
    rooms = scene.state["rooms"]
    warmth = sorted(rooms[room]["degrees"] for room in rooms)
    if warmth[-1] == warmth[-2]:
        raise DeadEnd
    room = max(rooms, key=lambda name: rooms[name]["degrees"])
    return Request(
        says=(
            "Which room is the warmest?",
            "Where is it warmest?",
            "In which room is the heat turned up most?",
        ),
        calls=(call("warmest_room"),),
        withheld="warmest_room",
        focus=Focus("room", (room,)),
    )


def _ask_door(scene: Scene) -> Request:
    door = scene.one_of(_DOORS)
    return Request(
        says=(
            f"Is the {door} door locked?",
            f"Check the {door} door.",
            f"Did I lock the {door} door?",
        ),
        calls=(call("check_door", door=door),),
        withheld="check_door",
    )


def _heat(scene: Scene) -> Request:
    room = scene.one_of(scene.state["rooms"])
    degrees = _other_degrees(scene, room)
    return Request(
        says=(
            f"Heat the {room} to {degrees} degrees.",
            f"Make it {degrees} degrees in the {room}.",
            f"I want {degrees} degrees in the {room}.",
        ),
        calls=(call("set_heat", room=room, degrees=degrees),),
        vague=(f"Change the heat in the {room}.", f"Make it pleasant in the {room}."),
        details=(f"Make it {degrees} degrees.", f"{degrees} degrees."),
        withheld="set_heat",
    )


def _lamp(scene: Scene) -> Request:
    room = scene.one_of(scene.state["rooms"])
    on = not scene.state["rooms"][room]["lamp"]
    word = "on" if on else "off"
    return Request(
        says=(
            f"Turn the lamp {word} in the {room}.",
            f"Turn {word} the lamp in the {room}.",
            f"Lamp {word} in the {room}, please.",
        ),
        calls=(call("set_lamp", room=room, on=on),),
        vague=(f"Turn a lamp {word}.", f"Turn {word} one lamp."),
        details=(f"In the {room}.", f"The lamp in the {room}."),
        withheld="set_lamp",
    )


def _lock(scene: Scene) -> Request:
    unlocked = [name for name in _DOORS if not scene.state["doors"][name]]
    door = scene.one_of(unlocked)
    return Request(
        says=(
            f"Lock the {door} door.",
            f"The {door} door must be locked.",
            f"Lock up: {door} door.",
        ),
        calls=(call("lock_door", door=door),),
        vague=("Lock a door.", "Lock one of the doors.") if len(unlocked) > 1 else (),
        details=(f"The {door} door.", f"Lock the {door} one."),
        withheld="lock_door",
    )


def _unlock(scene: Scene) -> Request:
    door = scene.one_of(name for name in _DOORS if scene.state["doors"][name])
    code = scene.state["code"]
    return Request(
        says=(
            f"Unlock the {door} door with the code {code}.",
            f"Open up the {door} door, the code is {code}.",
        ),
        calls=(call("unlock_door", door=door, code=code),),
        vague=(f"Unlock the {door} door.", f"Open up the {door} door."),
        details=(f"The code is {code}.", f"{code} is the code."),
        withheld="unlock_door",
    )


def _two_lamps(scene: Scene) -> Request:
    rooms, on = scene.state["rooms"], scene.draw.chance(0.5)
    first, second = scene.two_of(room for room in rooms if rooms[room]["lamp"] != on)
    word = "on" if on else "off"
    return Request(
        says=(
            f"Turn the lamps {word} in the {first} and in the {second}.",
            f"Lamps {word} in {first} and {second}, please.",
        ),
        calls=(call("set_lamp", room=first, on=on), call("set_lamp", room=second, on=on)),
        withheld="set_lamp",
    )


def _heat_there(scene: Scene) -> Request:
    (room,) = scene.focus("room")
    degrees = _other_degrees(scene, room)
    return Request(
        says=(f"Make it {degrees} degrees there.", f"Heat that room to {degrees} degrees."),
        calls=(call("set_heat", room=room, degrees=degrees),),
        vague=("Change the heat there.", "Make that room pleasant."),
        details=(f"Make it {degrees} degrees.", f"{degrees} degrees."),
        withheld="set_heat",
    )


def _heat_alike(scene: Scene) -> Request:
    like, degrees = scene.focus("warmth")
    rooms = scene.state["rooms"]
    room = scene.one_of(
        room for room in rooms if room != like and rooms[room]["degrees"] != degrees
    )
    return Request(
        says=(f"Make the {room} just as warm.", f"Heat the {room} to the same degrees."),
        calls=(call("set_heat", room=room, degrees=degrees),),
        withheld="set_heat",
    )


def _other_degrees(scene: Scene, room: str) -> float:
    degrees = scene.integer(8, 24, other_than=scene.state["rooms"][room]["degrees"])
    return degrees + 0.5 if scene.level > 1 and scene.draw.chance(0.3) else degrees


HOUSE: Final = Api(
    "house",
    _start,
    methods=(
        query(_read_room, "Tell the heat and the lamp of a room.", room=_ROOM),
        query(_warmest_room, "Tell the warmest room."),
        query(_check_door, "Tell if a door is locked.", door=_DOOR),
        action(_set_heat, "Set the heat of a room.", room=_ROOM, degrees=_DEGREES),
        action(_set_lamp, "Turn the lamp of a room on or off.", room=_ROOM, on=flag()),
        action(_lock_door, "Lock a door.", door=_DOOR),
        action(_unlock_door, "Unlock a door.", door=_DOOR, code=integer(1000, 9999)),
    ),
    kinds=(
        Kind(_ask_room),
        Kind(_ask_warmest),
        Kind(_ask_door),
        Kind(_heat),
        Kind(_lamp),
        Kind(_lock),
        Kind(_unlock, level=2),
        Kind(_two_lamps, level=2),
        Kind(_heat_there, follows="room"),
        Kind(_heat_alike, level=2, follows="warmth"),
    ),
)
