"""Plain text: text from outside that is about to be shown to somebody."""

import unicodedata


def plain_text(text: str, keep: str = "") -> str:
    """Text that cannot steer a terminal: its control characters become visible."""
    return "".join(
        name if name in keep or unicodedata.category(name) not in ("Cc", "Cs") else repr(name)[1:-1]
        for name in text
    )
