import gymnasium as gym
import pytest

from budget_envs import errors


def test_every_exported_exception_is_a_budget_envs_error():
    exported = [getattr(errors, name) for name in errors.__all__]
    kinds = [kind for kind in exported if isinstance(kind, type)]
    assert len(kinds) >= 9
    assert all(issubclass(kind, errors.BudgetEnvsError) for kind in kinds)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.OptionError, ValueError),
        (errors.BudgetError, ValueError),
        (errors.EnvStateError, gym.error.ResetNeeded),
        (errors.SnapshotError, TypeError),
        (errors.DependencyNotInstalled, ImportError),
        (errors.PolicyUnavailable, ConnectionError),
    ],
)
def test_errors_are_caught_by_the_builtin_that_callers_expect(kind, builtin):
    with pytest.raises(builtin, match="why"):
        raise kind("why")


def test_did_you_mean_suggests_the_nearest_name():
    assert errors.did_you_mean("trian", ["train", "test"]) == " Did you mean 'train'?"


def test_did_you_mean_is_silent_when_nothing_is_near():
    assert errors.did_you_mean("zzzz", ["train", "test"]) == ""


def test_did_you_mean_takes_any_object():
    assert errors.did_you_mean(None, ["train"]) == ""


def test_require_returns_the_module():
    import json

    assert errors.require("json", "eval") is json


def test_require_names_the_extra_of_a_missing_module():
    with pytest.raises(errors.DependencyNotInstalled, match=r'pip install "budget-envs\[sql\]"'):
        errors.require("no_such_module_at_all.inner", "sql")


def test_require_does_not_hide_a_dependency_that_is_broken_inside(tmp_path, monkeypatch):
    (tmp_path / "broken_dependency.py").write_text("import missing_inside_it\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="missing_inside_it") as caught:
        errors.require("broken_dependency", "sql")
    assert not isinstance(caught.value, errors.DependencyNotInstalled)


def test_require_does_not_call_a_package_missing_that_lacks_one_module():
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.no_such_part") as caught:
        errors.require("numpy.no_such_part", "eval")
    assert not isinstance(caught.value, errors.DependencyNotInstalled)
