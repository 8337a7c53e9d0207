"""What a call costs, exactly: whole picodollars (10⁻¹² dollars), a price for each token."""

from quire.domain.models import ModelFacts, Price, Usage

MILLION = 1_000_000
DOLLAR = MILLION * MILLION  # picodollars


def price_call(facts: ModelFacts, usage: Usage, *, batched: bool = False) -> int:
    """Price one call in picodollars; its size chooses the tier."""
    price = price_at(facts, usage.input_total, batched=batched)
    return (
        usage.input * price.input
        + usage.cached * price.cached
        + usage.written_short * price.written_short
        + usage.written_long * price.written_long
        + usage.output * price.output
    )


def price_at(facts: ModelFacts, input_tokens: int, *, batched: bool = False) -> Price:
    """What tokens cost in a call with this much input; in a batch of unknown price, as direct."""
    price, tiers = facts.price, facts.tiers
    if batched and facts.batch_price is not None:
        price, tiers = facts.batch_price, facts.batch_tiers
    for tier in tiers:
        if input_tokens > tier.above:
            price = tier.price
    return price


def to_usd(pico: int) -> float:
    """The same amount in dollars, for people and programs; money is added up before, as a whole."""
    return pico / DOLLAR


def dollars(pico: int) -> str:
    """Show an amount as a person reads it: cents when large, six places when small, or $0."""
    if pico == 0:
        return "$0"
    sign, amount = ("-", -pico) if pico < 0 else ("", pico)
    if amount >= 100 * DOLLAR:
        return f"{sign}${amount / DOLLAR:,.2f}"
    if amount >= DOLLAR // 100:
        return f"{sign}${amount / DOLLAR:.4f}"
    if amount >= MILLION:
        return f"{sign}${amount / DOLLAR:.6f}"
    return f"{sign}${amount / DOLLAR:.12f}".rstrip("0")


def per_million(price: int) -> str:
    """A token's price in dollars per million tokens, in as few digits as are exact."""
    return f"{price / MILLION:.9g}"
