import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from budget_envs.agents.models.slot_cache import Chunk, SlotCache  # noqa: E402

CPU = torch.device("cpu")
NAMES = [f"c{index}" for index in range(20)]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("use"), st.lists(st.sampled_from(NAMES), unique=True, min_size=1)),
        st.tuples(st.just("swap"), st.tuples(st.integers(0, 19), st.integers(0, 19))),
        st.tuples(st.just("drop"), st.sampled_from(NAMES)),
        st.tuples(st.just("reserve"), st.integers(1, 700)),
    ),
    max_size=25,
)


class Play:
    """A cache, and beside it what it should hold: for each conversation its numbers in order."""

    def __init__(self) -> None:
        self.cache = SlotCache()
        like = torch.zeros(1, 2, 1, 3), torch.zeros(1, 1, 1, 5)
        self.cache.layer(1, like)
        self.held: dict[str, list[float]] = {}
        self.next = 0.0

    def use(self, names: list[str]) -> None:
        self.cache.arrange(names)
        for row, name in enumerate(names):
            length = self.cache.lengths[name]
            self.next += 1
            for tensor in (*self.cache.keys, *self.cache.values):
                tensor[row, :, length] = self.next
            self.cache.lengths[name] += 1
            self.held.setdefault(name, []).append(self.next)

    def check(self) -> None:
        assert self.cache.lengths == {name: len(held) for name, held in self.held.items()}
        assert sorted(self.cache.rows.values()) == list(range(len(self.held)))
        for name, held in self.held.items():
            for tensor in (*self.cache.keys, *self.cache.values):
                cells = tensor[self.cache.rows[name], :, : len(held)]
                assert (cells == torch.tensor(held)[:, None]).all()
                assert tensor.shape[2] > self.cache.spare_cell >= len(held)


@given(STEPS)
def test_every_conversation_keeps_what_it_wrote(steps):
    play = Play()
    for kind, value in steps:
        if kind == "use":
            play.use(value)
        elif kind == "swap" and max(value) < len(play.held):
            play.cache.swap(*value)
        elif kind == "drop":
            play.cache.drop(value)
            play.held.pop(value, None)
        elif kind == "reserve":
            play.cache.reserve(value)
        play.check()


def test_arranging_gives_the_first_rows_in_order():
    play = Play()
    play.use(["c0", "c1", "c2", "c3"])
    play.cache.arrange(["c3", "c9", "c1"])
    assert [play.cache.rows[name] for name in ("c3", "c9", "c1")] == [0, 1, 2]


def test_a_copied_row_holds_the_same():
    play = Play()
    play.use(["c0", "c1"])
    play.use(["c1"])
    play.cache.arrange(["c0", "c1", "c2"])
    play.cache.copy(1, 2)
    play.held["c2"] = play.held["c1"]
    play.check()


def test_a_ragged_chunk_says_where_its_tokens_are():
    chunk = Chunk.of([[7, 8, 9], [5]], [0, 4], 2, CPU)
    assert chunk.ids.tolist() == [[7, 8, 9], [0, 0, 5]]
    assert chunk.positions.tolist() == [[0, 1, 2], [0, 0, 4]]
    assert chunk.is_token.tolist() == [[True] * 3, [False, False, True]]
    assert (chunk.num_rows, chunk.first_row, chunk.visible) == (2, 2, 5)


def test_a_token_attends_to_itself_and_what_came_before():
    bias = Chunk.of([[7, 8], [5, 6]], [1, 0], 0, CPU).bias(torch.float32)
    assert bias.shape == (2, 1, 2, 3)
    assert set(bias.unique().tolist()) == {0.0, torch.finfo(torch.float32).min}
    mask = bias == 0
    assert mask[0, 0].tolist() == [[True, True, False], [True, True, True]]
    assert mask[1, 0].tolist() == [[True, False, False], [True, True, False]]


def test_a_chunk_without_padding_says_so():
    assert Chunk.of([[7, 8], [5, 6]], [1, 0], 0, CPU).is_token is None


def test_a_chunk_is_fresh_if_nothing_came_before():
    assert Chunk.of([[7, 8], [5]], [0, 0], 0, CPU).is_fresh
    assert not Chunk.of([[7, 8], [5]], [0, 1], 0, CPU).is_fresh
