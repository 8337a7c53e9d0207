"""A row of a batch: decided as a direct call of the same body would be, and on record as one."""

import orjson

from quire.domain.batches import RowEnd
from quire.domain.models import Limits, Usage
from quire.rehearsal.asked import Asked, Problem, Trouble
from quire.rehearsal.batches.job import Job
from quire.rehearsal.batches.row import Row, RowCall
from quire.rehearsal.caching import Cached, Point
from quire.rehearsal.counting import Entry
from quire.rehearsal.dialects.dialect import Dialect
from quire.rehearsal.exchange import Decision, Exchange
from quire.rehearsal.memory import Memory
from quire.simulated.answering import AskedBlock

_ROWS = 2**32  # more than any batch has, so that no two rows of a server share a number


class RowExchange(Exchange):
    """A call that came in a batch: its key was admitted with it, and no limit of a minute holds."""

    def __init__(self, memory: Memory, job: Job, call: RowCall, entry: Entry, number: int) -> None:
        """Begin with a row that is understood."""
        super().__init__(memory, call.dialect, entry, call.incoming)
        self.draw = number  # and not the request's: polling must not change what is drawn
        self.faults = memory.row_faults
        self._key = job.order.owner
        self._broken = "batch_errors" in job.faults

    def admit(self) -> str:
        """The key that made the batch."""
        return self._key

    def _refuse(self, blocks: list[AskedBlock]) -> None:
        if self._broken:
            self.entry.fault = "batch_errors"
            raise Problem(Trouble.BROKEN, "The server had an error, by the fault script.")
        super()._refuse(blocks)

    def _look(self, points: list[Point]) -> Cached:
        return self.memory.cache.look_from_batch(points, self._now)

    def _reserve(self, dialect: Dialect, asked: Asked, usage: Usage) -> Limits:
        return Limits()

    def _settle(self, dialect: Dialect, reserved: Limits) -> None:
        pass

    def _wait(self, blocks: list[AskedBlock]) -> float:
        return 0.0

    def _headers(self) -> dict[str, str]:
        return {}


def carry_out(memory: Memory, job: Job, ordinal: int, call: RowCall) -> tuple[Row, Entry]:
    """Let the model answer one row, and put that on record."""
    at = job.row_at(ordinal)
    entry = memory.witness.row(at, (call.incoming.method, call.incoming.path), job.id)
    entry.endpoint, entry.key, entry.tag = call.dialect.endpoint, job.key_tail, job.tag
    number = job.number * _ROWS + ordinal
    exchange = RowExchange(memory, job, call, entry, number)
    decision = exchange.decide(lambda made, raw: made.called(call.dialect, raw), call.body)
    if decision.points:
        memory.cache.keep(decision.points, at)
    entry.status, entry.delivered = decision.status, True
    memory.witness.end(entry)
    end = RowEnd.ANSWERED if decision.status == 200 else RowEnd.ERRORED
    return Row(ordinal, call.custom_id, end, number, decision.status, _body(decision)), entry


def never_ran(job: Job, ordinal: int, call: RowCall, end: RowEnd) -> Row:
    """A row that was never answered, because the batch ended before."""
    return Row(ordinal, call.custom_id, end, job.number * _ROWS + ordinal)


def _body(decision: Decision) -> orjson.Fragment | str:
    if decision.content_type == "application/json":
        return orjson.Fragment(decision.body)
    return decision.body.decode()
