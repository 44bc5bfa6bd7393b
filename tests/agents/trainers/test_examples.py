"""The example that goes from nothing to a trained model, with runs of a few steps."""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from budget_envs.agents.models.tiny import TinyConfig
from budget_envs.agents.trainers.config import RolloutSettings, as_toml, read_toml
from budget_envs.agents.trainers.grpo import GRPOSettings
from budget_envs.agents.trainers.sft import SFTSettings

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("example", EXAMPLES / "train_frozen_lake.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _short(kind, file, tmp_path, **changes):
    """Write an example's settings with a few steps on few tasks."""
    settings = read_toml(kind, file)
    env = dataclasses.replace(settings.env, tasks=8)
    held_out = dataclasses.replace(settings.held_out, tasks=2)
    short = dataclasses.replace(settings, num_steps=2, env=env, held_out=held_out, **changes)
    target = tmp_path / file.name
    target.write_text(as_toml(short), encoding="utf-8")
    return target


def test_one_command_trains_and_evaluates(example, tmp_path, capsys):
    sft = _short(
        SFTSettings,
        EXAMPLES / "train_sft.toml",
        tmp_path,
        batch_size=4,
        tiny=TinyConfig(hidden_size=16, num_layers=1, num_heads=2, vocab_size=320),
    )
    demonstrations = sft.read_text().replace("episodes = 20000", "episodes = 8")
    sft.write_text(demonstrations)
    grpo = _short(
        GRPOSettings,
        EXAMPLES / "train_grpo.toml",
        tmp_path,
        rollouts=RolloutSettings(groups=2, group_size=2, max_tokens_per_turn=2),
    )
    words = ["--folder", tmp_path / "runs", "--sft", sft, "--grpo", grpo, "--tasks", 3]
    words = [str(word) for word in words]
    shortfall = example.main(words)
    assert shortfall == 1.0  # nothing is learned in two steps
    assert "trained in" in capsys.readouterr().out
    model = tmp_path / "runs" / "grpo" / "model" / "model.safetensors"
    before = model.read_bytes()
    example.main(words)  # a finished run is not repeated
    assert model.read_bytes() == before
