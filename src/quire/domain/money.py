"""Money is an integer of micro-dollars; a price is micro-dollars per million tokens."""

from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What a set of attempts cost: what providers reported, and what we must presume."""

    known: int = 0  # from usage the provider returned
    presumed: int = 0  # reservations of calls whose outcome is unknown or was written off


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
