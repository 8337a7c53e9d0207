"""Strings by rule: restated text, first words, and what formats and patterns ask for."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from jsonschema_rs import ValidationError, validator_for

from quire.domain.data import Json, JsonObject
from quire.simulated.keywords import text, whole
from quire.simulated.patterns import example
from quire.simulated.subject import Subject, choose, seed_of

RESTATES = ("content", "revised", "rewrite")  # a key that contains one of these restates the block
FIRST_WORDS = 8
_REPEATS = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
_PLAIN = ("1234567890", "12", "abc", "ABC", "2024-01-01", "a1", "Abc abc.")
_DAYS = 9_131  # from 2000-01-01, twenty-five years

_IN_TEXT = {
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "date-time": re.compile(r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z"),
    "email": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b", re.ASCII),
    "uri": re.compile(r"\bhttps?://[\w./~%-]*[\w/]", re.ASCII),
}

Words = Callable[[Subject], str]


def restates(name: str) -> bool:
    """Say whether a field of this name carries the block's own text."""
    lowered = name.lower()
    return any(each in lowered for each in RESTATES)


def strings(schema: JsonObject, name: str) -> Words:
    """Write a string: by pattern, else by format, else by the field's name."""
    pattern = text(schema, "pattern")
    if pattern is not None:
        return _matching(schema, pattern)
    form = text(schema, "format")
    if form in _INVENTED:
        return _formatted(schema, form, seed_of(name))
    fit = fitted(schema)
    if name == "first_40_chars":
        return lambda subject: fit(subject.content[:40])
    if restates(name):
        return lambda subject: fit(" ".join(subject.words))
    return lambda subject: fit(" ".join(subject.words[:FIRST_WORDS]))


def fitted(schema: JsonObject) -> Callable[[str], str]:
    """Clip to maxLength and pad to minLength, both in code points."""
    most, least = whole(schema, "maxLength"), whole(schema, "minLength") or 0
    if most is None:
        return (lambda said: said.ljust(least, ".")) if least else lambda said: said
    return lambda said: said[:most].ljust(least, ".")


def satisfies(schema: JsonObject) -> Callable[[Json], bool]:
    """Make the check that the shape gate would make; a schema it cannot read accepts nothing."""
    try:
        return validator_for(dict(schema), validate_formats=True).is_valid
    except (ValidationError, ValueError):
        return lambda _value: False


def _formatted(schema: JsonObject, form: str, seed: int) -> Words:
    accepted, invent, written = satisfies(schema), _INVENTED[form], _IN_TEXT.get(form)

    def write(subject: Subject) -> str:
        for found in written.finditer(subject.content) if written else ():
            if accepted(found.group()):
                return found.group()
        return invent(subject, seed)

    return write


def _matching(schema: JsonObject, pattern: str) -> Words:
    accepted = satisfies({"type": "string"} | dict(schema))
    examples = (example(pattern, repeats) for repeats in _REPEATS)
    candidates = (each for each in (*examples, *_PLAIN) if each is not None and accepted(each))
    settled = next(candidates, None)
    try:
        # Anchors hold for the value, which may stand anywhere in the block.
        written = re.compile(pattern.removeprefix("^").removesuffix("$"))
    except re.error:
        written = re.compile(r"\S+")  # a dialect we do not read; one of the words may still do
    fit = fitted(schema)

    def write(subject: Subject) -> str:
        found = written.search(subject.content)
        if found and accepted(found.group()):
            return found.group()
        return settled if settled is not None else fit(" ".join(subject.words[:FIRST_WORDS]))

    return write


def _day(subject: Subject, seed: int) -> str:
    days = choose(subject.choice, seed) % _DAYS
    return (date(2000, 1, 1) + timedelta(days=days)).isoformat()


def _clock(subject: Subject, seed: int) -> str:
    hour, minute = divmod(choose(subject.choice, seed + 1) % 1440, 60)
    return f"{hour:02}:{minute:02}:00Z"


def _handle(subject: Subject) -> str:
    letters = re.sub(r"[^a-z0-9]+", "", "".join(subject.words[:1]).lower())
    return letters[:30] or "someone"


def _uuid(subject: Subject, seed: int) -> str:
    parts = [choose(subject.choice, seed + each) for each in range(4)]
    digits = "".join(f"{each:08x}" for each in parts)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


_INVENTED: dict[str, Callable[[Subject, int], str]] = {
    "date": _day,
    "time": _clock,
    "date-time": lambda subject, seed: f"{_day(subject, seed)}T{_clock(subject, seed)}",
    "email": lambda subject, _seed: f"{_handle(subject)}@example.com",
    "uri": lambda subject, _seed: f"https://example.com/{_handle(subject)}",
    "uuid": _uuid,
}
