"""A format is one row: who names it gets it, whatever it is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quire.domain.errors import UsageError
from quire.domain.recipes import Stage
from quire.export.formats import FORMATS, ExportFormat
from quire.export.result_rows import task_rows
from quire.export.result_selection import ResultSource
from quire.ledger.ledger import Transaction
from tests.world import World, sentences

Worlds = Callable[..., World]


def status_lines(
    tx: Transaction, source: ResultSource, stage: Stage | None, only: str
) -> Iterator[bytes]:
    for chosen in source.recipe.stages if stage is None else (stage,):
        for row in task_rows(tx, source, chosen, only):
            yield f"{chosen.name} {row.status}\n".encode()


def test_the_format_that_is_named_is_written(
    world: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS, "status", ExportFormat("status", (".txt",), status_lines))
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

    with pytest.raises(UsageError, match="--format takes jsonl, not 'csv'"):
        run.export(str(tmp_path / "out.csv"), form="csv")

    assert list(tmp_path.glob("out*")) == []


@pytest.mark.parametrize("name", ["out.csv", "OUT.Parquet", "out.xlsx"])
def test_a_file_that_is_named_like_another_format_is_refused(
    world: Worlds, tmp_path: Path, name: str
) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.run()

    with pytest.raises(UsageError, match=r"is named like another format than jsonl; name it"):
        run.export(str(tmp_path / name))

    assert not (tmp_path / name).exists()
