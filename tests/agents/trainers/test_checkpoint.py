import pytest
import torch

from budget_envs.agents.models.loading import load_language_model
from budget_envs.agents.trainers.checkpoint import (
    checkpoints,
    latest,
    load_training_state,
    save_checkpoint,
)
from budget_envs.errors import DataError


def test_a_checkpoint_gives_back_the_same_bits(tiny, tmp_path):
    model = tiny()
    state = {"optimizer": {"moments": torch.randn(7), "num_done": 3}}
    folder = save_checkpoint(tmp_path, 12, model, state, keep=1)
    assert latest(tmp_path) == folder
    loaded = load_language_model(folder).model.state_dict()
    for name, weight in model.model.state_dict().items():
        assert torch.equal(loaded[name], weight), name
    found = load_training_state(folder)
    assert (found["step"], found["optimizer"]["num_done"]) == (12, 3)
    assert torch.equal(found["optimizer"]["moments"], state["optimizer"]["moments"])


def test_the_newest_are_kept_by_number(tiny, tmp_path):
    model = tiny()
    for step in (2, 10, 9):
        save_checkpoint(tmp_path, step, model, {}, keep=2)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000009", "step-00000010"]


def test_an_unfinished_one_is_none(tiny, tmp_path):
    assert latest(tmp_path / "nowhere") is None
    (tmp_path / ".step-00000004.partial").mkdir()
    (tmp_path / "notes").mkdir()
    assert latest(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_broken_one_says_so(tmp_path, content):
    if content is not None:
        (tmp_path / "training.pt").write_bytes(content)
    with pytest.raises(DataError, match="cannot read the checkpoint"):
        load_training_state(tmp_path)
