"""Every trainer on tiny tasks: it learns, it repeats itself bit for bit, and it logs."""

import math
import re

import numpy as np
import pytest
import torch

from budget_envs.agents.models.loading import load_language_model
from budget_envs.agents.models.tiny import TinyConfig
from budget_envs.agents.trainers.config import (
    BudgetSettings,
    EnvSettings,
    HeldOutSettings,
    LossSettings,
    OptimizerSettings,
    RolloutSettings,
)
from budget_envs.agents.trainers.demonstrations import DemonstrationSettings
from budget_envs.agents.trainers.gigpo import GiGPOSettings, train_gigpo
from budget_envs.agents.trainers.grpo import GRPOSettings, train_grpo
from budget_envs.agents.trainers.logging import read_scalars
from budget_envs.agents.trainers.ppo import PPOSettings, train_ppo
from budget_envs.agents.trainers.sft import SFTSettings, batch_rows, train_sft
from budget_envs.errors import OptionError, UnsupportedError

LAKE = "budget_envs/FrozenLake-4x4-v0"
TRAINERS = [(GRPOSettings, train_grpo), (GiGPOSettings, train_gigpo), (PPOSettings, train_ppo)]
NAMES = [kind.__name__ for kind, _ in TRAINERS]


def _sft(imitator, tmp_path, **changes):
    return SFTSettings(
        **{
            "folder": str(tmp_path / "sft"),
            "model": str(imitator),
            "env": EnvSettings(id=LAKE, set={"size": 3}, tasks=4),
            "num_steps": 3,
            "batch_size": 4,
            "held_out": HeldOutSettings(every=2, tasks=2),
            "demonstrations": DemonstrationSettings(episodes=6),
            "tiny": TinyConfig(hidden_size=16, num_layers=1, num_heads=2, vocab_size=320),
            **changes,
        }
    )


@pytest.mark.parametrize(("kind", "train"), TRAINERS, ids=NAMES)
def test_the_same_seed_gives_the_same_parameters(kind, train, short_run, tensors):
    one = tensors(train(short_run(kind, "one")))
    assert one == tensors(train(short_run(kind, "two")))
    assert one != tensors(train(short_run(kind, "three", seed=1)))


@pytest.mark.parametrize("model", ["tiny", None])
def test_the_same_seed_gives_the_same_imitator(model, imitator, tmp_path, tensors):
    folders = [
        train_sft(_sft(model or imitator, tmp_path, folder=str(tmp_path / name), seed=seed))
        for name, seed in (("one", 0), ("two", 0), ("three", 1))
    ]
    one, two, three = map(tensors, folders)
    assert one == two != three


@pytest.mark.parametrize(("kind", "train"), TRAINERS, ids=NAMES)
def test_what_is_logged(kind, train, short_run, tmp_path):
    train(short_run(kind, loss=LossSettings(kl_coef=0.1, entropy_coef=0.01)))
    found = read_scalars(tmp_path / "run")
    wanted = {"charts/episodic_return", "charts/SPS", "charts/learning_rate"}
    wanted |= {"losses/policy_loss", "losses/approx_kl", "losses/entropy", "losses/clipfrac"}
    wanted |= {"losses/grad_norm", "losses/kl_to_reference", "rollout/success_rate"}
    wanted |= {"time/environment", "time/decode", "time/train", "time/step"}
    wanted |= {"losses/value_loss"} if kind is PPOSettings else set()
    wanted |= {"rollout/singleton_share"} if kind is GiGPOSettings else set()
    assert {name: sorted(found[name]) for name in wanted} == {name: [0, 1, 2, 3] for name in wanted}
    for name in ("rollout/R_multi", "rollout/R_single", "rollout/upper_bound"):
        assert sorted(found[name]) == [0, 2, 4]  # before, between, and after the last step
    assert found["losses/kl_to_reference"][0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("kind", "train"), TRAINERS, ids=NAMES)
def test_a_way_of_two_steps_is_learned_from_its_outcome(kind, train, short_run, tmp_path):
    train(
        short_run(
            kind,
            env=EnvSettings(
                id=LAKE,
                set={"size": 2, "frozen_share": 1.0, "budget": 2, "on_exhausted": "terminate"},
                tasks=1,
            ),
            num_steps=25,
            save_every=25,
            held_out=HeldOutSettings(every=0, tasks=1),
            optimizer=OptimizerSettings(learning_rate=1e-2, warmup_steps=1),
            rollouts=RolloutSettings(groups=1, group_size=16, max_tokens_per_turn=3),
        )
    )
    success = read_scalars(tmp_path / "run")["rollout/success_rate"]
    curve = [success[step] for step in sorted(success)]
    assert np.mean(curve[-5:]) > max(0.8, np.mean(curve[:3]) + 0.2)


@pytest.mark.parametrize(("kind", "train"), TRAINERS, ids=NAMES)
def test_oracle_rewards_are_learned_from(kind, train, short_run, tmp_path):
    folder = train(short_run(kind, oracle_reward=True))
    assert read_scalars(tmp_path / "run")["losses/grad_norm"][0] > 0
    assert (folder / "model.safetensors").exists()


def test_budget_mix_shows_its_budgets(short_run, tmp_path):
    train_grpo(short_run(GRPOSettings, budget=BudgetSettings(arm="budget_mix"), num_steps=8))
    budgets = read_scalars(tmp_path / "run")["rollout/mean_budget"]
    assert len(set(budgets.values())) > 3


def test_turn_matching_plays_fewer_groups(short_run, monkeypatch):
    from budget_envs.agents.trainers.setup import TaskOrder

    counts = []
    visit = TaskOrder.visit
    monkeypatch.setattr(
        TaskOrder, "visit", lambda self, step, n: counts.append(n) or visit(self, step, n)
    )
    rollouts = RolloutSettings(groups=4, group_size=2, max_tokens_per_turn=3)
    train_grpo(
        short_run(GRPOSettings, budget=BudgetSettings(arm="turn_matched"), rollouts=rollouts)
    )
    assert counts == [2, 2, 2, 2]  # 55 % of 4


def test_the_model_learns_what_is_demonstrated(imitator, tmp_path):
    train_sft(
        _sft(imitator, tmp_path, num_steps=20, optimizer=OptimizerSettings(learning_rate=2e-2))
    )
    loss = read_scalars(tmp_path / "sft")["losses/sft_loss"]
    assert loss[19] < 0.8 * loss[0]


def test_an_epoch_visits_every_demonstration_once(imitator, tmp_path):
    settings = _sft(imitator, tmp_path)
    rows = [row for step in range(5) for row in batch_rows(10, settings, step)]
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))
    assert rows[:10] != rows[10:]


def test_r_single_is_never_a_reward(short_run, tmp_path, tensors):
    one = train_grpo(short_run(GRPOSettings, "one"))
    other = train_grpo(
        short_run(GRPOSettings, "other", held_out=HeldOutSettings(every=1, tasks=3, rollouts=2))
    )
    assert tensors(one) == tensors(other)


def test_held_out_tasks_are_not_trained_on(short_run):
    with pytest.raises(OptionError, match="not trained on"):
        train_grpo(short_run(GRPOSettings, held_out=HeldOutSettings(split="train")))


def test_a_step_needs_as_many_tasks_as_groups(short_run):
    with pytest.raises(OptionError, match="there are only 4 tasks"):
        train_grpo(short_run(GRPOSettings, rollouts=RolloutSettings(groups=5)))


def test_an_environment_without_turns_is_refused(short_run):
    env = EnvSettings(id=LAKE, set={"budget": {"tokens": 5}}, tasks=4)
    with pytest.raises(OptionError, match="has no turn budget"):
        train_grpo(short_run(GRPOSettings, env=env))


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"budget_mix": True}, OptionError, "budget.arm='budget_mix'"),
        ({"numeric": True}, UnsupportedError, "play text"),
    ],
)
def test_environments_that_cannot_be_trained_on(short_run, keywords, error, message):
    env = EnvSettings(id=LAKE, set=keywords, tasks=4)
    with pytest.raises(error, match=message):
        train_grpo(short_run(GRPOSettings, env=env))


@pytest.mark.parametrize("is_needed", [True, False])
def test_the_oracle_judges_only_where_it_is_learned_from(short_run, tmp_path, is_needed):
    train_grpo(short_run(GRPOSettings, oracle_reward=is_needed))
    found = read_scalars(tmp_path / "run")
    assert ("rollout/mean_regret" in found) == is_needed
    assert "rollout/R_single" in found


def test_global_random_state_is_left_alone(short_run):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train_ppo(short_run(PPOSettings, num_steps=1))
    assert torch.equal(torch.rand(3), expected)


def test_the_trained_model_is_an_ordinary_folder(short_run):
    folder = train_ppo(short_run(PPOSettings))
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert not [name for name in names if re.search("head|training", name)]
    weights = load_language_model(folder).model.state_dict().values()
    assert all(math.isfinite(weight.sum().item()) for weight in weights)
