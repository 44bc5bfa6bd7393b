import subprocess
import sys
import warnings

import gymnasium as gym
import pytest

import budget_envs
from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.registration import FAMILIES, PRESETS, build

IDS = [preset.id for preset in PRESETS]


def test_every_preset_is_registered_once():
    assert len(set(IDS)) == len(IDS)
    assert set(IDS) <= set(gym.registry)


def test_registering_again_changes_nothing_and_warns_of_nothing():
    before = dict(gym.registry)
    budget_envs.register_all()
    assert dict(gym.registry) == before


def test_importing_loads_gymnasium_and_numpy_only():
    code = (
        "import sys, gymnasium, numpy; before = set(sys.modules); import budget_envs\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names) - {'budget_envs'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_importing_prints_and_configures_nothing():
    code = (
        "import logging, random, numpy as np\n"
        "random.seed(1); np.random.seed(1)\n"
        "a = random.getstate(); b = np.random.get_state()[1].tobytes()\n"
        "import budget_envs, gymnasium as gym\n"
        "env = gym.make('budget_envs/FrozenLake-v0'); env.reset(seed=3); env.step('Up')\n"
        "assert not logging.root.handlers\n"
        "assert random.getstate() == a and np.random.get_state()[1].tobytes() == b"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


def test_an_id_is_made_without_importing_the_package_first():
    code = (
        "import gymnasium as gym\n"
        "print(gym.make('budget_envs:budget_envs/FrozenLake-v0').reset(seed=0)[1]['turn'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"


def test_a_misspelled_id_is_answered_with_the_nearest():
    with pytest.raises(gym.error.Error, match="FrozenLake"):
        gym.make("budget_envs/FrozenLaek-v0")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sizee": 5}, "Did you mean 'size'"),
        ({"bugdet": 5}, "Did you mean 'budget'"),
        ({"budget": 0}, "at least 1"),
        ({"budget": -1}, "at least 1"),
        ({"budget": True}, "positive integer"),
        ({"budget": 1.5}, "positive integer"),
        ({"budget": "8"}, "positive integer"),
        ({"budget": {"turn": 8}}, "Did you mean 'turns'"),
        ({"oracle": 3}, "module:Class"),
        ({"oracle": "nonsense"}, "module:Class"),
        ({"error_states": 3}, "mapping"),
        ({"budget_mix": "grid"}, "mapping"),
        ({"budget_mix": {"shedule": "grid"}}, "Did you mean 'schedule'"),
        ({"error_states": {"rte": 0.5}}, "Did you mean 'rate'"),
        ({"show_budget": {"wen": "never"}}, "Did you mean 'when'"),
        ({"show_budget": []}, "threshold"),
        ({"numeric": "yes"}, "True or False"),
        ({"oracle_reward": 1}, "True or False"),
        ({"family": {"enw": "x:Y"}}, "'env'"),
        ({"family": "frozen_lkae"}, "Did you mean 'frozen_lake'"),
    ],
)
def test_a_bad_keyword_is_refused(keywords, message):
    with pytest.raises(OptionError, match=message):
        gym.make("budget_envs/FrozenLake-v0", **keywords)


def test_the_budget_fills_in_the_horizon_of_feasibility():
    env = gym.make("budget_envs/FrozenLake-v0", budget=3, feasible_only=True)
    assert max(env.reset(seed=seed)[1]["min_turns"] for seed in range(60)) <= 3


def test_an_id_of_another_package_has_every_keyword_that_ours_have():
    before = set(gym.registry)
    budget_envs.register(
        "elsewhere/Lake-v0",
        "budget_envs.envs.frozen_lake:FrozenLakeEnv",
        turns=7,
        oracle="budget_envs.oracles.frozen_lake:FrozenLakeOracle",
        settings={"size": 3},
    )
    try:
        env = gym.make("elsewhere/Lake-v0", show_budget=True, oracle=True)
        text, info = env.reset(seed=0)
        assert text.endswith("[Budget: 7 of 7 turns left]")
        assert info["oracle"]["best"] in (0.0, 1.0)
        assert env.unwrapped.maps.sizes == (3,)
        again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        assert again.reset(seed=0) == (text, info)
        assert gym.make_vec("elsewhere/Lake-v0", 2).reset(seed=0)[0][0] in text
        budget_envs.register("elsewhere/Lake-v0", "nowhere:Nothing", turns=1)
        assert gym.make("elsewhere/Lake-v0").ledger.budget.turns == 7
    finally:
        for env_id in set(gym.registry) - before:
            del gym.registry[env_id]


def test_an_environment_without_an_oracle_says_so():
    with pytest.raises(OptionError, match="has no oracle of its own"):
        build(family={"env": "budget_envs.envs.frozen_lake:FrozenLakeEnv"}, oracle=True)


def test_an_unknown_render_mode_is_the_type_error_that_helpers_of_other_libraries_expect():
    with pytest.warns(UserWarning, match="render_mode"), pytest.raises(TypeError, match="ansi"):
        gym.make("budget_envs/FrozenLake-v0", render_mode="rgb_array")


def test_a_missing_budget_keeps_the_ids_own_and_none_lifts_it():
    assert gym.make("budget_envs/FrozenLake-v0").ledger.budget.turns == 10
    assert gym.make("budget_envs/FrozenLake-8x8-v0").ledger.budget.turns == 20
    unlimited = gym.make("budget_envs/FrozenLake-v0", budget=None)
    unlimited.reset(seed=0)
    flags = {unlimited.step("nonsense")[3] for _ in range(200)}
    assert flags == {False}


def test_presets_differ_as_their_names_say():
    def env(name):
        return gym.make(f"budget_envs/{name}-v0").unwrapped

    assert env("FrozenLake-Slippery").success_rate == pytest.approx(1 / 3)
    assert env("FrozenLake-MildlySlippery").success_rate == 0.8
    assert env("FrozenLake-8x8").maps.sizes == (8,)
    assert env("FrozenLake-Mixed").maps.sizes == (4, 5, 6, 7, 8)


def test_make_vec_async_works_without_shared_memory_and_refuses_it():
    with pytest.raises(UnsupportedError, match="shared memory"):
        budget_envs.make_vec(
            IDS[0], 2, vectorization_mode="async", vector_kwargs={"shared_memory": True}
        )
    envs = budget_envs.make_vec(IDS[0], 2, vectorization_mode="async")
    sync = budget_envs.make_vec(IDS[0], 2, vectorization_mode="sync")
    try:
        assert envs.reset(seed=1)[0] == sync.reset(seed=1)[0]
        assert envs.step(("Left", "Up"))[0] == sync.step(("Left", "Up"))[0]
    finally:
        envs.close()


def test_the_factory_has_the_render_modes_that_gymnasium_reads():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make("budget_envs/FrozenLake-v0", render_mode="ansi")
    env.reset(seed=0)
    assert "P" in env.render()


def test_every_family_has_its_classes():
    for name in FAMILIES:
        env = build(family=name, oracle=FAMILIES[name].oracle is not None)
        env.reset(seed=0)
