"""Facts from tables: what catalog.toml and quire.toml state of a model becomes ModelFacts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TypeVar

from quire.domain.data import Json, JsonObject
from quire.domain.errors import SettingsInvalid
from quire.domain.models import Limits, Marking, ModelFacts, Price, Structured, Tier, Wire
from quire.domain.money import MILLION
from quire.providers.naming import address, provider_of

T = TypeVar("T")

NEEDED = ("window", "max_output", "input", "output")
_KINDRED = (("openai", "azure"), ("gemini", "vertex"))  # one vendor's models in another's house
_PASS_MARKS_ON = ("openrouter",)


class _Table:
    """One table, read value by value; a value of the wrong kind is refused by name."""

    def __init__(self, name: str, values: JsonObject) -> None:
        self.name = name
        self.values = values

    def number(self, key: str) -> float | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "a number")
        if not 0 <= value < math.inf:  # also refuses nan, which compares with nothing
            raise self.wrong(key, "a number that is not negative")
        return value

    def whole(self, key: str) -> int | None:
        value = self.number(key)
        if value is not None and value != int(value):
            raise self.wrong(key, "a whole number")
        return None if value is None else int(value)

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def inner(self, key: str, value: Json) -> "_Table":
        if not isinstance(value, Mapping):
            raise self.wrong(key, "a table")
        return _Table(f"{self.name}, {key}", value)

    def wrong(self, key: str, wanted: str) -> SettingsInvalid:
        return SettingsInvalid(f"{self.name}: {key} must be {wanted}, not {self.values.get(key)!r}")


def state(name: str, told: JsonObject, start: ModelFacts | None) -> ModelFacts:
    """Make facts of a table; what it leaves out is taken from `start`, and must be there if none.

    Money in tables is dollars per million tokens, as vendors write it.
    """
    table = _Table(f'[models."{name}"]', told)
    if start is None:
        _insist(table)
        start = _blank(table, name)
    price = _price(table, start.price, fresh=start.price.input == 0)
    tiers = _tiers(table, start.tiers)
    batch_price, batch_tiers = _batch(table, price, tiers, start)
    window = _or(table.whole("window"), start.window)
    facts = replace(
        start,
        name=name,
        window=window,
        max_output=_or(table.whole("max_output"), min(start.max_output, window)),
        max_input=_or(table.whole("max_input"), start.max_input),
        price=price,
        tiers=tiers,
        batch_price=batch_price,
        batch_tiers=batch_tiers,
        cache_minimum=_or(table.whole("cache_minimum"), start.cache_minimum),
        thinking=_or(table.whole("thinking"), start.thinking),
        token_factor=_or(table.number("token_factor"), start.token_factor),
        limits=_limits(table, start.limits),
        wire=_wire(table, start.wire),
        retires=table.text("retires", start.retires),
        note=table.text("note", "" if price != start.price and is_free(start) else start.note),
    )
    _check(table, facts)
    return facts


def is_free(facts: ModelFacts) -> bool:
    """Whether nothing is billed for it."""
    return facts.price.input == facts.price.output == 0


def lend(facts: ModelFacts, name: str) -> ModelFacts:
    """Give the facts of one model to another that is like it.

    In another vendor's house only what the model itself is carries over: there batches may cost
    something else, marks for the cache are not understood, and other dates hold.
    """
    here, there = facts.provider, provider_of(name)
    if here == there:
        return replace(facts, name=name, wire=replace(facts.wire, **address(name)._asdict()))
    marking = facts.wire.marking
    if marking is Marking.BREAKPOINT and there not in _PASS_MARKS_ON:
        marking = Marking.AUTOMATIC
    batch, batch_tiers = facts.batch_price, facts.batch_tiers
    if (here, there) not in _KINDRED:
        batch, batch_tiers = None, ()
    elif there == "vertex" and batch is not None:
        batch, batch_tiers = _one_discount(facts, batch)
    return replace(
        facts,
        name=name,
        batch_price=batch,
        batch_tiers=batch_tiers,
        wire=replace(
            facts.wire,
            **address(name)._asdict(),
            marking=marking,
        ),
        retires="",
        note=f"like {facts.name}" + (f"; {facts.note}" if facts.note else ""),
    )


def _one_discount(facts: ModelFacts, batch: Price) -> tuple[Price, tuple[Tier, ...]]:
    """Where a discount for batches and one for cached input never add up, the latter holds."""
    tiers = (
        Tier(above, replace(price, cached=facts.price_at(above + 1).cached))
        for above, price in facts.batch_tiers
    )
    return replace(batch, cached=facts.price.cached), tuple(tiers)


def _insist(table: _Table) -> None:
    missing = [key for key in NEEDED if table.values.get(key) is None]
    if missing:
        raise SettingsInvalid(
            f"{table.name} in quire.toml lacks {', '.join(missing)}; nothing else is known of this"
            ' model, so state them, or say like = "provider/model"'
        )


def _blank(table: _Table, name: str) -> ModelFacts:
    free = Price(input=0, output=0, cached=0, written_short=0, written_long=0)
    return ModelFacts(
        name=name,
        window=table.whole("window") or 0,
        max_output=table.whole("max_output") or 0,
        price=_price(table, free, fresh=True),
        wire=Wire(**address(name)._asdict()),
    )


def _price(table: _Table, start: Price, *, fresh: bool = False) -> Price:
    """Read prices; in a fresh table, reading and writing a cache cost what input costs."""
    read = _or(_micro(table, "input"), start.input)
    written = _or(_micro(table, "written"), read if fresh else start.written_short)
    return Price(
        input=read,
        output=_or(_micro(table, "output"), start.output),
        cached=_or(_micro(table, "cached"), read if fresh else start.cached),
        written_short=written,
        written_long=_or(_micro(table, "written_long"), written if fresh else start.written_long),
    )


def _tiers(table: _Table, start: tuple[Tier, ...]) -> tuple[Tier, ...]:
    told = table.values.get("tiers")
    if told is None:
        return start
    if isinstance(told, str) or not isinstance(told, list | tuple):
        raise table.wrong("tiers", "a list of tables")
    tables = [table.inner("tiers", each) for each in told]
    for each in tables:
        for key in ("above", "input", "output"):
            if each.values.get(key) is None:
                raise SettingsInvalid(f"{each.name}: {key} is missing")
    nothing = Price(input=0, output=0, cached=0, written_short=0, written_long=0)
    found = (Tier(each.whole("above") or 0, _price(each, nothing, fresh=True)) for each in tables)
    return tuple(sorted(found, key=lambda tier: tier.above))


def _batch(
    table: _Table, price: Price, tiers: tuple[Tier, ...], start: ModelFacts
) -> tuple[Price | None, tuple[Tier, ...]]:
    """Read what batches cost; large calls cost the same part of theirs, unless told otherwise."""
    told = table.values.get("batch")
    if told is None:
        return start.batch_price, start.batch_tiers
    if not isinstance(told, Mapping):
        part = table.number("batch") or 0.0
        if not 0 < part <= 1:
            raise table.wrong("batch", "a part of the price above 0 and up to 1, or a table")
        return _times(price, lambda _: part), _tiers_times(tiers, lambda _: part)
    inner = table.inner("batch", told)
    batch = _price(inner, price, fresh=True)
    if "cached" not in told:
        batch = replace(batch, cached=min(price.cached, batch.input))
    if "tiers" in told:
        return batch, _tiers(inner, ())
    return batch, _tiers_times(
        tiers, lambda kind: _ratio(getattr(batch, kind), getattr(price, kind))
    )


def _times(price: Price, part: Callable[[str], float]) -> Price:
    """Take a part of every price, by its kind."""
    return Price(**{kind: round(each * part(kind)) for kind, each in asdict(price).items()})


def _tiers_times(tiers: tuple[Tier, ...], part: Callable[[str], float]) -> tuple[Tier, ...]:
    return tuple(Tier(tier.above, _times(tier.price, part)) for tier in tiers)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _limits(table: _Table, start: Limits) -> Limits:
    told = table.values.get("limits")
    if told is None:
        return start
    inner = table.inner("limits", told)
    return Limits(
        requests=_or(inner.whole("requests"), start.requests),
        input=_or(inner.whole("input"), start.input),
        output=_or(inner.whole("output"), start.output),
        total=_or(inner.whole("total"), start.total),
        enqueued=_or(inner.whole("enqueued"), start.enqueued),
    )


def _wire(table: _Table, start: Wire) -> Wire:
    try:
        structured = Structured(table.text("structured", start.structured))
    except ValueError:
        raise table.wrong("structured", " or ".join(Structured)) from None
    try:
        marking = Marking(table.text("marking", start.marking))
    except ValueError:
        raise table.wrong("marking", " or ".join(Marking)) from None
    return Wire(
        id=table.text("id", start.id),
        url=table.text("url", start.url),
        structured=structured,
        marking=marking,
        sampling=table.flag("sampling", start.sampling),
    )


def _check(table: _Table, facts: ModelFacts) -> None:
    if not 0 < facts.max_output <= facts.window:
        raise SettingsInvalid(
            f"{table.name}: max_output ({facts.max_output:,}) must be above 0 and fit the window"
            f" ({facts.window:,})"
        )


def _micro(table: _Table, key: str) -> int | None:
    dollars = table.number(key)
    return None if dollars is None else round(dollars * MILLION)


def _or(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value
