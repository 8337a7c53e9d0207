"""The inbox: results that persons decide about, the most pressing first, a page at a time.

A page is read from an index that holds results in the order that is asked for, from where the last
one ended. A filter is applied to what is read, and at most `SCAN` results are read for a page, so
that a page costs the same at a thousand results and at a million. A rare thing may so need several
pages; each says how far it looked, and where the next begins.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json, as_object, plain_json, stored_json
from quire.domain.errors import UsageError
from quire.domain.ids import ResultId, StageId
from quire.domain.reviews import (
    AGAIN,
    ANY,
    DECIDED,
    NONE,
    REST,
    InboxCounts,
    InboxFilter,
    InboxLine,
    InboxOrder,
    InboxPage,
    ReviewReason,
    reasons_from_bits,
)
from quire.domain.states import ReviewState, TaskState
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import from_micros_or_none
from quire.ledger.tables.inbox import InboxDetail, InboxEntry
from quire.pipeline.run_spec import RunSpec
from quire.review.inbox_orders import START, InboxSource, Place, place_of, read_chunk

SCAN = 5_000  # results that a page looks at, at most
CHUNK = 500  # of them at once, where a filter may refuse some
MOST_LINES = 1_000  # of a page
COUNTED = 10_000  # of each reason; beyond, there are more
THOUSAND = 1000
LARGEST = 2**62  # number that an index is asked for
DIGITS = 20  # of a number, which is larger than that with so many


class MatchedEntry(NamedTuple):
    """A result that a filter takes, with what a list shows of it."""

    entry: InboxEntry
    detail: InboxDetail


class InboxScan(NamedTuple):
    """What was found, and how far was looked."""

    found: list[MatchedEntry]
    end: Place | None  # None: there is nothing beyond
    looked_at: int


def inbox_page(
    tx: Transaction,
    spec: RunSpec,
    chosen: InboxFilter,
    after: str | None,
    limit: int,
    now: datetime,
) -> InboxPage:
    """The next results that a filter takes."""
    if not 1 <= limit <= MOST_LINES:
        raise UsageError(f"a page has 1 to {MOST_LINES:,} results, not {limit}")
    scan = scan_inbox(tx, spec, chosen, parse_place(after), limit)
    lines = lines_of(tx, scan.found, now)
    end = None if scan.end is None else f"{scan.end[0]}.{scan.end[1]}"
    return InboxPage(lines=lines, next=end, looked_at=scan.looked_at)


def scan_inbox(
    tx: Transaction, spec: RunSpec, chosen: InboxFilter, place: Place, limit: int
) -> InboxScan:
    """Read on from a place until so many results are found, or enough was looked at."""
    sources = inbox_sources(spec, chosen)
    plain = chosen == InboxFilter(stage=chosen.stage, review=chosen.review, order=chosen.order)
    found: list[MatchedEntry] = []
    looked_at = 0
    while looked_at < SCAN and len(found) < limit:
        size = min(CHUNK, SCAN - looked_at) if not plain else limit - len(found)
        chunk = read_chunk(tx, sources, chosen.order, place, size)
        looked_at += chunk.looked_at
        taken = _take_matching(tx, chunk.entries, chosen)
        if len(found) + len(taken) > limit:
            taken = taken[: limit - len(found)]
            end = place_of(chosen.order, taken[-1].entry)
            return InboxScan([*found, *taken], end, looked_at)
        found += taken
        if chunk.end is None or _is_beyond(chosen, chunk.end):
            return InboxScan(found, None, looked_at)
        place = chunk.end
    return InboxScan(found, place, looked_at)


def inbox_sources(spec: RunSpec, chosen: InboxFilter) -> list[InboxSource]:
    """The parts of the index that a filter is about."""
    if chosen.review == ANY:
        reviews: tuple[ReviewState, ...] = (ReviewState.UNREVIEWED, *DECIDED)
    elif chosen.review == ReviewState.REJECTED:
        raise UsageError("what was rejected is asked again", "the list of decisions shows it")
    else:
        reviews = (ReviewState(chosen.review),)
    stages = reviewed_stages(spec, chosen.stage)
    _check_fields(spec, stages, chosen)
    return [InboxSource(stage, review) for stage in stages for review in reviews]


def _check_fields(spec: RunSpec, stages: Sequence[StageId], chosen: InboxFilter) -> None:
    """Refuse a field that no result can have; what has no schema may have any."""
    schemas = [schema for stage in stages if (schema := spec.stages[stage].schema)]
    known = dict.fromkeys(name for schema in schemas for name in schema.properties)
    unknown = [name for name in chosen.fields if name not in known]
    if unknown and len(schemas) == len(stages):
        raise UsageError(f"there is no field {unknown[0]!r}", ", ".join(known))


def reviewed_stages(spec: RunSpec, name: str | None) -> list[StageId]:
    """The stages whose results persons decide about, or the one of a name."""
    if name is None:
        return [spec.stage_ids[stage.name] for stage in spec.recipe.stages if not stage.critic]
    stage = spec.stage_named(name)
    if stage.critic:
        raise UsageError(f"{name} is a critic: decide about results of {stage.of}")
    return [spec.stage_ids[name]]


def _is_beyond(chosen: InboxFilter, place: Place) -> bool:
    """Whether nothing after a place can have the reason that is wanted."""
    if chosen.order != InboxOrder.NEED or chosen.reason is None:
        return False
    return place[0] > chosen.reason.rank


def _take_matching(
    tx: Transaction, entries: Sequence[InboxEntry], chosen: InboxFilter
) -> list[MatchedEntry]:
    """Those of some results that a filter takes; what the index tells is looked at first."""
    entries = [entry for entry in entries if _fits_entry(entry, chosen)]
    ids = [entry.result_id for entry in entries]
    details = tx.inbox.inbox_details(ids)  # an erased one may be in the index of an old ledger
    texts = tx.inbox.inbox_texts(ids) if chosen.text else {}
    if chosen.again not in {None, ANY}:
        rejected = tx.inbox.rejected_tasks([entry.task_id for entry in entries])
        wanted = chosen.again == AGAIN
        entries = [entry for entry in entries if (entry.task_id in rejected) is wanted]
    return [
        MatchedEntry(entry, detail)
        for entry in entries
        if (detail := details.get(entry.result_id))
        and detail.data is not None
        and _fits_detail(detail, chosen, texts)
    ]


def _fits_entry(entry: InboxEntry, chosen: InboxFilter) -> bool:
    if chosen.reason is not None and not entry.reasons & chosen.reason.bit:
        return False
    if any(entry.reasons & reason.bit for reason in chosen.without):
        return False
    if chosen.score_min is None and chosen.score_max is None:
        return True
    if entry.score is None:
        return False
    low = 0.0 if chosen.score_min is None else chosen.score_min
    high = 1.0 if chosen.score_max is None else chosen.score_max
    return low * THOUSAND <= entry.score <= high * THOUSAND


def _fits_detail(detail: InboxDetail, chosen: InboxFilter, texts: Mapping[ResultId, str]) -> bool:
    if chosen.review not in (ANY, detail.review_state):  # decided since the index was read
        return False
    if chosen.state is not None and detail.state != chosen.state:
        return False
    if chosen.document is not None and detail.document_id != chosen.document:
        return False
    if chosen.fields:
        data = as_object(stored_json(detail.data))
        if not all(_equals(data.get(name), value) for name, value in chosen.fields.items()):
            return False
    if not chosen.text:
        return True
    record, text = plain_json(stored_json(detail.data)), texts.get(detail.result_id, "")
    return _holds(record, chosen.text) or _holds(text, chosen.text)


def _holds(text: str, wanted: str) -> bool:
    return wanted.casefold() in text.casefold()


def _equals(found: Json, wanted: Json) -> bool:
    """Whether a value is what somebody typed, who does not say whether 7 is a number or a text."""
    if isinstance(found, str) and not isinstance(wanted, str):
        return found == plain_json(wanted)
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


def lines_of(
    tx: Transaction, found: Sequence[MatchedEntry], now: datetime
) -> tuple[InboxLine, ...]:
    """Results as a list shows them, with who is at them."""
    leases = tx.reviews.leases_of_tasks([match.entry.task_id for match in found], now)
    lines = []
    for entry, detail in found:
        lease = leases.get(entry.task_id)
        lines.append(
            InboxLine(
                task_id=entry.task_id,
                result_id=entry.result_id,
                stage=detail.stage,
                title=detail.title or "",
                block_index=detail.block_index,
                reasons=reasons_from_bits(entry.reasons),
                score=None if entry.score is None else entry.score / THOUSAND,
                state=TaskState(detail.state),
                review_state=ReviewState(detail.review_state),
                reviewer=detail.reviewer,
                reviewed_at=from_micros_or_none(detail.reviewed_at),
                excerpt=detail.excerpt or "",
                data=stored_json(detail.data),
                held_by=lease.who if lease else None,
                held_until=lease.until if lease else None,
            )
        )
    return tuple(lines)


def count_inbox(tx: Transaction, spec: RunSpec, stage: str | None) -> InboxCounts:
    """How many results there are by their first reason, each counted up to a bound."""
    stages = reviewed_stages(spec, stage)
    counts: dict[str, int] = {}
    for name, rank in (*((reason.value, reason.rank) for reason in ReviewReason), (NONE, REST)):
        counts[name] = sum(
            tx.inbox.count_inbox(number, ReviewState.UNREVIEWED, rank, COUNTED) for number in stages
        )
    decided = sum(
        tx.inbox.count_decided(number, review, COUNTED) for number in stages for review in DECIDED
    )
    capped = decided >= COUNTED or any(count >= COUNTED for count in counts.values())
    return InboxCounts(by_reason=counts, left=sum(counts.values()), decided=decided, capped=capped)


def parse_place(after: str | None) -> Place:
    """The place that a page ended at."""
    if not after:
        return START
    rank, dot, result = after.partition(".")
    if not (dot and rank.isdecimal() and result.isdecimal()):
        raise _no_place(after)
    place = int(rank[:DIGITS]), int(result[:DIGITS])
    if max(place) > LARGEST:
        raise _no_place(after)
    return place


def _no_place(after: str) -> UsageError:
    return UsageError(f"{after!r} is no place in an inbox", "take `next` of the page before")
