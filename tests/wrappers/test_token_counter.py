import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget_envs.errors import DependencyNotInstalled, OptionError
from budget_envs.wrappers import InteractionBudget
from budget_envs.wrappers.token_counter import TokenizerCounter, token_counter


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("characters", "", 0),
        ("characters", "a\n\U0001f600", 3),
        ("words", "", 0),
        ("words", "  one two\tthree\n", 3),
        ("bytes", "\U0001f600", 4),
        ("bytes", "\ud800", 3),
    ],
)
def test_known_counts(name, text, count):
    assert token_counter(name)(text) == count


@given(st.text(), st.text())
@pytest.mark.parametrize("name", ["characters", "words", "bytes"])
def test_counts_are_never_negative_and_grow_with_the_text(name, first, second):
    count = token_counter(name)
    assert 0 <= count(first) <= count(first + second)


@pytest.mark.parametrize("name", ["characters", "words", "bytes"])
def test_named_counters_pickle(name):
    assert pickle.loads(pickle.dumps(token_counter(name)))("a b") == token_counter(name)("a b")


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'characters'"):
        token_counter("chars")


@pytest.mark.parametrize("bad", [None, 3, len])
def test_what_is_no_text_is_refused(bad):
    with pytest.raises(OptionError, match="name or a path"):
        token_counter(bad)


def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch):
    import sys

    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(DependencyNotInstalled, match=r"budget-envs\[agents\]"):
        token_counter(str(path))


@pytest.fixture
def tokenizer_file(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="the extra 'agents' is not installed")
    vocabulary = {"[UNK]": 0, "go": 1, "left": 2}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    path = str(tmp_path / "tokenizer.json")
    tokenizer.save(path)
    return path


def test_a_tokenizer_file_counts_its_own_tokens(tokenizer_file, corridor):
    env = InteractionBudget(corridor(), budget={"tokens": 9}, token_counter=tokenizer_file)
    env.reset(seed=0)
    report = env.step("go left, go")[-1]["budget"]["tokens"]
    assert (report["used"], report["counter"]) == (4, tokenizer_file)


def test_a_tokenizer_counts_text_that_utf8_cannot_hold_and_pickles(tokenizer_file):
    counter = pickle.loads(pickle.dumps(TokenizerCounter(tokenizer_file)))
    assert counter("go \ud800") == 2


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    pytest.importorskip("tokenizers", reason="the extra 'agents' is not installed")
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(OptionError, match="cannot be read as a tokenizer"):
        token_counter(str(path))
