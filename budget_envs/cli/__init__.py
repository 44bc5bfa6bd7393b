"""The command ``budget-envs``; it needs the extra ``eval``."""
