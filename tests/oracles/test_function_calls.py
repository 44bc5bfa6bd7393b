import pytest

from budget_envs.agents.policies import make_policy
from budget_envs.envs.frozen_lake import FrozenLakeEnv
from budget_envs.envs.tool_dialogue.demonstration import CANNOT, DONE, demonstration
from budget_envs.envs.tool_use import ToolUseEnv
from budget_envs.errors import BudgetError, UnsupportedError
from budget_envs.oracles.function_calls import FunctionCallOracle
from budget_envs.wrappers import ErrorStates, InteractionBudget

ORACLE = FunctionCallOracle()
SEEDS = range(12)


def started(seed=0, budget=None, **settings):
    env = ToolUseEnv(**settings)
    if budget is not None:
        env = InteractionBudget(env, budget=budget)
    env.reset(seed=seed)
    return env


def script(env, *, batched=True):
    inner = env.unwrapped
    return demonstration(inner.task, inner.format, batched=batched)


@pytest.mark.parametrize("form", ["hermes", "bracket", "openai"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_message_of_the_ground_truth_is_worth_one(seed, form):
    env = started(seed, format=form)
    for message in script(env):
        assert ORACLE.value(env, message) == 1.0
        ended, info = env.step(message)[2:5:2]
    assert ended
    assert info["is_success"]


@pytest.mark.parametrize("seed", SEEDS)
def test_one_call_at_a_time_the_value_never_falls(seed):
    env = started(seed, levels=[2, 3, 4], categories=["base"])
    values = []
    for message in script(env, batched=False):
        values.append(ORACLE.value(env, message))
        if message == DONE:
            assert values == sorted(values)
            assert values[-1] == 1.0
            values = []
        env.step(message)


@pytest.mark.parametrize("seed", SEEDS)
def test_giving_up_is_worth_nothing_where_there_is_something_to_do(seed):
    env = started(seed, categories=["base"])
    assert ORACLE.value(env, DONE) == 0.0
    assert ORACLE.value(env, "") < 1.0


def test_where_something_is_missing_only_a_text_is_right_if_strict():
    for seed in SEEDS:
        env = started(seed, levels=[1], categories=["miss_func"], strict=True)
        message = script(env)[0]
        while message != CANNOT:
            env.step(message)
            message = script(env)[env.turn]
        turn = env.task.turns[env.episode.turn + 1]
        call = env.format.render_calls(turn.calls)
        assert ORACLE.value(env, CANNOT) == 1.0
        assert ORACLE.value(env, call) == 0.0
        assert ORACLE.best_action(env) == DONE


def test_text_that_makes_no_call_is_judged_as_a_text_and_nothing_raises():
    env = started(categories=["base"])
    for message in ("<tool_call>", "<tool_call>{]</tool_call>", "\x00", "f(" * 999, "<|im_end|>"):
        assert 0.0 <= ORACLE.value(env, message) < 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_judging_changes_nothing(seed):
    env = started(seed, budget=30)
    saved, key = env.snapshot(), env.unwrapped.state_key
    ORACLE.value(env, script(env)[0])
    ORACLE.best_action(env)
    ORACLE.error_action(env, DONE, seed)
    assert env.unwrapped.state_key == key
    assert env.snapshot() == saved


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("batched", [True, False])
def test_the_bound_is_the_length_of_the_shortest_script(seed, batched):
    env = started(seed)
    needed = len(script(env, batched=batched))
    assert ORACLE.upper_bound(env, needed, batched=batched) == 1.0
    if needed > 1:
        assert ORACLE.upper_bound(env, needed - 1, batched=batched) == 0.0


def test_the_bound_takes_the_limit_of_messages_for_one_request_into_account():
    for seed in SEEDS:
        for limit in (1, 2, 3):
            env = started(seed, steps_per_user_turn=limit)
            bound = ORACLE.upper_bound(env, 30)
            for message in script(env):
                ended, info = env.step(message)[2:5:2]
                if ended:
                    break
            assert bound == float(info["is_success"])


@pytest.mark.parametrize("limit", [None, 1, 2])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("category", ["base", "miss_func", "miss_param"])
def test_the_bound_and_the_value_of_a_text_are_what_brute_force_finds(category, strict, limit):
    """All episodes of up to four messages out of the dialogue's own."""
    for seed in range(6):
        env = started(seed, levels=[1], categories=[category], strict=strict)
        env.steps_per_user_turn = limit
        own = [env.format.render_calls(turn.calls) for turn in env.task.turns if turn.calls]
        fewest = shortest(env, [DONE, *own], most=5)
        bounds = [ORACLE.upper_bound(env, turns) for turns in range(1, 5)]
        assert bounds == [float(fewest <= turns) for turns in range(1, 5)]


def shortest(env, messages, most):
    """Return with how few messages an episode can succeed, ``most`` if not with fewer."""
    turn, start = env.episode.turn, env.snapshot()
    for message in messages if most > 1 else ():
        value = ORACLE.value(env, message)
        _, reward, ended, _, info = env.step(message)
        if message == DONE and info["turn_verdicts"][turn] != "skip":
            assert (value == 1.0) == (info["turn_verdicts"][turn] == "pass")
        more = (0 if reward else most) if ended else shortest(env, messages, most - 1)
        most = min(most, 1 + more)
        env.restore(start)
    return most


@pytest.mark.parametrize("empty", ["", " \n", "<|im_end|>", "<think>What now?</think>"])
def test_an_empty_message_is_worth_what_is_there_already(empty):
    env = started(categories=["base"])
    assert ORACLE.value(env, empty) == 0.0
    env.step(script(env)[0])
    assert ORACLE.value(env, empty) == 1.0


def test_calls_that_the_budget_does_not_cover_are_worth_nothing():
    for seed in SEEDS:
        env = started(seed, {"calls": 1}, levels=[2], categories=["base"])
        calls = env.unwrapped.task.turns[0].calls
        if len(calls) > 1:
            assert ORACLE.value(env, env.unwrapped.format.render_calls(calls)) < 1.0
            return
    pytest.fail("no dialogue has two calls at once")


def test_a_budget_is_a_positive_number():
    with pytest.raises(BudgetError):
        ORACLE.upper_bound(started(), 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_oracle_policy_succeeds_within_its_bound(seed):
    env = started(seed, budget=30)
    needed = next(t for t in range(1, 31) if ORACLE.upper_bound(env, t))
    env = InteractionBudget(ToolUseEnv(), budget=needed)
    env.reset(seed=seed)
    ended = False
    while not ended:
        _, reward, terminated, truncated, info = env.step(ORACLE.best_action(env))
        ended = terminated or truncated
    assert reward == 1.0
    assert info["budget"]["turns"]["remaining"] == 0


def test_an_injected_slip_is_wrong_and_the_dialogue_can_still_be_won():
    landed = 0
    for seed in range(40):
        env = started(seed, budget=30)
        first = script(env)[0]
        slip = ORACLE.error_action(env, first, seed)
        if slip is None:
            continue
        landed += 1
        assert slip != first
        assert ORACLE.value(env, slip) < 1.0
        ended = env.step(slip)[2]
        while not ended:
            _, reward, ended, truncated, _ = env.step(ORACLE.best_action(env))
            assert not truncated
        assert reward == 1.0
    assert landed >= 20


def test_the_key_picks_the_slip():
    env = started(3, budget=30, levels=[3], categories=["base"])
    slips = {ORACLE.error_action(env, DONE, key) for key in range(20)}
    assert len(slips - {None}) > 3
    assert ORACLE.error_action(env, DONE, 7) == ORACLE.error_action(env, DONE, 7)


def test_no_slip_where_too_few_turns_remain_or_all_is_lost():
    env = started(0, categories=["base"])
    needed = len(script(env))
    assert ORACLE.error_action(started(0, needed, categories=["base"]), DONE, 0) is None
    assert ORACLE.error_action(started(0, needed + 1, categories=["base"]), DONE, 0) is not None


@pytest.mark.parametrize("limit", [1, 2, 3, None])
@pytest.mark.parametrize("budget", [30, {"calls": 9}, {"turns": 12, "calls": 8}])
def test_wherever_slips_are_injected_the_dialogue_can_still_be_won(budget, limit):
    """Whatever limits there are beside turns, an episode that slipped is one that succeeds."""
    landed = 0
    for seed in range(25):
        inner = InteractionBudget(ToolUseEnv(steps_per_user_turn=limit), budget=budget)
        env = ErrorStates(inner, rate=0.4, oracle=ORACLE, seed=seed)
        env.reset(seed=seed)
        ended = False
        while not ended:
            *_, terminated, truncated, info = env.step(ORACLE.best_action(env))
            ended = terminated or truncated
            assert not (ended and "injected" in info)
        landed += info["injected_count"]
        assert info["is_success"] or not info["injected_count"]
    assert landed > 0 or limit == 1


def test_no_slip_where_a_user_turn_has_failed_already():
    env = started(0, 30, levels=[2], categories=["base"])
    env.step(DONE)
    assert env.unwrapped.episode.verdicts == ("fail",)
    assert all(ORACLE.error_action(env, DONE, key) is None for key in range(5))


def test_it_says_that_it_is_not_exact_and_judges_nothing_else():
    assert not ORACLE.exact
    with pytest.raises(UnsupportedError):
        ORACLE.value(FrozenLakeEnv(), "Left")


def test_the_named_oracle_policy_takes_an_oracle_that_lists_nothing():
    policy = make_policy("oracle", oracle="budget_envs.oracles.function_calls:FunctionCallOracle")
    policy.check_env(started())
