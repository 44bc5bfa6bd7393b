import pytest

from budget_envs.errors import OptionError, UnsupportedError
from budget_envs.oracle import load_oracle, oracle_name


class FlatOracle:
    exact = False

    def value(self, env, action):
        return 0.5

    def upper_bound(self, env, turns):
        return 1.0


def test_an_oracle_is_loaded_by_its_name_and_names_itself():
    oracle = load_oracle("budget_envs.oracles.frozen_lake:FrozenLakeOracle")
    assert oracle_name(oracle) == "budget_envs.oracles.frozen_lake:FrozenLakeOracle"
    assert oracle.exact


@pytest.mark.parametrize(
    "name", ["FrozenLakeOracle", "no_such_module:X", "budget_envs.oracles.frozen_lake:Nothing"]
)
def test_a_name_that_leads_nowhere_is_refused(name):
    with pytest.raises(OptionError, match="oracle"):
        load_oracle(name)


def test_a_local_oracle_class_cannot_be_recorded():
    class Local(FlatOracle):
        pass

    with pytest.raises(UnsupportedError, match="local"):
        oracle_name(Local())
