"""ToolUse: dialogues with a small stateful tool world, generated without end."""

from budget_envs.envs.tool_use.env import ToolUseEnv

__all__ = ["ToolUseEnv"]
