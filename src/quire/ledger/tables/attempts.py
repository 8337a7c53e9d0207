"""Attempts and responses: every sending, and every paid answer as it came."""

import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from quire.domain.errors import OddBody
from quire.domain.ids import AttemptId, LaneId, RequestId, RunId, SliceId, StageId, WorkerId
from quire.domain.requests import (
    Answer,
    AnsweredAttempt,
    AttemptGroup,
    AttemptRow,
    MovedAttempt,
    NewAttempt,
    OutputSample,
    Reply,
    Stop,
)
from quire.domain.states import ATTEMPT, AttemptMove, AttemptState
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros_or_none, storable_text, to_micros
from quire.ledger.tables.table import Table

ENCODING_ERRORS = (
    "replace"  # half a surrogate pair becomes "?": the raw response beside it is exact
)
_STOPS = {item.value: item for item in Stop}
MEMORY_LEVEL = 5  # of 9; setting up more of it takes longer than the work itself
_UNCOMPRESSED = b"\x78\x01\x01"  # how a zlib stream begins that is one block, not compressed
_FRAME_BYTES = 11  # bytes of such a stream that are not its contents
COMPRESS_FROM = 4096  # bytes; below this, compressing costs more than the disk it saves


class AttemptEnd(NamedTuple):
    """How an attempt without an answer ended."""

    id: AttemptId
    error: str
    cost: int | None
    cost_basis: str | None


class OpenAttempts(NamedTuple):
    """Attempts that wait for their answers, and what was reserved for them."""

    attempts: int
    in_slices: int  # as many of them were reserved for in a slice
    first_slice: SliceId | None
    last_slice: SliceId | None
    reserved: int | None  # for all of them; None where there are none

    @property
    def only_slice(self) -> SliceId | None:
        """The slice that all of them were reserved for in; None where there are several."""
        alike = self.in_slices == self.attempts and self.first_slice == self.last_slice
        return self.first_slice if alike else None


class SentSize(NamedTuple):
    """How much an attempt sent."""

    id: AttemptId
    lane_id: LaneId
    tasks: int
    content_bytes: int


class UndecodedResponse(NamedTuple):
    """A stored response that the decoder of its day could not read."""

    attempt_id: AttemptId
    provider: str
    decoder_version: int
    cost: int  # as presumed
    run_id: RunId
    stage_id: StageId
    lane_id: LaneId
    batched: bool  # it came in a batch, and costs what such calls do
    slice_id: SliceId | None  # that it was reserved from
    raw: bytes


class Attempts(Table):
    """The workspace's attempts and their responses."""

    def take_ids(self, count: int) -> list[AttemptId]:
        """Set keys aside."""
        return [AttemptId(number) for number in self._connection.take_ids("attempts", count)]

    def add_attempts(self, group: AttemptGroup, attempts: Sequence[NewAttempt]) -> None:
        """Write the intent to send, before anything is sent."""
        self._connection.run_many(
            "add_attempts",
            attempts,
            worker=group.worker_id,
            provider=group.provider,
            model=group.model,
            credential=group.credential_id,
            sent_at=group.sent_at,
            slice=group.slice_id,
            state=str(ATTEMPT.start),
        )

    def move_attempts(
        self,
        name: AttemptMove,
        attempts: Sequence[AttemptId],
        sources: Iterable[AttemptState] | None = None,
    ) -> dict[AttemptId, MovedAttempt]:
        """Make a move with every attempt that is where it starts; returns who moved, from where."""
        if not attempts:
            return {}
        moved = self._move("move_attempts", ATTEMPT, name, sources, ids=attempts)
        return {row[0]: MovedAttempt(source, *row[1:]) for source, rows in moved for row in rows}

    def move_attempt_group(
        self, name: AttemptMove, attempts: Sequence[AttemptId], source: AttemptState
    ) -> None:
        """Make a move with attempts that this transaction read in one state: the fast way."""
        self._move_group("move_attempt_group", ATTEMPT, name, source, attempts)

    def end_attempts(self, endings: Sequence[AttemptEnd], now: datetime) -> None:
        """Note how attempts without an answer ended."""
        at = to_micros(now)
        rows = [(ending.id, at, storable_text(ending.error), *ending[2:]) for ending in endings]
        self._connection.run_many("end_attempts", rows)

    def answer_open_attempts(self, answers: Sequence[Answer], now: datetime) -> OpenAttempts | None:
        """Answer attempts that are all open and readable; if one is not, do nothing: None.

        Returns what was reserved for them, and where.
        """
        ids = [answer.attempt_id for answer in answers]
        at = to_micros(now)
        source, target = str(ATTEMPT.start), str(ATTEMPT.targets[AttemptMove.ANSWER])
        used = [
            (*_usage_row(answer.attempt_id, answer.reply, answer.cost, at), source, target)
            for answer in answers
            if answer.reply is not None
        ]
        if len(used) < len(ids):
            return None
        found = self._count_open_attempts(ids)
        if found.attempts < len(ids):
            return None
        self._connection.run_many("answer_attempts", used)
        self._connection.run_many("add_responses", list(map(_response_row, answers)), stored_at=at)
        return found

    def _count_open_attempts(self, attempts: Sequence[AttemptId]) -> OpenAttempts:
        return OpenAttempts(*self._run("count_open_attempts", ids=attempts)[0])

    def store_answers(self, answers: Sequence[Answer], now: datetime) -> None:
        """Keep paid answers, raw and decoded, with what they used and cost."""
        at = to_micros(now)
        self._connection.run_many("add_responses", list(map(_response_row, answers)), stored_at=at)
        used = [
            _usage_row(answer.attempt_id, answer.reply, answer.cost, at)
            for answer in answers
            if answer.reply
        ]
        self._connection.run_many("count_usage", used)
        unread = [answer for answer in answers if not answer.reply]
        self.end_attempts(
            [
                AttemptEnd(
                    answer.attempt_id,
                    answer.problem,
                    answer.cost,
                    "free" if answer.odd is OddBody.PAGE else "presumed",
                )
                for answer in unread
            ],
            now,
        )

    def replace_decoded(self, attempt: AttemptId, reply: Reply, version: int, cost: int) -> None:
        """Put what a mended decoder read beside the raw response; the codec stays the raw one's."""
        rows = self._connection.run("response_codec", id=attempt)
        encode = _compress if rows[0][0] == "zlib" else bytes
        self._connection.change(
            "redecode_response",
            id=attempt,
            decoded=encode(reply.text.encode(errors=ENCODING_ERRORS)),
            reasoning=encode(reply.reasoning.encode(errors=ENCODING_ERRORS))
            if reply.reasoning
            else None,
            version=version,
            stop=reply.stop.value,
        )
        self._connection.run_many("count_usage", [_usage_row(attempt, reply, cost, rows[0][1])])

    def sizes_of_attempts(self, attempts: Sequence[AttemptId]) -> list[SentSize]:
        """How much these attempts sent."""
        return self._list(SentSize, "sizes_of_attempts", ids=attempts)

    def undecoded_responses(self) -> list[UndecodedResponse]:
        """Responses that the decoder of their day could not read."""
        return [
            UndecodedResponse._make(
                (*row[:7], row[7] is not None, row[8], decompress(row[9], row[10]) or b"")
            )
            for row in self._run("undecoded_responses")
        ]

    def attempts_by_id(self, attempts: Sequence[AttemptId]) -> list[AttemptRow]:
        """Some attempts with where they belong."""
        return self._list(AttemptRow, "attempts_by_id", ids=attempts)

    def open_attempts_of_workers(self, workers: Sequence[WorkerId]) -> list[AttemptRow]:
        """What some workers have out, in every workspace."""
        return self._list(AttemptRow, "open_attempts_of_workers", workers=workers)

    def unknown_attempts(self, before: datetime, limit: int) -> list[tuple[AttemptId, int]]:
        """Lost attempts of every workspace whose grace is over, with their reservations."""
        return self._run("unknown_attempts", before=to_micros(before), limit=limit)

    def take_answered(self, limit: int, without: Iterable[RunId] = ()) -> list[AnsweredAttempt]:
        """Stored answers that nobody has judged yet, taken for this transaction."""
        if left := sorted(without):
            rows = self._run("answered_attempts_without", limit=limit, without=left)
        else:
            rows = self._run("answered_attempts", limit=limit)
        return [to_answered(row) for row in rows]

    def output_samples(
        self, lane: LaneId, limit: int, *, refusals: bool = False
    ) -> list[OutputSample]:
        """Output sizes of the lane's last answers that ended by themselves; refusals if asked."""
        asked = {"lane": lane, "limit": limit, "refusals": int(refusals)}
        return self._list(OutputSample, "output_samples", **asked)

    def count_unread_answers(self, request: RequestId) -> int:
        """How many answers to a request nobody could read."""
        return self._count("count_unread_answers", request=request)

    def has_answered(self, model: str) -> bool:
        """Whether anything ever came back from a model."""
        return bool(self._run("has_answered", model=model))

    def first_sending(self, lane: LaneId) -> tuple[datetime | None, int]:
        """When the first call of a lane went out, and how many of its calls came to nothing."""
        first, failed = self._run("first_sending", lane=lane)[0]
        return from_micros_or_none(first), failed

    def is_first_sending_out(self, lane: LaneId, besides: RequestId) -> bool:
        """Whether a call of a lane, besides one, is out for the first time."""
        return bool(self._run("is_first_sending_out", lane=lane, besides=besides))

    def last_error(self, run: RunId) -> str | None:
        """Why the newest call of a run that waits to go again came to nothing."""
        return self._one(itemgetter(0), "last_error", run=run)

    def purged_attempts(self, attempts: Sequence[AttemptId]) -> set[AttemptId]:
        """Which of these were sent for a request whose words are erased by now."""
        return set(self._column("purged_attempts", ids=attempts))

    def spend_of_run(self, run: RunId) -> tuple[int, int]:
        """Known and presumed spend, from the attempts themselves."""
        row = self._run("spend_of_run", run=run)[0]
        return row[0], row[1]


def decompress(stored: bytes | None, codec: str) -> bytes | None:
    """Read stored bytes back."""
    if stored is None or codec != "zlib":
        return stored
    size = len(stored) - _FRAME_BYTES
    if stored.startswith(_UNCOMPRESSED) and int.from_bytes(stored[3:5], "little") == size:
        return stored[7:-4]
    return zlib.decompress(stored)


def _compress(plain: bytes) -> bytes:
    """Compress; what is short stays as it is, in a form that reads as if it were compressed."""
    size = len(plain)
    if size < COMPRESS_FROM:
        lengths = size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
        return b"".join((_UNCOMPRESSED, lengths, plain, zlib.adler32(plain).to_bytes(4, "big")))
    compressor = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY_LEVEL)
    return compressor.compress(plain) + compressor.flush()


def _response_row(answer: Answer) -> Row:
    reply = answer.reply
    text = None if reply is None else reply.text.encode(errors=ENCODING_ERRORS)
    reasoning = reply.reasoning.encode(errors=ENCODING_ERRORS) if reply and reply.reasoning else b""
    raw, codec = answer.raw, "plain"
    if len(raw) >= COMPRESS_FROM:
        codec, raw = "zlib", _compress(raw)
        text = None if text is None else _compress(text)
        reasoning = _compress(reasoning) if reasoning else b""
    stop = None if reply is None else reply.stop.value
    return (answer.attempt_id, raw, text, reasoning, codec, answer.decoder_version, stop)


def _usage_row(attempt: AttemptId, reply: Reply, cost: int, at: int) -> Row:
    usage = reply.usage
    return (
        attempt,
        at,
        usage.input,
        usage.output,
        usage.cached,
        usage.written_short,
        usage.written_long,
        usage.reasoning,
        cost,
        "usage" if usage.exact else "presumed",
    )


def to_answered(row: Row) -> AnsweredAttempt:
    """An answer as it was stored, with its reasoning where that may be all there is."""
    decoded, codec, stop, reasoning = row[-4:]
    text = decoded if codec == "plain" else decompress(decoded, codec) or b""
    thought = (decompress(reasoning, codec) or b"").decode() if reasoning else ""
    return tuple.__new__(AnsweredAttempt, (*row[:-4], text.decode(), _STOPS[stop], thought))
