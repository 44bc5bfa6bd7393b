import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget_envs.envs.frozen_lake import maps, vector_maps
from budget_envs.envs.frozen_lake.maps import MapSource
from budget_envs.envs.frozen_lake.vector_maps import draw_lakes
from budget_envs.errors import OptionError

SOURCES = st.sampled_from(
    [
        {},
        {"sizes": (2,), "frozen_share": 0.3},
        {"sizes": (2, 3, 4, 5, 6)},
        {"placement": "corners", "frozen_share": 0.6},
        {"split": "validation"},
        {"horizon": 3, "infeasible_share": 0.0},
        {"horizon": 3, "infeasible_share": 0.5, "sizes": (4, 5)},
        {"horizon": 2, "infeasible_share": 1.0, "split": "train"},
    ]
)


def source_of(**settings):
    return MapSource(**{"sizes": (4,), "frozen_share": 0.8, "placement": "random", **settings})


@settings(max_examples=40)
@given(SOURCES, st.lists(st.integers(0, 2**64 - 1), max_size=12))
def test_lakes_drawn_together_are_those_drawn_one_by_one(keywords, keys):
    source = source_of(**keywords)
    together = draw_lakes(source, np.array(keys, dtype=np.uint64))
    assert [lake.id for lake in together] == [source.draw(key).id for key in keys]


def test_shortest_paths_come_with_the_lakes():
    for lake in draw_lakes(source_of(), np.arange(50, dtype=np.uint64)):
        assert lake.min_turns == type(lake)(lake.tiles, lake.ncol, lake.start).min_turns > 0


@pytest.mark.parametrize("keywords", [{"horizon": 1, "infeasible_share": 1.0}, {"split": "test"}])
def test_settings_without_maps_are_refused_as_one_by_one(monkeypatch, keywords):
    source = source_of(sizes=(2,), frozen_share=1e-9, placement="corners", **keywords)
    for module in (maps, vector_maps):
        monkeypatch.setattr(module, "MAX_DRAWS", 30)
    with pytest.raises(OptionError) as expected:
        source.draw(5)
    with pytest.raises(OptionError) as found:
        draw_lakes(source, np.array([5, 6], dtype=np.uint64))
    assert str(found.value) == str(expected.value)
