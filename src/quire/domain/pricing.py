"""What a call costs: the price that applies to it, and the sum over its tokens."""

from quire.domain.models import ModelFacts, Price, Usage
from quire.domain.money import MILLION


def price_call(facts: ModelFacts, usage: Usage, *, batched: bool = False) -> int:
    """Price one call in micro-dollars, rounded up once; its size chooses the tier."""
    price = price_at(facts, usage.input_total, batched=batched)
    total = (
        usage.input * price.input
        + usage.cached * price.cached
        + usage.written_short * price.written_short
        + usage.written_long * price.written_long
        + usage.output * price.output
    )
    return -(-total // MILLION)


def price_at(facts: ModelFacts, input_tokens: int, *, batched: bool = False) -> Price:
    """What tokens cost in a call with this much input; in a batch of unknown price, as direct."""
    price, tiers = facts.price, facts.tiers
    if batched and facts.batch_price is not None:
        price, tiers = facts.batch_price, facts.batch_tiers
    for tier in tiers:
        if input_tokens > tier.above:
            price = tier.price
    return price
