import gymnasium as gym
import pytest

from budget_envs.errors import TaskDataUnavailable
from budget_envs.wrappers import InteractionBudget

LAKE = "budget_envs/FrozenLake-v0"

# Solved by Down, Down, Right; Up goes against the edge.
FIXED = (LAKE, "--set", 'desc=["SFFF","FFFH","FGHF","FHHF"]')
SOLUTION = "Down\nDown\nRight\n"


def test_a_person_solves_a_lake_from_piped_lines(cli):
    done = cli("play", *FIXED, stdin=SOLUTION)
    assert done.code == 0
    assert "You went Right, to row 3, column 2, and reached the goal." in done.out
    assert done.out.endswith("\nSolved in 3 turns.\n")


def test_piped_lines_are_shown_after_the_prompt(cli):
    assert cli("play", *FIXED, stdin=SOLUTION).out.count("\n> Down\n") == 2


def test_the_same_seed_is_the_same_game(cli):
    first = cli("play", LAKE, "--seed", "7", stdin=SOLUTION).out
    assert cli("play", LAKE, "--seed", "7", stdin=SOLUTION).out == first
    assert cli("play", LAKE, "--seed", "8", stdin=SOLUTION).out != first


def test_the_budget_is_the_one_asked_for_and_ends_the_game(cli):
    done = cli("play", *FIXED, "--budget", "2", stdin=SOLUTION)
    assert "[Budget: 2 of 2 turns left]" in done.out
    assert "Out of turns after 2 turns: not solved." in done.out
    assert "> Right" not in done.out


def test_the_budget_can_be_hidden(cli):
    assert "Budget" not in cli("play", *FIXED, "--no-show-budget", stdin=SOLUTION).out


def test_the_budget_can_be_lifted(cli):
    done = cli("play", *FIXED, "--set", "budget=null", stdin="Up\n" * 12)
    assert done.code == 0
    assert "Budget" not in done.out
    assert done.out.count("> Up") == 12


def test_the_oracle_judges_every_action_and_is_no_part_of_the_observation(cli):
    done = cli("play", *FIXED, "--oracle", "--budget", "3", stdin="Up\n")
    assert "(oracle: worth 0.000, best 1.000 (Down or Right))" in done.out
    assert "oracle" not in cli("play", *FIXED, stdin="Up\n").out


def test_a_failure_is_told_from_running_out(cli):
    done = cli("play", *FIXED, "--set", 'desc=["SHG","FFF"]', stdin="Right\n")
    assert "Failed after 1 turn." in done.out


def test_keywords_reach_the_environment(cli):
    document = cli("play", LAKE, "--set", "map_name=4x4", "--json").document
    assert document["task_id"] == "SFFF/FHFH/FFFH/HFFG"


def test_what_cannot_be_read_costs_the_turn_and_nothing_else(cli):
    done = cli("play", *FIXED, stdin="hmm\n" + SOLUTION)
    assert "could not read one in 'hmm'" in done.out
    assert "Solved in 4 turns." in done.out


@pytest.mark.parametrize("text", ["", "\x00", "\U0001f9ca", "x" * 100_000, "\ud800", "\x1b[2J"])
def test_any_line_is_an_action_and_none_reaches_the_terminal_raw(cli, text):
    done = cli("play", *FIXED, stdin=f"{text}\n")
    assert done.code == 0
    assert "You did not move" in done.out
    assert not {"\x00", "\x1b", "\ud800"} & set(done.out)


@pytest.mark.parametrize("stdin", ["", "Down", ":q\n", "Down\n:q\nDown\n"])
def test_the_end_of_the_input_and_q_end_cleanly(cli, stdin):
    done = cli("play", *FIXED, stdin=stdin)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("You went") == stdin.count("Down") - (stdin.count("Down") == 2)


def test_undo_returns_to_the_very_state(cli):
    slippery = [*FIXED, "--set", "success_rate=0.5", "--json"]
    plain = cli("play", *slippery, stdin="Down\nLeft\nUp\n").document
    undone = cli("play", *slippery, stdin="Down\nRight\n:undo\nLeft\nUp\n").document
    assert undone == plain


def test_undo_takes_back_the_end_of_the_game(cli):
    done = cli("play", *FIXED, "--budget", "3", stdin="Down\nDown\nUp\n:undo\nRight\n")
    assert "Out of turns" in done.out
    assert "Solved in 3 turns." in done.out


def test_undo_shows_the_earlier_observation_again(cli):
    out = cli("play", *FIXED, stdin="Down\n:undo\n").out
    first = out.partition("> ")[0].partition("quits.\n\n")[2]
    assert out.count(first) == 2


def test_undo_shows_what_was_said_about_the_earlier_turn_again(cli):
    out = cli("play", *FIXED, "--oracle", stdin="Up\nDown\n:undo\n").out
    first = out.partition("> Up\n")[2].partition("> Down\n")[0]
    assert "(oracle: worth" in first
    assert out.partition("> :undo\n")[2] == first


def test_undo_of_the_first_turn_says_nothing_about_a_turn(cli):
    out = cli("play", *FIXED, "--oracle", stdin="Down\n:undo\n").out
    assert "(oracle" not in out.partition("> :undo\n")[2]


def test_an_episode_that_cannot_begin_shows_nothing_but_why(cli, monkeypatch):
    def fail(self, **keywords):
        raise TaskDataUnavailable("the file is nowhere: run this.")

    monkeypatch.setattr("budget_envs.text_env.TextEnv.reset", fail)
    done = cli("play", LAKE)
    assert (done.code, done.out) == (1, "")
    assert done.err == "budget-envs: the file is nowhere: run this.\n"


def test_undo_with_nothing_to_take_back_says_so(cli):
    assert "There is no turn to take back." in cli("play", *FIXED, stdin=":undo\n").out


def test_undo_where_states_cannot_be_saved_says_so(cli):
    done = cli("play", "CartPole-v1", stdin="1\n:undo\n")
    assert "cannot take turns back" in done.out


def test_after_the_end_any_other_line_ends_the_game(cli):
    done = cli("play", *FIXED, stdin=SOLUTION + "Down\nDown\n")
    assert done.code == 0
    assert done.out.count("You went") == 3


def test_help_lists_the_commands(cli):
    assert ":undo  take the last turn back" in cli("play", *FIXED, stdin=":help\n").out


def test_an_unknown_command_is_answered_and_costs_nothing(cli):
    done = cli("play", *FIXED, stdin=":unod\n" + SOLUTION)
    assert "Did you mean :undo?" in done.out
    assert "Solved in 3 turns." in done.out


def test_a_doubled_colon_is_an_action_that_starts_with_one(cli):
    document = cli("play", *FIXED, "--json", stdin="::w\n").document
    assert [turn["action"] for turn in document["turns"]] == [":w"]


def test_an_action_may_have_several_lines(cli):
    stdin = '"""\nI think:\n\nDown\n"""\n'
    document = cli("play", *FIXED, "--json", stdin=stdin).document
    assert document["turns"][0]["action"] == "I think:\n\nDown"
    assert document["turns"][0]["info"]["executed_action"] == "Down"


def test_an_action_of_several_lines_ends_with_the_input(cli):
    document = cli("play", *FIXED, "--json", stdin='"""\nDown').document
    assert [turn["action"] for turn in document["turns"]] == ["Down"]


def test_json_is_one_document_and_the_game_goes_to_standard_error(cli):
    done = cli("play", *FIXED, "--json", stdin=SOLUTION)
    document = done.document
    assert (document["id"], document["seed"], document["verdict"]) == (LAKE, 0, "pass")
    assert [turn["reward"] for turn in document["turns"]] == [0.0, 0.0, 1.0]
    assert document["is_over"] is True
    assert "Solved in 3 turns." in done.err


def test_an_injected_error_is_told_to_the_person(cli):
    faults = 'error_states={"at": 1, "kind": "timeout"}'
    assert "(injected: " in cli("play", *FIXED, "--set", faults, stdin="Down\n").out


def test_a_foreign_environment_is_played_with_numbers(cli):
    done = cli("play", "CartPole-v1", "--budget", "2", stdin="1\n0\n")
    assert done.code == 0
    assert "[left: 1 of 2 turns]" in done.out
    assert "Out of turns after 2 turns" in done.out


@pytest.fixture
def foreign():
    """Register a text environment of another project, whose info says what it is told to."""

    class Echo(gym.Env):
        observation_space = action_space = gym.spaces.Text(100)

        def __init__(self, info=None):
            self.info = info or {}

        def reset(self, *, seed=None, options=None):
            return "say something", dict(self.info)

        def step(self, action):
            return f"you said {action}", 0.0, False, False, dict(self.info)

    keywords = {"order_enforce": False, "disable_env_checker": True}
    gym.register(id="foreign/Echo-v0", entry_point=Echo, **keywords)
    gym.register(
        id="foreign/Budgeted-v0",
        entry_point=lambda: InteractionBudget(Echo(), budget={"turns": 3, "cost": 2}),
        **keywords,
    )
    yield "foreign/Echo-v0"
    del gym.registry["foreign/Echo-v0"], gym.registry["foreign/Budgeted-v0"]


def test_a_foreign_text_environment_shows_the_budget_asked_for(cli, foreign):
    done = cli("play", foreign, "--budget", "2", stdin="a\nb\n")
    lines = [line for line in done.out.splitlines() if line.startswith("[left")]
    assert lines == [f"[left: {left} of 2 turns]" for left in (2, 1, 0)]
    assert "[left: 2 of 2 turns]" in done.out.partition("> a")[0]


def test_a_foreign_text_environment_shows_a_budget_of_its_own(cli, foreign):
    out = cli("play", "foreign/Budgeted-v0", stdin="a\n").out
    assert "[left: 2 of 3 turns, 2 of 2 cost]" in out


@pytest.mark.parametrize("words", [["--no-show-budget"], []])
def test_a_budget_that_is_hidden_or_not_there_is_not_shown(cli, foreign, words):
    budget = ["--budget", "2"] if words else []
    assert "[left" not in cli("play", foreign, *budget, *words, stdin="a\n").out


@pytest.mark.parametrize(
    ("value", "numeric"),
    [
        ("false", "false"),
        ('"never"', "false"),
        ('{"when": "never"}', "false"),
        ('"total_only"', "false"),
        ("false", "true"),
        ('"never"', "true"),
        ('{"when": "never"}', "true"),
    ],
)
def test_how_the_environment_is_told_to_show_its_budget_is_kept(cli, value, numeric):
    words = ["--set", f"show_budget={value}", "--set", f"numeric={numeric}"]
    assert "[left" not in cli("play", *FIXED, *words, stdin="1\n").out


def test_a_budget_is_said_once(cli, lake_of_others):
    for words in (FIXED, (lake_of_others(),)):
        out = cli("play", *words, stdin="Right\n").out
        assert out.count("turns left]") == 2
        assert "[left" not in out


@pytest.mark.parametrize("name", ["budget", "oracle", "injected", "verdict"])
@pytest.mark.parametrize("value", ["8", '"text"', "[1]", "{}", '{"turns": 8, "value": {}}', "null"])
def test_an_info_that_means_something_else_breaks_nothing(cli, foreign, name, value):
    words = ["--set", f'info={{"{name}": {value}}}']
    done = cli("play", foreign, *words, stdin="a\n:undo\nb\n")
    assert (done.code, done.err) == (0, "")
    assert "you said b" in done.out


def test_an_id_registered_through_this_package_has_every_flag(cli, lake_of_others):
    done = cli("play", lake_of_others(), "--oracle", "--budget", "2", stdin="Up\n")
    assert "[Budget: 2 of 2 turns left]" in done.out
    assert "(oracle: worth 0.000, best 1.000 (Right))" in done.out


def test_an_id_registered_without_an_oracle_has_none_to_ask(cli, lake_of_others):
    done = cli("play", lake_of_others(oracle=None), "--oracle")
    assert done.code == 2
    assert "no oracle" in done.err
    assert done.out == ""


def test_a_foreign_environment_is_drawn_where_it_can_be(cli):
    done = cli("play", "FrozenLake-v1", stdin="1\n")
    assert "FHFH" in done.out
    assert "\x1b" not in done.out


def test_a_foreign_environment_refuses_what_is_no_action_without_a_step(cli):
    done = cli("play", "CartPole-v1", "--json", stdin="left\n7\n1\n")
    assert len(done.document["turns"]) == 1
    assert "expected an action of Discrete(2), got 'left'." in done.err


def test_the_end_of_a_foreign_episode_says_its_return(cli):
    done = cli("play", "CartPole-v1", stdin="1\n" * 60)
    assert "with a return of" in done.out


def test_numbers_instead_of_text_are_played_too(cli):
    done = cli("play", *FIXED, "--set", "numeric=true", "--json", stdin="1\n1\n2\n")
    assert done.document["verdict"] == "pass"
