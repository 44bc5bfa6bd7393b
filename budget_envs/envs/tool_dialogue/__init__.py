"""The shared engine of the tool-use environments: user turns, calls, verdicts."""

from budget_envs.envs.tool_dialogue.env import ToolDialogueEnv
from budget_envs.envs.tool_dialogue.episode import Episode
from budget_envs.envs.tool_dialogue.source import DialogueSource
from budget_envs.envs.tool_dialogue.verdict import (
    TurnTruth,
    minimal_generations,
    progress,
    served,
    truths_of,
)

__all__ = [
    "DialogueSource",
    "Episode",
    "ToolDialogueEnv",
    "TurnTruth",
    "minimal_generations",
    "progress",
    "served",
    "truths_of",
]
