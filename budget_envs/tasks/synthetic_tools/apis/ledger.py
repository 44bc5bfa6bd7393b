"""A ledger behind a secret number: accounts, and bills that can be paid from them."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, integer, text

__all__ = ["LEDGER"]

_ACCOUNTS: Final = (
    "savings", "travel", "rent", "daily", "club", "holiday", "tools", "pets", "garden", "school",
)  # fmt: skip
_PAYEES: Final = (
    "dentist", "plumber", "florist", "painter", "baker", "tailor", "garage", "grocer",
    "printer", "optician",
)  # fmt: skip

_ACCOUNT: Final = text("Name of an account")
_PAYEE: Final = text("Whose bill it is")
_AMOUNT: Final = integer(1, 10_000)


def _start(draw: Draws, level: int) -> State:
    accounts, payees = draw.sample(_ACCOUNTS, 6), draw.sample(_PAYEES, 6)
    return {
        "pin": draw.integer(1000, 9999),
        "open": draw.chance(0.5),
        "accounts": {name: draw.integer(30, 900) for name in sorted(accounts)},
        "bills": {name: draw.integer(5, 250) for name in sorted(payees)},
    }


# Tools.


def _log_in(state: State, pin: int) -> Result:
    if pin != state["pin"]:
        raise Refusal("The pin is wrong.")
    state["open"] = True
    return {"logged_in": True}


def _log_out(state: State) -> Result:
    _demand_open(state)
    state["open"] = False
    return {"logged_in": False}


def _balance(state: State, account: str) -> Result:
    _demand_open(state)
    _demand_account(state, account)
    return {"account": account, "balance": state["accounts"][account]}


def _bill_of(state: State, payee: str) -> Result:
    _demand_open(state)
    _demand_bill(state, payee)
    return {"payee": payee, "amount": state["bills"][payee]}


def _deposit(state: State, account: str, amount: int) -> Result:
    _demand_open(state)
    _demand_account(state, account)
    state["accounts"][account] += amount
    return _balance(state, account)


def _transfer(state: State, source: str, target: str, amount: int) -> Result:
    _demand_open(state)
    _demand_account(state, target)
    if source == target:
        raise Refusal("Source and target are the same account.")
    _withdraw(state, source, amount)
    state["accounts"][target] += amount
    accounts = state["accounts"]
    return {"balances": {source: accounts[source], target: accounts[target]}}


def _pay_bill(state: State, payee: str, account: str, amount: int) -> Result:
    _demand_open(state)
    _demand_bill(state, payee)
    if amount != state["bills"][payee]:
        raise Refusal("The bill has another amount.")
    _withdraw(state, account, amount)
    del state["bills"][payee]
    return {"paid": payee, **_balance(state, account)}


def _withdraw(state: State, account: str, amount: int) -> None:
    _demand_account(state, account)
    if amount > state["accounts"][account]:
        raise Refusal("There is not enough money in the account.")
    state["accounts"][account] -= amount


def _demand_open(state: State) -> None:
    if not state["open"]:
        raise Refusal("Not logged in.")


def _demand_account(state: State, account: str) -> None:
    if account not in state["accounts"]:
        raise Refusal("There is no such account.")


def _demand_bill(state: State, payee: str) -> None:
    if payee not in state["bills"]:
        raise Refusal("There is no such bill.")


# Requests.


def _open(scene: Scene) -> Request:
    if scene.state["open"]:
        raise DeadEnd
    pin = scene.state["pin"]
    return Request(
        says=(
            f"Log in to my ledger with the pin {pin}.",
            f"My pin is {pin}; please log in to the ledger.",
            f"Open my ledger for me, pin {pin}.",
        ),
        calls=(call("log_in", pin=pin),),
        vague=("Log in to my ledger.", "Please open my ledger for me."),
        details=(f"My pin is {pin}.", f"The pin is {pin}."),
        withheld="log_in",
    )


def _close(scene: Scene) -> Request:
    _demand_logged_in(scene)
    return Request(
        says=("Log out of my ledger.", "I am done with the ledger; log out."),
        calls=(call("log_out"),),
        withheld="log_out",
    )


def _ask_balance(scene: Scene) -> Request:
    _demand_logged_in(scene)
    account = scene.one_of(scene.state["accounts"])
    return Request(
        says=(
            f"How much is in the {account} account?",
            f"What is the balance of the {account} account?",
            f"Tell me what the {account} account holds.",
        ),
        calls=(call("balance", account=account),),
        withheld="balance",
        focus=Focus("balance", (account, scene.state["accounts"][account])),
    )


def _ask_bill(scene: Scene) -> Request:
    _demand_logged_in(scene)
    payee = scene.one_of(scene.state["bills"])
    return Request(
        says=(
            f"How high is the bill of the {payee}?",
            f"What do I owe the {payee}?",
            f"Look up the bill of the {payee}.",
        ),
        calls=(call("bill_of", payee=payee),),
        withheld="bill_of",
        focus=Focus("bill", (payee, scene.state["bills"][payee])),
    )


def _put_in(scene: Scene) -> Request:
    _demand_logged_in(scene)
    account, amount = scene.one_of(scene.state["accounts"]), scene.integer(5, 200)
    return Request(
        says=(
            f"Deposit {amount} into the {account} account.",
            f"Put {amount} into the {account} account.",
            f"I brought {amount} in cash for the {account} account.",
        ),
        calls=(call("deposit", account=account, amount=amount),),
        vague=(
            f"Deposit money into the {account} account.",
            f"I have cash for the {account} account.",
        ),
        details=(f"It is {amount}.", f"{amount}."),
        withheld="deposit",
    )


def _shift(scene: Scene) -> Request:
    _demand_logged_in(scene)
    source, target = scene.two_of(scene.state["accounts"])
    amount = scene.integer(5, min(200, scene.state["accounts"][source]))
    return Request(
        says=(
            f"Transfer {amount} from the {source} account to the {target} account.",
            f"Move {amount} out of the {source} account into the {target} account.",
            f"The {target} account should get {amount} from the {source} account.",
        ),
        calls=(call("transfer", source=source, target=target, amount=amount),),
        vague=(
            f"Transfer some money from the {source} account to the {target} account.",
            f"The {target} account should get money from the {source} account.",
        ),
        details=(f"{amount}, please.", f"I thought of {amount}."),
        withheld="transfer",
    )


def _pay(scene: Scene) -> Request:
    _demand_logged_in(scene)
    payee = scene.one_of(scene.state["bills"])
    amount = scene.state["bills"][payee]
    account = _able(scene, amount)
    return Request(
        says=(
            f"Pay the {payee} the {amount} of the bill from the {account} account.",
            f"The bill of the {payee} is {amount}; pay it from the {account} account.",
        ),
        calls=(call("pay_bill", payee=payee, account=account, amount=amount),),
        vague=(
            f"The bill of the {payee} is {amount}; pay it.",
            f"Pay the {payee} the {amount} of the bill.",
        ),
        details=(f"From the {account} account.", f"Take it from the {account} account."),
        withheld="pay_bill",
    )


def _pay_it(scene: Scene) -> Request:
    payee, amount = scene.focus("bill")
    account = _able(scene, amount)
    return Request(
        says=(f"Pay it from the {account} account.", f"Use the {account} account to pay that."),
        calls=(call("pay_bill", payee=payee, account=account, amount=amount),),
        vague=("Pay it.", "Please pay that."),
        details=(f"From the {account} account.", f"Use the {account} account."),
        withheld="pay_bill",
    )


def _shift_all(scene: Scene) -> Request:
    source, amount = scene.focus("balance")
    if amount < 1:
        raise DeadEnd
    target = scene.one_of(name for name in scene.state["accounts"] if name != source)
    return Request(
        says=(
            f"Transfer all of it to the {target} account.",
            f"Move everything from there to the {target} account.",
        ),
        calls=(call("transfer", source=source, target=target, amount=amount),),
        vague=("Transfer all of it to another account.", "Move everything from there."),
        details=(f"To the {target} account.", f"The {target} account should get it."),
        withheld="transfer",
    )


def _able(scene: Scene, amount: int) -> str:
    accounts: dict[str, int] = scene.state["accounts"]
    return scene.one_of(name for name in accounts if accounts[name] >= amount)


def _demand_logged_in(scene: Scene) -> None:
    if not scene.state["open"]:
        raise DeadEnd


LEDGER: Final = Api(
    "ledger",
    _start,
    methods=(
        action(_log_in, "Log in to the ledger.", pin=integer(1000, 9999)),
        action(_log_out, "Log out of the ledger."),
        query(_balance, "Tell the balance of an account.", account=_ACCOUNT),
        query(_bill_of, "Tell the amount of a bill.", payee=_PAYEE),
        action(_deposit, "Put cash into an account.", account=_ACCOUNT, amount=_AMOUNT),
        action(
            _transfer, "Move money between accounts.",
            source=_ACCOUNT, target=_ACCOUNT, amount=_AMOUNT,
        ),
        action(
            _pay_bill, "Pay a bill from an account.",
            payee=_PAYEE, account=_ACCOUNT, amount=integer(1, 10_000, "What the bill asks for"),
        ),
    ),
    kinds=(
        Kind(_open),
        Kind(_close),
        Kind(_ask_balance),
        Kind(_ask_bill),
        Kind(_put_in),
        Kind(_shift),
        Kind(_pay),
        Kind(_pay_it, follows="bill"),
        Kind(_shift_all, follows="balance"),
    ),
)  # fmt: skip
