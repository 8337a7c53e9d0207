"""Garbage is looked for rarely while rows pass through, and as before once all are through."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import quire
from quire.dispatch.rare_collections import COLLECT_AFTER, rare_collections
from quire.domain.data import Json

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Python's own way, whatever the tests' is."""
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_the_last_to_leave_sets_things_back() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(rare_collections())
    second.enter_context(rare_collections())

    first.close()
    meanwhile = gc.get_threshold()
    second.close()

    assert meanwhile == (COLLECT_AFTER, *USUAL[1:])
    assert gc.get_threshold() == USUAL


def test_whoever_collects_by_hand_goes_on_doing_so() -> None:
    gc.set_threshold(0)

    with rare_collections():
        assert gc.get_threshold()[0] == 0

    assert gc.get_threshold()[0] == 0


def test_documents_and_rows_pass_without_a_look_for_garbage(tmp_path: Path) -> None:
    small, large = (_write_rows(tmp_path / f"{count}.jsonl", count) for count in (1, 3000))
    schema: dict[str, Json] = {"type": "object", "properties": {"word_count": {"type": "integer"}}}
    looks: list[object] = []
    with quire.open(tmp_path / "ledger.db") as engine:
        engine.run(schema=schema, model="simulated/small", over=engine.ingest(small)).rows()
        gc.callbacks.append(lambda phase, info: looks.append(phase))
        try:
            over = engine.ingest(large, text_column="text")
            ingesting = len(looks)
            run = engine.run(schema=schema, model="simulated/small", over=over, limit=1)
            looks.clear()
            rows = run.rows()
        finally:
            gc.callbacks.pop()

    assert len(rows) == 3000
    assert max(ingesting, len(looks)) < 10
    assert gc.get_threshold() == USUAL


def _write_rows(path: Path, count: int) -> Path:
    path.write_text("".join(f'{{"text": "clause {number}"}}\n' for number in range(count)))
    return path
