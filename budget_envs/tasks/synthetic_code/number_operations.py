"""Operations on integers and on lists of integers."""

from __future__ import annotations

from collections.abc import Callable

from budget_envs.tasks.synthetic_code.dsl import Operation, Type

__all__ = ["NUMBER_OPERATIONS"]

INT, NAT, BOOL, STR, INTS = Type.INT, Type.NAT, Type.BOOL, Type.STR, Type.INTS


def _running(a: list[int], join: str) -> list[int]:
    out: list[int] = []
    for x in a:
        previous = out[-1] if out else x
        out.append({"max": max(previous, x), "min": min(previous, x)}[join])
    return out


def _running_totals(a: list[int]) -> list[int]:
    return [sum(a[: i + 1]) for i in range(len(a))]


def _best_slice(a: list[int]) -> int:
    return max((sum(a[i:j]) for i in range(len(a)) for j in range(i, len(a) + 1)), default=0)


def _longest_climb(a: list[int]) -> int:
    best = length = 0
    for i, x in enumerate(a):
        length = length + 1 if i and x > a[i - 1] else 1
        best = max(best, length)
    return best


def _block_sums(a: list[int], size: int) -> list[int]:
    blocks = [0] * -(-len(a) // size)
    for i, x in enumerate(a):
        blocks[i // size] += x
    return blocks


def _digits(n: int) -> list[int]:
    return [int(ch) for ch in str(n).lstrip("-")]


def _left_median(a: list[int]) -> int:
    return sorted(a)[(len(a) - 1) // 2] if a else 0


def _peaks(a: list[int]) -> list[int]:
    triples = zip(a, a[1:], a[2:], strict=False)
    return [middle for left, middle, right in triples if left < middle > right]


_LONGEST_CLIMB = """\
def longest_climb(values: list[int]) -> int:
    best = length = 0
    for i, value in enumerate(values):
        if i > 0 and value > values[i - 1]:
            length += 1
        else:
            length = 1
        best = max(best, length)
    return best
"""

_BEST_SLICE = """\
def best_slice(values: list[int]) -> int:
    best = ending_here = 0
    for value in values:
        ending_here = max(0, ending_here + value)
        best = max(best, ending_here)
    return best
"""


_ZIPPED: dict[str, tuple[Callable[[int, int], int], str, str]] = {
    "zip_add": (lambda x, y: x + y, "x + y", "the sum x + y"),
    "zip_subtract": (lambda x, y: x - y, "x - y", "the difference x - y"),
    "zip_multiply": (lambda x, y: x * y, "x * y", "the product x * y"),
    "zip_larger": (lambda x, y: x if x > y else y, "max(x, y)", "the larger of x and y"),
    "zip_smaller": (lambda x, y: x if x < y else y, "min(x, y)", "the smaller of x and y"),
}


def _zip_with(name: str) -> Operation:
    scalar, code, english = _ZIPPED[name]

    def evaluate(a: list[int], b: list[int]) -> list[int]:
        return [scalar(x, y) for x, y in zip(a, b, strict=False)]

    return Operation(
        name,
        (INTS, INTS),
        INTS,
        evaluate,
        f"[{code} for x, y in zip({{0}}, {{1}})]",
        f"the list that holds, for every position at which {{0}} and {{1}} both have an element, "
        f"{english}, where x is the element of {{0}} and y the element of {{1}} at that position",
        level=2,
    )


# fmt: off
# One row an operation: name, input types, output type, meaning, Python, English.
_LISTS = [
    Operation("sum", (INTS,), INT, sum, "sum({0})", "the sum of {0} (0 if {0} is empty)"),
    Operation("maximum", (INTS,), INT, lambda a: max(a, default=0), "max({0}, default=0)",
              "the largest element of {0} (0 if {0} is empty)"),
    Operation("minimum", (INTS,), INT, lambda a: min(a, default=0), "min({0}, default=0)",
              "the smallest element of {0} (0 if {0} is empty)"),
    Operation("spread", (INTS,), NAT, lambda a: sorted(a)[-1] - sorted(a)[0] if a else 0,
              "max({0}, default=0) - min({0}, default=0)",
              "the largest element of {0} minus the smallest element of {0} (0 if {0} is empty)"),
    Operation("median", (INTS,), INT, _left_median,
              "sorted({0})[(len({0}) - 1) // 2] if {0} else 0",
              "the median of {0} (the middle element of the sorted list; the left one of the two "
              "middle elements if the number of elements is even; 0 if {0} is empty)", level=2),
    Operation("alternating_sum", (INTS,), INT,
              lambda a: sum(x if i % 2 == 0 else -x for i, x in enumerate(a)),
              "sum({0}[::2]) - sum({0}[1::2])",
              "the first element of {0} minus the second plus the third minus the fourth, and so "
              "on (0 if {0} is empty)", level=2),
    Operation("running_totals", (INTS,), INTS, _running_totals, "list(accumulate({0}))",
              "the list of the running totals of {0} (at position i stands the sum of the elements "
              "of {0} up to and including position i)", level=2, imports=("accumulate",)),
    Operation("running_maximum", (INTS,), INTS, lambda a: _running(a, "max"),
              "list(accumulate({0}, max))",
              "the list of the running maxima of {0} (at position i stands the largest element of "
              "{0} up to and including position i)", level=2, imports=("accumulate",)),
    Operation("running_minimum", (INTS,), INTS, lambda a: _running(a, "min"),
              "list(accumulate({0}, min))",
              "the list of the running minima of {0} (at position i stands the smallest element of "
              "{0} up to and including position i)", level=2, imports=("accumulate",)),
    Operation("differences", (INTS,), INTS,
              lambda a: [a[i + 1] - a[i] for i in range(len(a) - 1)],
              "[right - left for left, right in zip({0}, {0}[1:])]",
              "the list of the differences between neighbours in {0} (every element except the "
              "first minus the element before it; the empty list if {0} has fewer than two "
              "elements)", level=2),
    Operation("neighbour_sums", (INTS,), INTS,
              lambda a: [a[i + 1] + a[i] for i in range(len(a) - 1)],
              "[left + right for left, right in zip({0}, {0}[1:])]",
              "the list of the sums of neighbours in {0} (every element except the first plus the "
              "element before it; the empty list if {0} has fewer than two elements)", level=2),
    *(
        Operation(f"block_sums_{size}", (INTS,), INTS,
                  lambda a, size=size: _block_sums(a, size),
                  f"[sum({{0}}[i:i + {size}]) for i in range(0, len({{0}}), {size})]",
                  f"the list of the sums of the consecutive blocks of {size} elements of {{0}} "
                  "(the last block is shorter if the elements run out)", level=3)
        for size in (2, 3)
    ),
    Operation("ranks", (INTS,), INTS, lambda a: [sum(y < x for y in a) for x in a],
              "[sum(1 for y in {0} if y < x) for x in {0}]",
              "the list that holds, for every element of {0}, how many elements of {0} are smaller "
              "than it", level=3),
    Operation("peaks", (INTS,), INTS, _peaks,
              "[y for x, y, z in zip({0}, {0}[1:], {0}[2:]) if x < y > z]",
              "the list of the elements of {0} that are greater than the element before and "
              "greater than the element after them, in their original order (the first and the "
              "last element never count)", level=3),
    Operation("descents", (INTS,), NAT,
              lambda a: sum(a[i] > a[i + 1] for i in range(len(a) - 1)),
              "sum(1 for left, right in zip({0}, {0}[1:]) if left > right)",
              "the number of elements of {0} that are immediately followed by a smaller element",
              level=3),
    Operation("inversions", (INTS,), NAT,
              lambda a: sum(x > y for i, x in enumerate(a) for y in a[i + 1:]),
              "sum(1 for i, x in enumerate({0}) for y in {0}[i + 1:] if x > y)",
              "the number of pairs of elements of {0} of which the one that comes earlier is the "
              "greater one", level=4),
    Operation("best_slice", (INTS,), NAT, _best_slice, "best_slice({0})",
              "the largest sum of a block of neighbouring elements of {0} (the block may be empty, "
              "which gives 0)", level=4, helper=_BEST_SLICE),
    Operation("longest_climb", (INTS,), NAT, _longest_climb, "longest_climb({0})",
              "the length of the longest block of neighbouring elements of {0} in which every "
              "element is greater than the one before it (1 if no two neighbours climb, 0 if {0} "
              "is empty)", level=4, helper=_LONGEST_CLIMB),
    Operation("position_of_largest", (INTS,), INT,
              lambda a: max(range(len(a)), key=lambda i: (a[i], -i), default=-1),
              "{0}.index(max({0})) if {0} else -1",
              "the position (counting from 0) of the first occurrence of the largest element of "
              "{0} (-1 if {0} is empty)", level=2),
    Operation("is_sorted", (INTS,), BOOL,
              lambda a: all(a[i] <= a[i + 1] for i in range(len(a) - 1)),
              "{0} == sorted({0})",
              "`True` if no element of {0} is immediately followed by a smaller one, and `False` "
              "otherwise", level=3),
    Operation("pick_positions", (INTS, INTS), INTS,
              lambda a, b: [a[i] for i in b if 0 <= i < len(a)],
              "[{0}[i] for i in {1} if 0 <= i < len({0})]",
              "the list of the elements of {0} at the positions listed in {1} (counting from 0, in "
              "the order of {1}; numbers that are not positions of {0} are skipped)", level=3),
    Operation("join_numbers", (INTS,), STR, lambda a: ",".join(map(str, a)),
              '",".join(str(x) for x in {0})',
              "the string of the elements of {0} in decimal, separated by single commas without "
              "spaces (the empty string if {0} is empty)", level=2),
    *map(_zip_with, _ZIPPED),
]

_SCALARS = [
    Operation("scalar_add", (INT, INT), INT, lambda m, n: m + n, "{0} + {1}", "{0} + {1}"),
    Operation("scalar_subtract", (INT, INT), INT, lambda m, n: m - n, "{0} - {1}", "{0} - {1}"),
    Operation("scalar_multiply", (INT, INT), INT, lambda m, n: m * n, "{0} * {1}", "{0} times {1}"),
    Operation("scalar_larger", (INT, INT), INT, lambda m, n: m if m > n else n,
              "max({0}, {1})", "the larger of {0} and {1}"),
    Operation("scalar_smaller", (INT, INT), INT, lambda m, n: m if m < n else n,
              "min({0}, {1})", "the smaller of {0} and {1}"),
    Operation("scalar_distance", (INT, INT), NAT, lambda m, n: m - n if m > n else n - m,
              "abs({0} - {1})", "the absolute difference between {0} and {1}"),
    Operation("scalar_less", (INT, INT), BOOL, lambda m, n: m < n, "{0} < {1}",
              "`True` if {0} is less than {1}, and `False` otherwise"),
    Operation("scalar_apply", (INT,), INT, lambda f, n: f(n), "{f}", "{f}", (INT, INT), level=2),
    Operation("count_up", (NAT,), INTS, lambda n: list(range(1, 21))[:n],
              "list(range(1, min({0}, 20) + 1))",
              "the list of the integers from 1 to {0}, both included (the empty list if {0} is 0; "
              "the list ends at 20 if {0} is greater)", level=2),
    Operation("digits", (INT,), INTS, _digits, "[int(digit) for digit in str(abs({0}))]",
              "the list of the decimal digits of {0} from left to right, ignoring its sign (the "
              "list [0] if {0} is 0)", level=2),
]

NUMBER_OPERATIONS: list[Operation] = [*_LISTS, *_SCALARS]
"""All operations of this module, in a fixed order that task ids depend on."""
