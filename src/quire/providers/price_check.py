"""Price check: our prices beside those of genai-prices, if installed."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import NamedTuple

from quire.domain.models import ModelFacts, Price
from quire.domain.pricing import MILLION
from quire.providers.vendors import VENDORS

COMPARED_PROVIDERS = tuple(name for name, facts in VENDORS.items() if facts.genai_prices_id)
_TOKENS = 1_000  # enough for an exact price, and below every tier


class PriceDifference(NamedTuple):
    """One price about which the two disagree, in micro-dollars per million tokens."""

    model: str
    kind: str
    ours: int
    theirs: int


def price_differences(models: Iterable[ModelFacts], at: datetime) -> list[PriceDifference] | None:
    """Compare standard prices as of a moment; None where genai-prices is not installed.

    Batch prices are left out: it lacks many, and gives the standard price in their place.
    """
    if find_spec("genai_prices") is None:
        return None
    found = []
    for facts in models:
        if facts.provider not in COMPARED_PROVIDERS:
            continue
        for above, ours in ((0, facts.price), *facts.tiers):
            theirs = _their_price(facts, above, at)
            if theirs is not None:
                if facts.embeds:  # nothing is written; some say that it costs what is read
                    theirs = replace(theirs, output=ours.output)
                found += _compare(facts.name, f" above {above:,}" if above else "", ours, theirs)
    return found


def _compare(model: str, where: str, ours: Price, theirs: Price) -> list[PriceDifference]:
    kinds = ("input", "cached", "written_short", "output")
    pairs = ((kind, getattr(ours, kind), getattr(theirs, kind)) for kind in kinds)
    unlike = ((kind, mine, other) for kind, mine, other in pairs if mine != other)
    return [PriceDifference(model, kind + where, mine, other) for kind, mine, other in unlike]


def _their_price(facts: ModelFacts, above: int, at: datetime) -> Price | None:
    """What it says a model costs in calls above a size; None if it does not know the model."""
    from genai_prices import Usage, calc_price  # for those who check; never needed to run

    tokens = above + _TOKENS

    def ask(usage: Usage) -> tuple[Decimal, Decimal]:
        provider, _, model = facts.name.partition("/")
        result = calc_price(
            usage,
            model_ref=model,
            provider_id=VENDORS[provider].genai_prices_id,
            genai_request_timestamp=at,
        )
        return result.input_price, result.output_price

    try:
        input_price, output = ask(Usage(input_tokens=tokens, output_tokens=_TOKENS))
        cached, _ = ask(Usage(input_tokens=tokens, cache_read_tokens=tokens))
        written, _ = ask(Usage(input_tokens=tokens, cache_write_tokens=tokens))
    except LookupError:
        return None
    return Price(
        input=_micro(input_price, tokens),
        output=_micro(output, _TOKENS),
        cached=_micro(cached, tokens),
        written_short=_micro(written, tokens),
        written_long=_micro(written, tokens),
    )


def _micro(dollars: Decimal, tokens: int) -> int:
    return round(dollars * MILLION * MILLION / tokens)
