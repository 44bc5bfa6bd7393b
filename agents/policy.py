"""The `Policy` protocol that the evaluators call, at the place where those who write one look."""

from budget_envs.evaluation.policy import Action, Conversation, Failure, Message, Policy

__all__ = ["Action", "Conversation", "Failure", "Message", "Policy"]
