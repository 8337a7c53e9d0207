"""Stored values: moments as microseconds since 1970, texts that both databases keep, whole rows."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

from quire.domain.data import stored_json
from quire.ledger.connection import Row

Value = TypeVar("Value")

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


def row_reader(kind: type[Value]) -> Callable[[Row], Value]:
    """Read rows whose columns are the fields of a class, in order, each by its field's type.

    Moments, enums, JSON and truth values are converted; what is missing stays None.
    """
    converters = [(name, _converter(hint)) for name, hint in kind.__annotations__.items()]

    def read(row: Row) -> Value:
        columns = zip(converters, row, strict=True)
        return kind(
            **{
                name: value if convert is None or value is None else convert(value)
                for (name, convert), value in columns
            }
        )

    return read


def _converter(hint: Any) -> Callable[[Any], object] | None:
    if get_origin(hint) in (dict, Mapping):
        return stored_json
    for kind in (hint, *get_args(hint)):  # of `datetime | None` either
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind
        if kind in _CONVERTERS:
            return _CONVERTERS[kind]
    return None


_CONVERTERS: Mapping[Any, Callable[[Any], object]] = {datetime: from_micros, bool: bool}
