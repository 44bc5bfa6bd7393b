import dataclasses
import math
import tomllib

import pytest

from budget_envs.agents.trainers.config import (
    BudgetSettings,
    EnvSettings,
    HeldOutSettings,
    LossSettings,
    OptimizerSettings,
    RLSettings,
    RolloutSettings,
    as_toml,
    from_mapping,
    read_toml,
)
from budget_envs.agents.trainers.gigpo import GiGPOSettings
from budget_envs.agents.trainers.grpo import GRPOSettings
from budget_envs.agents.trainers.ppo import PPOSettings
from budget_envs.agents.trainers.sft import SFTSettings
from budget_envs.errors import BudgetEnvsError, DataError, OptionError

LEAST = {"folder": "f", "model": "m", "env": {"id": "x/Y-v0"}, "num_steps": 3}


def test_the_defaults_come_with_what_was_given():
    settings = from_mapping(GRPOSettings, {**LEAST, "optimizer": {"learning_rate": 1}})
    assert settings.env == EnvSettings(id="x/Y-v0")
    assert settings.optimizer == OptimizerSettings(learning_rate=1.0)
    assert isinstance(settings.optimizer.learning_rate, float)


@pytest.mark.parametrize("kind", [SFTSettings, GRPOSettings, GiGPOSettings, PPOSettings])
def test_settings_survive_a_file(kind, tmp_path):
    settings = from_mapping(
        kind,
        {
            **LEAST,
            "env": {"id": "x/Y-v0", "set": {"size": [4, 8], "budget": {"turns": 8}}},
            "budget": {"arm": "fixed", "fixed_turns": 3},
            "optimizer": {"betas": [0.8, 0.99]},
        },
    )
    file = tmp_path / "settings.toml"
    file.write_text(as_toml(settings))
    assert read_toml(kind, file) == settings
    assert as_toml(read_toml(kind, file)) == as_toml(settings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modle": "x"}, r"unknown setting 'modle'.*Did you mean 'model'"),
        ({"env": {"id": "x", "task": 3}}, r"'env.task'.*Did you mean 'tasks'"),
        ({"env": {}}, "lack 'env.id'"),
        ({"env": "x"}, "'env' must be of type EnvSettings"),
        ({"num_steps": 1.5}, "'num_steps' must be of type int"),
        ({"num_steps": True}, "'num_steps' must be of type int"),
        ({"num_steps": 0}, "'num_steps' must be at least 1"),
        ({"seed": -1}, "'seed' must be at least 0"),
        ({"tensorboard": 1}, "'tensorboard' must be of type bool"),
        ({"scale": "stdd"}, "Did you mean 'std'"),
        ({"budget": {"arm": "fixed"}}, "go together"),
        ({"budget": {"arm": "fulll"}}, "Did you mean 'full'"),
        ({"budget": {"fixed_turns": 3}}, "go together"),
        ({"optimizer": {"betas": [0.9]}}, "'optimizer.betas' must be"),
        ({"optimizer": {"decay": 1.5}}, r"'decay' must be in \[0, 1\]"),
        ({"rollouts": {"temperature": 0}}, "'temperature' must be"),
        ({"rollouts": {"group_size": 0}}, "'group_size' must be"),
        ({"loss": {"normalisation": "constant"}}, "go together"),
        ({"loss": {"epochs": 0}}, "'epochs' must be"),
        ({"held_out": {"tasks": 0}}, "'tasks' must be"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(OptionError, match=message):
        from_mapping(GRPOSettings, {**LEAST, **changes})


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (PPOSettings, {"gae_lambda": 2.0}),
        (GiGPOSettings, {"gamma": -0.1}),
        (PPOSettings, {"env": {"id": "x", "set": {"error_states": True}}}),
        (SFTSettings, {"demonstrations": {"noise": 2.0}}),
        (SFTSettings, {"demonstrations": {"database": "x"}}),
        (SFTSettings, {"batch_size": 0}),
    ],
)
def test_what_single_trainers_refuse(kind, changes):
    with pytest.raises(BudgetEnvsError):
        from_mapping(kind, {**LEAST, **changes})


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        read_toml(GRPOSettings, tmp_path / "missing.toml")
    (tmp_path / "bad.toml").write_text("a = = 1")
    with pytest.raises(DataError, match="no TOML"):
        read_toml(GRPOSettings, tmp_path / "bad.toml")


def test_single_values_can_be_changed(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text(as_toml(from_mapping(GRPOSettings, {**LEAST, "seed": 3})))
    changes = {"num_steps": 9, "optimizer.learning_rate": 0.5, "env.set.size": 8}
    settings = read_toml(GRPOSettings, file, changes)
    assert (settings.seed, settings.num_steps) == (3, 9)
    assert (settings.optimizer.learning_rate, settings.env.set) == (0.5, {"size": 8})
    assert read_toml(GRPOSettings, None, LEAST) == from_mapping(GRPOSettings, LEAST)
    with pytest.raises(OptionError, match="'model' is no table"):
        read_toml(GRPOSettings, file, {"model.name": "x"})


def test_every_setting_is_documented():
    kinds = [EnvSettings, BudgetSettings, RolloutSettings, OptimizerSettings, LossSettings]
    kinds += [HeldOutSettings, RLSettings, SFTSettings, GRPOSettings, GiGPOSettings, PPOSettings]
    for kind in kinds:
        documented = "".join(base.__doc__ or "" for base in kind.__mro__)
        for field in dataclasses.fields(kind):
            assert f"    {field.name}: " in documented, (kind, field.name)


def test_what_is_none_is_left_out():
    text = as_toml(from_mapping(GRPOSettings, LEAST))
    assert "dual_clip" not in text
    assert math.isclose(tomllib.loads(text)["loss"]["clip_low"], 0.2)
