"""Sources: where documents were read from; every path has its row, and several share a document."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from quire.domain.data import Json
from quire.domain.documents import ReadOptions
from quire.domain.ids import DocumentId, SourceId


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReading:
    """What is known of a path that is read, besides what is in it."""

    place: str  # where it really is: one for each file, whatever it is called
    stamp: str = ""  # as long as it is the same, so is the file; "": nobody can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One path with the document that was read from it."""

    id: SourceId
    document_id: DocumentId
    place: str
    path: str  # what it was called
    title: str
    options: dict[str, Json]  # how it was read, where that was said
    stamp: str
    read_at: datetime  # the last time
    retired_at: datetime | None  # since then another document is at this path


def shown_sources(sources: Sequence[Source], since: datetime | None = None) -> tuple[Source, ...]:
    """The paths that a document is shown with: those that it has, or had since a moment.

    Where it has none any more, the one that it had last.
    """
    found = tuple(source for source in sources if _is_shown(source, since))
    if found or not sources:
        return found
    return (max(sources, key=lambda source: (source.retired_at or source.read_at, source.id)),)


def _is_shown(source: Source, since: datetime | None) -> bool:
    if source.retired_at is None:
        return True
    return since is not None and source.retired_at > since


def options_json(options: ReadOptions) -> dict[str, Json]:
    """What was chosen of how a source is read; what is as usual is left out."""
    values = {item.name: (getattr(options, item.name), item.default) for item in fields(options)}
    return {name: value for name, (value, usual) in values.items() if value != usual}
