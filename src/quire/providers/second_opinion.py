"""A second opinion on the catalog: our prices beside those of genai-prices, if installed."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import NamedTuple

from quire.domain.models import ModelFacts, Price
from quire.domain.money import MILLION

_CALLED = {"gemini": "google"}  # what it calls a provider, where that is not what we do
ASKED = ("anthropic", "openai", "gemini", "mistral", "groq")  # it knows no other of ours
_TOKENS = 1_000  # enough for an exact price, and below every tier


class Difference(NamedTuple):
    """One price about which the two disagree, in micro-dollars per million tokens."""

    model: str
    kind: str
    ours: int
    theirs: int


def differences(models: Iterable[ModelFacts], at: datetime) -> list[Difference] | None:
    """Compare standard prices as of a moment; None where genai-prices is not installed.

    Batch prices are left out: it lacks many, and gives the standard price in their place.
    """
    if find_spec("genai_prices") is None:
        return None
    found = []
    for facts in models:
        if facts.provider not in ASKED:
            continue
        for above, ours in ((0, facts.price), *facts.tiers):
            theirs = _price(facts, above, at)
            if theirs is not None:
                found += _compare(facts.name, f" above {above:,}" if above else "", ours, theirs)
    return found


def _compare(model: str, where: str, ours: Price, theirs: Price) -> list[Difference]:
    kinds = ("input", "cached", "written_short", "output")
    pairs = ((kind, getattr(ours, kind), getattr(theirs, kind)) for kind in kinds)
    return [
        Difference(model, kind + where, mine, other) for kind, mine, other in pairs if mine != other
    ]


def _price(facts: ModelFacts, above: int, at: datetime) -> Price | None:
    """What it says a model costs in calls above a size; None if it does not know the model."""
    from genai_prices import Usage, calc_price  # for those who check; never needed to run

    tokens = above + _TOKENS

    def ask(usage: Usage) -> tuple[Decimal, Decimal]:
        provider, _, model = facts.name.partition("/")
        said = calc_price(
            usage,
            model_ref=model,
            provider_id=_CALLED.get(provider, provider),
            genai_request_timestamp=at,
        )
        return said.input_price, said.output_price

    try:
        read, spoken = ask(Usage(input_tokens=tokens, output_tokens=_TOKENS))
        cached, _ = ask(Usage(input_tokens=tokens, cache_read_tokens=tokens))
        written, _ = ask(Usage(input_tokens=tokens, cache_write_tokens=tokens))
    except LookupError:
        return None
    return Price(
        input=_micro(read, tokens),
        output=_micro(spoken, _TOKENS),
        cached=_micro(cached, tokens),
        written_short=_micro(written, tokens),
        written_long=_micro(written, tokens),
    )


def _micro(dollars: Decimal, tokens: int) -> int:
    return round(dollars * MILLION * MILLION / tokens)
