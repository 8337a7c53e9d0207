"""What a call costs, exactly: whole picodollars (10⁻¹² dollars), a price for each token."""

import re
from decimal import ROUND_UP, Decimal, InvalidOperation

from quire.domain.errors import UsageError
from quire.domain.models import ModelFacts, Price, Usage

MILLION = 1_000_000
DOLLAR = MILLION * MILLION  # picodollars
MOST_DOLLARS = MILLION  # in one amount that a person gives: sums of many stay whole numbers
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")


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


def from_usd(amount: int | float | str | Decimal) -> int:
    """Read dollars as people write them, `5`, `5.00` or `$5`, exactly as they are written."""
    text = str(amount).strip().removeprefix("$")
    if _THOUSANDS.fullmatch(text):  # any other comma may mean a point: 0,5 is not five
        text = text.replace(",", "")
    try:
        pico = Decimal(text).scaleb(12)
        whole = pico.is_finite() and pico == pico.to_integral_value()
    except (InvalidOperation, ValueError):
        whole = False
    if isinstance(amount, bool) or not whole:
        raise UsageError(f"{str(amount)[:40]!r} is no amount of dollars: write 5, 5.00 or $5")
    if not 0 <= pico <= MOST_DOLLARS * DOLLAR:
        raise UsageError(f"{str(amount)[:40]!r}: an amount is from $0 to ${MOST_DOLLARS:,}")
    return int(pico)


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


def typed_dollars(pico: int) -> str:
    """An amount as somebody types it: a number of few digits, and never less."""
    exact = Decimal(pico) / DOLLAR
    few = exact.quantize(Decimal(1).scaleb(min(-2, exact.adjusted() - 2)), ROUND_UP)
    return f"{few.normalize():f}"


def cost_words(cost: int, simulated: int) -> str:
    """A cost whose simulated part, which is no money, is told apart: `$0.41 + $0.03 simulated`."""
    parts = [dollars(cost - simulated)] if cost != simulated or not simulated else []
    parts += [f"{dollars(simulated)} simulated"] if simulated else []
    return " + ".join(parts)


def per_million(price: int) -> str:
    """A token's price in dollars per million tokens, in as few digits as are exact."""
    return f"{price / MILLION:.9g}"
