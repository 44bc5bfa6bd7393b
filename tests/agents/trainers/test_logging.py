import csv
import math

import pytest

from budget_envs.agents.trainers.logging import ScalarLog, read_scalars
from budget_envs.errors import DataError


def test_what_was_written_is_read(tmp_path):
    with ScalarLog(tmp_path) as log:
        log.write(0, {"charts/SPS": 3})
        log.write(1, {"charts/SPS": 4.5, "losses/policy_loss": -1e-9})
    expected = {"charts/SPS": {0: 3.0, 1: 4.5}, "losses/policy_loss": {1: -1e-9}}
    assert read_scalars(tmp_path) == expected


def test_the_table_has_a_row_for_each_step(tmp_path):
    with ScalarLog(tmp_path) as log:
        log.write(5, {"b": 1.0})
        log.write(7, {"a": 0.1})
    with (tmp_path / "log.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == [["step", "a", "b"], ["5", "", "1.0"], ["7", "0.1", ""]]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_no_curve_can_show_is_left_out(tmp_path, value):
    with ScalarLog(tmp_path) as log:
        log.write(0, {"a": value, "b": 1})
    assert read_scalars(tmp_path) == {"b": {0: 1.0}}


def test_a_resume_forgets_the_steps_that_it_repeats(tmp_path):
    with ScalarLog(tmp_path) as log:
        for step in range(4):
            log.write(step, {"a": step})
    with ScalarLog(tmp_path, first_step=2) as log:
        log.write(2, {"a": 20})
    assert read_scalars(tmp_path) == {"a": {0: 0.0, 1: 1.0, 2: 20.0}}


def test_a_log_that_is_none(tmp_path):
    with pytest.raises(DataError, match="no training log"):
        read_scalars(tmp_path)
    (tmp_path / "log.sqlite").write_bytes(b"not a database, whatever its name says" * 9)
    with pytest.raises(DataError, match="cannot read"):
        read_scalars(tmp_path)
    with pytest.raises(DataError, match="cannot write"):
        ScalarLog(tmp_path)
