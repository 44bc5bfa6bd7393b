"""`BFCLEnv`: the multi-turn dialogues of the Berkeley Function Calling Leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from budget_envs.envs.bfcl.sources import BfclDialogues
from budget_envs.envs.tool_dialogue.env import ToolDialogueEnv
from budget_envs.errors import OptionError, did_you_mean
from budget_envs.text_env import TASK_SPLITS
from budget_envs.tool_calls.model import Call

__all__ = ["BFCLEnv"]

_EXAMPLES: Final = (Call("ls", {"a": True}), Call("get_stock_info", {"symbol": "AAPL"}))


class BFCLEnv(ToolDialogueEnv):
    """Serve a user's requests on the stateful APIs of BFCL's multi-turn categories.

    A file system, a car, a stock broker, a travel agency, messages, posts, tickets and mathematics:
    eight classes with hidden state, of which a dialogue has one or two. The classes and dialogues
    are those of the ``bfcl-eval`` distribution.

    **Observation Space**
    See `ToolDialogueEnv`. Results read as those of the official runner. In ``long_context`` they
    may be hundreds of thousands of characters long.

    **Action Space**
    See `ToolDialogueEnv`. Nothing that an agent writes is evaluated as Python, other than by the
    official runner: nested calls, attributes and names that are no function of the dialogue's
    classes are answered by an error.

    **Starting State**
    The API instances in the dialogue's initial configuration, new for every episode.

    **Transitions**
    See `ToolDialogueEnv`. Arguments that would take unbounded time or memory are refused, see
    `budget_envs.tasks.bfcl_bounds`.

    **Rewards**
    See `ToolDialogueEnv`. The state is every public attribute of every instance. Verdicts are those
    of the official checker; ``benchmarks/bfcl_agreement.py`` compares them and lists where and why
    they differ.

    **Episode End**
    See `ToolDialogueEnv`. The official runner stops after 21 messages in one user turn; here the
    budget counts messages over the whole dialogue, and ``steps_per_user_turn`` is off by default.

    **Budget**
    One turn is one message. Ids come with 30 turns, as in paper 2; 15 are enough for every base
    dialogue, also with one call a message.

    **Oracle**
    See `ToolDialogueEnv`.

    **Information**
    See `ToolDialogueEnv`.

    **Arguments**
    Args:
        category: ``"base"``; ``"miss_func"``, where a needed function comes a user turn late;
            ``"miss_param"``, where the user names a needed value a turn late; ``"long_context"``,
            with long results; or several of them.
        data_path: Folder to read the files from, laid out as in the distribution.
        split: Draw tasks of ``"train"``, ``"validation"`` or ``"test"`` only.
        format: ``"hermes"``, ``"bracket"`` or ``"openai"``.
        strict: Fail a user turn in which nothing may be called if something is, and let late
            functions not exist before they are delivered. The official runner does neither.
        steps_per_user_turn: End the episode after so many messages in one user turn.
        render_mode: ``"ansi"`` or ``"human"``.

    **Version History**
    * v0: first version, with the files of bfcl-eval 2026.3.23.

    References:
        Patil et al., 2025, "The Berkeley Function Calling Leaderboard", ICML.
    """

    def __init__(
        self,
        *,
        category: str | Sequence[str] = "base",
        data_path: str | None = None,
        split: str | None = None,
        format: str = "hermes",
        strict: bool = False,
        steps_per_user_turn: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if split is not None and split not in TASK_SPLITS:
            raise OptionError(
                f"split must be one of {', '.join(TASK_SPLITS)}, got {split!r}."
                + did_you_mean(split, TASK_SPLITS)
            )
        super().__init__(
            BfclDialogues(category, data_path, split),
            format=format,
            strict=strict,
            steps_per_user_turn=steps_per_user_turn,
            examples=_EXAMPLES,
            render_mode=render_mode,
        )
