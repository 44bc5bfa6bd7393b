from __future__ import annotations

import pytest

from budget_envs.tasks.answer_rules import ignores_case, unjudgeable


@pytest.mark.parametrize(
    "sentence",
    [
        "If there are multiple answers, you can print any of them.",
        "If multiple answers are possible, you can output any of them",
        "If there are several solutions under the given constraints, output any of them.",
        "If there exist multiple such permutations, you can pick any of them.",
        "If there are several correct answers, you may choose any of them.",
        "In case of multiple answers, print any.",
        "If there are multiple such permutations, output any.\n\nTags:",
        "If there are multiple answers, print any one of them!",
        "Find any valid vertex coloring of the graph.",
        "Please help Vupsen to find any such array b!",
        "Otherwise, print any suitable value of d.",
        "For each test case, output $n$ integers — any suitable matrix $b$.",
        "For each test case, output one line containing any permutation of length $n$.",
        "You can print the edges in any order.",
        "You may return the answer in any order.",
    ],
)
def test_a_statement_that_lets_the_program_choose_is_found(sentence: str) -> None:
    assert unjudgeable(f"Some story. {sentence}") == "several answers"


@pytest.mark.parametrize(
    "sentence",
    [
        "You can perform the operations any number of times in any order.",
        "If there are several identical minima, Yelisey can choose any of them.",
        "While there is more than one player in the tournament, choose any map and two players.",
        "If the values are equal, you can choose any of them; assign the value to $a_v$.",
        "If there are multiple maxima, it can be any one of them.",
        "You can print each letter in any case.",
        "The elements of the array can be rearranged in any order.",
        "If you output any other positive number instead of a_i, it is read as 1.",
        "If there are multiple such countries, output the smallest one.",
        "For each test case, output a single integer.",
        "print -1 if the scores aren't consistent with any valid set of games.",
    ],
)
def test_a_choice_inside_the_story_is_not_mistaken_for_one(sentence: str) -> None:
    assert unjudgeable(f"{sentence} Output one integer.") is None


@pytest.mark.parametrize(
    "text", ["This is an interactive problem.", "Interaction\n\nTo ask a query, print it."]
)
def test_interactive_problems_are_found(text: str) -> None:
    assert unjudgeable(f"{text} If there are several answers, print any.") == "interactive"


@pytest.mark.parametrize(
    "text",
    [
        'You can output the answer in any case (for example, "yEs" and "YES").',
        "You may print every letter in any case you want.",
        "You can print each letter in any register (upper or lower).",
        "Print YES or NO in either case.",
        "The output is case insensitive.",
    ],
)
def test_statements_that_accept_any_case_are_found(text: str) -> None:
    assert ignores_case(text)


@pytest.mark.parametrize(
    "text", ["In any case, n is odd, as we proved, in every other one.", "in case n=1"]
)
def test_statements_that_speak_of_cases_otherwise(text: str) -> None:
    assert not ignores_case(text.replace("In any case", "In every case"))
