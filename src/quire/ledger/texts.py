"""Texts as both databases can keep them: no NUL and no half of a surrogate pair."""

_NUL = "\0"
_REPLACEMENT = "\ufffd"


def storable(text: str) -> str:
    """Mend a message that may quote anything; content is refused earlier instead."""
    if text.isascii():
        return text.replace(_NUL, _REPLACEMENT) if _NUL in text else text
    return text.encode(errors="replace").decode().replace(_NUL, _REPLACEMENT)
