import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from budget_envs.agents.models.drawing import Drawn, RowSampling, draw  # noqa: E402
from budget_envs.agents.models.sampling import Sampling  # noqa: E402
from budget_envs.errors import DataError  # noqa: E402
from budget_envs.streams import uniforms  # noqa: E402

LOGITS = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=12)
TEMPERATURES = st.sampled_from([0.3, 1.0, 2.5])
TOP_P = st.sampled_from([0.1, 0.5, 0.9, 1.0])
UNIFORMS = st.floats(0, 1, exclude_max=True)


def draw_rows(logits: list[list[float]], sampling: list[Sampling], u: list[float]) -> Drawn:
    rows = RowSampling(sampling, torch.device("cpu"))
    return draw(torch.tensor(logits), rows, np.array(u, np.float64))


def probabilities(logits: list[float], temperature: float) -> np.ndarray:
    scores = np.array(logits, np.float64) / temperature
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def nucleus(p: np.ndarray, top_p: float) -> np.ndarray:
    """Which tokens may be drawn, by the definition: whoever is as likely as the last needed one."""
    order = np.argsort(-p, kind="stable")
    needed = int(np.searchsorted(np.cumsum(p[order]), top_p * (1 - 1e-6))) + 1
    return p >= p[order[min(needed, len(p)) - 1]]


@given(LOGITS, TEMPERATURES, UNIFORMS)
def test_the_drawn_token_is_where_the_cumulative_distribution_passes_u(logits, temperature, u):
    token = int(draw_rows([logits], [Sampling(temperature)], [u]).tokens[0])
    p = probabilities(logits, temperature)
    below, above = p[:token].sum(), p[: token + 1].sum()
    assert below - 1e-5 <= u <= above + 1e-5
    assert p[token] > 0


@given(LOGITS, TEMPERATURES, TOP_P, UNIFORMS)
def test_nothing_outside_the_nucleus_is_drawn(logits, temperature, top_p, u):
    token = int(draw_rows([logits], [Sampling(temperature, top_p)], [u]).tokens[0])
    p = probabilities(logits, temperature)
    allowed = nucleus(p, top_p)
    assert allowed[token] or p[token] > p[allowed].min() - 1e-5  # ties, up to rounding


@given(LOGITS, TEMPERATURES, TOP_P, UNIFORMS)
def test_within_the_nucleus_probabilities_keep_their_proportions(logits, temperature, top_p, u):
    p = probabilities(logits, temperature)
    allowed = nucleus(p, top_p)
    summed, least = np.cumsum(np.sort(p)[::-1]), p[allowed].min()
    assume(np.abs(summed - top_p).min() > 1e-4)  # else rounding decides who belongs
    assume(np.abs(p[p != least] - least).min(initial=1) > 1e-4)
    token = int(draw_rows([logits], [Sampling(temperature, top_p)], [u]).tokens[0])
    kept = np.where(allowed, p, 0) / p[allowed].sum()
    assert kept[:token].sum() - 1e-4 <= u <= kept[: token + 1].sum() + 1e-4


@given(LOGITS, TEMPERATURES, TOP_P, UNIFORMS)
def test_logprobs_are_at_the_sampling_temperature_and_at_one(logits, temperature, top_p, u):
    drawn = draw_rows([logits], [Sampling(temperature, top_p)], [u])
    token = int(drawn.tokens[0])
    assert float(drawn.logprobs[0]) == pytest.approx(
        math.log(probabilities(logits, temperature)[token]), abs=1e-4
    )
    assert float(drawn.model_logprobs[0]) == pytest.approx(
        math.log(probabilities(logits, 1)[token]), abs=1e-4
    )


@given(LOGITS, UNIFORMS)
def test_temperature_zero_takes_the_first_of_the_most_likely(logits, u):
    drawn = draw_rows([logits], [Sampling(0.0)], [u])
    assert int(drawn.tokens[0]) == int(np.argmax(np.array(logits, np.float32)))
    assert torch.equal(drawn.logprobs, drawn.model_logprobs)


def test_a_temperature_close_to_zero_is_as_good_as_zero():
    drawn = draw_rows([[60.0, -30.0, 80.0]], [Sampling(1e-30)], [0.999])
    assert drawn.tokens.tolist() == [2]
    assert drawn.logprobs.tolist() == [0.0]


@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(-9, 9, width=32), min_size=5, max_size=5),
            TEMPERATURES,
            TOP_P,
            UNIFORMS,
        ),
        min_size=2,
        max_size=6,
    )
)
def test_rows_do_not_influence_one_another(rows):
    def draws(chosen):
        return draw_rows(
            [row[0] for row in chosen],
            [Sampling(row[1], row[2]) for row in chosen],
            [row[3] for row in chosen],
        ).tokens.tolist()

    assert draws(rows) == [draws([row])[0] for row in rows]


def test_frequencies_are_those_of_the_distribution():
    logits, n = [2.0, 1.0, 0.0, -1.0, -30.0], 20_000
    u = uniforms(np.full(n, 7, np.uint64), np.arange(n, dtype=np.uint64))
    tokens = draw_rows([logits] * n, [Sampling()] * n, u.tolist()).tokens.numpy()
    counts = np.bincount(tokens, minlength=5)
    p = probabilities(logits, 1)
    assert counts[4] == 0
    assert np.abs(counts / n - p).max() < 4 * math.sqrt(0.25 / n)


def test_a_nucleus_larger_than_the_partial_sort_is_found_too():
    logits = [0.0] * 1000 + [-50.0] * 1000  # equally likely: any top_p keeps all of the first half
    tokens = draw_rows([logits] * 3, [Sampling(1.0, 0.9)] * 3, [0.0, 0.5, 1 - 1e-12]).tokens
    assert tokens.tolist() == [0, 500, 999]


def test_the_largest_number_below_one_draws_no_impossible_token():
    largest = float(np.nextafter(1.0, 0.0))
    logits = [[3.0, 1.0, -math.inf, -math.inf]]
    assert draw_rows(logits, [Sampling()], [largest]).tokens.tolist() == [1]
    assert draw_rows([[-math.inf, 2.0, 1.0]], [Sampling()], [0.0]).tokens.tolist() == [1]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_refused(bad):
    with pytest.raises(DataError, match="not finite"):
        draw_rows([[0.0, 1.0], [bad, 0.0]], [Sampling(), Sampling()], [0.5, 0.5])


def test_settings_can_be_selected_by_row():
    rows = RowSampling([Sampling(0.0), Sampling(2.0, 0.5), Sampling()], torch.device("cpu"))
    chosen = rows.select(torch.tensor([2, 1]))
    assert chosen.temperature.tolist() == [1.0, 2.0]
    assert not chosen.any_greedy
    assert chosen.any_nucleus
    assert not rows.select(torch.tensor([2])).any_nucleus


@pytest.mark.parametrize(("top_p", "last"), [(0.3, 1), (0.47, 1), (0.49, 2), (0.77, 2), (0.79, 3)])
def test_the_nucleus_ends_with_the_token_that_reaches_top_p(top_p, last):
    logits = [math.log(share) for share in (0.07, 0.48, 0.30, 0.15)]
    tokens = draw_rows(
        [logits] * 50, [Sampling(1.0, top_p)] * 50, [i / 50 for i in range(50)]
    ).tokens.tolist()
    assert set(tokens) == set(range(1, last + 1))
