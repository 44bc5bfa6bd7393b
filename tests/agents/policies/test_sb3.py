import pickle
import random
import zipfile

import gymnasium as gym
import numpy as np
import pytest

import budget_envs  # noqa: F401  # registers the ids
from budget_envs.agents.policies.sb3 import SB3Policy
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.evaluation import evaluate
from budget_envs.evaluation.policy import Conversation, check_policy
from budget_envs.spaces import TextSpace
from budget_envs.wrappers import (
    DiscreteActions,
    InteractionBudget,
    NumericObservation,
    ShowBudget,
)

torch = pytest.importorskip("torch", reason='needs pip install "budget-envs[sb3]"')
sb3 = pytest.importorskip("stable_baselines3", reason='needs pip install "budget-envs[sb3]"')
torch.set_num_threads(1)

LAKE = "budget_envs/FrozenLake-v0"
SHOWN = {"show_budget": True, "budget": 8}


class Says(gym.Env):
    """Has actions with names, and no numbers but those of its text."""

    render_mode = None
    action_names = ("stay", "leave")

    def __init__(self):
        self.observation_space = self.action_space = TextSpace()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return f"Hello {seed}", {}

    def step(self, action):
        return f"You said {action}.", 0.0, False, False, {}


def save(folder, algorithm="PPO", env_id=LAKE, seed=0, **keywords):
    env = gym.make(env_id, numeric=True, **keywords)
    settings = {"n_steps": 8, "batch_size": 8} if algorithm == "PPO" else {}
    policy = (
        "MultiInputPolicy" if isinstance(env.observation_space, gym.spaces.Dict) else "MlpPolicy"
    )
    model = getattr(sb3, algorithm)(policy, env, seed=seed, device="cpu", **settings)
    path = folder / f"{algorithm}-{len(list(folder.iterdir()))}.zip"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def ppo(tmp_path_factory):
    """The file of a model that has learned nothing."""
    return save(tmp_path_factory.mktemp("sb3"))


@pytest.fixture(scope="module")
def shown_ppo(tmp_path_factory):
    """The same for a model that sees its budget."""
    return save(tmp_path_factory.mktemp("sb3"), **SHOWN)


def talk(env, key=0, **reset):
    text, _ = env.reset(**{"seed": 0, **reset})
    return Conversation("id", key, env.action_space, [{"role": "user", "content": text}], env=env)


def actions(env_kwargs, policy, **settings):
    done = evaluate(
        policy, LAKE, [4], tasks=6, k=1, num_rollouts=2, env_kwargs=env_kwargs, **settings
    )
    return {e.key: [(t.action, t.logprob) for t in e.turns] for e in done.episodes}


# What it plays.


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "DQN"])
@pytest.mark.parametrize("keywords", [{}, SHOWN])
def test_it_plays_what_the_model_predicts_on_the_numeric_environment(tmp_path, algorithm, keywords):
    path = save(tmp_path, algorithm, **keywords)
    policy, model = SB3Policy(path, algorithm), getattr(sb3, algorithm).load(path)
    numeric, text = gym.make(LAKE, numeric=True, **keywords), gym.make(LAKE, **keywords)
    policy.check_env(text)
    for seed in range(12):
        observation, _ = numeric.reset(seed=seed)
        conversation, over = talk(text, seed=seed), False
        while not over:
            number, _ = model.predict(observation, deterministic=True)
            (action,) = policy.act([conversation])
            assert action.text == numeric.get_wrapper_attr("action_names")[int(number)]
            observation, *_, truncated, _ = numeric.step(number)
            said, _, terminated, truncated, _ = text.step(action.text)
            messages = [{"role": "assistant", "content": ""}, {"role": "user", "content": said}]
            conversation.messages = [*conversation.messages, *messages]
            over = terminated or truncated


def test_a_trained_model_solves_what_it_was_trained_on(tmp_path):
    keywords = {"desc": ["SFFG"], "success_rate": 1.0, "budget": 6}
    env = gym.make(LAKE, numeric=True, **keywords)
    model = sb3.PPO("MlpPolicy", env, seed=0, n_steps=64, batch_size=32, learning_rate=1e-2)
    model.learn(512)
    model.save(tmp_path / "model.zip")
    done = evaluate(SB3Policy(tmp_path / "model.zip"), LAKE, [6], tasks=1, k=1, env_kwargs=keywords)
    assert done.pass_kt().mean[0, 0] == 1.0


def test_drawn_actions_follow_the_models_probabilities(ppo):
    policy = SB3Policy(ppo, deterministic=False)
    env = gym.make(LAKE)
    drawn = [policy.act([talk(env, key=key)])[0] for key in range(2000)]
    counts = {text: sum(a.text == text for a in drawn) for text in {a.text for a in drawn}}
    probabilities = {action.text: np.exp(action.logprob) for action in drawn}
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-5)
    for text, probability in probabilities.items():
        assert counts[text] / 2000 == pytest.approx(probability, abs=0.05)


@pytest.mark.parametrize("deterministic", [True, False])
def test_actions_depend_neither_on_the_batch_nor_on_the_process(ppo, deterministic):
    policy = SB3Policy(ppo, deterministic=deterministic)
    alone = actions({}, policy, batch_size=1)
    assert alone == actions({}, policy, batch_size=64)
    assert alone == actions({}, pickle.loads(pickle.dumps(policy)))
    assert len({tuple(turns) for turns in alone.values()}) > 1


def test_log_probabilities_are_the_models_own(ppo):
    env = gym.make(LAKE)
    (action,) = SB3Policy(ppo).act([talk(env)])
    numeric = gym.make(LAKE, numeric=True)
    observation, _ = numeric.reset(seed=0)
    model = sb3.PPO.load(ppo)
    tensor, _ = model.policy.obs_to_tensor(observation)
    number = numeric.get_wrapper_attr("action_names").index(action.text)
    with torch.no_grad():
        expected = model.policy.get_distribution(tensor).log_prob(torch.tensor([number])).item()
    assert action.logprob == pytest.approx(expected, abs=1e-6)


def test_dqn_has_no_log_probabilities(tmp_path):
    (action,) = SB3Policy(save(tmp_path, "DQN"), "DQN").act([talk(gym.make(LAKE))])
    assert action.logprobs is None


def test_looking_at_the_numbers_changes_nothing(shown_ppo):
    env, twin = gym.make(LAKE, **SHOWN), gym.make(LAKE, **SHOWN)
    talks = [talk(env), talk(twin)]
    SB3Policy(shown_ppo).act(talks[:1])
    assert env.snapshot() == twin.snapshot()
    assert env.step("Right")[:4] == twin.step("Right")[:4]


def test_loading_and_playing_leave_the_global_random_state_alone(ppo):
    def states():
        of_numpy = str(np.random.get_state())  # noqa: NPY002  # the state that must not change
        return random.getstate(), of_numpy, torch.get_rng_state().tolist()

    before = states()
    SB3Policy(ppo, deterministic=False).act([talk(gym.make(LAKE))])
    assert states() == before


def test_numbers_made_from_text_are_as_wide_as_in_training(tmp_path):
    numeric = NumericObservation(DiscreteActions(InteractionBudget(Says(), budget=4)), max_bytes=24)
    model = sb3.PPO("MlpPolicy", numeric, n_steps=8, batch_size=8, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    policy, env = SB3Policy(tmp_path / "model.zip"), InteractionBudget(Says(), budget=4)
    policy.check_env(env)
    for seed in range(20):
        number, _ = model.predict(numeric.reset(seed=seed)[0], deterministic=True)
        assert policy.act([talk(env, seed=seed)])[0].text == Says.action_names[int(number)]
    with pytest.raises(UnsupportedError, match="leave show_budget out"):
        policy.check_env(ShowBudget(env))


# What it refuses.


def test_the_check_names_what_differs(ppo, shown_ppo):
    with pytest.raises(UnsupportedError, match="trained on observations in Box"):
        SB3Policy(ppo).check_env(gym.make(LAKE, **SHOWN))
    with pytest.raises(UnsupportedError, match="with the keywords that it had in training"):
        SB3Policy(shown_ppo).check_env(gym.make(LAKE, budget=8))
    with pytest.raises(UnsupportedError, match="trained on observations"):
        SB3Policy(ppo).check_env(gym.make(LAKE, size=8))


def test_a_model_of_another_world_is_refused(tmp_path):
    sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, device="cpu").save(tmp_path / "m")
    with pytest.raises(UnsupportedError, match="trained on observations in Box"):
        SB3Policy(tmp_path / "m.zip").check_env(gym.make(LAKE))


def test_free_text_actions_have_no_numbers(ppo):
    with pytest.raises(OptionError, match="no action_names"):
        SB3Policy(ppo).check_env(gym.make("budget_envs/DeepCoderMT-v0"))


def test_faults_that_numbers_would_not_show_are_refused(ppo):
    env = gym.make(LAKE, error_states={"kind": "garbled", "rate": 0.5})
    with pytest.raises(OptionError, match="garbled change the text"):
        SB3Policy(ppo).check_env(env)


def test_a_budget_that_numbers_cannot_be_told_so_is_refused(shown_ppo):
    env = ShowBudget(gym.make(LAKE, budget=8), when="last_turn")
    with pytest.raises(OptionError, match="when='last_turn' is for text"):
        SB3Policy(shown_ppo).check_env(env)


def test_reading_off_smaller_budgets_is_refused_where_the_model_sees_its_budget(shown_ppo):
    with pytest.raises(UnsupportedError, match="shows its budget"):
        evaluate(SB3Policy(shown_ppo), LAKE, [4], env_kwargs=SHOWN, protocol="truncate")


def test_the_model_of_another_algorithm_is_refused(tmp_path):
    path = save(tmp_path, "DQN")
    with pytest.raises(OptionError, match="as a model of PPO"):
        SB3Policy(path).check_env(gym.make(LAKE))


@pytest.mark.parametrize("content", [b"", b"not a zip file", "empty zip"])
def test_a_file_that_is_no_model_is_refused(tmp_path, content):
    path = tmp_path / "model.zip"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        zipfile.ZipFile(path, "w").close()
    with pytest.raises(OptionError, match="cannot load"):
        SB3Policy(path).check_env(gym.make(LAKE))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"path must be a file that model.save has written"):
        SB3Policy(tmp_path / "nothing.zip")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"algorithm": "PPO2"}, "Did you mean 'PPO'"),
        ({"algorithm": "SAC"}, "one of PPO, A2C, DQN"),
        ({"deterministic": 1}, "deterministic must be"),
        ({"algorithm": "DQN", "deterministic": False}, "DQN has no probabilities"),
    ],
)
def test_settings_that_are_not_valid_say_why(ppo, settings, why):
    with pytest.raises(OptionError, match=why):
        SB3Policy(ppo, **settings)


def test_a_retrained_model_is_another_run(tmp_path):
    first, second = save(tmp_path), save(tmp_path, seed=1)
    before = SB3Policy(first).settings
    check_policy(SB3Policy(first))
    first.write_bytes(second.read_bytes())
    after = SB3Policy(first).settings
    assert before["path"] == after["path"]
    assert before["sha256"] != after["sha256"]
