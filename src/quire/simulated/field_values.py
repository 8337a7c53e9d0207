"""Field values: numbers and strings that a schema's keywords allow, chosen by one block's text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple
from zlib import crc32

from jsonschema_rs import ValidationError, validator_for

from quire.domain.data import Json, JsonObject
from quire.domain.quotes import is_quote_name
from quire.simulated.judge_prompts import material_of
from quire.simulated.pattern_examples import example_match

_ODD = 0x9E3779B97F4A7C15  # multiplying by it spreads every bit, so fields choose independently


class BlockText(NamedTuple):
    """What one record is written from; a NamedTuple because one is made for every block."""

    content: str
    words: list[str]
    choice: int  # stable for equal content, on every machine and in every process


def read_block_text(content: str) -> BlockText:
    """Read one block; its place, its id and its neighbours play no part."""
    return BlockText(content, content.split(), crc32(content.encode("utf-8", "surrogatepass")))


def choose(choice: int, seed: int) -> int:
    """Choose a number below 2**32 that looks unrelated to what another seed would choose."""
    return (choice ^ seed) * _ODD >> 29 & 0xFFFFFFFF


def seed_of(name: str) -> int:
    """Give a field its own seed."""
    return crc32(name.encode("utf-8", "surrogatepass"))


def whole_keyword(schema: JsonObject, key: str) -> int | None:
    """Read a length or a count."""
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value)


def exact_keyword(schema: JsonObject, key: str) -> Fraction | None:
    """Read a bound as the decimal that was written, not as its nearest binary fraction."""
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(repr(value))


def text_keyword(schema: JsonObject, key: str) -> str | None:
    """Read a pattern or a format."""
    value = schema.get(key)
    return value if isinstance(value, str) else None


def list_keyword(schema: JsonObject, key: str) -> Sequence[Json]:
    """Read a list; empty where there is none."""
    value = schema.get(key)
    return value if isinstance(value, list | tuple) else ()


def type_names(schema: JsonObject) -> tuple[str, ...]:
    """Read the types a value may have; where none is given, what the other keywords imply."""
    given = schema.get("type")
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list | tuple):
        return tuple(item for item in given if isinstance(item, str))
    for keyword, implied in (("properties", "object"), ("items", "array")):
        if keyword in schema:
            return (implied,)
    return ()


SPREAD = 100  # how many steps an open range is taken to have


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The allowed values: base + step × k, for k from first to last; None where open."""

    first: int | None
    last: int | None
    step: Fraction
    base: Fraction = Fraction(0)

    def closed_range(self) -> tuple[int, int]:
        """Close an open range near zero, or near its one bound."""
        if self.first is not None:
            last = self.first + SPREAD if self.last is None else self.last
            return self.first, max(self.first, last)
        if self.last is None:
            return 0, SPREAD
        return (0 if 0 <= self.last <= SPREAD else self.last - SPREAD), self.last


def integer_writer(schema: JsonObject, name: str) -> Callable[[BlockText], int]:
    """Write an integer: `word_count` is counted, any other name is chosen."""
    factor = exact_keyword(schema, "multipleOf")
    # An integer that is a multiple of p/q is a multiple of p.
    step = factor.numerator if factor else 1
    steps = _allowed_steps(schema, Fraction(step))
    if name == "word_count":
        low = -(10**18) if steps.first is None else steps.first
        high = 10**18 if steps.last is None else steps.last
        return lambda block: max(low, min(high, len(block.words) // step)) * step
    first, last = steps.closed_range()
    size, seed = last - first + 1, seed_of(name)
    return lambda block: (first + choose(block.choice, seed) % size) * step


def number_writer(schema: JsonObject, name: str) -> Callable[[BlockText], int | float]:
    """Write a number with at most two decimals where the bounds leave room for them."""
    if name == "word_count":
        return integer_writer(schema, name)
    factor = exact_keyword(schema, "multipleOf")
    steps = _allowed_steps(schema, factor or Fraction(1, 100))
    if not factor and steps.first is not None and steps.last is not None:
        steps = steps if steps.first <= steps.last else _steps_between(schema)
    first, last = steps.closed_range()
    size, seed = last - first + 1, seed_of(name)
    base, step = steps.base, steps.step
    if not base:  # dividing two integers is rounded once, as the decimal itself would be
        top, bottom = step.numerator, step.denominator
        return lambda block: (first + choose(block.choice, seed) % size) * top / bottom
    return lambda block: float(base + (first + choose(block.choice, seed) % size) * step)


def _allowed_steps(schema: JsonObject, step: Fraction) -> Steps:
    bounds = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    least, above, most, below = (exact_keyword(schema, key) for key in bounds)
    firsts = [] if least is None else [ceil(least / step)]
    firsts += [] if above is None else [floor(above / step) + 1]
    lasts = [] if most is None else [floor(most / step)]
    lasts += [] if below is None else [ceil(below / step) - 1]
    return Steps(first=max(firsts, default=None), last=min(lasts, default=None), step=step)


def _steps_between(schema: JsonObject) -> Steps:
    """Find values in a range too narrow for hundredths."""
    lows = [exact_keyword(schema, key) for key in ("minimum", "exclusiveMinimum")]
    highs = [exact_keyword(schema, key) for key in ("maximum", "exclusiveMaximum")]
    low = max(fraction for fraction in lows if fraction is not None)
    high = min(fraction for fraction in highs if fraction is not None)
    if low >= high:
        return Steps(first=0, last=0, step=Fraction(1), base=low)
    return Steps(first=1, last=3, step=(high - low) / 4, base=low)


RESTATING_NAMES = ("content", "revised", "rewrite")  # keys that contain one restate the block
FIRST_WORDS = 8
MOST_QUOTED_WORDS = 5
_WORD = re.compile(r"\S+")
_REPEATS = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
_FALLBACK_MATCHES = ("1234567890", "12", "abc", "ABC", "2024-01-01", "a1", "Abc abc.")
_DAYS = 9_131  # from 2000-01-01, twenty-five years

_FORMAT_PATTERNS = {
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "date-time": re.compile(r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z"),
    "email": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b", re.ASCII),
    "uri": re.compile(r"\bhttps?://[\w./~%-]*[\w/]", re.ASCII),
}

StringWriter = Callable[[BlockText], str]


def is_restating_field(name: str) -> bool:
    """Say whether a field of this name carries the block's own text."""
    lowered = name.lower()
    return any(item in lowered for item in RESTATING_NAMES)


def string_writer(schema: JsonObject, name: str) -> StringWriter:
    """Write a string: by pattern, else by format, else by the field's name."""
    pattern = text_keyword(schema, "pattern")
    if pattern is not None:
        return _pattern_writer(schema, pattern)
    form = text_keyword(schema, "format")
    if form in _FORMAT_WRITERS:
        return _format_writer(schema, form, seed_of(name))
    fit = length_fitter(schema)
    if name == "first_40_chars":
        return lambda block: fit(block.content[:40])
    if is_quote_name(name):
        return lambda block: fit(_quoted_words(block, seed_of(name)))
    if is_restating_field(name):
        return lambda block: fit(" ".join(block.words))
    return lambda block: fit(" ".join(block.words[:FIRST_WORDS]))


def _quoted_words(block: BlockText, seed: int) -> str:
    """A few words of the block, to the letter; of material, where some of it is marked as such."""
    text = material_of(block.content) or block.content
    words = [*_WORD.finditer(text)]
    if not words:
        return ""
    first = choose(block.choice, seed) % len(words)
    last = min(len(words), first + MOST_QUOTED_WORDS) - 1
    return text[words[first].start() : words[last].end()]


def length_fitter(schema: JsonObject) -> Callable[[str], str]:
    """Clip to maxLength and pad to minLength, both in code points."""
    most, least = whole_keyword(schema, "maxLength"), whole_keyword(schema, "minLength") or 0
    if most is None:
        return (lambda said: said.ljust(least, ".")) if least else lambda said: said
    return lambda said: said[:most].ljust(least, ".")


def schema_validator(schema: JsonObject) -> Callable[[Json], bool]:
    """Make the check that the shape gate would make; a schema it cannot read accepts nothing."""
    try:
        return validator_for(dict(schema), validate_formats=True).is_valid
    except (ValidationError, ValueError):
        return lambda _value: False


def _format_writer(schema: JsonObject, form: str, seed: int) -> StringWriter:
    accepted, invent = schema_validator(schema), _FORMAT_WRITERS[form]
    written = _FORMAT_PATTERNS.get(form)

    def write(block: BlockText) -> str:
        for found in written.finditer(block.content) if written else ():
            if accepted(found.group()):
                return found.group()
        return invent(block, seed)

    return write


def _pattern_writer(schema: JsonObject, pattern: str) -> StringWriter:
    accepted = schema_validator({"type": "string"} | dict(schema))
    examples = (example_match(pattern, repeats) for repeats in _REPEATS)
    candidates = (item for item in (*examples, *_FALLBACK_MATCHES) if item is not None)
    settled = next(filter(accepted, candidates), None)
    try:
        # Anchors hold for the value, which may stand anywhere in the block.
        written = re.compile(pattern.removeprefix("^").removesuffix("$"))
    except re.error:
        written = re.compile(r"\S+")  # a dialect we do not read; one of the words may still do
    fit = length_fitter(schema)

    def write(block: BlockText) -> str:
        found = written.search(block.content)
        if found and accepted(found.group()):
            return found.group()
        return settled if settled is not None else fit(" ".join(block.words[:FIRST_WORDS]))

    return write


def _day(block: BlockText, seed: int) -> str:
    days = choose(block.choice, seed) % _DAYS
    return (date(2000, 1, 1) + timedelta(days=days)).isoformat()


def _clock(block: BlockText, seed: int) -> str:
    hour, minute = divmod(choose(block.choice, seed + 1) % 1440, 60)
    return f"{hour:02}:{minute:02}:00Z"


def _handle(block: BlockText) -> str:
    letters = re.sub(r"[^a-z0-9]+", "", "".join(block.words[:1]).lower())
    return letters[:30] or "someone"


def _uuid(block: BlockText, seed: int) -> str:
    parts = [choose(block.choice, seed + number) for number in range(4)]
    digits = "".join(f"{part:08x}" for part in parts)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


_FORMAT_WRITERS: dict[str, Callable[[BlockText, int], str]] = {
    "date": _day,
    "time": _clock,
    "date-time": lambda subject, seed: f"{_day(subject, seed)}T{_clock(subject, seed)}",
    "email": lambda subject, _seed: f"{_handle(subject)}@example.com",
    "uri": lambda subject, _seed: f"https://example.com/{_handle(subject)}",
    "uuid": _uuid,
    "duration": lambda subject, seed: f"PT{1 + choose(subject.choice, seed) % 59}M",
    "hostname": lambda subject, _seed: f"{_handle(subject)}.example.com",
    "ipv4": lambda subject, seed: f"192.0.2.{choose(subject.choice, seed) % 256}",
    "ipv6": lambda subject, seed: f"2001:db8::{choose(subject.choice, seed) % 0xFFFF + 1:x}",
}
