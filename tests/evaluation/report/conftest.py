import importlib.util
from pathlib import Path

import pytest

from budget_envs.evaluation.report import summarize
from budget_envs.evaluation.store import Store

_SPEC = importlib.util.spec_from_file_location(
    "golden_report", Path(__file__).with_name("golden_report.py")
)
_GOLDEN = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_GOLDEN)


@pytest.fixture(scope="session")
def cases():
    """Makers of runs and episodes, and the fixed database."""
    return _GOLDEN


@pytest.fixture
def store():
    with Store.in_memory() as opened:
        yield opened


@pytest.fixture(scope="session")
def fixed():
    """The fixed database and its summary; nobody changes them."""
    with _GOLDEN.fixed_store() as opened:
        yield opened, summarize(opened, num_resamples=200)
