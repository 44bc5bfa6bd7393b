import asyncio
import functools
import logging

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.agents.policies import make_policy
from budget_envs.errors import DependencyNotInstalled, OptionError
from budget_envs.evaluation.live_episode import request_episode
from budget_envs.evaluation.policy import Action, Failure
from budget_envs.evaluation.rollout import rollout
from budget_envs.evaluation.store import Store
from budget_envs.evaluation.trajectory import Run
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


# Limits around the environment.


def within(fake_id, turns, more=None):
    def make_env():
        env = TimeLimit(InteractionBudget(gym.make(fake_id), budget=9), turns)
        return env if more is None else Saying(env, more)

    return make_env


def test_a_time_limit_around_the_environment_fails_what_it_cuts(play, fake_id):
    (episode,) = play(["pass-3"], budget=9, make_env=within(fake_id, 2))
    assert (episode.verdict, episode.boundary, episode.num_turns) == ("fail", "budget", 2)
    assert (episode.error, episode.success_turn, episode.episode_return) == (None, None, 0.0)


@pytest.mark.parametrize(("task", "verdict"), [("pass-2", "pass"), ("fail-2", "fail")])
def test_an_end_on_the_last_turn_of_a_time_limit_is_the_tasks_own(play, fake_id, task, verdict):
    (episode,) = play([task], budget=9, make_env=within(fake_id, 2))
    assert (episode.verdict, episode.boundary) == (verdict, None)


@pytest.mark.parametrize(
    ("reason", "verdict", "boundary"),
    [
        ("budget", "fail", "budget"),
        ("sandbox_lost", "void", "sandbox"),
        ("power cut", "void", "env"),
    ],
)
def test_a_truncation_without_a_verdict_may_name_its_cause(
    play, fake_id, reason, verdict, boundary
):
    make_env = within(fake_id, 2, {"truncation_reason": reason})
    (episode,) = play(["pass-3"], budget=9, make_env=make_env)
    assert (episode.verdict, episode.boundary) == (verdict, boundary)


def test_a_truncation_that_says_there_was_no_success_is_of_the_budget(play, fake_id):
    make_env = within(fake_id, 2, {"is_success": False})
    (episode,) = play(["pass-3"], budget=9, make_env=make_env)
    assert (episode.verdict, episode.boundary) == ("fail", "budget")


class Silent(gym.Wrapper):
    """Leaves out how it went."""

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        rest = {key: value for key, value in info.items() if key not in ("verdict", "is_success")}
        return observation, reward, terminated, truncated, rest


def test_an_environment_that_terminates_owes_a_verdict_and_a_reward_is_none(play, fake_id):
    def make_env():
        return InteractionBudget(Silent(gym.make(fake_id)), budget=4)

    (episode,) = play(["pass-2"], make_env=make_env)
    assert (episode.verdict, episode.boundary, episode.turns[-1].reward) == ("void", "env", 1.0)
    assert "expected a verdict" in episode.error


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


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "error",
    [
        Unprintable(),
        SystemExit(3),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [SystemExit(), ValueError()]),
        RecursionError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_policy_raises_ends_its_own_episode_alone(play, counting, error):
    def respond(conversation):
        if conversation.id.startswith("pass-2"):
            raise error
        return Action("go")

    bad, good = play(["pass-2", "pass-3"], counting(respond))
    assert (bad.verdict, bad.boundary, good.verdict) == ("fail", "agent", "pass")
    assert type(error).__name__ in bad.error
    assert stored([bad, good]) == [bad, good]


@pytest.mark.parametrize(
    "failure",
    [Failure(ValueError("boom")), Failure(None), Failure("x", "agnet"), Failure("x", None)],
)
def test_a_failure_made_wrongly_is_the_agents_and_can_be_stored(play, counting, failure):
    (episode,) = play(["pass-3"], counting(lambda _: failure))
    assert (episode.verdict, episode.boundary) == ("fail", "agent")
    assert stored([episode]) == [episode]


def test_an_exception_group_with_an_interrupt_stops_everything(play, counting):
    error = BaseExceptionGroup("several", [ValueError(), KeyboardInterrupt()])
    with pytest.raises(BaseExceptionGroup):
        play(["pass-3"], counting(raise_at(0, error)))


def test_leaving_the_program_while_ending_changes_nothing(play, counting):
    class Leaving(counting):
        def end(self, conversations):
            raise SystemExit(1)

    assert play(["pass-1"], Leaving())[0].verdict == "pass"


# What a policy cannot do.


def stored(episodes):
    """Return episodes as they come back from a database."""
    run = Run(
        "id", "env", {}, "p", {}, "rerun", (4,), 1, 1, tuple(e.task_id for e in episodes), None, 0
    )
    with Store.in_memory() as store:
        store.add_run(run)
        store.add_episodes("id", episodes)
        return store.episodes("id", with_turns=True)


def forge_text(conversation):
    conversation.messages[-1]["content"] = "FORGED"


def forge_turns(conversation):
    conversation.messages += [{"role": "user", "content": "FORGED"}] * 4


def break_everything(conversation):
    for name in ("id", "key", "action_space", "messages", "token_limit", "env"):
        setattr(conversation, name, None)


@pytest.mark.parametrize(
    "change",
    [lambda c: c.messages.clear(), forge_text, forge_turns, break_everything],
    ids=["clear", "text", "turns", "everything"],
)
def test_a_policy_cannot_change_the_record_or_what_it_is_shown_next(play, counting, change):
    seen = []

    class Forger(counting):
        def act(self, conversations):
            seen.extend([message["content"] for message in c.messages] for c in conversations)
            answers = super().act(conversations)
            for conversation in conversations:
                change(conversation)
            return answers

        def begin(self, conversations):
            for conversation in conversations:
                change(conversation)

    forger, honest = Forger(), counting()
    assert play(["pass-3"], forger) == play(["pass-3"], honest)
    assert forger.asked == honest.asked
    assert seen[2] == [
        "start of pass-3",
        "go",
        "turn 1 of pass-3: go",
        "go",
        "turn 2 of pass-3: go",
    ]


class Liar(str):
    """Text that breaks whoever looks at it."""

    def strip(self, *args):
        raise RuntimeError("not me")

    def __len__(self):
        return 0

    def __str__(self):
        return "pass"

    def __format__(self, spec):
        return "pass"


def test_text_that_lies_about_itself_is_read_as_it_is(play, counting):
    liar = counting(lambda _: Action(Liar("go")))
    assert play(["pass-3"], liar) == play(["pass-3"])


def test_an_action_that_changed_after_it_was_made_is_the_agents_failure(play, counting):
    def respond(_):
        action = Action("go")
        object.__setattr__(action, "text", 3)
        return action

    (episode,) = play(["pass-3"], counting(respond))
    assert (episode.verdict, episode.boundary) == ("fail", "agent")
    assert "an action's text must be a str" in episode.error


def test_log_probabilities_without_a_sum_are_the_agents_failure(play, counting):
    policy = counting(lambda _: Action("go", logprobs=(-1e308,) * 3))
    (episode,) = play(["pass-3"], policy)
    assert (episode.verdict, episode.boundary, episode.num_turns) == ("fail", "agent", 0)


def test_the_most_tokens_can_be_stored(play, counting):
    policy = counting(lambda _: Action("go", num_tokens=2**40 - 1))
    (episode,) = play(["pass-3"], policy)
    assert stored([episode])[0].num_tokens == 3 * (2**40 - 1)


# What an environment cannot do.


class Saying(gym.Wrapper):
    """Adds to the info of every step, and multiplies the reward."""

    def __init__(self, env, more, reward=None):
        super().__init__(env)
        self.more, self.reward = more, reward

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = reward if self.reward is None else self.reward
        return observation, reward, terminated, truncated, {**info, **self.more}


def saying(fake_id, more, reward=None):
    return lambda: Saying(InteractionBudget(gym.make(fake_id), budget=4), more, reward)


def test_infos_that_are_not_what_they_are_called_are_left_out(play, fake_id):
    make_env = saying(fake_id, {"oracle": "none", "injected": True, "executed_action": 3})
    (episode,) = play(["pass-2"], make_env=make_env)
    assert (episode.verdict, episode.num_injected, episode.mean_regret) == ("pass", 0, None)
    assert stored([episode]) == [episode]


@pytest.mark.parametrize("regret", [None, "much", float("nan")])
def test_a_regret_that_is_no_number_enters_no_mean(play, fake_id, regret):
    (episode,) = play(["pass-2"], make_env=saying(fake_id, {"oracle": {"regret": regret}}))
    assert (episode.verdict, episode.mean_regret) == ("pass", None)


def test_rewards_without_a_sum_have_no_return(play, fake_id):
    (episode,) = play(["pass-3"], make_env=saying(fake_id, {}, reward=1e308))
    assert (episode.verdict, episode.episode_return) == ("pass", None)
    assert stored([episode]) == [episode]


@pytest.mark.parametrize("more", [{"budget": "none"}, {"verdict": np.zeros(2)}])
def test_an_info_that_cannot_be_read_makes_its_episode_void(play, fake_id, more):
    bad = play(["pass-2", "pass-3"], make_env=saying(fake_id, more))
    assert [(episode.verdict, episode.boundary) for episode in bad] == [("void", "env")] * 2


def test_a_reward_that_is_no_number_makes_its_episode_void(play, fake_id):
    (episode,) = play(["pass-2"], make_env=saying(fake_id, {}, reward="much"))
    assert (episode.verdict, episode.boundary, len(episode.turns)) == ("void", "env", 1)


def test_an_environment_that_leaves_the_program_makes_its_episode_void(play, fake_id):
    class Leaving(gym.Wrapper):
        def step(self, action):
            raise SystemExit(1)

    def make_env():
        return InteractionBudget(Leaving(gym.make(fake_id)), budget=4)

    (episode,) = play(["pass-2"], make_env=make_env)
    assert (episode.verdict, episode.boundary, len(episode.turns)) == ("void", "env", 1)


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


@pytest.mark.parametrize("found", [None, {"four": 1.0}, {4: "much"}])
def test_bounds_that_are_none_are_missing(play, caplog, found):
    with caplog.at_level(logging.ERROR):
        (episode,) = play(["pass-2"], bounds=lambda env: found)
    assert (episode.verdict, episode.upper_bounds) == ("pass", None)
    assert "no upper bound" in caplog.text


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
