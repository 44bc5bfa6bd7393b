import copy
import math
import os
import pickle

import gymnasium as gym
import pytest

from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, read_program, write_program
from budget_envs.errors import EnvStateError, OptionError, TaskDataUnavailable
from budget_envs.sandbox import TIERS, SandboxUnavailable
from budget_envs.text_env import TextEnv

WRONG = write_program("def solve(*arguments):\n    return 'wrong'")
EMPTY = write_program("")


def gold(env):
    return write_program(env.task.reference_solution)


class Counting:
    """A shared sandbox that counts the programs it runs."""

    def __init__(self, monkeypatch):
        import budget_envs.envs.deepcoder_mt.env as module

        self.runs, self.shared = 0, module.shared_sandbox
        monkeypatch.setattr(module, "shared_sandbox", self.of)

    def of(self, tier):
        self.sandbox = self.shared(tier)
        self.limits = self.sandbox.limits
        return self

    def open_candidate(self, source, limits):
        self.runs += 1
        return self.sandbox.open_candidate(source, limits)


@pytest.fixture
def counting(monkeypatch):
    return Counting(monkeypatch)


# Turns.


@pytest.mark.parametrize("kind", ["functional", "stdin"])
@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_the_reference_solution_succeeds_in_one_turn(make_env, kind, level):
    env = make_env(seed=level, levels=[level], kind=kind)
    text, reward, terminated, truncated, info = env.step(gold(env))
    assert (text, reward, terminated, truncated) == ("All hidden tests pass.", 1.0, True, False)
    assert info["verdict"] == "pass"
    assert info["is_success"] is True
    assert info["public_passed"] == info["public_total"] == len(env.task.public)


def test_a_wrong_program_goes_on_and_is_told_why(make_env):
    env = make_env()
    text, reward, terminated, truncated, info = env.step(WRONG)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["public_passed"], info["invalid_action"]) == (0, False)
    assert "verdict" not in info
    assert text.startswith(f"0 of {len(env.task.public)} public tests pass.")
    assert text.count("got: 'wrong'") == 2


def test_a_text_without_a_program_costs_the_turn_and_changes_nothing(make_env, counting):
    env = make_env()
    env.step(WRONG)
    before, runs = env.state_key, counting.runs
    text, reward, *_, info = env.step("I think that the answer is 4.")
    assert (reward, info["invalid_action"], info["turn"]) == (0.0, True, 2)
    assert text.startswith("Expected a program")
    assert (env.state_key, counting.runs) == (before, runs)


def test_success_may_come_at_any_turn(make_env):
    env = make_env()
    for _ in range(4):
        assert env.step(WRONG)[2:4] == (False, False)
    assert env.step(gold(env))[1:4] == (1.0, True, False)
    with pytest.raises(EnvStateError, match="after the episode ended"):
        env.step(WRONG)


def test_nothing_of_hidden_tests_and_solution_is_in_what_the_agent_gets(make_env):
    for seed in range(8):
        env = DeepCoderMTEnv(sandbox="process")
        seen = [*env.reset(seed=seed)]
        for program in (
            "def solve(*a):\n    return None",
            "def solve(*a):\n    return a[0]",
            "1 / 0",
        ):
            seen += env.step(write_program(program))
        text = repr(seen)
        public = {test.input for test in env.task.public}
        for test in env.task.hidden:
            assert test.input in public or str(test.arguments)[1:-1] not in text
        assert env.task.reference_solution.splitlines()[-1].strip() not in text


def test_a_program_that_hangs_is_told_so(make_env):
    env = make_env(time_limit_s=0.3)
    text = env.step(write_program("while True: pass"))[0]
    assert "error: timeout: more than 0.3 seconds" in text


def test_honest_odd_programs_pass(make_env):
    env = make_env()
    noise = "import sys\nprint('noise', file=sys.stderr)\n"
    script = "\nif __name__ == '__main__':\n    sys.exit(1)"
    odd = noise + env.task.reference_solution + script
    assert env.step(write_program(odd))[1] == 1.0


# Tasks.


def test_a_seed_picks_the_task_and_so_does_an_id(make_env):
    env, twin = make_env(seed=3), make_env(seed=3)
    assert env.task == twin.task
    named = make_env(seed=9, options={"task": env.task.task_id})
    assert named.task == env.task


def test_a_place_in_a_split_names_a_task(make_env):
    ids = {make_env(options={"split": "test", "index": n}).task.task_id for n in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize("kind", ["functional", "stdin"])
def test_the_kind_of_the_tasks_can_be_chosen(make_env, kind):
    assert make_env(kind=kind).task.kind == kind


def test_a_file_of_the_users_own_is_played(make_env, rows_file):
    env = make_env(dataset="deepcoder", data_path=str(rows_file), options={"task": "own/1"})
    assert env.step(gold(env))[1] == 1.0
    assert list(env.dataset_checksums) == ["rows.json"]


@pytest.mark.parametrize(("dataset", "task"), [("humaneval", "HumanEval/0"), ("mbpp", "MBPP/11")])
def test_a_benchmark_is_played(make_env, benchmark_data, dataset, task):
    env = make_env(dataset=dataset, options={"task": task})
    assert env.step(EMPTY)[1] == 0.0
    assert env.step(gold(env))[1] == 1.0


@pytest.mark.parametrize("dataset", ["deepcoder_codeforces", "code_contests"])
def test_contest_problems_are_played_to_a_failure(make_env, benchmark_data, dataset):
    env = make_env(dataset=dataset, options={"split": "test", "index": 0})
    assert env.step(write_program("print('no')"))[1:3] == (0.0, False)


def test_missing_files_are_said_by_gym_make(no_data):
    with pytest.raises(TaskDataUnavailable, match="curl -L"):
        gym.make("budget_envs/DeepCoderMT-v0", dataset="mbpp")


def test_an_unknown_dataset_is_said_by_gym_make():
    with pytest.raises(OptionError, match="Did you mean 'humaneval'"):
        gym.make("budget_envs/DeepCoderMT-v0", dataset="humanevl")


# State.


def test_state_keys_are_equal_exactly_where_task_and_last_program_are(make_env):
    programs = [None, "x = 1\n", "x = 2\n"]
    keys = {}
    for seed in range(4):
        for program in programs:
            env = make_env(seed=seed)
            env.step("no program")
            if program:
                env.step(WRONG)
                env.step(write_program(program))
            keys[env.task.task_id, program] = env.state_key
    assert len(set(keys.values())) == 12


def test_after_restore_the_same_actions_give_the_same(make_env):
    env = make_env()
    env.step(WRONG)
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    rest = ["nothing", EMPTY, gold(env)]
    first = [env.step(action) for action in rest]
    env.reset(seed=77)
    env.restore(saved)
    assert [env.step(action) for action in rest] == first
    other = make_env(seed=1)
    other.restore(saved)
    assert [other.step(action) for action in rest] == first


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(make_env, copied):
    env = make_env()
    env.step(WRONG)
    twin = copied(env)
    assert twin.step(EMPTY) == env.step(EMPTY)
    assert twin.reset() == env.reset()


def test_a_copy_with_a_dataset_reads_it_again(make_env, rows_file):
    env = make_env(dataset="deepcoder", data_path=str(rows_file))
    twin = pickle.loads(pickle.dumps(env))
    assert twin.reset(seed=3) == env.reset(seed=3)


# Judging.


def test_a_program_that_comes_again_is_run_once(make_env, counting):
    env = make_env()
    first = env.step(WRONG)[0]
    assert env.step(WRONG)[0] == first
    env.judge(read_program(WRONG))
    env.reset(seed=0)
    env.step(WRONG)
    assert counting.runs == 1
    env.step(EMPTY)
    assert counting.runs == 2


def test_the_same_program_on_another_task_is_run_again(make_env, counting):
    env = make_env()
    env.step(WRONG)
    env.reset(seed=1)
    env.step(WRONG)
    assert counting.runs == 2


def test_judging_takes_no_turn_and_leaves_the_state_alone(make_env):
    env = make_env()
    env.step(WRONG)
    before = env.snapshot()
    assert env.judge(env.task.reference_solution).is_success
    assert env.snapshot() == before


def test_only_some_judgements_are_remembered_the_newest(make_env, counting):
    env = make_env(levels=[1])
    programs = [f"x = {number}" for number in range(70)]
    for program in programs:
        env.judge(program)
        env.judge(programs[0])
    assert len(env._judgements) == 64
    env.judge(programs[0])
    env.judge(programs[-1])
    assert counting.runs == 70
    env.judge(programs[1])
    assert counting.runs == 71


def test_there_is_nothing_to_judge_before_the_first_reset():
    with pytest.raises(EnvStateError, match="before reset"):
        DeepCoderMTEnv().judge("x = 1")


def test_a_lost_sandbox_ends_the_episode_as_void(make_env, lose_sandbox):
    env = make_env()
    lose_sandbox()
    text, reward, terminated, truncated, info = env.step(WRONG)
    assert math.isnan(reward)
    assert (terminated, truncated) == (False, True)
    assert (info["verdict"], info["is_success"], info["truncation_reason"]) == (
        "void",
        False,
        "void",
    )
    assert "the worker died" in text


def test_a_loss_is_forgotten_at_the_next_reset_and_not_before(make_env, lose_sandbox):
    env = make_env()
    lost = lose_sandbox()
    for _ in range(3):
        with pytest.raises(Exception, match="the worker died"):
            env.judge("x = 1")
    assert lost.runs == 1
    lose_sandbox.undo()
    with pytest.raises(Exception, match="the worker died"):
        env.judge("x = 1")
    env.reset(seed=0)
    assert env.judge("x = 1").share == 0.0


def test_missing_isolation_is_an_error_that_says_what_to_install(make_env, monkeypatch):
    from budget_envs.sandbox import shared

    monkeypatch.setattr(shared, "_open", {})
    monkeypatch.setattr("shutil.which", lambda name: None)
    env = make_env(sandbox="bubblewrap")
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        env.step(WRONG)


# Processes.


def test_a_forked_process_judges_in_a_sandbox_of_its_own(make_env):
    env = make_env()
    env.step(WRONG)
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            reward = env.step(gold(env))[1]
            os.write(sending, b"solved" if reward == 1.0 else b"failed")
        finally:
            os._exit(0)
    assert os.read(receiving, 10) == b"solved"
    assert os.waitpid(child, 0)[1] == 0
    os.close(receiving)
    os.close(sending)
    assert env.step(gold(env))[1] == 1.0


# Settings.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sandbox": "dokcer"}, "Did you mean 'docker'"),
        ({"sandbox": None}, "sandbox must be one of"),
        ({"split": "tets"}, "Did you mean 'test'"),
        ({"time_limit_s": 0}, "from 0.01 to 3600"),
        ({"time_limit_s": 1e-9}, "from 0.01 to 3600"),
        ({"dataset": ["a"]}, "dataset must be the name"),
        ({"dataset": None}, "dataset must be the name"),
        ({"data_path": 5}, "data_path must be a file or folder"),
        ({"dataset": "humaneval", "data_path": 5}, "data_path must be a file or folder"),
        ({"time_limit_s": True}, "from 0.01 to 3600"),
        ({"time_limit_s": math.nan}, "from 0.01 to 3600"),
        ({"time_limit_s": "2"}, "from 0.01 to 3600"),
        ({"levels": 3}, "levels must be a list"),
        ({"levels": [7]}, "level from 1 to 5"),
        ({"kind": "functionl"}, "Did you mean 'functional'"),
        ({"data_path": "x.json"}, "has no data_path"),
        ({"include_excluded": True}, "has no include_excluded"),
        ({"dataset": "humaneval", "levels": [4]}, "has no levels"),
        ({"dataset": "humaneval", "kind": "stdin"}, "has no kind"),
        ({"render_mode": "rgb"}, "render_mode"),
    ],
)
def test_a_bad_setting_is_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        DeepCoderMTEnv(**settings)


def test_an_index_beyond_all_listings_is_refused(make_env):
    with pytest.raises(OptionError, match="out of range"):
        make_env(options={"split": "test", "index": 10**30})


@pytest.mark.parametrize("tier", ["auto", *TIERS])
def test_making_an_environment_opens_no_sandbox(tier):
    assert isinstance(DeepCoderMTEnv(sandbox=tier), TextEnv)


def test_the_state_is_shown_for_people_whatever_is_in_it(make_env, capsys):
    env = make_env(render_mode="human")
    env.step(write_program("x = '\ud800'"))
    printed = capsys.readouterr().out
    assert "(no program yet)" in printed
    assert "x = '\\ud800'" in printed
