import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from budget_envs.agents.policies import POLICIES, make_policy
from budget_envs.errors import OptionError, TaskDataUnavailable
from budget_envs.evaluation.policy import check_policy

SETTINGS = {
    "scripted": {"actions": ["Left"]},
    "openai": {"model": "tiny", "base_url": "http://localhost:8000/v1"},
    "sb3": {"path": __file__},  # read as a model when it plays
    "language_model": {"model": str(Path(__file__).parent)},  # likewise
}


def make(name):
    try:
        return make_policy(name, **SETTINGS.get(name, {}))
    except TaskDataUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", POLICIES)
def test_every_name_makes_a_policy_of_that_name(name):
    policy = make(name)
    check_policy(policy)
    assert policy.name == name


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_sent_to_another_process(name):
    policy = make(name)
    assert pickle.loads(pickle.dumps(policy)).settings == policy.settings


def test_an_entry_point_makes_a_policy_too():
    entry = "budget_envs.agents.policies.random_policy:RandomPolicy"
    assert make_policy(entry).name == "random"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(OptionError, match=r"unknown policy 'randm'.* Did you mean 'random'"):
        make_policy("randm")


@pytest.mark.parametrize(
    "entry", ["nowhere:Class", "budget_envs.streams:Nothing", ":Class", "math:pi", "budget_envs:"]
)
def test_an_entry_point_that_leads_nowhere_is_refused(entry):
    with pytest.raises(OptionError, match="no policy"):
        make_policy(entry)


def test_an_entry_point_of_something_else_is_refused():
    with pytest.raises(OptionError, match="expected a policy"):
        make_policy("collections:OrderedDict")


def test_an_unknown_setting_suggests_the_nearest():
    with pytest.raises(OptionError, match=r"unknown setting 'tie'.* Did you mean 'ties'"):
        make_policy("oracle", tie="first")


def test_a_setting_that_is_needed_is_named():
    with pytest.raises(OptionError, match="policy 'scripted' needs actions"):
        make_policy("scripted", then="stop")


def test_listing_the_names_loads_no_policy():
    code = (
        "import sys; from budget_envs.agents.policies import POLICIES; "
        "assert 'budget_envs.agents.policies.random_policy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("..x:Y", {}),
        ("json:loads", {}),
        ("broken_agent:Raises", {}),
        ("syntax_agent:Any", {}),
        ("import_agent:Any", {}),
        ("scripted", {"actions": 5}),
    ],
)
def test_whatever_keeps_a_policy_from_being_made_is_named(name, settings, tmp_path, monkeypatch):
    sources = {
        "broken_agent": "class Raises:\n    def __init__(self):\n        raise KeyError('x')\n",
        "syntax_agent": "class :\n",
        "import_agent": "from math import nothing\n",
    }
    for module, source in sources.items():
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OptionError, match="policy") as caught:
        make_policy(name, **settings)
    assert name in str(caught.value) or "actions" in str(caught.value)


def test_the_path_of_a_model_is_a_policy(tmp_path):
    policy = make_policy(str(tmp_path), temperature=0.5)
    assert policy.name == "language_model"
    assert policy.settings["model"] == str(tmp_path)
    assert policy.settings["temperature"] == 0.5
    with pytest.raises(OptionError, match="there is no model"):
        make_policy(str(tmp_path / "model.gguf"))


def test_a_folder_of_a_policys_name_is_no_model(tmp_path, monkeypatch):
    (tmp_path / "random").mkdir()
    monkeypatch.chdir(tmp_path)
    assert make_policy("random").name == "random"


@pytest.mark.parametrize("name", ["", "\0", "x" * 10_000, "no/such/folder", "\ud800"])
def test_what_is_neither_name_nor_path_is_refused(name):
    with pytest.raises(OptionError):
        make_policy(name)
