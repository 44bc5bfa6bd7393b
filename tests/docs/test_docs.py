"""The examples in the README, the docs and the docstrings print what they say they print."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import budget_envs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules():
    for module in pkgutil.walk_packages(budget_envs.__path__, "budget_envs."):
        if not module.name.startswith("budget_envs.sandbox.zygote"):
            yield module.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_in_pages_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(>>> .*?)```", text, flags=re.DOTALL)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS)
    test = parser.get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_the_readme_has_examples():
    assert (ROOT / "README.md").read_text(encoding="utf-8").count(">>> ") >= 5


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings_print_what_they_say(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed == 0


def test_the_environments_page_is_what_the_generator_writes():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.environments_page() == generate.TARGET.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target
