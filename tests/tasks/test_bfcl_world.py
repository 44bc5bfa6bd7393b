"""BFCL's API classes, called: each test skips where the distribution is not at hand."""

import copy
import decimal
import itertools
import json
import math
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from budget_envs import tasks
from budget_envs.errors import DependencyNotInstalled, TaskDataInvalid, TaskDataUnavailable
from budget_envs.tasks import bfcl_bounds, locate
from budget_envs.tasks.bfcl_classes import api_classes, parameter_names
from budget_envs.tasks.bfcl_scenario import Draws, Scenario
from budget_envs.tasks.bfcl_world import MAX_RESULT, READING, BfclWorld
from budget_envs.tool_calls.model import Call, Dialogue, UserTurn

CLASSES = (
    *("GorillaFileSystem", "MathAPI", "MessageAPI", "TwitterAPI"),
    *("TicketAPI", "TradingBot", "TravelAPI", "VehicleControlAPI"),
)
ERROR = "Error during execution: "


@cache
def files():
    try:
        return locate("bfcl_base")
    except TaskDataUnavailable as error:
        pytest.skip(f"bfcl-eval is not at hand: {str(error).splitlines()[0]}")


@pytest.fixture(scope="session")
def classes():
    pytest.importorskip("mpmath")
    return api_classes(files())


def world_of(classes, *names, config=None, long_context=False):
    world = {"classes": list(names), "initial_config": config or {}, "long_context": long_context}
    return BfclWorld(Scenario(Dialogue("x", "base", (UserTurn("?"),), (), world), classes))


def test_a_configuration_that_no_instance_can_begin_with_is_refused(classes):
    world = world_of(classes, "GorillaFileSystem", config={"GorillaFileSystem": {"root": 3}})
    with pytest.raises(TaskDataInvalid, match="x: GorillaFileSystem cannot begin"):
        world.key()


def call(name, /, **arguments):
    return Call(name, arguments)


def directory(**contents):
    return {"type": "directory", "contents": contents}


def file(content):
    return {"type": "file", "content": content}


TREE = {
    "GorillaFileSystem": {
        "root": {
            "top": directory(
                a=directory(x=file("one"), inner=directory()), b=directory(), note=file("two")
            )
        }
    }
}


@pytest.fixture
def file_system(classes):
    return world_of(classes, "GorillaFileSystem", config=TREE)


# Loading.


def test_all_classes_are_loaded_and_nothing_of_the_package_is_imported(classes):
    assert set(classes) == set(CLASSES)
    code = (
        "import sys\n"
        "from budget_envs.tasks import locate\n"
        "from budget_envs.tasks.bfcl_classes import api_classes\n"
        "api_classes(locate('bfcl_base'))\n"
        "print([name for name in sys.modules if 'bfcl_eval' in name])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_same_code_is_loaded_once(classes):
    other = locate("bfcl_miss_func")
    assert api_classes(other) is classes


def test_what_can_be_called_is_what_is_documented(classes):
    for dialogue in tasks.load("bfcl_base"):
        names = {tool.name for tool in dialogue.tools}
        involved = [classes[name] for name in dialogue.world["classes"]]
        assert names == set().union(*(each.methods for each in involved))


def test_parameters_are_read_as_python_sees_them(classes):
    import inspect

    for located in files():
        name = located.role.removeprefix("code/")
        if name not in CLASSES or not located.role.startswith("code/"):
            continue
        read = parameter_names(located.path, name)
        assert set(read) == classes[name].methods
        for method, names in read.items():
            signature = inspect.signature(getattr(classes[name].cls, method))
            assert ["self", *names] == list(signature.parameters)


def test_changed_code_is_not_run_even_from_an_explicit_path(tmp_path):
    pytest.importorskip("mpmath")
    for each in files():
        target = tmp_path / next(
            info.name for info in tasks.dataset("bfcl_base").files if info.role == each.role
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(each.path.read_bytes())
        if each.role == "code/TicketAPI":
            target.write_text(target.read_text() + "\nraise SystemExit('executed')\n")
    assert len(tasks.load("bfcl_base", tmp_path)) == 200  # reading executes nothing
    with pytest.raises(TaskDataInvalid, match="changed code is not run"):
        api_classes(locate("bfcl_base", tmp_path))


def test_code_that_changes_after_it_was_located_is_not_run(tmp_path):
    pytest.importorskip("mpmath")
    (ticket,) = (each for each in files() if each.role == "code/TicketAPI")
    changed = tmp_path / ticket.path.name
    changed.write_text("raise SystemExit('executed')")
    with pytest.raises(TaskDataInvalid, match=r"ticket_api\.py"):
        api_classes((replace(ticket, path=changed),))


def test_without_mpmath_the_error_says_what_to_install(monkeypatch):
    located = files()
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "budget-envs\[bfcl\]"'):
        api_classes(located)


# Results.


@pytest.mark.parametrize(
    ("made", "result"),
    [
        (call("pwd"), '{"current_working_directory": "/top"}'),
        (call("ls"), '{"current_directory_content": ["a", "b", "note"]}'),
        (call("mkdir", dir_name="new"), "None"),
        (call("cd", folder="nowhere"), '{"error": "cd: \'nowhere\': No such file or directory"}'),
        (call("cat", file_name="note"), '{"file_content": "two"}'),
        (call("no_such"), f"{ERROR}name 'no_such' is not defined"),
        (call("add", a=1, b=2), f"{ERROR}name 'add' is not defined"),  # of another class
        (
            call("cd", path="a"),
            f"{ERROR}GorillaFileSystem.cd() got an unexpected keyword argument 'path'",
        ),
        (
            call("cd"),
            f"{ERROR}GorillaFileSystem.cd() missing 1 required positional argument: 'folder'",
        ),
        (call("cd", folder=3), f"{ERROR}'int' object has no attribute 'rstrip'"),
        (call("_load_scenario", scenario={}), f"{ERROR}name '_load_scenario' is not defined"),
        (call("__init__"), f"{ERROR}name '__init__' is not defined"),
        (call("root"), f"{ERROR}name 'root' is not defined"),
    ],
)
def test_results_read_as_those_of_the_official_runner(file_system, made, result):
    assert file_system.call(made) == result


def test_results_that_json_cannot_hold_are_printed(classes):
    world = world_of(classes, "MathAPI")
    assert world.call(call("square_root", number=4, precision=3)) == "{'result': Decimal('2')}"
    assert "mpf(" in world.call(call("logarithm", value=8, base=2, precision=5))
    assert world.call(call("power", base=-8, exponent=0.5)).startswith("{'result': (")


def test_texts_are_handed_over_verbatim(file_system):
    text = "__import__('os') ls() {x} \\n \"'"
    assert json.loads(file_system.call(call("echo", content=text))) == {"terminal_output": text}


class Hostile(dict):
    def __getitem__(self, key):
        raise AssertionError("looked at")


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, float("nan"), float("inf"), 10**400, b"x", {3}, "\ud800", 1j, Hostile()],
)
def test_values_that_are_not_plain_are_refused(file_system, value):
    before = file_system.key()
    assert file_system.call(call("echo", content=value)).startswith(ERROR)
    assert file_system.call(call("echo", content=[value])).startswith(ERROR)
    assert file_system.key() == before


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_call_raises_and_repeating_all_gives_the_same(classes, data):
    plain = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats(-1e6, 1e6) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )
    owner = data.draw(st.sampled_from(CLASSES))
    methods = st.sampled_from(sorted(classes[owner].methods))
    parameters = {
        name: names
        for located in files()
        if located.role == f"code/{owner}"
        for name, names in parameter_names(located.path, owner).items()
    }
    made = []
    for name in data.draw(st.lists(methods, max_size=5)):
        names = parameters[name]
        given_ = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, plain)))
        made.append(Call(name, given_))
    before = copy.deepcopy(made)
    worlds = [world_of(classes, owner) for _ in range(2)]
    results = [[world.call(each) for each in made] for world in worlds]
    assert results[0] == results[1]
    assert worlds[0].key() == worlds[1].key()
    assert worlds[0].state() == worlds[1].state()
    assert made == before


# Isolation.


def test_worlds_share_no_default_list(classes):
    for _ in range(2):
        world = world_of(classes, "TwitterAPI", config={"TwitterAPI": {"authenticated": True}})
        posted = json.loads(world.call(call("post_tweet", content="hello")))
        assert posted["mentions"] == []
        world.call(call("mention", tweet_id=posted["id"], mentioned_usernames=["@a"]))
        assert json.loads(world.call(call("get_tweet", tweet_id=0)))["mentions"] == ["@a"]


def test_a_world_keeps_no_argument_of_the_caller(classes):
    world = world_of(classes, "TwitterAPI", config={"TwitterAPI": {"authenticated": True}})
    mentions = ["@a"]
    world.call(call("post_tweet", content="hello", mentions=mentions))
    world.call(call("mention", tweet_id=0, mentioned_usernames=["@b"]))
    assert mentions == ["@a"]


def test_worlds_share_no_credit_card_of_long_results(classes):
    config = {"TravelAPI": {"access_token": "t", "token_expires_in": 2}}
    card = "1234567812345678"

    def balance(world):
        return json.loads(
            world.call(call("get_credit_card_balance", access_token="t", card_id=card))
        )["card_balance"]

    first, second = (world_of(classes, "TravelAPI", config=config, long_context=True) for _ in "ab")
    booking = next(
        iter(
            json.loads(first.call(call("get_booking_history", access_token="t")))["booking_history"]
        )
    )
    before = balance(first)
    first.call(
        call(
            "purchase_insurance",
            access_token="t",
            insurance_type="all",
            booking_id=booking,
            insurance_cost=10,
            card_id=card,
        )
    )
    assert (balance(first), balance(second)) == (before - 10, before)
    assert balance(world_of(classes, "TravelAPI", config=config, long_context=True)) == before


def test_the_configuration_is_not_changed(classes):
    config = copy.deepcopy(TREE)
    world = world_of(classes, "GorillaFileSystem", config=config)
    world.call(call("rm", file_name="note"))
    assert config == TREE


def test_nobody_elses_precision_or_random_numbers_are_touched(classes):
    mpmath = pytest.importorskip("mpmath")
    state = random.getstate(), decimal.getcontext().prec, mpmath.mp.dps
    math_world = world_of(classes, "MathAPI")
    math_world.call(call("square_root", number=2, precision=50))
    math_world.call(call("logarithm", value=2, base=3, precision=70))
    math_world.call(call("logarithm", value="x", base=3, precision=60))
    world_of(classes, "VehicleControlAPI").call(call("get_current_speed"))
    assert (random.getstate(), decimal.getcontext().prec, mpmath.mp.dps) == state


def test_threads_do_not_set_each_others_precision(classes):
    def computed(precision):
        world = world_of(classes, "MathAPI")
        made = call("logarithm", value=2, base=3, precision=precision)
        return [world.call(made) for _ in range(30)]

    wanted = list(range(5, 400, 40))
    expected = [computed(precision) for precision in wanted]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(computed, wanted)) == expected


def test_printed_sets_are_in_the_same_order_in_every_process(classes):
    code = (
        "from budget_envs.tasks import locate\n"
        "from budget_envs.tasks.bfcl_classes import api_classes\n"
        "from budget_envs.tasks.bfcl_scenario import Scenario\n"
        "from budget_envs.tasks.bfcl_world import BfclWorld\n"
        "from budget_envs.tool_calls.model import Call, Dialogue\n"
        "ticket = {'id': 1, 'status': 'Open'}\n"
        "card = {'balance': 5}\n"
        "world = {'classes': ['TicketAPI', 'TravelAPI'], 'long_context': False,\n"
        "  'initial_config': {'TicketAPI': {'ticket_queue': [ticket]},\n"
        "  'TravelAPI': {'credit_card_list': {'c': card}}}}\n"
        "dialogue = Dialogue('x', 'b', (), (), world)\n"
        "w = BfclWorld(Scenario(dialogue, api_classes(locate('bfcl_base'))))\n"
        "print(w.call(Call('edit_ticket', {'ticket_id': 1, 'updates': dict.fromkeys('cabed')})))\n"
        "print(w.call(Call('book_flight', {'access_token': None, 'card_id': 'c',\n"
        "  'travel_date': '2024-01-01', 'travel_from': 'SFO', 'travel_to': 'LAX',\n"
        "  'travel_class': 'none'})))\n"
        "print(w.key().hex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(printed) == 1
    (text,) = printed
    assert "Invalid fields for update: a, b, c, d, e" in text
    assert "{'business', 'economy', 'first'}" in text


# State and keys.


def test_the_state_is_the_public_attributes(classes):
    world = world_of(classes, "MathAPI", "TicketAPI")
    assert set(world.state()) == {
        "TicketAPI.ticket_queue",
        "TicketAPI.ticket_counter",
        "TicketAPI.current_user",
    }


def test_the_key_sees_the_current_directory_and_the_state_does_not(file_system):
    state, key = copy.deepcopy(file_system.state()), file_system.key()
    file_system.call(call("cd", folder="a"))
    assert file_system.state() == state
    assert file_system.key() != key
    file_system.call(call("cd", folder=".."))
    assert file_system.key() == key


def test_the_key_sees_draws_of_chance(classes):
    world = world_of(classes, "VehicleControlAPI")
    key = world.key()
    world.call(call("displayCarStatus", option="fuel"))
    assert world.key() == key
    world.call(call("get_current_speed"))
    assert world.key() != key


def test_the_key_tells_shared_files_from_equal_ones(classes):
    """A copied directory shares its files, so what is written in one place is read in both."""

    def made(*steps):
        world = world_of(classes, "GorillaFileSystem", config=TREE)
        for step in steps:
            world.call(step)
        return world

    shared = made(call("cp", source="a", destination="c"))
    apart = made(
        call("mkdir", dir_name="c"),
        call("cd", folder="c"),
        call("touch", file_name="x"),
        call("echo", content="one", file_name="x"),
        call("mkdir", dir_name="inner"),
        call("cd", folder=".."),
    )
    assert shared.state() == apart.state()
    assert shared.key() != apart.key()


STEPS = st.lists(
    st.one_of(
        st.builds(lambda n: call("cd", folder=n), st.sampled_from(["a", "b", "c", "..", "/"])),
        st.builds(lambda n: call("mkdir", dir_name=n), st.sampled_from("abc")),
        st.builds(lambda n: call("touch", file_name=n), st.sampled_from("abcx")),
        st.builds(lambda n: call("rm", file_name=n), st.sampled_from(["a", "b", "c", "note"])),
        st.builds(
            lambda n, text: call("echo", file_name=n, content=text),
            st.sampled_from(["note", "x"]),
            st.sampled_from(["one", "two"]),
        ),
        st.builds(
            lambda name, a, b: call(name, source=a, destination=b),
            st.sampled_from(["cp", "mv"]),
            st.sampled_from(["a", "b", "note", "x"]),
            st.sampled_from(["a", "b", "c", "note"]),
        ),
    ),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(first=STEPS, second=STEPS, rest=STEPS)
def test_equal_keys_have_equal_futures(classes, first, second, rest):
    one, two = (world_of(classes, "GorillaFileSystem", config=TREE) for _ in range(2))
    for world, steps in ((one, first), (two, second)):
        for step in steps:
            world.call(step)
    assume(one.key() == two.key())
    for step in [*rest, call("find"), call("pwd"), call("du"), call("ls")]:
        assert one.call(step) == two.call(step)
        assert one.state() == two.state()


@pytest.mark.parametrize("long_context", [False, True])
def test_reading_functions_leave_everything_as_it_is(classes, long_context):
    """After each call of a ground truth, call all of them, and look at the state anew."""
    name = "bfcl_long_context" if long_context else "bfcl_base"
    for dialogue in list(tasks.load(name))[::5]:
        scenario = Scenario(dialogue, classes)
        world = BfclWorld(scenario)
        calls = [each for turn in dialogue.turns for each in turn.calls]
        known = {k: v for each in calls for k, v in each.arguments.items()}
        reading = [tool for tool in dialogue.tools if tool.name in READING]
        for each in calls:
            world.call(each)
            key = world.key()
            for tool in reading:
                properties = tool.parameters["properties"]
                world.call(Call(tool.name, {k: known.get(k, "x") for k in properties}))
            anew = b"".join(
                scenario.key(owner, world._instance(owner)) for owner in scenario.classes
            )
            assert anew == key


def test_an_instance_copied_is_an_instance_loaded(classes):
    for name in ("bfcl_base", "bfcl_long_context"):
        for dialogue in list(tasks.load(name))[::7]:
            scenario = Scenario(dialogue, classes)
            for owner in scenario.classes:
                loaded, copied = scenario._loader(owner)(), scenario.fresh(owner)
                assert list(vars(loaded)) != [] or owner == "MathAPI"
                for attribute, value in vars(loaded).items():
                    twin = getattr(copied, attribute)
                    if isinstance(value, random.Random):
                        assert isinstance(twin, Draws)
                        assert [twin.random(), twin.randint(1, 99)] == [
                            value.random(),
                            value.randint(1, 99),
                        ]
                    elif isinstance(value, dict):
                        assert list(twin.items()) == list(value.items())
                    else:
                        assert twin == value


# Bounds.


def test_a_directory_cannot_be_copied_or_moved_into_itself(file_system):
    key = file_system.key()
    assert "hold itself" in file_system.call(call("cp", source="a", destination="a"))
    assert file_system.key() == key
    file_system.call(call("find"))
    file_system.call(call("du"))


def test_a_directory_cannot_come_to_hold_itself_by_way_of_copies(file_system):
    for step in (
        call("cp", source="a", destination="t"),
        call("cp", source="a", destination="t"),
        call("cd", folder="t"),
    ):
        assert not file_system.call(step).startswith(ERROR)
    key = file_system.key()
    assert "hold itself" in file_system.call(call("cp", source="a", destination="inner"))
    assert file_system.key() == key
    assert file_system.call(call("find")).startswith('{"matches"')


def test_copies_of_copies_end_before_they_are_too_many(file_system):
    results = []
    for number in itertools.count():
        file_system.call(call("mkdir", dir_name=f"d{number}"))
        for older in range(number):
            results.append(
                file_system.call(call("cp", source=f"d{older}", destination=f"d{number}"))
            )
        if any(result.startswith(ERROR) for result in results):
            break
    assert number < 40
    assert len(json.loads(file_system.call(call("find")))["matches"]) <= bfcl_bounds.MAX_ENTRIES
    refused = file_system.call(call("cp", source=f"d{number - 1}", destination="again"))
    assert refused.startswith(ERROR)
    assert file_system.state() == copy.deepcopy(file_system.state())  # and it ends


def test_directories_are_not_nested_without_end(file_system):
    results = []
    for _ in range(bfcl_bounds.MAX_DEPTH + 5):
        results.append(file_system.call(call("mkdir", dir_name="deep")))
        file_system.call(call("cd", folder="deep"))
    assert results[: bfcl_bounds.MAX_DEPTH - 1] == ["None"] * (bfcl_bounds.MAX_DEPTH - 1)
    assert "nested" in results[-1]
    assert file_system.call(call("find", path="/")).startswith('{"matches"')


def test_names_and_paths_have_a_length(file_system):
    assert file_system.call(call("mkdir", dir_name="x" * 255)) == "None"
    assert "255" in file_system.call(call("mkdir", dir_name="x" * 256))
    assert "255" in file_system.call(call("mv", source="note", destination="x" * 256))
    assert "4096" in file_system.call(call("find", path="./" * 5000))


@pytest.mark.parametrize(
    "made",
    [
        call("power", base=10, exponent=10**12),
        call("power", base=-(10**299), exponent=10**299),
        call("square_root", number=2, precision=10**9),
        call("logarithm", value=2, base=3, precision=10**9),
        call("logarithm", value=2, base=3, precision="1000000000"),
        call("logarithm", value=2, base=3, precision=1e300),
        call("logarithm", value="1e999999999", base=3, precision=5),
        call("logarithm", value=2, base="9" * 50_000, precision=5),
        call("round_number", number=5, decimal_places=-(10**9)),
        call("round_number", number=5.5, decimal_places=10**9),
    ],
)
def test_numbers_without_bounds_are_refused(classes, made):
    result = world_of(classes, "MathAPI").call(made)
    assert result.startswith(ERROR)


@pytest.mark.parametrize(
    ("made", "result"),
    [
        (call("power", base=2, exponent=100), {"result": 2**100}),
        (call("power", base=1, exponent=10**12), {"result": 1}),
        (call("power", base=2, exponent=-1), {"result": 0.5}),
        (call("power", base=2.0, exponent=0.5), {"result": math.sqrt(2)}),
        (call("round_number", number=3.14159, decimal_places=2), {"result": 3.14}),
        (call("round_number", number=1234, decimal_places=-2), {"result": 1200}),
        (call("mean", numbers=[1, 2, 6]), {"result": 3.0}),
    ],
)
def test_numbers_within_bounds_are_computed(classes, made, result):
    assert json.loads(world_of(classes, "MathAPI").call(made)) == result


def test_long_arguments_and_results_are_refused(classes, file_system):
    assert "characters" in file_system.call(call("echo", content="x" * 100_001))
    world = world_of(classes, "TravelAPI")
    result = world.call(
        call(
            "compute_exchange_rate", base_currency="USD", target_currency="JPY", value="x" * 90_000
        )
    )
    assert result == f"{ERROR}the result has more than {MAX_RESULT} characters"
