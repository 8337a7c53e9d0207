"""Caching inside batches, by arithmetic: off, found by itself, or marked in the form that lasts.

A prefix that a provider keeps costs a fraction to read again, and may cost more to write. With
direct calls that is easy: the first goes alone and writes it (priming), the others read it. Inside
a batch nobody knows when a row runs, on which machine, or after which other, so that each row that
misses writes the prefix again at the dearer price: with few hits, caching costs more than it saves.
And the cheap form may be forgotten before the batch begins.

So it is decided before, by arithmetic over prices and a share of hits, and not by trying: a run
that finds out afterwards has paid. The decision looks at a usual row alone and not at the job's
size, since a run that begins does not know how many will share a prefix, and must not decide
differently when it goes on. What was seen of hits corrects the price that people are shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from quire.domain.models import CacheMarking, ModelFacts, Price
from quire.domain.pricing import dollars, price_at

# Rows of a batch run in any order and on many machines, so that a hit is a matter of luck: vendors
# speak of 30 to 98 %. This stands for all of them until a run's own answers show what it hits. The
# first row, which finds nothing unless a call wrote it before, is one of those that miss.
HITS = 0.9
_WHOLE = 1_000  # a share is counted in thousandths, so that no fraction is lost over many rows


class CachingOption(NamedTuple):
    """A form in which a prefix could be kept, and what that would come to."""

    name: str
    cost: int  # picodollars, of the prefix alone
    taken: bool
    remark: str = ""  # what the number does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCaching:
    """How a prefix is treated inside batches, and what it comes to."""

    mark: bool = False  # the end of the prefix is marked, or the provider finds it by itself
    long_lived: bool = False  # it is kept for an hour and longer
    primer: bool = False  # a call goes before the batch, and writes it
    hits: float = 0.0  # of the rows, expected
    miss_price: str = "input"  # what a row that misses pays for the prefix: a field of Price
    cost: int  # picodollars, of the prefix in all rows, and what a longer life costs before them
    uncached: int  # the same without caching
    why: str  # with the numbers, in words
    share: float = 0.0  # of the rows, that the forms count on
    forms: tuple[CachingOption, ...] = ()  # all that were looked at; none where it cannot be kept

    @property
    def saving(self) -> int:
        """Picodollars that it saves; below zero where rows miss more than it is worth."""
        return self.uncached - self.cost


class _CacheForm(NamedTuple):
    name: str
    miss_price: str


_SHORT = _CacheForm("the short form", "written_short")
_LONG = _CacheForm("the long form", "written_long")
_AUTOMATIC = _CacheForm("found by the provider itself", "input")

_NONE, _WITH_PRIMER = "not cached", " with a primer"
_TOO_BRIEF = "if as many find it; but it is kept for five minutes only, and batches wait longer"

# Where the short form lives for five minutes only, less than most batches wait to begin. Elsewhere
# it lives for half an hour and longer after every use, which is as good for a batch, and cheaper.
_SHORT_LIVED = ("anthropic",)


def whole_hits(rows: int, share: float) -> int:
    """How many of so many rows find the prefix: a row does or does not."""
    return rows * round(share * _WHOLE) // _WHOLE


def choose_batch_caching(
    facts: ModelFacts,
    prefix_tokens: int,
    calls: int,
    rules_caches: bool,
    *,
    pilot: bool = False,
    hits: float | None = None,
) -> BatchCaching:
    """Choose how a prefix is treated in so many calls inside batches, and price that.

    `rules_caches` says whether the vendor keeps prefixes inside batches at all; `pilot`, that other
    calls of the run go direct before, so that one of them is the primer; `hits`, how many rows
    found such a prefix before, where that was seen.

    It pays where a usual row costs less with it: a run that begins does not know yet how many will
    share what is written once. What was seen of hits changes the price, and not what a run does.
    """
    if facts.batch_price is None:
        return without_caching(0, f"no price is known of {facts.name} in batches")
    price = price_at(facts, prefix_tokens, batched=True)
    uncached = prefix_tokens * calls * price.input
    objection = _objection_to_caching(facts, price, prefix_tokens, rules_caches)
    if objection:
        return without_caching(uncached, objection)
    form, share = _choose_form(facts), HITS if hits is None else hits
    job = _PrefixUse(prefix_tokens, calls, whole_hits(calls, share), pilot)
    direct = price_at(facts, prefix_tokens)
    primer = pilot and form is not _AUTOMATIC
    found = _caching_in_form(form, share, job.cost(form, price, direct), uncached, primer=primer)
    missed = int(getattr(price, form.miss_price))
    if HITS * price.cached + (1 - HITS) * missed >= price.input:
        found = without_caching(uncached, f"caching does not pay: {found.why}")
    others = _caching_options(facts, job, price, direct)
    marked = found.mark
    forms = (other._replace(taken=other.taken and marked) for other in others)
    return replace(found, share=share, forms=(CachingOption(_NONE, uncached, not marked), *forms))


class _PrefixUse(NamedTuple):
    """A prefix in the calls of a job."""

    tokens: int
    calls: int
    hits: int  # calls that read it
    pilot: bool  # others go before, direct

    def cost(self, form: _CacheForm, price: Price, direct: Price) -> int:
        """Picodollars of it in a form."""
        # The primer writes in any case: only a dearer form is extra.
        dearer = self.pilot and form is _LONG
        extra = direct.written_long - direct.written_short if dearer else 0
        missed = (self.calls - self.hits) * int(getattr(price, form.miss_price))
        return self.tokens * (self.hits * price.cached + missed + extra)


def _caching_options(
    facts: ModelFacts, job: _PrefixUse, price: Price, direct: Price
) -> Iterator[CachingOption]:
    """Every form that the provider offers; the one that would be taken is marked."""
    chosen = _choose_form(facts)
    if chosen is _AUTOMATIC:
        yield CachingOption(_AUTOMATIC.name, job.cost(_AUTOMATIC, price, direct), True)
        return
    for form in (_SHORT, _LONG) if price.written_long != price.written_short else (chosen,):
        brief = form is _SHORT and chosen is _LONG
        name = f"{form.name}{_WITH_PRIMER * job.pilot}"
        cost, remark = job.cost(form, price, direct), _TOO_BRIEF if brief else ""
        yield CachingOption(name, cost, form is chosen, remark)
    if not job.pilot:
        more = job.tokens * int(getattr(direct, chosen.miss_price))
        cost = job.cost(chosen, price, direct) + more
        name = f"{chosen.name}{_WITH_PRIMER}"
        yield CachingOption(name, cost, False, "a call more, which writes it")


def without_caching(uncached: int, why: str) -> BatchCaching:
    """Treat a prefix as any other text, which costs so much in all calls."""
    return BatchCaching(cost=uncached, uncached=uncached, why=why)


def _caching_in_form(
    form: _CacheForm, share: float, cost: int, uncached: int, *, primer: bool
) -> BatchCaching:
    name = f"{form.name}{_WITH_PRIMER}" if primer else form.name
    comparison = f"{dollars(uncached)} uncached, {dollars(cost)} {name}"
    return BatchCaching(
        mark=True,
        long_lived=form is _LONG,
        primer=primer,
        hits=share,
        miss_price=form.miss_price,
        cost=cost,
        uncached=uncached,
        why=f"{name}: {comparison}, if {share:.0%} of the rows find it",
    )


def _choose_form(facts: ModelFacts) -> _CacheForm:
    if facts.wire.marking is not CacheMarking.BREAKPOINT:
        return _AUTOMATIC
    return _LONG if facts.provider in _SHORT_LIVED else _SHORT


def _objection_to_caching(
    facts: ModelFacts, price: Price, prefix_tokens: int, rules_caches: bool
) -> str:
    if facts.wire.marking is CacheMarking.NONE:
        return f"{facts.provider} keeps no prefix"
    if not rules_caches:
        return f"{facts.provider} keeps no prefix inside batches"
    if prefix_tokens < facts.cache_minimum:
        return f"{prefix_tokens:,} equal tokens are fewer than the {facts.cache_minimum:,} it keeps"
    if price.cached >= price.input:
        return f"{facts.provider} gives one discount, for batches or for caching, never both"
    return ""
