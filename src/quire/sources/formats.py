"""The formats that can be read, and how a file's ending tells its own."""

from enum import StrEnum

from quire.domain.errors import SourceUnreadable


class Format(StrEnum):
    """A way to read bytes; its value is the ending most files have."""

    MARKDOWN = "md"
    TEXT = "txt"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"

    @property
    def source_type(self) -> str:
        """The type a document is kept under."""
        return "csv" if self is Format.TSV else self.value


_ENDINGS = {
    "md": Format.MARKDOWN,
    "markdown": Format.MARKDOWN,
    "txt": Format.TEXT,
    "text": Format.TEXT,
    "csv": Format.CSV,
    "tsv": Format.TSV,
    "jsonl": Format.JSONL,
    "ndjson": Format.JSONL,
}


def known_format(name: str) -> Format | None:
    """Tell a format by a file's name, in upper or lower case; None if the ending is unknown."""
    _, dot, ending = name.rpartition(".")
    return _ENDINGS.get(ending.lower()) if dot else None


def format_of(ending: str, *, name: str) -> Format:
    """Tell a format by its ending alone, or refuse it in the name of the file."""
    found = _ENDINGS.get(ending.removeprefix(".").lower())
    if found is None:
        raise SourceUnreadable(
            f"{name}: unknown type {ending or '(none)'!r}; known are {', '.join(_ENDINGS)}"
        )
    return found
