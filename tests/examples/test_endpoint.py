import importlib.util
import tomllib
from pathlib import Path

import pytest

from budget_envs.cli.main import main
from budget_envs.evaluation import Store

pytest.importorskip("httpx2", reason='needs pip install "budget-envs[endpoint]"')

ROOT = Path(__file__).parents[2]


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake = loaded("fake_endpoint", ROOT / "tests" / "agents" / "policies" / "fake_endpoint.py")


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with fake.FakeEndpoint() as server:
        yield server


def test_the_script_prints_rates_and_what_the_endpoint_broke(endpoint, tmp_path, capsys):
    count = iter(range(10**6))
    endpoint.play = lambda e: e.fail(403, "flagged") if next(count) == 9 else e.answer("Down")
    example = loaded("endpoint_example", ROOT / "examples" / "endpoint.py")
    words = [endpoint.url, "tiny", "--tasks", "2", "--database", str(tmp_path / "r.sqlite")]
    example.main(words)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" = ")[0] for line in lines[:2]] == ["Pass@(1,5)", "Pass@(1,10)"]
    assert len(lines) == 3
    assert lines[2].endswith("HTTP status 403: flagged")
    with Store.open(tmp_path / "r.sqlite") as store:
        assert [run.policy for run in store.runs()] == ["openai"]


def test_the_settings_file_plays(endpoint, tmp_path):
    text = (ROOT / "examples" / "endpoint.toml").read_text(encoding="utf-8")
    (policy,) = tomllib.loads(text)["policy"]
    file = tmp_path / "endpoint.toml"
    file.write_text(text.replace(policy["base_url"], endpoint.url), encoding="utf-8")
    words = ["--settings", file, "--tasks", "1", "--k", "1", "--database", tmp_path / "r.sqlite"]
    assert main(["evaluate", *map(str, words)]) == 0
    body = endpoint.asked[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("Qwen/Qwen3-0.6B", 0.7, 256)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "turns left]" in endpoint.asked[0].last


def test_the_settings_file_is_read_by_a_dry_run(capsys):
    assert (
        main(["evaluate", "--settings", str(ROOT / "examples" / "endpoint.toml"), "--dry-run"]) == 0
    )
    assert "run " in capsys.readouterr().out
