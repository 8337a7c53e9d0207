"""The built-in groupings: what one task is about, and how many tasks that makes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.groupings import Driver, DriverItem, Grouping, GroupingContext, Part
from quire.domain.recipes import SAME, Stage

ALL_TO_ONE, SAMPLES = "all_to_one", "samples"
SHOW_DOCUMENTS = "documents"  # the setting that shows the documents themselves to an all_to_one


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleGrouping:
    """One task for each thing, each model and each sample."""

    name: str
    driver: Driver
    wants_documents: bool = False
    allowed: tuple[str, ...] = ()  # settings it knows; each is true or false
    most_samples: int | None = None

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """Refuse settings it does not know, and models or samples that make no sense with it."""
        return list(self._find_mistakes(context))

    def _find_mistakes(self, context: GroupingContext) -> Iterator[str]:
        for name, value in context.settings.items():
            if name not in self.allowed:
                known = f"; it knows {', '.join(self.allowed)}" if self.allowed else ""
                yield f"{self.name} has no setting {name!r}{known}"
            elif not isinstance(value, bool):
                yield f"the setting {name} must be true or false"
        if context.samples < 1:
            yield "samples must be at least 1"
        elif self.most_samples is not None and context.samples > self.most_samples:
            yield f'{self.name} gives one answer each; several come with about = "{SAMPLES}"'
        if SAME in context.models and self.driver is not Driver.RESULT:
            yield f'model = "{SAME}" needs a result it is about, and {self.name} has none'

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """The tasks about one thing: every model in order, every sample in order."""
        show_documents = context.settings.get(SHOW_DOCUMENTS) is True and self.wants_documents
        documents = tuple(context.documents) if show_documents else ()
        for model in _models(context):
            for sample in range(context.samples):
                yield Part(
                    model=driven.model if model == SAME else model,
                    # the answer to a result keeps that result's number
                    sample=driven.sample if self.most_samples == 1 else sample,
                    part=driven.part,
                    documents=documents,
                )

    def count(self, driven: int, context: GroupingContext) -> int:
        """Things × models × samples."""
        return driven * len(_models(context)) * context.samples


def _models(context: GroupingContext) -> tuple[str, ...]:
    return context.models or ("",)  # "" is the run's own


EACH_BLOCK = SimpleGrouping(name="each_block", driver=Driver.BLOCK)
EACH_DOCUMENT = SimpleGrouping(name="each_document", driver=Driver.DOCUMENT)
EACH_RESULT = SimpleGrouping(name="each_result", driver=Driver.RESULT, most_samples=1)
ALL = SimpleGrouping(
    name=ALL_TO_ONE, driver=Driver.ONCE, wants_documents=True, allowed=(SHOW_DOCUMENTS,)
)
SAMPLES_OF_RUN = SimpleGrouping(name=SAMPLES, driver=Driver.ONCE)
SAMPLES_OF_RESULT = SimpleGrouping(name=SAMPLES, driver=Driver.RESULT)

GROUPINGS: Mapping[str, Grouping] = {
    grouping.name: grouping
    for grouping in (EACH_BLOCK, EACH_DOCUMENT, EACH_RESULT, SAMPLES_OF_RUN, ALL)
}


def grouping_of(about: str, of: str, groupings: Mapping[str, Grouping]) -> Grouping | None:
    """The grouping a stage names; samples are of each result where the stage says of which."""
    if about == SAMPLES and of:
        return SAMPLES_OF_RESULT
    return groupings.get(about)


class Reader(NamedTuple):
    """A stage that reads another's results, and how near the two are."""

    about: Driver
    root: Driver  # what its results are about in the end, by way of other results
    above: Stage  # that it reads, and is not `of`
    above_root: Driver
    is_descendant: bool  # what it is about was itself made from what it reads


def reads_several(reader: Reader) -> bool:
    """Whether one task reads several results of the other stage: then templates get a list."""
    above, over = reader.above, reader.above_root
    if reader.about is Driver.ONCE or above.may_be_several:
        return True
    if reader.about is Driver.RESULT and not reader.is_descendant:
        return over in (Driver.BLOCK, Driver.DOCUMENT)
    if reader.root is Driver.ONCE:
        return over in (Driver.BLOCK, Driver.DOCUMENT)
    return reader.root is Driver.DOCUMENT and over is Driver.BLOCK
