import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from budget_envs.agents.models import loading  # noqa: E402
from budget_envs.agents.models.loading import ModelPlace, load_language_model  # noqa: E402
from budget_envs.errors import DependencyNotInstalled, OptionError, UnsupportedError  # noqa: E402

needs_gguf = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("gguf", "accelerate")),
    reason="transformers reads GGUF files with gguf and accelerate",
)


def same_logits(one, other):
    ids = torch.tensor([[3, 50, 99, 7]])
    with torch.no_grad():
        return torch.allclose(one(ids).logits, other(ids).logits, atol=1e-5)


@pytest.fixture
def folder(tiny, tmp_path):
    tiny.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder_is_loaded_in_float32_ready_to_be_asked(folder, tiny, kind):
    loaded = load_language_model(kind(folder))
    assert loaded.name == str(folder)
    assert loaded.model.dtype == torch.float32
    assert not loaded.model.training
    assert loaded.context_length == 512
    assert loaded.stop_ids == {2}
    assert same_logits(loaded.model, tiny.model)


@needs_gguf
def test_a_gguf_file_is_loaded_as_a_model_that_can_be_saved(tiny, tmp_path, write_gguf):
    write_gguf(tmp_path / "tiny.gguf", tiny.model, tiny.tokenizer)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    loaded = load_language_model(tmp_path / "tiny.gguf")
    assert torch.equal(torch.get_rng_state(), state)
    assert same_logits(loaded.model, tiny.model)
    messages = [{"role": "user", "content": "Go Left. _ G"}]
    assert loaded.chat.first(messages) == tiny.chat.first(messages)
    loaded.save(tmp_path / "folder")
    assert same_logits(load_language_model(tmp_path / "folder").model, tiny.model)


def test_loading_and_saving_draw_no_bars(folder, tiny, tmp_path, capfd):
    load_language_model(folder).save(tmp_path / "other")
    assert capfd.readouterr() == ("", "")
    assert transformers.utils.logging.is_progress_bar_enabled()


@pytest.mark.parametrize("name", ["/no/such/folder", "no such model", "a/b/c", ""])
def test_a_name_that_leads_nowhere_is_refused_at_once(name):
    with pytest.raises(OptionError, match="there is no model"):
        ModelPlace.of(name)


def test_a_path_is_never_taken_for_a_name_of_the_hub(tmp_path):
    with pytest.raises(OptionError, match="there is no model"):
        ModelPlace.of(Path("owner/name"))


def test_a_name_of_the_hub_is_not_looked_up_before_it_is_needed():
    place = ModelPlace.of("owner/name")
    assert place == ModelPlace("owner/name", "owner/name", None, False)
    assert place.checksum() is None


def test_a_folder_without_a_model_is_refused_with_what_transformers_says(tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(OptionError, match="no language model could be loaded"):
        load_language_model(tmp_path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"nothing")
    with pytest.raises((OptionError, DependencyNotInstalled)):
        load_language_model(tmp_path / "model.gguf")


def test_a_checksum_changes_with_the_files(folder):
    before = ModelPlace.of(folder).checksum()
    assert before == ModelPlace.of(folder).checksum()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    assert ModelPlace.of(folder).checksum() != before


def test_another_chat_template_can_be_given(folder, tiny):
    (folder / "chat_template.jinja").write_text("{{ messages[-1]['content'] }}", encoding="utf-8")
    with pytest.raises(UnsupportedError):
        load_language_model(folder)
    loaded = load_language_model(folder, chat_template="chatml")
    messages = [{"role": "user", "content": "Go."}]
    assert loaded.chat.first(messages) == tiny.chat.first(messages)


def test_a_model_may_state_several_stop_tokens(tiny, monkeypatch):
    monkeypatch.setattr(tiny.model.generation_config, "eos_token_id", [2, 0])
    assert tiny.stop_ids == {0, 2}


def test_what_is_missing_is_named(monkeypatch):
    def missing(module, extra):
        raise DependencyNotInstalled(f"{module}: pip install budget-envs[{extra}]")

    monkeypatch.setattr(loading, "require", missing)
    with pytest.raises(DependencyNotInstalled, match=r"torch: pip install budget-envs\[agents\]"):
        load_language_model("owner/name")
