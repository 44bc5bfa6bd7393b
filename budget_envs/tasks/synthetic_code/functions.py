"""The catalogue of element functions: what `map`, `filter`, `sorted by` and their kin are given."""

from __future__ import annotations

from budget_envs.tasks.synthetic_code.dsl import Function, Type

__all__ = ["FUNCTIONS", "VOWELS", "VOWELS_NOTE", "caesar", "is_vowel"]

VOWELS = "aeiouAEIOU"
VOWELS_NOTE = "Vowels are a, e, i, o and u, small or capital."
_CODES_NOTE = "Characters are ordered by character code, so capital letters come before small ones."

INT, STR, BOOL = Type.INT, Type.STR, Type.BOOL
_SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 9)
_THRESHOLDS = (0, 1, 2, 3, 4, 5, 6, 8, 10)
_LENGTHS = (2, 3, 4, 5)


def is_vowel(character: str) -> bool:
    """Return whether a character is a vowel, small or capital."""
    return character in VOWELS


def caesar(text: str, shift: int) -> str:
    """Return the text with every letter moved ``shift`` places on, wrapping and keeping case."""
    moved = []
    for character in text:
        if character.isalpha():
            base = ord("a" if character.islower() else "A")
            character = chr(base + (ord(character) - base + shift) % 26)
        moved.append(character)
    return "".join(moved)


def _alphabet_sum(text: str) -> int:
    return sum(ord(ch) - ord("a") + 1 for ch in text.lower() if "a" <= ch <= "z")


def _digit_sum(number: int) -> int:
    total, number = 0, abs(number)
    while number:
        total, number = total + number % 10, number // 10
    return total


# fmt: off
# One row a function: name, types, meaning, Python, English, operand.
_INT_TO_INT = [
    Function("add", INT, INT, lambda c: lambda x: x + c,
             "{x} + {c}", "{x} + {c}", _SMALL, True),
    Function("subtract", INT, INT, lambda c: lambda x: x - c,
             "{x} - {c}", "{x} - {c}", _SMALL, True),
    Function("subtract_from", INT, INT, lambda c: lambda x: c - x,
             "{c} - {x}", "{c} - {x}", (1, 5, 10, 20), True),
    Function("multiply", INT, INT, lambda c: lambda x: x * c,
             "{x} * {c}", "{x} times {c}", (2, 3, 4, 5), True),
    Function("negate", INT, INT, lambda _: lambda x: -x,
             "-{x}", "-{x} ({x} with its sign changed)"),
    Function("absolute", INT, INT, lambda _: abs, "abs({x})", "the absolute value of {x}"),
    Function("square", INT, INT, lambda _: lambda x: x * x, "{x} * {x}", "the square of {x}"),
    Function("floor_divide", INT, INT, lambda c: lambda x: x // c,
             "{x} // {c}", "{x} divided by {c}, rounded down (so -1 divided by {c} gives -1)",
             (2, 3, 4)),
    Function("remainder", INT, INT, lambda c: lambda x: x % c,
             "{x} % {c}", "the remainder of {x} divided by {c} (at least 0 and below {c}, "
             "also for negative numbers)", (2, 3, 4, 5, 7, 10)),
    Function("smaller", INT, INT, lambda c: lambda x: x if x < c else c,
             "min({x}, {c})", "the smaller of {x} and {c}", _THRESHOLDS, True),
    Function("larger", INT, INT, lambda c: lambda x: x if x > c else c,
             "max({x}, {c})", "the larger of {x} and {c}", _THRESHOLDS, True),
    Function("distance", INT, INT, lambda c: lambda x: x - c if x > c else c - x,
             "abs({x} - {c})", "the absolute difference between {x} and {c}", _SMALL, True),
    Function("digit_sum", INT, INT, lambda _: _digit_sum,
             "sum(int(digit) for digit in str(abs({x})))",
             "the sum of the decimal digits of {x}, ignoring its sign"),
    Function("sign", INT, INT, lambda _: lambda x: 1 if x > 0 else -1 if x < 0 else 0,
             "({x} > 0) - ({x} < 0)",
             "1 if {x} is positive, -1 if {x} is negative, and 0 if {x} is 0"),
    Function("halve_or_triple", INT, INT,
             lambda c: lambda x: 3 * x + c if x % 2 else x // 2,
             "{x} // 2 if {x} % 2 == 0 else 3 * {x} + {c}",
             "{x} / 2 if {x} is even, and 3 * {x} + {c} if {x} is odd", (1, 3, 5)),
]

_INT_TO_BOOL = [
    Function("even", INT, BOOL, lambda _: lambda x: not x & 1, "{x} % 2 == 0", "are even"),
    Function("odd", INT, BOOL, lambda _: lambda x: bool(x & 1), "{x} % 2 == 1", "are odd"),
    Function("positive", INT, BOOL, lambda _: lambda x: x > 0,
             "{x} > 0", "are positive (greater than 0)"),
    Function("negative", INT, BOOL, lambda _: lambda x: x < 0,
             "{x} < 0", "are negative (less than 0)"),
    Function("greater", INT, BOOL, lambda c: lambda x: x > c,
             "{x} > {c}", "are greater than {c}", _THRESHOLDS[1:], True),
    Function("less", INT, BOOL, lambda c: lambda x: x < c,
             "{x} < {c}", "are less than {c}", _THRESHOLDS[1:], True),
    Function("at_least", INT, BOOL, lambda c: lambda x: x >= c,
             "{x} >= {c}", "are greater than or equal to {c}", _THRESHOLDS, True),
    Function("at_most", INT, BOOL, lambda c: lambda x: x <= c,
             "{x} <= {c}", "are less than or equal to {c}", _THRESHOLDS, True),
    Function("divisible", INT, BOOL, lambda c: lambda x: x % c == 0,
             "{x} % {c} == 0", "are divisible by {c} (0 is divisible by every number)", (3, 4, 5)),
    Function("indivisible", INT, BOOL, lambda c: lambda x: x % c != 0,
             "{x} % {c} != 0",
             "are not divisible by {c} (0 is divisible by every number)", (3, 4, 5)),
    Function("different", INT, BOOL, lambda c: lambda x: x != c,
             "{x} != {c}", "are not equal to {c}", (0, 1, 2), True),
    Function("within", INT, BOOL, lambda c: lambda x: -c <= x <= c,
             "abs({x}) <= {c}", "have an absolute value of at most {c}", (3, 5, 8, 10), True),
    Function("beyond", INT, BOOL, lambda c: lambda x: x > c or x < -c,
             "abs({x}) > {c}", "have an absolute value greater than {c}", (3, 5, 8, 10), True),
]

_STR_TO_STR = [
    Function("upper", STR, STR, lambda _: str.upper, "{x}.upper()", "{x} in upper case"),
    Function("lower", STR, STR, lambda _: str.lower, "{x}.lower()", "{x} in lower case"),
    Function("swap_case", STR, STR, lambda _: str.swapcase,
             "{x}.swapcase()",
             "{x} with small letters made capital and capital letters made small"),
    Function("backwards", STR, STR, lambda _: lambda x: x[::-1],
             "{x}[::-1]", "{x} written backwards"),
    Function("without_vowels", STR, STR,
             lambda _: lambda x: "".join(ch for ch in x if ch not in VOWELS),
             '"".join(ch for ch in {x} if ch.lower() not in "aeiou")',
             "{x} with all vowels removed", note=VOWELS_NOTE),
    Function("only_vowels", STR, STR,
             lambda _: lambda x: "".join(filter(is_vowel, x)),
             '"".join(ch for ch in {x} if ch.lower() in "aeiou")',
             "the vowels of {x}, in order, as one string", note=VOWELS_NOTE),
    Function("starred_vowels", STR, STR,
             lambda _: lambda x: "".join("*" if ch in VOWELS else ch for ch in x),
             '"".join("*" if ch.lower() in "aeiou" else ch for ch in {x})',
             "{x} with every vowel replaced by `*`", note=VOWELS_NOTE),
    Function("first_characters", STR, STR, lambda c: lambda x: x[:c],
             "{x}[:{c}]",
             "the first {c} characters of {x} (all of {x} if it is shorter)", _LENGTHS),
    Function("last_characters", STR, STR, lambda c: lambda x: x[max(0, len(x) - c) :],
             "{x}[-{c}:]",
             "the last {c} characters of {x} (all of {x} if it is shorter)", _LENGTHS),
    Function("without_first", STR, STR, lambda _: lambda x: x[1:],
             "{x}[1:]", "{x} without its first character (the empty string if {x} is empty)"),
    Function("without_last", STR, STR, lambda _: lambda x: x[: max(0, len(x) - 1)],
             "{x}[:-1]", "{x} without its last character (the empty string if {x} is empty)"),
    Function("first_to_end", STR, STR, lambda _: lambda x: x[1:] + x[:1],
             "{x}[1:] + {x}[:1]", "{x} with its first character moved to the end"),
    Function("mirrored", STR, STR, lambda _: lambda x: x + "".join(reversed(x)),
             "{x} + {x}[::-1]", "{x} followed by {x} written backwards"),
    Function("sorted_characters", STR, STR, lambda _: lambda x: "".join(sorted(x)),
             '"".join(sorted({x}))', "the characters of {x} in sorted order", note=_CODES_NOTE),
    Function("distinct_characters", STR, STR,
             lambda _: lambda x: "".join(ch for i, ch in enumerate(x) if ch not in x[:i]),
             '"".join(dict.fromkeys({x}))',
             "{x} with only the first occurrence of every character kept (capital and small "
             "letters are different characters)"),
    Function("every_second_character", STR, STR, lambda _: lambda x: x[::2],
             "{x}[::2]", "the characters of {x} at positions 0, 2, 4, ..."),
    Function("caesar", STR, STR, lambda c: lambda x: caesar(x, c),
             '"".join(chr((ord(ch) - ord(first) + {c}) % 26 + ord(first)) if ch.isalpha() else ch '
             'for ch in {x} for first in ["a" if ch.islower() else "A"])',
             "{x} with every letter replaced by the letter {c} places later in the alphabet (after "
             "z comes a; the case is kept; other characters stay)", (1, 2, 3, 13)),
]

_STR_TO_INT = [
    Function("length", STR, INT, lambda _: len, "len({x})", "the number of characters in {x}"),
    Function("vowel_count", STR, INT, lambda _: lambda x: sum(map(x.count, VOWELS)),
             'sum(ch.lower() in "aeiou" for ch in {x})', "the number of vowels in {x}",
             note=VOWELS_NOTE),
    Function("consonant_count", STR, INT,
             lambda _: lambda x: sum(ch.isalpha() and ch not in VOWELS for ch in x),
             'sum(ch.isalpha() and ch.lower() not in "aeiou" for ch in {x})',
             "the number of letters in {x} that are not vowels", note=VOWELS_NOTE),
    Function("capital_count", STR, INT, lambda _: lambda x: sum(map(str.isupper, x)),
             "sum(ch.isupper() for ch in {x})", "the number of capital letters in {x}"),
    Function("distinct_count", STR, INT, lambda _: lambda x: len(set(x)),
             "len(set({x}))",
             "the number of different characters in {x} (capital and small letters are different)"),
    Function("alphabet_sum", STR, INT, lambda _: _alphabet_sum,
             'sum(ord(ch) - ord("a") + 1 for ch in {x}.lower() if ch.isalpha())',
             "the sum of the alphabet positions of the letters of {x} (a = 1 to z = 26, small or "
             "capital)"),
]

_STR_TO_BOOL = [
    Function("longer", STR, BOOL, lambda c: lambda x: len(x) > c,
             "len({x}) > {c}", "have more than {c} characters", _LENGTHS, True),
    Function("shorter", STR, BOOL, lambda c: lambda x: len(x) < c,
             "len({x}) < {c}", "have fewer than {c} characters", (3, 4, 5, 6), True),
    Function("even_length", STR, BOOL, lambda _: lambda x: len(x) % 2 == 0,
             "len({x}) % 2 == 0", "have an even number of characters"),
    Function("starts_with_vowel", STR, BOOL, lambda _: lambda x: x != "" and x[0] in VOWELS,
             '{x}.lower().startswith(tuple("aeiou"))', "start with a vowel", note=VOWELS_NOTE),
    Function("ends_with_vowel", STR, BOOL, lambda _: lambda x: x != "" and x[-1] in VOWELS,
             '{x}.lower().endswith(tuple("aeiou"))', "end with a vowel", note=VOWELS_NOTE),
    Function("several_vowels", STR, BOOL, lambda c: lambda x: sum(map(x.count, VOWELS)) >= c,
             'sum(ch.lower() in "aeiou" for ch in {x}) >= {c}', "contain at least {c} vowels",
             (2, 3), note=VOWELS_NOTE),
    Function("has_capital", STR, BOOL, lambda _: lambda x: x.lower() != x,
             "any(ch.isupper() for ch in {x})", "contain a capital letter"),
    Function("repeats_character", STR, BOOL, lambda _: lambda x: len(set(x)) < len(x),
             "len(set({x})) < len({x})",
             "contain some character more than once (capital and small letters are different)"),
    *(
        Function(f"contains_{letter}", STR, BOOL,
                 lambda _, letter=letter: lambda x: letter in x.lower(),  # type: ignore[misc]
                 f'"{letter}" in {{x}}.lower()', f"contain the letter {letter} (small or capital)")
        for letter in "aenort"
    ),
]

# fmt: on

FUNCTIONS: dict[tuple[Type, Type], list[Function]] = {
    (INT, INT): _INT_TO_INT,
    (INT, BOOL): _INT_TO_BOOL,
    (STR, STR): _STR_TO_STR,
    (STR, INT): _STR_TO_INT,
    (STR, BOOL): _STR_TO_BOOL,
}
"""All functions by ``(domain, codomain)``, in a fixed order that task ids depend on."""
