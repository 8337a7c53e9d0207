"""Thoughts: what a model wrote to itself before its answer is cut off, and kept as reasoning.

Servers that do not know a model's own marks send its thoughts along with the answer: in tags, with
only the closing tag (the opening one was in the prompt), or in the channels of the harmony format.
Whatever a thought holds, records included, is no answer.

The danger is to cut what was meant. Only what the answer begins with is a thought; a tag in the
middle of a text is text. And where the end of the thought cannot be told, because the tag that
closes it comes once more, nothing is taken: `problem` says so.
"""

import re
from typing import NamedTuple

UNENDED_THOUGHT = "answer is a thought that never ends"
UNCLEAR_END = "it cannot be told where the thought ends and the answer begins"
_NO_FINAL = "answer has thoughts and no final channel"
_TWO_FINALS = "answer has more than one final channel"

_SPACE = re.compile(r"[\ufeff\s]*+")
_OPENING = re.compile(r"<(think|thinking|thought|reasoning|seed:think)>|\[THINK\]", re.IGNORECASE)
# An unopened thought ends where a line begins with the tag, where a blank line or the end follows
# it, and where it is glued to a word; in quotes or between blanks the tag is only mentioned.
_BARE_CLOSING = re.compile(
    r"""(?:\A|(?<=\n))</think>
    | </think>(?=\s*+\Z|[ \t]*+\r?\n[ \t]*+\r?\n)
    | (?<=[^\s"'`“‘(\[])</think>(?=[ \t]*+\r?\n|[^\s"'`”’)\].,;:])""",
    re.VERBOSE,
)
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
    closing = None if text.startswith(_JSON_BEGINS, at) else _BARE_CLOSING.search(text, at)
    if closing is None or _TAG.search(text, at, closing.start()):
        return SpokenAnswer(text)  # or the tags are what the text is about
    thought, answer = text[at : closing.start()].strip(), text[closing.end() :]
    if _closes_more_than_it_opens(answer):
        return SpokenAnswer("", thought, UNCLEAR_END)
    return SpokenAnswer(answer[_skip_space(answer, 0) :], thought, bare_end=closing.end())


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
