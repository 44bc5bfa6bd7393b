import contextlib

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.cli.ids import find_id, make_env, read_keywords, takes_our_keywords
from budget_envs.errors import OptionError


@pytest.mark.parametrize(
    ("name", "env_id"),
    [
        ("budget_envs/FrozenLake-v0", "budget_envs/FrozenLake-v0"),
        ("budget_envs/FrozenLake", "budget_envs/FrozenLake-v0"),
        ("CartPole", "CartPole-v1"),
        ("CartPole-v0", "CartPole-v0"),
        ("budget_envs:budget_envs/FrozenLake-v0", "budget_envs:budget_envs/FrozenLake-v0"),
    ],
)
def test_a_name_leads_to_an_id_that_gymnasium_makes(name, env_id):
    assert find_id(name) == env_id


def test_without_a_version_the_newest_is_meant(monkeypatch):
    for version in (2, 10):
        spec = gym.envs.registration.EnvSpec(f"Made-v{version}", entry_point="nowhere:Nothing")
        monkeypatch.setitem(gym.registry, spec.id, spec)
    assert find_id("Made") == "Made-v10"


@pytest.mark.parametrize("name", ["", ":", "x:", "-v0", "budget_envs/", "FrozenLake-v99"])
def test_a_name_that_means_nothing_is_refused(name):
    with pytest.raises((OptionError, ValueError)):
        find_id(name)


@given(st.text(max_size=20).filter(lambda name: ":" not in name and name not in gym.registry))
def test_any_text_is_answered_by_an_option_error_or_an_id(name):
    with contextlib.suppress(OptionError):
        assert find_id(name) in gym.registry


def test_ids_of_this_package_and_those_registered_through_it_take_our_keywords(lake_of_others):
    assert takes_our_keywords("budget_envs/FrozenLake-v0")
    assert takes_our_keywords("budget_envs:budget_envs/FrozenLake-v0")
    assert takes_our_keywords(lake_of_others())
    assert not takes_our_keywords("FrozenLake-v1")


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("key=8", 8),
        ("key=0.8", 0.8),
        ("key=true", True),
        ("key=null", None),
        ("key=[4, 8]", [4, 8]),
        ('key={"rate": 0.1}', {"rate": 0.1}),
        ("key=4x4", "4x4"),
        ("key=train", "train"),
        ("key=", ""),
        ("key=a=b", "a=b"),
        ('key="8"', "8"),
    ],
)
def test_values_are_json_or_else_text(pair, value):
    found = read_keywords([pair])["key"]
    assert (found, type(found)) == (value, type(value))


def test_no_pairs_are_no_keywords():
    assert read_keywords(None) == read_keywords([]) == {}


def test_the_last_of_several_values_counts():
    assert read_keywords(["key=1", "key=2"]) == {"key": 2}


@pytest.mark.parametrize(
    "pair", ["", "key", "=1", "two words=1", "key=[4", 'key={"a"}', "key=True", "key=None", 'key="']
)
def test_a_pair_that_is_none_is_refused(pair):
    with pytest.raises(OptionError, match="--set"):
        read_keywords([pair])


def test_a_keyword_that_a_foreign_environment_does_not_know_is_misuse():
    with pytest.raises(OptionError, match="colour"):
        make_env("CartPole-v1", {"colour": 1})


def test_other_type_errors_of_an_environment_are_not_hidden(monkeypatch):
    def fail(*args, **keywords):
        raise TypeError("can't add int and str")

    monkeypatch.setattr(gym, "make", fail)
    with pytest.raises(TypeError, match="can't add"):
        make_env("CartPole-v1", {})
