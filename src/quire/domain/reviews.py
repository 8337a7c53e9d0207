"""Reviews: why a result wants a person, what persons decided, and what they are shown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from quire.domain.data import Json, JsonObject, plain_json, stored_json
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId, ResultId, RunId, TaskId
from quire.domain.quotes import Quote
from quire.domain.states import ReviewMove, ReviewState, TaskState

ANY = "any"
AGAIN, NOT_AGAIN = "yes", "no"  # rejected by a person, and come again
NONE = "none"  # an item without a reason
DECIDED = (ReviewState.APPROVED, ReviewState.EDITED)
LOW_SCORE_BELOW = 0.5  # of a critic's score between 0 and 1


class ReviewReason(StrEnum):
    """Why a result wants a person, in the order of need."""

    OBJECTED = "objected"  # a critic objected, or came to nothing
    LOW_SCORE = "low_score"  # a critic's score is below one half
    REPAIRED = "repaired"  # accepted after a refusal, read leniently, or not whole
    DISAGREEMENT = "disagreement"  # models or samples said different things of one subject
    STRAY_IDS = "stray_ids"  # its call named unknown subjects, or one twice
    STALE = "stale"  # what it was made from has changed

    @property
    def rank(self) -> int:
        """Its place in the order of need, 0 first."""
        return _RANKS[self]

    @property
    def bit(self) -> int:
        """What stands for it where all reasons of a result are one number."""
        return 1 << _RANKS[self]


_RANKS = {reason: place for place, reason in enumerate(ReviewReason)}
REST = len(_RANKS)  # the rank of what has no reason


def reasons_from_bits(bits: int) -> tuple[ReviewReason, ...]:
    """All reasons of a result, the most pressing first."""
    return tuple(reason for reason in ReviewReason if bits & reason.bit)


def rank_from_bits(bits: int) -> int:
    """Where a result with these reasons stands in the order of need."""
    return (bits & -bits).bit_length() - 1 if bits else REST


class InboxOrder(StrEnum):
    """In which order results are looked at."""

    NEED = "need"  # what most needs a person first
    OLDEST = "oldest"
    NEWEST = "newest"
    SCORE = "score"  # the lowest critic's score first, then what has none
    DOCUMENT = "document"  # as they stand in the documents, stage after stage


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxFilter:
    """Which results are looked at; empty, it takes all that nobody has decided about."""

    stage: str | None = None  # None: all but critics
    review: str = ReviewState.UNREVIEWED.value  # or approved, edited, any
    state: str | None = None  # of the task
    reason: ReviewReason | None = None  # it has this one, maybe among others
    without: tuple[ReviewReason, ...] = ()  # it has none of these
    fields: Mapping[str, Json] = field(default_factory=dict)  # top-level ones that equal a value
    score_min: float | None = None  # of a critic, 0 to 1
    score_max: float | None = None
    document: int | None = None
    text: str | None = None  # in the data or in the block
    again: str | None = None  # rejected, and come again: yes, no or any; None: who asks decides
    order: InboxOrder = InboxOrder.NEED

    @classmethod
    def parse(cls, words: str | Sequence[str]) -> "InboxFilter":
        """Read `reason=repaired score>=0.9 field.party=Tenant text=rent`; what is no part is text.

        A value with blanks is given as one word of a sequence, or between double quotes.
        """
        found = cls()
        for part in _split_words(words) if isinstance(words, str) else words:
            found = _with_part(found, part)
        return found

    def as_text(self) -> str:
        """The same in the words that `parse` reads."""
        return " ".join(_quote_word(part) for part in self._parts())

    def _parts(self) -> Iterator[str]:
        usual = {"review": ReviewState.UNREVIEWED, "order": InboxOrder.NEED}
        for name in ("stage", "state", "reason", "document", "review", "again", "order"):
            if (value := getattr(self, name)) != usual.get(name):
                yield f"{name}={value}"
        yield from (f"without={reason}" for reason in self.without)
        if self.score_min is not None:
            yield f"score>={self.score_min:g}"
        if self.score_max is not None:
            yield f"score<={self.score_max:g}"
        for name, value in self.fields.items():
            yield f"field.{name}={value if _is_plain(value) else plain_json(value)}"
        if self.text is not None:
            yield f"text={self.text}"


_DEEPEST = 100  # how deep a value may be nested, at most
_STATES = (TaskState.DONE, TaskState.FAILED, TaskState.PROPOSED)
_REVIEWS = (ReviewState.UNREVIEWED, *DECIDED, ANY)
_CHOICES = {"review": _REVIEWS, "state": _STATES, "order": tuple(InboxOrder)}
_CHOICES["again"] = (AGAIN, NOT_AGAIN, ANY)


def _split_words(text: str) -> Iterator[str]:
    """Words parted by blanks, but for blanks between double quotes."""
    word, quoted, begun = "", False, False
    for letter in text:
        if letter == '"':
            quoted, begun = not quoted, True
        elif letter.isspace() and not quoted:
            if word or begun:
                yield word
            word, begun = "", False
        else:
            word += letter
    if word or begun:
        yield word


def _quote_word(part: str) -> str:
    return f'"{part}"' if any(letter.isspace() for letter in part) else part


def _with_part(found: InboxFilter, part: str) -> InboxFilter:
    for sign, name in ((">=", "score_min"), ("<=", "score_max")):
        if part.startswith(f"score{sign}"):
            return replace(found, **{name: _number(part, part[7:])})  # type: ignore[arg-type]
    if _COMPARES.match(part):
        forms = "score>=0.9 and score<=0.5 compare, field.NAME=7 is equal, text=WORDS is looked for"
        raise UsageError(f"a filter knows no {part!r}", forms)
    key, sign, value = part.partition("=")
    if not sign:
        return replace(found, text=f"{found.text} {part}" if found.text else part)
    if key.startswith("field."):
        fields = {**found.fields, key.removeprefix("field."): _field_value(value)}
        return replace(found, fields=fields)
    if key == "without":
        return replace(found, without=(*found.without, _reason(value)))
    return _with_named_part(found, key, value)


def _with_named_part(found: InboxFilter, key: str, value: str) -> InboxFilter:
    match key:
        case "reason":
            return replace(found, reason=_reason(value))
        case "review" | "state" | "again" | "order":
            chosen = _one_of(key, value, _CHOICES[key])
            return replace(found, **{key: InboxOrder(chosen) if key == "order" else chosen})  # type: ignore[arg-type]
        case "document":
            return replace(found, document=int(_number(f"document={value}", value)))
        case "stage":
            return replace(found, stage=value)
        case "text":
            return replace(found, text=value)
    raise UsageError(
        f"a filter knows no {key!r}",
        "stage=, reason=, without=, review=, state=, again=, document=, field.NAME=, text=,"
        " order=, score>= and score<= are its parts",
    )


def _reason(value: str) -> ReviewReason:
    return ReviewReason(_one_of("reason", value, tuple(ReviewReason)))


def _one_of(key: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"{key} is one of {', '.join(known)}, not {value!r}")
    return str(value)


_COMPARES = re.compile(r"(score|field\.[^=<>]+)[<>]|[\w.]+[<>]=?[-+]?\.?\d")
_LARGEST = 2**62  # a ledger knows no larger ones


def _number(part: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) <= _LARGEST:
        raise UsageError(f"{part!r} needs a number, such as score>=0.9 or document=3")
    return number


def _field_value(value: str) -> Json:
    """Numbers, true, false and null as JSON has them; all else is text."""
    if value.count("[") + value.count("{") > _DEEPEST:
        raise UsageError(f"a field's value has at most {_DEEPEST} brackets")
    try:
        found: Json = stored_json(value)
    except ValueError:
        return value
    return found


def _is_plain(value: Json) -> bool:
    """Whether a text is read back as itself."""
    return isinstance(value, str) and _field_value(value) == value


EVERYTHING = InboxFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxLine:
    """One result that a person may decide about, as a list shows it."""

    task_id: TaskId
    result_id: ResultId
    stage: str
    title: str  # of the document it is about or comes from
    block_index: int | None
    reasons: tuple[ReviewReason, ...]
    score: float | None
    state: TaskState
    review_state: ReviewState
    reviewer: str | None
    reviewed_at: datetime | None
    excerpt: str  # of the block
    data: Json
    held_by: str | None = None
    held_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """A part of an inbox; it may be short, or empty, and still have a next one."""

    lines: tuple[InboxLine, ...]
    next: str | None  # where the next page begins; None: this was the last
    looked_at: int  # results


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxCounts:
    """How many items there are by their first reason, each counted up to a bound."""

    by_reason: Mapping[str, int]  # `none` for the rest
    left: int
    decided: int
    capped: bool  # some count stopped at the bound


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One field of a record, with what may stand in it."""

    name: str
    type: str
    choices: tuple[Json, ...]
    nullable: bool
    required: bool
    description: str
    value: Json
    schema: JsonObject
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourBlock:
    """A block beside the one that is looked at."""

    block_index: int
    block_type: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """The block that a result is about, in its document."""

    document_id: DocumentId
    title: str
    block_index: int | None  # None: it is about the whole document, or a part of it
    block_type: str
    headings: tuple[str, ...]
    content: str
    source_type: str = ""  # of its document, such as md; empty where nobody looked
    before: tuple[NeighbourBlock, ...] = ()
    after: tuple[NeighbourBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputText:
    """A result that another was made from."""

    task_id: TaskId
    stage: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticWord:
    """What a critic said of a result."""

    stage: str
    model: str
    score: float | None
    objects: bool
    data: Json
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultVersion:
    """A result that a task has or had."""

    result_id: ResultId
    version: int
    origin: str  # model or person
    data: Json
    review_state: ReviewState
    reviewer: str | None
    reviewed_at: datetime | None
    created_at: datetime
    superseded_at: datetime | None

    @property
    def current(self) -> bool:
        """Whether it stands."""
        return self.superseded_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """One decision of a person, kept for good."""

    id: int
    run_id: RunId
    stage: str
    task_id: TaskId
    move: ReviewMove
    who: str
    at: datetime
    note: str
    before_result: ResultId | None
    after_result: ResultId | None  # None: it is asked again
    before: Json
    after: Json
    undoes: int | None
    undone_by: int | None
    command: str | None
    bulk: int | None = None  # the first of those that were made at once with it; None: made alone


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Decisions, the newest first."""

    decisions: tuple[ReviewDecision, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectCost:
    """What asking again would cost, as far as one can tell."""

    cost_pico: int | None
    basis: str  # calls: what it cost so far; forecast; unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLease:
    """Who is at an item, and until when nobody else is given it."""

    task_id: TaskId
    who: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """All that a page shows of one result."""

    run_id: RunId
    task_id: TaskId
    result_id: ResultId | None  # None: it is asked again
    stage: str
    state: TaskState
    review_state: ReviewState | None
    reviewer: str | None
    reviewed_at: datetime | None
    stale_since: datetime | None
    model: str
    data: Json
    fields: tuple[FieldView, ...]
    quotes: tuple[Quote, ...]
    notes: tuple[str, ...]
    source: SourceText | None
    inputs: tuple[InputText, ...]
    critics: tuple[CriticWord, ...]
    score: float | None
    reasons: tuple[ReviewReason, ...]
    versions: tuple[ResultVersion, ...]  # the newest first
    decisions: tuple[ReviewDecision, ...]  # the newest first
    reject_cost: RejectCost
    held_by: str | None
    held_until: datetime | None
    undoable: int | None  # the decision that an undo would take back


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """What became of a decision."""

    run_id: RunId
    stage: str
    task_id: TaskId
    changed: bool  # false: the same command was carried out before
    stale: int  # dependants that are newly marked
    decision: int | None  # its number


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPreview:
    """What a filter takes, before it is decided about."""

    count: int
    again: int  # that are left out: they were rejected, and have come again
    sample: tuple[InboxLine, ...]
    reject_cost: RejectCost  # of all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkResult:
    """What became of a decision about all that a filter takes."""

    decided: int
    skipped: int  # changed meanwhile, or held by others
    changed: bool  # false: the same command was carried out before
    decision: int | None = None  # the first of them: by it all can be taken back
