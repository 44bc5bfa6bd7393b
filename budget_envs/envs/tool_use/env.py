"""`ToolUseEnv`: serve a user's requests with the tools of a small generated world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from budget_envs.envs.tool_dialogue import ToolDialogueEnv
from budget_envs.envs.tool_use.sources import GeneratedDialogues
from budget_envs.errors import OptionError
from budget_envs.tasks.synthetic_tools import CATEGORIES, DATASET, LEVELS
from budget_envs.tool_calls.model import Call

__all__ = ["ToolUseEnv"]

_EXAMPLES: Final = (
    Call("count_item", {"item": "bolts"}),
    Call("add_item", {"item": "nuts", "count": 5}),
    Call("set_lamp", {"room": "hall", "on": True}),
    Call("show_day", {"day": "Monday"}),
)


class ToolUseEnv(ToolDialogueEnv):
    """A user has several requests, and a small stateful world of tools is there to serve them.

    The embedded member of the tool-use environments: it needs no data, has no end of dialogues,
    and at level 1 so few words that a small model can learn it. In the shape of BFCL's multi-turn
    set, with APIs of its own: a stock room, a house, a calendar, a notebook, a ledger and a music
    player; and, held out, a mail drawer and a garden.

    **Observation Space**
    Text. The first observation describes the tools and how to call them, then comes the user's
    first message. Later ones hold the results of the newest calls, as JSON, or the user's next
    message, with the tools that arrive with it. Errors are results. Whether a request was served is
    not said before the end.

    **Action Space**
    Text: one message, read as `ToolDialogueEnv` reads it. With calls in it, they are carried out in
    order; a text without any ends the user turn; an empty one does nothing.

    **Starting State**
    The dialogue's world, as it was generated, and the user's first message.

    **Transitions**
    Actions change the world, queries don't. What is refused (an unknown name, a wrong type, too few
    pieces, no login) changes nothing.

    **Rewards**
    1 when the dialogue ends and every user turn was served, else 0. See `ToolDialogueEnv`. The
    ground truth of every user turn was executed: no harmless call serves it, nor do its calls with
    one left out or one argument mistaken for another.

    **Episode End**
    Terminates when the last user turn ends.

    **Budget**
    One turn is one message of the agent, over the whole dialogue. Served with all calls of a user
    turn at once, a dialogue of level 1, 2, 3, 4 takes up to 5, 7, 9, 17 turns. Ids come with 30
    turns.

    **Oracle**
    `budget_envs.oracles.function_calls.FunctionCallOracle`: which share of what the user turn asks
    for is there after a message. Not exact: looking things up has no value of its own.

    **Information**
    As `ToolDialogueEnv`.

    **Arguments**
    Args:
        dataset: ``"tool_use_synthetic"``, the embedded generator.
        levels: Difficulties to draw from. 1: one API with four tools, one or two user turns of one
            call each, few words. 2: a whole API, two or three user turns. 3: two APIs, three or
            four. 4: three APIs, five to eight.
        categories: Kinds of dialogue to draw from: ``"base"``; ``"miss_func"``, in which a tool
            arrives one user turn after it is needed; ``"miss_param"``, in which the user leaves out
            an argument and gives it in the next user turn.
        apis: ``"seen"``, or ``"held_out"`` for tools that no dialogue of ``"seen"`` has.
        format: ``"hermes"``, ``"bracket"`` or ``"openai"``.
        split: Draw dialogues of ``"train"``, ``"validation"`` or ``"test"`` only. What a call does
            and to what is in one split; numbers and the user's words make no difference.
        strict: Also judge user turns in which nothing may be called (a call there fails), and let
            late tools not exist before they are delivered.
        steps_per_user_turn: End the episode after so many messages in one user turn; ``None`` for
            no such limit.
        render_mode: ``"ansi"`` or ``"human"``.

    **Version History**
    * v0: first version.

    References:
        Patil et al., 2025, "The Berkeley Function Calling Leaderboard", ICML.
    """

    def __init__(
        self,
        *,
        dataset: str = DATASET,
        levels: Sequence[int] = LEVELS,
        categories: Sequence[str] = CATEGORIES,
        apis: str = "seen",
        format: str = "hermes",
        split: str | None = None,
        strict: bool = False,
        steps_per_user_turn: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if dataset != DATASET:
            raise OptionError(f"unknown dataset {dataset!r}; known is {DATASET}.")
        super().__init__(
            GeneratedDialogues(levels, categories, apis, split),
            format=format,
            strict=strict,
            steps_per_user_turn=steps_per_user_turn,
            examples=_EXAMPLES,
            render_mode=render_mode,
        )
