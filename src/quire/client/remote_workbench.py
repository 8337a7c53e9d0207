"""The remote workbench: documents go to a server, runs are started there, results come back."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from quire.client.http_session import PIECE, HttpSession
from quire.client.remote_run import RemoteRun, hold_details, sent_dollars
from quire.client.sent_sources import find_files, is_kept_name, read_schema_source
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.workbench import LISTING, NAMES_IN_RUN, ListedRun, as_run_number, refuse_misnamed

MOST_FILES = 100  # in one request


@dataclass(frozen=True, slots=True)
class RemoteDocuments:
    """What became of some files."""

    documents: tuple[int, ...]
    refused: tuple[str, ...] = ()  # one line each


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """What a run would take, as the server says."""

    said: dict[str, Any]  # as `quire plan --json`

    @property
    def cost_usd(self) -> float:
        """Dollars, expected."""
        return float(self.said.get("cost_usd", self.said.get("expected_usd", 0.0)))


@dataclass(frozen=True, slots=True)
class RemoteDocument:
    """A document, as a server lists it."""

    id: int
    title: str
    source_locator: str
    conv_total_blocks: int


@dataclass(frozen=True, slots=True)
class RemoteSchema:
    """A version of a kept schema, as a server lists it."""

    ref: str
    version: int
    uid: str
    fields: tuple[str, ...]


class RemoteWorkbench:
    """A ledger behind a server."""

    def __init__(
        self,
        session: HttpSession,
        rest: Callable[[float], None] = time.sleep,
        workspace: str = "",
    ) -> None:
        """Ask a server; `rest` waits so many seconds between two looks."""
        self._session, self._rest, self._workspace = session, rest, workspace

    def __repr__(self) -> str:
        """Say where it is, and what to ask next."""
        workspace = f", workspace {self._workspace}" if self._workspace else ""
        return f"<quire server at {self._session.url}{workspace}; {LISTING}>"

    def runs(self, limit: int = 20) -> list[ListedRun]:
        """The newest runs first."""
        return [
            ListedRun(
                id=RunId(item["run"]),
                state=item["state"],
                standing=item["standing"],
                why=hold_details(item),
                name=item["schema"] or item["recipe"],
                model=item["model"],
                created_at=datetime.fromisoformat(item["started_at"]),
                done=item["done"],
                total=item["blocks"],
                failed=item["failed"],
                cost_usd=item["cost_usd"],
            )
            for item in self._session.list("/v1/runs", limit)
        ]

    def documents(self) -> list[RemoteDocument]:
        """Every document, the oldest first."""
        found = [
            RemoteDocument(
                item["id"], item["title"], item["source_locator"], item["conv_total_blocks"]
            )
            for item in self._session.list("/v1/documents")
        ]
        return found[::-1]

    def schemas(self) -> list[RemoteSchema]:
        """Every version of every kept schema."""
        return [_to_schema(item) for item in self._session.list("/v1/schemas")]

    def add_schema(self, source: Any) -> RemoteSchema:
        """Keep a schema, of a mapping, a class or a file, under its name.

        Other content under a kept name becomes a version of its own; of a file it is refused.
        """
        read = read_schema_source(source)
        body = {"body": read.body, "name": read.name, "new_version": not read.from_file}
        return _to_schema(self._session.post("/v1/schemas", body))

    def ingest(self, *paths: str | Path) -> RemoteDocuments:
        """Send files, folders and globs; a bad one is refused with a line, the rest go in."""
        found = find_files(paths)
        documents: list[int] = []
        refused = list(found.refused)
        for first in range(0, len(found.files), MOST_FILES):
            said = self._send(found.files[first : first + MOST_FILES])
            documents += [item["id"] for item in said["documents"]]
            refused += [f"{item['name']}: {item['reason']}" for item in said["refused"]]
        return RemoteDocuments(tuple(documents), tuple(refused))

    def _send(self, files: Sequence[Path]) -> Any:
        boundary = uuid4().hex
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self._session.ask("POST", "/v1/documents", _form(files, boundary), headers)

    def plan(  # noqa: PLR0913 - all that a person may say of a plan
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Any = None,
        parameters: Mapping[str, Json] | None = None,
        per: str | None = None,
        block_types: Sequence[str] = (),
        **policy: Any,
    ) -> RemotePlan:
        """Forecast calls, tokens and dollars; spends nothing."""
        asked = schema if schema is None or is_kept_name(schema) else _body(schema)
        body = {
            "schema": asked,
            "recipe": recipe,
            "model": model,
            "models": models,
            "documents": _documents(over),
            "parameters": parameters,
            "per": per,
            "block_types": list(block_types),
            "policy": policy,
        }
        return RemotePlan(self._session.post("/v1/plans", body))

    def run(  # noqa: PLR0913 - all that a person may say of a run
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Any = None,
        parameters: Mapping[str, Json] | None = None,
        limit: int | None = None,
        stop_after: str | None = None,
        reuse: tuple[int, str] | bool | None = None,
        new: bool = False,
        max_cost_usd: float | None = None,
        wallet: str | None = None,
        budget_usd: Any = None,
        per: str | None = None,
        block_types: Sequence[str] = (),
        **policy: Any,
    ) -> RemoteRun:
        """Start a run, or go on with that of the same order; the server's workers carry it out."""
        body = {
            "schema": self._send_name(schema),
            "recipe": recipe,
            "model": model,
            "models": models,
            "documents": _documents(over),
            "parameters": parameters,
            "limit": limit,
            "stop_after": stop_after,
            "reuse": reuse,
            "new": new,
            "max_cost_usd": max_cost_usd,
            "wallet": wallet,
            "budget_usd": sent_dollars(budget_usd),
            "per": per,
            "block_types": list(block_types),
            "policy": refuse_misnamed(policy, NAMES_IN_RUN),
        }
        return self.get(self._session.post("/v1/runs", body)["run"])

    def _send_name(self, schema: Any) -> Any:
        """A schema's name; a file is kept on the way, as here, for its name may be all it has."""
        if isinstance(schema, str | Path) and not is_kept_name(schema):
            kept = self.add_schema(schema)
            return f"{kept.ref}@{kept.version}"
        return schema if schema is None or is_kept_name(schema) else _body(schema)

    def get(self, run: int) -> RemoteRun:
        """A run by its number."""
        found = self._session.get(f"/v1/runs/{as_run_number(run)}")
        return RemoteRun(self._session, found["run"], self._rest)


def connect(
    url: str, token: str | None = None, *, rest: Callable[[float], None] = time.sleep
) -> RemoteWorkbench:
    """A ledger behind a server, such as `http://localhost:8321`, asked as one that is here."""
    session = HttpSession(url, token)
    me = session.get("/v1/me")  # says at once if nobody is there, or nobody is let in
    return RemoteWorkbench(session, rest, str(me.get("workspace", "")))


def _to_schema(item: dict[str, Any]) -> RemoteSchema:
    return RemoteSchema(item["ref"], item["version"], item["uid"], tuple(item["fields"]))


def _body(schema: Any) -> Mapping[str, Json]:
    return read_schema_source(schema).body


def _documents(over: Any) -> Any:
    """What a run is about: numbers of documents, those of each input where inputs are named."""
    if over is None:
        return None
    if isinstance(over, Mapping):
        return {name: _documents(item) for name, item in over.items()}
    if isinstance(over, RemoteDocuments):
        if not over.documents and over.refused:
            raise UsageError(f"nothing was ingested: {over.refused[0]}")
        return list(over.documents)
    if isinstance(over, str | Path):
        raise UsageError(f"{over} is a name, not documents; give `ingest({os.fspath(over)!r})`")
    return list(over)


def _form(files: Sequence[Path], boundary: str) -> Iterator[bytes]:
    """Files as a form, read a piece at a time."""
    for path in files:
        name = "".join("_" if letter in '"\r\n\\' else letter for letter in path.name)
        disposition = f'form-data; name="files"; filename="{name}"'
        yield f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode()
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()
