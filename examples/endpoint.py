"""Evaluate a model behind an OpenAI-compatible endpoint, and print where its episodes went wrong.

    python examples/endpoint.py http://localhost:8000/v1 Qwen/Qwen3-0.6B

A hosted endpoint reads its key from the environment variable OPENAI_API_KEY.
"""

import argparse

import budget_envs  # noqa: F401  # registers the ids
from budget_envs.agents.policies import make_policy
from budget_envs.evaluation import evaluate


def main(argv: list[str] | None = None) -> None:
    """Evaluate one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("model")
    parser.add_argument("--env", default="budget_envs/FrozenLake-v0")
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--database", default="runs/endpoint.sqlite")
    chosen = parser.parse_args(argv)

    policy = make_policy("openai", model=chosen.model, base_url=chosen.base_url, max_tokens=256)
    done = evaluate(
        policy,
        chosen.env,
        budgets=["50%", "100%"],
        tasks=chosen.tasks,
        k=2,
        env_kwargs={"show_budget": True},
        store=chosen.database,
    )
    for budget, interval in zip(done.run.budgets, done.intervals([1]).estimate[0], strict=True):
        print(f"Pass@(1,{budget}) = {interval:.2f}")
    for episode in done.episodes:
        if episode.verdict == "void":  # the endpoint's fault: neither a success nor a failure
            print(f"{episode.task_id} #{episode.rollout}: {episode.error}")


if __name__ == "__main__":
    main()
