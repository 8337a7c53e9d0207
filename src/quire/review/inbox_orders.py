"""Inbox orders: the next results after a place, by need, by age, by score or as in the documents.

Each order is read from an index from the place on, so that a page costs the same wherever it is. By
age, the ranks of the index are read side by side, and merged. A place is two numbers, which mean in
each order what tells where its results stand.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from quire.domain.ids import StageId, TaskId
from quire.domain.reviews import REST, InboxOrder
from quire.domain.states import ReviewState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.inbox import InboxEntry

Place = tuple[int, int]
START: Place = (-1, 0)  # before everything, in every order
_NEWEST = 2**62  # before which all results are
_UNSCORED = 1001  # thousandths: beyond every score
_RANKS = range(REST + 1)


class InboxSource(NamedTuple):
    """A part of the index: results of one stage in one state of review."""

    stage: StageId
    review: ReviewState


class InboxChunk(NamedTuple):
    """The next results, and where those after them begin; None: there are none."""

    entries: list[InboxEntry]
    end: Place | None
    looked_at: int


def place_of(order: InboxOrder, entry: InboxEntry) -> Place:
    """Where a result stands."""
    match order:
        case InboxOrder.NEED:
            return entry.rank, entry.result_id
        case InboxOrder.OLDEST:
            return 0, entry.result_id
        case InboxOrder.NEWEST:
            return 0, _NEWEST - entry.result_id
        case InboxOrder.SCORE:
            return _UNSCORED if entry.score is None else entry.score, entry.result_id
        case InboxOrder.DOCUMENT:
            return 0, entry.task_id


def read_chunk(
    tx: Transaction, sources: Sequence[InboxSource], order: InboxOrder, place: Place, size: int
) -> InboxChunk:
    """So many results after a place, fewer only where no more are there."""
    if order == InboxOrder.DOCUMENT:
        return _by_document(tx, sources, place, size)
    if order == InboxOrder.SCORE:
        return _by_score(tx, sources, place, size)
    entries = _merge(tx, sources, order, place, size)
    end = place_of(order, entries[-1]) if len(entries) == size else None
    return InboxChunk(entries, end, len(entries))


def _merge(
    tx: Transaction, sources: Sequence[InboxSource], order: InboxOrder, place: Place, size: int
) -> list[InboxEntry]:
    """The next results of several parts of an index, in one order."""
    read = _READERS[order]
    found = [entry for source in sources for entry in read(tx, source, place, size)]
    return sorted(found, key=lambda entry: place_of(order, entry))[:size]


def _by_score(
    tx: Transaction, sources: Sequence[InboxSource], place: Place, size: int
) -> InboxChunk:
    """Those with a score first; then all by age, of which those that have one are left out."""
    if place[0] < _UNSCORED:
        scored = _merge(tx, sources, InboxOrder.SCORE, place, size)
        whole = len(scored) == size
        end = place_of(InboxOrder.SCORE, scored[-1]) if whole else (_UNSCORED, 0)
        return InboxChunk(scored, end, len(scored))
    rows = _merge(tx, sources, InboxOrder.OLDEST, place, size)
    last = (_UNSCORED, rows[-1].result_id) if len(rows) == size else None
    return InboxChunk([row for row in rows if row.score is None], last, len(rows))


Reader = Callable[[Transaction, InboxSource, Place, int], list[InboxEntry]]


def _read_by_need(
    tx: Transaction, source: InboxSource, place: Place, size: int
) -> list[InboxEntry]:
    return tx.inbox.inbox_entries(source.stage, source.review, place, size)


def _read_oldest(tx: Transaction, source: InboxSource, place: Place, size: int) -> list[InboxEntry]:
    read = tx.inbox.ranked_inbox_entries
    return [e for rank in _RANKS for e in read(source.stage, source.review, rank, place[1], size)]


def _read_newest(tx: Transaction, source: InboxSource, place: Place, size: int) -> list[InboxEntry]:
    read, before = tx.inbox.newer_inbox_entries, _NEWEST - place[1]
    return [e for rank in _RANKS for e in read(source.stage, source.review, rank, before, size)]


def _read_by_score(
    tx: Transaction, source: InboxSource, place: Place, size: int
) -> list[InboxEntry]:
    return tx.inbox.scored_inbox_entries(source.stage, source.review, place, size)


_READERS: Mapping[InboxOrder, Reader] = {
    InboxOrder.NEED: _read_by_need,
    InboxOrder.OLDEST: _read_oldest,
    InboxOrder.NEWEST: _read_newest,
    InboxOrder.SCORE: _read_by_score,
}


def _by_document(
    tx: Transaction, sources: Sequence[InboxSource], place: Place, size: int
) -> InboxChunk:
    """Stage after stage; tasks whose result is not wanted are looked at, and left out."""
    known = tx.inbox.inbox_place_of_task(TaskId(place[1])) if place != START else None
    stages = [(stage, list(parts)) for stage, parts in groupby(sources, lambda part: part.stage)]
    at = next((no for no, (stage, _) in enumerate(stages) if known and stage == known[0]), 0)
    rows: list[InboxEntry] = []
    for no, (stage, parts) in enumerate(stages[at:]):
        after = known[1] if known and no == 0 else b""
        reviews = [part.review for part in parts]
        rows += tx.inbox.inbox_entries_by_subject(stage, reviews, after, size - len(rows))
        if len(rows) == size:
            break
    end = (0, rows[-1].task_id) if len(rows) == size else None
    return InboxChunk([row for row in rows if row.rank >= 0], end, len(rows))
