"""Playing policies under budgets, storing what happened, and measuring it."""

from budget_envs.evaluation.evaluate import Evaluation, Progress, evaluate, run_plan
from budget_envs.evaluation.measures import (
    BudgetUse,
    TurnQuality,
    budget_use,
    lacks_injections,
    success_counts,
    turn_quality,
    upper_bounds,
)
from budget_envs.evaluation.outcomes import NEVER, Outcomes, SuccessCounts
from budget_envs.evaluation.pass_kt import PassKT, pass_kt
from budget_envs.evaluation.plan import Plan, make_plan
from budget_envs.evaluation.policy import Action, Conversation, Failure, Policy
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Episode, EpisodeKey, Run, Turn

__all__ = [
    "NEVER",
    "Action",
    "BudgetUse",
    "Conversation",
    "Episode",
    "EpisodeKey",
    "Evaluation",
    "Failure",
    "Outcomes",
    "PassKT",
    "Plan",
    "Policy",
    "Progress",
    "Run",
    "Store",
    "SuccessCounts",
    "Turn",
    "TurnQuality",
    "budget_use",
    "evaluate",
    "lacks_injections",
    "make_plan",
    "pass_kt",
    "rollout",
    "run_plan",
    "success_counts",
    "turn_quality",
    "upper_bounds",
]
