"""`ToolDialogueEnv`: serve a user's requests, one after the other, by calling tools."""

from __future__ import annotations

import hashlib
import marshal
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from budget_envs.budget import as_limit
from budget_envs.envs.tool_dialogue.episode import (
    MAX_CALLS,
    MAX_CALLS_IN_MESSAGE,
    MAX_CHARACTERS,
    Episode,
    Progress,
    TurnVerdict,
)
from budget_envs.envs.tool_dialogue.source import DialogueSource
from budget_envs.envs.tool_dialogue.text import (
    EMPTY_MESSAGE,
    NO_CALLS_LEFT,
    NOT_DELIVERED,
    TOO_MANY_CALLS,
    TOO_MUCH_TEXT,
    ending,
    joined,
    unanswered,
)
from budget_envs.envs.tool_dialogue.verdict import TurnTruth, served, truths_of
from budget_envs.errors import OptionError
from budget_envs.text_env import StepResult, TextEnv, Verdict
from budget_envs.tool_calls.binding import bind
from budget_envs.tool_calls.formats import by_name
from budget_envs.tool_calls.model import Call, Dialogue
from budget_envs.tool_calls.output_state import Output
from budget_envs.tool_calls.written_calls import MalformedCall, WrittenCall

__all__ = ["ToolDialogueEnv"]

_REMEMBERED: Final = 1024  # dialogues of which the ground truth's replay and the opening are kept
_BEGINNING: Final = Progress()
T = TypeVar("T")


class ToolDialogueEnv(TextEnv[Dialogue]):
    """A user makes several requests, each of which takes calls of stateful tools.

    The engine of the tool-use environments: they differ in where dialogues come from.

    **Observation Space**
    Text. The first observation describes the tools and how to call them, then comes the user's
    first message. Later ones hold the results of the newest calls, or the user's next message,
    with the tools that arrive with it. Whether a request was served is not said before the end.

    **Action Space**
    Text: one message. One with calls has them carried out in order; a malformed call is answered by
    what was expected. One without calls ends the user turn, whatever else it is; only an empty one
    does nothing, and nothing but a think block or an end token is empty too. Texts are read by the
    formats of `budget_envs.tool_calls`: nothing is evaluated.

    **Starting State**
    The dialogue's world as it begins, and the user's first message.

    **Transitions**
    Calls change the world. Of one message the first 256 calls are carried out, or answered if they
    are malformed, and all others together by one refusal. Refused one by one are those after the
    first 10,000 of an episode, those after a million characters of results in one message, and
    those that a budget of calls does not cover.

    **Rewards**
    1 when the dialogue ends and every user turn was served, else 0. A user turn is judged when it
    ends, by `budget_envs.envs.tool_dialogue.verdict`: something was called, the state is the one
    that the ground truth leaves, and what the ground truth was told, the agent was told. A user
    turn in which nothing may be called, because a tool or a detail is missing, is not judged, and
    an early call of a late tool is carried out, unless ``strict``.

    **Episode End**
    Terminates when the last user turn ends.

    **Budget**
    One turn is one message of the agent, over the whole dialogue. Calls are a resource of their
    own. Ids come with 30 turns.

    **Oracle**
    `budget_envs.oracles.function_calls.FunctionCallOracle`: which share of what the user turn asks
    for is there after a message. Not exact: looking things up has no value of its own.

    **Information**
    Beside what `TextEnv` promises: ``calls`` (int, calls carried out in this step), ``user_turn``
    (int, from 0), ``output_state`` (``"healthy_call"``, ``"healthy_text"``, ``"polluted"``,
    ``"collapsed"``, or ``""`` at reset: how the message is built, see
    `budget_envs.tool_calls.output_state`), ``repeated_calls`` (int, calls of this step that repeat
    the one right before them in this user turn), ``turn_verdicts`` (a list with ``"pass"``,
    ``"fail"`` or ``"skip"`` for each user turn that has ended) and ``progress`` (share in [0, 1] of
    the user turns to be judged that passed).

    **Arguments**
    Args:
        source: Where dialogues and their worlds come from.
        format: ``"hermes"``, ``"bracket"`` or ``"openai"``.
        strict: Also judge user turns in which nothing may be called (a call there fails), and let
            late tools not exist before they are delivered (or the ground truth calls them, as one
            dialogue of BFCL has it).
        steps_per_user_turn: End the episode after so many messages in one user turn; ``None`` for
            no such limit.
        examples: Calls that sampling from the action space draws from.
        render_mode: ``"ansi"`` or ``"human"``.

    **Version History**
    * v0: first version.

    References:
        Patil et al., 2025, "The Berkeley Function Calling Leaderboard", ICML.
    """

    def __init__(
        self,
        source: DialogueSource,
        *,
        format: str = "hermes",
        strict: bool = False,
        steps_per_user_turn: int | None = None,
        examples: Sequence[Call] = (),
        render_mode: str | None = None,
    ) -> None:
        if not isinstance(strict, bool):
            raise OptionError(f"strict must be True or False, got {strict!r}.")
        self.format = by_name(format)
        shown = [self.format.render_calls([call]) for call in examples]
        super().__init__(action_examples=(*shown, "Done."), render_mode=render_mode)
        self.source = source
        self.strict = strict
        self.steps_per_user_turn = (
            None
            if steps_per_user_turn is None
            else as_limit(steps_per_user_turn, "steps_per_user_turn")
        )
        self.calls_allowed: int | None = None
        self.episode: Episode
        self.truths: tuple[TurnTruth, ...] = ()
        self._judged = 0
        self._observation = ""
        self._truths: OrderedDict[str, tuple[TurnTruth, ...]] = OrderedDict()
        self._openings: OrderedDict[str, str] = OrderedDict()

    # Tasks.

    def draw_task(self, key: int) -> Dialogue:
        """Return the dialogue that the key picks."""
        return self.source.draw(key)

    def load_task(self, task_id: str) -> Dialogue:
        """Return the dialogue of an id."""
        return self.source.load(task_id)

    def task_at(self, split: str, index: int) -> Dialogue:
        """Return dialogue ``index`` of a split."""
        return self.source.at(split, index)

    def name_task(self, task: Dialogue) -> str:
        """Return the dialogue's id."""
        return task.task_id

    # Turns.

    def begin(self, task: Dialogue) -> tuple[str, dict[str, Any]]:
        """Show the tools and the user's first message."""
        self._take_up(_BEGINNING)
        self._observation = _remembered(self._openings, task.task_id, lambda: self._opening(task))
        return self._observation, self._info("", 0, 0)

    def _opening(self, dialogue: Dialogue) -> str:
        first = dialogue.turns[0].message
        return joined(self.format.render_tools(dialogue.tools_at(0)), first)

    def _take_up(self, progress: Progress) -> None:
        dialogue: Dialogue = self.task  # type: ignore[assignment]  # set by reset and restore
        self.episode = Episode(dialogue, self.source.world, progress)
        self.truths = _remembered(
            self._truths,
            dialogue.task_id,
            lambda: truths_of(dialogue, self.source.world(dialogue)),
        )
        self._judged = sum(self.strict or truth.calls > 0 for truth in self.truths)
        self.calls_allowed = None

    def act(self, action: str) -> StepResult:
        """Carry out calls, or end the user turn."""
        episode = self.episode
        output = self.format.parse(action)
        episode.generations += 1
        calls = repeated = 0
        is_readable = True
        if output.items:
            before = episode.number_of_calls
            texts, repeated = self._carry_out(episode, output, self.calls_allowed)
            said = self.format.render_results(output.items[: len(texts)], texts)
            calls = episode.number_of_calls - before
            is_readable = not output.errors
        elif output.text:
            episode.end_turn(self._judge())
            said = "" if episode.is_over else self._next_message()
        else:
            said, is_readable = EMPTY_MESSAGE, False
        is_cut = not episode.is_over and episode.generations == self.steps_per_user_turn
        if is_cut:
            episode.end_turn(self._judge())
        is_over = episode.is_over
        is_success = is_over and "fail" not in episode.verdicts
        is_end = is_cut or is_over
        if is_end:
            said = joined(said, ending(is_success=is_success, is_cut=is_cut))
        self._observation = said
        info = self._info(output.state, calls, repeated, is_readable=is_readable)
        verdict: Verdict = "pass" if is_success else "fail"
        return said, float(is_success), verdict if is_end else None, info

    def _carry_out(
        self, episode: Episode, output: Output, allowed: int | None
    ) -> tuple[list[str], int]:
        """Make the calls of a message; return the results, and how many were made again.

        Args:
            episode: What they are made in.
            output: The message.
            allowed: How many may be carried out; ``None`` for no such limit.
        """
        repeated, texts = 0, []
        last = None if allowed is None else episode.number_of_calls + allowed
        room = MAX_CHARACTERS
        for item in output.items[:MAX_CALLS_IN_MESSAGE]:
            call = self._call_of(item)
            if isinstance(call, str):
                # To verdicts, what fits no signature is a call too; a broken block is none.
                episode.called |= not isinstance(item, MalformedCall)
                texts.append(call)
                continue
            refusal = self._refusal(episode, call, last, room)
            if refusal is None:
                repeated += episode.is_repeated(call)
                text = episode.call(call)
                room -= len(text)
                texts.append(text)
            else:
                texts.append(refusal)
        if len(output.items) > MAX_CALLS_IN_MESSAGE:
            texts.append(unanswered(len(output.items) - MAX_CALLS_IN_MESSAGE))
        return texts, repeated

    def _call_of(self, item: WrittenCall) -> Call | str:
        """Return a call with all arguments by name, or why there is none.

        Unknown names are for the world to refuse, in its own words, and a hint would give away
        tools that are still to come.
        """
        if isinstance(item, Call):
            return item
        if isinstance(item, MalformedCall):
            return item.reason
        tools = self.episode.dialogue.tools
        is_known = any(tool.name == item.name for tool in tools)
        if not item.positional or not is_known or (self.strict and self._is_late(item.name)):
            return Call(item.name, item.keywords)
        return bind(item, tools)

    def _refusal(self, episode: Episode, call: Call, last: int | None, room: int) -> str | None:
        """Say why a call is not carried out.

        Args:
            episode: What it would be carried out in.
            call: The call.
            last: How many calls of the episode the budget covers.
            room: How many characters of results this message has left.
        """
        if last is not None and episode.number_of_calls >= last:
            return NO_CALLS_LEFT
        if episode.number_of_calls >= MAX_CALLS:
            return TOO_MANY_CALLS
        if room < 0:
            return TOO_MUCH_TEXT
        if self.strict and self._is_late(call.name):
            episode.called = True
            return NOT_DELIVERED
        return None

    def _is_late(self, name: str) -> bool:
        """Return whether a tool is still to come, and the ground truth has done without it."""
        turns, turn = self.episode.dialogue.turns, self.episode.turn
        if not any(name in later.arrivals for later in turns[turn + 1 :]):
            return False
        return all(call.name != name for past in turns[: turn + 1] for call in past.calls)

    def _next_message(self) -> str:
        """Return the user's message, with the tools that arrive with it."""
        dialogue, turn = self.episode.dialogue, self.episode.turn
        if not dialogue.turns[turn].arrivals:
            return dialogue.turns[turn].message
        name = f"{dialogue.task_id} {turn}"
        return _remembered(self._openings, name, lambda: self._arrival(dialogue, turn))

    def _arrival(self, dialogue: Dialogue, turn: int) -> str:
        user = dialogue.turns[turn]
        late = [tool for tool in dialogue.tools if tool.name in user.arrivals]
        return joined(self.format.render_late_tools(late), user.message)

    def _judge(self) -> TurnVerdict:
        """Return the verdict on the user turn as it stands."""
        episode = self.episode
        truth = self.truths[episode.turn]
        if truth.calls:
            right = served(truth, episode.world, episode.results, called=episode.called)
        elif self.strict:
            right = not episode.called
        else:
            return "skip"
        return "pass" if right else "fail"

    def _info(
        self, state: str, calls: int, repeated: int, *, is_readable: bool = True
    ) -> dict[str, Any]:
        episode, judged = self.episode, self._judged
        verdicts = episode.verdicts
        return {
            "invalid_action": not is_readable,
            "calls": calls,
            "output_state": state,
            "repeated_calls": repeated,
            "user_turn": min(episode.turn, len(self.truths) - 1),
            "turn_verdicts": list(verdicts),
            "progress": verdicts.count("pass") / judged if judged else 1.0,
        }

    # What oracles read.

    def try_out(self, action: str, calls: int | None = None) -> Episode:
        """Return what would come of the calls of a message, without changing the episode.

        Args:
            action: The message.
            calls: How many calls the budget has left; ``None`` for no such limit.
        """
        fork = self.episode.fork()
        self._carry_out(fork, self.format.parse(action), calls)
        return fork

    # State.

    @property
    def state_key(self) -> str:
        """Hash of the task, the user turn, the world and what results still matter."""
        episode = self.episode
        steps = None if self.steps_per_user_turn is None else episode.generations
        known: list[int] = []
        if not episode.is_over:  # more of a result than can still be asked for is no difference
            have, asked = episode.results.get, self.truths[episode.turn].later
            known = [min(n, have(text, 0)) for text, n in asked.items()]
        parts = (self._task_id, episode.turn, episode.called, episode.verdicts, steps, known)
        # In this version of marshal's format equal values are equal bytes, in every process.
        state = marshal.dumps((episode.world.key(), parts), 2)
        return hashlib.blake2b(state, digest_size=8).hexdigest()

    def save(self) -> Mapping[str, Any]:
        """Return how far the dialogue has come."""
        return {"progress": self.episode.progress, "observation": self._observation}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from there; the calls are repeated when the world is needed."""
        self._take_up(state["progress"])
        self._observation = state["observation"]

    def describe(self) -> str:
        """Return the user's message, the calls made and the newest observation."""
        episode = self.episode
        turn = min(episode.turn, len(episode.dialogue.turns) - 1)
        calls = [f"{call.name}({_shown(call)}) -> {text}" for call, text in episode.history()]
        return joined(
            f"User turn {turn + 1} of {len(episode.dialogue.turns)}: "
            f"{episode.dialogue.turns[turn].message}",
            "\n".join(calls),
            self._observation,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind the world, and what is found out again where it is needed."""
        state = {**self.__dict__, "_truths": OrderedDict(), "_openings": OrderedDict()}
        if self.task is not None:
            state["episode"] = self.episode.progress
        return {**state, "truths": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up the dialogue where it was."""
        self.__dict__.update(state)
        if self.task is not None:
            self._take_up(state["episode"])
            self.calls_allowed = state["calls_allowed"]


def _shown(call: Call) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())


def _remembered(known: OrderedDict[str, T], name: str, make: Callable[[], T]) -> T:
    """Return what is known under a name, made if need be; the oldest of many is forgotten."""
    if name not in known:
        known[name] = make()
        if len(known) > _REMEMBERED:
            known.popitem(last=False)
    return known[name]
