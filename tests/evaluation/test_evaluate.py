import dataclasses
import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import numpy as np
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.errors import BudgetEnvsError, OptionError, UnsupportedError
from budget_envs.evaluation.evaluate import Progress, evaluate, run_plan
from budget_envs.evaluation.plan import make_plan
from budget_envs.evaluation.policy import Action, Policy
from budget_envs.evaluation.store import Store

LAKE = "budget_envs/FrozenLake-v0"
SLIPPERY = {"success_rate": 0.8}
MODULE = sys.modules["budget_envs.evaluation.evaluate"]  # the package has the function
NO_RAY = pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")


def run(policy="random", budgets=(3, 6, 10), **keywords):
    keywords = {"tasks": 20, "k": 2, **keywords}
    return evaluate(make_policy(policy), LAKE, list(budgets), **keywords)


# What is played.


def test_every_requested_episode_is_there_in_order():
    result = run(num_rollouts=3, tasks=4)
    expected = [(t, b, r) for t in result.run.task_ids for b in (3, 6, 10) for r in range(3)]
    assert [tuple(episode.key) for episode in result.episodes] == expected
    assert len(expected) == result.run.num_requested


def test_the_run_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr(MODULE, "command_line", lambda: "run it")
    run_ = run(tasks=1).run
    assert {"python", "budget_envs", "gymnasium", "numpy"} <= set(run_.versions)
    assert run_.created <= run_.finished
    assert run_.command == "run it"


def test_without_a_store_the_turns_are_returned():
    result = run(tasks=2)
    assert all(len(episode.turns) == episode.num_turns > 0 for episode in result.episodes)


def test_the_same_seed_gives_the_same_episodes(same):
    one, other = run(env_kwargs=SLIPPERY), run(env_kwargs=SLIPPERY)
    assert one.episodes == other.episodes
    assert same(one.run, other.run)


def test_another_seed_gives_others():
    assert run(env_kwargs=SLIPPERY).episodes != run(env_kwargs=SLIPPERY, seed=1).episodes


def test_the_batch_size_changes_nothing():
    assert run(batch_size=1).episodes == run(batch_size=7).episodes == run().episodes


def test_more_tasks_leave_the_first_ones_as_they_are():
    few, many = run(tasks=5), run(tasks=9)
    assert few.episodes == many.episodes[: len(few.episodes)]


def test_more_rollouts_leave_the_first_ones_as_they_are():
    few, many = run(num_rollouts=2), run(num_rollouts=5)
    assert few.episodes == tuple(e for e in many.episodes if e.rollout < 2)


def test_rollouts_of_one_task_differ():
    result = run(budgets=[10], tasks=1, num_rollouts=8, env_kwargs={"size": 8})
    assert len({tuple(t.action for t in episode.turns) for episode in result.episodes}) > 1


def test_the_dynamics_differ_between_rollouts_too():
    result = run("shortest_path", [10], tasks=1, num_rollouts=16, env_kwargs={"success_rate": 0.4})
    assert len({tuple(t.executed_action for t in e.turns) for e in result.episodes}) > 1


def test_two_policies_meet_the_same_luck():
    keywords = {"budgets": [10], "env_kwargs": SLIPPERY, "tasks": ["SFFF/FFFF/FFFF/FFFG"]}
    down = make_policy("scripted", actions=["Down"])
    other = make_policy("scripted", actions=["Down", "Down", "Down", "Down", "Up"])
    first, second = (
        evaluate(policy, LAKE, k=4, num_rollouts=30, **keywords) for policy in (down, other)
    )
    slips = [
        [[t.executed_action != t.action for t in e.turns[:4]] for e in result.episodes]
        for result in (first, second)
    ]
    assert slips[0] == slips[1]
    assert any(map(any, slips[0]))


# Protocols.


@pytest.mark.parametrize("policy", ["random", "shortest_path"])
@pytest.mark.parametrize("kwargs", [{}, SLIPPERY])
def test_for_a_policy_blind_to_its_budget_both_protocols_agree(policy, kwargs):
    truncated = run(policy, protocol="truncate", env_kwargs=kwargs)
    rerun = run(policy, protocol="rerun", env_kwargs=kwargs)
    assert np.array_equal(truncated.counts.successes, rerun.counts.successes)
    assert np.array_equal(truncated.pass_kt().mean, rerun.pass_kt().mean)


def test_truncate_is_monotone_in_the_budget():
    mean = run(budgets=range(1, 11), protocol="truncate").pass_kt().mean
    assert np.all(np.diff(mean, axis=1) >= 0)


# Void and dead episodes.


def test_void_episodes_are_counted_and_leave_the_rate(fake_id):
    tasks = ["pass-1", "void-1", "fail-1"]
    result = evaluate(make_policy("random"), fake_id, [3], tasks=tasks, k=2)
    estimate = result.pass_kt([1])
    assert estimate.num_void.tolist() == [4]
    assert (estimate.conditional.mean[0, 0], estimate.strict.mean[0, 0]) == (1 / 2, 1 / 3)


def test_a_task_with_void_episodes_only_stays_in_the_table(fake_id):
    result = evaluate(make_policy("random"), fake_id, [3], tasks=["pass-1", "raise-1"], k=2)
    estimate = result.pass_kt([1])
    assert (estimate.total_tasks, estimate.conditional.num_tasks[0, 0]) == (2, 1)


def test_dead_agents_stay_in_the_denominator(counting, fake_id):
    def respond(conversation):
        if conversation.id.endswith("#0"):
            raise ValueError("confused")
        return Action("go")

    result = evaluate(counting(respond), fake_id, [3], tasks=["pass-1"], k=1, num_rollouts=4)
    assert result.pass_kt([1]).mean[0, 0] == 3 / 4


def test_tasks_solved_at_reset_enter_no_rate(fake_id):
    result = evaluate(make_policy("random"), fake_id, [3], tasks=["solved-1", "fail-1"], k=1)
    estimate = result.pass_kt([1])
    assert estimate.num_solved_at_reset.tolist() == [2]
    assert (estimate.mean[0, 0], estimate.conditional.num_tasks[0, 0]) == (0.0, 1)


# Against the structural bound.


@pytest.mark.parametrize("kwargs", [{}, SLIPPERY, {"success_rate": 1 / 3}])
def test_the_oracle_reaches_its_own_upper_bound_under_every_budget(kwargs):
    budgets = ["25%", "50%", "75%", "100%"]
    result = run("oracle", budgets, tasks=60, k=8, env_kwargs=kwargs)
    intervals = result.intervals([1])
    for column, bound in enumerate(result.upper_bounds().values()):
        assert bound.low <= intervals.estimate[0, column] <= bound.high
        assert abs(intervals.estimate[0, column] - bound.estimate) < 0.04


def test_on_ice_that_is_not_slippery_it_reaches_it_exactly():
    result = run("oracle", [1, 2, 3, 4, 5], tasks=60)
    bounds = [bound.estimate for bound in result.upper_bounds().values()]
    assert result.pass_kt([1]).mean[0].tolist() == pytest.approx(bounds)


@pytest.mark.parametrize("kwargs", [{}, SLIPPERY])
def test_random_play_stays_below_the_bound(kwargs):
    result = run(tasks=60, k=8, env_kwargs=kwargs)
    intervals = result.intervals([1])
    for column, bound in enumerate(result.upper_bounds().values()):
        assert intervals.high[0, column] < bound.low


def test_on_slippery_ice_shortest_paths_lose_to_planning_for_time():
    kwargs = {"map_name": "4x4", "success_rate": 1 / 3}
    blind, aware = (
        run(policy, [100], k=100, env_kwargs=kwargs).pass_kt([1]).mean[0, 0]
        for policy in ("shortest_path", "oracle")
    )
    assert aware == pytest.approx(0.744, abs=0.08)
    assert blind < aware - 0.3


def test_the_bounds_are_stored_with_the_run():
    result = run(tasks=30)
    expected = {T: bound.estimate for T, bound in result.upper_bounds().items()}
    assert result.run.upper_bounds == expected


def test_without_an_oracle_there_is_no_bound(fake_id):
    result = evaluate(make_policy("random"), fake_id, [3], tasks=2, k=1)
    assert (result.upper_bounds(), result.run.upper_bounds) == (None, None)


# The store.


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def test_a_stored_run_holds_what_was_returned(path):
    kept, returned = run(store=path), run()
    with Store.open(path) as store:
        (stored,) = store.runs()
        episodes = store.episodes(stored.run_id, with_turns=True)
    assert stored == kept.run
    assert tuple(episodes) == returned.episodes
    assert kept.episodes == tuple(dataclasses.replace(e, turns=()) for e in returned.episodes)


def test_a_store_that_is_open_stays_open(path):
    with Store.open(path, create=True) as store:
        result = run(store=store)
        assert store.run(result.run.run_id) == result.run


def test_a_run_that_is_there_is_not_repeated(path, counting, fake_id):
    first, second = counting(), counting()
    one = evaluate(first, fake_id, [3], tasks=3, k=1, store=path)
    other = evaluate(second, fake_id, [3], tasks=3, k=1, store=path)
    assert second.asked == []
    assert (one.num_resumed, other.num_resumed) == (0, 6)
    assert (other.run, other.episodes) == (one.run, one.episodes)


def test_an_interrupted_run_continues_and_repeats_nothing(path, counting, fake_id):
    def stop(state):
        if state.done >= 4:
            raise KeyboardInterrupt

    first, second = counting(), counting()
    settings = {"budgets": [9], "tasks": ["pass-2", "pass-3", "void-5", "fail-8"], "k": 1}
    with pytest.raises(KeyboardInterrupt):
        evaluate(first, fake_id, **settings, store=path, progress=stop)
    with Store.open(path) as store:
        (stored,) = store.runs()
        assert (stored.finished, len(store.keys(stored.run_id))) == (None, 4)
    result = evaluate(second, fake_id, **settings, store=path)
    assert result.num_resumed == 4
    assert {name for name, _ in second.asked} == {
        f"{t}#9#{r}" for t in settings["tasks"][2:] for r in (0, 1)
    }
    whole = evaluate(counting(), fake_id, **settings)
    assert result.episodes == tuple(dataclasses.replace(e, turns=()) for e in whole.episodes)


def test_several_runs_share_a_database(path):
    run("random", store=path, tasks=2)
    run("shortest_path", store=path, tasks=2)
    with Store.open(path) as store:
        assert [stored.policy for stored in store.runs()] == ["random", "shortest_path"]


def test_another_k_rereads_the_same_episodes(path):
    run(store=path, k=2, num_rollouts=6)
    result = run(store=path, k=3, num_rollouts=6)
    assert (result.num_resumed, result.run.k) == (len(result.episodes), 3)


# Progress and plans.


def test_progress_counts_up_to_the_total(fake_id):
    seen = []
    tasks = ["pass-1", "void-2", "raise-3", "fail-1"]
    evaluate(make_policy("random"), fake_id, [3], tasks=tasks, k=1, progress=seen.append)
    assert [state.done for state in seen] == [0, 4, 6, 8]
    assert seen[-1] == Progress(done=8, total=8, resumed=0, solved=2, dead=4, void=4)


def test_progress_knows_what_was_there(path):
    seen = []
    run(store=path, tasks=2, budgets=[3])
    run(store=path, tasks=2, budgets=[3], progress=seen.append)
    assert seen == [Progress(done=8, total=8, resumed=8)]


def test_a_plan_is_what_evaluate_plays(same):
    policy = make_policy("random")
    plan = make_plan(policy, LAKE, [3, 6], tasks=5, k=2)
    played = run_plan(plan, policy)
    assert played.episodes == evaluate(policy, LAKE, [3, 6], tasks=5, k=2).episodes
    unknown = {name: getattr(plan.run, name) for name in ("versions", "upper_bounds")}
    unknown |= {"created": plan.run.created, "finished": None}
    unknown |= {name: getattr(plan.run, name) for name in ("command", "git_commit")}
    assert same(dataclasses.replace(played.run, **unknown), plan.run)


def test_planning_plays_nothing(counting, fake_id):
    policy = counting()
    make_plan(policy, fake_id, [3], tasks=3, k=1)
    assert (policy.asked, policy.begun) == ([], [])


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "many", None])
def test_workers_are_a_positive_integer_or_ray(workers):
    with pytest.raises(OptionError, match="workers must be a positive integer or 'ray'"):
        run(workers=workers)


@pytest.mark.parametrize("workers", [0, "many", pytest.param("ray", marks=NO_RAY)])
def test_workers_that_cannot_be_leave_no_file(path, workers):
    with pytest.raises(BudgetEnvsError):
        run(workers=workers, store=path)
    assert not path.exists()


class Unpicklable(Policy):
    def __init__(self):
        self.name, self.settings, self.callback = "unpicklable", {}, lambda: None

    def act(self, conversations):
        return [Action("Right") for _ in conversations]


def test_a_run_that_fails_before_its_first_episode_is_not_stored(path):
    with pytest.raises(UnsupportedError, match="cannot be sent"):
        evaluate(Unpicklable(), LAKE, [3], tasks=2, k=1, workers=2, store=path)
    with Store.open(path) as store:
        assert store.runs() == []


def test_the_command_of_a_run_is_the_one_that_gave_its_first_episode(path, monkeypatch):
    def attempt(command, workers):
        monkeypatch.setattr(MODULE, "command_line", lambda: command)
        evaluate(Unpicklable(), LAKE, [3], tasks=2, k=1, workers=workers, store=path)

    with pytest.raises(UnsupportedError):
        attempt("one that fails", 2)
    attempt("one that works", 1)
    attempt("one that finds everything there", 1)
    with Store.open(path) as store:
        assert [run_.command for run_ in store.runs()] == ["one that works"]


def test_errors_of_this_package_can_be_caught_as_one(path):
    path.write_text("no database")
    with pytest.raises(BudgetEnvsError):
        run(store=path)
    assert path.read_text() == "no database"


@pytest.mark.parametrize("workers", [1, 2])
def test_results_do_not_depend_on_the_process_or_its_hash_seed(tmp_path, workers):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
            import hashlib
            import budget_envs
            from budget_envs.agents.policies import make_policy
            from budget_envs.evaluation import evaluate

            if __name__ == "__main__":
                result = evaluate(
                    make_policy("oracle", ties="random"), {LAKE!r}, ["50%", "100%"], tasks=8, k=2,
                    env_kwargs={{"success_rate": 0.8, "oracle": True}}, workers={workers},
                )
                text = repr((result.run.run_id, result.episodes))
                print(hashlib.sha256(text.encode()).hexdigest())
        """)
    )
    printed = {
        subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
