"""Operations on strings and on lists of strings."""

from __future__ import annotations

import re

from budget_envs.tasks.synthetic_code.dsl import Operation, Type
from budget_envs.tasks.synthetic_code.functions import VOWELS, VOWELS_NOTE

__all__ = ["TEXT_OPERATIONS"]

INT, NAT, BOOL, STR, INTS, WORDS = (
    Type.INT, Type.NAT, Type.BOOL, Type.STR, Type.INTS, Type.WORDS,
)  # fmt: skip
_WORDS_NOTE = "A word is a longest possible run of characters other than spaces."


def _alphabet_positions(text: str) -> list[int]:
    return [ord(ch) - 64 for ch in text.upper() if "A" <= ch <= "Z"]


def _encode_runs(text: str) -> str:
    return re.sub(r"(.)\1*", lambda run: run[1] + str(len(run[0])), text)


def _most_common_character(text: str) -> str:
    return max(text, key=lambda ch: (text.count(ch), -text.index(ch)), default="")


def _repeat_each(words: list[str], counts: list[int]) -> list[str]:
    return [word * min(count, 5) for word, count in zip(words, counts, strict=False) if count > 0]


def _common_prefix(first: str, second: str) -> str:
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]


# fmt: off
# One row an operation: name, input types, output type, meaning, Python, English.
_STRINGS = [
    Operation("text_apply", (STR,), STR, lambda f, s: f(s), "{f}", "{f}", (STR, STR)),
    Operation("text_measure", (STR,), NAT, lambda f, s: f(s), "{f}", "{f}", (STR, INT)),
    Operation("split_words", (STR,), WORDS, str.split, "{0}.split()",
              "the list of the words of {0}, in order (the empty list if there are none)",
              note=_WORDS_NOTE),
    Operation("take_characters", (STR, NAT), STR, lambda s, n: s[:n], "{0}[:{1}]",
              "the first {1} characters of {0} (all of {0} if it is shorter)"),
    Operation("drop_characters", (STR, NAT), STR, lambda s, n: s[n:], "{0}[{1}:]",
              "{0} without its first {1} characters (the empty string if it is shorter)"),
    Operation("concatenate_text", (STR, STR), STR, lambda s, t: s + t, "{0} + {1}",
              "{0} directly followed by {1}"),
    Operation("common_prefix", (STR, STR), STR, _common_prefix,
              '"".join(x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip({0}, {1})))',
              "the longest string with which both {0} and {1} begin", level=2,
              imports=("takewhile",)),
    Operation("shared_characters", (STR, STR), STR,
              lambda s, t: "".join(filter(t.__contains__, s)),
              '"".join(ch for ch in {0} if ch in {1})',
              "the string of the characters of {0} that also occur in {1}, in the order of {0} and "
              "with repetitions kept", level=2),
    Operation("text_contains", (STR, STR), BOOL, lambda s, t: s.find(t) >= 0, "{1} in {0}",
              "`True` if {1} occurs in {0} as a contiguous part (the empty string occurs in every "
              "string), and `False` otherwise", level=2),
    Operation("text_is_palindrome", (STR,), BOOL, lambda s: list(s) == list(reversed(s)),
              "{0} == {0}[::-1]",
              "`True` if {0} reads the same forwards and backwards, and `False` otherwise",
              level=2),
    Operation("vowel_positions", (STR,), INTS,
              lambda s: [i for i in range(len(s)) if s[i] in VOWELS],
              '[i for i, ch in enumerate({0}) if ch.lower() in "aeiou"]',
              "the list of the positions (counting from 0) of the vowels in {0}, in increasing "
              "order",
              level=2, note=VOWELS_NOTE),
    Operation("alphabet_positions", (STR,), INTS, _alphabet_positions,
              '[ord(ch) - ord("a") + 1 for ch in {0}.lower() if ch.isalpha()]',
              "the list of the alphabet positions of the letters of {0}, in order (a = 1 to z = "
              "26, small or capital; other characters are skipped)", level=2),
    Operation("encode_runs", (STR,), STR, _encode_runs,
              '"".join(ch + str(len(list(group))) for ch, group in groupby({0}))',
              "the string made from {0} by writing, for every run of equal neighbouring "
              "characters, the character followed by the length of the run",
              level=3, imports=("groupby",)),
    Operation("most_common_character", (STR,), STR, _most_common_character,
              'max({0}, key={0}.count, default="")',
              "the character that occurs most often in {0} (of several, the one that occurs first; "
              "the empty string if {0} is empty)", level=2),
]

_WORD_LISTS = [
    Operation("join_spaces", (WORDS,), STR, " ".join, '" ".join({0})',
              "the elements of {0} joined into one string, with one space between neighbours"),
    Operation("join_dashes", (WORDS,), STR, "-".join, '"-".join({0})',
              "the elements of {0} joined into one string, with one `-` between neighbours"),
    Operation("join_directly", (WORDS,), STR, "".join, '"".join({0})',
              "the elements of {0} joined into one string, with nothing between them"),
    Operation("initials", (WORDS,), STR, lambda a: "".join(w[0] for w in a if w),
              '"".join(w[:1] for w in {0})',
              "the string of the first characters of the elements of {0}, in order (empty elements "
              "contribute nothing)"),
    Operation("join_pairs", (WORDS, WORDS), WORDS,
              lambda a, b: [v + w for v, w in zip(a, b, strict=False)],
              "[v + w for v, w in zip({0}, {1})]",
              "the list that holds, for every position at which {0} and {1} both have an element, "
              "the element of {0} directly followed by the element of {1}", level=2),
    Operation("repeat_each", (WORDS, INTS), WORDS, _repeat_each,
              "[w * min(n, 5) for w, n in zip({0}, {1}) if n > 0]",
              "the list that holds, for every position at which {0} and {1} both have an element, "
              "the element of {0} repeated n times without a separator, where n is the element of "
              "{1} (positions where n is 0 or negative are skipped; an n above 5 counts as 5)",
              level=3),
    Operation("select_words", (WORDS, INTS), WORDS,
              lambda a, b: [a[i] for i in b if 0 <= i < len(a)],
              "[{0}[i] for i in {1} if 0 <= i < len({0})]",
              "the list of the elements of {0} at the positions listed in {1} (counting from 0, in "
              "the order of {1}; numbers that are not positions of {0} are skipped)", level=2),
    Operation("words_with", (WORDS, STR), WORDS, lambda a, s: [w for w in a if s in w],
              "[w for w in {0} if {1} in w]",
              "the list of the elements of {0} in which {1} occurs as a contiguous part (the empty "
              "string occurs in every string), in their original order", level=2),
    Operation("words_sharing", (WORDS, STR), WORDS,
              lambda a, s: [w for w in a if set(w) & set(s)],
              "[w for w in {0} if any(ch in {1} for ch in w)]",
              "the list of the elements of {0} that have at least one character in common with "
              "{1}, in their original order", level=2),
]

TEXT_OPERATIONS: list[Operation] = [*_STRINGS, *_WORD_LISTS]
"""All operations of this module, in a fixed order that task ids depend on."""
