"""What a call costs, in whole micro-dollars; a price is micro-dollars per million tokens."""

from quire.domain.models import ModelFacts, Price, Usage

MILLION = 1_000_000


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


def dollars(micro: int) -> str:
    """Show micro-dollars as a person reads them: cents when large, six places when tiny, or $0."""
    if micro == 0:
        return "$0"
    sign, amount = ("-", -micro) if micro < 0 else ("", micro)
    if amount >= 100 * MILLION:
        return f"{sign}${amount / MILLION:,.2f}"
    if amount >= MILLION // 100:
        return f"{sign}${amount / MILLION:.4f}"
    return f"{sign}${amount / MILLION:.6f}"


def per_million(micro: int) -> str:
    """A price in dollars per million tokens, in as few digits as are exact."""
    return f"{micro / MILLION:.9g}"
