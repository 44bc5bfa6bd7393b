"""A calendar of one week: events with a day, an hour and guests."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_sql.words import FIRST_NAMES
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, choice, integer, text

__all__ = ["CALENDAR"]

_TITLES: Final = (
    "lunch", "review", "training", "interview", "concert", "dinner", "lecture", "meeting",
    "rehearsal", "checkup", "picnic", "seminar", "match", "reading", "fitting", "audition",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_PEOPLE: Final = FIRST_NAMES[:12]
_FIRST_HOUR: Final = 8
_LAST_HOUR: Final = 18

_TITLE: Final = text()
_DAY: Final = choice(*_DAYS)
_HOUR: Final = integer(_FIRST_HOUR, _LAST_HOUR)


def _start(draw: Draws, level: int) -> State:
    titles = draw.sample(_TITLES[:8], 5) if level == 1 else draw.sample(_TITLES, 10)
    hours = range(_FIRST_HOUR, _LAST_HOUR + 1)
    slots = draw.sample([(day, hour) for day in _DAYS for hour in hours], len(titles))
    return {
        title: {"day": day, "hour": hour, "guests": sorted(draw.sample(_people(level), 2))}
        for title, (day, hour) in zip(sorted(titles), slots, strict=True)
    }


def _people(level: int) -> tuple[str, ...]:
    return _PEOPLE[:6] if level == 1 else _PEOPLE


# Tools.


def _show_event(state: State, title: str) -> Result:
    return {"title": title, **_found(state, title)}


def _show_day(state: State, day: str) -> Result:
    events = sorted((event["hour"], title) for title, event in state.items() if event["day"] == day)
    return {"day": day, "events": [{"hour": hour, "title": title} for hour, title in events]}


def _free_hour(state: State, day: str) -> Result:
    hour = _first_free(state, day)
    if hour is None:
        raise Refusal(f"{day} is full.")
    return {"day": day, "hour": hour}


def _add_event(state: State, title: str, day: str, hour: int) -> Result:
    if title in state:
        raise Refusal("There is such an event already.")
    _demand_free(state, day, hour)
    state[title] = {"day": day, "hour": hour, "guests": []}
    return _show_event(state, title)


def _move_event(state: State, title: str, day: str, hour: int) -> Result:
    event = _found(state, title)
    _demand_free(state, day, hour)
    event["day"], event["hour"] = day, hour
    return _show_event(state, title)


def _cancel_event(state: State, title: str) -> Result:
    _found(state, title)
    del state[title]
    return {"title": title, "canceled": True}


def _invite(state: State, title: str, guest: str) -> Result:
    guests = _found(state, title)["guests"]
    if guest in guests:
        raise Refusal(f"{guest[:40]} is invited already.")
    guests.append(guest)
    guests.sort()
    return _show_event(state, title)


def _found(state: State, title: str) -> State:
    if title not in state:
        raise Refusal("There is no such event.")
    found: State = state[title]
    return found


def _demand_free(state: State, day: str, hour: int) -> None:
    if (day, hour) in _taken(state):
        raise Refusal(f"{day} at {hour} is taken.")


def _taken(state: State) -> set[tuple[str, int]]:
    return {(event["day"], event["hour"]) for event in state.values()}


def _first_free(state: State, day: str) -> int | None:
    taken = _taken(state)
    free = (hour for hour in range(_FIRST_HOUR, _LAST_HOUR + 1) if (day, hour) not in taken)
    return next(free, None)


# Requests.


def _ask_event(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    event = scene.state[title]
    return Request(
        says=(
            f"When is the {title}?",
            f"Who comes to the {title}?",
            f"Tell me all about the {title}.",
        ),
        calls=(call("show_event", title=title),),
        focus=Focus("event", (title, event["day"])),
    )


def _ask_day(scene: Scene) -> Request:
    day = scene.one_of(event["day"] for event in scene.state.values())
    return Request(
        says=(f"What is on {day}?", f"Show me {day}.", f"Which events do I have on {day}?"),
        calls=(call("show_day", day=day),),
    )


def _ask_free(scene: Scene) -> Request:
    day = scene.one_of(_DAYS)
    hour = _first_free(dict(scene.state), day)
    if hour is None:
        raise DeadEnd
    return Request(
        says=(
            f"When am I free on {day}?",
            f"Find the first free hour on {day}.",
            f"What is the earliest time that I could do something on {day}?",
        ),
        calls=(call("free_hour", day=day),),
        focus=Focus("slot", (day, hour)),
    )


def _add(scene: Scene) -> Request:
    title = _new_title(scene)
    day, hour = _free_slot(scene)
    return Request(
        says=(
            f"Add a {title} on {day} at {hour}.",
            f"Plan a {title} on {day} at {hour}.",
            f"There is a {title} on {day} at {hour} that I must not forget.",
        ),
        calls=(call("add_event", title=title, day=day, hour=hour),),
        vague=(f"Add a {title} on {day}.", f"Plan a {title} on {day}."),
        details=(f"At {hour}.", f"It is at {hour}."),
        withheld="add_event",
    )


def _move(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    day, hour = _free_slot(scene)
    return Request(
        says=(
            f"Move the {title} to {day} at {hour}.",
            f"The {title} is on {day} at {hour} now.",
            f"Let us have the {title} on {day} at {hour} instead.",
        ),
        calls=(call("move_event", title=title, day=day, hour=hour),),
        vague=(f"Move the {title} to {day}.", f"The {title} is on {day} now."),
        details=(f"At {hour}.", f"It is at {hour}."),
    )


def _cancel(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    return Request(
        says=(f"Cancel the {title}.", f"There is no {title} any more.", f"Call off the {title}."),
        calls=(call("cancel_event", title=title),),
        vague=("Cancel an event.", "There is one event that I must cancel."),
        details=(f"The {title}.", f"Cancel the {title}."),
        withheld="cancel_event",
    )


def _invite_one(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    guest = _new_guest(scene, title)
    return Request(
        says=(
            f"Invite {guest} to the {title}.",
            f"{guest} comes to the {title} too.",
            f"I would like to have {guest} at the {title}.",
        ),
        calls=(call("invite", title=title, guest=guest),),
        vague=(f"Invite one more guest to the {title}.", f"One more guest comes to the {title}."),
        details=(f"Invite {guest}.", f"{guest}."),
        withheld="invite",
    )


def _add_then(scene: Scene) -> Request:
    day, hour = scene.focus("slot")
    title = _new_title(scene)
    return Request(
        says=(f"Add a {title} then.", f"Plan a {title} for that time."),
        calls=(call("add_event", title=title, day=day, hour=hour),),
        withheld="add_event",
    )


def _move_within_day(scene: Scene) -> Request:
    title, day = scene.focus("event")
    hours = range(_FIRST_HOUR, _LAST_HOUR + 1)
    hour = scene.one_of(hour for hour in hours if (day, hour) not in _taken(dict(scene.state)))
    return Request(
        says=(f"Move it to {hour} on the same day.", f"Make that {hour}, on the same day."),
        calls=(call("move_event", title=title, day=day, hour=hour),),
        vague=(
            "Move it to another hour of the same day.",
            "It is too early; not another day though.",
        ),
        details=(f"At {hour}.", f"Make it {hour}."),
    )


def _invite_two(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    known = scene.state[title]["guests"]
    first, second = scene.two_of(name for name in _people(scene.level) if name not in known)
    return Request(
        says=(
            f"Invite {first} and {second} to the {title}.",
            f"{first} and {second} come to the {title}.",
        ),
        calls=(call("invite", title=title, guest=first), call("invite", title=title, guest=second)),
        withheld="invite",
    )


def _new_title(scene: Scene) -> str:
    pool = _TITLES[:8] if scene.level == 1 else _TITLES
    return scene.one_of(title for title in pool if title not in scene.state)


def _new_guest(scene: Scene, title: str) -> str:
    known = scene.state[title]["guests"]
    return scene.one_of(name for name in _people(scene.level) if name not in known)


def _free_slot(scene: Scene) -> tuple[str, int]:
    hours = range(_FIRST_HOUR, _LAST_HOUR + 1)
    slots = ((day, hour) for day in _DAYS for hour in hours)
    return scene.one_of(slot for slot in slots if slot not in _taken(dict(scene.state)))


CALENDAR: Final = Api(
    "calendar",
    _start,
    methods=(
        query(_show_event, "Show an event.", title=_TITLE),
        query(_show_day, "Show all events of a day.", day=_DAY),
        query(_free_hour, "Find the first free hour of a day.", day=_DAY),
        action(_add_event, "Add an event.", title=_TITLE, day=_DAY, hour=_HOUR),
        action(_move_event, "Move an event.", title=_TITLE, day=_DAY, hour=_HOUR),
        action(_cancel_event, "Cancel an event.", title=_TITLE),
        action(_invite, "Invite a guest to an event.", title=_TITLE, guest=text()),
    ),
    kinds=(
        Kind(_ask_event),
        Kind(_ask_day),
        Kind(_ask_free),
        Kind(_add),
        Kind(_move),
        Kind(_cancel),
        Kind(_invite_one),
        Kind(_add_then, follows="slot"),
        Kind(_move_within_day, level=2, follows="event"),
        Kind(_invite_two, level=2),
    ),
)
