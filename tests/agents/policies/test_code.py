import gymnasium as gym
import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.agents.policies.code import GoldAfterFailuresPolicy, GoldPolicy, NullPolicy
from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, read_program, write_program
from budget_envs.errors import BudgetError, UnsupportedError
from budget_envs.evaluation.evaluate import evaluate
from budget_envs.evaluation.policy import Failure
from budget_envs.sandbox import SandboxLost

CODE = "budget_envs/DeepCoderMT-v0"
NAMES = ("gold", "gold_after_failures", "null")
KWARGS = {"sandbox": "process"}


def verdicts(policy, budgets, **settings):
    options = {"tasks": 4, "k": 1, "num_rollouts": 1, "env_kwargs": {**KWARGS, **settings}}
    return evaluate(policy, CODE, budgets, **options).episodes


@pytest.mark.parametrize("kind", ["functional", "stdin"])
def test_gold_solves_every_task_in_its_first_turn(kind):
    episodes = verdicts(GoldPolicy(), [1, 5], kind=kind)
    assert [episode.success_turn for episode in episodes] == [1] * 8


@pytest.mark.parametrize("failures", [1, 2, 4])
def test_gold_after_failures_needs_one_turn_more_than_it_fails(failures):
    episodes = verdicts(GoldAfterFailuresPolicy(failures), [failures, failures + 1, 10])
    by_budget = {}
    for episode in episodes:
        by_budget.setdefault(episode.budget, set()).add(episode.success_turn)
    assert by_budget == {failures: {None}, failures + 1: {failures + 1}, 10: {failures + 1}}


def test_the_failures_are_programs_with_a_mistake_and_differ(talk):
    env = DeepCoderMTEnv(sandbox="process")
    conversation = talk(env, key=7)
    programs = set()
    for turn in range(4):
        conversation.messages[1:] = [{"role": "assistant", "content": ""}] * (2 * turn)
        (action,) = GoldAfterFailuresPolicy(4).act([conversation])
        assert not env.judge(read_program(action.text)).is_success
        assert "def solve" in action.text
        programs.add(action.text)
    assert len(programs) > 1


def test_a_batch_is_answered_like_each_conversation_alone(talk):
    policy = GoldAfterFailuresPolicy(2)
    conversations = [talk(DeepCoderMTEnv(sandbox="process"), key=key) for key in range(4)]
    together = policy.act(conversations)
    assert together == [policy.act([conversation])[0] for conversation in conversations]


def test_where_no_mistake_makes_a_test_fail_the_failure_is_an_empty_program(talk, monkeypatch):
    env = DeepCoderMTEnv(sandbox="process")
    conversation = talk(env)
    right = env.judge(env.task.reference_solution)
    monkeypatch.setattr(DeepCoderMTEnv, "judge", lambda self, program: right)
    (action,) = GoldAfterFailuresPolicy().act([conversation])
    assert action.text == write_program("pass")


def test_null_solves_nothing_with_and_without_a_program():
    episodes = verdicts(NullPolicy(), [4])
    assert {episode.verdict for episode in episodes} == {"fail"}
    assert {episode.num_invalid for episode in episodes} == {2}
    assert {turn.action for episode in episodes for turn in episode.turns} == {
        "",
        write_program("pass"),
    }


def test_null_does_not_read_the_environment_and_gold_does():
    assert not NullPolicy.needs_env
    assert GoldPolicy.needs_env
    assert GoldAfterFailuresPolicy.needs_env


def test_a_task_without_a_solution_is_nobodys_failure(talk, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"problem": "Print 3.", "tests": [{"input": "", "output": "3"}]}]')
    env = DeepCoderMTEnv(dataset="deepcoder", data_path=str(path), sandbox="process")
    for policy in (GoldPolicy(), GoldAfterFailuresPolicy()):
        (answer,) = policy.act([talk(env)])
        assert isinstance(answer, Failure)
        assert answer.boundary == "env"
        with pytest.raises(UnsupportedError, match="needs reference solutions"):
            policy.check_env(env)
    NullPolicy().check_env(env)


def test_a_lost_sandbox_is_nobodys_failure(talk, monkeypatch):
    def lose(self, program):
        raise SandboxLost("gone")

    monkeypatch.setattr(DeepCoderMTEnv, "judge", lose)
    (answer,) = GoldAfterFailuresPolicy().act([talk(DeepCoderMTEnv())])
    assert (answer.boundary, answer.error) == ("sandbox", "gone")


@pytest.mark.parametrize("name", NAMES)
def test_other_environments_are_refused(name):
    with pytest.raises(UnsupportedError, match="plays code tasks"):
        make_policy(name).check_env(gym.make("budget_envs/FrozenLake-v0"))


@pytest.mark.parametrize("name", NAMES)
def test_code_tasks_are_played(name):
    make_policy(name).check_env(gym.make(CODE))


@pytest.mark.parametrize("failures", [0, -1, 1.5, True, "2"])
def test_the_number_of_failures_is_a_positive_integer(failures):
    with pytest.raises(BudgetError, match="failures"):
        GoldAfterFailuresPolicy(failures)


def test_settings_tell_policies_apart():
    assert GoldAfterFailuresPolicy(3).settings == {"failures": 3}
    assert GoldPolicy().settings == {}
