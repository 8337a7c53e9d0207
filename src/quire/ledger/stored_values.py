"""Stored values: moments as microseconds since 1970, and texts that both databases can keep."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Store an aware moment; a naive one is refused by the subtraction."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Read a stored moment."""
    return _EPOCH + timedelta(microseconds=micros)


def from_micros_or_none(micros: int | None) -> datetime | None:
    """Read a stored moment that may be missing."""
    return None if micros is None else from_micros(micros)


_NUL = "\0"
_REPLACEMENT = "\ufffd"


def storable_text(text: str) -> str:
    """Mend a message that may quote anything; content is refused earlier instead."""
    if text.isascii():
        return text.replace(_NUL, _REPLACEMENT) if _NUL in text else text
    return text.encode(errors="replace").decode().replace(_NUL, _REPLACEMENT)
