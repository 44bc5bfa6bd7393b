import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.cli.settings import PolicyChoice, Settings
from budget_envs.errors import DataError, OptionError

MINIMAL = 'id = "x"\npolicy = "random"\n'
names = st.text(min_size=1, max_size=8).filter(lambda name: "=" not in name)
values = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "settings.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_flags_alone_are_enough():
    settings = Settings.merge(None, {"id": "x", "policy": ["random"]})
    assert settings == Settings("x", (PolicyChoice("random"),))


def test_a_file_alone_is_enough(file):
    settings = Settings.merge(file(MINIMAL + "k = 3\nbudgets = [2, '50%']\n"), {})
    assert (settings.k, settings.rollouts, settings.budgets) == (3, 6, (2, "50%"))


def test_flags_win_over_the_file(file):
    path = file(MINIMAL + "seed = 1\ntasks = 5\n")
    settings = Settings.merge(path, {"seed": 2, "policy": ["oracle"], "tasks": None})
    assert (settings.seed, settings.tasks) == (2, 5)
    assert settings.policy == (PolicyChoice("oracle"),)


def test_keywords_of_the_environment_are_merged_one_by_one(file):
    path = file(MINIMAL + "[set]\nsize = 4\nsuccess_rate = 0.8\n")
    assert Settings.merge(path, {"set": {"size": 8}}).set == {"size": 8, "success_rate": 0.8}


def test_rollouts_are_twice_k_unless_given():
    flags = {"id": "x", "policy": ["random"], "k": 5}
    assert Settings.merge(None, flags).rollouts == 10
    assert Settings.merge(None, {**flags, "rollouts": 7}).rollouts == 7


@pytest.mark.parametrize(
    ("given", "budgets"),
    [
        (["2,4,8"], (2, 4, 8)),
        (["25%, 100%"], ("25%", "100%")),
        (["2", "4"], (2, 4)),
        ([2, "50%"], (2, "50%")),
        (8, (8,)),
    ],
)
def test_budgets_are_read_from_lists_and_from_commas(given, budgets):
    flags = {"id": "x", "policy": ["random"], "budgets": given}
    assert Settings.merge(None, flags).budgets == budgets


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("random", PolicyChoice("random")),
        ("my.module:Class", PolicyChoice("my.module:Class")),
        ('scripted={"actions": ["Up"]}', PolicyChoice("scripted", {"actions": ["Up"]})),
        ({"name": "oracle", "ties": "random"}, PolicyChoice("oracle", {"ties": "random"})),
    ],
)
def test_a_policy_is_a_name_with_or_without_settings(text, choice):
    assert PolicyChoice.of(text) == choice
    assert PolicyChoice.of(choice.plain()) == choice


@pytest.mark.parametrize("value", ["", 3, {}, {"ties": "x"}, {"name": 3}, "a={", "a=3", "a=", None])
def test_a_policy_that_is_none_is_refused(value):
    with pytest.raises(OptionError, match="policy"):
        PolicyChoice.of(value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("budget = [2]", "Did you mean 'budgets'"),
        ("rollout = 2", "Did you mean 'rollouts'"),
        ("k = '8'", "k must be an integer"),
        ("k = 8.0", "k must be an integer"),
        ("seed = true", "seed must be an integer"),
        ("split = 'tets'", "Did you mean 'test'"),
        ("tasks = '5'", "tasks must be an integer"),
        ("tasks = [1]", "task id"),
        ("protocol = 3", "protocol must be a text"),
        ("database = ''", "database must be a text"),
        ("workers = 0", "workers must be a positive integer"),
        ("workers = 'rai'", "workers must be a positive integer or 'ray', got 'rai'"),
        ("workers = true", "workers must be a positive integer"),
        ("set = 3", "set must be a table"),
    ],
)
def test_a_line_that_is_not_valid_is_refused_by_name(file, line, message):
    with pytest.raises(OptionError, match=message):
        Settings.merge(file(MINIMAL + line), {})


@pytest.mark.parametrize(
    "given", [{}, {"id": "x"}, {"policy": ["random"]}, {"id": "x", "policy": []}]
)
def test_environment_and_policy_are_needed(given):
    with pytest.raises(OptionError, match="evaluate needs"):
        Settings.merge(None, given)


@pytest.mark.parametrize("content", [b"id = ", b"\xff", b"[set\n"])
def test_a_file_that_is_no_toml_is_an_error_of_data(tmp_path, content):
    (tmp_path / "s.toml").write_bytes(content)
    with pytest.raises(DataError, match=r"s\.toml"):
        Settings.merge(tmp_path / "s.toml", {})


def test_a_file_that_is_not_there_is_an_error_of_data(tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        Settings.merge(tmp_path / "nowhere.toml", {})


@given(
    settings=st.builds(
        Settings,
        id=names,
        policy=st.lists(
            st.builds(PolicyChoice, names, st.dictionaries(names, values, max_size=2)),
            min_size=1,
            max_size=3,
        ).map(tuple),
        budgets=st.lists(st.integers(1, 99) | st.just("50%"), min_size=1).map(tuple),
        k=st.integers(1, 99),
        rollouts=st.integers(1, 99),
        tasks=st.integers(1, 99) | st.lists(names, min_size=1, max_size=3).map(tuple),
        split=st.sampled_from(["train", "validation", "test"]),
        workers=st.integers(1, 9) | st.just("ray"),
        set=st.dictionaries(names, values, max_size=3),
    )
)
def test_settings_written_as_toml_read_back_equal(tmp_path_factory, settings):
    if any("name" in choice.settings for choice in settings.policy):
        return  # the name of the policy itself
    path = tmp_path_factory.mktemp("settings") / "s.toml"
    path.write_text(settings.to_toml(), encoding="utf-8")
    assert Settings.merge(path, {}) == settings


def test_a_null_that_toml_lacks_is_given_as_a_flag_in_a_comment(file):
    settings = Settings("x", (PolicyChoice("random"),), set={"budget": None, "size": 4})
    text = settings.to_toml()
    assert "# not in TOML: --set budget=null" in text
    assert Settings.merge(file(text), {}).set == {"size": 4}
