import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.budget import RESOURCES, Budget, Ledger, as_limit
from budget_envs.errors import BudgetError

BAD_LIMITS = [0, -1, True, False, 1.5, 8.0, "8", b"8", [8], float("nan"), float("inf")]


@pytest.mark.parametrize("limit", BAD_LIMITS)
@pytest.mark.parametrize("resource", RESOURCES)
def test_a_limit_that_is_not_a_positive_integer_is_refused(resource, limit):
    with pytest.raises(BudgetError, match=resource):
        Budget(**{resource: limit})


@pytest.mark.parametrize("limit", BAD_LIMITS)
def test_a_bad_shorthand_is_refused(limit):
    with pytest.raises(BudgetError, match="got"):
        Budget.of(limit)


def test_the_message_for_zero_says_how_to_ask_for_unlimited():
    with pytest.raises(BudgetError, match="None for an unlimited"):
        as_limit(0)


def test_numpy_integers_are_limits():
    assert Budget(turns=np.int64(8)) == Budget(turns=8)
    assert type(Budget(turns=np.int64(8)).turns) is int


def test_no_limit_is_the_default():
    assert Budget().limits() == {}
    assert Budget.of(None) == Budget()


@pytest.mark.parametrize("value", [8, {"turns": 8}, Budget(turns=8)])
def test_a_budget_is_read_from_what_users_write(value):
    assert Budget.of(value) == Budget(turns=8)


def test_an_unknown_resource_is_refused_with_the_nearest_name():
    with pytest.raises(BudgetError, match="Did you mean 'turns'"):
        Budget.of({"turn": 8})


def test_limits_come_in_the_order_of_the_resources():
    assert list(Budget(cost=3, turns=1, calls=2).limits()) == ["turns", "calls", "cost"]


def test_replace_changes_and_lifts_limits_and_leaves_the_original():
    budget = Budget(turns=8, tokens=100)
    assert budget.replace({"turns": 5, "tokens": None}) == Budget(turns=5)
    assert budget == Budget(turns=8, tokens=100)


def test_replace_refuses_what_the_constructor_refuses():
    with pytest.raises(BudgetError):
        Budget(turns=8).replace({"turns": 0})
    with pytest.raises(BudgetError, match="turnz"):
        Budget(turns=8).replace({"turnz": 3})


def test_a_ledger_allows_exactly_the_limit():
    ledger = Ledger(Budget(turns=3))
    seen = []
    while ledger.exhausted is None:
        ledger.charge(turns=1)
        seen.append(ledger.remaining("turns"))
    assert seen == [2, 1, 0]


def test_filling_a_limit_exactly_is_not_an_overrun_and_one_more_is():
    ledger = Ledger(Budget(tokens=10))
    ledger.charge(tokens=4)
    ledger.charge(tokens=6)
    assert (ledger.exhausted, ledger.overrun) == ("tokens", None)
    ledger.charge(tokens=1)
    assert (ledger.overrun, ledger.remaining("tokens")) == ("tokens", 0)


@given(st.lists(st.tuples(st.sampled_from(RESOURCES), st.integers(0, 50)), max_size=30))
def test_used_grows_and_remaining_is_never_negative(charges):
    ledger = Ledger(Budget(turns=20, tokens=100, calls=7))
    before = dict(ledger.used)
    for resource, amount in charges:
        ledger.charge(**{resource: amount})
        assert all(ledger.used[name] >= before[name] for name in RESOURCES)
        assert all((ledger.remaining(name) or 0) >= 0 for name in RESOURCES)
        before = dict(ledger.used)


@given(st.integers(1, 20), st.lists(st.integers(0, 10), max_size=10))
def test_grants_never_exceed_the_limit(limit, wanted):
    ledger = Ledger(Budget(calls=limit))
    granted = [ledger.grant("calls", n) for n in wanted]
    assert sum(granted) == min(limit, sum(wanted))
    assert all(g <= w for g, w in zip(granted, wanted, strict=True))


def test_three_of_five_parallel_calls_are_granted_by_a_limit_of_three():
    ledger = Ledger(Budget(calls=3, turns=10))
    assert ledger.grant("calls", 5) == 3
    assert (ledger.remaining("calls"), ledger.used["turns"]) == (0, 0)


def test_a_grant_of_an_unlimited_resource_is_whole():
    assert Ledger(Budget(turns=1)).grant("calls", 5) == 5


@pytest.mark.parametrize(
    ("resource", "amount"),
    [
        ("turns", -1),
        ("turns", 1.0),
        ("tokens", True),
        ("tokens", "3"),
        ("calls", None),
        ("seconds", float("nan")),
        ("seconds", float("inf")),
        ("cost", -0.5),
    ],
)
def test_a_bad_charge_is_refused_and_nothing_is_charged(resource, amount):
    ledger = Ledger(Budget(turns=5))
    with pytest.raises(BudgetError, match=resource):
        ledger.charge(
            **{"calls": 1, resource: amount} if resource != "calls" else {resource: amount}
        )
    assert all(used == 0 for used in ledger.used.values())


def test_charging_an_unknown_resource_names_the_nearest():
    with pytest.raises(BudgetError, match="Did you mean 'tokens'"):
        Ledger(Budget()).charge(token=3)


def test_seconds_and_cost_may_be_charged_in_fractions():
    ledger = Ledger(Budget(seconds=1, cost=2))
    ledger.charge(seconds=0.25, cost=1.5)
    assert ledger.remaining("seconds") == 0.75
    assert ledger.exhausted is None


def test_the_binding_resource_has_the_smallest_share_left():
    ledger = Ledger(Budget(turns=10, tokens=100))
    assert ledger.binding == "turns"
    ledger.charge(turns=2, tokens=50)
    assert ledger.binding == "tokens"
    assert Ledger(Budget()).binding is None


def test_the_report_holds_every_limited_resource_and_no_other():
    ledger = Ledger(Budget(turns=8))
    ledger.charge(turns=1, tokens=5)
    assert ledger.report() == {"turns": {"limit": 8, "used": 1, "remaining": 7}}


def test_reports_are_fresh_objects():
    ledger = Ledger(Budget(turns=8))
    ledger.report()["turns"]["used"] = 99
    assert ledger.report()["turns"]["used"] == 0


def test_a_copy_is_equal_and_independent():
    ledger = Ledger(Budget(turns=8))
    ledger.charge(turns=2)
    twin = ledger.copy()
    assert twin == ledger
    twin.charge(turns=1)
    assert ledger.used["turns"] == 2
    assert twin != ledger


def test_a_ledger_pickles():
    ledger = Ledger(Budget(turns=8, tokens=3))
    ledger.charge(turns=2)
    assert pickle.loads(pickle.dumps(ledger)) == ledger
    assert "used" in repr(ledger)
