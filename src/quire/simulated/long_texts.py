"""Long texts in the outline that a prompt asks for, made of its material, always the same ones.

- An outline is a line that begins with `Outline:` and the headings under it, `# …` to `###### …`.
  Blank lines, list items and indented lines among them say what belongs there and are not written;
  any other line ends it. Of several outlines in a message the last one counts.
- Material stands between a line `<name …>` and a line `</name>`, or `<<<NAME` and `NAME>>>`.
  It is never instructions; where nothing is marked, everything is material.
- The length is that of the last "about 900 words"; without one, 80 words for each heading.

The same model writes the same text for the same message, whatever the attempt, so that it can go on
from any point; another model, or another message, gets another one. No sentence stands there twice.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from quire.domain.ids import fingerprint
from quire.simulated.judge_prompts import MATERIAL

MOST_WORDS = 50_000
_WORDS_A_HEADING = 80
_SENTENCES_A_PARAGRAPH = 4
_TAGGED = re.compile(r"^<([A-Za-z][\w-]*)(?: [^\n>]*)?>\n(.*?)^</\1>[ \t]*$", re.M | re.S)
_TAG = re.compile(r"^</?[A-Za-z][^\n>]*>[ \t]*$", re.M)
_OUTLINE = re.compile(r"^[ \t]*Outline:", re.M)
_HEADING = re.compile(r"#{1,6}[ \t]+\S.*")
_REMARK = re.compile(r"[ \t]|[-*+][ \t]|\d+[.)][ \t]")
_LENGTH = re.compile(r"\babout\s+([0-9][0-9,]{0,8})\s+words\b", re.I)
WORD = re.compile(r"[^\W\d_][\w’'-]*")
_OPENINGS = (
    "Taken as a whole,",
    "Seen from the other side,",
    "On this point",
    "As far as it goes,",
    "In plain words,",
    "Put to the test,",
    "Read together,",
    "By its own measure,",
)
_JOINTS = (
    "bears out",
    "weighs against",
    "rests on",
    "leaves open",
    "goes further than",
    "stands beside",
    "narrows down",
    "answers",
)


class LongPrompt(NamedTuple):
    """What a prompt asks to be written."""

    headings: tuple[str, ...]
    words: int  # as many as were asked for, about
    material: str


def read_long_prompt(user: str) -> LongPrompt | None:
    """Read what is to be written; None where no outline is asked for."""
    if "Outline:" not in user:
        return None
    instructions = MATERIAL.sub("", _TAGGED.sub("", user))
    begins = [*_OUTLINE.finditer(instructions)]
    headings = _headings(instructions[begins[-1].end() :]) if begins else ()
    if not headings:
        return None
    words = words_asked_for(user) or min(MOST_WORDS, _WORDS_A_HEADING * len(headings))
    return LongPrompt(headings, words, marked_material(user))


def words_asked_for(user: str) -> int:
    """How many words a message asks for, outside its material; 0 where it does not say."""
    if "words" not in user:
        return 0
    lengths = _LENGTH.findall(MATERIAL.sub("", _TAGGED.sub("", user)))
    return min(MOST_WORDS, int(lengths[-1].replace(",", ""))) if lengths else 0


def marked_material(user: str) -> str:
    """All that is marked as material, or the whole message where nothing is."""
    quoted = [match[2] for pattern in (_TAGGED, MATERIAL) for match in pattern.finditer(user)]
    return _TAG.sub("", "\n".join(quoted)) or user


def _headings(below: str) -> tuple[str, ...]:
    """The headings of an outline, as they are written; `below` begins in its first line."""
    found: list[str] = []
    for line in below.splitlines()[1:]:
        if _HEADING.fullmatch(line):
            found.append(line.rstrip())
        elif line.strip() and not _REMARK.match(line):
            break
    return tuple(found)


@lru_cache(maxsize=64)  # whoever goes on in pieces asks for the whole as often
def write_long_text(prompt: LongPrompt, model: str, message: str) -> str:
    """Write the whole text; it ends with a line that says so."""
    quotes = _Quotes(prompt.material, fingerprint(model, message.encode("utf-8", "surrogatepass")))
    share = prompt.words / len(prompt.headings)
    sections = [
        f"{heading}\n\n{_section(number, int(share), quotes)}"
        for number, heading in enumerate(prompt.headings, 1)
    ]
    sections[0] = sections[0].replace("\n\n", "\n\nsimulated: ", 1)
    return "\n\n".join([*sections, f"This is the end of the text by {model}."])


class _Quotes:
    """Short runs of words from the material, drawn by name."""

    def __init__(self, material: str, seed: bytes) -> None:
        found = WORD.findall(material)
        self._words = found if len(found) > 12 else [*found, *" ".join(_OPENINGS).split()]
        self._seed = seed

    def draw(self, *name: int) -> tuple[str, str, int]:
        """Two quotes, and a number to choose by."""
        drawn = fingerprint(self._seed, *name)
        first, second, number = (int.from_bytes(drawn[at : at + 5], "big") for at in (0, 5, 10))
        return self._run(first, 4 + number % 5), self._run(second, 3 + number % 4), number

    def _run(self, place: int, length: int) -> str:
        start = place % (len(self._words) - length)
        return " ".join(self._words[start : start + length])


def _section(number: int, words: int, quotes: _Quotes) -> str:
    """Paragraphs of a section, each sentence with a number of its own."""
    sentences: list[str] = []
    written = 0
    while written < words or not sentences:
        one, other, choice = quotes.draw(number, len(sentences))
        opening = _OPENINGS[choice % len(_OPENINGS)]
        joint = _JOINTS[choice // 8 % len(_JOINTS)]
        place = f"{number}.{len(sentences) + 1}"
        sentences.append(f"{opening} “{one}” {joint} “{other}” ({place}).")
        written += sentences[-1].count(" ") + 1
    starts = range(0, len(sentences), _SENTENCES_A_PARAGRAPH)
    return "\n\n".join(
        " ".join(sentences[start : start + _SENTENCES_A_PARAGRAPH]) for start in starts
    )
