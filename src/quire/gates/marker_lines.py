"""Marker lines: the last word of an answer, found at its end and nowhere else."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from quire.domain.data import Json

# What models put around words: emphasis, code, quotation marks, and before them bullets, headings.
# A tilde is no emphasis: one says "about", two say that what they hold is struck out.
AROUND = "*_`\"'“”„‘’‚«»‹›「」『』"
_DECORATION = re.compile(rf"[\s{re.escape(AROUND)}>#+•-]*")
_QUOTED = re.compile(r"\s*(?:(?:[-+*•]|#+)\s+)?>")
_LIST_ITEM = re.compile(r"\s*(?:(?:[-+*•]|#+)\s+)?")  # without its blank, "-" may be a minus
_BLANKS = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202c\u2060\u2066-\u2069\ufeff]")
_WORD = re.compile(r"\w")
_LONGEST_HEADING = 100
_LONGEST_LINE = 2_000  # a marker's line is short; a long one is not worth the time it may take
_REMARK = re.compile(r"(?P<said>[^(]*?)\s*\((?P<remark>[^()]*)\)[.!]?")
# Tags that hold what is no longer meant, or somebody else's words.
_UNMEANT = "s|del|strike|not|wrong|rejected|q|quote|blockquote|cite|example|draft"
_CLOSING_TAG = re.compile(rf"</(?!(?:{_UNMEANT})>)[A-Za-z][\w-]*>", re.IGNORECASE)
_CLOSING = re.compile(rf"[-*_=~`]{{3,}}|{_CLOSING_TAG.pattern}", re.IGNORECASE)
_END_OF_TEXT = "</s>"  # some models write it at the end; after <s> it may strike out
_END_TOKEN = re.compile(r"(?:<\|[a-z_]{2,20}\|>|<br ?/?>|(?<!\\)\\)\Z", re.IGNORECASE)
_MOST_END_TOKENS = 4
_LONGEST_COURTESY = 100
_COURTESY = re.compile(  # what says nothing of the answer, whatever the answer is
    r"i hope (?:this|that|it) helps(?: you)?|thank you|thanks|end of (?:answer|response|text)|end"
    r"|(?:please )?let me know if you (?:have|need|want|would like|'d like)"
    r" (?:(?:any|further|more|other|additional) ){1,2}"
    r"(?:detail|explanation|elaboration|information|question|clarification|help|assistance)s?"
    r"|confidence(?: level)?:? (?:(?:very )?(?:high|low)|medium|moderate|0?\.[0-9]+|[0-9]{1,3} ?%)",
    re.IGNORECASE,
)
_PLAIN_TAGS = (
    "answer|final|final[_-]answer|verdict|final[_-]verdict|judge?ment|decision|choice|option"
    "|identifier|id|label|stage|level|quality|expert[_-]agreement|agreement|probability|score|rating"
    "|value|number|result|output|response|b|strong|em|i|u|mark|code|tt|kbd|samp|pre|p|div|span|big"
    "|center|h[1-6]"
)
_WRAPPED = re.compile(
    r"(?P<dollars>\$\$?)(?P<maths>[^$]*)(?P=dollars)|\\(?:boxed|text|textbf|mathbf|mathrm)\{(?P<typeset>.*)\}"
    rf"|<(?P<tag>{_PLAIN_TAGS})>(?P<tagged>.*)</(?P=tag)>",
    re.IGNORECASE,
)
_MOST_WRAPPINGS = 4
_OPENING_TAGS = re.compile(
    rf"(?:<(?:{_PLAIN_TAGS})>[\s{re.escape(AROUND)}]*){{1,3}}", re.IGNORECASE
)
_NUMBERING = re.compile(r"[0-9]{1,2}[.)] ")
_NAMED_SCORE = re.compile(r"[A-Za-z*_`]{2,40} ?[=:] ?\S{1,40}")
_MOST_ITEMS = 100
_ESCAPED = re.compile(r"\\([&*#%\[\](){}-])")
_BEFORE_MARKER = (
    r"(?:(?:thus|so|therefore|hence),?\s+)?"
    rf"(?:(?:my|the)[\s{re.escape(AROUND)}]+)?(?:(?:final|overall)[\s{re.escape(AROUND)}]+)?"
)


_BRACKETS = (("[", "]"), ("(", ")"), ("{", "}"), ("<", ">"))


class Refusal(NamedTuple):
    """Why an answer cannot be decoded."""

    reason: str


class MarkerLine(NamedTuple):
    """One line of an answer that holds a marker."""

    place: int  # of the line in the answer
    text: str  # what follows the marker, bare
    quoted: bool  # it is shown as somebody else's words


Decoded = dict[str, Json]
Decode = Callable[[str], Decoded | Refusal]


def answer_lines(text: str) -> list[str]:
    """Split an answer, without the lines at its end that only close something."""
    text = text.rstrip()
    for _ in range(_MOST_END_TOKENS):
        if found := _END_TOKEN.search(text, max(0, len(text) - 30)):
            text = text[: found.start()].rstrip()
    if text.endswith(_END_OF_TEXT) and "<s>" not in text.lower():
        text = text.removesuffix(_END_OF_TEXT)
    lines = [_INVISIBLE.sub("", line) for line in text.splitlines()]
    while lines and (closes_only(lines[-1]) or _is_courtesy(lines[-1])):
        lines.pop()
    return lines


def closes_only(line: str) -> bool:
    """Whether a line says nothing: it is blank, or but a rule, a fence or a closing tag."""
    bare = line.strip()
    return not bare.strip(AROUND + " \t") or _CLOSING.fullmatch(bare) is not None


def _is_courtesy(line: str) -> bool:
    """Whether a line is how models end, such as "I hope this helps!", or how sure they are."""
    bare = line.strip(AROUND + " \t()[].!").replace("*", "")
    return len(bare) <= _LONGEST_COURTESY and _COURTESY.fullmatch(bare) is not None


def find_marker_lines(lines: Sequence[str], marker: str) -> list[MarkerLine]:
    """Find the lines that begin with a marker, whatever markdown is around it."""
    return [
        MarkerLine(place, said, _QUOTED.match(line) is not None)
        for place, line in enumerate(lines)
        if (said := _text_after(line[:_LONGEST_LINE], marker)) is not None
    ]


def reasoning_before(lines: Sequence[str], found: Sequence[MarkerLine]) -> str:
    """What was written before the last marker; empty where no other line holds a word."""
    places = {line.place for line in found}
    before = lines[: found[-1].place]
    if not any(_WORD.search(line) for place, line in enumerate(before) if place not in places):
        return ""
    return "\n".join(before).strip().removesuffix("```").rstrip()


def read_last_line(text: str, marker: str, decode: Decode) -> Decoded | Refusal:
    """Decode what the last line says; it must hold the marker, after reasoning.

    An earlier line with the marker may stand only if it says the same or nothing that can be
    decoded: which of two different answers is meant would be a guess. A quotation is nobody's
    verdict unless a line of the answer's own says the same.
    """
    lines = answer_lines(text)
    found = find_marker_lines(lines, marker)
    if not found:
        return Refusal(f"answer has no line that begins with {marker}:")
    last = found[-1]
    said = last.text or _text_of_next_line(lines, last.place)
    if last.place != len(lines) - 1 and (last.text or not said):
        return Refusal(f"answer goes on after its {marker}: line")
    if not said or len(lines[-1]) > _LONGEST_LINE:
        return Refusal(f"{'too much' if said else 'nothing'} follows {marker}:")
    decoded = decode(said)
    earlier = [decode(line.text) for line in found[:-1] if not line.quoted]
    if last.quoted and all(isinstance(item, Refusal) for item in earlier):
        decoded = Refusal(f"the {marker}: line is a quotation")
    if isinstance(decoded, Refusal):
        return decoded
    own = [item for item in earlier if not isinstance(item, Refusal)]
    if not all(_is_same_meaning(item, decoded) for item in own):
        return Refusal(f"answer has two {marker}: lines that differ")
    return add_reasoning(lines, found, decoded, marker)


def _text_of_next_line(lines: Sequence[str], place: int) -> str:
    """What stands alone after a marker that nothing follows on its own: a line, or a list."""
    after = [line[:_LONGEST_LINE] for line in lines[place + 1 :] if line.strip()]
    items = [_without_item_mark(line) for line in after[:_MOST_ITEMS]]
    listed = all(item != line.lstrip() for item, line in zip(items, after, strict=False))
    scores = all(_NAMED_SCORE.fullmatch(item.rstrip(" ,;.")) for item in items)
    if len(after) != 1 and not (after[:_MOST_ITEMS] == after and (listed or scores)):
        return ""
    return ", ".join(_strip_end(item).rstrip(",;") for item in items)


def _without_item_mark(line: str) -> str:
    item = _LIST_ITEM.match(line)
    assert item is not None  # it matches the empty string too
    return line[item.end() :]


def _strip_end(text: str) -> str:
    """What is said on a line, without marks around it and tags that close after it.

    Runs of blanks count as one: patterns that look for blanks would try every part of a run.
    """
    text = _unwrap(strip_marks(_BLANKS.sub(" ", text)))
    while found := _CLOSING_TAG.fullmatch(text, max(text.rfind("</"), 0)):
        text = text[: found.start()].rstrip()
    return _unwrap(strip_marks(text))


def _unwrap(text: str) -> str:
    """What stands alone in a formula, a box of LaTeX or a tag; signs that are escaped, as such."""
    text = _ESCAPED.sub(r"\1", text)
    for _ in range(_MOST_WRAPPINGS):
        found = _WRAPPED.fullmatch(text.removesuffix("."))
        if found is None:
            break
        text = strip_marks(found["maths"] or found["typeset"] or found["tagged"] or "")
    return text


def add_reasoning(
    lines: Sequence[str], found: Sequence[MarkerLine], decoded: Decoded, marker: str
) -> Decoded | Refusal:
    """Put the reasoning before what was decoded, or refuse where there is none."""
    reasoning = reasoning_before(lines, found)
    if not reasoning:
        return Refusal(f"no reasoning comes before {marker}:")
    return {"reasoning": reasoning, **decoded}


def split_remark(said: str) -> tuple[str, str]:
    """Part what is said from a remark in parentheses after it."""
    found = _REMARK.fullmatch(said)
    return (found["said"].strip(), found["remark"]) if found and found["said"] else (said, "")


def strip_marks(text: str) -> str:
    """Take emphasis, code marks, quotation marks and blanks off both ends."""
    return text.strip().strip(AROUND + " \t").strip()


def strip_brackets(text: str) -> str:
    """Take brackets off that hold all of it, and the marks around and within them."""
    text = strip_marks(text)
    if text[:2] == "[[" and text[-2:] == "]]":
        text = text[1:-1]
    for opening, closing in _BRACKETS:
        inside = text[1:-1]
        if text == f"{opening}{inside}{closing}" and opening not in inside:
            return strip_marks(inside)
    return text


def strip_emphasis(text: str) -> str:
    """Take emphasis off both ends, and quotation marks only where they hold all of it."""
    text = text.strip().strip("*_`~ \t")
    quoted = len(text) > 1 and (text[0], text[-1]) in (('"', '"'), ("'", "'"), ("“", "”"))
    return text[1:-1].strip() if quoted else text


@cache
def _marker_pattern(marker: str) -> re.Pattern[str]:
    """A marker as people write it: in any case, its underscore escaped or left out."""
    words = r"(?:\\?_|[ \t-])".join(map(re.escape, marker.split("_")))
    around = re.escape(AROUND)
    return re.compile(
        rf"{_BEFORE_MARKER}{words}[\s{around}]*(?:[(\[]final[)\]][\s{around}]*)?[:：]",
        re.IGNORECASE,
    )


@cache
def _heading_pattern(marker: str) -> re.Pattern[str]:
    """A marker that is a heading, and nothing else on its line."""
    words = r"(?:\\?_|[ \t-])".join(map(re.escape, marker.split("_")))
    named = rf"(?:final\s+)?{words}"
    return re.compile(rf"\s*(?:#+\s*{named}\s*#*|\*\*{named}\*\*|(?-i:{words}))\s*", re.IGNORECASE)


def _text_after(line: str, marker: str) -> str | None:
    """What follows the marker at the beginning of a line; repeated markers count once."""
    if len(line) <= _LONGEST_HEADING and _heading_pattern(marker).fullmatch(line):
        return ""
    begin = 0
    while True:
        decoration = _DECORATION.match(line, begin)
        assert decoration is not None  # it matches the empty string too
        place = decoration.end()
        for before in (_NUMBERING, _OPENING_TAGS):
            ahead = before.match(line, place)
            place = ahead.end() if ahead else place
        found = _marker_pattern(marker).match(line, place)
        if found is None:
            return _strip_end(line[begin:]) if begin else None
        begin = found.end()


def _is_same_meaning(one: Decoded, other: Decoded) -> bool:
    # what was written may differ in its marks; what it means may not
    return all(one[name] == other[name] for name in other if name != "raw_verdict")
