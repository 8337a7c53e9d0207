"""Rehearsal servers, and engines that call them."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from quire.providers.catalog import CATALOG
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from quire.rehearsal.timing import Clock
from tests.cli.conftest import Quire
from tests.rehearsed.rehearsed import BASES, KEYS, OPENAI, POLL, ByClock, QuickClock, Rehearsed
from tests.world import METADATA, Calm, sentences

Rehearse = Callable[..., Rehearsed]
Serve = Callable[..., RehearsalThread]
_SILENT = ("QUIRE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder; the environment says nothing but the vendors' keys."""
    for name in [*os.environ]:
        if name.upper().startswith(_SILENT):
            monkeypatch.delenv(name)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start a rehearsal server; from then on the vendors are found there."""
    with ExitStack() as servers:

        def start(**server_config: Any) -> RehearsalThread:
            server = servers.enter_context(rehearsal_server(models=CATALOG, **server_config))
            for name, path in BASES.items():
                monkeypatch.setenv(name, server.url + path)
            return server

        yield start


@pytest.fixture
def rehearse(serve: Serve, tmp_path: Path) -> Iterator[Rehearse]:
    """Make an engine, and a server for it unless one is given; what else is given configures it."""
    made: list[Rehearsed] = []

    def make(
        asks: str = OPENAI,
        *,
        url: str = "",
        server: RehearsalThread | None = None,
        clock: Clock | None = None,
        tables: Any = None,
        **server_config: Any,
    ) -> Rehearsed:
        here = Rehearsed(
            url or str(tmp_path / "quire.db"),
            runtime=ByClock(clock) if clock else Calm(),
            lease=86_400.0,  # of a clock that may run fast
            poll=clock.poll if isinstance(clock, QuickClock) else POLL,
            server=server or serve(clock=clock, **server_config),
            asks=asks,
            tables=tables or {},
        )
        made.append(here)
        return here

    yield make
    for result in made:
        result.close()


@pytest.fixture
def quire(tmp_path: Path) -> Quire:
    """The commands, with a document of 30 blocks and a schema in the ledger."""
    typed = Quire()
    (tmp_path / "notes.txt").write_text("\n\n".join(sentences(30)))
    (tmp_path / "metadata.json").write_text(json.dumps(METADATA))
    typed("ingest", "notes.txt")
    typed("schema", "add", "metadata.json")
    return typed
