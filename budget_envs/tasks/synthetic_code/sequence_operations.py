"""Operations on lists of either element type: higher-order ones, and reorder, cut and compare.

`elementwise` builds the same rows for ``list[int]`` and ``list[str]``; what makes sense for
integers or for strings only is in `number_operations` and `text_operations`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import dropwhile, takewhile
from typing import Any

from budget_envs.tasks.synthetic_code.dsl import Operation, Type

__all__ = ["elementwise"]

BOOL, NAT = Type.BOOL, Type.NAT
_ORDER_NOTE = (
    "Strings are ordered as Python compares them: character by character, by character code, so "
    "capital letters come before small ones."
)
_COUNTS = (2, 3, 4)


def _positions(keep: Callable[[Any], bool], items: list[Any]) -> list[int]:
    return [i for i in range(len(items)) if keep(items[i])]


def _best(key: Callable[[Any], int], items: list[Any], sign: int, default: Any) -> Any:
    best = default
    for i, item in enumerate(items):
        if i == 0 or sign * key(item) > sign * key(best):
            best = item
    return best


def _rotate(items: list[Any], count: int) -> list[Any]:
    cut = count % len(items) if items else 0
    return items[cut:] + items[:cut]


def _interleave(first: list[Any], second: list[Any]) -> list[Any]:
    shorter = min(len(first), len(second))
    mixed = [item for pair in zip(first, second, strict=False) for item in pair]
    return mixed + first[shorter:] + second[shorter:]


def _distinct(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if item not in items[:i]]


def _squeeze(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if i == 0 or item != items[i - 1]]


def _run_lengths(items: list[Any]) -> list[int]:
    lengths: list[int] = []
    for i, item in enumerate(items):
        if i and item == items[i - 1]:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths


def _most_common(items: list[Any], default: Any) -> Any:
    return _best(items.count, items, 1, default)


def elementwise(element: Type, sequence: Type) -> list[Operation]:
    """Return the operations that exist for lists of any element type.

    Args:
        element: ``INT`` or ``STR``.
        sequence: The list type of that element: ``INTS`` or ``WORDS``.
    """
    return [*_higher_order(element, sequence), *_cuts(sequence), *_comparisons(element, sequence)]


# fmt: off
# One row an operation: name, input types, output type, meaning, Python, English.
def _higher_order(element: Type, sequence: Type) -> list[Operation]:
    x = "x" if element is Type.INT else "w"
    default: Any = 0 if element is Type.INT else ""
    none = "0" if element is Type.INT else "the empty string"
    test = (element, BOOL)
    order_note = "" if element is Type.INT else _ORDER_NOTE
    rows = [
        Operation("filter", (sequence,), sequence, lambda f, a: list(filter(f, a)),
                  f"[{x} for {x} in {{0}} if {{f}}]",
                  "the list of the elements of {0} that {f}, in their original order", test),
        Operation("count", (sequence,), NAT, lambda f, a: sum(map(f, a)),
                  f"sum(1 for {x} in {{0}} if {{f}})",
                  "the number of elements of {0} that {f}", test),
        Operation("any", (sequence,), BOOL, lambda f, a: any(map(f, a)),
                  f"any({{f}} for {x} in {{0}})",
                  "`True` if {0} has one or more elements that {f}, and `False` otherwise", test),
        Operation("all", (sequence,), BOOL, lambda f, a: all(map(f, a)),
                  f"all({{f}} for {x} in {{0}})",
                  "`True` if all elements of {0} {f} (also if {0} is empty), and `False` otherwise",
                  test),
        Operation("first_match", (sequence,), element,
                  lambda f, a: next(filter(f, a), default),
                  f"next(({x} for {x} in {{0}} if {{f}}), {default!r})",
                  f"the first of the elements of {{0}} that {{f}} ({none} if there are none)",
                  test),
        Operation("positions", (sequence,), Type.INTS, _positions,
                  f"[i for i, {x} in enumerate({{0}}) if {{f}}]",
                  "the list of the positions (counting from 0) of the elements of {0} that {f}, in "
                  "increasing order", test, level=2),
        Operation("take_while", (sequence,), sequence, lambda f, a: list(takewhile(f, a)),
                  f"list(takewhile(lambda {x}: {{f}}, {{0}}))",
                  "the longest part at the beginning of {0} of which all elements {f}", test,
                  level=2, imports=("takewhile",)),
        Operation("drop_while", (sequence,), sequence, lambda f, a: list(dropwhile(f, a)),
                  f"list(dropwhile(lambda {x}: {{f}}, {{0}}))",
                  "what is left of {0} after removing the longest part at its beginning of which "
                  "all elements {f}", test, level=2, imports=("dropwhile",)),
        Operation("partition", (sequence,), sequence,
                  lambda f, a: [v for v in a if f(v)] + [v for v in a if not f(v)],
                  f"sorted({{0}}, key=lambda {x}: not ({{f}}))",
                  "the list of the elements of {0} that {f}, followed by the other elements of "
                  "{0}, both in their original order", test, level=2),
        Operation("map", (sequence,), sequence, lambda f, a: [f(v) for v in a],
                  f"[{{f}} for {x} in {{0}}]",
                  f"the list made from {{0}} by replacing every element {x} by {{f}}",
                  (element, element)),
        Operation("sort_by", (sequence,), sequence, lambda f, a: sorted(a, key=f),
                  f"sorted({{0}}, key=lambda {x}: {{f}})",
                  "the elements of {0} sorted by increasing key (elements with equal keys keep "
                  f"their original order), where the key of an element {x} is {{f}}",
                  (element, Type.INT), level=2),
        *(
            Operation(f"first_{size}_by", (sequence,), element,
                      lambda f, a, sign=sign: _best(f, a, sign, default),
                      f"{code}({{0}}, key=lambda {x}: {{f}}, default={default!r})",
                      f"the element of {{0}} with the {size} key (the first such element if there "
                      f"are several; {none} if {{0}} is empty), where the key of an element {x} is "
                      "{f}",
                      (element, Type.INT), level=2)
            for size, code, sign in (("largest", "max", 1), ("smallest", "min", -1))
        ),
        Operation("sort", (sequence,), sequence, sorted, "sorted({0})",
                  "the elements of {0} in sorted order, smallest first", note=order_note),
        Operation("sort_descending", (sequence,), sequence,
                  lambda a: sorted(a)[::-1], "sorted({0}, reverse=True)",
                  "the elements of {0} in sorted order, largest first", note=order_note),
    ]
    if element is Type.STR:
        rows.append(
            Operation("map_to_int", (sequence,), Type.INTS, lambda f, a: [f(v) for v in a],
                      f"[{{f}} for {x} in {{0}}]",
                      f"the list of integers made from {{0}} by replacing every element {x} "
                      "by {f}",
                      (element, Type.INT)))
    return rows


def _cuts(sequence: Type) -> list[Operation]:
    return [
        Operation("reverse", (sequence,), sequence, lambda a: list(reversed(a)),
                  "{0}[::-1]", "{0} in reverse order"),
        Operation("take", (sequence, NAT), sequence, lambda a, n: a[:n],
                  "{0}[:{1}]", "the first {1} elements of {0} (all of {0} if it has fewer)",
                  literals=((1, _COUNTS),)),
        Operation("drop", (sequence, NAT), sequence, lambda a, n: a[n:],
                  "{0}[{1}:]",
                  "{0} without its first {1} elements (the empty list if it has fewer)",
                  literals=((1, _COUNTS),)),
        Operation("take_last", (sequence, NAT), sequence,
                  lambda a, n: a[max(0, len(a) - n):],
                  "{0}[max(0, len({0}) - {1}):]",
                  "the last {1} elements of {0}, in their original order (all of {0} if it has "
                  "fewer)",
                  literals=((1, _COUNTS),)),
        Operation("drop_last", (sequence, NAT), sequence,
                  lambda a, n: a[: max(0, len(a) - n)],
                  "{0}[:max(0, len({0}) - {1})]",
                  "{0} without its last {1} elements (the empty list if it has fewer)",
                  literals=((1, _COUNTS),)),
        Operation("even_positions", (sequence,), sequence,
                  lambda a: [v for i, v in enumerate(a) if i % 2 == 0], "{0}[::2]",
                  "the list of the elements of {0} at positions 0, 2, 4, ... (counting from 0)"),
        Operation("odd_positions", (sequence,), sequence,
                  lambda a: [v for i, v in enumerate(a) if i % 2 == 1], "{0}[1::2]",
                  "the list of the elements of {0} at positions 1, 3, 5, ... (counting from 0)"),
        Operation("rotate", (sequence, NAT), sequence, _rotate,
                  "[{0}[(i + {1}) % len({0})] for i in range(len({0}))]",
                  "the list made from {0} by moving its first element to the end, {1} times over "
                  "(an empty list stays empty)",
                  literals=((1, _COUNTS),), level=2),
        Operation("mirror", (sequence,), sequence, lambda a: a + a[::-1],
                  "{0} + {0}[::-1]", "{0} followed by {0} in reverse order", level=2),
        Operation("distinct", (sequence,), sequence, _distinct, "list(dict.fromkeys({0}))",
                  "{0} with only the first occurrence of every element kept"),
        Operation("squeeze", (sequence,), sequence, _squeeze,
                  "[key for key, _ in groupby({0})]",
                  "{0} with every run of equal neighbouring elements shortened to one element",
                  level=2, imports=("groupby",)),
        Operation("repeated_only", (sequence,), sequence,
                  lambda a: [v for v in a if a.count(v) > 1],
                  "[item for item in {0} if {0}.count(item) > 1]",
                  "the list of the elements of {0} whose value occurs more than once in {0}, all "
                  "occurrences kept, in their original order", level=2),
        Operation("unique_only", (sequence,), sequence,
                  lambda a: [v for v in a if a.count(v) == 1],
                  "[item for item in {0} if {0}.count(item) == 1]",
                  "the list of the elements of {0} whose value occurs exactly once in {0}, in "
                  "their original order", level=2),
        Operation("run_lengths", (sequence,), Type.INTS, _run_lengths,
                  "[len(list(group)) for _, group in groupby({0})]",
                  "the list of the lengths of the runs of equal neighbouring elements of {0}, in "
                  "order", level=3, imports=("groupby",)),
        Operation("occurrences", (sequence,), Type.INTS,
                  lambda a: [a.count(v) for v in _distinct(a)],
                  "[{0}.count(item) for item in dict.fromkeys({0})]",
                  "the list that holds, for every different element of {0} in order of first "
                  "occurrence, how often it occurs in {0}", level=3),
    ]


def _comparisons(element: Type, sequence: Type) -> list[Operation]:
    default: Any = 0 if element is Type.INT else ""
    none = "0" if element is Type.INT else "the empty string"
    return [
        Operation("length", (sequence,), NAT, len, "len({0})", "the number of elements of {0}"),
        Operation("first", (sequence,), element, lambda a: a[0] if a else default,
                  f"{{0}}[0] if {{0}} else {default!r}",
                  f"the first element of {{0}} ({none} if {{0}} is empty)"),
        Operation("last", (sequence,), element, lambda a: a[-1] if a else default,
                  f"{{0}}[-1] if {{0}} else {default!r}",
                  f"the last element of {{0}} ({none} if {{0}} is empty)"),
        Operation("most_common", (sequence,), element, lambda a: _most_common(a, default),
                  f"max({{0}}, key={{0}}.count, default={default!r})",
                  f"the element that occurs most often in {{0}} (of several, the one that occurs "
                  f"first; {none} if {{0}} is empty)", level=2),
        Operation("distinct_count", (sequence,), NAT, lambda a: len(_distinct(a)),
                  "len(set({0}))", "the number of different elements of {0}"),
        Operation("circular_item", (sequence, NAT), element,
                  lambda a, n: _rotate(a, n)[0] if a else default,
                  f"{{0}}[{{1}} % len({{0}})] if {{0}} else {default!r}",
                  f"the element of {{0}} at position {{1}}, counting from 0 and starting over at "
                  f"the beginning whenever the end is passed ({none} if {{0}} is empty)", level=2),
        Operation("occurrences_of", (sequence, element), NAT, lambda a, v: a.count(v),
                  "{0}.count({1})", "the number of elements of {0} that are equal to {1}"),
        Operation("index_of", (sequence, element), Type.INT,
                  lambda a, v: a.index(v) if v in a else -1,
                  "{0}.index({1}) if {1} in {0} else -1",
                  "the position (counting from 0) of the first element of {0} that is equal to {1} "
                  "(-1 if there is none)", level=2),
        Operation("without", (sequence, element), sequence,
                  lambda a, v: [item for item in a if item != v],
                  "[item for item in {0} if item != {1}]",
                  "{0} without the elements that are equal to {1}", level=2),
        Operation("append", (sequence, element), sequence, lambda a, v: [*a, v],
                  "{0} + [{1}]", "{0} with {1} added at the end"),
        Operation("prepend", (sequence, element), sequence, lambda a, v: [v, *a],
                  "[{1}] + {0}", "{0} with {1} added at the beginning"),
        Operation("contains", (sequence, element), BOOL, lambda a, v: v in a,
                  "{1} in {0}", "`True` if {1} is an element of {0}, and `False` otherwise"),
        Operation("is_palindrome", (sequence,), BOOL, lambda a: a == a[::-1],
                  "{0} == {0}[::-1]",
                  "`True` if {0} is equal to {0} in reverse order, and `False` otherwise",
                  level=3),
        Operation("concatenate", (sequence, sequence), sequence, lambda a, b: a + b,
                  "{0} + {1}", "{0} followed by {1}"),
        Operation("interleave", (sequence, sequence), sequence, _interleave,
                  "[item for pair in zip({0}, {1}) for item in pair] "
                  "+ {0}[len({1}):] + {1}[len({0}):]",
                  "the list that takes elements alternately from {0} and {1}, starting with {0}; "
                  "when one of them is used up, the rest of the other follows", level=2),
        Operation("intersection", (sequence, sequence), sequence,
                  lambda a, b: [v for v in a if v in b],
                  "[item for item in {0} if item in {1}]",
                  "the list of the elements of {0} that also occur in {1}, in the order of {0} and "
                  "with repetitions kept", level=2),
        Operation("difference", (sequence, sequence), sequence,
                  lambda a, b: [v for v in a if v not in b],
                  "[item for item in {0} if item not in {1}]",
                  "the list of the elements of {0} that do not occur in {1}, in the order of {0} "
                  "and with repetitions kept", level=2),
        Operation("equal_positions", (sequence, sequence), NAT,
                  lambda a, b: sum(v == w for v, w in zip(a, b, strict=False)),
                  "sum(1 for left, right in zip({0}, {1}) if left == right)",
                  "the number of positions at which {0} and {1} both have an element and these "
                  "elements are equal", level=2),
        Operation("choose", (BOOL, sequence, sequence), sequence,
                  lambda p, a, b: a if p else b, "{1} if {0} else {2}",
                  "{1} if {0} is `True`, otherwise {2}", level=3),
        Operation("choose_item", (BOOL, element, element), element,
                  lambda p, a, b: a if p else b, "{1} if {0} else {2}",
                  "{1} if {0} is `True`, otherwise {2}", level=3),
    ]
