"""Money is an integer of micro-dollars; a price is micro-dollars per million tokens."""

from dataclasses import dataclass

from quire.domain.models import Price, Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What a set of attempts cost: what providers reported, and what we must presume."""

    known: int = 0  # from usage the provider returned
    presumed: int = 0  # reservations of calls whose outcome is unknown or was written off


def cost(usage: Usage, price: Price) -> int:
    """Price one attempt, rounded up once."""
    total = (
        usage.input * price.input
        + usage.cached * price.cached
        + usage.written_short * price.written_short
        + usage.written_long * price.written_long
        + usage.output * price.output
    )
    return -(-total // MILLION)


def most_cost(input_tokens: int, output_tokens: int, price: Price) -> int:
    """Price a call before it is made, by the most it may read and write; nothing is cached."""
    return -(-(input_tokens * price.input + output_tokens * price.output) // MILLION)


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
