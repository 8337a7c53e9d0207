"""Continuation: an answer that comes in pieces, and what each piece left open."""

from collections.abc import Container
from enum import StrEnum
from typing import NamedTuple

from quire.domain.ids import AttemptId, TaskId


class Trigger(StrEnum):
    """Why an answer is not whole."""

    LENGTH = "length"  # it was cut off by the output limit
    UNFINISHED = "unfinished"  # its JSON is not closed, though the model stopped by itself
    DECLARED = "declared"  # it says so, in a field of the schema
    MISSING = "missing"  # fields that must be there are not


class Gap(NamedTuple):
    """What an answer leaves open."""

    trigger: Trigger
    keys: tuple[str, ...] = ()  # the fields that are missing

    @property
    def is_fragment(self) -> bool:
        """Whether what follows has no form of its own, so that no schema can bind it."""
        return self.trigger is not Trigger.DECLARED


class AnswerPiece(NamedTuple):
    """An answer that is not whole, and that another call goes on with."""

    task_id: TaskId
    version: int
    no: int  # 0 is the first answer
    attempt_id: AttemptId
    gap: Gap
    text: str = ""  # as the model wrote it


COMPLETE_FIELD, CONTINUE_FIELD = "finish", "continue"  # how a schema lets an answer say so


def may_declare(fields: Container[str]) -> bool:
    """Whether records of these fields can say that they are not complete."""
    return COMPLETE_FIELD in fields or CONTINUE_FIELD in fields
