"""All batches of a server: whose each one is, and what the script draws for it."""

import os
from collections import Counter
from collections.abc import Mapping
from math import inf
from random import Random

from quire.domain.batches import End
from quire.domain.data import Json
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.files import Shelf
from quire.rehearsal.batches.job import Job, Manner, Order, Phase
from quire.rehearsal.batches.row import Flaw
from quire.rehearsal.batches.scripting import BatchScript
from quire.rehearsal.latency import Latency

FULL = "token_limit_exceeded"
_SETUP = 0.1  # of a batch's time goes by before its first row, and after a cancel
_MOST_SETUP = 60.0  # seconds


class Jobs:
    """All batches of one server."""

    def __init__(self, shelf: Shelf, latency: Latency, seed: int) -> None:
        """Begin with none."""
        self.script = BatchScript()
        self.jobs: dict[str, Job] = {}
        self.open: list[Job] = []  # those that have not ended
        self._shelf = shelf
        self._latency = latency
        self._seed = seed
        self._asked = 0
        self._refused = 0

    def create(self, order: Order, now: float) -> Job:
        """Make a batch, or raise Problem where the queue is full and the vendor says so at once."""
        self._asked += 1
        number = self._asked
        faults = self.script.draw(number)
        if "batch_full" in faults and order.manner.refuses:
            self._refused += 1
            message = "Enqueued token limit reached, by the fault script."
            raise Problem(Trouble.RATE, message, retry_after=1.0)
        source = self._shelf.fresh()
        os.link(order.source, source)
        chance = Random(f"{self._seed}:{number}")  # noqa: S311 - a rehearsal is no secret
        taken = self._latency.draw(chance)
        window = order.manner.window if order.window is None else order.window
        job = Job(
            number=number,
            id=self._shelf.name(order.prefix),
            order=order,
            source=source,
            created_at=now,
            started_at=now + min(_MOST_SETUP, taken * _SETUP),
            due_at=inf if "batch_stuck" in faults else now + taken,
            expires_at=now + window if window else inf,
            faults=faults,
            rows=order.rows,
            model=order.model,
        )
        self.jobs[job.id] = job
        self.open.append(job)
        if "batch_full" in faults:
            told = f"Enqueued token limit reached for {job.model or 'this model'}, by the script."
            self.fail(job, Flaw(FULL, told), now)
        return job

    def find(self, owner: str, manner: Manner, job_id: str) -> Job:
        """Look a batch up; with another key than the one that made it there is none."""
        found = self.jobs.get(job_id)
        if found is None or not _belongs(found, owner, manner):
            raise Problem(Trouble.NO_THING, f"No batch found with id '{job_id[:100]}'.")
        return found

    def listed(self, owner: str, manner: Manner) -> list[Job]:
        """Somebody's batches, the newest first."""
        return [each for each in reversed(self.jobs.values()) if _belongs(each, owner, manner)]

    def cancel(self, job: Job, now: float) -> None:
        """Ask for a batch's end; what has ended already stays as it is."""
        if job.phase(now) in (Phase.CHECKING, Phase.RUNNING):
            job.cancelled_at = now

    def delete(self, job: Job) -> None:
        """Forget a batch, and what it wrote; it stays on record for whoever watches."""
        job.deleted = True
        for stored in job.results.values():
            stored.path.unlink(missing_ok=True)

    def fail(self, job: Job, flaw: Flaw, now: float) -> None:
        """End a batch of which nothing runs."""
        job.flaw = flaw
        self.finish(job, End.FAILED, now)

    def finish(self, job: Job, end: End, at: float) -> None:
        """End a batch; its results are there."""
        job.end, job.ended_at = end, at
        self.open.remove(job)
        job.source.unlink(missing_ok=True)

    def as_json(self) -> Mapping[str, Json]:
        """What batches add up to."""
        ends = Counter(str(each.end or "open") for each in self.jobs.values())
        return {
            "created": len(self.jobs),
            "refused": self._refused,
            "rows": sum(each.rows for each in self.jobs.values()),
            "ends": dict(ends),
            "faults": dict(Counter(name for each in self.jobs.values() for name in each.faults)),
        }


def _belongs(job: Job, owner: str, manner: Manner) -> bool:
    return not job.deleted and job.order.owner == owner and job.order.manner is manner
