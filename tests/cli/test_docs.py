import importlib.util
import inspect
import shlex
from pathlib import Path

import pytest

from budget_envs.cli.app import COMMANDS, build_app

FOLDER = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("generate_cli", FOLDER / "generate_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_writes(generator):
    assert generator.cli_page() == (FOLDER / "cli.md").read_text(encoding="utf-8")


def test_every_command_of_the_application_is_documented():
    page = (FOLDER / "cli.md").read_text(encoding="utf-8")
    names = {name for name in build_app() if not name.startswith("-")}
    assert names == set(COMMANDS)
    assert all(f"\n## budget-envs {name}\n" in page for name in names)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(generator, name):
    section = "\n".join(generator._section(name, COMMANDS[name]))
    for parameter in inspect.signature(COMMANDS[name]).parameters.values():
        assert f"| `{generator._spelled(parameter)}` | " in section


@pytest.mark.slow
def test_the_examples_of_the_page_run_from_top_to_bottom(generator, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(generator.EXAMPLES) == set(COMMANDS)
    for lines in generator.EXAMPLES.values():
        for line in lines:
            program, *words = shlex.split(line)
            assert program == "budget-envs"
            done = cli(*words)
            assert (done.code, "Traceback" in done.err) == (0, False), line
    assert (tmp_path / "runs" / "report.html").is_file()


def test_the_settings_file_of_the_page_is_read(generator, cli, tmp_path):
    block = generator.INTRODUCTION.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "s.toml").write_text(block, encoding="utf-8")
    done = cli("evaluate", "--settings", tmp_path / "s.toml", "--dry-run", "--json")
    assert [run["policy"] for run in done.document["runs"]] == ["random", "oracle"]
