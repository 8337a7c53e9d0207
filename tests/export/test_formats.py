"""A format is one row: who names it gets it, whatever it is."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from quire.domain.errors import UsageError
from quire.export.formats import FORMATS, ExportFormat, ExportJob, Written
from quire.export.result_rows import task_rows
from tests.world import World, sentences

Worlds = Callable[..., World]


def write_statuses(job: ExportJob, file: BinaryIO) -> Written:
    assert job.stage is not None
    rows = list(task_rows(job.tx, job.source, job.stage, job.chosen))
    file.write("".join(f"{row.stage} {row.status}\n" for row in rows).encode())
    return Written(len(rows))


def test_the_format_that_is_named_is_written(
    world: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS, "status", ExportFormat("status", (".txt",), write_statuses))
    here = world()
    here.ingest(sentences(3))
    run = here.run()
    out = tmp_path / "out.txt"

    assert run.export(str(out), form="status") == 3

    stage = run.progress().stages[0].name
    assert out.read_text() == f"{stage} accepted\n" * 3


def test_a_format_that_there_is_none_of_is_refused_and_nothing_is_written(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.run()

    with pytest.raises(UsageError, match=r"--format takes jsonl, csv, .*, not 'xml'"):
        run.export(str(tmp_path / "out"), form="xml")
    with pytest.raises(UsageError, match=r"no format has the ending \.xml; name it with one of"):
        run.export(str(tmp_path / "out.xml"))

    assert list(tmp_path.glob("out*")) == []


@pytest.mark.parametrize("name", ["out.csv", "OUT.TSV"])
def test_a_file_that_is_named_like_another_format_is_refused(
    world: Worlds, tmp_path: Path, name: str
) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.run()

    with pytest.raises(UsageError, match=r"is named like another format than jsonl; name it"):
        run.export(str(tmp_path / name), form="jsonl")

    assert not (tmp_path / name).exists()
