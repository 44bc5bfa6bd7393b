"""An endpoint played through the command line, into a database and a report."""

import json
import os
import signal
import threading

import pytest

from budget_envs.cli.main import main
from budget_envs.evaluation import Store

pytest.importorskip("httpx2", reason='needs pip install "budget-envs[endpoint]"')

LAKE = "budget_envs/FrozenLake-v0"
KEY = "sk-test-0123456789"


@pytest.fixture
def database(tmp_path):
    return tmp_path / "results.sqlite"


@pytest.fixture
def evaluate(endpoint, database, capsys, monkeypatch):
    """Run ``budget-envs evaluate`` against the fake endpoint; return its code and its errors."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def evaluate(*words, to=database, **settings):
        settings = {"model": "tiny", "base_url": endpoint.url, "max_retries": 1, **settings}
        given = ["--tasks", "3", "--k", "2", "--budgets", "2,4", "--database", str(to)]
        code = main(
            ["evaluate", LAKE, "--policy", f"openai={json.dumps(settings)}", *given, *words]
        )
        return code, capsys.readouterr().err

    return evaluate


def stored(database):
    with Store.open(database) as store:
        (run,) = store.runs()
        return run, store.episodes(run.run_id, with_turns=True)


def is_third(exchange):
    """Return whether a request is for an episode's third turn, which only long episodes have."""
    return len(exchange.asked.body["messages"]) == 5


def without_thinking_time(episodes):
    """Return what of episodes does not depend on the clock."""
    return [(e.key, e.verdict, e.boundary, e.error, [t.action for t in e.turns]) for e in episodes]


def test_its_turns_are_stored_and_its_trajectories_reported(evaluate, endpoint, database, tmp_path):
    endpoint.play = lambda e: e.answer("Down", usage=(40, 3))
    assert evaluate()[0] == 0
    run, episodes = stored(database)
    assert (run.policy, run.policy_settings["model"]) == ("openai", "tiny")
    assert len(episodes) == 24
    assert {turn.action for episode in episodes for turn in episode.turns} == {"Down"}
    assert all(e.num_tokens == 3 * len(e.turns) for e in episodes)
    page = tmp_path / "report.html"
    assert main(["report", str(database), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "openai" in text
    assert "Down" in text


def test_every_turn_is_one_request_with_the_whole_conversation(evaluate, endpoint, database):
    evaluate()
    _, episodes = stored(database)
    assert len(endpoint.asked) == sum(len(episode.turns) for episode in episodes)
    assert {len(asked.body["messages"]) for asked in endpoint.asked} == {1, 3, 5, 7}


def test_what_the_endpoint_breaks_down_at_is_void_and_the_rest_is_played(
    evaluate, endpoint, database
):
    count = iter(range(10**6))
    endpoint.play = lambda e: e.fail(500, "oops") if next(count) % 5 == 4 else e.answer()
    assert evaluate(max_retries=0, concurrency=1)[0] == 0
    _, episodes = stored(database)
    void = [episode for episode in episodes if episode.verdict == "void"]
    assert len(episodes) == 24
    assert 0 < len(void) < 24
    assert {(e.boundary, e.error) for e in void} == {("provider", "HTTP status 500: oops")}
    assert {e.episode_return for e in void} == {None}


def test_retries_leave_no_trace(evaluate, endpoint, database, tmp_path):
    assert evaluate()[0] == 0
    smooth = stored(database)[1]
    count = iter(range(10**6))
    endpoint.play = lambda e: e.fail(503) if next(count) % 2 else e.answer()
    other = tmp_path / "other.sqlite"
    assert evaluate(to=other, max_retries=9)[0] == 0
    assert without_thinking_time(stored(other)[1]) == without_thinking_time(smooth)


def test_a_batch_is_one_rounds_requests_at_once(evaluate, endpoint, database):
    barrier = threading.Barrier(24, timeout=20)

    def meet(exchange):
        if len(exchange.asked.body["messages"]) == 1:
            barrier.wait()
        exchange.answer()

    endpoint.play = meet
    assert evaluate(concurrency=24)[0] == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_refused_key_stops_with_one_line_and_stores_nothing(
    evaluate, endpoint, database, workers
):
    endpoint.play = lambda e: e.fail(401, f"bad key {KEY}")
    code, errors = evaluate("--workers", workers)
    assert code == 1
    assert errors.strip().splitlines()[-1] == (
        f"budget-envs: {endpoint.url} cannot be played with: HTTP status 401: bad key [key]. The "
        "environment variable OPENAI_API_KEY does not hold a key that it accepts."
    )
    assert "Traceback" not in errors
    with Store.open(database) as store:
        assert store.runs() == []


def test_a_key_that_expires_leaves_what_is_stored_for_the_same_command_to_continue(
    evaluate, endpoint, database
):
    endpoint.play = lambda e: e.fail(401, "expired") if is_third(e) else e.answer()
    assert evaluate()[0] == 1
    some = len(stored(database)[1])
    assert 0 < some < 24
    endpoint.play = lambda e: e.answer()
    assert evaluate(max_retries=3)[0] == 0  # patience is no part of a run's identity
    _, episodes = stored(database)
    assert len(episodes) == 24
    assert {episode.boundary for episode in episodes} <= {None, "budget"}


def test_ctrl_c_keeps_what_is_finished_and_leaves_no_thread(evaluate, endpoint, database):
    before, interrupt = set(threading.enumerate()), iter([signal.SIGINT])

    def play(exchange):
        if not is_third(exchange):
            return exchange.answer()
        for number in interrupt:  # once
            os.kill(os.getpid(), number)
        return exchange.hang()

    endpoint.play = play
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, errors = evaluate()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert code == 130
    assert "run the same command to continue" in errors
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if "portal" in thread.name]
    assert len(stored(database)[1]) > 0


def test_a_budget_of_tokens_is_what_may_be_generated(evaluate, endpoint, database):
    endpoint.play = lambda e: e.answer(usage=(40, e.asked.body["max_tokens"] // 2))
    evaluate("--set", 'budget={"tokens": 100}')
    _, episodes = stored(database)
    first = [
        asked.body["max_tokens"] for asked in endpoint.asked if len(asked.body["messages"]) < 2
    ]
    later = [
        asked.body["max_tokens"] for asked in endpoint.asked if len(asked.body["messages"]) == 3
    ]
    assert (set(first), set(later)) == ({100}, {50})
    assert {e.budget_report["tokens"]["counter"] for e in episodes} == {"charged"}


def test_a_budget_of_money_ends_an_episode(evaluate, endpoint, database):
    endpoint.play = lambda e: e.answer("Nothing", usage=(1_000_000, 0))
    evaluate("--set", 'budget={"cost": 3}', prompt_price=1.5, completion_price=9)
    _, episodes = stored(database)
    long = [episode for episode in episodes if episode.budget == 4]
    assert {episode.num_turns for episode in long} == {2}
    assert {episode.budget_report["exhausted"] for episode in long} == {"cost"}


def test_the_key_is_in_no_file(evaluate, endpoint, database, tmp_path):
    endpoint.play = lambda e: e.fail(500, f"{KEY}?") if e.asked.body["seed"] % 3 else e.answer()
    evaluate(max_retries=0)
    main(["report", str(database), "--html", str(tmp_path / "report.html")])
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file


def test_a_dry_run_asks_nothing(evaluate, endpoint):
    assert evaluate("--dry-run")[0] == 0
    assert endpoint.asked == []
