"""Geometry of the curves over T; the page's template draws it as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from budget_envs.evaluation.report.model import Cell, Comparison, RunReport
from budget_envs.evaluation.report.text import interval, percent

__all__ = ["HEIGHT", "NUM_STYLES", "WIDTH", "Chart", "Curve", "Marker", "Tick", "curves"]

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 450, 12, 252  # the plotting area, in the same units
NUM_STYLES: Final = 8  # colours; the shapes of the markers tell them apart as well
_MAX_TICKS: Final = 12
_MAX_MARKERS: Final = 20

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of an axis: where it is, and its label."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Marker:
    """A measured point; ``title`` says its numbers.

    Attributes:
        path: Outline of the marker's shape.
        title: What is shown where the pointer rests on it.
    """

    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Curve:
    """One run's curve.

    Attributes:
        label: The run.
        style: Number of its colour and shape, below `NUM_STYLES`.
        line: Path through the points, with gaps where there is no value.
        band: Path around the intervals.
        whiskers: Path of the intervals as vertical strokes, where there is no line between points.
        markers: The points.
    """

    label: str
    style: int
    line: str
    band: str
    whiskers: str
    markers: tuple[Marker, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Pass@(K,T) over T at one K.

    Attributes:
        k: The K.
        x_ticks: Budgets.
        y_ticks: Shares in percent.
        curves: One for each run.
        bound: Path of the bound for K attempts; empty without one.
        summary: The chart in words.
    """

    k: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]
    bound: str
    summary: str


def curves(comparison: Comparison) -> list[Chart]:
    """Return one chart for every K."""
    return [_chart(comparison, k) for k in comparison.ks]


def marker(style: int, x: float, y: float) -> str:
    """Return the outline of a run's marker around a point."""
    steps = _SHAPES[style % len(_SHAPES)]
    return f"M{_at(x, y)} {steps}Z"


def _chart(comparison: Comparison, k: int) -> Chart:
    axis = _Axis.over(comparison.budgets)
    bounds = [
        (axis.x(T), _y(comparison.pass_bounds[k, T]))
        for T in comparison.budgets
        if (k, T) in comparison.pass_bounds
    ]
    if len(bounds) == 1:  # a stroke where there is only one budget
        bounds = [(bounds[0][0] - 24, bounds[0][1]), (bounds[0][0] + 24, bounds[0][1])]
    drawn = tuple(
        _curve(axis, report, k, style % NUM_STYLES) for style, report in enumerate(comparison.runs)
    )
    return Chart(
        k=k,
        x_ticks=axis.ticks(),
        y_ticks=tuple(Tick(_y(share / 4), f"{25 * share}") for share in range(5)),
        curves=drawn,
        bound=_path(bounds),
        summary=_summary(comparison, k),
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Turn budgets on the horizontal axis, to scale."""

    budgets: tuple[int, ...]
    low: float
    high: float

    @classmethod
    def over(cls, budgets: tuple[int, ...]) -> _Axis:
        spare = 0.5 if len(budgets) == 1 else 0.0
        return cls(budgets, budgets[0] - spare, budgets[-1] + spare)

    def x(self, budget: int) -> float:
        inset = 14  # keeps markers off the frame
        share = (budget - self.low) / (self.high - self.low)
        return LEFT + inset + share * (RIGHT - LEFT - 2 * inset)

    def ticks(self) -> tuple[Tick, ...]:
        """Label every budget, or evenly many where they would crowd."""
        step = math.ceil(len(self.budgets) / _MAX_TICKS)
        chosen = self.budgets[::-1][::step][::-1]  # the largest always
        kept: list[Tick] = []
        for budget in reversed(chosen):
            place = self.x(budget)
            if not kept or kept[-1].place - place >= 8 + 7 * len(str(budget)):
                kept.append(Tick(round(place, 1), str(budget)))
        return tuple(reversed(kept))


def _curve(axis: _Axis, report: RunReport, k: int, style: int) -> Curve:
    cells = [report.cells[k, T] for T in report.run.budgets] if k in report.ks else []
    known = [cell for cell in cells if not math.isnan(cell.rate)]
    pieces = _pieces(cells)
    is_marked = len(known) <= _MAX_MARKERS
    return Curve(
        label=report.label,
        style=style,
        line=" ".join(_path([(axis.x(c.budget), _y(c.rate)) for c in piece]) for piece in pieces),
        band=" ".join(_band(axis, piece) for piece in pieces),
        whiskers=" ".join(_whisker(axis, piece[0]) for piece in pieces if len(piece) == 1),
        markers=tuple(
            Marker(marker(style, axis.x(cell.budget), _y(cell.rate)), _title(report, cell))
            for cell in (known if is_marked else ())
        ),
    )


def _pieces(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Split a curve where it has no value."""
    runs = groupby(cells, key=lambda cell: math.isnan(cell.rate))
    return [list(piece) for is_gap, piece in runs if not is_gap]


def _band(axis: _Axis, cells: Sequence[Cell]) -> str:
    if len(cells) < 2:
        return ""
    upper = [(axis.x(cell.budget), _y(cell.high)) for cell in cells]
    lower = [(axis.x(cell.budget), _y(cell.low)) for cell in reversed(cells)]
    return f"{_path([*upper, *lower])}Z"


def _whisker(axis: _Axis, cell: Cell) -> str:
    x = axis.x(cell.budget)
    return _path([(x, _y(cell.low)), (x, _y(cell.high))])


def _title(report: RunReport, cell: Cell) -> str:
    return (
        f"{report.label}, K = {cell.k}, T = {cell.budget}: {percent(cell.rate)} % "
        f"{interval(cell.low, cell.high)}, {cell.num_tasks} tasks, {cell.num_episodes} episodes"
    )


def _summary(comparison: Comparison, k: int) -> str:
    """Say the chart in words: every curve from its first value to its last."""
    sentences = []
    for report in comparison.runs:
        first, last = (report.cells.get((k, report.run.budgets[end])) for end in (0, -1))
        if first and last:
            sentences.append(
                f"{report.label}: {percent(first.rate)} % at T = {first.budget}, "
                f"{percent(last.rate)} % at T = {last.budget}"
            )
    return f"Pass@({k},T) over T, protocol {comparison.protocol}. {'; '.join(sentences)}."


def _y(share: float) -> float:
    return BOTTOM - share * (BOTTOM - TOP)


def _path(points: Iterable[Point]) -> str:
    text = " L".join(_at(x, y) for x, y in points)
    return f"M{text}" if text else ""


def _at(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}"


_SHAPES: Final = (
    "m-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0",  # circle
    "m-3.6,-3.6 h7.2 v7.2 h-7.2",  # square
    "m0,-5 l4.7,8 h-9.4",  # triangle
    "m0,-5 l5,5 l-5,5 l-5,-5",  # diamond
    "m0,5 l4.7,-8 h-9.4",  # triangle pointing down
    "m-1.6,-5 h3.2 v3.4 h3.4 v3.2 h-3.4 v3.4 h-3.2 v-3.4 h-3.4 v-3.2 h3.4",  # plus
    "m0,-5 l4.8,3.5 l-1.8,5.6 h-6 l-1.8,-5.6",  # pentagon
    "m-2.5,-4.3 h5 l2.5,4.3 l-2.5,4.3 h-5 l-2.5,-4.3",  # hexagon
)
