import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.intercode_sql import SqlAction, read_sql_action


@pytest.mark.parametrize("text", ["submit", "SUBMIT", " Submit.\n", "`submit`", "```\nsubmit\n```"])
def test_submit_is_read_in_any_form(text):
    assert read_sql_action(text) == SqlAction("submit")


@pytest.mark.parametrize("text", ["skip", "execute[skip]"])
def test_skip_is_read(text):
    assert read_sql_action(text) == SqlAction("skip")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("SELECT 1", "SELECT 1"),
        ("select 1;", "select 1;"),
        ("-- a thought\nSELECT 1", "-- a thought\nSELECT 1"),
        ("/* a */ (SELECT 1)", "/* a */ (SELECT 1)"),
        ("WITH t AS (SELECT 1) SELECT * FROM t", "WITH t AS (SELECT 1) SELECT * FROM t"),
        ("SHOW TABLES", "SHOW TABLES"),
        ("desc people", "desc people"),
        ("I look.\n```sql\nSELECT 2\n```\nand see", "SELECT 2\n"),
        ("```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", "SELECT 2\n"),
        ("Thought: count.\nAction: execute[SELECT a[1] FROM t]", "SELECT a[1] FROM t"),
        ("execute[SELECT 1] then execute[SELECT 2]", "SELECT 2"),
        ("SELECT 1; SELECT 2", "SELECT 1; SELECT 2"),
        ("DROP TABLE t", "DROP TABLE t"),
    ],
)
def test_a_statement_is_read_from_its_place(text, sql):
    assert read_sql_action(text) == SqlAction("sql", sql)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "I will submit the answer",
        "please select",
        "```\n\n```",
        "execute[]",
        "\x00",
        "\ud800",
    ],
)
def test_a_text_without_an_action_is_none(text):
    assert read_sql_action(text) is None


@given(st.text(max_size=200))
def test_reading_never_raises(text):
    read_sql_action(text)


@pytest.mark.parametrize("part", ["execute[", "]", "```", "--", "/*", "/* */ ", "-- \n", "( "])
def test_reading_floods_of_markers_terminates(part):
    read_sql_action(part * (300_000 // len(part)))
