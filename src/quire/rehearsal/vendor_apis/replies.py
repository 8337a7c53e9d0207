"""Replies that every vendor's endpoints make alike: batches, result files, pages of a list."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from quire.domain.data import Json, JsonObject
from quire.rehearsal.batch_jobs import BatchEndpoint, BatchJob
from quire.rehearsal.exchange import Exchange, ResponsePlan
from quire.rehearsal.file_store import StoredFile
from quire.rehearsal.vendor_protocol import ApiProblem, ProblemKind, invalid

T = TypeVar("T", BatchJob, StoredFile)


def confirm_batch(exchange: Exchange, job: BatchJob, body: Json) -> ResponsePlan:
    """Confirm a batch that was made, or keep its maker in the dark as the script says."""
    entry = exchange.entry
    entry.batch, entry.tag, entry.rows = job.id, job.tag, job.rows
    struck = [name for name in ("batch_500", "batch_drop", "batch_full") if name in job.faults]
    entry.fault = struck[0] if struck else entry.fault
    if entry.fault == "batch_500":
        raise ApiProblem(ProblemKind.BROKEN, "broken after the batch was made, by the fault script")
    plan = exchange.reply_json(body)
    return replace(plan, status=0, end="drop") if entry.fault == "batch_drop" else plan


def find_job(exchange: Exchange, endpoint: BatchEndpoint, prefix: str = "") -> BatchJob:
    """The batch that the path names, if it is the key's own."""
    name = f"{prefix}{exchange.incoming.path_params['batch']}"
    job = exchange.state.jobs.find(exchange.admit(), endpoint, name)
    exchange.entry.batch, exchange.entry.tag = job.id, job.tag
    return job


def find_file(exchange: Exchange) -> StoredFile:
    """The file that the path names, if it is the key's own."""
    key, state = exchange.admit(), exchange.state
    return state.files.find(key, exchange.incoming.path_params["file"], state.clock.now())


def send_file(exchange: Exchange, stored: StoredFile, content_type: str) -> ResponsePlan:
    """Hand out a file, as far as the script lets it be found and read to its end."""
    entry, state = exchange.entry, exchange.state
    entry.batch = stored.batch
    if _breaks_download(exchange, stored, "batch_404"):
        raise ApiProblem(ProblemKind.NO_THING, f"No such File object: {stored.id}", place="id")
    cut = _breaks_download(exchange, stored, "batch_truncate")
    job = state.jobs.jobs.get(stored.batch)
    entry.tag = job.tag if job else ""
    plan, sent = exchange.reply_json(None), stored.size // 2 if cut else stored.size
    return replace(plan, body=b"", content_type=content_type, file=stored.path, sent=sent)


def page_of(
    exchange: Exchange, found: Sequence[T], size: tuple[str, int, int], after: str, prefix: str = ""
) -> tuple[list[T], bool]:
    """The part of a list that a query asks for, and whether there is more behind it.

    `size` is the name of its length with the usual one and the longest, `after` that of the item
    before it; Problem for one that is not there.
    """
    start, most = 0, whole_number(exchange, *size)
    if token := exchange.incoming.query.get(after, ""):
        after = f"{prefix}{token}"
        places = [place for place, item in enumerate(found) if item.id == after]
        if not places:
            raise ApiProblem(ProblemKind.NO_THING, f"No object found with id '{after[:100]}'.")
        start = places[0] + 1
    return list(found[start : start + most]), len(found) > start + most


def list_page(items: Sequence[JsonObject], more: bool) -> JsonObject:
    """A part of a list, as OpenAI and Anthropic page it."""
    first, last = (items[0]["id"], items[-1]["id"]) if items else (None, None)
    return {"data": items, "first_id": first, "last_id": last, "has_more": more}


def whole_number(exchange: Exchange, name: str, usual: int, most: int) -> int:
    """A number of the query, within bounds."""
    text = exchange.incoming.query.get(name, "")
    if not text:
        return usual
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= most:
        raise invalid(f"Invalid '{name}': must be a number from 1 to {most}.", place=name)
    return int(text)


def _breaks_download(exchange: Exchange, stored: StoredFile, fault: str) -> bool:
    """Draw once for every file: by its batch, or among the first of all."""
    if not stored.batch:
        return False
    jobs = exchange.state.jobs
    job = jobs.jobs.get(stored.batch)
    drawn = job is not None and fault in job.faults - stored.broken
    if drawn:
        stored.broken.add(fault)
    strikes = drawn or jobs.script.take_first(fault)
    if strikes:
        exchange.entry.fault = fault
    return strikes
