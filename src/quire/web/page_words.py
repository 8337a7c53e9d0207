"""Page words: how pages show moments, shares of a bar and addresses; the filters of templates."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from markupsafe import Markup, escape

from quire.domain.plain_text import TURNING
from quire.domain.pricing import cost_words, dollars

_TURNING = tuple(sorted(map(ord, TURNING)))
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&\u2028\u2029"), *_TURNING)}
LEAST_SHARE = 0.5  # hundredths of a bar
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class BarShare(NamedTuple):
    """A part of a bar, in hundredths of its length."""

    kind: str
    start: float
    width: float


def ago(at: datetime, now: datetime) -> str:
    """How long ago a moment was, or in how long it will be; the script says it alike."""
    seconds = (now - at).total_seconds()
    length = abs(seconds)
    if length < 5:
        return "now"
    if seconds < 0 and length > 3_600:
        length += 60  # a token of 30 days that was just made runs out in 30 days
    unit, size = next(item for item in _UNITS if length >= item[1])
    words = f"{int(length // size)} {unit}"
    return f"in {words}" if seconds < 0 else f"{words} ago"


def clock(at: datetime) -> str:
    """A moment, to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def shares(parts: Iterable[tuple[str, float]], total: float) -> list[BarShare]:
    """Where the parts of a bar begin, and how long they are; what is there is never invisible."""
    there = [(kind, amount) for kind, amount in parts if amount > 0 and total > 0]
    widths = [max(100 * amount / total, LEAST_SHARE) for _, amount in there]
    scale = min(1.0, 100 / sum(widths)) if widths else 1.0
    found: list[BarShare] = []
    start = 0.0
    for (kind, _), width in zip(there, widths, strict=True):
        found.append(BarShare(kind, round(start, 3), round(width * scale, 3)))
        start += width * scale
    return found


def with_query(url: str, **values: object) -> str:
    """An address with some of its query changed; None takes a part away."""
    parts = urlsplit(url)
    kept = [(key, value) for key, value in parse_qsl(parts.query) if key not in values]
    added = [(key, str(value)) for key, value in values.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode(kept + added)))


def duration(seconds: float | None) -> str:
    """A length of time in words, roughly."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


def cents(pico: int) -> str:
    """An amount as it stands on a button: two places, more where it is less than a dime."""
    usd = pico / 10**12
    if usd == 0:
        return "$0"
    if usd >= 0.1:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= 0.0001 else dollars(pico)


_CONTROLS: dict[int, int | str] = {
    code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t\r"
}
_CONTROLS |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}
_CONTROLS |= {code: f"⟨U+{code:04X}⟩" for code in _TURNING}


def show_controls(value: Any) -> Any:
    """A value of a template; control characters in a text become visible, as ␛ for escape.

    So do the marks that turn the direction of what follows: a name would read as another.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.translate(_CONTROLS)
    return value


def code(text: str) -> Markup:
    """A line in which commands stand between backticks, these shown as commands."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one is left over: it is no pair's
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def sentence(text: str) -> str:
    """A text that begins as sentences do."""
    return text[:1].upper() + text[1:]


def percent(rate: float) -> str:
    """A rate as people say it."""
    return f"{100 * rate:.1f}".removesuffix(".0") + " %"


def safe_json(text: str) -> Markup:
    """JSON text for a script to read; nothing in it ends the element that it stands in."""
    return Markup(text.translate(_JSON_ESCAPES))  # noqa: S704 - it is escaped, as JSON is


FILTERS = {
    "ago": ago,
    "cents": cents,
    "clock": clock,
    "code": code,
    "cost_words": cost_words,
    "dollars": dollars,
    "duration": duration,
    "percent": percent,
    "safe_json": safe_json,
    "sentence": sentence,
    "shares": shares,
    "with_query": with_query,
}
