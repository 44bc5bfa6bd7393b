"""A stock room: pieces of items, each item on one shelf."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, choice, integer, text

__all__ = ["STOCK_ROOM"]

_ITEMS: Final = (
    "bolts", "nuts", "cups", "ropes", "boxes", "keys", "pipes", "nails",
    "brushes", "tiles", "hooks", "belts", "lenses", "fuses",
)  # fmt: skip
_SHELVES: Final = ("A", "B", "C", "D")

_ITEM: Final = text()
_COUNT: Final = integer(1, 500)
_SHELF: Final = choice(*_SHELVES)


def _start(draw: Draws, level: int) -> State:
    names = draw.sample(_ITEMS[:8], 6) if level == 1 else draw.sample(_ITEMS, 10)
    most = 20 if level == 1 else 90
    return {
        name: {"count": draw.integer(3, most), "shelf": draw.choice(_SHELVES)}
        for name in sorted(names)
    }


# Tools.


def _count_item(state: State, item: str) -> Result:
    return {"item": item, "count": _found(state, item)["count"]}


def _find_item(state: State, item: str) -> Result:
    return {"item": item, "shelf": _found(state, item)["shelf"]}


def _scarcest_item(state: State) -> Result:
    item = min(sorted(state), key=lambda name: state[name]["count"])
    return {"item": item, "count": state[item]["count"]}


def _add_item(state: State, item: str, count: int) -> Result:
    _found(state, item)["count"] += count
    return _count_item(state, item)


def _take_item(state: State, item: str, count: int) -> Result:
    stock = _found(state, item)
    if count > stock["count"]:
        raise Refusal("There are not so many left.")
    stock["count"] -= count
    return _count_item(state, item)


def _move_item(state: State, item: str, shelf: str) -> Result:
    _found(state, item)["shelf"] = shelf
    return _find_item(state, item)


def _found(state: State, item: str) -> State:
    if item not in state:
        raise Refusal("There is no such item.")
    found: State = state[item]
    return found


# Requests.


def _ask_count(scene: Scene) -> Request:
    item = scene.one_of(scene.state)
    return Request(
        says=(
            f"How many {item} are left?",
            f"Count the {item}.",
            f"I need to know how many {item} we have.",
        ),
        calls=(call("count_item", item=item),),
        withheld="count_item",
        focus=Focus("stock", (item, scene.state[item]["count"])),
    )


def _ask_shelf(scene: Scene) -> Request:
    item = scene.one_of(scene.state)
    return Request(
        says=(
            f"Where are the {item}?",
            f"Find the {item}.",
            f"Which shelf has the {item}?",
        ),
        calls=(call("find_item", item=item),),
        withheld="find_item",
        focus=Focus("shelf", (item, scene.state[item]["shelf"])),
    )


def _ask_scarcest(scene: Scene) -> Request:
    counts = sorted(stock["count"] for stock in scene.state.values())
    if counts[0] == counts[1]:
        raise DeadEnd
    item = min(scene.state, key=lambda name: scene.state[name]["count"])
    return Request(
        says=(
            "Which item is the scarcest?",
            "Of which item do we have the fewest pieces?",
            "What are we shortest of?",
        ),
        calls=(call("scarcest_item"),),
        withheld="scarcest_item",
        focus=Focus("item", (item,)),
    )


def _add(scene: Scene) -> Request:
    item, count = scene.one_of(scene.state), scene.integer(2, 20)
    return Request(
        says=(
            f"Add {count} {item}.",
            f"Put {count} more {item} on the shelf.",
            f"{count} {item} have come in; book them in.",
        ),
        calls=(call("add_item", item=item, count=count),),
        vague=(f"Add some {item}.", f"Put more {item} on the shelf."),
        details=(f"Add {count}.", f"{count} more."),
        withheld="add_item",
    )


def _take(scene: Scene) -> Request:
    item = scene.one_of(name for name, stock in scene.state.items() if stock["count"] > 2)
    count = scene.integer(2, min(20, scene.state[item]["count"]))
    return Request(
        says=(
            f"Take {count} {item}.",
            f"Take {count} {item} off the shelf.",
            f"I am using up {count} {item}; book them out.",
        ),
        calls=(call("take_item", item=item, count=count),),
        vague=(f"Take some {item}.", f"Take {item} off the shelf."),
        details=(f"Take {count}.", f"{count} of them."),
        withheld="take_item",
    )


def _move(scene: Scene) -> Request:
    item = scene.one_of(scene.state)
    shelf = scene.one_of(name for name in _SHELVES if name != scene.state[item]["shelf"])
    return Request(
        says=(
            f"Move the {item} to shelf {shelf}.",
            f"Put the {item} on shelf {shelf}.",
            f"From now on the {item} belong on shelf {shelf}.",
        ),
        calls=(call("move_item", item=item, shelf=shelf),),
        vague=(f"Move the {item}.", f"Put the {item} on another shelf."),
        details=(f"Shelf {shelf}.", f"To shelf {shelf}."),
        withheld="move_item",
    )


def _add_two(scene: Scene) -> Request:
    first, second = scene.two_of(scene.state)
    few, many = scene.integer(2, 20), scene.integer(2, 20)
    return Request(
        says=(
            f"Add {few} {first} and {many} {second}.",
            f"We got {few} {first} and {many} {second}; book both in.",
        ),
        calls=(
            call("add_item", item=first, count=few),
            call("add_item", item=second, count=many),
        ),
        withheld="add_item",
    )


def _add_to_scarcest(scene: Scene) -> Request:
    (item,) = scene.focus("item")
    count = scene.integer(2, 20)
    return Request(
        says=(f"Add {count} of that item.", f"Then book in {count} more of that."),
        calls=(call("add_item", item=item, count=count),),
        vague=("Add some of that item.", "Then book in more of that."),
        details=(f"Add {count}.", f"{count} more."),
        withheld="add_item",
    )


def _take_all(scene: Scene) -> Request:
    item, count = scene.focus("stock")
    if not 2 <= count <= 500:
        raise DeadEnd
    return Request(
        says=("Take all of them.", "I am using up every one of them; book them out."),
        calls=(call("take_item", item=item, count=count),),
        withheld="take_item",
    )


def _move_beside(scene: Scene) -> Request:
    beside, shelf = scene.focus("shelf")
    item = scene.one_of(
        name for name, stock in scene.state.items() if name != beside and stock["shelf"] != shelf
    )
    return Request(
        says=(f"Move the {item} there too.", f"Put the {item} on the same shelf."),
        calls=(call("move_item", item=item, shelf=shelf),),
        withheld="move_item",
    )


STOCK_ROOM: Final = Api(
    "stock_room",
    _start,
    methods=(
        query(_count_item, "Count the pieces of an item.", item=_ITEM),
        query(_find_item, "Tell the shelf of an item.", item=_ITEM),
        query(_scarcest_item, "Tell the item with the fewest pieces."),
        action(_add_item, "Add pieces of an item.", item=_ITEM, count=_COUNT),
        action(_take_item, "Take pieces of an item.", item=_ITEM, count=_COUNT),
        action(_move_item, "Move an item to another shelf.", item=_ITEM, shelf=_SHELF),
    ),
    kinds=(
        Kind(_ask_count),
        Kind(_ask_shelf),
        Kind(_ask_scarcest),
        Kind(_add),
        Kind(_take),
        Kind(_move),
        Kind(_add_two, level=2),
        Kind(_add_to_scarcest, follows="item"),
        Kind(_take_all, level=2, follows="stock"),
        Kind(_move_beside, level=2, follows="shelf"),
    ),
)
