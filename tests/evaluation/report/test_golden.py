import pytest


@pytest.fixture(scope="module")
def texts(cases, fixed):
    return cases.golden_texts(*fixed)


@pytest.mark.parametrize("name", ["report.json", "report.txt", "report.html"])
def test_the_report_of_the_fixed_database_equals_its_golden_text(cases, texts, name):
    assert texts[name] == (cases.GOLDEN / name).read_text(encoding="utf-8")


def test_every_golden_file_is_tested(cases, texts):
    assert {path.name for path in cases.GOLDEN.iterdir()} == set(texts)
