"""The oracle of DeepCoder-MT: values, bounds, and programs with a mistake in them."""

import math
import pickle

import gymnasium as gym
import pytest

from budget_envs.envs.deepcoder_mt import DeepCoderMTEnv, read_program, write_program
from budget_envs.errors import BudgetError, EnvStateError, UnsupportedError
from budget_envs.oracle import EnumerableOracle, ErrorOracle, load_oracle, oracle_name
from budget_envs.oracles.unit_tests import UnitTestOracle
from budget_envs.sandbox import SandboxLost
from budget_envs.streams import derive_key
from budget_envs.tasks.mutation import mutants
from budget_envs.wrappers import BudgetMix, ErrorStates, InteractionBudget, StepOracle

ORACLE = UnitTestOracle()
WRONG = write_program("def solve(*arguments):\n    return 'wrong'")
KEYS = [derive_key(number) for number in range(8)]


def make_env(seed=0, **settings):
    env = DeepCoderMTEnv(**{"sandbox": "process", **settings})
    env.reset(seed=seed)
    return env


def gold(env):
    return write_program(env.unwrapped.task.reference_solution)


def partly_right(env, count):
    """Return a program that is right on the first `count` hidden tests, and knows no other."""
    answers = {repr(tuple(t.arguments)): t.expected for t in env.task.hidden[:count]}
    return write_program(
        f"def solve(*arguments):\n    return {answers!r}.get(repr(arguments), 'x')"
    )


@pytest.fixture
def lost(monkeypatch):
    def lose(self, program):
        raise SandboxLost("gone")

    monkeypatch.setattr(DeepCoderMTEnv, "judge", lose)


# Values.


@pytest.mark.parametrize("count", [0, 1, 7, 14, 15])
def test_the_value_is_the_share_of_hidden_tests_passed(count):
    env = make_env(seed=2)
    assert ORACLE.value(env, partly_right(env, count)) == count / len(env.task.hidden)


def test_the_value_of_a_text_without_a_program_is_zero():
    assert ORACLE.value(make_env(), "no idea") == 0.0


def test_the_value_of_the_reference_solution_is_one():
    for seed in range(5):
        env = make_env(seed=seed)
        assert ORACLE.value(env, gold(env)) == 1.0


def test_the_value_is_one_exactly_where_the_step_succeeds():
    for count in (14, 15):
        env = make_env(seed=2)
        action = partly_right(env, count)
        assert (ORACLE.value(env, action) == 1.0) == (env.step(action)[1] == 1.0)


def test_asking_changes_nothing():
    env = make_env()
    env.step(WRONG)
    before = env.snapshot()
    ORACLE.value(env, gold(env))
    ORACLE.error_action(env, gold(env), 1)
    ORACLE.upper_bound(env, 3)
    assert env.snapshot() == before


def test_a_lost_sandbox_gives_no_value(lost):
    env = make_env()
    assert math.isnan(ORACLE.value(env, WRONG))
    assert ORACLE.error_action(env, WRONG, 1) is None


def test_the_value_is_seen_through_wrappers():
    env = InteractionBudget(DeepCoderMTEnv(sandbox="process"), budget=3)
    env.reset(seed=0)
    assert ORACLE.value(env, gold(env)) == 1.0


def test_another_environment_is_refused():
    env = gym.make("budget_envs/FrozenLake-v0")
    for ask in (
        lambda: ORACLE.value(env, WRONG),
        lambda: ORACLE.upper_bound(env, 1),
        lambda: ORACLE.error_action(env, WRONG, 1),
    ):
        with pytest.raises(UnsupportedError, match="UnitTestOracle judges DeepCoderMTEnv"):
            ask()


def test_asking_before_the_first_reset_is_an_error():
    with pytest.raises(EnvStateError, match="before reset"):
        ORACLE.value(DeepCoderMTEnv(), WRONG)


# What it is.


def test_it_is_exact_lists_no_actions_and_names_errors():
    assert ORACLE.exact is True
    assert not isinstance(ORACLE, EnumerableOracle)
    assert isinstance(ORACLE, ErrorOracle)


def test_it_is_found_by_its_name_and_pickles():
    name = "budget_envs.oracles.unit_tests:UnitTestOracle"
    assert oracle_name(ORACLE) == name
    assert isinstance(load_oracle(name), UnitTestOracle)
    assert isinstance(pickle.loads(pickle.dumps(ORACLE)), UnitTestOracle)


@pytest.mark.parametrize("turns", [1, 2, 10])
def test_one_turn_is_enough(turns):
    assert ORACLE.upper_bound(make_env(), turns) == 1.0


@pytest.mark.parametrize("turns", [0, -1, True, 1.5, None])
def test_a_bound_needs_a_budget(turns):
    with pytest.raises(BudgetError):
        ORACLE.upper_bound(make_env(), turns)


# Errors.


@pytest.mark.parametrize("kind", ["functional", "stdin"])
@pytest.mark.parametrize("key", KEYS[:3])
def test_an_error_fails_a_hidden_test_and_does_not_end_the_episode(kind, key):
    for seed in range(3):
        env = make_env(seed=seed, kind=kind, levels=[seed + 1])
        error = ORACLE.error_action(env, gold(env), key)
        assert ORACLE.value(env, error) < 1.0
        assert env.step(error)[1:4] == (0.0, False, False)
        assert env.step(gold(env))[1] == 1.0


def test_an_error_is_one_edit_away_from_a_good_program():
    env = make_env(seed=4)
    good = env.task.reference_solution
    for key in KEYS:
        error = read_program(ORACLE.error_action(env, gold(env), key))
        assert error in {read_program(write_program(m.source)) for m in mutants(good, key)}


def test_the_agents_own_program_gets_the_mistake_if_it_is_right():
    env = make_env(seed=4)
    own = env.task.reference_solution + "\n# my own words: canary"
    for key in KEYS:
        assert "canary" in ORACLE.error_action(env, write_program(own), key)


def test_where_the_agents_program_is_wrong_the_reference_solution_gets_the_mistake():
    env = make_env(seed=4)
    first = env.task.reference_solution.splitlines()[0]
    for action in (WRONG, "no program at all"):
        assert first.split("(")[0] in ORACLE.error_action(env, action, KEYS[0])


def test_without_a_reference_solution_the_agents_program_gets_the_mistake(tmp_path):
    rows = '[{"problem": "Print 3.", "tests": [{"input": "", "output": "3"}]}]'
    path = tmp_path / "rows.json"
    path.write_text(rows)
    env = make_env(dataset="deepcoder", data_path=str(path))
    for mine in ("print(1 + 2)", "print(1 + 3)"):
        error = ORACLE.error_action(env, write_program(mine), KEYS[0])
        assert error is not None
        assert read_program(error) != f"{mine}\n"
        assert ORACLE.value(env, error) == 0.0
    assert ORACLE.error_action(env, "no program", KEYS[0]) is None


def test_an_error_differs_from_what_the_agent_chose():
    env = make_env(seed=4)
    chosen = ORACLE.error_action(env, gold(env), KEYS[0])
    again = ORACLE.error_action(env, chosen, KEYS[0])
    assert read_program(again) != read_program(chosen)


def test_a_key_picks_the_error():
    env = make_env(seed=4)
    errors = [ORACLE.error_action(env, gold(env), key) for key in KEYS]
    assert errors == [ORACLE.error_action(make_env(seed=4), gold(env), key) for key in KEYS]
    assert len(set(errors)) > 3


@pytest.mark.parametrize(("budget", "is_possible"), [(1, False), (2, True), (None, True)])
def test_an_error_leaves_a_turn_to_repair_it(budget, is_possible):
    env = InteractionBudget(DeepCoderMTEnv(sandbox="process"), budget=budget)
    env.reset(seed=0)
    assert (ORACLE.error_action(env, gold(env), 1) is not None) == is_possible


def test_the_turns_left_of_the_tightest_budget_count():
    env = InteractionBudget(DeepCoderMTEnv(sandbox="process"), budget=2)
    env = InteractionBudget(env, budget=9)
    env.reset(seed=0)
    assert ORACLE.error_action(env, gold(env), 1) is not None
    env.step(WRONG)
    assert ORACLE.error_action(env, gold(env), 1) is None


@pytest.mark.parametrize("program", ["", "pass", "# nothing", "1 +", "x" * 20_000])
def test_where_there_is_nothing_to_mutate_there_is_no_error(tmp_path, program):
    path = tmp_path / "rows.json"
    path.write_text('[{"problem": "Print 3.", "tests": [{"input": "", "output": "3"}]}]')
    env = make_env(dataset="deepcoder", data_path=str(path))
    assert ORACLE.error_action(env, write_program(program), 1) is None


def test_where_every_mutant_passes_there_is_no_error(monkeypatch):
    env = make_env()
    right = env.judge(env.task.reference_solution)
    monkeypatch.setattr(DeepCoderMTEnv, "judge", lambda self, program: right)
    assert ORACLE.error_action(env, gold(env), 1) is None


# In its wrappers.


def wrapped(budget=6, **faults):
    env = InteractionBudget(DeepCoderMTEnv(sandbox="process"), budget=budget)
    return StepOracle(ErrorStates(env, oracle=ORACLE, **faults), oracle=ORACLE)


def test_an_injected_error_is_shown_as_the_agents_own_and_can_be_repaired():
    for seed in range(5):
        env = wrapped(at=1)
        env.reset(seed=seed)
        _, reward, *_, info = env.step(gold(env))
        receipt = info["injected"]
        assert (reward, receipt["value_intended"]) == (0.0, 1.0)
        assert receipt["value_executed"] < 1.0
        assert info["executed_action"] == receipt["executed"]
        assert env.step(gold(env))[1:3] == (1.0, True)


def test_values_and_errors_stay_out_of_observations():
    env, plain = wrapped(at=2), DeepCoderMTEnv(sandbox="process")
    assert env.reset(seed=3)[0] == plain.reset(seed=3)[0]
    assert env.step(WRONG)[0] == plain.step(WRONG)[0]
    injected = env.step(WRONG)
    assert injected[0] == plain.step(injected[4]["injected"]["executed"])[0]


def test_the_share_can_be_the_reward():
    env = StepOracle(DeepCoderMTEnv(sandbox="process"), oracle=ORACLE, reward=True)
    env.reset(seed=2)
    _, reward, *_, info = env.step(partly_right(env.unwrapped, 6))
    assert reward == 6 / 15
    assert info["oracle"] == {"value": 6 / 15, "best": 1.0, "regret": 9 / 15, "best_actions": []}


def test_a_lost_sandbox_is_void_also_behind_an_oracle(lost):
    for reward in (False, True):
        env = InteractionBudget(DeepCoderMTEnv(sandbox="process"), budget=4)
        env = ErrorStates(env, at=1, oracle=ORACLE)
        env = StepOracle(env, oracle=ORACLE, reward=reward)
        env.reset(seed=0)
        _, value, terminated, truncated, info = env.step(WRONG)
        assert math.isnan(value)
        assert (terminated, truncated, info["verdict"]) == (False, True, "void")


def test_budgets_that_are_drawn_bound_the_errors():
    env = ErrorStates(
        BudgetMix(DeepCoderMTEnv(sandbox="process"), budget=4), rate=1.0, oracle=ORACLE
    )
    for seed in range(12):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            left = info["budget"]["turns"]["remaining"]
            *_, terminated, truncated, info = env.step(WRONG)
            over = terminated or truncated
            assert ("injected" in info) == (left >= 2)
