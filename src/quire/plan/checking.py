"""Checking: how far a forecast was off, once all is paid."""

from quire.domain.money import dollars


def percent_off(forecast: int, spent: int) -> float | None:
    """How far the forecast was above what was spent, in percent of that; None where that is 0."""
    return 100 * (forecast - spent) / spent if spent else None


def told_off(forecast: int, spent: int) -> str:
    """The forecast beside what came, as a person reads it; both are micro-dollars."""
    off = percent_off(forecast, spent)
    told = f"forecast {dollars(forecast)}"
    if off is None:
        return told
    return f"{told}, {abs(off):.{0 if abs(off) >= 1 else 1}f} % off"
