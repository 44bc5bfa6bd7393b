"""A notebook: notes with a title, lines of text and tags."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, text, texts

__all__ = ["NOTEBOOK"]

_TITLES: Final = (
    "shopping", "ideas", "trip", "recipes", "birthdays", "books", "repairs", "gifts",
    "films", "letters", "plants", "questions", "words", "dreams",
)  # fmt: skip
_LINES: Final = (
    "buy green paint", "ask about the roof", "call the plumber", "bring two blankets",
    "try the lemon cake", "return the ladder", "look for a quiet place", "renew the ticket",
    "check the tires", "start with the small one", "write to the school", "measure the window",
    "pack the warm coat", "taste the soup first", "order more firewood", "sell the old desk",
)  # fmt: skip
_TAGS: Final = ("home", "work", "urgent", "later", "family", "fun", "money", "summer")
_MOST_NOTES: Final = 100
_MOST_LINES: Final = 50

_TITLE: Final = text()
_LINE: Final = text("One line of text")


def _start(draw: Draws, level: int) -> State:
    return {
        title: {
            "lines": draw.sample(_LINES, draw.integer(1, 6)),
            "tags": sorted(draw.sample(_TAGS, draw.integer(1, 2))),
        }
        for title in sorted(draw.sample(_TITLES, 8))
    }


# Tools.


def _read_note(state: State, title: str) -> Result:
    return {"title": title, **_found(state, title)}


def _find_notes(state: State, tag: str) -> Result:
    return {"tag": tag, "titles": sorted(name for name in state if tag in state[name]["tags"])}


def _longest_note(state: State) -> Result:
    if not state:
        raise Refusal("There are no notes.")
    title = max(sorted(state), key=lambda name: len(state[name]["lines"]))
    return {"title": title, "lines": len(state[title]["lines"])}


def _write_note(state: State, title: str, line: str) -> Result:
    if title in state:
        raise Refusal("There is such a note already.")
    if len(state) == _MOST_NOTES:
        raise Refusal("The notebook is full.")
    state[title] = {"lines": [line], "tags": []}
    return _read_note(state, title)


def _add_line(state: State, title: str, line: str) -> Result:
    lines = _found(state, title)["lines"]
    if len(lines) == _MOST_LINES:
        raise Refusal("The note is full.")
    lines.append(line)
    return _read_note(state, title)


def _tag_note(state: State, title: str, tags: list[str]) -> Result:
    note = _found(state, title)
    note["tags"] = sorted({*note["tags"], *tags})
    return _read_note(state, title)


def _delete_note(state: State, title: str) -> Result:
    _found(state, title)
    del state[title]
    return {"title": title, "deleted": True}


def _found(state: State, title: str) -> State:
    if title not in state:
        raise Refusal("There is no such note.")
    found: State = state[title]
    return found


# Requests.


def _ask_note(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    return Request(
        says=(
            f'Read me the note "{title}".',
            f'What does the note "{title}" say?',
            f'I forgot what I wrote in the note "{title}".',
        ),
        calls=(call("read_note", title=title),),
        vague=("Read me a note.", "What does my note say?"),
        details=(f'The one called "{title}".', f'I mean "{title}".'),
        withheld="read_note",
        focus=Focus("note", (title,)),
    )


def _ask_tag(scene: Scene) -> Request:
    tag = scene.one_of(_TAGS)
    titles = [title for title in scene.state if tag in scene.state[title]["tags"]]
    return Request(
        says=(
            f'Which notes are tagged "{tag}"?',
            f'Find the notes with the tag "{tag}".',
            f'List everything that I tagged "{tag}".',
        ),
        calls=(call("find_notes", tag=tag),),
        withheld="find_notes",
        focus=Focus("note", (titles[0],)) if len(titles) == 1 else None,
    )


def _ask_longest(scene: Scene) -> Request:
    lengths = sorted(len(note["lines"]) for note in scene.state.values())
    if lengths[-1] == lengths[-2]:
        raise DeadEnd
    title = max(scene.state, key=lambda name: len(scene.state[name]["lines"]))
    return Request(
        says=("Which note is the longest?", "Which of my notes has the most lines?"),
        calls=(call("longest_note"),),
        focus=Focus("note", (title,)),
    )


def _write(scene: Scene) -> Request:
    title = scene.one_of(name for name in _TITLES if name not in scene.state)
    line = scene.one_of(_LINES)
    return Request(
        says=(
            f'Write a note "{title}" that says "{line}".',
            f'I need a new note, "{title}", with the line "{line}".',
            f'Start a note "{title}" with "{line}".',
        ),
        calls=(call("write_note", title=title, line=line),),
        vague=(f'Write a note "{title}".', f'I need a new note, "{title}".'),
        details=(f'It says "{line}".', f'With the line "{line}".'),
        withheld="write_note",
    )


def _extend(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    line = scene.one_of(line for line in _LINES if line not in scene.state[title]["lines"])
    return Request(
        says=(
            f'Add "{line}" to the note "{title}".',
            f'Put "{line}" under "{title}" in my notebook.',
            f'The note "{title}" needs one more line: "{line}".',
        ),
        calls=(call("add_line", title=title, line=line),),
        vague=(f'Add a line to the note "{title}".', f'The note "{title}" needs one more line.'),
        details=(f'Add "{line}".', f'The line is "{line}".'),
    )


def _tag(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    new = [tag for tag in _TAGS if tag not in scene.state[title]["tags"]]
    first, second = scene.two_of(new)
    if scene.draw.chance(0.5):
        tags, words = [first], f'the tag "{first}"'
    else:
        tags, words = [first, second], f'the tags "{first}" and "{second}"'
    return Request(
        says=(
            f'Give the note "{title}" {words}.',
            f'The note "{title}" should have {words} too.',
            f'Mark the note "{title}" with {words}.',
        ),
        calls=(call("tag_note", title=title, tags=tags),),
        vague=(f'Tag the note "{title}".', f'Give the note "{title}" one more tag or two.'),
        details=(f"With {words}.", f"I thought of {words}."),
        withheld="tag_note",
    )


def _delete(scene: Scene) -> Request:
    title = scene.one_of(scene.state)
    return Request(
        says=(
            f'Delete the note "{title}".',
            f'Throw away the note "{title}".',
            f'I am done with the note "{title}"; remove it.',
        ),
        calls=(call("delete_note", title=title),),
        vague=("Delete a note.", "Throw away one of my notes."),
        details=(f'The note "{title}".', f'I mean "{title}".'),
        withheld="delete_note",
    )


def _extend_it(scene: Scene) -> Request:
    (title,) = scene.focus("note")
    line = scene.one_of(line for line in _LINES if line not in scene.state[title]["lines"])
    return Request(
        says=(f'Add "{line}" to it.', f'Put "{line}" under that one.'),
        calls=(call("add_line", title=title, line=line),),
        vague=("Add a line to it.", "That one needs one more line."),
        details=(f'Add "{line}".', f'The line is "{line}".'),
    )


def _delete_it(scene: Scene) -> Request:
    (title,) = scene.focus("note")
    return Request(
        says=("Delete that note.", "Throw that one away."),
        calls=(call("delete_note", title=title),),
        withheld="delete_note",
    )


NOTEBOOK: Final = Api(
    "notebook",
    _start,
    methods=(
        query(_read_note, "Read a note.", title=_TITLE),
        query(_find_notes, "Find the notes that have a tag.", tag=text()),
        query(_longest_note, "Tell the note with the most lines."),
        action(_write_note, "Write a new note of one line.", title=_TITLE, line=_LINE),
        action(_add_line, "Add a line at the end of a note.", title=_TITLE, line=_LINE),
        action(_tag_note, "Give a note more tags.", title=_TITLE, tags=texts("New tags")),
        action(_delete_note, "Delete a note.", title=_TITLE),
    ),
    kinds=(
        Kind(_ask_note),
        Kind(_ask_tag),
        Kind(_ask_longest),
        Kind(_write),
        Kind(_extend),
        Kind(_tag),
        Kind(_delete),
        Kind(_extend_it, follows="note"),
        Kind(_delete_it, follows="note"),
    ),
)
