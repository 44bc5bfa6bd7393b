"""`BfclWorld`: the API instances of one BFCL dialogue, called by name with plain values.

Results read as those of the official runner, which evaluates the text of a call. Here nothing is
evaluated: a name picks a public method, and arguments are handed over as they are.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from budget_envs.tasks.bfcl_bounds import SETS_PRECISION, FileSystemBounds, own_precision, unusable
from budget_envs.tasks.bfcl_scenario import Scenario
from budget_envs.tool_calls.model import Call

__all__ = ["BfclWorld"]

MAX_RESULT: Final = 1_000_000
"""Characters of a result."""

_READING: Final[Mapping[str, str]] = {
    "GorillaFileSystem": "cat diff du find grep ls pwd sort tail wc",
    "MessageAPI": "get_message_stats get_user_id list_users message_get_login_status "
    "search_messages view_messages_sent",
    "TicketAPI": "get_ticket get_user_tickets ticket_get_login_status",
    "TradingBot": "filter_stocks_by_price get_account_info get_available_stocks get_current_time "
    "get_order_details get_order_history get_stock_info get_symbol_by_name "
    "get_transaction_history get_watchlist notify_price_change trading_get_login_status",
    "TravelAPI": "compute_exchange_rate contact_customer_support get_all_credit_cards "
    "get_booking_history get_budget_fiscal_year get_credit_card_balance "
    "get_nearest_airport_by_city list_all_airports retrieve_invoice travel_get_login_status "
    "verify_traveler_information",
    "TwitterAPI": "get_tweet get_tweet_comments get_user_stats get_user_tweets "
    "list_all_following posting_get_login_status search_tweets",
    "VehicleControlAPI": "check_tire_pressure displayCarStatus display_log estimate_distance "
    "estimate_drive_feasibility_by_mileage find_nearest_tire_shop gallon_to_liter "
    "get_outside_temperature_from_weather_com get_zipcode_based_on_city liter_to_gallon",
}
READING: Final = frozenset(name for names in _READING.values() for name in names.split())
"""Functions that leave their instance as it is, so that its key stays what it was."""

_ERROR: Final = "Error during execution: "
_SET: Final = re.compile(
    r"(?<=Must be one of \{).*(?=\}$)|(?<=^Invalid fields for update: ).*", re.S
)
_FILES: Final = "GorillaFileSystem"
_SCALARS: Final = frozenset((str, int, float, bool, type(None)))


class BfclWorld:
    """What a dialogue's calls act on.

    Args:
        scenario: How the dialogue begins.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._instances: dict[str, Any] = {}
        self._bounds: FileSystemBounds | None = None
        self._keys: dict[str, bytes] = {}  # of instances, as long as they stay as they are
        self._key = b""

    def call(self, call: Call) -> str:
        """Execute a call and return its result as text; what goes wrong is a result too."""
        owner = self._scenario.owners.get(call.name)
        if owner is None:
            return f"{_ERROR}name {call.name!r} is not defined"
        reason = unusable(call.name, call.arguments)
        if reason is not None:
            return f"{_ERROR}{reason}"
        method, arguments = self._method(owner, call.name), self._arguments(owner, call)
        if call.name not in READING:
            self._keys.pop(owner, None)
            self._key = b""
        text = _result(call.name, method, arguments)
        if len(text) > MAX_RESULT:
            return f"{_ERROR}the result has more than {MAX_RESULT} characters"
        return text

    def _arguments(self, owner: str, call: Call) -> Mapping[str, Any]:
        """Return arguments that the instance may keep."""
        fresh = self._scenario.classes[owner].fresh.get(call.name)
        if fresh is None and all(type(value) in _SCALARS for value in call.arguments.values()):
            return call.arguments
        return copy.deepcopy({**(fresh or {}), **call.arguments})

    def _method(self, owner: str, name: str) -> Callable[..., Any]:
        instance = self._instances.get(owner)
        if instance is None:
            instance = self._instances[owner] = self._scenario.fresh(owner)
            if owner == _FILES:
                self._bounds = FileSystemBounds(instance)
        method: Callable[..., Any] = getattr(instance, name)
        return self._bounds.around(name, method) if owner == _FILES and self._bounds else method

    def state(self) -> Mapping[str, Any]:
        """Return the public attributes of all instances, by ``"Class.attribute"``."""
        state: dict[str, Any] = {}
        for owner in self._scenario.classes:
            state.update(self._scenario.state(owner, self._instance(owner)))
        return state

    def _instance(self, owner: str) -> Any:
        """Return an instance to read from."""
        instance = self._instances.get(owner)
        return self._scenario.untouched(owner) if instance is None else instance

    def key(self) -> bytes:
        """Return bytes that are equal if and only if no later call can tell two worlds apart."""
        if not self._key:
            self._key = b"".join(map(self._key_of, self._scenario.classes))
        return self._key

    def _key_of(self, owner: str) -> bytes:
        if owner not in self._instances:
            return self._scenario.untouched_key(owner)
        if owner not in self._keys:
            self._keys[owner] = self._scenario.key(owner, self._instances[owner])
        return self._keys[owner]


def _result(name: str, method: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    try:
        if name in SETS_PRECISION:
            with own_precision():
                return _text(method(**arguments))
        return _text(method(**arguments))
    except Exception as error:
        return f"{_ERROR}{error}"


def _text(result: Any) -> str:
    """Return a result as the official runner writes it."""
    if type(result) is str:
        return result
    if type(result) is not dict:
        return str(result)
    if type(result.get("error")) is str:
        result = {**result, "error": _SET.sub(_sorted, result["error"])}
    try:
        return json.dumps(result)
    except Exception:
        return str(result)


def _sorted(listed: re.Match[str]) -> str:
    """Put the elements of a printed set into an order that is the same in every process."""
    return ", ".join(sorted(listed.group().split(", ")))
