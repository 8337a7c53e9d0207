"""Checking: how far a forecast was off, once all is paid."""

from quire.domain.money import dollars


def percent_over(forecast: int, spent: int) -> float | None:
    """How far above the forecast it was, in percent of the forecast; None where either is 0."""
    return 100 * (spent - forecast) / forecast if spent and forecast else None


def told_off(forecast: int, spent: int) -> str:
    """The forecast beside what came, as a person reads it; both are micro-dollars."""
    over = percent_over(forecast, spent)
    told = f"forecast {dollars(forecast)}"
    if over is None:
        return told
    side = "over" if over > 0 else "under" if over < 0 else "off"
    return f"{told}, {abs(over):.{0 if abs(over) >= 1 else 1}f} % {side}"
