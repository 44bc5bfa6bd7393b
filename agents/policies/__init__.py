"""Policies, and how one is found by name."""

from budget_envs.agents.policies.registry import POLICIES, make_policy

__all__ = ["POLICIES", "make_policy"]
