import gymnasium as gym
import pytest

import budget_envs  # noqa: F401  # registers the ids

torch = pytest.importorskip("torch", reason='needs pip install "budget-envs[sb3]"')
sb3 = pytest.importorskip("stable_baselines3", reason='needs pip install "budget-envs[sb3]"')
torch.set_num_threads(1)

ID = "budget_envs/FrozenLake-v0"


def success_rate(model, env, episodes):
    wins = 0
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        wins += info["is_success"]
    return wins / episodes


def test_ppo_trains_unmodified_and_solves_the_deterministic_4x4_map():
    env = gym.make(ID, map_name="4x4", budget=20, numeric=True)
    model = sb3.PPO(
        "MlpPolicy", env, seed=0, n_steps=512, batch_size=128, learning_rate=1e-3, ent_coef=0.02
    )
    model.learn(16_384)
    assert success_rate(model, env, 5) == 1.0


def test_sb3s_make_vec_env_makes_copies_of_an_id():
    from stable_baselines3.common.env_util import make_vec_env

    with pytest.warns(UserWarning, match="render_mode"):  # it asks for rgb_array first
        envs = make_vec_env(ID, n_envs=2, seed=0, env_kwargs={"numeric": True, "budget": 8})
    assert envs.reset().shape == (2, 64)
    envs.step([0, 1])


def test_sb3s_own_checker_accepts_the_numeric_environment():
    from stable_baselines3.common.env_checker import check_env

    check_env(gym.make(ID, numeric=True, show_budget=True))


def test_ppo_learns_from_a_shown_budget_and_oracle_reward():
    env = gym.make(ID, size=3, budget=4, numeric=True, show_budget=True, oracle_reward=True)
    model = sb3.PPO("MlpPolicy", env, seed=0, n_steps=128, batch_size=64)
    model.learn(256)
    assert model.num_timesteps == 256
