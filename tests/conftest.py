import os
import signal

import gymnasium as gym
import pytest
from hypothesis import HealthCheck, settings

from budget_envs.errors import TaskDataUnavailable
from budget_envs.tasks import needs_files

# What a shell starts in the background ignores Ctrl-C, and so do its children. Tests that interrupt
# a process need the signal to do what it does for a user.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run: a red test is red for everyone. No deadline: no test asserts time.
settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what is tested on every id, where the id's tasks are in files that are not here."""
    try:
        return (yield)
    except TaskDataUnavailable as error:
        if needs_files(_family(item)):
            pytest.skip(str(error))
        raise


def _family(item):
    env_id = getattr(item, "funcargs", {}).get("env_id")
    return gym.spec(env_id).kwargs["family"] if env_id in gym.registry else ""
