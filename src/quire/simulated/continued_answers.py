"""Continued answers: which call goes on with an earlier answer, and what is left to be said."""

from collections.abc import Sequence
from dataclasses import replace

from quire.domain.requests import CONTINUE, Call, Role, Turn

_TAIL = 40  # characters of what was said that must be found again, where it was said differently


def is_continued(user: str, turns: Sequence[Turn]) -> bool:
    """Whether a message asks to go on with the answer that stands right before it."""
    roles = [turn.role for turn in turns[-2:]]
    return roles == [Role.USER, Role.ASSISTANT] and user.startswith(CONTINUE)


def asked_text(user: str, turns: Sequence[Turn]) -> str:
    """The message that is answered: the last one, or the one whose answer goes on."""
    return turns[-2].text if is_continued(user, turns) else user


def question_of(call: Call) -> Call:
    """The call whose answer is wanted, where this one only goes on with it; else the call."""
    if not is_continued(call.user, call.turns):
        return call
    return replace(call, user=call.turns[-2].text, turns=call.turns[:-2])


def rest_of_answer(call: Call, whole: str) -> str:
    """What is left of an answer to be said; all of it where nothing was said before."""
    if not is_continued(call.user, call.turns):
        return whole
    so_far = call.turns[-1].text
    if whole.startswith(so_far):
        return whole[len(so_far) :]
    tail = so_far[-_TAIL:]
    at = whole.rfind(tail)
    return whole[at + len(tail) :] if at >= 0 else whole
