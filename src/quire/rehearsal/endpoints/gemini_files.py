"""Gemini's files as Google's servers speak of them: brought in pieces, fetched as a whole."""

import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from quire.domain.accounts import Secret
from quire.domain.data import Json, JsonObject
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.files import Stored, count_lines
from quire.rehearsal.batches.row import HOUR
from quire.rehearsal.dialects.gemini import Gemini
from quire.rehearsal.endpoints.replying import fetched, page_after, whole_number
from quire.rehearsal.exchange import Decision, Exchange

MOST_BYTES = 2 * 1024**3
PURPOSE = "gemini"  # of every file here, so that others' are not seen

_LIFETIME = 48 * HOUR
_COMMANDS = ("upload", "upload, finalize", "finalize")


@dataclass(slots=True)
class _Session:
    """A file on its way here."""

    owner: str
    name: str
    path: Path
    size: int = 0


class GeminiFiles(Gemini):
    """POST /upload/…/files, and what follows from it."""

    def __init__(self, *providers: str) -> None:
        """Begin without a file on its way."""
        super().__init__(*providers)
        self._sessions: dict[str, _Session] = {}

    def upload(self, exchange: Exchange, raw: bytes) -> Decision:
        """Open a session, or take a piece of its file."""
        command = exchange.incoming.headers.get("x-goog-upload-command", "")
        if command == "start":
            return self._start(exchange)
        session = self._sessions.get(exchange.incoming.query.get("upload_id", ""))
        if session is None or command not in _COMMANDS:
            raise Problem(Trouble.INVALID, "Upload has already been terminated.")
        exchange.entry.key = Secret(session.owner).tail  # the session stands for it
        _append(exchange, session)
        if "finalize" not in command:
            return _with(exchange.plain(None), status="active")
        del self._sessions[exchange.incoming.query["upload_id"]]
        stored = _kept(exchange, session)
        return _with(exchange.plain({"file": _shown(exchange, stored)}), status="final")

    def one(self, exchange: Exchange, raw: bytes) -> Decision:
        """Describe a file."""
        return exchange.plain(_shown(exchange, self._found(exchange)))

    def content(self, exchange: Exchange, raw: bytes) -> Decision:
        """Hand a file out, if a batch wrote it: what was uploaded stays here."""
        stored = self._found(exchange)
        if not stored.batch:
            raise Problem(Trouble.INVALID, "Only generated files can be downloaded.")
        return fetched(exchange, stored, "application/octet-stream")

    def every(self, exchange: Exchange, raw: bytes) -> Decision:
        """List the key's files, the newest first."""
        owned = exchange.memory.shelf.listed(exchange.admit())
        found = [each for each in owned if each.purpose == PURPOSE]
        most = whole_number(exchange, "pageSize", 10, 100)
        items, more = page_after(found, exchange.incoming.query.get("pageToken", ""), most)
        shown: dict[str, Json] = {"files": [_shown(exchange, each) for each in items]}
        return exchange.plain({**shown, **({"nextPageToken": items[-1].id} if more else {})})

    def delete(self, exchange: Exchange, raw: bytes) -> Decision:
        """Forget a file."""
        exchange.memory.shelf.delete(self._found(exchange))
        return exchange.plain({})

    def _start(self, exchange: Exchange) -> Decision:
        key, shelf = exchange.admit(), exchange.memory.shelf
        told = _read(exchange)
        session = _Session(key, str(told.get("displayName") or "")[:200], shelf.fresh())
        session.path.touch()
        name = shelf.name("up")
        self._sessions[name] = session
        url = f"{_origin(exchange)}{exchange.incoming.path}?upload_id={name}"
        return _with(exchange.plain({}), url=url, status="active")

    def _found(self, exchange: Exchange) -> Stored:
        key, memory = exchange.admit(), exchange.memory
        return memory.shelf.find(key, exchange.incoming.named["file"], memory.clock.now())


def time_of(at: float) -> str:
    """A time as Google writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def _read(exchange: Exchange) -> dict[str, Any]:
    """What is said of a file before it comes, in names of either style."""
    upload = exchange.upload
    try:
        body = orjson.loads(upload.path.read_bytes() or b"{}") if upload else {}
    except ValueError:
        raise Problem(Trouble.NOT_JSON, "the body is not JSON") from None
    about = body.get("file") if isinstance(body, dict) else None
    if not isinstance(about, dict):
        return {}
    return {"displayName": about.get("displayName") or about.get("display_name")}


def _append(exchange: Exchange, session: _Session) -> None:
    offset = exchange.incoming.headers.get("x-goog-upload-offset", "")
    if offset != str(session.size):
        message = f"The offset is {offset[:20]}, but {session.size} bytes have come."
        raise Problem(Trouble.INVALID, message)
    upload = exchange.upload
    if upload is not None:
        with upload.path.open("rb") as read, session.path.open("ab") as write:
            shutil.copyfileobj(read, write, 1 << 18)
        session.size += upload.size


def _kept(exchange: Exchange, session: _Session) -> Stored:
    shelf, now = exchange.memory.shelf, exchange.memory.clock.now()
    stored = Stored(
        id=shelf.name("file-"),
        owner=session.owner,
        name=session.name,
        purpose=PURPOSE,
        path=session.path,
        size=session.size,
        created_at=now,
        expires_at=now + _LIFETIME,
        lines=count_lines(session.path),
    )
    exchange.entry.rows = stored.lines
    return shelf.keep(stored)


def _shown(exchange: Exchange, stored: Stored) -> JsonObject:
    url = f"{_origin(exchange)}/v1beta/files/{stored.id}"
    shown: dict[str, Json] = {
        "name": f"files/{stored.id}",
        "mimeType": "application/jsonl",
        "sizeBytes": str(stored.size),
        "createTime": time_of(stored.created_at),
        "updateTime": time_of(stored.created_at),
        "sha256Hash": sha256(stored.id.encode()).hexdigest(),
        "uri": url,
        "state": "ACTIVE",
        "source": "GENERATED" if stored.batch else "UPLOADED",
    }
    if stored.batch:
        return {**shown, "downloadUri": f"{url}:download?alt=media"}
    shown["expirationTime"] = time_of(stored.expires_at)
    return {**shown, **({"displayName": stored.name} if stored.name else {})}


def _origin(exchange: Exchange) -> str:
    return f"http://{exchange.incoming.headers.get('host', 'localhost')}"


def _with(decision: Decision, **told: str) -> Decision:
    """An answer with what goes on besides its body."""
    headers = {f"x-goog-upload-{name}": value for name, value in told.items()}
    return replace(decision, headers={**decision.headers, **headers})
