"""Template filters and tests: what may be done to values, metered so that all ends."""

import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, TypeAlias

from jinja2 import pass_context
from jinja2.runtime import Context, Undefined

from quire.planning.sizing import LONGEST_PROMPT

MOST_STEPS = 100_000  # items that loops and filters may look at while one text is rendered
MOST_WORK = 20_000_000  # characters that filters may read and make on the way
WIDEST = 100  # spaces of an indent, digits of a rounding
METER = "_meter"  # authors cannot name it: no name of theirs begins so

# What templates work on is data of any form, checked at every step.
Value: TypeAlias = Any
Function: TypeAlias = Callable[..., Any]


class TemplateTooCostly(ValueError):
    """A template does more than any prompt needs."""


class TextTooLong(TemplateTooCostly):
    """A text is longer than any prompt."""


class Meter:
    """Counts what one rendering does, and ends it when that is too much."""

    __slots__ = ("rendered", "steps", "work")

    def __init__(self) -> None:
        """Begin at nothing."""
        self.steps = self.work = self.rendered = 0

    def step(self, count: int = 1) -> None:
        """Look at so many items."""
        self.steps += count
        if self.steps > MOST_STEPS:
            raise TemplateTooCostly(f"it takes more than {MOST_STEPS:,} steps")

    def make(self, characters: int) -> None:
        """Read or make so much text."""
        self.work += characters
        if characters > LONGEST_PROMPT:
            raise TextTooLong(f"it makes texts of more than {LONGEST_PROMPT:,} characters")
        if self.work > MOST_WORK:
            raise TemplateTooCostly(f"it works on more than {MOST_WORK:,} characters")

    def write(self, text: str) -> str:
        """Write a piece of the rendered text."""
        self.rendered += len(text)
        if self.rendered > LONGEST_PROMPT:
            raise TextTooLong(f"its text grows longer than {LONGEST_PROMPT:,} characters")
        return text

    def take(self, value: Value) -> None:
        """Count what is to be worked on."""
        if isinstance(value, str):
            self.make(len(value))
        elif isinstance(value, Sequence | Mapping):
            self.step(len(value))


def fail_if_undefined(value: Value) -> None:
    """Refuse what is not there, in the words of who found it missing."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()


def look_up(value: Value, name: Value) -> tuple[bool, Value]:
    """Find a part of some data: a key, a place in a list, a field; nothing else has parts."""
    if isinstance(value, Mapping):
        return (name in value, value.get(name)) if isinstance(name, str | int) else (False, None)
    if isinstance(name, str):
        return (True, getattr(value, name)) if name in field_names(value) else (False, None)
    if isinstance(value, Sequence) and isinstance(name, int) and -len(value) <= name < len(value):
        return True, value[name]
    return False, None


def field_names(value: Value) -> Iterable[str]:
    """The fields of a named tuple or a data class; of anything else none."""
    if isinstance(value, tuple):
        return getattr(type(value), "_fields", ())
    if is_dataclass(value) and not isinstance(value, type):
        return [text for text in type(value).__dataclass_fields__ if not text.startswith("_")]
    return ()


def as_text(meter: Meter, value: Value, indent: int | None = None) -> str:
    """Text as it is, all else as JSON; counted piece by piece, so that nothing grows unseen."""
    if isinstance(value, str):
        return value
    fail_if_undefined(value)
    pieces: list[str] = []
    if indent is not None and indent > WIDEST:
        raise TemplateTooCostly(f"it indents by more than {WIDEST}")
    encoder = json.JSONEncoder(ensure_ascii=False, indent=indent, default=_as_plain)
    for piece in encoder.iterencode(value):
        meter.make(len(piece))
        pieces.append(piece)
    return "".join(pieces)


def _as_plain(value: Value) -> Value:
    if isinstance(value, Mapping):
        return dict(value)
    named = field_names(value)
    if not named:
        raise TypeError(f"a {type(value).__name__} cannot be written into a text")
    return {name: getattr(value, name) for name in named}


def _join(meter: Meter, items: Value, between: str = "", attribute: str | None = None) -> str:
    texts = [as_text(meter, value) for value in _map(meter, items, attribute)]
    meter.make(sum(map(len, texts)) + len(between) * max(len(texts) - 1, 0))
    return between.join(texts)


def _map(meter: Meter, items: Value, attribute: str | None = None) -> list[Value]:
    if attribute is None:
        return list(items)
    found = [look_up(item, attribute) for item in items]
    if not all(there for there, _ in found):
        raise LookupError(f"not every item has {attribute!r}")
    return [value for _, value in found]


def _sort(meter: Meter, items: Value, attribute: str | None = None, reverse: bool = False) -> Value:
    keys = _map(meter, items, attribute)
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=bool(reverse))
    listed = list(items)
    return [listed[at] for at in order]


def _replace(meter: Meter, text: Value, old: str, new: str) -> str:
    whole = as_text(meter, text)
    if not old:
        raise ValueError("replace needs a text to look for")
    meter.make(len(whole) + whole.count(old) * len(new))
    return whole.replace(old, new)


def _indent(meter: Meter, text: Value, width: int = 4, first: bool = False) -> str:
    if not 0 <= width <= WIDEST:
        raise TemplateTooCostly(f"it indents by more than {WIDEST}")
    lines = as_text(meter, text).split("\n")
    meter.make(len(lines) * width + sum(map(len, lines)))
    margins = [" " * width if line and (at or first) else "" for at, line in enumerate(lines)]
    return "\n".join(map(operator.add, margins, lines))


def _truncate(meter: Meter, text: Value, length: int = 255, end: str = "…") -> str:
    whole = as_text(meter, text)
    return whole if len(whole) <= length else whole[: max(length - len(end), 0)].rstrip() + end


def _slice(meter: Meter, items: Value, start: Value, stop: Value, step: Value) -> Value:
    if not isinstance(items, str | list | tuple):
        raise TypeError(f"a {type(items).__name__} has no slices")
    meter.take(items)
    return items[start:stop:step]


def _count_loop(meter: Meter, items: Value) -> Value:
    """What a loop goes over; its steps are counted before it begins."""
    if not isinstance(items, Sequence | Mapping):
        raise TypeError(f"a loop goes over a list, not over a {type(items).__name__}")
    meter.step(len(items))
    return items


def _range(meter: Meter, *bounds: int) -> Sequence[int]:
    if any(not isinstance(bound, int) or abs(bound) > MOST_STEPS for bound in bounds):
        raise TemplateTooCostly(f"range() takes whole numbers up to {MOST_STEPS:,}")
    return range(*bounds)


def _round(meter: Meter, value: float, digits: int = 0) -> float:
    if abs(digits) > WIDEST:
        raise TemplateTooCostly(f"it rounds to more than {WIDEST} digits")
    return round(value, digits) if digits else round(value)


def _is_in(meter: Meter, value: Value, whole: Value) -> bool:
    meter.take(whole)
    return value in whole


_KINDS = (
    *((str, "a text"), (int | float, "a number"), (Sequence, "a list"), (Mapping, "a record")),
    (type(None), "null"),
)


class NotBoolean(TypeError):
    """A condition came out as something else than true or false."""


def _check_boolean(meter: Meter, value: Value) -> bool:
    if not isinstance(value, bool):
        kind = next((said for kinds, said in _KINDS if isinstance(value, kinds)), "something else")
        raise NotBoolean(f"it must come out as true or false, not as {kind}")
    return value


def _default(meter: Meter, value: Value, other: Value = "", empty: bool = False) -> Value:
    return other if isinstance(value, Undefined) or (empty and not value) else value


def _text_filter(change: Callable[[str], Value]) -> Function:
    return lambda meter, value: change(as_text(meter, value))


_FILTERS: Mapping[str, Function] = {
    "upper": _text_filter(str.upper),
    "lower": _text_filter(str.lower),
    "trim": _text_filter(str.strip),
    "title": _text_filter(str.title),
    "capitalize": _text_filter(str.capitalize),
    "lines": _text_filter(str.splitlines),
    "wordcount": _text_filter(lambda text: len(text.split())),
    "string": _text_filter(str),
    "replace": _replace,
    "indent": _indent,
    "truncate": _truncate,
    "tojson": lambda meter, value, indent=None: (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, str)
        else as_text(meter, value, indent)
    ),
    "round": _round,
    "int": lambda meter, value: int(value),
    "float": lambda meter, value: float(value),
    "abs": lambda meter, value: abs(value),
    "length": lambda meter, value: len(value),
    "count": lambda meter, value: len(value),
    "first": lambda meter, value: value[0],
    "last": lambda meter, value: value[-1],
    "join": _join,
    "map": _map,
    "sort": _sort,
    "list": lambda meter, value: list(value),
    "reverse": lambda meter, value: list(value)[::-1],
    "unique": lambda meter, value: list(dict.fromkeys(value)),
    "items": lambda meter, value: list(value.items()),
    "sum": lambda meter, value: sum(value),
    "min": lambda meter, value: min(value),
    "max": lambda meter, value: max(value),
    "default": _default,
    "_each": _count_loop,
    "_range": _range,
    "_slice": _slice,
    "_truth": _check_boolean,
}
_TESTS: Mapping[str, Function] = {
    "defined": lambda meter, value: not isinstance(value, Undefined),
    "undefined": lambda meter, value: isinstance(value, Undefined),
    "none": lambda meter, value: value is None,
    "string": lambda meter, value: isinstance(value, str),
    "number": lambda meter, value: isinstance(value, int | float) and not isinstance(value, bool),
    "mapping": lambda meter, value: isinstance(value, Mapping),
    "sequence": lambda meter, value: isinstance(value, list | tuple),
    "odd": lambda meter, value: value % 2 == 1,
    "even": lambda meter, value: value % 2 == 0,
    "divisibleby": lambda meter, value, by: value % by == 0,
    "in": _is_in,
}
_FREE = {"length", "count", "first", "last", "default", "_each", "_range", "_slice"}  # or by itself
_LENIENT = {"default", "defined", "undefined"}  # these are asked whether something is there


def _with_meter(name: str, function: Function) -> Function:
    @pass_context
    def call_metered(context: Context, value: Value, *given: Value, **named: Value) -> Value:
        meter = context.get(METER)
        assert isinstance(meter, Meter)
        meter.step()
        if name not in _LENIENT:
            for item in (value, *given, *named.values()):
                fail_if_undefined(item)
        if name not in _FREE:
            meter.take(value)
        return function(meter, value, *given, **named)

    return call_metered


FILTERS = {name: _with_meter(name, function) for name, function in _FILTERS.items()}
TESTS = {name: _with_meter(name, function) for name, function in _TESTS.items()}
