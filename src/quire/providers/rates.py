"""What headers say of our limits, and when to come again, in the words of OpenAI and its kin."""

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import isfinite

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


def read_rates(headers: Mapping[str, str], *, requests_a_minute: bool = True) -> Rates | None:
    """Read `x-ratelimit-*`; where requests are counted by the day they are left out."""
    kinds = _REQUESTS if requests_a_minute else ()
    limits = Limits(
        requests=_least(headers, "limit", kinds), total=_least(headers, "limit", _TOKENS)
    )
    left = Limits(
        requests=_least(headers, "remaining", kinds), total=_least(headers, "remaining", _TOKENS)
    )
    if limits == left == _UNLIMITED:
        return None
    resets = [
        seconds
        for kind in (*kinds, *_TOKENS)
        if (seconds := duration(headers.get(f"x-ratelimit-reset-{kind}", ""))) is not None
    ]
    return Rates(limits, left, max(resets, default=None))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until a refused call may come again; None where nobody says."""
    told = _seconds(headers.get("retry-after-ms", ""), 0.001)
    if told is None:
        told = _seconds(headers.get("retry-after", ""))
    if told is None:
        told = _until(headers.get("retry-after", ""), headers.get("date", ""))
    return told if told is not None else _reset(headers)


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


def _reset(headers: Mapping[str, str]) -> float | None:
    """When what is used up is there again; tokens may be too few without being used up."""
    used_up = [
        headers.get(f"x-ratelimit-reset-{kind}", "")
        for kind in (*_REQUESTS, *_TOKENS)
        if _number(headers, f"x-ratelimit-remaining-{kind}") == 0
    ]
    resets = [duration(each) for each in used_up or [headers.get("x-ratelimit-reset-tokens", "")]]
    return max((each for each in resets if each is not None), default=None)


def _until(value: str, date: str) -> float | None:
    """A date, counted from the server's own clock."""
    then, now = _moment(value), _moment(date)
    if then is None or now is None or (then.tzinfo is None) != (now.tzinfo is None):
        return None
    return min(max(0.0, (then - now).total_seconds()), _LONGEST)


def _moment(value: str) -> datetime | None:
    try:
        return parsedate_to_datetime(value[:60])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _seconds(value: str, unit: float = 1.0) -> float | None:
    try:
        number = float(value[:40]) * unit
    except ValueError:
        return None
    return min(number, _LONGEST) if isfinite(number) and number >= 0 else None


def _least(headers: Mapping[str, str], word: str, kinds: tuple[str, ...]) -> int | None:
    numbers = [_number(headers, f"x-ratelimit-{word}-{kind}") for kind in kinds]
    return min((each for each in numbers if each is not None), default=None)


def _number(headers: Mapping[str, str], name: str) -> int | None:
    value = headers.get(name, "").strip()
    if not value.isascii() or not value.isdigit() or len(value) > 16:
        return None
    return min(int(value), _MOST)


_UNLIMITED = Limits()
