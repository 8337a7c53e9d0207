"""OpenAI's files as its server speaks of them: what a batch reads, and what one wrote."""

from quire.domain.data import JsonObject
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.files import Stored, count_lines
from quire.rehearsal.dialects.openai import OpenAI
from quire.rehearsal.endpoints.openai_batches import listed
from quire.rehearsal.endpoints.replying import fetched, page_after, whole_number
from quire.rehearsal.exchange import Decision, Exchange

MOST_BYTES = 200 * 1024 * 1024
_LIFETIME = 30 * 24 * 3_600
_EXPIRES = "expires_after[seconds]"
_LEAST_LIFETIME = 3_600
_PURPOSES = ("batch", "assistants", "fine-tune", "vision", "user_data", "evals")


class Files(OpenAI):
    """POST /files, and what follows from it."""

    def create(self, exchange: Exchange, raw: bytes) -> Decision:
        """Keep a file that was uploaded."""
        key, shelf = exchange.admit(), exchange.memory.shelf
        upload = exchange.upload
        if upload is None or not upload.name:
            raise Problem(Trouble.MISSING_FIELD, "'file' is a required property", place="file")
        purpose = upload.fields.get("purpose", "")
        if purpose not in _PURPOSES:
            message = f"'{purpose[:100]}' is not one of {list(_PURPOSES)} - 'purpose'"
            raise Problem(Trouble.INVALID, message, place="purpose")
        lifetime = _lifetime(upload.fields.get(_EXPIRES, str(_LIFETIME)))
        now = exchange.memory.clock.now()
        stored = Stored(
            id=shelf.name("file-"),
            owner=key,
            name=upload.name[:200],
            purpose=purpose,
            path=shelf.take(upload),
            size=upload.size,
            created_at=now,
            expires_at=now + lifetime,
        )
        stored.lines = count_lines(stored.path)
        shelf.keep(stored)
        return exchange.plain(_shown(stored))

    def one(self, exchange: Exchange, raw: bytes) -> Decision:
        """Describe a file."""
        return exchange.plain(_shown(self._found(exchange)))

    def content(self, exchange: Exchange, raw: bytes) -> Decision:
        """Hand a file out."""
        return fetched(exchange, self._found(exchange), "application/octet-stream")

    def delete(self, exchange: Exchange, raw: bytes) -> Decision:
        """Forget a file."""
        stored = self._found(exchange)
        exchange.memory.shelf.delete(stored)
        return exchange.plain({"id": stored.id, "object": "file", "deleted": True})

    def every(self, exchange: Exchange, raw: bytes) -> Decision:
        """List the key's files, the newest first unless told otherwise."""
        query = exchange.incoming.query
        found = exchange.memory.shelf.listed(exchange.admit())
        if "purpose" in query:
            found = [each for each in found if each.purpose == query["purpose"]]
        if query.get("order") == "asc":
            found.reverse()
        most = whole_number(exchange, "limit", 10_000, 10_000)
        items, more = page_after(found, query.get("after", ""), most)
        return exchange.plain(listed([_shown(each) for each in items], more))

    def _found(self, exchange: Exchange) -> Stored:
        key, memory = exchange.admit(), exchange.memory
        return memory.shelf.find(key, exchange.incoming.named["file"], memory.clock.now())


def _shown(stored: Stored) -> JsonObject:
    return {
        "id": stored.id,
        "object": "file",
        "bytes": stored.size,
        "created_at": int(stored.created_at),
        "expires_at": int(stored.expires_at),
        "filename": stored.name,
        "purpose": stored.purpose,
        "status": "processed",
        "status_details": None,
    }


def _lifetime(told: str) -> int:
    if not told.isascii() or not told.isdecimal() or len(told) > 9:
        raise Problem(Trouble.INVALID, "Invalid 'expires_after.seconds'.", place="expires_after")
    if not _LEAST_LIFETIME <= int(told) <= _LIFETIME:
        message = f"'expires_after.seconds' must be from {_LEAST_LIFETIME} to {_LIFETIME}."
        raise Problem(Trouble.INVALID, message, place="expires_after")
    return int(told)
