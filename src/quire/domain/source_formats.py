"""Source formats: the kinds of files that can be read, known by their endings."""

from collections.abc import Mapping
from enum import StrEnum


class SourceFormat(StrEnum):
    """A way to read bytes; its value is the ending most files have."""

    MARKDOWN = "md"
    TEXT = "txt"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    JSON = "json"
    HTML = "html"
    RST = "rst"
    EMAIL = "eml"
    DOCX = "docx"
    PDF = "pdf"
    XLSX = "xlsx"
    PPTX = "pptx"
    PARQUET = "parquet"

    @property
    def source_type(self) -> str:
        """The type a document is kept under."""
        return "csv" if self is SourceFormat.TSV else self.value


_FURTHER_ENDINGS = {
    SourceFormat.MARKDOWN: ("markdown",),
    SourceFormat.TEXT: ("text",),
    SourceFormat.JSONL: ("ndjson",),
    SourceFormat.HTML: ("htm", "xhtml"),
    SourceFormat.RST: ("rest",),
    SourceFormat.XLSX: ("xlsm",),
}
FORMAT_OF_ENDING: Mapping[str, SourceFormat] = {
    ending: form
    for form in SourceFormat
    for ending in (form.value, *_FURTHER_ENDINGS.get(form, ()))
}


def known_format(name: str) -> SourceFormat | None:
    """Tell a format by a file's name, in upper or lower case; None if the ending is unknown."""
    _, dot, ending = name.rpartition(".")
    return FORMAT_OF_ENDING.get(ending.lower()) if dot else None
