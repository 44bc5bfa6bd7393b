import math

import pytest

from budget_envs.agents.models.sampling import Sampling
from budget_envs.errors import OptionError


@pytest.mark.parametrize("temperature", [-0.1, math.inf, math.nan])
def test_a_temperature_that_is_none_is_refused(temperature):
    with pytest.raises(OptionError, match="temperature"):
        Sampling(temperature)


@pytest.mark.parametrize("top_p", [0.0, -1.0, 1.1, math.nan])
def test_a_top_p_that_is_no_share_is_refused(top_p):
    with pytest.raises(OptionError, match="top_p"):
        Sampling(1.0, top_p)


@pytest.mark.parametrize("value", ["1", None, True])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(OptionError):
        Sampling(value)
    with pytest.raises(OptionError):
        Sampling(1.0, value)
