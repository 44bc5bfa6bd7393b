import functools
import logging

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.agents.policies import make_policy
from budget_envs.errors import DependencyNotInstalled, OptionError
from budget_envs.evaluation.live_episode import request_episode
from budget_envs.evaluation.policy import Action, Failure
from budget_envs.evaluation.rollout import rollout
from budget_envs.wrappers import ErrorStates, InteractionBudget

LAKE = "budget_envs/FrozenLake-v0"
TASKS = ["pass-3", "fail-2", "void-2", "raise-2", "sandbox-3", "mute-1", "number-2", "endless-0"]
TASKS += ["solved-1", "broken-1", "pass-1", "pass-5"]


@pytest.fixture
def play(fake_id, counting):
    def make_env():
        return InteractionBudget(gym.make(fake_id), budget=4)

    def play(tasks, policy=None, *, budget=4, rollouts=1, batch_size=64, **keywords):
        requests = [
            request_episode(0, task, budget, number) for task in tasks for number in range(rollouts)
        ]
        keywords.setdefault("make_env", make_env)
        played = rollout(policy or counting(), requests=requests, batch_size=batch_size, **keywords)
        found = {episode.key: episode for finished in played for episode in finished}
        return [found[request.key] for request in requests]

    return play


# How an episode ends.


def test_success_on_the_last_allowed_turn_is_success(play):
    (episode,) = play(["pass-3"], budget=3)
    assert (episode.verdict, episode.success_turn, episode.num_turns) == ("pass", 3, 3)
    assert (episode.boundary, episode.error, episode.episode_return) == (None, None, 1.0)


def test_success_one_turn_later_is_none(play):
    (episode,) = play(["pass-4"], budget=3)
    assert (episode.verdict, episode.success_turn, episode.num_turns) == ("fail", None, 3)
    assert (episode.boundary, episode.error, episode.episode_return) == ("budget", None, 0.0)


def test_an_endless_episode_has_exactly_the_turns_of_its_budget(play):
    (episode,) = play(["endless-0"], budget=7)
    assert [turn.turn for turn in episode.turns] == [1, 2, 3, 4, 5, 6, 7]


def test_a_failed_task_is_no_matter_of_the_budget(play):
    (episode,) = play(["fail-2"])
    assert (episode.verdict, episode.boundary, episode.num_turns) == ("fail", None, 2)


def test_failing_on_the_last_allowed_turn_is_no_matter_of_the_budget(play):
    (episode,) = play(["fail-4"])
    assert (episode.verdict, episode.boundary) == ("fail", None)


def test_a_void_episode_has_no_return(play):
    (episode,) = play(["void-2"])
    assert (episode.verdict, episode.boundary, episode.episode_return) == ("void", "env", None)
    assert [turn.reward for turn in episode.turns] == [0.0, None]


def test_an_environment_that_raises_makes_its_episode_void(play):
    (episode,) = play(["raise-2"])
    assert (episode.verdict, episode.boundary, episode.num_turns) == ("void", "env", 2)
    assert episode.error.startswith("ValueError: the environment broke (act, line")


def test_the_turn_in_which_an_environment_broke_is_recorded(play):
    (episode,) = play(["raise-2"])
    assert [(turn.action, turn.reward) for turn in episode.turns] == [("go", 0.0), ("go", None)]


def test_an_exception_that_names_its_boundary_is_recorded_under_it(play):
    (episode,) = play(["sandbox-3"])
    assert (episode.verdict, episode.boundary) == ("void", "sandbox")


def test_an_environment_that_cannot_start_makes_its_episode_void(play):
    (episode,) = play(["broken-1"])
    assert (episode.verdict, episode.boundary, episode.num_turns) == ("void", "env", 0)
    assert episode.error.startswith("RuntimeError: cannot start")
    assert episode.episode_return is None


def test_an_environment_that_cannot_be_made_makes_its_episode_void(play):
    def make_env():
        raise OSError("no room")

    (episode,) = play(["pass-3"], make_env=make_env)
    assert (episode.verdict, episode.boundary) == ("void", "env")


def test_an_unheard_of_verdict_is_void(play):
    (episode,) = play(["mute-1"])
    assert (episode.verdict, episode.boundary) == ("void", "env")
    assert "expected a verdict" in episode.error


def test_an_observation_that_is_no_text_is_void(play):
    (episode,) = play(["number-2"])
    assert episode.verdict == "void"
    assert "expected the observation as text, got int" in episode.error


def test_a_task_solved_at_reset_is_reported_and_not_played(play, counting):
    policy = counting()
    (episode,) = play(["solved-1"], policy)
    assert episode.is_solved_at_reset
    assert (episode.num_turns, policy.asked) == (0, [])


# How a policy fails.


def raise_at(turn, error):
    def respond(conversation):
        if conversation.turn == turn:
            raise error
        return Action("go")

    return respond


def test_a_policy_that_raises_has_failed(play, counting):
    (episode,) = play(["pass-3"], counting(raise_at(1, ValueError("confused"))))
    assert (episode.verdict, episode.boundary, episode.num_turns) == ("fail", "agent", 1)
    assert episode.error.startswith("ValueError: confused")
    assert episode.episode_return == 0.0


def test_a_provider_that_fails_makes_its_episode_void(play, counting):
    error = ConnectionError("gone")
    error.boundary = "provider"
    (episode,) = play(["pass-3"], counting(raise_at(1, error)))
    assert (episode.verdict, episode.boundary) == ("void", "provider")


@pytest.mark.parametrize(
    ("boundary", "verdict"), [("agent", "fail"), ("provider", "void"), ("sandbox", "void")]
)
def test_a_failure_in_place_of_an_action_ends_its_episode(play, counting, boundary, verdict):
    (episode,) = play(["pass-3"], counting(lambda _: Failure("gave up", boundary)))
    assert (episode.verdict, episode.boundary, episode.error) == (verdict, boundary, "gave up")


@pytest.mark.parametrize("answer", ["go", None, 3])
def test_an_answer_that_is_no_action_is_the_agents_failure(play, counting, answer):
    (episode,) = play(["pass-3"], counting(lambda _: answer))
    assert (episode.verdict, episode.boundary) == ("fail", "agent")
    assert f"expected an Action, got {answer!r}" in episode.error


def test_one_bad_conversation_does_not_stop_the_batch(play, counting):
    def respond(conversation):
        if conversation.id.startswith("pass-5"):
            raise ValueError("confused")
        return Action("go")

    episodes = play(["pass-1", "pass-5", "pass-3"], counting(respond))
    assert [episode.verdict for episode in episodes] == ["pass", "fail", "pass"]


def test_too_few_answers_are_the_agents_failure(play, counting):
    class Short(counting):
        def act(self, conversations):
            return super().act(conversations)[1:]

    episodes = play(["pass-1", "pass-3"], Short())
    assert {episode.boundary for episode in episodes} == {"agent"}
    assert "expected 1 actions, one for each conversation, got 0" in episodes[0].error


def test_begin_that_raises_is_the_agents_failure(play, counting):
    class Refusing(counting):
        def begin(self, conversations):
            if any("pass-3" in conversation.id for conversation in conversations):
                raise ValueError("not this one")

    policy = Refusing()
    episodes = play(["pass-3", "pass-1"], policy)
    assert [episode.verdict for episode in episodes] == ["fail", "pass"]
    assert policy.asked == [("pass-1#4#0", 0)]


def test_end_that_raises_is_logged_and_changes_nothing(play, counting, caplog):
    class Messy(counting):
        def end(self, conversations):
            raise ValueError("cannot clean up")

    with caplog.at_level(logging.ERROR):
        (episode,) = play(["pass-1"], Messy())
    assert episode.verdict == "pass"
    assert "failed to end its conversations" in caplog.text


def test_a_missing_dependency_stops_everything(play, counting):
    with pytest.raises(DependencyNotInstalled):
        play(["pass-3"], counting(raise_at(0, DependencyNotInstalled("torch"))))


def test_an_interrupt_stops_everything(play, counting):
    with pytest.raises(KeyboardInterrupt):
        play(["pass-3"], counting(raise_at(0, KeyboardInterrupt())))


# How often a policy is called.


def test_a_policy_is_called_once_for_each_turn(play, counting):
    policy = counting()
    play(["pass-3"], policy)
    assert policy.asked == [("pass-3#4#0", 0), ("pass-3#4#0", 1), ("pass-3#4#0", 2)]


@pytest.mark.parametrize("task", TASKS)
def test_a_policy_is_never_called_after_the_end(play, counting, task):
    policy = counting()
    (episode,) = play([task], policy)
    assert len(policy.asked) == episode.num_turns


def test_a_policy_answers_all_episodes_in_progress_in_one_call(play, counting):
    policy = counting()
    play(["pass-3", "pass-1", "pass-2"], policy)
    assert policy.batches == [3, 2, 1]


def test_a_batch_is_refilled_as_episodes_finish(play, counting):
    policy = counting()
    play(["pass-1", "pass-3", "pass-1", "pass-1"], policy, batch_size=2)
    assert policy.batches == [2, 2, 2]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_each_conversation_begins_once_and_ends_once(play, counting, batch_size):
    policy = counting()
    play(TASKS, policy, batch_size=batch_size)
    started = [f"{task}#4#0" for task in TASKS if task not in ("solved-1", "broken-1")]
    assert policy.begun == started
    assert sorted(policy.ended) == sorted(started)


@pytest.mark.parametrize("batch_size", [0, -1, True, 1.5, "8"])
def test_a_batch_size_is_a_positive_integer(play, batch_size):
    with pytest.raises(OptionError, match="batch_size must be an integer of at least 1"):
        play(["pass-3"], batch_size=batch_size)


def test_nothing_to_play_is_no_batch(play, counting):
    policy = counting()
    assert play([], policy) == []
    assert policy.batches == []


# What an episode does depends on its request alone.


@settings(max_examples=30)
@given(order=st.permutations(TASKS), batch_size=st.integers(1, 16))
def test_results_do_not_depend_on_order_or_batch(fake_id, order, batch_size):
    def make_env():
        return InteractionBudget(gym.make(fake_id), budget=4)

    requests = [request_episode(0, task, 4, 0) for task in order]
    policy = make_policy("random")
    played = rollout(policy, make_env, requests, batch_size=batch_size)
    found = {episode.key: episode for finished in played for episode in finished}
    for request in requests:
        ((alone,),) = rollout(policy, make_env, [request])
        assert found[request.key] == alone


def test_the_seeds_of_an_episode_depend_on_neither_the_budget_nor_other_tasks():
    one, other = request_episode(3, "a", 2, 1), request_episode(3, "a", 9, 1)
    assert (one.seed, one.policy_key) == (other.seed, other.policy_key)


def test_rollouts_of_a_task_share_its_seed_and_not_the_policys_key():
    one, other = request_episode(3, "a", 2, 0), request_episode(3, "a", 2, 1)
    assert one.seed == other.seed
    assert one.policy_key != other.policy_key


@pytest.mark.parametrize(("seed", "task"), [(4, "a"), (3, "b")])
def test_other_seeds_and_other_tasks_have_other_luck(seed, task):
    one, other = request_episode(3, "a", 2, 0), request_episode(seed, task, 2, 0)
    assert one.seed != other.seed
    assert one.policy_key != other.policy_key


@given(seed=st.integers(0, 2**63 - 1), task=st.text(), number=st.integers(0, 2**20))
def test_seeds_fit_a_database(seed, task, number):
    assert 0 <= request_episode(seed, task, 1, number).seed < 2**63


def test_seeds_are_pinned():
    request = request_episode(0, "SFF/FHG", 8, 2)
    assert (request.seed, request.policy_key) == (6588138888779559351, 9864968578041577376)


# What is recorded, and what the policy sees.


def test_a_turn_holds_what_the_agent_saw_before_it_acted(play):
    (episode,) = play(["pass-2"])
    assert [turn.observation for turn in episode.turns] == [
        "start of pass-2",
        "turn 1 of pass-2: go",
    ]
    assert episode.final_observation == "turn 2 of pass-2: go"


def test_a_turn_holds_the_state_that_the_agent_acted_in(play):
    (episode,) = play(["pass-2"])
    assert [turn.state_key for turn in episode.turns] == ["pass-2:0", "pass-2:1"]


def test_a_turn_holds_the_budget_after_it(play):
    (episode,) = play(["pass-2"])
    assert [turn.budget["turns"]["remaining"] for turn in episode.turns] == [3, 2]
    assert episode.budget_report["turns"] == {"limit": 4, "used": 2, "remaining": 2}


def test_actions_that_could_not_be_read_are_counted(play, counting):
    answers = iter(["nonsense", "go", "nonsense"])
    (episode,) = play(["pass-3"], counting(lambda _: Action(next(answers))))
    assert [turn.is_invalid for turn in episode.turns] == [True, False, True]
    assert episode.num_invalid == 2


def test_log_probabilities_are_summed(play, counting):
    policy = counting(lambda _: Action("go", logprobs=(-0.5, -1.5), num_tokens=2))
    (episode,) = play(["pass-2"], policy)
    assert [turn.logprob for turn in episode.turns] == [-2.0, -2.0]
    assert (episode.num_tokens, episode.turns[0].num_tokens) == (4, 2)


def test_without_them_nothing_is_claimed(play):
    (episode,) = play(["pass-2"])
    assert (episode.num_tokens, episode.turns[0].logprob) == (None, None)


def test_a_conversation_is_the_transcript(play, counting):
    seen = []
    policy = counting(lambda c: seen.append([*c.messages]) or Action("go"))
    play(["pass-2"], policy)
    assert [message["role"] for message in seen[1]] == ["user", "assistant", "user"]
    assert [message["content"] for message in seen[1]] == [
        "start of pass-2",
        "go",
        "turn 1 of pass-2: go",
    ]
    assert seen[1][:1] == seen[0]


def test_a_policy_sees_the_environment_only_if_it_says_so(play, counting):
    seen = []
    respond = lambda c: seen.append(c.env) or Action("go")  # noqa: E731
    play(["pass-1"], counting(respond))

    class Privileged(counting):
        needs_env = True

    play(["pass-1"], Privileged(respond))
    assert seen[0] is None
    assert seen[1].unwrapped.kind == "pass"


def test_an_injected_action_stands_in_the_transcript_and_the_agents_own_in_the_record(counting):
    oracle = "budget_envs.oracles.frozen_lake:FrozenLakeOracle"

    def make_env():
        env = gym.make(LAKE, desc=["SFFF", "FFFF", "FFFF", "FFFG"], budget=10)
        return ErrorStates(env, at=1, oracle=oracle)

    seen = []
    policy = counting(lambda c: seen.append([m["content"] for m in c.messages]) or Action("Down"))
    requests = [request_episode(0, "SFFF/FFFF/FFFF/FFFG", 10, 0)]
    ((episode,),) = rollout(policy, make_env, requests)
    first = episode.turns[0]
    assert first.action == "Down"
    assert first.injected["executed"] in ("Left", "Up")
    assert seen[1][1] == first.injected["executed"]
    assert seen[2][3] == "Down"
    assert episode.num_injected == 1


def test_a_fault_of_the_environment_leaves_the_transcripts_action_alone(counting):
    def make_env():
        env = gym.make(LAKE, desc=["SFFF", "FFFF", "FFFF", "FFFG"], budget=10)
        return ErrorStates(env, at=1, kind="timeout")

    seen = []
    policy = counting(lambda c: seen.append([m["content"] for m in c.messages]) or Action("Down"))
    ((episode,),) = rollout(policy, make_env, [request_episode(0, "SFFF/FFFF/FFFF/FFFG", 10, 0)])
    assert seen[1][1] == "Down"
    assert "did not answer in time" in seen[1][2]
    assert episode.turns[1].observation == seen[1][2]


def test_regret_is_averaged_over_the_turns_that_an_oracle_judged(counting):
    make_env = functools.partial(gym.make, LAKE, desc=["SFG"], budget=4, oracle=True)
    answers = iter(["Left", "Right", "Right"])
    policy = counting(lambda _: Action(next(answers)))
    ((episode,),) = rollout(policy, make_env, [request_episode(0, "SFG", 2, 0)])
    assert [turn.oracle["regret"] for turn in episode.turns] == [1.0, 0.0]
    assert episode.mean_regret == 0.5


# Charges.


def limited(fake_id, **limits):
    return lambda: InteractionBudget(gym.make(fake_id), budget={"turns": 9, **limits})


def test_tokens_are_charged_before_the_step(play, counting, fake_id):
    policy = counting(lambda _: Action("go", num_tokens=3))
    (episode,) = play(["endless-0"], policy, budget=9, make_env=limited(fake_id, tokens=7))
    assert [turn.budget["tokens"]["used"] for turn in episode.turns] == [3, 6, 9]
    assert (episode.verdict, episode.boundary) == ("fail", "budget")
    assert episode.budget_report["exhausted"] == "tokens"


def test_a_turn_that_its_own_cost_forbade_is_recorded_and_not_counted(play, counting, fake_id):
    policy = counting(lambda _: Action("go", num_tokens=3))
    (episode,) = play(["endless-0"], policy, budget=9, make_env=limited(fake_id, tokens=7))
    assert (len(episode.turns), episode.num_turns) == (3, 2)


def test_seconds_and_cost_are_charged_too(play, counting, fake_id):
    policy = counting(lambda _: Action("go", seconds=0.5, cost=2))
    make_env = limited(fake_id, seconds=100, cost=100)
    (episode,) = play(["pass-2"], policy, make_env=make_env)
    assert episode.budget_report["seconds"]["used"] == 1.0
    assert episode.budget_report["cost"]["used"] == 4


def test_a_policy_is_told_how_many_tokens_it_may_still_generate(play, counting, fake_id):
    seen = []
    policy = counting(lambda c: seen.append(c.token_limit) or Action("go", num_tokens=3))
    play(["pass-3"], policy, make_env=limited(fake_id, tokens=20))
    assert seen == [20, 17, 14]


def test_without_a_token_budget_there_is_no_token_limit(play, counting):
    seen = []
    play(["pass-1"], counting(lambda c: seen.append(c.token_limit) or Action("go")))
    assert seen == [None]


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf"), True, "3"])
def test_an_impossible_charge_is_the_agents_failure(play, counting, amount):
    (episode,) = play(["pass-2"], counting(lambda _: Action("go", seconds=amount)))
    assert (episode.verdict, episode.boundary) == ("fail", "agent")
    assert "charge 'seconds' takes a finite number" in episode.error


def test_an_impossible_number_of_tokens_is_the_agents_failure(play, counting):
    (episode,) = play(["pass-2"], counting(lambda _: Action("go", num_tokens=-1)))
    assert (episode.verdict, episode.boundary) == ("fail", "agent")


# Bounds and environments.


def test_bounds_are_recorded_with_each_episode(play):
    episodes = play(["pass-2", "solved-1"], bounds=lambda env: {4: len(env.unwrapped.task) / 10})
    assert [episode.upper_bounds for episode in episodes] == [{4: 0.6}, {4: 0.8}]


def test_an_oracle_that_fails_is_logged_and_its_bounds_are_missing(play, caplog):
    def bounds(env):
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        (episode,) = play(["pass-2"], bounds=bounds)
    assert (episode.verdict, episode.upper_bounds) == ("pass", None)
    assert "no upper bound for task 'pass-2'" in caplog.text


def test_environments_are_reused_and_broken_ones_are_not(play, fake_id):
    made, closed = [], []

    class Watched(gym.Wrapper):
        def close(self):
            closed.append(self)
            super().close()

    def make_env():
        made.append(InteractionBudget(Watched(gym.make(fake_id)), budget=4))
        return made[-1]

    play(["pass-1", "pass-2", "raise-1", "pass-3"], batch_size=1, make_env=make_env)
    assert len(made) == 2
    assert len(closed) == 2


def test_stopping_early_closes_everything(fake_id, counting):
    closed = []

    class Watched(gym.Wrapper):
        def close(self):
            closed.append(self)
            super().close()

    policy = counting()
    played = rollout(
        policy,
        lambda: InteractionBudget(Watched(gym.make(fake_id)), budget=9),
        [request_episode(0, task, 9, 0) for task in ("pass-1", "pass-5", "endless-0")],
    )
    next(played)
    played.close()
    assert len(closed) == 3
    assert sorted(policy.ended) == sorted(policy.begun)
