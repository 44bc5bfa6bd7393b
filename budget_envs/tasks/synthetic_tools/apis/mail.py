"""A mail drawer: letters in envelopes of all colors, in folders, and letters that are sent."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_sql.words import LAST_NAMES
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, choice, text, texts

__all__ = ["MAIL"]

_PEOPLE: Final = LAST_NAMES[:12]
_SUBJECTS: Final = (
    "invoice", "visit", "parcel", "garden", "answer", "survey", "harvest", "contract",
    "photos", "choir", "bridge", "weather",
)  # fmt: skip
_COLORS: Final = (
    "red", "blue", "green", "white", "black", "pink", "gray", "yellow",
    "brown", "purple", "orange", "silver", "beige", "violet",
)  # fmt: skip
_FOLDERS: Final = ("inbox", "archive", "friends", "office", "trash")
_MOST_SENT: Final = 100

_LETTER: Final = text("Its color")
_FOLDER: Final = choice(*_FOLDERS)


def _start(draw: Draws, level: int) -> State:
    people = _PEOPLE[:6] if level == 1 else _PEOPLE
    subjects = _SUBJECTS[:6] if level == 1 else _SUBJECTS
    colors = draw.sample(_COLORS[:8], 7) if level == 1 else draw.sample(_COLORS, 11)
    letters = {
        color: {
            "day": day,
            "sender": draw.choice(people),
            "subject": draw.choice(subjects),
            "folder": draw.choice(_FOLDERS[:3]),
            "read": draw.chance(0.5),
        }
        for day, color in enumerate(colors, 1)
    }
    return {"letters": letters, "sent": []}


# Tools.


def _newest_letter(state: State) -> Result:
    letters = state["letters"]
    if not letters:
        raise Refusal("There are no letters.")
    return {"letter": max(letters, key=lambda name: letters[name]["day"])}


def _open_letter(state: State, letter: str) -> Result:
    found = _found(state, letter)
    found["read"] = True
    return {"letter": letter, **found}


def _search_letters(state: State, sender: str) -> Result:
    letters = state["letters"]
    found = sorted(name for name in letters if letters[name]["sender"] == sender)
    return {"sender": sender, "letters": found}


def _count_unread(state: State, folder: str) -> Result:
    letters = state["letters"].values()
    unread = sum(each["folder"] == folder and not each["read"] for each in letters)
    return {"folder": folder, "unread": unread}


def _file_letter(state: State, letter: str, folder: str) -> Result:
    _found(state, letter)["folder"] = folder
    return {"letter": letter, "folder": folder}


def _burn_letter(state: State, letter: str) -> Result:
    _found(state, letter)
    del state["letters"][letter]
    return {"letter": letter, "burned": True}


def _send_letter(state: State, to: list[str], subject: str) -> Result:
    if len(state["sent"]) == _MOST_SENT:
        raise Refusal("There are no stamps left.")
    sent = {"to": sorted(set(to)), "subject": subject}
    state["sent"].append(sent)
    return {"sent": sent}


def _found(state: State, letter: str) -> State:
    if letter not in state["letters"]:
        raise Refusal("There is no such letter.")
    found: State = state["letters"][letter]
    return found


# Requests.


def _ask_newest(scene: Scene) -> Request:
    letters = scene.state["letters"]
    if not letters:
        raise DeadEnd
    letter = max(letters, key=lambda name: letters[name]["day"])
    return Request(
        says=(
            "Which letter is the newest?",
            "What is the newest letter?",
            "Tell me which letter came last.",
        ),
        calls=(call("newest_letter"),),
        focus=Focus("letter", (letter,)),
    )


def _ask_sender(scene: Scene) -> Request:
    letters = scene.state["letters"]
    sender = scene.one_of(letters[name]["sender"] for name in letters)
    own = [name for name in letters if letters[name]["sender"] == sender]
    return Request(
        says=(
            f"Which letters are from {sender}?",
            f"Search for letters from {sender}.",
            f"Has {sender} written to me?",
        ),
        calls=(call("search_letters", sender=sender),),
        withheld="search_letters",
        focus=Focus("letter", (own[0],)) if len(own) == 1 else None,
    )


def _ask_unread(scene: Scene) -> Request:
    folder = scene.one_of(_FOLDERS)
    return Request(
        says=(
            f"How many letters in the folder {folder} are unread?",
            f"Count the unread letters in the folder {folder}.",
            f"Is there anything new to read in the folder {folder}?",
        ),
        calls=(call("count_unread", folder=folder),),
        withheld="count_unread",
    )


def _open(scene: Scene) -> Request:
    letters = scene.state["letters"]
    letter = scene.one_of(name for name in letters if not letters[name]["read"])
    return Request(
        says=(
            f"Open the {letter} letter.",
            f"What is in the {letter} letter?",
            f"I want to know what the {letter} letter says.",
        ),
        calls=(call("open_letter", letter=letter),),
        vague=("Open a letter.", "What is in that letter?"),
        details=(f"The {letter} letter.", f"I mean the {letter} one."),
        withheld="open_letter",
    )


def _file(scene: Scene) -> Request:
    letter = scene.one_of(scene.state["letters"])
    folder = _other_folder(scene, letter)
    return Request(
        says=(
            f"File the {letter} letter under {folder}.",
            f"Put the {letter} letter into the folder {folder}.",
            f"The {letter} letter belongs in the {folder} folder.",
        ),
        calls=(call("file_letter", letter=letter, folder=folder),),
        vague=(f"File the {letter} letter.", f"Put the {letter} letter into another folder."),
        details=(f"Under {folder}.", f"The folder {folder}."),
        withheld="file_letter",
    )


def _burn(scene: Scene) -> Request:
    letter = scene.one_of(scene.state["letters"])
    return Request(
        says=(
            f"Burn the {letter} letter.",
            f"The {letter} letter must burn.",
            f"Nobody may ever see the {letter} letter; burn it.",
        ),
        calls=(call("burn_letter", letter=letter),),
        vague=("Burn a letter.", "One letter must burn."),
        details=(f"The {letter} letter.", f"I mean the {letter} one."),
        withheld="burn_letter",
    )


def _send(scene: Scene) -> Request:
    person, subject = scene.one_of(_people(scene)), _subject(scene)
    return Request(
        says=(
            f"Write to {person} about {subject}.",
            f"Send {person} a letter about {subject}.",
            f"{person} should get a letter on the subject {subject}.",
        ),
        calls=(call("send_letter", to=[person], subject=subject),),
        vague=(f"Write to {person}.", f"Send {person} a letter."),
        details=(f"About {subject}.", f"The subject is {subject}."),
        withheld="send_letter",
    )


def _send_both(scene: Scene) -> Request:
    first, second = scene.two_of(_people(scene))
    subject = _subject(scene)
    return Request(
        says=(
            f"Send one letter about {subject} to both {first} and {second}.",
            f"Write to {first} and {second}, one letter for both, about {subject}.",
        ),
        calls=(call("send_letter", to=[first, second], subject=subject),),
        vague=(
            f"Send one letter to both {first} and {second}.",
            f"Write to {first} and {second}, one letter for both.",
        ),
        details=(f"About {subject}.", f"The subject is {subject}."),
        withheld="send_letter",
    )


def _file_it(scene: Scene) -> Request:
    (letter,) = scene.focus("letter")
    folder = _other_folder(scene, letter)
    return Request(
        says=(f"File it under {folder}.", f"Put that letter into the folder {folder}."),
        calls=(call("file_letter", letter=letter, folder=folder),),
        vague=("File it.", "Put that letter into another folder."),
        details=(f"Under {folder}.", f"The folder {folder}."),
        withheld="file_letter",
    )


def _burn_it(scene: Scene) -> Request:
    (letter,) = scene.focus("letter")
    return Request(
        says=("Burn it.", "That letter must burn."),
        calls=(call("burn_letter", letter=letter),),
        withheld="burn_letter",
    )


def _people(scene: Scene) -> tuple[str, ...]:
    return _PEOPLE[:6] if scene.level == 1 else _PEOPLE


def _subject(scene: Scene) -> str:
    return scene.one_of(_SUBJECTS[:6] if scene.level == 1 else _SUBJECTS)


def _other_folder(scene: Scene, letter: str) -> str:
    current = scene.state["letters"][letter]["folder"]
    return scene.one_of(folder for folder in _FOLDERS if folder != current)


MAIL: Final = Api(
    "mail",
    _start,
    methods=(
        query(_newest_letter, "Tell the newest letter."),
        query(_search_letters, "Find the letters of a sender.", sender=text()),
        query(_count_unread, "Count the unread letters of a folder.", folder=_FOLDER),
        action(_open_letter, "Open and read a letter.", letter=_LETTER),
        action(_file_letter, "Put a letter into a folder.", letter=_LETTER, folder=_FOLDER),
        action(_burn_letter, "Burn a letter.", letter=_LETTER),
        action(_send_letter, "Send one letter.", to=texts("Who gets it"), subject=text()),
    ),
    kinds=(
        Kind(_ask_newest),
        Kind(_ask_sender),
        Kind(_ask_unread),
        Kind(_open),
        Kind(_file),
        Kind(_burn),
        Kind(_send),
        Kind(_send_both, level=2),
        Kind(_file_it, follows="letter"),
        Kind(_burn_it, level=2, follows="letter"),
    ),
)
