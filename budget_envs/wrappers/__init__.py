"""Wrappers: budgets, what the agent is told of them, injected errors, oracles, numbers.

The order from the inside out is budget, errors, oracle, numbers, shown budget; ``gym.make``
keywords build it. Each wrapper also works alone, some of them on any Gymnasium environment.
"""

from budget_envs.wrappers.budget_mix import BudgetMix
from budget_envs.wrappers.error_states import ErrorStates
from budget_envs.wrappers.interaction_budget import InteractionBudget
from budget_envs.wrappers.numeric import DiscreteActions, NumericObservation
from budget_envs.wrappers.show_budget import ShowBudget
from budget_envs.wrappers.step_oracle import StepOracle

__all__ = [
    "BudgetMix",
    "DiscreteActions",
    "ErrorStates",
    "InteractionBudget",
    "NumericObservation",
    "ShowBudget",
    "StepOracle",
]
