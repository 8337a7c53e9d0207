"""One download of a batch's rows as they come: a group in memory, and which calls were seen."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from quire.domain.batches import BatchRow, RowEnd, attempt_of, named_in
from quire.domain.errors import ProviderError, Undecodable
from quire.domain.ids import AttemptId
from quire.domain.requests import Reply
from quire.pipeline.collect import Strays

GROUP = 1024  # answers stored in one transaction
HEAVY = 8  # answers that a row of any other kind counts as: it takes statements of its own
GROUP_BYTES = 8 * 2**20  # or so many bytes of them
KEPT = 1000  # lines of one batch that name no call, at most
KEPT_BYTES = 16 * 2**20

PAID = (RowEnd.ANSWERED, RowEnd.UNREADABLE)  # or so it may be


class Taken(NamedTuple):
    """A row that names a call of ours, without the JSON that it was read from."""

    attempt: AttemptId
    end: RowEnd
    raw: bytes
    error: ProviderError | None = None
    reply: Reply | Undecodable | None = None  # of an answer


class Download:
    """Sorts rows as they come; lines that nobody can read wait on disk for the end."""

    def __init__(self, nonces: frozenset[str]) -> None:
        """Begin with nothing; the nonces are all names that the batch was submitted under."""
        self._nonces = nonces
        self._group: list[Taken] = []
        self._size = 0  # bytes
        self._weight = 0
        self._seen: dict[AttemptId, bool] = {}  # whether what came was an answer
        self._duplicates = self._unread = self._nameless = 0
        self.answers = 0  # that came, whosesoever, and lines that may be some
        self._aside = SpooledTemporaryFile(GROUP_BYTES)  # noqa: SIM115 - closed with the download
        self.kept: list[bytes] = []  # lines that name no call
        self.strangers = 0
        self.moment = 0.0  # when it was last known to move

    def close(self) -> None:
        """Let go of what waits on disk."""
        self._aside.close()

    def take(self, row: BatchRow, reply: Reply | Undecodable | None) -> None:
        """Take the next row, and what was read of it if it is an answer."""
        self.answers += row.end in PAID
        if row.end is RowEnd.UNREADABLE:
            self._unread += 1
            self._aside.write(row.raw + b"\n")
            return
        named = attempt_of(row.custom_id)
        if named is None or named[0] not in self._nonces:
            self.strangers += 1
        else:
            self._add(Taken(AttemptId(named[1]), row.end, row.raw, row.error, reply))

    def take_unread(self) -> Iterator[None]:
        """Take what nobody could read, line by line, now that all that can be read is known.

        Where a call has a row that can be read, that one counts, whichever came first.
        """
        self._aside.seek(0)
        for line in self._aside:
            raw = line.removesuffix(b"\n")
            attempt = named_in(raw, self._nonces)
            if attempt is not None:
                self._add(Taken(AttemptId(attempt), RowEnd.UNREADABLE, raw))
                yield
                continue
            self._nameless += 1
            if len(self.kept) < KEPT and sum(map(len, self.kept)) + len(raw) <= KEPT_BYTES:
                self.kept.append(raw)

    def _add(self, taken: Taken) -> None:
        """Take the first row of a call; an answer also after others, for it is paid."""
        answered, before = taken.end is RowEnd.ANSWERED, self._seen.get(taken.attempt)
        if before or (before is not None and not answered):
            self._duplicates += 1
        else:
            self._seen[taken.attempt] = answered
            self._group.append(taken)
            self._size += len(taken.raw)
            self._weight += 1 if answered else HEAVY

    @property
    def is_empty(self) -> bool:
        """Whether nothing came that is, or may be, ours."""
        return not self._seen and not self._unread

    @property
    def is_foreign(self) -> bool:
        """Whether all that came belongs to somebody else."""
        return self.is_empty and self.strangers > 0

    @property
    def is_full(self) -> bool:
        """Whether the rows in memory are to be stored now."""
        return self._weight >= GROUP or self._size >= GROUP_BYTES

    def next_group(self) -> list[Taken]:
        """Hand over the rows in memory."""
        group, self._group, self._size, self._weight = self._group, [], 0, 0
        return group

    @property
    def strays(self) -> Strays:
        """What came besides answers."""
        return Strays(self._duplicates, self.strangers, self._unread, self._nameless)
