import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import textwrap

import pytest

from budget_envs.errors import DataError
from budget_envs.evaluation import database
from budget_envs.evaluation.database import APPLICATION_ID, SCHEMA_VERSION, connect, explained

SCHEMA = "CREATE TABLE facts (fact TEXT); CREATE TABLE more (fact TEXT)"


def open_(path, *, create=False, timeout_s=0.05):
    return connect(str(path), SCHEMA, create=create, timeout_s=timeout_s)


@pytest.fixture
def filled(tmp_path):
    """A closed database of 200 rows, in one file."""
    path = tmp_path / "results.db"
    connection = open_(path, create=True)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO facts VALUES (?)", [("x" * 500,)] * 200)
    connection.execute("COMMIT")
    connection.close()
    return path


def count(path):
    connection = open_(path)
    found = connection.execute("SELECT count(*) FROM facts").fetchone()[0]
    connection.close()
    return found


def test_what_was_written_is_there_after_reopening(filled):
    assert count(filled) == 200


def test_a_closed_database_is_one_file(filled):
    assert os.listdir(filled.parent) == [filled.name]


def test_the_file_says_whose_it_is_and_of_which_version(filled):
    connection = sqlite3.connect(filled)
    assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
    connection.close()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.db' does not exist"):
        open_(tmp_path / "nowhere.db")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match="folder does not exist"):
        open_(tmp_path / "no" / "results.db", create=True)


def test_a_folder_is_no_database(tmp_path):
    with pytest.raises(DataError, match="expected a file, got a folder"):
        open_(tmp_path, create=True)


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes are files on POSIX")
@pytest.mark.parametrize("create", [True, False])
def test_devices_and_pipes_are_no_database(tmp_path, create):
    os.mkfifo(tmp_path / "pipe")
    for path in (os.devnull, tmp_path / "pipe"):
        with pytest.raises(DataError, match="expected a file, got a device or pipe"):
            open_(path, create=create)


def test_what_the_system_says_about_a_path_is_passed_on(tmp_path):
    with pytest.raises(DataError, match=r"cannot be read: .*too long"):
        open_(tmp_path / ("x" * 5000))


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files as Linux does")
@pytest.mark.parametrize("limit", [10_000, 60_000])
def test_a_file_that_may_not_grow_says_that_there_is_no_room(tmp_path, limit):
    script = f"""
        import resource
        from budget_envs.errors import DataError
        from budget_envs.evaluation.database import connect, explained
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        try:
            connection = connect("results.db", {SCHEMA!r}, create=True, timeout_s=1)
            with explained("results.db"):
                for _ in range(100):
                    connection.execute("INSERT INTO facts VALUES (?)", ("x" * 3000,))
        except DataError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "no space is left on the disk, or the file has reached a size limit" in done.stdout


def test_a_log_that_cannot_be_read_says_to_copy_both_files(filled):
    (filled.parent / f"{filled.name}-wal").write_bytes(b"log")
    message = r"newest part is in the log results\.db-wal .* Copy both files"
    with pytest.raises(DataError, match=message), explained(str(filled)):
        raise sqlite3.OperationalError("unable to open database file")


def test_an_empty_file_holds_nothing_to_read(tmp_path):
    path = tmp_path / "results.db"
    path.touch()
    with pytest.raises(DataError, match="is empty"):
        open_(path)


def test_an_empty_file_can_be_filled(tmp_path):
    path = tmp_path / "results.db"
    path.touch()
    open_(path, create=True).close()
    assert count(path) == 0


@pytest.mark.parametrize(
    "content", [b"run,task\n1,2\n", b"\x00" * 5000, b"SQLite format 2\x00" * 9]
)
@pytest.mark.parametrize("create", [True, False])
def test_another_kind_of_file_is_refused_and_left_alone(tmp_path, content, create):
    path = tmp_path / "results.db"
    path.write_bytes(content)
    with pytest.raises(DataError, match="expected an SQLite file"):
        open_(path, create=create)
    assert path.read_bytes() == content


@pytest.mark.parametrize("create", [True, False])
def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path, create):
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="belongs to another program"):
        open_(path, create=create)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1])
@pytest.mark.parametrize("create", [True, False])
def test_another_schema_version_is_refused_and_nothing_lost(filled, version, create):
    connection = sqlite3.connect(filled)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(DataError, match=f"schema version {version}, and this release reads"):
        open_(filled, create=create)
    connection = sqlite3.connect(filled)
    assert connection.execute("SELECT count(*) FROM facts").fetchone()[0] == 200
    connection.close()


@pytest.mark.parametrize("keep", [0.02, 0.5, 0.99])
@pytest.mark.parametrize("create", [True, False])
def test_a_file_cut_short_is_refused_and_left_alone(filled, keep, create):
    whole = filled.read_bytes()
    part = whole[: max(101, int(len(whole) * keep))]
    filled.write_bytes(part)
    with pytest.raises(DataError, match=f"cut short: it should hold {len(whole)} bytes"):
        open_(filled, create=create)
    assert filled.read_bytes() == part


def test_a_file_cut_within_its_header_is_refused(filled):
    filled.write_bytes(filled.read_bytes()[:50])
    with pytest.raises(DataError, match="cut short"):
        open_(filled)


def mid_checkpoint(path):
    """Bring a database to where a writer died writing its log back: the header went first.

    Returns the rows that it holds.
    """
    connection = open_(path)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO facts VALUES (?)", [("y" * 3000,)] * 50)
    connection.execute("COMMIT")
    saved = {name: (path.parent / name).read_bytes() for name in os.listdir(path.parent)}
    connection.close()  # which writes the log back
    header = path.read_bytes()[:4096]
    for name, content in saved.items():
        (path.parent / name).write_bytes(content)
    path.write_bytes(header + path.read_bytes()[4096:])
    (path.parent / f"{path.name}-shm").unlink()
    return 250


@pytest.mark.parametrize("create", [True, False])
def test_a_file_shorter_than_its_header_says_is_whole_with_its_log(filled, create):
    rows = mid_checkpoint(filled)
    header = filled.read_bytes()[:100]
    assert len(filled.read_bytes()) < database._expected_size(header)
    open_(filled, create=create).close()
    assert count(filled) == rows


def test_without_its_log_such_a_file_is_cut_short(filled):
    mid_checkpoint(filled)
    (filled.parent / f"{filled.name}-wal").unlink()
    with pytest.raises(DataError, match="cut short"):
        open_(filled)


def test_a_file_that_grows_while_it_is_looked_at_is_whole(filled, monkeypatch):
    whole, looks = filled.read_bytes(), []

    def measured(path):  # another program wrote its log back between the two looks, and left
        looks.append(path)
        return whole[:100], len(whole) - (4096 if len(looks) == 1 else 0)

    monkeypatch.setattr(database, "_measured", measured)
    assert count(filled) == 200


def test_opening_succeeds_while_another_process_writes_and_closes(tmp_path):
    path = tmp_path / "results.db"
    open_(path, create=True).close()
    script = f"""
        from budget_envs.evaluation.database import connect
        for _ in range(150):
            connection = connect({str(path)!r}, {SCHEMA!r}, create=True, timeout_s=30)
            connection.execute("INSERT INTO facts VALUES (?)", ("x" * 200_000,))
            connection.close()
    """
    writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    opened = 0
    while writer.poll() is None:
        open_(path, timeout_s=30).close()
        opened += 1
    assert (writer.returncode, count(path)) == (0, 150)
    assert opened > 0


def test_a_damaged_file_says_how_to_save_what_is_readable(filled):
    whole = filled.read_bytes()
    filled.write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    with pytest.raises(DataError, match=r"damaged .*\.recover"):
        open_(filled)


def test_a_locked_database_says_so_and_keeps_what_it_has(filled):
    other = sqlite3.connect(filled, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    connection = open_(filled)
    message = r"another program is writing .* stored before stay"
    with pytest.raises(DataError, match=message), explained(str(filled)):
        connection.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()
    connection.close()
    assert count(filled) == 200


def test_a_database_can_be_read_while_another_writes(filled):
    other = sqlite3.connect(filled, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert count(filled) == 200
    other.execute("ROLLBACK")
    other.close()


def test_creating_while_another_holds_the_lock_says_so(tmp_path):
    path = tmp_path / "results.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DataError, match="another program is writing"):
        open_(path, create=True)
    other.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_says_so(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(DataError, match="cannot be opened for writing"):
        open_(tmp_path / "results.db", create=True)


def test_where_nothing_can_be_written_a_database_can_be_read(filled, monkeypatch):
    before = filled.read_bytes()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    connection = open_(filled)
    assert connection.execute("SELECT count(*) FROM facts").fetchone()[0] == 200
    assert os.listdir(filled.parent) == [filled.name]  # no log beside it
    with pytest.raises(DataError, match="cannot be opened for writing"), explained(str(filled)):
        connection.execute("DELETE FROM facts")
    connection.close()
    assert filled.read_bytes() == before


@pytest.mark.parametrize("name", ["with space.db", "50%.db", "a?b#c.db", "größe.db"])
def test_any_file_name_works(tmp_path, name):
    path = tmp_path / name
    open_(path, create=True).close()
    assert count(path) == 0
    assert os.listdir(tmp_path) == [name]


def test_a_relative_path_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_("results.db", create=True).close()
    assert os.listdir(tmp_path) == ["results.db"]


def test_what_was_committed_survives_a_kill(tmp_path):
    path = tmp_path / "results.db"
    script = f"""
        import os, signal
        from budget_envs.evaluation.database import connect
        connection = connect({str(path)!r}, {SCHEMA!r}, create=True, timeout_s=1)
        connection.execute("INSERT INTO facts VALUES ('kept')")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO facts VALUES ('half')")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=60)
    assert killed.returncode == -9
    assert count(path) == 1


def test_a_kill_before_the_tables_were_made_leaves_a_file_that_can_be_used(tmp_path):
    path = tmp_path / "results.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")  # what opening does before the first table
    connection.close()
    open_(path, create=True).close()
    assert count(path) == 0


def test_such_a_file_holds_nothing_to_read(tmp_path):
    path = tmp_path / "results.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with pytest.raises(DataError, match="holds no results"):
        open_(path)


def test_a_copy_with_its_log_is_whole(tmp_path, filled):
    connection = open_(filled)
    connection.execute("INSERT INTO facts VALUES ('in the log only')")
    copy = tmp_path / "copy"
    shutil.copytree(filled.parent, copy, ignore=shutil.ignore_patterns("copy"))
    connection.close()
    assert count(copy / filled.name) == 201


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("database or disk is full", "no space is left"),
        ("attempt to write a readonly database", "cannot be opened for writing"),
        ("something else", "something else"),
    ],
)
def test_other_errors_are_explained(text, expected):
    with pytest.raises(DataError, match=expected), explained("results.db"):
        raise sqlite3.OperationalError(text)
