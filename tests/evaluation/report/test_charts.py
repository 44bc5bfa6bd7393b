import re

import pytest

from budget_envs.evaluation.report import charts, summarize


def numbers(path):
    return [float(x) for x in re.findall(r"-?\d+\.?\d*", path)]


def points(path):
    flat = numbers(path)
    return list(zip(flat[::2], flat[1::2], strict=True))


@pytest.fixture
def drawn(cases, store):
    """Draw the chart at K = 1 of one run."""

    def draw(outcome, **changes):
        cases.add(store, cases.make_run(**changes), outcome, bounds=changes.pop("bounds", None))
        (comparison,) = summarize(store, num_resamples=20).comparisons
        return comparison, charts.curves(comparison)[0]

    return draw


def test_there_is_a_chart_for_every_k(fixed):
    for comparison in fixed[1].comparisons:
        assert [chart.k for chart in charts.curves(comparison)] == list(comparison.ks)


def test_certain_success_is_at_the_top_and_certain_failure_at_the_bottom(drawn):
    _, chart = drawn(lambda place, budget, _: 1 if budget == 4 else None)
    ys = [y for _, y in points(chart.curves[0].line)]
    assert ys == [charts.BOTTOM, charts.BOTTOM, charts.TOP]


def test_budgets_are_drawn_to_scale(drawn):
    _, chart = drawn(lambda *_: 1)
    one, two, four = (x for x, _ in points(chart.curves[0].line))
    assert four - two == pytest.approx(2 * (two - one), abs=0.2)


def test_everything_is_inside_the_frame(fixed):
    for comparison in fixed[1].comparisons:
        for chart in charts.curves(comparison):
            for path in [chart.bound, *(p for c in chart.curves for p in (c.line, c.band))]:
                for x, y in points(path):
                    assert charts.LEFT <= x <= charts.RIGHT
                    assert charts.TOP <= y <= charts.BOTTOM


def test_the_band_encloses_the_line(fixed):
    for comparison in fixed[1].comparisons:
        for curve in (curve for chart in charts.curves(comparison) for curve in chart.curves):
            line = points(curve.line)
            band = points(curve.band)
            upper, lower = band[: len(line)], band[len(line) :][::-1]
            for (x, y), (above, high), (below, low) in zip(line, upper, lower, strict=True):
                assert x == above == below
                assert high <= y <= low


def test_the_bound_is_drawn_at_its_height(fixed):
    comparison = fixed[1].comparisons[0]
    chart = charts.curves(comparison)[0]
    shares = [(charts.BOTTOM - y) / (charts.BOTTOM - charts.TOP) for _, y in points(chart.bound)]
    expected = [comparison.pass_bounds[1, budget] for budget in comparison.budgets]
    assert shares == pytest.approx(expected, abs=1e-3)


def test_without_a_bound_none_is_drawn(drawn):
    assert drawn(lambda *_: 1)[1].bound == ""


def test_a_single_budget_has_a_marker_and_a_whisker_in_the_middle(drawn):
    _, chart = drawn(lambda place, *_: 1 if place else None, budgets=(4,))
    (curve,) = chart.curves
    assert len(curve.markers) == 1
    assert curve.band == ""
    xs = {x for x, _ in points(curve.whiskers)}
    assert xs == {(charts.LEFT + charts.RIGHT) / 2}


def test_a_curve_without_values_is_empty(drawn):
    _, chart = drawn(lambda *_: "missing")
    (curve,) = chart.curves
    assert (curve.line, curve.band, curve.markers) == ("", "", ())


def test_a_curve_has_a_gap_where_it_has_no_value(drawn):
    _, chart = drawn(lambda place, budget, _: "void" if budget == 2 else 1)
    assert chart.curves[0].line.count("M") == 2
    assert len(chart.curves[0].markers) == 2


def test_many_budgets_have_no_markers_and_few_labels(drawn):
    _, chart = drawn(lambda *_: 1, budgets=tuple(range(1, 101)), protocol="truncate")
    assert chart.curves[0].markers == ()
    assert 2 <= len(chart.x_ticks) <= 12
    assert chart.x_ticks[-1].label == "100"


@pytest.mark.parametrize("budgets", [(1, 2, 3, 1000), (998, 999, 1000), tuple(range(1, 41))])
def test_labels_of_the_axis_do_not_overlap(drawn, budgets):
    _, chart = drawn(lambda *_: "missing", budgets=budgets, num_rollouts=1, k=1)
    for left, right in zip(chart.x_ticks, chart.x_ticks[1:], strict=False):
        assert right.place - left.place >= 7 * (len(left.label) + len(right.label)) / 2


def test_markers_say_their_numbers(fixed):
    title = charts.curves(fixed[1].comparisons[0])[0].curves[0].markers[-1].title
    assert title == "alpha, K = 1, T = 4: 100.0 % [100.0, 100.0], 3 tasks, 12 episodes"


def test_the_chart_is_also_said_in_words(fixed):
    chart = charts.curves(fixed[1].comparisons[0])[0]
    assert chart.summary.startswith("Pass@(1,T) over T, protocol rerun. alpha: 25.0 % at T = 1,")


def test_runs_have_their_own_style_and_start_anew_after_the_last(cases, store):
    for number in range(charts.NUM_STYLES + 1):
        cases.add(store, cases.make_run(f"p{number}"), lambda *_: "missing")
    (comparison,) = summarize(store, num_resamples=5).comparisons
    styles = [curve.style for curve in charts.curves(comparison)[0].curves]
    assert styles == [*range(charts.NUM_STYLES), 0]


def test_every_style_has_its_own_shape():
    shapes = {charts.marker(style, 0, 0) for style in range(charts.NUM_STYLES)}
    assert len(shapes) == charts.NUM_STYLES
