"""BFCL multi-turn: a user's requests, served by calls of stateful APIs."""

from budget_envs.envs.bfcl.env import BFCLEnv

__all__ = ["BFCLEnv"]
