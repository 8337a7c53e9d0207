"""Model facts: what a model's name says, and what catalog.toml and quire.toml state of it."""

import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache
from typing import NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

from quire.domain.data import Json, JsonObject
from quire.domain.errors import SettingsInvalid, UsageError
from quire.domain.models import (
    CacheMarking,
    Limits,
    ModelFacts,
    Price,
    StructuredOutput,
    Tier,
    Wire,
)
from quire.domain.pricing import MILLION, price_at
from quire.providers.vendors import vendor_facts

COMPATIBLE = "compatible"

_ENCODING = "o200k_base"  # gpt-4o and later; what GPT-6 uses is not published
_HERE = ("localhost", "127.0.0.1", "::1")
_START = re.compile("@https?://", re.IGNORECASE)


class ModelAddress(NamedTuple):
    """What a server calls a model, and where the server is."""

    id: str  # "" = the part of our name after the slash
    url: str  # "" = where its provider is found


def provider_of(name: str) -> str:
    """The part of a name that says who answers."""
    return name.partition("/")[0]


def model_address(name: str) -> ModelAddress:
    """Take `compatible/MODEL@URL` apart; other names have no address in them."""
    provider, _, rest = name.partition("/")
    start = _START.search(rest)
    if start is None:
        return ModelAddress("", "")
    model, url = rest[: start.start()], rest[start.start() + 1 :].rstrip("/")
    parts = _split_url(url)
    if "?" in url or "#" in url or (parts is not None and "@" in parts.netloc):
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts else "http://HOST"
        raise UsageError(
            "a key does not belong in a model's name, nor anything after ? or #: names are written"
            " down in many places",
            f"write compatible/{model}@{place}/v1 and set key_env"
            " in [providers.compatible] of quire.toml",
        )
    if provider != COMPATIBLE:
        raise UsageError(
            "only compatible/MODEL@URL has an address in it",
            f"write {provider}/{model}, and where it is as base_url in [providers.{provider}]"
            " of quire.toml",
        )
    if not model or parts is None or not parts.hostname:
        raise UsageError(f"{name!r} names no server", "write compatible/MODEL@http://HOST/v1")
    return ModelAddress(model, url)


def is_own_machine(name: str) -> bool:
    """Whether calls to it go to a machine of the user's own, where nobody sends a bill."""
    where = model_address(name)
    if vendor_facts(provider_of(name)).own_machine:
        return bool(name.partition("/")[2])
    parts = _split_url(where.url)
    return parts is not None and parts.hostname in _HERE


def is_own_server(provider: str, base_url: str) -> bool:
    """Whether calls go to a server of somebody's own, of whose room nothing is known."""
    facts = vendor_facts(provider)
    if facts.own_machine or facts.keyless_nearby:
        return True
    here, usual = _split_url(base_url), _split_url(facts.base_url)
    if here is None or usual is None or not here.hostname:
        return False
    return here.hostname in _HERE or bool(usual.hostname and here.hostname != usual.hostname)


def _split_url(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number shows itself only here
    except ValueError:
        return None
    return parts


T = TypeVar("T")
Choice = TypeVar("Choice", StructuredOutput, CacheMarking)

_FREE = Price(input=0, output=0, cached=0, written_short=0, written_long=0)
_WHOLE = ("max_input", "cache_minimum", "thinking")
NEEDED = ("window", "max_output", "input", "output")


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
            raise self.error(key, "a number")
        if not 0 <= value < math.inf:  # also refuses nan, which compares with nothing
            raise self.error(key, "a number that is not negative")
        return value

    def whole_number(self, key: str) -> int | None:
        value = self.number(key)
        if value is not None and value != int(value):
            raise self.error(key, "a whole number")
        return None if value is None else int(value)

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.error(key, "text")
        return value

    def choice(self, key: str, default: Choice) -> Choice:
        kind = type(default)
        try:
            return kind(self.text(key, default))
        except ValueError:
            raise self.error(key, " or ".join(kind)) from None

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def inner(self, key: str, value: Json) -> "_Table":
        if not isinstance(value, Mapping):
            raise self.error(key, "a table")
        return _Table(f"{self.name}, {key}", value)

    def error(self, key: str, wanted: str) -> SettingsInvalid:
        return SettingsInvalid(f"{self.name}: {key} must be {wanted}, not {self.values.get(key)!r}")


def facts_from_statement(name: str, values: JsonObject, start: ModelFacts | None) -> ModelFacts:
    """Make facts of a table; what it leaves out is taken from `start`, and must be there if none.

    Money in tables is dollars per million tokens, as vendors write it.
    """
    table = _Table(f'[models."{name}"]', values)
    if start is None:
        _require_keys(table)
        start = _blank_facts(table, name)
    price = _price(table, start.price, fresh=start.price.input == 0)
    tiers = _tiers(table, start.tiers)
    batch_price, batch_tiers = _batch(table, price, tiers, start)
    window = _default(table.whole_number("window"), start.window)
    facts = replace(
        start,
        name=name,
        window=window,
        max_output=_default(table.whole_number("max_output"), min(start.max_output, window)),
        **{key: _default(table.whole_number(key), getattr(start, key)) for key in _WHOLE},
        price=price,
        tiers=tiers,
        batch_price=batch_price,
        batch_tiers=batch_tiers,
        token_factor=_default(table.number("token_factor"), start.token_factor),
        limits=_limits(table, start.limits),
        wire=_wire(table, start.wire),
        retires=table.text("retires", start.retires),
        window_guessed=table.flag(
            "window_guessed", start.window_guessed and "window" not in table.values
        ),
        embeds=table.flag("embeds", start.embeds),
        dimensions=_default(table.whole_number("dimensions"), start.dimensions),
        note=table.text("note", "" if price != start.price and is_free(start) else start.note),
    )
    _check(table, facts)
    return facts


def is_free(facts: ModelFacts) -> bool:
    """Whether nothing is billed for it."""
    return facts.price.input == facts.price.output == 0


def facts_like(facts: ModelFacts, name: str) -> ModelFacts:
    """Give the facts of one model to another that is like it.

    In another vendor's house only what the model itself is carries over: there batches may cost
    something else, marks for the cache are not understood, and other dates hold.
    """
    here, there = facts.provider, vendor_facts(provider_of(name))
    if here == there.name:
        return replace(facts, name=name, wire=replace(facts.wire, **model_address(name)._asdict()))
    marking = facts.wire.marking
    if marking is CacheMarking.BREAKPOINT and not there.forwards_cache_marks:
        marking = CacheMarking.AUTOMATIC
    batch, batch_tiers = facts.batch_price, facts.batch_tiers
    if there.same_models_as != here:
        batch, batch_tiers = None, ()
    elif there.single_discount and batch is not None:
        batch, batch_tiers = _without_double_discount(facts, batch)
    return replace(
        facts,
        name=name,
        batch_price=batch,
        batch_tiers=batch_tiers,
        wire=replace(facts.wire, **model_address(name)._asdict(), marking=marking),
        retires="",
        note=f"like {facts.name}" + (f"; {facts.note}" if facts.note else ""),
    )


def _without_double_discount(facts: ModelFacts, batch: Price) -> tuple[Price, tuple[Tier, ...]]:
    """Where a discount for batches and one for cached input never add up, the latter holds."""
    tiers = (
        Tier(above, replace(price, cached=price_at(facts, above + 1).cached))
        for above, price in facts.batch_tiers
    )
    return replace(batch, cached=facts.price.cached), tuple(tiers)


def _require_keys(table: _Table) -> None:
    missing = [key for key in NEEDED if table.values.get(key) is None]
    if missing:
        raise SettingsInvalid(
            f"{table.name} in quire.toml lacks {', '.join(missing)}",
            fix="nothing else is known of this model, so state them, or say"
            ' like = "provider/model"',
        )


def _blank_facts(table: _Table, name: str) -> ModelFacts:
    return ModelFacts(
        name=name,
        window=table.whole_number("window") or 0,
        max_output=table.whole_number("max_output") or 0,
        price=_price(table, _FREE, fresh=True),
        wire=Wire(**model_address(name)._asdict()),
    )


def _price(table: _Table, start: Price, *, fresh: bool = False) -> Price:
    """Read prices; in a fresh table, reading and writing a cache cost what input costs."""
    read = _default(_micro(table, "input"), start.input)
    written = _default(_micro(table, "written"), read if fresh else start.written_short)
    return Price(
        input=read,
        output=_default(_micro(table, "output"), start.output),
        cached=_default(_micro(table, "cached"), read if fresh else start.cached),
        written_short=written,
        written_long=_default(
            _micro(table, "written_long"), written if fresh else start.written_long
        ),
    )


def _tiers(table: _Table, start: tuple[Tier, ...]) -> tuple[Tier, ...]:
    value = table.values.get("tiers")
    if value is None:
        return start
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise table.error("tiers", "a list of tables")
    tables = [table.inner("tiers", item) for item in value]
    for tier in tables:
        for key in ("above", "input", "output"):
            if tier.values.get(key) is None:
                raise SettingsInvalid(f"{tier.name}: {key} is missing")
    found = (
        Tier(tier.whole_number("above") or 0, _price(tier, _FREE, fresh=True)) for tier in tables
    )
    return tuple(sorted(found, key=lambda tier: tier.above))


def _batch(
    table: _Table, price: Price, tiers: tuple[Tier, ...], start: ModelFacts
) -> tuple[Price | None, tuple[Tier, ...]]:
    """Read what batches cost; large calls cost the same part of theirs, unless told otherwise."""
    value = table.values.get("batch")
    if value is None:
        return start.batch_price, start.batch_tiers
    if not isinstance(value, Mapping):
        part = table.number("batch") or 0.0
        if not 0 < part <= 1:
            raise table.error("batch", "a part of the price above 0 and up to 1, or a table")
        return _scale_price(price, lambda _: part), _scale_tiers(tiers, lambda _: part)
    inner = table.inner("batch", value)
    batch = _price(inner, price, fresh=True)
    if "cached" not in value:
        batch = replace(batch, cached=min(price.cached, batch.input))
    if "tiers" in value:
        return batch, _tiers(inner, ())
    ratios = {
        kind: getattr(batch, kind) / size if size else 1.0 for kind, size in asdict(price).items()
    }
    return batch, _scale_tiers(tiers, ratios.__getitem__)


def _scale_price(price: Price, part: Callable[[str], float]) -> Price:
    """Take a part of every price, by its kind."""
    return Price(**{kind: round(item * part(kind)) for kind, item in asdict(price).items()})


def _scale_tiers(tiers: tuple[Tier, ...], part: Callable[[str], float]) -> tuple[Tier, ...]:
    return tuple(Tier(tier.above, _scale_price(tier.price, part)) for tier in tiers)


def _limits(table: _Table, start: Limits) -> Limits:
    value = table.values.get("limits")
    if value is None:
        return start
    inner = table.inner("limits", value)
    limits = asdict(start).items()
    return Limits(**{kind: _default(inner.whole_number(kind), size) for kind, size in limits})


def _wire(table: _Table, start: Wire) -> Wire:
    return Wire(
        id=table.text("id", start.id),
        url=table.text("url", start.url),
        structured=table.choice("structured", start.structured),
        marking=table.choice("marking", start.marking),
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


def _default(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def token_counter(facts: ModelFacts) -> Callable[[str], int] | None:
    """Count a text's tokens as the model would; None where nobody here knows how it counts."""
    return _load_tokenizer() if vendor_facts(facts.provider).exact_tokenizer else None


@cache
def _load_tokenizer() -> Callable[[str], int] | None:
    """Load the vocabulary, which takes a second and 140 MB, once and only for those who count."""
    with warnings.catch_warnings():  # it reads its vocabulary in an old way
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            import bpe_openai  # type: ignore[import-untyped]  # it ships no types
        except ImportError:
            return None
        encoding = bpe_openai.get_encoding(_ENCODING)

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return count
