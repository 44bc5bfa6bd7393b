import pytest

from budget_envs.evaluation import Store


def test_it_shows_every_run(cli, database):
    done = cli("report", database)
    assert done.code == 0
    assert all(name in done.out for name in ("random", "shortest_path", "oracle"))


def test_only_the_runs_that_are_named_are_shown(cli, database):
    out = cli("report", database, "oracle").out
    assert "oracle" in out
    assert "shortest_path (run" not in out


def test_the_page_is_written_and_its_path_comes_last(cli, database, tmp_path):
    page = tmp_path / "new" / "report.html"
    done = cli("report", database, "--html", page)
    assert done.code == 0
    assert done.out.rstrip().endswith(f"Report: {page}")
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert "shortest_path" in text


def test_without_html_no_file_is_written(cli, database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("report", database).code == 0
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_that_names_the_page(cli, database, tmp_path):
    page = tmp_path / "report.html"
    document = cli("report", database, "random", "--html", page, "--json").document
    assert document["html"] == str(page)
    assert page.is_file()
    runs = [run for group in document["comparisons"] for run in group["runs"]]
    assert [run["label"] for run in runs] == ["random"]


def test_json_without_a_page_says_so(cli, database):
    assert cli("report", database, "--json").document["html"] is None


@pytest.mark.parametrize("create", [True, False])
def test_a_database_without_runs_is_an_error_of_data(cli, tmp_path, create):
    path = tmp_path / "empty.sqlite"
    if create:
        Store.open(path, create=True).close()
    done = cli("report", path)
    assert done.code == 1
    assert str(path) in done.err


def test_an_unknown_run_is_misuse_and_names_the_nearest(cli, database):
    done = cli("report", database, "randm")
    assert done.code == 2
    assert "Did you mean 'random'" in done.err


def test_a_report_never_replaces_the_database(cli, database, tmp_path):
    copy = tmp_path / "results.html"  # the ending says nothing about what is in it
    copy.write_bytes(database.read_bytes())
    for target in (database, copy):
        before = target.read_bytes()
        done = cli("report", target, "--html", target)
        assert (done.code, done.out) == (2, "")
        assert "no HTML page" in done.err
        assert target.read_bytes() == before


def test_a_report_replaces_pages_and_no_other_file(cli, database, tmp_path):
    notes, page = tmp_path / "notes.txt", tmp_path / "page"
    notes.write_text("mine", encoding="utf-8")
    assert cli("report", database, "--html", notes).code == 2
    assert notes.read_text(encoding="utf-8") == "mine"
    assert [cli("report", database, "--html", page).code for _ in range(2)] == [0, 0]
