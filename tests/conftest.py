import os
import signal

from hypothesis import HealthCheck, settings

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
