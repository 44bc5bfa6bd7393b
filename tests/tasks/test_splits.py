from __future__ import annotations

import hashlib
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.tasks.splits import (
    HASH_SPLITS,
    hash_split,
    statement_groups,
    statement_key,
)

WORDS = [f"word{number}" for number in range(2000)]


def long_text(seed: int, words: int = 300) -> list[str]:
    return random.Random(seed).choices(WORDS, k=words)


def test_splits_of_known_groups_never_change() -> None:
    splits = [hash_split(f"group-{number}")[:2] for number in range(12)]
    assert " ".join(splits) == "tr tr tr tr tr te tr tr tr tr tr tr"


@given(st.text(max_size=30))
def test_a_group_has_the_split_of_its_checksum(group: str) -> None:
    rest = int(hashlib.sha256(group.encode("utf-8")).hexdigest(), 16) % 100
    assert hash_split(group) == ("train" if rest < 80 else "validation" if rest < 90 else "test")


def test_splits_are_about_80_10_10() -> None:
    splits = [hash_split(str(number)) for number in range(5000)]
    shares = [splits.count(name) / len(splits) for name in HASH_SPLITS]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.02)


def test_groups_and_splits_do_not_depend_on_the_process() -> None:
    texts = [" ".join(long_text(seed)) for seed in range(5)]
    code = (
        "import random; from budget_envs.tasks.splits import *; "
        "W = [f'word{n}' for n in range(2000)]; "
        "T = [' '.join(random.Random(s).choices(W, k=300)) for s in range(5)]; "
        "print([(g, hash_split(g)) for g in statement_groups(T)])"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "77"}
    )
    assert result.stdout.strip() == str([(g, hash_split(g)) for g in statement_groups(texts)])


def test_case_spaces_and_punctuation_make_no_difference() -> None:
    assert statement_key("Find  the SUM,\nof $a$ and $b$.") == statement_key(
        "find the sum of a and b"
    )


def test_powers_make_a_difference() -> None:
    assert statement_key("the sum 1³+2³") != statement_key("the sum 1²+2²")


def test_equal_short_statements_are_one_group_and_others_are_not() -> None:
    groups = statement_groups(["Find the area.", "find the area", "Find the volume."])
    assert groups[0] == groups[1] != groups[2]


def test_two_versions_of_a_long_statement_are_one_group() -> None:
    text = long_text(1)
    easy = " ".join(["This", "is", "the", "easy", "version", *text, "n", "1000"])
    hard = " ".join(["This", "is", "the", "hard", "version", *text[:250], *long_text(2, 40)])
    other = " ".join(long_text(3))
    groups = statement_groups([easy, hard, other])
    assert groups[0] == groups[1] != groups[2]


def test_a_common_preamble_does_not_join_problems() -> None:
    preamble = long_text(4, 60)
    texts = [" ".join([*preamble, *long_text(seed, 240)]) for seed in range(10, 90)]
    assert len(set(statement_groups(texts))) == len(texts)


def test_groups_are_transitive() -> None:
    text = long_text(5, 400)
    chain = [" ".join(text[start : start + 250]) for start in (0, 70, 140)]
    assert len(set(statement_groups(chain))) == 1


def test_the_order_of_the_problems_makes_no_difference() -> None:
    text = long_text(6)
    texts = [" ".join(text), " ".join([*text[:200], *long_text(7, 60)])]
    texts += [" ".join(long_text(seed)) for seed in range(20, 30)] + ["short", "Short."]
    groups = dict(zip(texts, statement_groups(texts), strict=True))
    shuffled = random.Random(0).sample(texts, len(texts))
    assert dict(zip(shuffled, statement_groups(shuffled), strict=True)) == groups


def word_shingle_resemblance(first: str, second: str) -> float:
    sets = []
    for text in (first, second):
        words = text.split()
        sets.append({tuple(words[i : i + 8]) for i in range(len(words) - 7)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@given(st.integers(0, 10_000), st.integers(0, 240))
@settings(max_examples=40)
def test_sketches_agree_with_exact_resemblance(seed: int, kept: int) -> None:
    text = long_text(seed, 240)
    first, second = " ".join(text), " ".join([*text[:kept], *long_text(seed + 1, 240 - kept)])
    exact = word_shingle_resemblance(first, second)
    if abs(exact - 0.35) > 0.15:
        together = len(set(statement_groups([first, second]))) == 1
        assert together == (exact > 0.35)


def test_no_problems_make_no_groups() -> None:
    assert statement_groups([]) == []
