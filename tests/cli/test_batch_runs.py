"""Runs whose calls travel in batches say where they are, from the first line to the last."""

from collections.abc import Iterator

import pytest

from quire.providers.catalog import CATALOG
from quire.rehearsal.thread import rehearsing
from tests.cli.conftest import Quire

RUN = ("run", "-s", "clauses", "-m", "openai/gpt-5.6-luna", "--route", "batch")
FEW = "3 calls are fewer than the 30 of a batch: they went direct; --min-batch-size 1 changes that"


@pytest.fixture
def served(ready: Quire, monkeypatch: pytest.MonkeyPatch) -> Iterator[Quire]:
    """The commands, before a provider on this machine."""
    with rehearsing(models=CATALOG, batch_latency="1s") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "rehearsal-0000-0000")
        monkeypatch.setenv("QUIRE_POLL", "0.1")
        yield ready


def test_a_run_of_too_few_calls_says_that_they_went_direct(served: Quire) -> None:
    ended = served(*RUN).stdout

    assert f"  {FEW}\n" in ended
    assert served("batches", 1).stdout == f"run 1 has no batches; {FEW}\n"
    assert served("batches").stdout == f"no batches yet; run 1: {FEW}\n"


def test_a_run_in_a_batch_does_not_say_so(served: Quire) -> None:
    ended = served(*RUN, "--min-batch-size", 1).stdout

    assert "went direct" not in ended
    assert "collected" in served("batches").stdout
