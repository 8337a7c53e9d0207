"""Groupings: what one task is about, and how many tasks that makes."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from quire.domain.data import NOTHING, JsonObject
from quire.domain.ids import DocumentId


class Driver(StrEnum):
    """What a stage is expanded over, one by one, in a fixed order."""

    BLOCK = "block"  # every block of the inputs
    DOCUMENT = "document"  # every document of the inputs
    RESULT = "result"  # every task of the stage it is `of`
    ONCE = "once"  # the run as a whole
    PAIR = "pair"  # every task of the stage it is `of`, with each anchor of the same origin
    LINEAGE = "lineage"  # every origin of the tasks of the stage it is `of`
    GROUP = "group"  # every task that tasks of the stage it is `of` are about


# these are about results of the stage named in `of`
ABOUT_RESULTS = (Driver.RESULT, Driver.PAIR, Driver.LINEAGE, Driver.GROUP)
OF_WHOLE_STAGE = (Driver.LINEAGE, Driver.GROUP)  # which must be complete: a group is whole or wrong


class BlockPlace(NamedTuple):
    """A block as one sees it who divides a document: where it stands, not what it says."""

    index: int  # type: ignore[assignment]  # nobody asks a place for `tuple.index`
    headings: tuple[str, ...]  # the titles above it, outermost first
    heading: str  # its own title; "": it is no heading
    page: int | None  # None: its format has none
    size: int  # bytes of its content as a JSON string


class DriverItem(NamedTuple):
    """One thing a stage is expanded over."""

    key: int  # its number: of the block, document or task; 0 for the run
    model: str = ""  # who answered, where it is a result
    sample: int = 0  # which draw it is, where it is a result
    part: JsonObject = NOTHING  # what its own grouping said of it, where it is a result
    outline: Sequence[BlockPlace] = ()  # of a document that is divided


class GroupingContext(NamedTuple):
    """All else that a grouping may look at; the same for every task of a stage."""

    parameters: JsonObject  # of the recipe
    settings: JsonObject  # of the stage, for its grouping
    samples: int
    models: tuple[str, ...]  # who is asked; ("same",) = whoever gave the result it is about
    documents: Sequence[DocumentId] = ()  # of the stage's input, in order; if the grouping wants


class Part(NamedTuple):
    """One task that a thing is expanded into."""

    model: str
    sample: int = 0
    part: JsonObject = NOTHING  # what the prompt and the gates may know of this task alone
    documents: tuple[DocumentId, ...] = ()  # shown to the model, beside what it is driven by


class Grouping(Protocol):
    """A pure function from one thing to the tasks about it; the same call gives the same parts."""

    @property
    def name(self) -> str:
        """What recipes call it."""
        ...

    @property
    def driver(self) -> Driver:
        """What the stage is expanded over."""
        ...

    @property
    def wants_documents(self) -> bool:
        """Whether it looks at the documents of the stage's input."""
        ...

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """What is wrong with a stage's settings; checked before anything is spent."""
        ...

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterable[Part]:
        """The tasks about one thing, in order; may be lazy."""
        ...

    def count(self, driven: int, context: GroupingContext) -> int:
        """How many tasks so many things make: the stated cardinality."""
        ...
