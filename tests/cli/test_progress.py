import io
import sys

import pytest

from budget_envs.cli.progress import shown_progress
from budget_envs.evaluation import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Put a terminal in the place of standard error, once the test itself runs."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")

    def connect():
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return connect


def test_a_terminal_gets_a_bar_that_reaches_the_end(terminal):
    stream = terminal()
    with shown_progress("random", 40) as update:
        update(Progress(done=20, total=40, resumed=10))
        update(Progress(done=40, total=40, resumed=10))
    assert "random" in stream.getvalue()
    assert "40/40" in stream.getvalue()
    assert "episodes/s" in stream.getvalue()


def test_episodes_that_errors_ended_are_shown(terminal):
    stream = terminal()
    with shown_progress("random", 4) as update:
        update(Progress(done=4, total=4, resumed=0, dead=3, void=2))
    assert "3 ended by errors, 2 of them void" in stream.getvalue()


def test_the_name_is_not_read_as_markup(terminal):
    stream = terminal()
    with shown_progress("[red]x[/red]", 1) as update:
        update(Progress(done=1, total=1, resumed=0))
    assert "[red]x[/red]" in stream.getvalue()


@pytest.mark.parametrize(
    ("total", "resumed", "line"),
    [
        (1234, 0, "random: 1,234 episodes"),
        (1, 0, "random: 1 episode"),
        (3000, 1200, "random: 3,000 episodes, 1,200 of them in the database already"),
        (24, 24, "random: 24 episodes, all of them in the database already"),
    ],
)
def test_a_log_gets_one_line_and_no_bar(capsys, total, resumed, line):
    with shown_progress("random", total) as update:
        update(Progress(done=resumed, total=total, resumed=resumed))
        update(Progress(done=total, total=total, resumed=resumed))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"{line}\n")


def test_a_bar_says_what_was_there(terminal):
    stream = terminal()
    with shown_progress("random", 40) as update:
        update(Progress(done=10, total=40, resumed=10))
    assert "10 of them in the database already" in stream.getvalue()


def test_a_bar_of_a_fresh_run_says_nothing_about_the_database(terminal):
    stream = terminal()
    with shown_progress("random", 40) as update:
        update(Progress(done=40, total=40, resumed=0))
    assert "database" not in stream.getvalue()


def test_the_name_does_not_steer_the_terminal(capsys):
    with shown_progress("\x1b]0;title\x07", 1) as update:
        update(Progress(done=0, total=1, resumed=0))
    assert capsys.readouterr().err == "\\x1b]0;title\\x07: 1 episode\n"
