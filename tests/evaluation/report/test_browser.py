"""The page in a real browser: it renders, its viewer steps, and text stays text."""

import http.server
import json
import shutil
import threading

import pytest

from budget_envs.evaluation.report import summarize, write_html
from budget_envs.evaluation.store import Store

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="Chromium and chromedriver are not both installed"
)
HOSTILE = (
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    "]]><!--{{ 7*7 }}&lt;"
)
SHOWN_HOSTILE = HOSTILE + r"\ud83d\x00\u202e"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(cases, fixed, tmp_path_factory):
    """The pages that the tests look at, by name."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name, *adds):
        with Store.in_memory() as store:
            for run, outcome, changes in adds:
                cases.add(store, run, outcome, **changes)
            path = write_html(store, folder / name, summary=summarize(store, num_resamples=5))
        return path.as_uri()

    small = {"task_ids": ("lake-a",), "budgets": (4,), "num_rollouts": 1, "k": 1}
    hostile_text = f"{HOSTILE}\ud83d\x00\u202e"
    hostile_turn = cases.make_turn(
        1,
        4,
        observation=hostile_text,
        action=hostile_text,
        executed_action=hostile_text + "!",
        injected={"kind": hostile_text},
        is_invalid=True,
        oracle={"value": 0.0, "best": 1.0, "regret": 1.0, "best_actions": [hostile_text]},
    )
    hostile = small | {"task_ids": (hostile_text,), "policy": hostile_text, "run_id": "h"}
    long_turn = cases.make_turn(1, 4, observation="word " * 250_000)
    return {
        "fixed": write_html(fixed[0], folder / "fixed.html", summary=fixed[1]).as_uri(),
        "hostile": write(
            "hostile.html",
            (
                cases.make_run(**hostile),
                lambda *_: "void",
                {
                    "bounds": None,
                    "turns": (hostile_turn,),
                    "final_observation": hostile_text,
                    "error": hostile_text,
                },
            ),
        ),
        "long": write(
            "long.html", (cases.make_run(**small), lambda *_: 1, {"turns": (long_turn,)})
        ),
        "no void": write("no_void.html", (cases.make_run(), cases.often, {})),
        "apart": write(
            "apart.html",
            (cases.make_run("good"), cases.often, {}),
            (cases.make_run("bad"), lambda *_: None, {}),
        ),
        "empty run": write("empty_run.html", (cases.make_run(), lambda *_: "missing", {})),
        "empty database": write("empty.html"),
        "solved": write("solved.html", (cases.make_run(**small), lambda *_: 0, {})),
        "wide": write("wide.html", *wide_runs(cases)),
    }


def wide_runs(cases):
    """Return three runs of ten budgets, with long labels, long task ids and void episodes."""
    settings = {
        "budgets": tuple(range(10, 101, 10)),
        "task_ids": tuple("/".join(["SFFFFFFG"] * 8) + str(number) for number in range(3)),
        "num_rollouts": 16,
        "k": 8,
    }
    actions = [["Right"] * 20, ["Left"] * 20]
    runs = [cases.make_run("shortest_path", **settings)] + [
        cases.make_run("scripted", run_id=name, policy_settings={name: words}, **settings)
        for name, words in zip(("actions", "a" * 60), actions, strict=True)
    ]

    def outcome(place, budget, rollout):
        return "void" if rollout == place else 10 if rollout < 8 else None

    return [(run, outcome, {"bounds": None, "turns": ()}) for run in runs]


class Tab:
    """A page in the browser, and what the tests ask it."""

    def __init__(self, driver, uri):
        self.driver = driver
        for log in ("browser", "performance"):
            driver.get_log(log)
        driver.get(uri)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.run(script, selector)

    def click(self, selector):
        self.driver.find_element("css selector", selector).click()

    def press(self, selector, *keys):
        self.driver.find_element("css selector", selector).send_keys(*keys)

    def choose(self, selector, value):
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('input'))",
            selector,
            value,
        )

    def resize(self, width, scheme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def console(self):
        return self.driver.get_log("browser")

    def requests(self):
        messages = [json.loads(entry["message"]) for entry in self.driver.get_log("performance")]
        events = [message["message"] for message in messages]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture
def visit(browser, pages):
    def open_page(name):
        tab = Tab(browser, pages[name])
        tab.resize(1280)
        return tab

    return open_page


PAGES = ["fixed", "hostile", "long", "no void", "empty run", "empty database", "solved", "wide"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_renders_without_a_word_on_the_console_and_asks_for_nothing(visit, pages, name):
    tab = visit(name)
    assert tab.text("h1") == "Success under a turn budget"
    assert tab.console() == []
    assert tab.requests() == [pages[name]]


@pytest.mark.parametrize("name", ["fixed", "hostile", "empty run", "wide"])
@pytest.mark.parametrize("width", [360, 768, 1600])
def test_nothing_sticks_out_of_a_page(visit, name, width):
    tab = visit(name)
    tab.resize(width)
    assert tab.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 1600])
def test_every_table_fits_into_its_frame(visit, name, width):
    tab = visit(name)
    tab.resize(width)
    tab.run("for (const each of document.querySelectorAll('details')) each.open = true")
    sizes = tab.run(
        "return [...document.querySelectorAll('table')].map((table) => [table.parentElement"
        ".getAttribute('aria-label'), table.offsetWidth, table.parentElement.clientWidth])"
    )
    assert [size for size in sizes if size[1] > size[2]] == []
    assert len(sizes) > 5 or name == "empty database"


@pytest.mark.parametrize("width", [360, 768])
def test_a_table_that_does_not_fit_scrolls_to_its_last_column(visit, width):
    tab = visit("wide")
    tab.resize(width)
    end = tab.run(
        "const frame = document.getElementById('tasks-table').parentElement;"
        "frame.scrollLeft = frame.scrollWidth;"
        "return [frame.scrollLeft, document.querySelector('#tasks-table th:last-child')"
        ".getBoundingClientRect().right - frame.getBoundingClientRect().right]"
    )
    assert end[0] > 0
    assert end[1] <= 1


@pytest.mark.parametrize("name", ["fixed", "wide"])
def test_the_button_of_a_task_can_be_clicked_and_shows_its_trajectory(visit, name):
    tab = visit(name)
    task = tab.text("#tasks-table tbody tr:nth-child(2) th")
    tab.click("#tasks-table tbody tr:nth-child(2) .view")
    shown = tab.run(
        "const s = document.getElementById('view-task'); return s.selectedOptions[0].text"
    )
    assert shown == task
    tab.click("#tasks-table tbody tr:nth-child(1) .view")  # back, without waiting for anything


def test_dark_mode_is_dark_and_light_mode_is_light(visit):
    tab = visit("fixed")
    background = "return getComputedStyle(document.body).backgroundColor"
    light = tab.run(background)
    tab.resize(1280, scheme="dark")
    assert light == "rgb(251, 251, 249)"
    assert tab.run(background) == "rgb(18, 20, 23)"


def test_curves_are_visible(visit):
    tab = visit("fixed")
    sizes = tab.run(
        "return [...document.querySelectorAll('.panel [data-k]:not([hidden]) svg, .panel > svg')]"
        ".map((svg) => svg.getBoundingClientRect().height)"
    )
    assert len(sizes) == 6
    assert min(sizes) > 200


# Choosing.


def test_choosing_k_shows_its_chart_alone(visit):
    tab = visit("fixed")
    shown = (
        "return [...document.querySelectorAll('.comparison')[0].querySelectorAll('[data-k]')]"
        ".filter((chart) => !chart.hidden).map((chart) => chart.dataset.k)"
    )
    assert tab.run(shown) == ["2"]
    tab.click(".choice label:nth-of-type(2)")
    assert tab.run(shown) == ["4"]


def test_a_curve_can_be_hidden_from_the_legend(visit):
    tab = visit("fixed")
    button = ".comparison .legend button"
    tab.click(button)
    curve = "return document.querySelector('.curve[data-run=\"0\"]').getBoundingClientRect().width"
    assert tab.run(curve) == 0
    assert tab.driver.find_element("css selector", button).get_attribute("aria-pressed") == "false"
    tab.click(button)
    assert tab.run(curve) > 0


# Tasks.


def test_tasks_show_the_rate_of_every_policy_and_the_bound(visit):
    tab = visit("fixed")
    row = tab.texts("#tasks-table tbody tr:nth-child(2) > *")
    assert row[:3] == ["lake-b", "100.0", "100.0 4/4"]


def test_tasks_follow_the_chosen_budget(visit):
    tab = visit("fixed")
    tab.choose("#tasks-budget", 1)
    assert "T = 1" in tab.text("#tasks-table caption")
    assert tab.texts("#tasks-table tbody td:nth-child(2)") == ["25.0", "25.0", "100.0"]


def test_tasks_can_be_sorted_both_ways(visit):
    tab = visit("fixed")
    tab.choose("#tasks-budget", 1)
    names, bound = "#tasks-table tbody th", "#tasks-table th:nth-child(2) button"
    tab.click(bound)
    assert tab.texts(names)[0] == "lake-c"
    tab.click(bound)
    assert tab.texts(names)[-1] == "lake-c"
    sorted_by = "return document.querySelector('#tasks-table [aria-sort=ascending]').textContent"
    assert tab.run(sorted_by) == "Bound"


def test_tasks_can_be_filtered(visit):
    tab = visit("fixed")
    tab.press("#tasks-filter", "LAKE-C")
    assert tab.texts("#tasks-table tbody th") == ["lake-c"]
    assert tab.text("#tasks-count") == "1 of 3 tasks"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("all", ["lake-a", "lake-b", "lake-c"]),
        ("none", ["lake-b"]),
        ("some", []),
        ("void", ["lake-a", "lake-b", "lake-c"]),
    ],
)
def test_tasks_can_be_chosen_by_who_solved_them(visit, kind, names):
    tab = visit("fixed")
    tab.choose("#tasks-budget", 1)
    tab.choose("#tasks-kind", kind)
    assert tab.texts("#tasks-table tbody th") == names


def test_tasks_that_some_policies_solved_and_others_did_not_can_be_chosen(visit):
    tab = visit("apart")
    tab.choose("#tasks-kind", "some")
    tab.choose("#tasks-budget", 1)
    assert tab.texts("#tasks-table tbody th") == ["lake-a", "lake-c"]


def test_tasks_of_another_comparison_can_be_chosen(visit):
    tab = visit("fixed")
    tab.choose("#tasks-comparison", 1)
    assert "truncate" in tab.text("#tasks-table caption")
    assert len(tab.texts("#tasks-table thead th")) == 3  # no bound there


def test_a_task_opens_in_the_viewer(visit):
    tab = visit("fixed")
    tab.choose("#tasks-budget", 2)
    tab.click("#tasks-table tbody tr:nth-child(3) .view")
    chosen = [
        tab.run(f"return document.querySelector('#view-{n}').value") for n in ("task", "budget")
    ]
    assert chosen == ["2", "2"]
    assert tab.run("return document.activeElement.id") == "player"


# The viewer.


def view(tab, run=0, task=2, budget=4, rollout=1):
    for name, value in (("run", run), ("task", task), ("budget", budget), ("rollout", rollout)):
        tab.choose(f"#view-{name}", value)


def test_the_viewer_steps_with_its_buttons(visit):
    tab = visit("fixed")
    view(tab, task=1, rollout=0)
    assert tab.text("#place") == "Turn 1 of 3"
    assert tab.text("#observation") == "P _ _\n_ O G\nturn 1"
    tab.click("#next")
    tab.click("#next")
    assert tab.text("#observation") == "P _ _\n_ O G\nturn 3"
    tab.click("#previous")
    assert tab.text("#place") == "Turn 2 of 3"
    tab.click("#last")
    assert tab.text("#place") == "End"
    assert tab.text("#observation") == "end of lake-b"
    tab.click("#first")
    assert tab.text("#place") == "Turn 1 of 3"


def test_the_viewer_steps_with_arrow_keys(visit):
    tab = visit("fixed")
    view(tab, task=1, rollout=0)
    places = []
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.END, Keys.HOME):
        tab.press("#player", key)
        places.append(tab.text("#place"))
    assert places == ["Turn 2 of 3", "Turn 3 of 3", "Turn 2 of 3", "End", "Turn 1 of 3"]


def test_the_viewer_does_not_step_beyond_the_ends(visit):
    tab = visit("fixed")
    tab.press("#player", Keys.HOME, Keys.ARROW_LEFT)
    assert tab.text("#place").startswith("Turn 1 of")
    assert not tab.driver.find_element("id", "previous").is_enabled()
    tab.press("#player", Keys.END, Keys.ARROW_RIGHT)
    assert tab.text("#place") == "End"
    assert not tab.driver.find_element("id", "next").is_enabled()


def test_the_strip_marks_and_opens_turns(visit):
    tab = visit("fixed")
    view(tab, task=1, rollout=0)
    tab.click("#strip button:nth-child(2)")
    assert tab.text("#place") == "Turn 2 of 3"
    assert tab.texts("#strip [aria-current]") == ["2"]
    label = tab.driver.find_element("css selector", "#strip button").get_attribute("aria-label")
    assert label == "Turn 1, regret 0.250"


def test_a_turn_shows_action_reward_oracle_and_budget(visit):
    tab = visit("fixed")
    view(tab, task=1, rollout=0)
    assert tab.text("#action") == "Right"
    facts = dict(zip(tab.texts("#side dt"), tab.texts("#side dd"), strict=True))
    assert facts == {
        "Reward": "0",
        "Value of the action": "0.500",
        "Best value": "0.750",
        "Regret": "0.250",
        "Best actions": "Down, Up",
    }
    assert tab.texts("#side .resource") == ["turns: 3 of 4 left, 1 used"]


def test_the_end_shows_the_verdict(visit):
    tab = visit("fixed")
    view(tab, task=1, rollout=0)
    assert tab.text("#outcome strong") == "Pass at turn 3"
    view(tab, run=1, task=0)
    tab.click("#last")
    assert tab.text("#outcome strong") == "Void"
    assert tab.text("#error") == "RuntimeError: the lake is gone"


def test_every_stored_turn_of_the_page_can_be_reached(visit):
    tab = visit("no void")
    seen = tab.run(
        "const seen = []; const next = document.getElementById('next');"
        "const rollout = document.getElementById('view-rollout');"
        "for (const option of [...rollout.options]) {"
        "  rollout.value = option.value; rollout.dispatchEvent(new Event('input'));"
        "  while (!next.disabled) {"
        "    seen.push(document.getElementById('observation').textContent); next.click(); } }"
        "return seen"
    )
    assert len(seen) == sum(1 + (3 * rollout + 5) % 4 for rollout in range(4))


def test_an_episode_solved_at_reset_shows_its_end(visit):
    tab = visit("solved")
    assert tab.text("#outcome strong") == "Solved at reset"
    assert tab.text("#place") == "End"


def test_a_run_without_episodes_has_no_viewer(visit):
    assert not visit("empty run").driver.find_element("id", "player").is_displayed()


def test_a_long_observation_is_cut_and_says_so(visit):
    shown = visit("long").text("#observation")
    assert len(shown) < 21_000
    assert shown.endswith("[cut here: 20,000 of 1,250,000 characters shown]")


# Hostile text.


def test_hostile_text_is_shown_as_text(visit):
    tab = visit("hostile")
    assert tab.text("#observation") == SHOWN_HOSTILE
    assert tab.text("#action") == SHOWN_HOSTILE
    assert tab.text("#executed") == SHOWN_HOSTILE + "!"
    assert tab.text(".receipt dd") == SHOWN_HOSTILE
    assert tab.texts("#side .badge") == ["error injected", "unreadable action"]
    assert SHOWN_HOSTILE in tab.texts("#side dd")
    assert tab.text("#tasks-table tbody th") == SHOWN_HOSTILE
    assert tab.text(".source h3") == SHOWN_HOSTILE
    tab.click("#last")
    assert tab.text("#error") == SHOWN_HOSTILE


def test_hostile_text_runs_nothing(visit):
    tab = visit("hostile")
    tab.press("#player", Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert tab.run("return window.hacked") is None
    assert tab.run("return document.images.length") == 0
    assert tab.run("return document.scripts.length") == 3
    assert tab.console() == []


@pytest.fixture
def server():
    """A web server of this machine that notes what it is asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()
        thread.join()


def test_even_a_script_in_the_page_could_not_reach_the_network(visit, server):
    address, asked = server
    tab = visit("fixed")
    blocked = tab.driver.execute_async_script(
        """
        const [address, done] = arguments;
        const blocked = [];
        document.addEventListener("securitypolicyviolation", (event) => {
          blocked.push(event.effectiveDirective);
          if (blocked.length === 3) setTimeout(() => done(blocked.sort()), 100);
        });
        fetch(`${address}/fetch`).catch(() => 0);
        new Image().src = `${address}/image`;
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        """,
        address,
    )
    assert blocked == ["connect-src", "img-src", "script-src-elem"]
    assert asked == []
    assert tab.run("return window.hacked") is None


# Everybody's page.


def test_every_button_and_field_has_a_name(visit):
    tab = visit("fixed")
    nameless = tab.run(
        "return [...document.querySelectorAll('button, select, input')].filter((e) =>"
        " !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels || []).length))"
        ".map((e) => e.outerHTML)"
    )
    assert nameless == []


def test_the_keyboard_reaches_the_player(visit):
    tab = visit("fixed")
    tab.run("document.getElementById('view-rollout').focus()")
    tab.press("#view-rollout", Keys.TAB)
    assert tab.run("return document.activeElement.id") == "player"
    width = "return getComputedStyle(document.activeElement).outlineWidth"
    assert tab.run(width) == "2px"
