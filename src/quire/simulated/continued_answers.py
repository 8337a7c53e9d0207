"""Continued answers: which call goes on with an earlier answer, what is left to be said, and slips.

A slip is how models go on badly: they repeat the last lines, start again, say that they go on
before they do so, or claim that nothing is missing."""

from collections.abc import Sequence
from dataclasses import replace

from quire.domain.requests import CONTINUE, Call, Role, Turn

COMPLETE = "The answer above is complete. Nothing is missing."
_PREAMBLE = "Continuing from where I left off:"
_REPEATED_LINES = 3
_REPEATED = 200  # characters, where these lines are long
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


def rest_with_slip(slip: str, call: Call, whole: str) -> str:
    """What is said in the place of the rest of an answer, by the name of the slip."""
    rest = rest_of_answer(call, whole)
    match slip:
        case "start_again":
            return whole
        case "claim_complete":
            return COMPLETE
        case "preamble" if call.output_schema is not None:
            return f"{_PREAMBLE}\n```json\n{rest}\n```"
        case "preamble":
            return f"{_PREAMBLE}\n\n{rest}"
        case "repeat_tail":
            return _last_lines(call.turns[-1].text) + rest
        case _:
            return rest


def _last_lines(text: str) -> str:
    """The end of a text, from the beginning of a line, or of a word where lines are long."""
    lines = "".join(text.splitlines(keepends=True)[-_REPEATED_LINES:])
    if len(lines) <= _REPEATED:
        return lines
    return lines[-_REPEATED:].partition(" ")[2] or lines[-_REPEATED:]
