from hypothesis import given
from hypothesis import strategies as st

from budget_envs.envs.intercode_sql.text import first_observation, result_observation
from budget_envs.sql.protocol import QueryResult

cells = st.none() | st.integers() | st.floats() | st.text(max_size=300) | st.binary(max_size=20)


@given(st.lists(st.tuples(cells, cells), max_size=80))
def test_any_result_is_a_short_table_with_its_number_of_rows(rows):
    text = result_observation(QueryResult(("a", "b"), tuple(rows), len(rows)))
    assert len(text) < 4000
    assert text.startswith("a | b\n")
    assert str(len(rows)) in text.splitlines()[-1]


def test_long_cells_and_line_breaks_are_shown_in_one_line():
    text = result_observation(QueryResult(("a",), (("x\ny" * 300,),), 1))
    assert text.splitlines()[1].endswith("... (1200 characters)")
    assert len(text.splitlines()) == 3


def test_errors_and_writes_are_told():
    assert result_observation(QueryResult(error="no such table: t")) == "Error: no such table: t"
    assert result_observation(QueryResult(affected_rows=1)) == "Done: 1 row affected."
    assert result_observation(QueryResult()) == "Done."


def test_the_first_observation_says_what_may_be_done():
    text = first_observation("shop", "How many?", writable=False, auto_submit=False)
    assert "read-only" in text
    assert "submit" in text
    assert text.endswith("Question: How many?")
    auto = first_observation("shop", "How many?", writable=True, auto_submit=True)
    assert "You may change it" in auto
    assert "answer submit" not in auto
