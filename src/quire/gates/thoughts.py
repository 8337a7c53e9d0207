"""Thoughts: what a model wrote to itself before its answer is cut off, and kept as reasoning.

Servers that do not know a model's own marks send its thoughts along with the answer: in tags, with
only the closing tag (the opening one was in the prompt), or in the channels of the harmony format.
Whatever a thought holds, records included, is no answer.

The danger is to cut what was meant. Only what the answer begins with is a thought; a tag in the
middle of a text is text. Without an opening tag the closing one ends a thought where it is alone on
a line, glued to the end of a line, between two sentences without a blank, or right before JSON; not
where a text mentions it: in quotes, between blanks, in code, in a list. And where the end of the
thought cannot be told, because the tag that closes it comes once more, nothing is taken: `problem`
says so.
"""

import re
from typing import NamedTuple

UNENDED_THOUGHT = "answer is a thought that never ends"
UNCLEAR_END = "it cannot be told where the thought ends and the answer begins"
_NO_FINAL = "answer has thoughts and no final channel"
_TWO_FINALS = "answer has more than one final channel"

_SPACE = re.compile(r"[\ufeff\s]*+")
_OPENING = re.compile(r"<(think|thinking|thought|reasoning|seed:think)>|\[THINK\]", re.IGNORECASE)
# Where an unopened thought may end. In quotes, between blanks, in code or at the head of a sentence
# the tag is only mentioned; a line of a list, a quotation or a table begins with something else.
_BARE_CLOSING = re.compile(
    r"""(?:\A|(?<=\n))</think>(?=[ \t]*+(?:\r?\n|\Z)|[^\s"'`”’)\].,;:<])  # begins a line
    | (?<=[^\s"'`“‘(\[>])</think>(?=[ \t]*+(?:\r?\n|\Z))      # glued to the end of a line
    | (?<=[.!?…。！？])</think>(?=[^\s"'`”’)\].,;:<])          # between two sentences
    | (?<!["'`“‘(\[])</think>(?=\s*+(?:\{|\[\s*+[{"]|```json))  # before JSON""",
    re.VERBOSE,
)
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)
_JSON_BEGINS = ("{", "[", '"', "```", "~~~")

_HARMONY = re.compile(r"(?:<\|start\|>assistant)?<\|channel\|>")
_PART = re.compile(
    r"(?:<\|start\|>[^<]*+)?<\|channel\|>(?P<channel>\w++)[^\n]*?<\|message\|>"
    r"(?P<said>(?:(?!<\|(?:end|return|call|start|channel)\|>).)*+)"
    r"(?P<end><\|(?:end|return|call)\|>)?\s*+",
    re.DOTALL,
)


class SpokenAnswer(NamedTuple):
    """An answer without what the model thought before it."""

    text: str
    thought: str = ""
    problem: str = ""  # why there is no answer, or none that can be told from the thought
    bare_end: int = 0  # where an unopened thought ends; 0: it was opened, or there is none


def split_thoughts(text: str) -> SpokenAnswer:
    """Part the thoughts that an answer begins with from the answer."""
    at = _skip_space(text, 0)
    if _HARMONY.match(text, at):
        return _split_channels(text, at)
    thoughts: list[str] = []
    while opening := _OPENING.match(text, at):
        mark = re.escape(f"</{opening[1]}>" if opening[1] else "[/THINK]")
        closing = re.compile(mark, re.IGNORECASE).search(text, opening.end())
        thoughts.append(text[opening.end() : closing.start() if closing else None].strip())
        if closing is None:
            return SpokenAnswer("", _join(thoughts), UNENDED_THOUGHT)
        at = _skip_space(text, closing.end())
    if not thoughts:
        return _split_unopened(text, at)
    answer = text[at:]
    if _closes_more_than_it_opens(answer):
        return SpokenAnswer("", _join(thoughts), UNCLEAR_END)
    return SpokenAnswer(answer, _join(thoughts))


def _split_unopened(text: str, at: int) -> SpokenAnswer:
    """Part a thought whose opening tag was in the prompt; what begins as JSON does is none."""
    if "</think>" not in text:  # as in most: to look where one may end a thought takes far longer
        return SpokenAnswer(text)
    closing = None if text.startswith(_JSON_BEGINS, at) else _BARE_CLOSING.search(text, at)
    if closing is None or _TAG.search(text, at, closing.start()):
        return SpokenAnswer(text)  # or the tags are what the text is about
    if _is_in_code(text, at, closing.start()):
        return SpokenAnswer(text)
    thought, answer = text[at : closing.start()].strip(), text[closing.end() :]
    if _closes_more_than_it_opens(answer):
        return SpokenAnswer("", thought, UNCLEAR_END)
    return SpokenAnswer(answer[_skip_space(answer, 0) :], thought, bare_end=closing.end())


def _is_in_code(text: str, start: int, at: int) -> bool:
    """Whether a place is inside a fence, or between backticks of its line."""
    line = text.rfind("\n", start, at) + 1
    return text.count("`", line, at) % 2 == 1 or len(_FENCE.findall(text, start, at)) % 2 == 1


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it matches the empty string too
    return found.end()


def _join(thoughts: list[str]) -> str:
    return "\n".join(filter(None, thoughts))


def _closes_more_than_it_opens(text: str) -> bool:
    depth = 0
    for tag in _TAG.finditer(text):
        depth += -1 if tag[1] else 1
        if depth < 0:
            return True
    return False


def _split_channels(text: str, at: int) -> SpokenAnswer:
    """Read harmony messages: the final channel is the answer, the others are thoughts."""
    thoughts: list[str] = []
    finals: list[str] = []
    closed = True
    while part := _PART.match(text, at):
        is_final = part["channel"].lower() == "final"
        (finals if is_final else thoughts).append(part["said"].strip())
        at, closed = part.end(), part["end"] is not None
    thought = _join(thoughts)
    if at < len(text) or len(finals) > 1:
        return SpokenAnswer("", thought, _TWO_FINALS if len(finals) > 1 else UNCLEAR_END)
    if not finals:
        return SpokenAnswer("", thought, _NO_FINAL if closed else UNENDED_THOUGHT)
    return SpokenAnswer(finals[0], thought)
