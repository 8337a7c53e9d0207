"""What every vendor's endpoints do alike: confirm a batch, hand out a result, and page a list."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from quire.domain.data import Json
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.files import Stored
from quire.rehearsal.batches.job import Job
from quire.rehearsal.exchange import Decision, Exchange

T = TypeVar("T", Job, Stored)


def created(exchange: Exchange, job: Job, body: Json) -> Decision:
    """Confirm a batch that was made, or keep its maker in the dark as the script says."""
    entry = exchange.entry
    entry.batch, entry.tag, entry.rows = job.id, job.tag, job.rows
    if "batch_full" in job.faults:
        entry.fault = "batch_full"
    if "batch_500" in job.faults:
        entry.fault = "batch_500"
        raise Problem(Trouble.BROKEN, "broken after the batch was made, by the fault script")
    decision = exchange.plain(body)
    if "batch_drop" not in job.faults:
        return decision
    entry.fault = "batch_drop"
    return replace(decision, status=0, end="drop")


def fetched(exchange: Exchange, stored: Stored, content_type: str) -> Decision:
    """Hand out a file, as far as the script lets it be found and read to its end."""
    entry, memory = exchange.entry, exchange.memory
    entry.batch = stored.batch
    if _breaks(exchange, stored, "batch_404"):
        entry.fault = "batch_404"
        raise Problem(Trouble.NO_THING, f"No such File object: {stored.id}", place="id")
    cut = _breaks(exchange, stored, "batch_truncate")
    if cut:
        entry.fault = "batch_truncate"
    job = memory.jobs.jobs.get(stored.batch)
    entry.tag = job.tag if job else ""
    decision = exchange.plain(None)
    return replace(
        decision,
        body=b"",
        content_type=content_type,
        file=stored.path,
        sent=stored.size // 2 if cut else stored.size,
    )


def page_after(found: Sequence[T], after: str, most: int) -> tuple[list[T], bool]:
    """The part of a list behind an item, and whether there is more; Problem for a stranger."""
    start = 0
    if after:
        places = [place for place, each in enumerate(found) if each.id == after]
        if not places:
            raise Problem(Trouble.NO_THING, f"No object found with id '{after[:100]}'.")
        start = places[0] + 1
    return list(found[start : start + most]), len(found) > start + most


def whole_number(exchange: Exchange, name: str, usual: int, most: int) -> int:
    """A number of the query, within bounds."""
    told = exchange.incoming.query.get(name, "")
    if not told:
        return usual
    if not told.isascii() or not told.isdecimal() or not 1 <= int(told[:9]) <= most:
        raise Problem(
            Trouble.INVALID, f"Invalid '{name}': must be a number from 1 to {most}.", place=name
        )
    return int(told)


def _breaks(exchange: Exchange, stored: Stored, fault: str) -> bool:
    """Draw once for every file: by its batch, or among the first of all."""
    if not stored.batch:
        return False
    jobs = exchange.memory.jobs
    job = jobs.jobs.get(stored.batch)
    if job and fault in job.faults and fault not in stored.broken:
        stored.broken.add(fault)
        return True
    return jobs.script.first(fault)
