"""Spans: a document divided into sections or pages, each a run of its blocks.

A section begins with a heading of its level, or of one above, and ends before the next. What stands
before the first heading is a section too; headings that nothing stands under go with what follows.
Where no level is stated, it is the outermost that has two headings: a title alone at the top makes
no sections. A document without headings is one section, one without pages one page.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.groupings import BlockPlace, Driver, DriverItem, GroupingContext, Part
from quire.domain.recipes import EACH_PAGE, EACH_SECTION, SAME

LEVEL = "level"  # the setting that says which headings begin a section
BLOCKS, SIZE = "blocks", "bytes"  # in what is said of a task: first and last block, how large


class DocumentSpan(NamedTuple):
    """Blocks of a document that follow each other."""

    first: int
    last: int
    headings: tuple[str, ...]  # the titles that it stands under, its own last
    page: int | None
    size: int  # bytes of its blocks

    def as_part(self, kind: str) -> JsonObject:
        """What the task about it is told, and keeps."""
        place: dict[str, Json] = {BLOCKS: [self.first, self.last], SIZE: self.size}
        if kind == EACH_PAGE:
            return {"page": self.page, **place}
        return {"headings": list(self.headings), **place}


def span_of_part(part: JsonObject) -> tuple[int, int] | None:
    """The first and the last block that a task is about; None: it is about no span."""
    found = part.get(BLOCKS)
    return (int(found[0]), int(found[1])) if isinstance(found, list) and len(found) == 2 else None


def span_size(part: JsonObject) -> int:
    """How large the span is that a task is about."""
    found = part.get(SIZE)
    return found if isinstance(found, int) else 0


def divide(outline: Sequence[BlockPlace], kind: str, level: int | None) -> list[DocumentSpan]:
    """The sections or pages of a document, in order; every block is in one."""
    if not outline:
        return []
    if kind == EACH_PAGE:
        return [_span(part, ()) for part in _split_pages(outline)]
    depth = level or _usual_level(outline)
    found = _split_sections(outline, depth) if depth else [list(outline)]
    return [_span(part, _path(part, depth)) for part in _join_bare_headings(found)]


def _usual_level(outline: Sequence[BlockPlace]) -> int:
    """The outermost level with two headings; 0 where there is none."""
    levels = sorted(len(place.headings) + 1 for place in outline if place.heading)
    return next((level for level in levels if levels.count(level) > 1), 0)


def _split_sections(outline: Sequence[BlockPlace], depth: int) -> Iterator[list[BlockPlace]]:
    section: list[BlockPlace] = []
    for place in outline:
        if place.heading and len(place.headings) < depth and section:
            yield section
            section = []
        section.append(place)
    yield section


def _split_pages(outline: Sequence[BlockPlace]) -> Iterator[list[BlockPlace]]:
    page: list[BlockPlace] = []
    for place in outline:
        if page and place.page is not None and place.page != page[-1].page:
            yield page
            page = []
        page.append(place if place.page is not None else place._replace(page=_last_page(page)))
    yield page


def _last_page(page: Sequence[BlockPlace]) -> int | None:
    return page[-1].page if page else None


def _join_bare_headings(sections: Iterable[list[BlockPlace]]) -> list[list[BlockPlace]]:
    joined: list[list[BlockPlace]] = []
    for section in sections:
        if joined and all(place.heading for place in joined[-1]):
            joined[-1] = [*joined[-1], *section]
        else:
            joined.append(section)
    return joined


def _path(section: Sequence[BlockPlace], depth: int) -> tuple[str, ...]:
    """The titles of a section: of the first thing in it that is no heading, or of the headings."""
    said = next((place for place in section if not place.heading), None)
    if said is not None:
        return said.headings[:depth]
    return (*section[-1].headings, section[-1].heading)[: max(1, depth)]


def _span(places: Sequence[BlockPlace], headings: tuple[str, ...]) -> DocumentSpan:
    size = sum(place.size for place in places)
    return DocumentSpan(places[0].index, places[-1].index, headings, places[-1].page, size)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanGrouping:
    """One task for each section or page, each model and each sample."""

    name: str
    driver: Driver = Driver.DOCUMENT
    wants_documents: bool = False

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """Refuse settings it does not know, and models or samples that make no sense with it."""
        known = (LEVEL,) if self.name == EACH_SECTION else ()
        strange = [name for name in context.settings if name not in known]
        found = [f"{self.name} has no setting {name!r}" for name in strange]
        level = context.settings.get(LEVEL, 1)
        if isinstance(level, bool) or not isinstance(level, int) or level < 1:
            found.append(f"the setting {LEVEL} must be a whole number from 1 on")
        if context.samples < 1:
            found.append("samples must be at least 1")
        if SAME in context.models:
            found.append(f'model = "{SAME}" needs a result it is about, and {self.name} has none')
        return found

    def spans(self, outline: Sequence[BlockPlace], settings: JsonObject) -> list[DocumentSpan]:
        """The sections or pages of a document."""
        level = settings.get(LEVEL)
        return divide(outline, self.name, level if isinstance(level, int) else None)

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """The tasks about one document: every section or page, every model, every sample."""
        for span in self.spans(driven.outline, context.settings):
            for model in context.models or ("",):
                for sample in range(context.samples):
                    yield Part(model=model, sample=sample, part=span.as_part(self.name))

    def count(self, driven: int, context: GroupingContext) -> int:
        """Sections or pages × models × samples; who has not divided documents counts those."""
        return driven * len(context.models or ("",)) * context.samples
