"""Continuation: whether an answer that is not whole is gone on with, and in which words.

A long answer is cut at the output limit. To ask for all of it again, with more room, pays for its
beginning twice and ends where the model's own limit is; so it is gone on with: the question, all
that was said so far, and an instruction, in one call after the other, until it is whole.

What could go wrong is that this never ends. A model may write for ever (the cap), have nothing
more to say, or say the same again (no progress), or all that was said no longer fits its window.
Then the answer is what there is, and says that it is not whole.
"""

from enum import StrEnum

from quire.domain.continuation import COMPLETE_FIELD, CONTINUE_FIELD, Gap, Trigger
from quire.domain.data import plain_json
from quire.domain.policy import Policy
from quire.domain.requests import CONTINUE

LEAST_PROGRESS = 8  # characters, blanks apart, that a piece must add for another to follow
_SHOWN_END = 80  # characters of what was said last that the instruction repeats

_AFTER_LAST = (
    " exactly after its last character: what you write now is put right behind it. Repeat nothing"
    " of it, do not begin again, and add no introduction, no comment and no code fence."
)
_SAME_FORM = (
    " Answer once more with JSON in the same form and nothing around it: text fields hold only what"
    " comes next, lists only further items. Repeat nothing that is there already."
)


class ChainStep(StrEnum):
    """What follows a piece."""

    GO_ON = "go_on"
    STALLED = "stalled"  # the last piece added nothing
    FULL = "full"  # the cap is reached, or another call would not fit


def after_piece(*, continued: int, added: int, fits: bool, policy: Policy) -> ChainStep:
    """Decide what follows an answer that is not whole, after so many calls that went on with it."""
    if continued and added < LEAST_PROGRESS:
        return ChainStep.STALLED
    return ChainStep.GO_ON if continued < policy.max_continuations and fits else ChainStep.FULL


def instruction(gap: Gap, so_far: str) -> str:
    """The words in which an answer is gone on with; they begin alike, whatever is open."""
    match gap.trigger:
        case Trigger.LENGTH | Trigger.UNFINISHED:
            end = plain_json(so_far[-_SHOWN_END:])
            return f"{CONTINUE} your answer{_AFTER_LAST} Its last characters are {end}."
        case Trigger.DECLARED:
            said = (
                f"you say that your answer is not complete. When it is, set {COMPLETE_FIELD} to"
                f" true, or {CONTINUE_FIELD} to false, whichever the form has."
            )
            return f"{CONTINUE}: {said}{_SAME_FORM}"
        case Trigger.MISSING:
            names = ", ".join(gap.keys)
            return f"{CONTINUE}: these fields are missing in your answer: {names}.{_SAME_FORM}"
