import pytest

from budget_envs.agents.trainers.files import new_folder, write_atomically


def test_a_file_is_replaced_as_a_whole(tmp_path):
    file = tmp_path / "a.txt"
    for content in (b"one", b"two"):
        write_atomically(file, content)
        assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_is_there_when_it_is_full(tmp_path):
    target = tmp_path / "deep" / "folder"
    with new_folder(target) as draft:
        (draft / "inner").mkdir()
        (draft / "inner" / "file").write_text("x")
        assert not target.exists()
    assert (target / "inner" / "file").read_text() == "x"
    assert [path.name for path in target.parent.iterdir()] == ["folder"]


def test_an_interrupted_folder_is_none_and_the_old_one_stays(tmp_path):
    target = tmp_path / "folder"
    with new_folder(target) as draft:
        (draft / "file").write_text("old")

    class Stopped(BaseException):
        pass

    def write_half():
        with new_folder(target) as draft:
            (draft / "file").write_text("half")
            raise Stopped

    with pytest.raises(Stopped):
        write_half()
    assert (target / "file").read_text() == "old"
    with new_folder(target) as draft:
        assert not list(draft.iterdir())  # what was left is gone
        (draft / "file").write_text("new")
    assert (target / "file").read_text() == "new"
