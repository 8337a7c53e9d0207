"""Replies that every vendor's endpoints make alike: batches, result files, pages of a list."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from quire.domain.data import Json
from quire.rehearsal.batch_jobs import BatchEndpoint, BatchJob
from quire.rehearsal.exchange import Exchange, ResponsePlan
from quire.rehearsal.file_store import StoredFile
from quire.rehearsal.vendor_protocol import ApiProblem, ProblemKind, invalid

T = TypeVar("T", BatchJob, StoredFile)


def confirm_batch(exchange: Exchange, job: BatchJob, body: Json) -> ResponsePlan:
    """Confirm a batch that was made, or keep its maker in the dark as the script says."""
    entry = exchange.entry
    entry.batch, entry.tag, entry.rows = job.id, job.tag, job.rows
    if "batch_full" in job.faults:
        entry.fault = "batch_full"
    if "batch_500" in job.faults:
        entry.fault = "batch_500"
        raise ApiProblem(ProblemKind.BROKEN, "broken after the batch was made, by the fault script")
    plan = exchange.reply_json(body)
    if "batch_drop" not in job.faults:
        return plan
    entry.fault = "batch_drop"
    return replace(plan, status=0, end="drop")


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
        entry.fault = "batch_404"
        raise ApiProblem(ProblemKind.NO_THING, f"No such File object: {stored.id}", place="id")
    cut = _breaks_download(exchange, stored, "batch_truncate")
    if cut:
        entry.fault = "batch_truncate"
    job = state.jobs.jobs.get(stored.batch)
    entry.tag = job.tag if job else ""
    plan = exchange.reply_json(None)
    return replace(
        plan,
        body=b"",
        content_type=content_type,
        file=stored.path,
        sent=stored.size // 2 if cut else stored.size,
    )


def page_after(found: Sequence[T], after: str, most: int) -> tuple[list[T], bool]:
    """The part of a list behind an item, and whether there is more; Problem for an unknown one."""
    start = 0
    if after:
        places = [place for place, item in enumerate(found) if item.id == after]
        if not places:
            raise ApiProblem(ProblemKind.NO_THING, f"No object found with id '{after[:100]}'.")
        start = places[0] + 1
    return list(found[start : start + most]), len(found) > start + most


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
    if job and fault in job.faults and fault not in stored.broken:
        stored.broken.add(fault)
        return True
    return jobs.script.take_first(fault)
