"""Plain text: text from outside that is about to be shown to somebody."""

import unicodedata

_STEERING = ("Cc", "Cs")  # categories: control characters, halves of others
# what follows these marks is shown in another direction
TURNING = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def plain_text(text: str, keep: str = "") -> str:
    """Text that cannot steer a terminal: its control characters become visible.

    So do the marks that turn the direction of what follows: a name would read as another.
    """
    return "".join(name if name in keep or not _steers(name) else repr(name)[1:-1] for name in text)


def _steers(name: str) -> bool:
    return name in TURNING or unicodedata.category(name) in _STEERING
