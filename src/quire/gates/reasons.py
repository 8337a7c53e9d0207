"""Reasons: what is said of an answer that nobody can use, in the same words by every gate."""

CUT_OFF = "answer was cut off"
EMPTY = "empty answer"
_LONGEST_QUOTE = 200


def refusal_reason(text: str) -> str:
    """Say that the model refused, in its own words where it found some."""
    quote = clip(" ".join(text.split()), _LONGEST_QUOTE)
    return f"model refused: {quote}" if quote else "model refused"


def clip(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else text[: most - 1] + "…"
