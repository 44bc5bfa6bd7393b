import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.actions import find_answer, last_fenced_block, quote, read_choice

CHOICES = {"left": 0, "down": 1, "right": 2, "up": 3}


@pytest.mark.parametrize(
    "text", ["Right", "right", "RIGHT", " Right\n", "Right.", "**Right**", "`right`", '"Right"']
)
def test_a_bare_word_is_read_in_any_case_and_punctuation(text):
    assert read_choice(text, CHOICES) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I think <answer>Up</answer>", 3),
        ("<answer>Up</answer> no, <answer>Left</answer>", 0),
        ("<answer>\n Up \n</answer> Down", 3),
        ("Thinking.\n```\nDown\n```", 1),
        ("```text\nDown\n```\nand done", 1),
        ("```Up```", 3),
        ("```\nUp\n```\nthen\n```\nLeft\n```", 0),
        ("```\nUp\n```\nan open fence\n```\nLeft", 3),
        ("Let me go right.\nRight", 2),
        ("The goal is below.\n\nDown.\n\n", 1),
        ("<answer>Left</answer>\n```\nUp\n```", 0),
        ("```\nLeft\n```\nUp", 0),
    ],
)
def test_the_most_explicit_place_decides(text, expected):
    assert read_choice(text, CHOICES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "forward",
        "Left Right",
        "Left || Up",
        "go Left",
        "<answer>north</answer>\nUp",
        "```\nnorth\n```\nUp",
        "<answer></answer>\nUp",
        "2",
        "\x00",
        "\ud800",
        "\U0001f600",
        "Up\nis not where I go",
    ],
)
def test_a_deciding_place_without_exactly_one_choice_is_no_action(text):
    assert read_choice(text, CHOICES) is None


def test_an_answer_tag_that_is_never_closed_does_not_count():
    assert read_choice("<answer>Up\nLeft", CHOICES) == 0


@given(st.text(max_size=300))
def test_reading_never_raises(text):
    assert read_choice(text, CHOICES) in (None, 0, 1, 2, 3)


@given(st.text(alphabet="`<>/answer\nUpLeft ", max_size=200))
def test_reading_marker_soup_never_raises(text):
    read_choice(text, CHOICES)


@pytest.mark.parametrize("part", ["<answer>", "</answer>", "```", "`", "\n", "<", "Left "])
def test_reading_long_marker_floods_terminates(part):
    assert read_choice(part * (1_000_000 // len(part)), CHOICES) is None


@given(st.sampled_from(["Left", "Down", "Right", "Up"]), st.text(alphabet="abc \n.", max_size=50))
def test_every_form_of_one_action_reads_the_same(word, thoughts):
    forms = [
        f"{thoughts}<answer>{word}</answer>",
        f"{thoughts}\n```\n{word}\n```",
        f"{thoughts}\n{word}",
        word,
    ]
    assert {read_choice(form, CHOICES) for form in forms} == {CHOICES[word.lower()]}


def test_the_last_fenced_block_drops_its_language_tag():
    assert last_fenced_block("```python\nx = 1\n```") == "x = 1\n"


@pytest.mark.parametrize("text", ["", "no fence", "``` open only"])
def test_no_closed_fence_gives_none(text):
    assert last_fenced_block(text) is None


def test_find_answer_falls_back_to_the_last_line():
    assert find_answer("a\nb\n\n") == "b"
    assert find_answer("") == ""


def test_quotes_are_short_printable_ascii_and_show_the_cut():
    assert quote("Up") == "'Up'"
    assert quote("x" * 100) == f"'{'x' * 40}'... (100 characters)"
    assert quote("\ud800\x00\U0001f600").isascii()
