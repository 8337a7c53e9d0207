"""The built-in groupings: what one task is about, and how many tasks that makes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from quire.domain.data import Json
from quire.domain.groupings import (
    ABOUT_RESULTS,
    Driver,
    DriverItem,
    Grouping,
    GroupingContext,
    Part,
)
from quire.domain.recipes import EACH_MODEL, EACH_PAGE, EACH_SECTION, SAME
from quire.planning.spans import SpanGrouping

ALL_TO_ONE, SAMPLES = "all_to_one", "samples"
ANCHOR = "with"  # the setting that names the stage whose results pairs are made with
SHOW_DOCUMENTS = "documents"  # the setting that shows all documents to each task


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleGrouping:
    """One task for each thing, each model and each sample."""

    name: str
    driver: Driver
    wants_documents: bool = False
    allowed: tuple[str, ...] = ()  # settings it knows; each is true or false
    stages: tuple[str, ...] = ()  # settings that name a stage
    most_samples: int | None = None
    keeps_sample: bool = False  # an answer to a result has that result's number

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """Refuse settings it does not know, and models or samples that make no sense with it."""
        return list(self._find_mistakes(context))

    def _find_mistakes(self, context: GroupingContext) -> Iterator[str]:
        for name, value in context.settings.items():
            settings = (*self.allowed, *self.stages)
            if name not in settings:
                known = f"; it knows {', '.join(settings)}" if settings else ""
                yield f"{self.name} has no setting {name!r}{known}"
            elif name in self.stages and not (isinstance(value, str) and value):
                yield f"the setting {name} must be the name of a stage"
            elif name in self.allowed and not isinstance(value, bool):
                yield f"the setting {name} must be true or false"
        if context.samples < 1:
            yield "samples must be at least 1"
        elif self.most_samples is not None and context.samples > self.most_samples:
            yield f'{self.name} gives one answer each; several come with about = "{SAMPLES}"'
        if SAME in context.models and self.driver not in ABOUT_RESULTS:
            yield f'model = "{SAME}" needs a result it is about, and {self.name} has none'

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """The tasks about one thing: every model in order, every sample in order."""
        shown = shows_documents(self, context.settings)
        documents = tuple(context.documents) if shown else ()
        for model in _models(context):
            for sample in range(context.samples):
                yield Part(
                    model=driven.model if model == SAME else model,
                    sample=driven.sample if self.keeps_sample else sample,
                    part=driven.part,
                    documents=documents,
                )

    def count(self, driven: int, context: GroupingContext) -> int:
        """Things × models × samples."""
        return driven * len(_models(context)) * context.samples


def shows_documents(grouping: Grouping, settings: Mapping[str, Json]) -> bool:
    """Whether tasks are given a list of documents: built-in groupings do so where told to."""
    wanted = not isinstance(grouping, SimpleGrouping) or settings.get(SHOW_DOCUMENTS) is True
    return grouping.wants_documents and wanted


def _models(context: GroupingContext) -> tuple[str, ...]:
    return context.models or ("",)  # "" is the run's own


EACH_BLOCK = SimpleGrouping(name="each_block", driver=Driver.BLOCK)
EACH_DOCUMENT = SimpleGrouping(name="each_document", driver=Driver.DOCUMENT)
EACH_SECTION_OF_DOCUMENT = SpanGrouping(name=EACH_SECTION)
EACH_PAGE_OF_DOCUMENT = SpanGrouping(name=EACH_PAGE)
_SHOWING = partial(SimpleGrouping, wants_documents=True, allowed=(SHOW_DOCUMENTS,))
EACH_RESULT = _SHOWING(name="each_result", driver=Driver.RESULT, most_samples=1, keeps_sample=True)
PAIRS_BY_ORIGIN = _SHOWING(name="pairs_by_origin", driver=Driver.PAIR, stages=(ANCHOR,))
BY_LINEAGE = _SHOWING(name="by_lineage", driver=Driver.LINEAGE)
BY_GROUP = _SHOWING(name="by_group", driver=Driver.GROUP)
ONE_FOR_EACH_MODEL = _SHOWING(name=EACH_MODEL, driver=Driver.ONCE, most_samples=1)
ALL = _SHOWING(name=ALL_TO_ONE, driver=Driver.ONCE)
SAMPLES_OF_RUN = _SHOWING(name=SAMPLES, driver=Driver.ONCE)
SAMPLES_OF_RESULT = _SHOWING(name=SAMPLES, driver=Driver.RESULT)

GROUPINGS: Mapping[str, Grouping] = {
    grouping.name: grouping
    for grouping in (
        *(EACH_BLOCK, EACH_DOCUMENT, EACH_SECTION_OF_DOCUMENT, EACH_PAGE_OF_DOCUMENT),
        *(EACH_RESULT, SAMPLES_OF_RUN, ALL, ONE_FOR_EACH_MODEL),
        *(PAIRS_BY_ORIGIN, BY_LINEAGE, BY_GROUP),
    )
}


def grouping_of(about: str, of: str, groupings: Mapping[str, Grouping]) -> Grouping | None:
    """The grouping a stage names; samples are of each result where the stage says of which."""
    if about == SAMPLES and of:
        return SAMPLES_OF_RESULT
    return groupings.get(about)
