"""Every path that was read has its row: files of one content share a document, none vanishes."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import quire
from quire.domain.ids import DocumentId, RunId
from quire.engine import Engine
from tests.world import METADATA

LONG_AGO = 1_700_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture
def q(folder: Path) -> Iterator[Engine]:
    with quire.open(str(folder / "work.db")) as engine:
        yield engine


def write(path: Path, text: str) -> Path:
    """Write a file that was last changed long before it is read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def paths_of_run(engine: Engine, run: RunId) -> list[list[str]]:
    with engine.ledger.snapshot() as tx:
        began = tx.runs.must_get_run(run).created_at
        found = tx.sources.sources_of_run(run, began)
        return [[Path(source.path).name for source in paths] for paths in found.values()]


def test_a_run_keeps_the_paths_that_it_was_about_and_later_ones_have_theirs(
    q: Engine, folder: Path
) -> None:
    for name in ("a.txt", "b.txt"):
        write(folder / name, "One rule.")
    q.ingest(folder)
    first = q.run(schema=METADATA, model="simulated/small")
    first.wait()
    (folder / "b.txt").write_text("Another rule.")
    q.ingest(folder, tell=lambda line: None)
    write(folder / "c.txt", "One rule.")
    q.ingest(folder)

    second = q.run(schema=METADATA, model="simulated/small")
    second.wait()

    assert paths_of_run(q, first.id) == [["a.txt", "b.txt", "c.txt"]]
    assert paths_of_run(q, second.id) == [["a.txt", "c.txt"], ["b.txt"]]


def test_a_path_that_gets_its_older_content_back_has_its_older_document_again(
    q: Engine, folder: Path
) -> None:
    said: list[str] = []
    for text in ("One rule.", "Another rule.", "One rule."):
        (folder / "a.txt").write_text(text)
        q.ingest(folder / "a.txt", tell=said.append)

    assert [len(q.documents()), q.library.documents_aside()] == [2, {DocumentId(2)}]
    assert ["now document 2; document 1 is left" in said[0], "now document 1" in said[1]] == [
        True
    ] * 2


def test_a_file_that_is_as_it_was_is_not_read_again(q: Engine, folder: Path) -> None:
    path = write(folder / "a.txt", "One rule.")
    first = q.ingest(path).documents[0]
    path.write_text("Two rule.")  # of the same size, at the same moment: nobody can tell
    os.utime(path, (LONG_AGO, LONG_AGO))

    again = q.ingest(path)

    assert again.documents[0] == first._replace(blocks=0, new=False, new_path=False)
    os.utime(path, (LONG_AGO, LONG_AGO + 1))
    assert q.ingest(path, tell=lambda line: None).documents[0].new


def test_a_file_that_was_changed_just_before_it_was_read_is_read_again(
    q: Engine, folder: Path
) -> None:
    path = write(folder / "a.txt", "One rule.")
    moment = (q.context.runtime.now() - timedelta(seconds=1)).timestamp()
    os.utime(path, (moment, moment))
    q.ingest(path)
    path.write_text("Two rule.")
    os.utime(path, (moment, moment))

    assert q.ingest(path, tell=lambda line: None).documents[0].new


def test_a_file_has_one_row_whatever_it_is_called_and_moves_with_its_ledger(
    q: Engine, folder: Path, tmp_path: Path
) -> None:
    write(folder / "docs" / "a.txt", "One rule.")
    (folder / "link.txt").symlink_to(folder / "docs" / "a.txt")
    q.ingest(folder / "docs" / "a.txt")
    q.ingest(os.path.relpath(folder / "docs"))
    q.ingest(folder / "link.txt")
    q.close()

    folder.rename(tmp_path / "elsewhere")
    with quire.open(str(tmp_path / "elsewhere" / "work.db")) as moved:
        moved.ingest(tmp_path / "elsewhere" / "docs")

        assert [len(paths) for paths in moved.library.sources().values()] == [1]


def test_what_is_taken_in_on_the_way_to_a_run_takes_nobodys_place(q: Engine, folder: Path) -> None:
    path = write(folder / "a.txt", "One rule.")
    q.ingest(path)
    path.write_text("Another rule.")

    q.ingest(path, aside=True)

    assert q.library.documents_aside() == {DocumentId(2)}
    q.ingest(path, tell=lambda line: None)
    assert q.library.documents_aside() == {DocumentId(1)}


def test_a_purge_takes_every_path_of_its_document(q: Engine, folder: Path) -> None:
    for name in ("secret-a.txt", "secret-b.txt"):
        write(folder / name, "One rule.")
    q.ingest(folder)

    erased = q.library.purge_all(["secret-b.txt"])

    assert [len(item.paths) for item in erased] == [2]
    q.close()
    assert b"secret-" not in b"".join(path.read_bytes() for path in folder.glob("work.db*"))
