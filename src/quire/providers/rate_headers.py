"""Rate headers: what a response says of our rate limits, and after how long to retry."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from quire.domain.accounts import Rates
from quire.domain.models import Limits

_DURATION = re.compile(
    r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?"
)
_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_LONGEST = 366 * 86_400.0
_MOST = 2**53

# The ending of a header's name for each kind; the smallest value of a kind is the one that binds.
_REQUESTS = ("requests", "req-minute")
_TOKENS = ("tokens", "project-tokens", "tokens-minute")


class _HeaderNames(NamedTuple):
    """Names of headers, written once: every answer is looked through for them."""

    limit: tuple[str, ...]
    remaining: tuple[str, ...]
    reset: tuple[str, ...]


def _header_names(kinds: tuple[str, ...]) -> _HeaderNames:
    words = ("limit", "remaining", "reset")
    return _HeaderNames(*(tuple(f"x-ratelimit-{word}-{kind}" for kind in kinds) for word in words))


_OF_REQUESTS, _OF_TOKENS = map(_header_names, (_REQUESTS, _TOKENS))
_STATED = (_OF_REQUESTS.limit, _OF_TOKENS.limit, _OF_REQUESTS.remaining, _OF_TOKENS.remaining)
_STATED_OF_TOKENS = ((), _OF_TOKENS.limit, (), _OF_TOKENS.remaining)
_NOTHING_STATED = [None] * 4


def read_rates(headers: Mapping[str, str], *, requests_a_minute: bool = True) -> Rates | None:
    """Read `x-ratelimit-*`; where requests are counted by the day they are left out."""
    names = _STATED if requests_a_minute else _STATED_OF_TOKENS
    most, most_tokens, left, left_tokens = stated = [_smallest(headers, kind) for kind in names]
    if stated == _NOTHING_STATED:
        return None
    return Rates(_limits(most, most_tokens), _limits(left, left_tokens))


def retry_after(headers: Mapping[str, str], came_at: datetime | None = None) -> float | None:
    """Seconds until a refused call may come again; None where nobody says.

    A date is counted from the server's own clock; where that is not told, from when it came.
    """
    seconds = _seconds(headers.get("retry-after-ms", ""), 0.001)
    if seconds is None:
        seconds = _seconds(headers.get("retry-after", ""))
    if seconds is None:
        now = _moment(headers.get("date", "")) or came_at
        seconds = _seconds_between(now, _moment(headers.get("retry-after", "")))
    return seconds if seconds is not None else _seconds_to_reset(headers)


@lru_cache(maxsize=1024)
def duration(value: str) -> float | None:
    """Read `6ms`, `1m30s` or plain seconds."""
    plain = _seconds(value)
    if plain is not None:
        return plain
    found = _DURATION.fullmatch(value.strip()[:40])
    if found is None or not found.group():
        return None
    parts = zip(found.groups(), _SECONDS, strict=True)
    return min(sum(float(number) * unit for number, unit in parts if number), _LONGEST)


def _seconds_to_reset(headers: Mapping[str, str]) -> float | None:
    """When what is used up is there again; tokens may be too few without being used up."""
    kinds = zip(
        _OF_REQUESTS.remaining + _OF_TOKENS.remaining,
        _OF_REQUESTS.reset + _OF_TOKENS.reset,
        strict=True,
    )
    used_up = tuple(reset for left, reset in kinds if _number(headers.get(left)) == 0)
    return _longest(headers, used_up or _OF_TOKENS.reset)


def _longest(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    resets = [duration(headers[name]) for name in names if name in headers]
    return max((reset for reset in resets if reset is not None), default=None)


def _seconds_between(now: datetime | None, then: datetime | None) -> float | None:
    if then is None or now is None:
        return None
    return min(max(0.0, (then - now).total_seconds()), _LONGEST)


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value[:60])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # HTTP knows no other zone


def _seconds(value: str, unit: float = 1.0) -> float | None:
    try:
        number = float(value[:40]) * unit
    except ValueError:
        return None
    return min(number, _LONGEST) if isfinite(number) and number >= 0 else None


@lru_cache(maxsize=64)
def _limits(requests: int | None, tokens: int | None) -> Limits:
    return Limits(requests=requests, total=tokens)


def _smallest(headers: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    least: int | None = None
    for name in names:
        number = _number(headers[name]) if name in headers else None
        if number is not None and (least is None or number < least):
            least = number
    return least


@lru_cache(maxsize=1024)  # what is allowed stays the same, and what is left often does
def _number(value: str | None) -> int | None:
    value = (value or "").strip()
    if not (value.isdigit() and value.isascii()) or len(value) > 16:
        return None
    return min(int(value), _MOST)
