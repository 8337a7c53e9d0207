"""Quantities: a number with its noun, in the form that goes with it."""


def quantity(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: 1 block, 1,200 blocks."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
