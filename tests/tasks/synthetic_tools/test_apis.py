"""What each tool does, told by hand; and what holds for all of them."""

import json
from collections import Counter

import pytest

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools import ToolWorld
from budget_envs.tasks.synthetic_tools.apis import EASIEST, HELD_OUT, SEEN
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Scene
from budget_envs.tasks.synthetic_tools.world import methods
from budget_envs.tool_calls.model import Call

ALL = (*SEEN, *HELD_OUT)
every_api = pytest.mark.parametrize("api", ALL, ids=lambda api: api.name)


# --- All APIs ------------------------------------------------------------------------------------


def test_names_of_tools_are_unique_so_that_apis_can_be_mixed():
    names = [method.tool.name for api in ALL for method in api.methods]
    assert len(names) == len(set(names)) == len(methods())
    assert len({api.name for api in ALL}) == len(ALL)


def test_held_out_apis_share_no_tool_with_the_others_and_level_1_has_some_of_the_seen():
    seen, held_out, easiest = ({api.name for api in apis} for apis in (SEEN, HELD_OUT, EASIEST))
    assert not held_out & seen
    assert easiest < seen
    assert (len(seen), len(held_out)) == (6, 2)


@every_api
def test_an_api_has_queries_and_actions_with_typed_parameters(api):
    assert 4 <= len(api.methods) <= 8
    assert {method.acts for method in api.methods} == {True, False}
    for method in api.methods:
        assert method.tool.description.endswith(".")
        assert method.tool.parameters["type"] == "object"
        for schema in method.tool.parameters["properties"].values():
            assert schema["type"] in ("string", "integer", "number", "boolean", "array")


def test_every_json_type_an_enum_and_a_default_occur():
    schemas = [s for _, m in methods().values() for s in m.tool.parameters["properties"].values()]
    assert {schema["type"] for schema in schemas} == {
        "string", "integer", "number", "boolean", "array",
    }  # fmt: skip
    assert any("enum" in schema for schema in schemas)
    assert any("default" in schema for schema in schemas)


@every_api
def test_start_states_are_plain_data_and_differ(api):
    states = [api.start(Draws(seed), 2) for seed in range(20)]
    assert all(json.loads(json.dumps(state)) == state for state in states)
    assert len({json.dumps(state, sort_keys=True) for state in states}) == 20


@every_api
def test_every_tool_is_asked_for_and_every_request_says_things_in_several_ways(api):
    called = Counter()
    for kind in api.kinds:
        if kind.follows:
            continue
        for request in drafts(api, kind):
            called.update(call.name for call in request.calls)
            assert len(set(request.says)) == len(request.says) >= 2
            assert all(text[0].isupper() or text[0].isdigit() for text in request.says)
            assert bool(request.details) or not request.vague
            names = {call.name for call in request.calls}
            assert not request.withheld or names == {request.withheld}
    assert set(called) == {method.tool.name for method in api.methods}


@every_api
def test_every_focus_is_followed_by_some_request(api):
    made = {
        r.focus.kind for kind in api.kinds if not kind.follows for r in drafts(api, kind) if r.focus
    }
    assert {kind.follows for kind in api.kinds if kind.follows} <= made  # fmt: skip


def drafts(api, kind):
    found = []
    for seed in range(30):
        draw = Draws(seed)
        try:
            found.append(kind.draft(Scene(draw, api.start(draw, 3), 3, None)))
        except DeadEnd:
            continue
    assert found
    return found


# --- Each tool -----------------------------------------------------------------------------------


def results(state, api, *calls):
    world = ToolWorld({api: state})
    answers = [json.loads(world.call(Call(name, arguments))) for name, arguments in calls]
    return answers, world.state()[api]


def error(text):
    return {"error": text}


def test_stock_room():
    state = {"bolts": {"count": 5, "shelf": "A"}, "cups": {"count": 3, "shelf": "B"}}
    answers, after = results(
        state,
        "stock_room",
        ("count_item", {"item": "bolts"}),
        ("find_item", {"item": "cups"}),
        ("scarcest_item", {}),
        ("add_item", {"item": "cups", "count": 4}),
        ("scarcest_item", {}),
        ("take_item", {"item": "bolts", "count": 6}),
        ("take_item", {"item": "bolts", "count": 5}),
        ("move_item", {"item": "cups", "shelf": "D"}),
        ("move_item", {"item": "cups", "shelf": "E"}),
        ("count_item", {"item": "ropes"}),
    )
    assert answers == [
        {"item": "bolts", "count": 5},
        {"item": "cups", "shelf": "B"},
        {"item": "cups", "count": 3},
        {"item": "cups", "count": 7},
        {"item": "bolts", "count": 5},
        error("There are not so many left."),
        {"item": "bolts", "count": 0},
        {"item": "cups", "shelf": "D"},
        error("'shelf' must be one of A, B, C, D, got 'E'."),
        error("There is no such item."),
    ]
    assert after == {"bolts": {"count": 0, "shelf": "A"}, "cups": {"count": 7, "shelf": "D"}}


def test_house():
    rooms = {"hall": {"degrees": 18, "lamp": False}, "attic": {"degrees": 9, "lamp": True}}
    doors = {"front": True, "back": False, "side": True, "garage": True}
    answers, after = results(
        {"rooms": rooms, "doors": doors, "code": 1234},
        "house",
        ("read_room", {"room": "hall"}),
        ("warmest_room", {}),
        ("set_heat", {"room": "attic", "degrees": 20.5}),
        ("warmest_room", {}),
        ("set_lamp", {"room": "hall", "on": True}),
        ("set_lamp", {"room": "cellar", "on": True}),
        ("check_door", {"door": "front"}),
        ("unlock_door", {"door": "front", "code": 4321}),
        ("unlock_door", {"door": "front", "code": 1234}),
        ("lock_door", {"door": "back"}),
    )
    assert answers == [
        {"room": "hall", "degrees": 18, "lamp": False},
        {"room": "hall", "degrees": 18},
        {"room": "attic", "degrees": 20.5, "lamp": True},
        {"room": "attic", "degrees": 20.5},
        {"room": "hall", "degrees": 18, "lamp": True},
        error("There is no such room."),
        {"door": "front", "locked": True},
        error("The code is wrong."),
        {"door": "front", "locked": False},
        {"door": "back", "locked": True},
    ]
    assert after["doors"] == {"front": False, "back": True, "side": True, "garage": True}


def test_calendar():
    state = {"lunch": {"day": "Monday", "hour": 8, "guests": ["Ada"]}}
    answers, after = results(
        state,
        "calendar",
        ("show_event", {"title": "lunch"}),
        ("free_hour", {"day": "Monday"}),
        ("add_event", {"title": "match", "day": "Monday", "hour": 8}),
        ("add_event", {"title": "match", "day": "Monday", "hour": 9}),
        ("add_event", {"title": "match", "day": "Friday", "hour": 9}),
        ("free_hour", {"day": "Monday"}),
        ("show_day", {"day": "Monday"}),
        ("move_event", {"title": "lunch", "day": "Friday", "hour": 18}),
        ("invite", {"title": "match", "guest": "Zoe"}),
        ("invite", {"title": "match", "guest": "Ada"}),
        ("invite", {"title": "match", "guest": "Ada"}),
        ("cancel_event", {"title": "lunch"}),
        ("cancel_event", {"title": "lunch"}),
    )
    assert answers == [
        {"title": "lunch", "day": "Monday", "hour": 8, "guests": ["Ada"]},
        {"day": "Monday", "hour": 9},
        error("Monday at 8 is taken."),
        {"title": "match", "day": "Monday", "hour": 9, "guests": []},
        error("There is such an event already."),
        {"day": "Monday", "hour": 10},
        {"day": "Monday", "events": [{"hour": 8, "title": "lunch"}, {"hour": 9, "title": "match"}]},
        {"title": "lunch", "day": "Friday", "hour": 18, "guests": ["Ada"]},
        {"title": "match", "day": "Monday", "hour": 9, "guests": ["Zoe"]},
        {"title": "match", "day": "Monday", "hour": 9, "guests": ["Ada", "Zoe"]},
        error("Ada is invited already."),
        {"title": "lunch", "canceled": True},
        error("There is no such event."),
    ]
    assert after == {"match": {"day": "Monday", "hour": 9, "guests": ["Ada", "Zoe"]}}


def test_a_full_day_has_no_free_hour():
    state = {str(h): {"day": "Monday", "hour": h, "guests": []} for h in range(8, 19)}
    answers, _ = results(state, "calendar", ("free_hour", {"day": "Monday"}))
    assert answers == [error("Monday is full.")]


def test_notebook():
    state = {
        "trip": {"lines": ["pack"], "tags": ["fun"]},
        "books": {"lines": ["one", "two"], "tags": []},
    }
    answers, after = results(
        state,
        "notebook",
        ("read_note", {"title": "trip"}),
        ("find_notes", {"tag": "fun"}),
        ("find_notes", {"tag": "work"}),
        ("longest_note", {}),
        ("write_note", {"title": "trip", "line": "go"}),
        ("write_note", {"title": "gifts", "line": "go"}),
        ("add_line", {"title": "gifts", "line": "back"}),
        ("tag_note", {"title": "gifts", "tags": ["work", "fun", "work"]}),
        ("find_notes", {"tag": "fun"}),
        ("delete_note", {"title": "books"}),
        ("read_note", {"title": "books"}),
    )
    assert answers == [
        {"title": "trip", "lines": ["pack"], "tags": ["fun"]},
        {"tag": "fun", "titles": ["trip"]},
        {"tag": "work", "titles": []},
        {"title": "books", "lines": 2},
        error("There is such a note already."),
        {"title": "gifts", "lines": ["go"], "tags": []},
        {"title": "gifts", "lines": ["go", "back"], "tags": []},
        {"title": "gifts", "lines": ["go", "back"], "tags": ["fun", "work"]},
        {"tag": "fun", "titles": ["gifts", "trip"]},
        {"title": "books", "deleted": True},
        error("There is no such note."),
    ]
    assert sorted(after) == ["gifts", "trip"]


def test_a_notebook_and_its_notes_can_be_full_or_empty():
    full = {str(n): {"lines": ["x"] * 50, "tags": []} for n in range(100)}
    answers, after = results(
        full, "notebook",
        ("write_note", {"title": "new", "line": "x"}),
        ("add_line", {"title": "7", "line": "x"}),
    )  # fmt: skip
    assert answers == [error("The notebook is full."), error("The note is full.")]
    assert after == full
    assert results({}, "notebook", ("longest_note", {}))[0] == [error("There are no notes.")]


def test_ledger():
    state = {
        "pin": 1111,
        "open": False,
        "accounts": {"pets": 100, "rent": 20},
        "bills": {"baker": 30, "tailor": 500},
    }
    shut = ("balance", {"account": "pets"})
    answers, after = results(
        state,
        "ledger",
        shut,
        ("log_in", {"pin": 2222}),
        ("log_in", {"pin": 1111}),
        ("balance", {"account": "pets"}),
        ("bill_of", {"payee": "baker"}),
        ("pay_bill", {"payee": "baker", "account": "rent", "amount": 30}),
        ("pay_bill", {"payee": "baker", "account": "pets", "amount": 31}),
        ("pay_bill", {"payee": "baker", "account": "pets", "amount": 30}),
        ("pay_bill", {"payee": "baker", "account": "pets", "amount": 30}),
        ("transfer", {"source": "pets", "target": "rent", "amount": 70}),
        ("transfer", {"source": "pets", "target": "rent", "amount": 1}),
        ("transfer", {"source": "rent", "target": "rent", "amount": 1}),
        ("transfer", {"source": "rent", "target": "gold", "amount": 1}),
        ("deposit", {"account": "pets", "amount": 9}),
        ("log_out", {}),
        shut,
    )
    assert answers == [
        error("Not logged in."),
        error("The pin is wrong."),
        {"logged_in": True},
        {"account": "pets", "balance": 100},
        {"payee": "baker", "amount": 30},
        error("There is not enough money in the account."),
        error("The bill has another amount."),
        {"paid": "baker", "account": "pets", "balance": 70},
        error("There is no such bill."),
        {"balances": {"pets": 0, "rent": 90}},
        error("There is not enough money in the account."),
        error("Source and target are the same account."),
        error("There is no such account."),
        {"account": "pets", "balance": 9},
        {"logged_in": False},
        error("Not logged in."),
    ]
    assert after["accounts"] == {"pets": 9, "rent": 90}
    assert after["bills"] == {"tailor": 500}


def test_nothing_of_a_ledger_works_without_logging_in():
    state = {"pin": 1111, "open": False, "accounts": {"pets": 9}, "bills": {"baker": 3}}
    answers, after = results(
        state, "ledger",
        ("log_out", {}),
        ("bill_of", {"payee": "baker"}),
        ("deposit", {"account": "pets", "amount": 1}),
        ("transfer", {"source": "pets", "target": "pets", "amount": 1}),
        ("pay_bill", {"payee": "baker", "account": "pets", "amount": 3}),
    )  # fmt: skip
    assert answers == [error("Not logged in.")] * 5
    assert after == state


def test_music():
    state = {
        "seconds": {"Amber": 100, "Paper": 200},
        "playlists": {"quiet": ["Paper"]},
        "playing": None,
        "shuffle": False,
        "volume": 30,
    }
    answers, after = results(
        state,
        "music",
        ("show_playlist", {"playlist": "quiet"}),
        ("song_length", {"song": "Amber"}),
        ("song_length", {"song": "Tin"}),
        ("longest_song", {}),
        ("make_playlist", {"playlist": "quiet"}),
        ("make_playlist", {"playlist": "party"}),
        ("play", {"playlist": "party"}),
        ("append_song", {"playlist": "party", "song": "Amber"}),
        ("append_song", {"playlist": "party", "song": "Amber"}),
        ("play", {"playlist": "party", "shuffle": True}),
        ("drop_song", {"playlist": "quiet", "song": "Amber"}),
        ("drop_song", {"playlist": "quiet", "song": "Paper"}),
        ("set_volume", {"percent": 101}),
        ("set_volume", {"percent": 0}),
        ("show_playlist", {"playlist": "loud"}),
    )
    assert answers == [
        {"playlist": "quiet", "songs": ["Paper"]},
        {"song": "Amber", "seconds": 100},
        error("There is no such song."),
        {"song": "Paper", "seconds": 200},
        error("There is such a playlist already."),
        {"playlist": "party", "songs": []},
        error("The playlist is empty."),
        {"playlist": "party", "songs": ["Amber"]},
        error("The playlist has that song already."),
        {"playing": "party", "shuffle": True},
        error("The playlist does not have that song."),
        {"playlist": "quiet", "songs": []},
        error("'percent' must be from 0 to 100, got 101."),
        {"volume": 0},
        error("There is no such playlist."),
    ]
    assert (after["playing"], after["shuffle"], after["volume"]) == ("party", True, 0)


def test_mail():
    letters = {
        "red": {"day": 1, "sender": "Berg", "subject": "visit", "folder": "inbox", "read": False},
        "blue": {"day": 2, "sender": "Ito", "subject": "choir", "folder": "inbox", "read": False},
        "green": {
            "day": 3,
            "sender": "Berg",
            "subject": "choir",
            "folder": "archive",
            "read": True,
        },
    }
    answers, after = results(
        {"letters": letters, "sent": []},
        "mail",
        ("newest_letter", {}),
        ("search_letters", {"sender": "Berg"}),
        ("count_unread", {"folder": "inbox"}),
        ("open_letter", {"letter": "blue"}),
        ("count_unread", {"folder": "inbox"}),
        ("file_letter", {"letter": "red", "folder": "trash"}),
        ("burn_letter", {"letter": "green"}),
        ("newest_letter", {}),
        ("open_letter", {"letter": "green"}),
        ("send_letter", {"to": ["Ito", "Berg", "Ito"], "subject": "visit"}),
    )
    assert answers == [
        {"letter": "green"},
        {"sender": "Berg", "letters": ["green", "red"]},
        {"folder": "inbox", "unread": 2},
        {
            "letter": "blue",
            "day": 2,
            "sender": "Ito",
            "subject": "choir",
            "folder": "inbox",
            "read": True,
        },
        {"folder": "inbox", "unread": 1},
        {"letter": "red", "folder": "trash"},
        {"letter": "green", "burned": True},
        {"letter": "blue"},
        error("There is no such letter."),
        {"sent": {"to": ["Berg", "Ito"], "subject": "visit"}},
    ]
    assert after["sent"] == [{"to": ["Berg", "Ito"], "subject": "visit"}]
    assert after["letters"]["red"]["folder"] == "trash"


def test_a_mail_drawer_can_be_empty_and_stamps_run_out():
    sent = [{"to": ["Ito"], "subject": "visit"}] * 100
    answers, _ = results(
        {"letters": {}, "sent": sent}, "mail",
        ("newest_letter", {}),
        ("send_letter", {"to": ["Ito"], "subject": "visit"}),
    )  # fmt: skip
    assert answers == [error("There are no letters."), error("There are no stamps left.")]


def test_garden():
    state = {
        "pond": {"plant": None, "litres": 4, "hour": None, "covered": False},
        "wall": {"plant": "peas", "litres": 2, "hour": 7, "covered": True},
    }
    answers, after = results(
        state,
        "garden",
        ("look_at", {"bed": "wall"}),
        ("driest_bed", {}),
        ("sow", {"bed": "wall", "plant": "herbs"}),
        ("clear_bed", {"bed": "wall"}),
        ("clear_bed", {"bed": "wall"}),
        ("sow", {"bed": "pond", "plant": "herbs"}),
        ("water", {"bed": "wall", "litres": 3}),
        ("cover_bed", {"bed": "wall", "covered": False}),
        ("water", {"bed": "wall", "litres": 2.5}),
        ("driest_bed", {}),
        ("set_timer", {"bed": "pond", "hour": 6}),
        ("look_at", {"bed": "gate"}),
    )
    assert answers == [
        {"bed": "wall", "plant": "peas", "litres": 2, "hour": 7, "covered": True},
        {"bed": "wall", "litres": 2},
        error("The bed has peas already."),
        {"bed": "wall", "plant": None, "litres": 2, "hour": 7, "covered": True},
        error("The bed is empty."),
        {"bed": "pond", "plant": "herbs", "litres": 4, "hour": None, "covered": False},
        error("The bed is covered."),
        {"bed": "wall", "plant": None, "litres": 2, "hour": 7, "covered": False},
        {"bed": "wall", "plant": None, "litres": 4.5, "hour": 7, "covered": False},
        {"bed": "pond", "litres": 4},
        {"bed": "pond", "plant": "herbs", "litres": 4, "hour": 6, "covered": False},
        error("There is no such bed."),
    ]
    assert after["pond"]["plant"] == "herbs"
