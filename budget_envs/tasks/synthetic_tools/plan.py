"""Drawing the plan of a dialogue: requests that can be served, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from budget_envs.streams import text_key
from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api
from budget_envs.tasks.synthetic_tools.apis import EASIEST, HELD_OUT, SEEN
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene
from budget_envs.tasks.synthetic_tools.world import ToolWorld, methods
from budget_envs.tool_calls.model import Call, Tool, UserTurn

__all__ = ["SHAPES", "Apis", "Category", "Plan", "Shape", "Split", "atom_split", "draw_plan"]

Category: TypeAlias = Literal["base", "miss_func", "miss_param"]
Apis: TypeAlias = Literal["seen", "held_out"]
Split: TypeAlias = Literal["train", "validation", "test"]

_TRIES: Final = 40  # draws of one request before the plan is given up
_CARRY_ON: Final = 0.6  # probability that a request refers to the last answer, where it can
_ARRIVAL: Final = (
    "You have a new tool now. Please do it.",
    "There is a new tool. Do it now.",
    "I gave you what was missing; please go ahead.",
)
_DEAL: Final = 23  # one of those that give every API something in each split, also at level 1
_FEW_WORDS: Final = 2  # ways to say a thing at level 1


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the dialogues of a level are; pairs are the least and the most.

    Attributes:
        apis: How many APIs are there.
        turns: User turns, those that only say that something is missing left out.
        requests: Requests of one user turn.
        tools: How many tools there are; ``None`` for all of the APIs.
    """

    apis: int
    turns: tuple[int, int]
    requests: tuple[int, int]
    tools: int | None = None


SHAPES: Final[dict[int, Shape]] = {
    1: Shape(1, (1, 2), (1, 1), tools=4),
    2: Shape(1, (2, 3), (1, 2)),
    3: Shape(2, (3, 4), (1, 3)),
    4: Shape(3, (5, 8), (1, 3)),
}
"""Level -> the shape of its dialogues."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A dialogue before it has a name.

    Attributes:
        turns: The user turns.
        tools: The tools.
        world: At the start.
    """

    turns: tuple[UserTurn, ...]
    tools: tuple[Tool, ...]
    world: ToolWorld


def draw_plan(level: int, category: Category, apis: Apis, split: Split, draw: Draws) -> Plan:
    """Draw a plan all of whose calls succeed.

    Raises:
        DeadEnd: If the draws lead nowhere.
    """
    pool = HELD_OUT if apis == "held_out" else EASIEST if level == 1 else SEEN
    return _Planner(level, category, split, draw, pool).plan()


def atom_split(call: Call) -> Split:
    """Return the split that owns what a call does and to what: its tool and its texts.

    Numbers and flags don't count, so that all calls that differ in these alone are in one split.
    Calls without texts are everybody's, which is what ``"train"`` means here: dialogues of each
    split are made of its own atoms and of those of ``"train"``, with one of its own at least.
    """
    if not _texts(call):
        return "train"
    percent = text_key(f"{_DEAL} {_atom(call)}") % 100
    return "train" if percent < 76 else "validation" if percent < 88 else "test"


def _atom(call: Call) -> str:
    return f"{call.name} {_texts(call)}"


def _texts(call: Call) -> list[str | list[str]]:
    return [value for value in call.arguments.values() if isinstance(value, str | list)]


class _Planner:
    """Draws the requests of one dialogue, and serves each to know what the next finds."""

    def __init__(
        self, level: int, category: Category, split: Split, draw: Draws, pool: Sequence[Api]
    ) -> None:
        self.level, self.category, self.split, self.draw = level, category, split, draw
        self.shape = SHAPES[level]
        self.apis = draw.sample(pool, self.shape.apis)
        self.start = ToolWorld({api.name: api.start(draw, level) for api in self.apis})
        self.world = self.start.copy()
        self.focus: Focus | None = None
        self.used: set[str] = set()  # names of the tools called so far
        self.asked: set[str] = set()  # what this user turn asked for: nobody asks twice at once
        self.turns: list[UserTurn] = []

    def plan(self) -> Plan:
        count = self.draw.integer(*self.shape.turns)
        missing = -1 if self.category == "base" else self.draw.integer(0, count - 1)
        novel = -1 if self.split == "train" else self.draw.integer(0, count - 1)
        for place in range(count):
            requests = 1 if place == missing else self.draw.integer(*self.shape.requests)
            served = self._serve(requests, missing=place == missing, novel=place == novel)
            self.turns.extend(self._user_turns(served, missing=place == missing))
        tools = self._tools()
        world = ToolWorld(self.start.state(), [tool.name for tool in tools])
        return Plan(tuple(self.turns), tools, world)

    # Requests.

    def _serve(self, count: int, *, missing: bool, novel: bool) -> list[Request]:
        """Draw the requests of a turn; only the first may refer to the turn before.

        What a later request refers to would come from this turn's own results: then its calls
        could not be made at once. And what no other split has is to be said in so many words.
        """
        focus, served = None if novel else self.focus, []
        self.asked.clear()
        for place in range(count):
            request = self._request(focus, missing=missing, novel=novel and place == 0)
            served.append(request)
            focus = None
        self.focus = served[-1].focus
        return served

    def _request(self, focus: Focus | None, *, missing: bool, novel: bool) -> Request:
        for _ in range(_TRIES):
            api, kind = self._kind(focus)
            scene = Scene(self.draw, self.world.state()[api.name], self.level, focus)
            try:
                request = kind.draft(scene)
            except DeadEnd:
                continue
            if self._fits(request, missing=missing, novel=novel):
                self._execute(request)
                return request
        raise DeadEnd

    def _kind(self, focus: Focus | None) -> tuple[Api, Kind]:
        kinds = [(api, kind) for api in self.apis for kind in api.kinds if kind.level <= self.level]
        following = [pair for pair in kinds if focus is not None and pair[1].follows == focus.kind]
        if following and self.draw.chance(_CARRY_ON):
            return self.draw.choice(following)
        return self.draw.choice([pair for pair in kinds if not pair[1].follows])

    def _fits(self, request: Request, *, missing: bool, novel: bool) -> bool:
        if self.asked & set(map(_atom, request.calls)):
            return False
        splits = set(map(atom_split, request.calls))
        if not splits <= {"train", self.split} or (novel and self.split not in splits):
            return False
        if not missing:
            return True
        if self.category == "miss_param":
            return bool(request.vague)
        return bool(request.withheld) and request.withheld not in self.used

    def _execute(self, request: Request) -> None:
        for call in request.calls:
            self.world.call(call)
            self.used.add(call.name)
            self.asked.add(_atom(call))

    # What the user says.

    def _user_turns(self, served: Sequence[Request], *, missing: bool) -> list[UserTurn]:
        calls = tuple(call for request in served for call in request.calls)
        if not missing:
            message = " ".join(self._say(request.says) for request in served)
            return [UserTurn(message, calls)]
        (request,) = served
        if self.category == "miss_func":
            return [
                UserTurn(self._say(request.says)),
                UserTurn(self._say(_ARRIVAL), calls, arrivals=(request.withheld,)),
            ]
        return [UserTurn(self._say(request.vague)), UserTurn(self._say(request.details), calls)]

    def _say(self, ways: Sequence[str]) -> str:
        return self.draw.choice(ways[:_FEW_WORDS] if self.level == 1 else ways)

    # What the dialogue holds.

    def _tools(self) -> tuple[Tool, ...]:
        names = [method.tool.name for api in self.apis for method in api.methods]
        if self.shape.tools is not None:
            spare = self.draw.sample([name for name in names if name not in self.used], len(names))
            chosen = {*self.used, *spare[: self.shape.tools - len(self.used)]}
            names = [name for name in names if name in chosen]
        return tuple(methods()[name][1].tool for name in names)
