"""Moments as the ledger stores them: microseconds since 1970, UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Store an aware moment; a naive one is refused by the subtraction."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Read a stored moment."""
    return _EPOCH + timedelta(microseconds=micros)


def maybe_moment(micros: int | None) -> datetime | None:
    """Read a stored moment that may be missing."""
    return None if micros is None else from_micros(micros)
