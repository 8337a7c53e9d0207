"""Caching inside batches, by arithmetic: off, found by itself, or marked in the form that lasts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from quire.domain.models import Marking, ModelFacts, Price
from quire.domain.money import MILLION, dollars

# Rows of a batch run in any order and on many machines, so that a hit is a matter of luck: vendors
# speak of 30 to 98 %. This stands for all of them until a run's own answers show what it hits. The
# first row, which finds nothing unless a call wrote it before, is one of those that miss.
HITS = 0.9
_WHOLE = 1_000  # a share is counted in thousandths, so that no fraction is lost over many rows


class Considered(NamedTuple):
    """A form in which a prefix could be kept, and what that would come to."""

    name: str
    cost: int  # micro-dollars, of the prefix alone
    taken: bool
    remark: str = ""  # what the number does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCaching:
    """How a prefix is treated inside batches, and what it comes to."""

    mark: bool  # the end of the prefix is marked, or the provider finds it by itself
    long_lived: bool  # it is kept for an hour and longer
    primer: bool  # a call goes before the batch, and writes it
    hits: float  # of the rows, expected
    written: str  # what a row that misses pays for the prefix: a field of Price
    cost: int  # micro-dollars, of the prefix in all rows, and what a longer life costs before them
    uncached: int  # the same without caching
    why: str  # with the numbers, in words
    share: float = 0.0  # of the rows, that the forms count on
    forms: tuple[Considered, ...] = ()  # all that were looked at; none where it cannot be kept

    @property
    def saving(self) -> int:
        """Micro-dollars that it saves; below zero where rows miss more than it is worth."""
        return self.uncached - self.cost


class _Form(NamedTuple):
    name: str
    written: str


_SHORT = _Form("the short form", "written_short")
_LONG = _Form("the long form", "written_long")
_FOUND = _Form("found by the provider itself", "input")

_NONE, _PRIMED = "not cached", " with a primer"
_TOO_BRIEF = "if as many find it; but it is kept for five minutes only, and batches wait longer"

# Where the short form lives for five minutes only, less than most batches wait to begin. Elsewhere
# it lives for half an hour and longer after every use, which is as good for a batch, and cheaper.
_SHORT_LIVED = ("anthropic",)


def whole_hits(rows: int, share: float) -> int:
    """How many of so many rows find the prefix: a row does or does not."""
    return rows * round(share * _WHOLE) // _WHOLE


def batch_caching(
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
    price = facts.batch_price_at(prefix_tokens)
    if price is None:
        return not_cached(0, f"no price is known of {facts.name} in batches")
    uncached = _micro(prefix_tokens, calls * price.input)
    against = _against(facts, price, prefix_tokens, rules_caches)
    if against:
        return not_cached(uncached, against)
    form, share = _form(facts), HITS if hits is None else hits
    job = _Prefix(prefix_tokens, calls, whole_hits(calls, share), pilot)
    direct = facts.price_at(prefix_tokens)
    primer = pilot and form is not _FOUND
    found = _cached(form, share, job.cost(form, price, direct), uncached, primer=primer)
    missed = int(getattr(price, form.written))
    if HITS * price.cached + (1 - HITS) * missed >= price.input:
        found = not_cached(uncached, f"caching does not pay: {found.why}")
    others = _considered(facts, job, price, direct)
    kept = found.mark
    forms = (each._replace(taken=each.taken and kept) for each in others)
    return replace(found, share=share, forms=(Considered(_NONE, uncached, not kept), *forms))


class _Prefix(NamedTuple):
    """A prefix in the calls of a job."""

    tokens: int
    calls: int
    found: int  # calls that read it
    pilot: bool  # others go before, direct

    def cost(self, form: _Form, price: Price, direct: Price) -> int:
        """Micro-dollars of it in a form."""
        # The primer writes in any case: only a dearer form is extra.
        dearer = self.pilot and form is _LONG
        extra = direct.written_long - direct.written_short if dearer else 0
        missed = (self.calls - self.found) * int(getattr(price, form.written))
        return _micro(self.tokens, self.found * price.cached + missed + extra)


def _considered(
    facts: ModelFacts, job: _Prefix, price: Price, direct: Price
) -> Iterator[Considered]:
    """Every form that the provider offers; the one that would be taken is marked."""
    chosen = _form(facts)
    if chosen is _FOUND:
        yield Considered(_FOUND.name, job.cost(_FOUND, price, direct), True)
        return
    for form in (_SHORT, _LONG) if price.written_long != price.written_short else (chosen,):
        brief = form is _SHORT and chosen is _LONG
        name = f"{form.name}{_PRIMED * job.pilot}"
        yield Considered(
            name, job.cost(form, price, direct), form is chosen, _TOO_BRIEF if brief else ""
        )
    if not job.pilot:
        more = _micro(job.tokens, int(getattr(direct, chosen.written)))
        cost = job.cost(chosen, price, direct) + more
        yield Considered(f"{chosen.name}{_PRIMED}", cost, False, "a call more, which writes it")


def not_cached(uncached: int, why: str) -> BatchCaching:
    """Treat a prefix as any other text, which costs so much in all calls."""
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


def _cached(form: _Form, share: float, cost: int, uncached: int, *, primer: bool) -> BatchCaching:
    name = f"{form.name}{_PRIMED}" if primer else form.name
    told = f"{dollars(uncached)} uncached, {dollars(cost)} {name}"
    return BatchCaching(
        mark=True,
        long_lived=form is _LONG,
        primer=primer,
        hits=share,
        written=form.written,
        cost=cost,
        uncached=uncached,
        why=f"{name}: {told}, if {share:.0%} of the rows find it",
    )


def _form(facts: ModelFacts) -> _Form:
    if facts.wire.marking is not Marking.BREAKPOINT:
        return _FOUND
    return _LONG if facts.provider in _SHORT_LIVED else _SHORT


def _against(facts: ModelFacts, price: Price, prefix_tokens: int, rules_caches: bool) -> str:
    if facts.wire.marking is Marking.NONE:
        return f"{facts.provider} keeps no prefix"
    if not rules_caches:
        return f"{facts.provider} keeps no prefix inside batches"
    if prefix_tokens < facts.cache_minimum:
        return f"{prefix_tokens:,} equal tokens are fewer than the {facts.cache_minimum:,} it keeps"
    if price.cached >= price.input:
        return f"{facts.provider} gives one discount, for batches or for caching, never both"
    return ""


def _micro(tokens: int, per_million: float) -> int:
    return round(tokens * per_million / MILLION)
