"""Caching inside batches, by arithmetic: off, the short form, or the long form with a primer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.models import Marking, ModelFacts, Price
from quire.domain.money import MILLION, dollars

# Rows of a batch run in any order and on many machines, so that a hit is a matter of luck: vendors
# speak of 30 to 98 %. These stand for all of them; what a run really hits is seen in its answers.
HITS = 0.7  # of rows that find the prefix, where one of them must write it first
PRIMED_HITS = 0.9  # the same, where a call wrote it for an hour before they began


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCaching:
    """How a prefix is treated inside batches, and what it comes to."""

    mark: bool  # the end of the prefix is marked, or the provider finds it by itself
    long_lived: bool  # it is kept for an hour and longer
    primer: bool  # one call goes before the batch, and writes it
    hits: float  # of the rows, expected
    written: str  # what a row that misses pays for the prefix: a field of Price
    cost: int  # micro-dollars, of the prefix in all calls
    uncached: int  # the same without caching
    why: str  # with the numbers, in words

    @property
    def saving(self) -> int:
        """Micro-dollars that it saves."""
        return self.uncached - self.cost


class _Form(NamedTuple):
    name: str
    hits: float
    written: str
    primer: bool = False

    def cost(self, price: Price, direct: Price, calls: int, pilot: bool) -> float:
        """Price a prefix of a million tokens in all calls; a primer is one of them, sent direct."""
        missed = int(getattr(price, self.written))
        row = self.hits * price.cached + (1 - self.hits) * missed
        if not self.primer:
            return calls * row
        primer = int(getattr(direct, self.written))
        if pilot:  # it is written before the batch in any case: only a dearer form is extra
            return calls * row + primer - direct.written_short
        return (calls - 1) * row + primer


_SHORT = _Form("the short form", HITS, "written_short")
_LONG = _Form("the long form with a primer", PRIMED_HITS, "written_long", primer=True)
_PRIMED = _Form("the short form with a primer", PRIMED_HITS, "written_short", primer=True)
_FOUND = _Form("found by the provider itself", HITS, "input")

# Where the short form lives for five minutes only. Elsewhere it lives for half an hour and longer
# after every use, which is as good for a batch, and cheaper.
_SHORT_LIVED = ("anthropic",)


def batch_caching(
    facts: ModelFacts,
    prefix_tokens: int,
    calls: int,
    rules_caches: bool,
    *,
    pilot: bool = False,
    hits: float | None = None,
) -> BatchCaching:
    """Choose the cheapest treatment of a prefix for so many calls in batches.

    `rules_caches` says whether the vendor keeps marked prefixes inside batches at all; `pilot`,
    that other calls of the run go direct before, so that one of them can be the primer; `hits`, how
    many rows found such a prefix before, where that was seen.
    """
    price = facts.batch_price_at(prefix_tokens)
    if price is None:
        return _off(0, f"no price is known of {facts.name} in batches")
    uncached = _micro(prefix_tokens, calls * price.input)
    against = _against(facts, price, prefix_tokens, calls, rules_caches)
    if against:
        return _off(uncached, against)
    direct = facts.price_at(prefix_tokens)

    def price_of(form: _Form) -> int:
        return _micro(prefix_tokens, form.cost(price, direct, calls, pilot))

    forms = _forms(facts)
    best = min(forms, key=price_of)
    told = ", ".join(_told(uncached, {form.name: price_of(form) for form in forms}))
    if hits is not None:  # of the form that these rows had, which was chosen in the same way
        best = best._replace(hits=hits)
    cost = price_of(best)
    if cost >= uncached:
        return _off(uncached, f"caching does not pay: {told}")
    return _on(best, cost, uncached, told)


def _forms(facts: ModelFacts) -> tuple[_Form, ...]:
    if facts.wire.marking is not Marking.BREAKPOINT:
        return (_FOUND,)
    return _SHORT, _LONG if facts.provider in _SHORT_LIVED else _PRIMED


def _against(
    facts: ModelFacts, price: Price, prefix_tokens: int, calls: int, rules_caches: bool
) -> str:
    if facts.wire.marking is Marking.NONE:
        return f"{facts.provider} keeps no prefix"
    if not rules_caches:
        return f"{facts.provider} keeps no prefix inside batches"
    if prefix_tokens < facts.cache_minimum:
        return f"{prefix_tokens:,} equal tokens are fewer than the {facts.cache_minimum:,} it keeps"
    if price.cached >= price.input:
        return f"{facts.provider} gives one discount, for batches or for caching, never both"
    return "a lone call has nobody to share with" if calls < 2 else ""


def _told(uncached: int, costs: Mapping[str, int]) -> Iterator[str]:
    yield f"{dollars(uncached)} uncached"
    for name, cost in costs.items():
        yield f"{dollars(cost)} {name}"


def _on(form: _Form, cost: int, uncached: int, told: str) -> BatchCaching:
    return BatchCaching(
        mark=True,
        long_lived=form.written == "written_long",
        primer=form.primer,
        hits=form.hits,
        written=form.written,
        cost=cost,
        uncached=uncached,
        why=f"{form.name}: {told}, if {form.hits:.0%} of the rows find it",
    )


def _off(uncached: int, why: str) -> BatchCaching:
    return BatchCaching(
        mark=False,
        long_lived=False,
        primer=False,
        hits=0.0,
        written="input",
        cost=uncached,
        uncached=uncached,
        why=why,
    )


def _micro(tokens: int, per_million: float) -> int:
    return round(tokens * per_million / MILLION)
