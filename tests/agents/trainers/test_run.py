import dataclasses

import pytest

from budget_envs.agents.models.loading import load_language_model
from budget_envs.agents.trainers.checkpoint import checkpoints
from budget_envs.agents.trainers.config import read_toml
from budget_envs.agents.trainers.grpo import GRPOSettings, train_grpo
from budget_envs.agents.trainers.logging import read_scalars
from budget_envs.agents.trainers.run import TrainingRun
from budget_envs.errors import OptionError


class Stopped(BaseException):
    """As when somebody presses Ctrl-C."""


def _stop_after(count):
    def report(done, total, values):
        if done == count:
            raise Stopped

    return report


def test_a_run_keeps_its_settings_log_checkpoints_and_model(short_run, tmp_path):
    settings = short_run(GRPOSettings)
    folder = train_grpo(settings)
    run = tmp_path / "run"
    assert folder == run / "model"
    assert read_toml(GRPOSettings, run / "settings.toml") == settings
    assert [path.name for path in checkpoints(run / "checkpoints")] == [
        "step-00000002",
        "step-00000004",
    ]
    assert load_language_model(folder).model.num_parameters() > 0
    assert (run / "log.csv").read_text().startswith("step,charts/")


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_stopped_run_ends_as_one_that_was_not(short_run, tensors, tmp_path, stop):
    whole = train_grpo(short_run(GRPOSettings, "whole"))
    settings = short_run(GRPOSettings, "stopped")
    with pytest.raises(Stopped):
        train_grpo(settings, _stop_after(stop))
    resumed = train_grpo(settings)
    assert tensors(resumed) == tensors(whole)
    one, other = read_scalars(tmp_path / "whole"), read_scalars(tmp_path / "stopped")
    for name in one:
        if not name.startswith("time/") and name != "charts/SPS":
            assert one[name] == other[name], name


def test_a_finished_run_is_not_repeated(short_run, tensors):
    settings = short_run(GRPOSettings)
    folder = train_grpo(settings)
    before = tensors(folder)
    steps = []
    train_grpo(settings, lambda done, total, values: steps.append(done))
    assert (steps, tensors(folder)) == ([], before)


def test_a_folder_of_another_run_is_left_alone(short_run):
    settings = short_run(GRPOSettings)
    train_grpo(settings)
    with pytest.raises(OptionError, match="other settings"):
        train_grpo(dataclasses.replace(settings, seed=1))


def test_steps_are_reported(short_run):
    seen = []
    train_grpo(short_run(GRPOSettings), lambda *step: seen.append(step))
    assert [(done, total) for done, total, _ in seen] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert all(values["time/step"] > 0 for _, _, values in seen)


def test_only_the_newest_checkpoints_are_kept(short_run, tmp_path):
    train_grpo(short_run(GRPOSettings, save_every=1, keep_checkpoints=1))
    found = checkpoints(tmp_path / "run" / "checkpoints")
    assert [path.name for path in found] == ["step-00000004"]


def test_what_a_trainer_keeps_comes_back(short_run, tiny):
    class Counter:
        count = 0

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            self.count = state["count"]

    settings = short_run(GRPOSettings)
    with TrainingRun(settings) as run:
        run.load_model(tiny)
        counter = Counter()
        run.keep(counter=counter)
        counter.count = 7
        run.save(2)
    with TrainingRun(settings) as run:
        assert run.first_step == 2
        again = Counter()
        run.keep(counter=again)
    assert again.count == 7
