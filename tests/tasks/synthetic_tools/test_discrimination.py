"""Plans that are no tasks, each for one reason."""

import pytest

from budget_envs.tasks.synthetic_tools import ToolWorld
from budget_envs.tasks.synthetic_tools.discrimination import is_discriminating, slips
from budget_envs.tool_calls.model import Call, UserTurn

ITEMS = {
    "bolts": {"count": 5, "shelf": "A"},
    "cups": {"count": 3, "shelf": "B"},
    "nuts": {"count": 5, "shelf": "A"},
}
ROOMS = {"hall": {"degrees": 18, "lamp": False}, "attic": {"degrees": 9, "lamp": True}}
DOORS = {"front": True, "back": False, "side": True, "garage": True}
WORLD = ToolWorld(
    {"stock_room": ITEMS, "house": {"rooms": ROOMS, "doors": DOORS, "code": 1234}}
)  # fmt: skip


def call(name, **arguments):
    return Call(name, arguments)


def turn(*calls):
    return UserTurn("Do it.", calls)


COUNT = call("count_item", item="bolts")
ADD = call("add_item", item="bolts", count=2)
LAMP = call("set_lamp", room="hall", on=True)


@pytest.mark.parametrize(
    "turns",
    [
        [turn(COUNT)],
        [turn(ADD)],
        [turn(ADD, COUNT)],
        [turn(COUNT), turn(ADD), turn(LAMP)],
        [turn(ADD), turn(ADD)],
        [turn(LAMP, call("lock_door", door="back"), call("warmest_room"))],
        [turn(), turn(ADD)],
    ],
)
def test_what_only_its_own_calls_serve_is_a_task(turns):
    before = WORLD.key()
    assert is_discriminating(turns, WORLD)
    assert WORLD.key() == before


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([turn(call("count_item", item="belts"))], "the call fails"),
        ([turn(call("take_item", item="cups", count=4))], "there are not enough"),
        ([turn(call("move_item", item="bolts", shelf="A"))], "it is there already"),
        ([turn(call("set_lamp", room="attic", on=True))], "it is on already"),
        ([turn(COUNT), turn(COUNT)], "the answer was seen before"),
        ([turn(COUNT, ADD), turn(COUNT), turn(COUNT)], "the answer was seen before"),
        ([turn(LAMP, call("set_lamp", room="hall", on=False))], "the end is the start"),
        ([turn(ADD), turn(call("count_item", item="bolts"))], "the action has told it"),
    ],
)
def test_what_something_else_serves_too_is_none(turns, reason):
    assert not is_discriminating(turns, WORLD), reason


def test_slips_change_one_argument_to_what_it_could_be_mistaken_for():
    assert {tuple(slip.arguments.values()) for slip in slips(ADD, WORLD)} >= {
        ("cups", 2), ("nuts", 2), ("bolts", 1), ("bolts", 3),
    }  # fmt: skip
    assert [
        slip.arguments["on"] for slip in slips(LAMP, WORLD) if slip.arguments["room"] == "hall"
    ] == [False]
    doors = [slip.arguments["door"] for slip in slips(call("lock_door", door="back"), WORLD)]
    assert doors == ["front", "side", "garage"]
    assert all(slip != ADD for slip in slips(ADD, WORLD))
    assert list(slips(call("warmest_room"), WORLD)) == []


def test_slips_of_lists_leave_one_out_and_defaults_can_be_overlooked():
    world = ToolWorld({"music": {"playlists": {"quiet": ["A"]}, "seconds": {}}, "mail": {}})
    both = call("send_letter", to=["Ito", "Berg"], subject="visit")
    assert [slip.arguments["to"] for slip in slips(both, world)] == [["Berg"], ["Ito"]]
    played = [
        slip.arguments.get("shuffle") for slip in slips(call("play", playlist="quiet"), world)
    ]
    assert True in played
