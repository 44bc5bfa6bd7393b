import base64
import dataclasses
import hashlib
import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.errors import DataError, DependencyNotInstalled
from budget_envs.evaluation.report import summarize, write_html
from budget_envs.evaluation.report.html import render
from budget_envs.evaluation.report.text import BOUND_NOTE
from budget_envs.evaluation.store import Store

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    '" onmouseover="window.hacked=1',
    "]]><!--<script>",
    "{{ 7*7 }}{% raw %}{# x #}${7*7}",
    "\ud83d\x00\x1b[2J\u202e\u2028\u2029",
    "javascript:alert(1)&lt;&#60;",
)
ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(HOSTILE)


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts, styles and captions."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.inside, self.texts = [], [], {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)
        if tag in ("script", "style", "caption", "pre"):
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, content):
        for tag in set(self.inside) & set(self.texts):
            self.texts[tag][-1] += content

    def named(self, tag):
        return [attributes for each, attributes in self.elements if each == tag]


@pytest.fixture(scope="module")
def text(fixed):
    return render(*fixed, 10_000_000)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def digest(source):
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


# One file, without the network.


def test_the_page_forbids_all_but_its_own_style_and_script(page):
    (policy,) = [m["content"] for m in page.named("meta") if "http-equiv" in m]
    (style,) = page.texts["style"]
    script = page.texts["script"][-1]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def test_the_policy_comes_before_everything_that_it_governs(text):
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")


def test_nothing_in_the_page_points_outside(page):
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "poster"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in page.texts["style"][0]
    assert "@import" not in page.texts["style"][0]
    assert "//" not in re.sub(r"//.*|/\*.*?\*/", "", page.texts["style"][0])


def test_the_script_writes_text_and_never_markup(page):
    script = page.texts["script"][-1]
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in script


def test_no_element_has_a_handler_or_a_style_of_its_own(page):
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_both_json_blocks_can_be_read(page):
    tasks, trajectories, _ = page.texts["script"]
    assert len(json.loads(tasks)) == 3
    assert len(json.loads(trajectories)["episodes"]) == 78


def test_the_page_says_how_many_trajectories_it_holds(text):
    assert "78 of 78 trajectories are in this page" in text


def test_the_same_database_gives_the_same_bytes(fixed, text):
    assert render(*fixed, 10_000_000) == text


def test_the_page_stays_within_its_size(fixed, text):
    size = len(text.encode()) - 3_000
    page = render(*fixed, size)
    assert size - 3_000 < len(page.encode()) <= size
    assert "78 of 78" not in page


# What is on it.


def test_every_table_has_a_caption_that_names_the_protocol(page):
    assert len(page.named("table")) == len(page.texts["caption"])
    captions = page.texts["caption"][:-1]  # the last one is of the tasks, which the script fills
    assert len(captions) >= 15
    assert all("protocol truncate" in text or "protocol rerun" in text for text in captions)


def test_ids_are_unique_and_references_lead_to_them(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    wanted |= {a["href"][1:] for _, a in page.elements if "href" in a}
    assert wanted <= set(ids)


def test_charts_are_said_in_words(page):
    drawn = [attributes for attributes in page.named("svg") if "aria-hidden" not in attributes]
    assert len(drawn) == 9
    assert all("Pass@(" in svg["aria-label"] for svg in drawn)


def test_every_form_control_has_a_label(page):
    assert all(tag != "select" or "id" in attributes for tag, attributes in page.elements)
    assert len(page.named("label")) >= len(page.named("select"))


def test_the_command_of_every_run_is_on_the_page(fixed, page):
    commands = page.texts["pre"]
    for report in fixed[1].runs:
        assert report.run.command in commands


def test_numbers_of_the_headline_are_on_the_page(fixed, text):
    cell = fixed[1].runs[0].cells[2, 2]
    assert f"{100 * cell.rate:.1f}<small>[" in text


def test_strict_rates_are_shown_where_there_are_void_episodes(cases, text, store):
    assert text.count("strict: void as failure") == 2
    cases.add(store, cases.make_run(), cases.often)
    assert "strict: void" not in render(store, summarize(store, num_resamples=5), 10**6)


def test_an_empty_database_gives_a_page_that_says_so(store):
    page = render(store, summarize(store), 10**6)
    assert 'No runs are stored in <span class="mono">:memory:</span>' in page
    assert 'id="viewer"' not in page


def test_a_run_without_episodes_gives_dashes_and_zeros(cases, store):
    cases.add(store, cases.make_run(), lambda *_: "missing")
    page = render(store, summarize(store, num_resamples=5), 10**6)
    assert "no episode is stored yet, of 36 requested." in page
    assert "0 of 0 trajectories" in page
    assert "nan" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL).lower()


def test_many_budgets_make_a_page(cases, store):
    run = cases.make_run(budgets=tuple(range(1, 51)), protocol="truncate", num_rollouts=2)
    cases.add(store, run, cases.often, bounds=None)
    assert "10 of 50 budgets are shown" in render(store, summarize(store, num_resamples=5), 10**6)


def test_a_bound_comes_with_a_note_that_an_estimate_may_exceed_it(cases, store):
    cases.add(store, cases.make_run(), cases.often)
    page = render(store, summarize(store, num_resamples=2), 10**6)
    assert html.unescape(page).count(BOUND_NOTE) == 1


def test_without_a_bound_there_is_no_note_about_it(cases, store):
    cases.add(store, cases.make_run(), cases.often, bounds=None)
    page = render(store, summarize(store, num_resamples=2), 10**6)
    assert BOUND_NOTE not in html.unescape(page)


@pytest.mark.parametrize("count", [3, 10])
def test_every_interval_holds_its_estimate_with_any_number_of_budgets(cases, store, count):
    run = cases.make_run(budgets=tuple(range(1, count + 1)), num_rollouts=5)
    cases.add(store, run, cases.often, bounds=None)
    page = render(store, summarize(store, num_resamples=100), 0)
    cells = re.findall(r"([\d.]+) ?<small>\[([\d.]+), ([\d.]+)\]", page)
    assert len(cells) > 2 * count
    assert all(float(low) <= float(rate) <= float(high) for rate, low, high in cells)


# Hostile text.


def hostile_page(cases, text):
    """Return a page with ``text`` wherever somebody else's text can be."""
    with Store.in_memory() as store:
        run = cases.make_run(
            policy=f"p{text}",
            run_id=f"r{text}".encode(errors="replace").decode(),  # ids are hexadecimal anyway
            env_id=f"e{text}",
            env_kwargs={text: text},
            policy_settings={text: [text]},
            task_ids=(f"t{text}",),
            budgets=(4,),
            num_rollouts=1,
            k=1,
            command=text + "c",
            env_spec=text,
            versions={text: text},
            git_commit=text + "g",
            dataset_checksums={text: text},
            split=text + "s",
            token_counter=text + "w",
        )
        turn = cases.make_turn(
            1,
            4,
            observation=text,
            action=text,
            executed_action=text,
            state_key=text,
            injected={"kind": text},
            oracle={"value": 0.0, "best": 0.0, "regret": 0.0, "best_actions": [text]},
            budget={text: {"limit": 4, "used": 1, "remaining": 3}},
        )
        cases.add(
            store,
            run,
            lambda *_: "void",
            bounds=None,
            turns=(turn,),
            final_observation=text,
            error=text,
        )
        report = summarize(store, num_resamples=2)
        return render(store, dataclasses.replace(report, database=text), 10**6)


def skeleton(page):
    """Return the page's elements with the names of their attributes."""
    return [(tag, sorted(attributes)) for tag, attributes in Page(page).elements]


@settings(max_examples=15)
@given(text=ANY_TEXT)
def test_no_text_changes_the_elements_of_the_page(cases, text):
    page = hostile_page(cases, text)
    page.encode()
    assert skeleton(page) == skeleton(hostile_page(cases, "harmless"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_not_change_the_elements_of_the_page(cases, text):
    assert skeleton(hostile_page(cases, text)) == skeleton(hostile_page(cases, "harmless"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_not_in_the_page_as_it_stands(cases, text):
    page = hostile_page(cases, text)
    markup = set("<>&\ud83d\x00\u202e\u2028")
    if markup & set(text):
        assert text not in page


# The file.


def test_writing_returns_the_path_and_leaves_nothing_else(fixed, tmp_path):
    path = write_html(fixed[0], tmp_path / "report.html", summary=fixed[1])
    assert [path] == list(tmp_path.iterdir())
    assert path.read_bytes().startswith(b"<!doctype html>")


def test_a_report_that_is_there_is_replaced(fixed, tmp_path):
    (tmp_path / "report.html").write_text("old", encoding="utf-8")
    write_html(fixed[0], str(tmp_path / "report.html"), summary=fixed[1])
    assert (tmp_path / "report.html").read_text(encoding="utf-8") != "old"


def test_only_the_runs_asked_for_are_written(fixed, tmp_path):
    path = write_html(fixed[0], tmp_path / "report.html", ["beta"])
    content = path.read_text(encoding="utf-8")
    assert "beta-0123456789" in content
    assert "alpha-0123456789" not in content


@pytest.mark.parametrize(
    ("name", "what"), [("", "is a folder"), ("no/such/report.html", "does not exist")]
)
def test_a_path_that_cannot_be_written_is_an_error(fixed, tmp_path, name, what):
    with pytest.raises(DataError, match=what):
        write_html(fixed[0], tmp_path / name, summary=fixed[1])


def test_without_jinja2_the_error_names_the_extra(fixed, tmp_path, monkeypatch):
    from budget_envs.evaluation.report import html

    monkeypatch.setitem(sys.modules, "jinja2", None)
    html._environment.cache_clear()
    with pytest.raises(DependencyNotInstalled, match=r"budget-envs\[eval\]"):
        write_html(fixed[0], tmp_path / "report.html", summary=fixed[1])


def test_importing_the_report_imports_neither_rich_nor_jinja2():
    code = (
        "import sys, budget_envs.evaluation.report; "
        "print(sorted({'rich', 'jinja2', 'markupsafe', 'matplotlib'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
