"""Verdicts and results: what a gate says of an answer, and the accepted data of one task."""

from enum import StrEnum
from typing import NamedTuple

from quire.domain.data import Json


class Judgement(StrEnum):
    """What a gate, a critic or a person says."""

    ACCEPT = "accept"
    RETRY = "retry"
    FAIL = "fail"


class Blame(StrEnum):
    """Whose fault it is that a task has no acceptable answer."""

    TASK = "task"  # its own answer is wrong: costs a try
    PACK = "pack"  # it was lost in company (skipped, cut off, unmapped): costs nothing unless alone


class Verdict(NamedTuple):
    """What a gate says about one task's answer, with reasons a person can read."""

    judgement: Judgement
    data: Json = None  # the accepted fields; None otherwise
    reasons: tuple[str, ...] = ()
    blame: Blame = Blame.TASK


class Judged(NamedTuple):
    """A gate's judgement of one whole response: exactly one verdict for each expected wire id."""

    verdicts: dict[str, Verdict]
    strangers: int = 0  # records with ids this request never sent
    duplicates: int = 0  # ids answered more than once
    truncated: bool = False
    clean: bool = False  # everybody was answered, once, in order and rightly
