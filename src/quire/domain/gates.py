"""Gates: what every check of an answer is given, and the verdict it returns."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from quire.domain.data import NOTHING, Json, JsonObject
from quire.domain.requests import Stop

# What is said of an answer that nobody can use, in the same words by every gate.
CUT_OFF = "answer was cut off"
EMPTY = "empty answer"
_LONGEST_QUOTE = 200


class Judgement(StrEnum):
    """What a gate, a critic or a person says."""

    ACCEPT = "accept"
    RETRY = "retry"
    FAIL = "fail"


class Blame(StrEnum):
    """Whose fault it is that a task has no acceptable answer."""

    TASK = "task"  # its own answer is wrong: costs a try
    PACK = "pack"  # it was lost in company (skipped, cut off, unmapped): costs nothing unless alone


class NoteKind(StrEnum):
    """What was done so that an answer could be read, or asked for."""

    CONVERTED = "converted"  # to the one type that may stand there, losing nothing
    DROPPED = "dropped"  # nobody asked for it
    COMPRESSED = "compressed"  # a text of the prompt: `written` tokens were shortened to `read`
    RANKED_BY_WORDS = "ranked_by_words"  # such a text, because whoever was to rank it could not
    QUOTED = "quoted"  # words of the block prove it: `written` stands at `read`, from:to
    INCOMPLETE = "incomplete"  # it is not whole, and nobody goes on with it: `written` says why


class ReadingNote(NamedTuple):
    """One thing that was read in another form than it was written in."""

    kind: NoteKind
    path: str  # a JSON pointer into the answer
    written: str  # the value as the model wrote it, its beginning
    read: str = ""  # as what it was read, where it was kept


class Verdict(NamedTuple):
    """What a gate says about one task's answer, with reasons a person can read."""

    judgement: Judgement
    data: Json = None  # the accepted fields; None otherwise
    reasons: tuple[str, ...] = ()
    blame: Blame = Blame.TASK
    notes: tuple[ReadingNote, ...] = ()  # of an accepted answer


class StrayIds(NamedTuple):
    """Ids in an answer that are not what was asked for; an empty one stands for none at all."""

    unknown: tuple[str, ...] = ()  # that the request never sent, the first of them
    duplicates: tuple[str, ...] = ()  # that were answered more than once
    unknown_count: int = 0  # records that belong to nobody


NO_STRAYS = StrayIds()


class ResponseJudgement(NamedTuple):
    """A gate's judgement of one whole response: exactly one verdict for each expected wire id."""

    verdicts: dict[str, Verdict]
    strays: StrayIds = NO_STRAYS
    truncated: bool = False
    clean: bool = False  # everybody was answered, once, in order and rightly


class GateInput(NamedTuple):
    """One task's answer on its way through the gates of its stage."""

    text: str  # as the model wrote it, without what it thought before
    stop: Stop
    data: Json = None  # what the gates before this one made of it; the first gate gets None
    record_schema: JsonObject | None = None  # the stage's schema, where it has one
    facts: JsonObject = NOTHING  # `parameters` of the recipe and the task's own `part`
    thought: str = ""  # what the model wrote to itself before the text


class Gate(Protocol):
    """A deterministic check; the same answer is always judged alike by the same version."""

    @property
    def name(self) -> str:
        """What recipes call it."""
        ...

    @property
    def version(self) -> str:
        """Raised when the same answer would be judged differently."""
        ...

    def mistakes(self, params: JsonObject) -> Sequence[str]:
        """What is wrong with these parameters; checked before anything is spent."""
        ...

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Say whether the answer stands; an accepted verdict carries the data to go on with."""
        ...


def refusal_reason(text: str) -> str:
    """Say that the model refused, in its own words where it found some."""
    quote = clip(" ".join(text.split()), _LONGEST_QUOTE)
    return f"model refused: {quote}" if quote else "model refused"


def clip(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else text[: most - 1] + "…"
