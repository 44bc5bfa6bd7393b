import dataclasses

import pytest
import torch

import budget_envs  # noqa: F401  registers the ids
from budget_envs.agents.models.tiny import TinyConfig, make_tiny
from budget_envs.agents.trainers.config import (
    EnvSettings,
    HeldOutSettings,
    OptimizerSettings,
    RolloutSettings,
)
from budget_envs.agents.trainers.demonstrations import DemonstrationSettings
from budget_envs.agents.trainers.sft import SFTSettings, train_sft

LAKE = "budget_envs/FrozenLake-4x4-v0"
TEXTS = [
    "You are on a frozen lake, drawn as a grid: P is you, _ is ice, O is a hole, G is the goal.",
    "_ _ G O\nP _ _ _",
    *("Left", "Down", "Right", "Up") * 9,
]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny():
    """Make a model of a few thousand parameters."""

    def make(seed=0, **shape):
        config = TinyConfig(
            hidden_size=16, num_layers=1, num_heads=2, vocab_size=320, context_length=1024
        )
        return make_tiny(TEXTS, dataclasses.replace(config, **shape), seed=seed)

    return make


@pytest.fixture(scope="session")
def imitator(tmp_path_factory):
    """Folder of a tiny model that has learned to say the four moves, on a lake of one map."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = train_sft(
        SFTSettings(
            folder=str(tmp_path_factory.mktemp("imitator")),
            model="tiny",
            env=EnvSettings(id=LAKE, set={"size": 3}, tasks=4),
            num_steps=40,
            batch_size=8,
            demonstrations=DemonstrationSettings(policy="random", episodes=40),
            tiny=TinyConfig(hidden_size=16, num_layers=1, num_heads=2, vocab_size=320),
            optimizer=OptimizerSettings(learning_rate=2e-2),
            held_out=HeldOutSettings(every=0, tasks=1),
        )
    )
    torch.set_num_threads(before)
    return folder


@pytest.fixture
def short_run(imitator, tmp_path):
    """Settings of a few quick steps from the imitator, for any trainer that plays."""

    def make(kind, folder="run", **changes):
        common = {
            "folder": str(tmp_path / folder),
            "model": str(imitator),
            "env": EnvSettings(id=LAKE, set={"size": 3}, tasks=4),
            "num_steps": 4,
            "save_every": 2,
            "optimizer": OptimizerSettings(learning_rate=1e-2, warmup_steps=1),
            "held_out": HeldOutSettings(every=2, tasks=2),
            "rollouts": RolloutSettings(groups=2, group_size=4, max_tokens_per_turn=3),
        }
        return kind(**{**common, **changes})

    return make


@pytest.fixture
def tensors():
    """Return the bytes of a model folder's weights."""

    def read(folder):
        return (folder / "model.safetensors").read_bytes()

    return read
