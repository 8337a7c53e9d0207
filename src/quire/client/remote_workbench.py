"""The remote workbench: documents go to a server, runs are started there, results come back."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from quire.client.http_session import PIECE, HttpSession
from quire.client.remote_run import RemoteRun, hold_details
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.workbench import LISTING, ListedRun, as_run_number


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
        return [_to_schema(item) for item in self._session.get("/v1/schemas")["items"]]

    def add_schema(self, source: Mapping[str, Json]) -> RemoteSchema:
        """Keep a schema under its name; other content becomes a version of its own."""
        return _to_schema(self._session.post("/v1/schemas", {"body": source}))

    def ingest(self, *paths: str | Path) -> RemoteDocuments:
        """Send files, a piece at a time; a bad one is refused with a line, the rest go in."""
        files = [Path(path) for path in paths]
        missing = [str(path) for path in files if not path.is_file()]
        if missing:
            raise UsageError(f"{missing[0]} is no file; name files to send")
        boundary = uuid4().hex
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        said = self._session.ask("POST", "/v1/documents", _form(files, boundary), headers)
        refused = tuple(f"{item['name']}: {item['reason']}" for item in said["refused"])
        return RemoteDocuments(tuple(item["id"] for item in said["documents"]), refused)

    def plan(
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Any = None,
        parameters: Mapping[str, Json] | None = None,
        **policy: Any,
    ) -> RemotePlan:
        """Forecast calls, tokens and dollars; spends nothing."""
        order = _order(schema, recipe, model, models, over)
        body = {**order, "parameters": parameters, "policy": policy}
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
        new: bool = False,
        **policy: Any,
    ) -> RemoteRun:
        """Start a run, or go on with that of the same order; the server's workers carry it out."""
        order = _order(schema, recipe, model, models, over)
        body = {**order, "parameters": parameters, "policy": policy, "limit": limit, "new": new}
        return self.get(self._session.post("/v1/runs", body)["run"])

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


def _order(
    schema: Any, recipe: Any, model: str | None, models: Sequence[str] | None, over: Any
) -> dict[str, Any]:
    chosen = over.documents if isinstance(over, RemoteDocuments) else over
    documents = None if chosen is None else list(chosen)
    named = {"schema": schema, "recipe": recipe, "model": model, "models": models}
    return {**named, "documents": documents}


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
