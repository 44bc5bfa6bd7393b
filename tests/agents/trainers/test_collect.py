import math

import numpy as np
import pytest

from budget_envs.agents.policies.language_model import LanguageModelPolicy
from budget_envs.agents.trainers.collect import Collector, EnvPool, play
from budget_envs.agents.trainers.config import RolloutSettings
from budget_envs.evaluation.env_maker import EnvMaker
from budget_envs.evaluation.live_episode import request_episode
from budget_envs.evaluation.policy import Failure

LAKE = "budget_envs/FrozenLake-4x4-v0"
OPEN, WALL = "SFF/FFF/FFG", "SFH/FFH/HFG"


@pytest.fixture
def policy(imitator):
    return LanguageModelPolicy(imitator, max_tokens_per_turn=3, record=True)


def _collect(policy, step=0, tasks=((OPEN, 4), (WALL, 2)), seed=0, group_size=3, **keywords):
    make_env = EnvMaker.of(LAKE, {"oracle": True, **keywords})
    settings = RolloutSettings(groups=len(tasks), group_size=group_size, max_tokens_per_turn=3)
    return Collector(policy, make_env, settings, seed).collect(step, tasks)


def test_a_group_shares_task_and_budget(policy):
    found = _collect(policy)
    assert found.groups.tolist() == [0, 0, 0, 1, 1, 1]
    assert [(e.task_id, e.budget, e.rollout) for e in found.episodes] == [
        *((OPEN, 4, number) for number in range(3)),
        *((WALL, 2, number) for number in range(3)),
    ]
    assert all(len(episode.turns) <= episode.budget for episode in found.episodes)
    assert len({episode.seed for episode in found.episodes[:3]}) == 1


def test_a_step_is_a_function_of_seed_and_step(policy):
    def texts(**changes):
        episodes = _collect(policy, **changes).episodes
        return [[turn.action for turn in episode.turns] for episode in episodes]

    assert texts() == texts()
    assert texts() != texts(step=1)
    assert texts() != texts(seed=1)


def test_turns_are_flat_and_in_order(policy):
    found = _collect(policy)
    flat = [turn for episode in found.episodes for turn in episode.turns]
    assert found.rewards.tolist() == [turn.reward for turn in flat]
    assert found.state_keys == [turn.state_key for turn in flat]
    assert found.regrets.tolist() == [turn.oracle["regret"] for turn in flat]
    assert (found.shaped_rewards == -found.regrets).all()
    counts = np.bincount(found.trajectories, minlength=6)
    assert counts.tolist() == [len(episode.turns) for episode in found.episodes]


def test_process_rewards_add_up_to_the_outcome(policy):
    found = _collect(policy, tasks=((OPEN, 4),), group_size=16)
    sums = np.bincount(found.trajectories, weights=found.shaped_rewards, minlength=16)
    assert sums == pytest.approx(found.returns - 1)  # within 4 turns the task can be solved


def test_the_tokens_of_a_batch_are_the_actions(policy):
    found = _collect(policy)
    batch = found.batch()
    chat = policy.language_model.chat
    number = 0
    for row, episode in enumerate(found.episodes):
        for turn in episode.turns:
            chosen = batch.mask[row] & (batch.turns[row] == number)
            assert chat.decode(batch.ids[row][chosen].tolist()) == turn.action
            assert batch.old_logprobs[row][chosen].sum().item() == pytest.approx(
                turn.logprob, rel=1e-4
            )
            number += 1
    assert number == len(found.trajectories)


def test_what_a_limit_cut_short_did_not_terminate(policy):
    found = _collect(policy, tasks=((OPEN, 1),), group_size=4)
    assert not found.is_terminated.any()
    ended = _collect(policy, tasks=((OPEN, 1),), group_size=4, on_exhausted="terminate")
    assert ended.is_terminated.all()


def test_a_hole_in_the_last_turn_is_an_end_of_its_own(policy, monkeypatch):
    monkeypatch.setattr(policy, "_action", lambda plan, generated: _Spoken())
    found = _collect(policy, tasks=(("SH/FG", 1),), group_size=1)
    assert found.episodes[0].verdict == "fail"
    assert found.is_terminated.tolist() == [True]


def _Spoken():  # noqa: N802
    from budget_envs.evaluation.policy import Action

    return Action("Right")


def test_void_and_dead_rollouts_stop_nobody(policy, monkeypatch):
    act = policy.act

    def failing(conversations):
        answers = list(act(conversations))
        for place, conversation in enumerate(conversations):
            if conversation.id.endswith("#0"):
                answers[place] = Failure("no answer", "provider")
            elif conversation.id.endswith("#1") and conversation.turn == 1:
                answers[place] = Failure("gave up", "agent")
        return answers

    monkeypatch.setattr(policy, "act", failing)
    found = _collect(policy, tasks=((OPEN, 4),), group_size=8)
    assert found.is_void.tolist() == [True] + [False] * 7
    assert math.isnan(found.returns[0])
    assert found.returns[1] == 0
    batch = found.batch()
    assert not batch.mask[0].any()
    assert batch.mask[2:].any(dim=1).all()
    metrics = found.metrics()
    assert metrics["rollout/void_share"] == 1 / 8
    assert metrics["charts/episodic_return"] == found.returns[1:].mean()


def test_a_void_rollout_counts_nowhere_in_the_metrics(policy, monkeypatch):
    monkeypatch.setattr(policy, "act", lambda cs: [Failure("down", "provider") for _ in cs])
    found = _collect(policy)
    metrics = found.metrics()
    assert metrics["rollout/void_share"] == 1
    assert math.isnan(metrics["rollout/success_rate"])
    assert metrics["rollout/equal_group_share"] == 1
    assert found.batch().ids.shape[0] == 6


def test_a_task_that_is_solved_at_reset_has_no_tokens(policy, monkeypatch):
    make_env = EnvMaker.of(LAKE, {})
    request = request_episode(0, OPEN, 4, 0)
    monkeypatch.setattr(
        "budget_envs.evaluation.live_episode.EpisodeRequest.begin",
        lambda self, env, with_env: (_ for _ in ()).throw(RuntimeError("broken")),
    )
    found = play(policy, EnvPool(make_env), [request], groups=np.zeros(1, np.int64), batch_size=1)
    assert len(found.tokens[0]) == 0
    assert found.is_void.tolist() == [True]


def test_environments_are_used_again_but_for_broken_ones(policy):
    made = []

    def make():
        made.append(EnvMaker.of(LAKE, {})())
        return made[-1]

    pool = EnvPool(make)

    def play_one(number):
        request = request_episode(0, OPEN, 4, number)
        return play(policy, pool, [request], groups=np.zeros(1, np.int64), batch_size=1)

    assert play_one(0).episodes[0].verdict != "void"
    play_one(1)
    assert len(made) == 1
    made[0].unwrapped.act = lambda action: 1 / 0
    assert play_one(2).episodes[0].verdict == "void"
    assert play_one(3).episodes[0].verdict != "void"
    assert len(made) == 2
    pool.close()
    play_one(4)
    assert len(made) == 3


def test_metrics_have_the_customary_names(policy):
    metrics = _collect(policy).metrics()
    wanted = {"charts/episodic_return", "charts/episodic_length", "charts/SPS"}
    wanted |= {"rollout/success_rate", "rollout/mean_budget", "rollout/equal_group_share"}
    phases = {"time/environment", "time/prefill", "time/decode", "time/policy"}
    assert wanted | phases <= set(metrics)
    assert all(metrics[phase] > 0 for phase in phases)
    assert metrics["rollout/mean_budget"] == 3
