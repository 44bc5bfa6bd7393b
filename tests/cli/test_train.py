import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from budget_envs.agents.trainers.config import read_toml
from budget_envs.agents.trainers.gigpo import GiGPOSettings
from budget_envs.agents.trainers.grpo import GRPOSettings
from budget_envs.agents.trainers.ppo import PPOSettings
from budget_envs.agents.trainers.sft import SFTSettings

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS = {"sft": SFTSettings, "grpo": GRPOSettings, "gigpo": GiGPOSettings, "ppo": PPOSettings}
LAKE = "budget_envs/FrozenLake-4x4-v0"
SFT = [
    "model=tiny", "num_steps=2", "batch_size=2", f"env.id={LAKE}", "env.set.size=3", "env.tasks=4",
    "demonstrations.episodes=4", "held_out.tasks=2", "tiny.hidden_size=16", "tiny.num_layers=1",
    "tiny.num_heads=2", "tiny.num_kv_heads=2", "tiny.vocab_size=320",
]  # fmt: skip
RL = [
    "num_steps=2", f"env.id={LAKE}", "env.set.size=3", "env.tasks=4", "rollouts.groups=1",
    "rollouts.group_size=2", "rollouts.max_tokens_per_turn=2", "held_out.tasks=2",
]  # fmt: skip


def _set(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Folder of a model made by the command."""
    from budget_envs.cli.main import main

    folder = tmp_path_factory.mktemp("sft") / "run"
    assert main(["train", "sft", *_set(f"folder={folder}", *SFT)]) == 0
    return folder / "model"


def test_imitation_makes_a_model_that_the_others_start_from(cli, model, tmp_path):
    for name in ("grpo", "gigpo", "ppo"):
        done = cli("train", name, *_set(f"folder={tmp_path / name}", f"model={model}", *RL))
        assert done.code == 0, done.err
        assert f"Model: {tmp_path / name / 'model'}" in done.out
        assert "step 2 of 2" in done.err
        assert (tmp_path / name / "model" / "model.safetensors").is_file()


def test_a_document_says_how_it_went(cli, model, tmp_path):
    done = cli(
        "train", "grpo", "--json", *_set(f"folder={tmp_path / 'run'}", f"model={model}", *RL)
    )
    assert done.document["model"] == str(tmp_path / "run" / "model")
    assert {"rollout/R_multi", "charts/SPS", "rollout/success_rate"} <= set(done.document["last"])


def test_the_same_command_continues(cli, tmp_path):
    words = ["train", "sft", *_set(f"folder={tmp_path / 'run'}", *SFT)]
    assert cli(*words).code == 0
    dry = cli(*words, "--dry-run", "--json")
    assert dry.document["steps_done"] == 2
    assert "2 of 2 steps are done" in cli(*words, "--dry-run").out
    assert cli(*words).code == 0


def test_a_dry_run_makes_nothing(cli, tmp_path):
    done = cli("train", "sft", *_set(f"folder={tmp_path / 'run'}", *SFT), "--dry-run")
    assert done.code == 0
    text, _, rest = done.out.rpartition("\n0 of 2 steps")
    assert tomllib.loads(text)["env"] == {
        "id": LAKE, "set": {"size": 3}, "split": "train", "tasks": 4,
    }  # fmt: skip
    assert "Nothing was trained" in rest
    assert not (tmp_path / "run").exists()


def test_a_flag_wins_over_the_file(cli, tmp_path):
    done = cli(
        "train", "grpo", "--settings", EXAMPLES / "train_grpo.toml", "--dry-run", "--json",
        *_set("optimizer.learning_rate=0.5", f"folder={tmp_path / 'run'}"),
    )  # fmt: skip
    settings = done.document["settings"]
    assert settings["optimizer"]["learning_rate"] == 0.5
    assert settings["optimizer"]["warmup_steps"] == 5


def test_an_id_without_a_version_is_the_newest(cli, tmp_path):
    pairs = [f"folder={tmp_path / 'run'}", *SFT, "env.id=budget_envs/FrozenLake"]
    done = cli("train", "sft", "--dry-run", "--json", *_set(*pairs))
    assert done.document["settings"]["env"]["id"] == "budget_envs/FrozenLake-v0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gpro"], "Did you mean 'grpo'"),
        (["grpo"], "the settings lack 'folder'"),
        (["sft", *_set("folder=x", *SFT, "batchsize=3")], "Did you mean 'batch_size'"),
        (["sft", *_set("folder=x", *SFT, "env.id=FrozenLak-v9")], "unknown environment"),
        (["sft", *_set("folder=x", *SFT, "env.set.sizes=3")], "Did you mean 'size'"),
        (["sft", *_set("folder=x", *SFT, "num_steps")], "takes key=value"),
        (["sft", *_set("folder=x", *SFT), "--threads", "0"], "at least 1"),
        (["grpo", *_set("folder=x", "model=/no/such/model", *RL)], "/no/such/model"),
    ],
)
def test_misuse_is_explained(cli, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = cli("train", *words)
    assert done.code == 2, done.err
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_missing_file_is_said(cli, tmp_path):
    done = cli("train", "grpo", "--settings", tmp_path / "none.toml")
    assert (done.code, "cannot read settings" in done.err) == (1, True)


def test_a_stopped_run_says_how_to_continue(cli, model, tmp_path, monkeypatch):
    def stop(self, done, values):
        raise KeyboardInterrupt

    monkeypatch.setattr("budget_envs.agents.trainers.run.TrainingRun.finish_step", stop)
    done = cli("train", "grpo", *_set(f"folder={tmp_path / 'run'}", f"model={model}", *RL))
    assert done.code == 130
    assert "run the same command to continue" in done.err


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("train_*.toml")), ids=lambda file: file.stem)
def test_the_examples_are_settings(file):
    text = file.read_text(encoding="utf-8")
    words = text.partition("budget-envs train ")[2].split()
    assert words[1:3] == ["--settings", f"examples/{file.name}"]
    read_toml(KINDS[words[0]], file)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("train_*.toml")), ids=lambda file: file.stem)
def test_the_examples_run(cli, model, tmp_path, file):
    name = file.read_text(encoding="utf-8").partition("budget-envs train ")[2].split()[0]
    small = [pair for pair in (SFT if name == "sft" else RL) if not pair.startswith("env.id")]
    pairs = [f"folder={tmp_path / 'run'}", f"model={model}", *small]
    done = cli("train", name, "--settings", file, *_set(*pairs))
    assert done.code == 0, done.err
    assert (tmp_path / "run" / "model").is_dir()


def test_the_commands_module_loads_no_torch():
    code = "import sys, budget_envs.cli.app; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout.lower()) is False
