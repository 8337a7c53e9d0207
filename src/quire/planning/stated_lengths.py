"""Stated lengths: how long a prompt asks an answer to be, read from its words by stated rules.

- A length is a number and a unit: "about 900 words", "at most 5 sentences", "two or three
  paragraphs", "one page". "A few" are three; of "3 to 5" the middle counts.
- Of what is a limit ("at most", "up to", "no more than", "fewer than"), three quarters are taken.
- Of several lengths the greatest counts: the others are those of parts.
- Who is to clean, rewrite or translate "the text between the marks", of lines `<<<NAME` and
  `NAME>>>`, writes as much as stands there.
"""

import re

UNIT_BYTES = {  # of English prose, its punctuation and its headings included
    "word": 6.5,
    "sentence": 90.0,
    "line": 80.0,
    "paragraph": 450.0,
    "page": 2600.0,
    "character": 1.0,
}
OF_LIMIT = 0.75
_NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {name: float(number) for number, name in enumerate(_NAMES, 1)} | {"a few": 3.0}
_NUMBER = rf"\d[\d,]*|{'|'.join(_NUMBERS)}"
_LENGTH = re.compile(  # of small letters: to pass over their case takes three times as long
    rf"\b(?P<first>{_NUMBER})(?:\s*(?:to|or|-|–)\s*(?P<last>{_NUMBER}))?"
    rf"[\s-]+(?P<unit>{'|'.join(UNIT_BYTES)})s?\b"
)
_LIMIT = re.compile(
    r"\b(?:at most|no more than|not more than|up to|fewer than|less than|a maximum of)"
    r"\s*(?:about|around|roughly|some|exactly|approximately)?\s*$"
)
_LOOKED_BACK = 60  # characters before a number, which have room for the longest of these
_MARKS = "the text between the marks"
_REWRITTEN = re.compile(
    rf"\b(?:clean|rewrite|translate) {_MARKS}\b.*?"
    r"^<<<(?P<name>[^\n]+)\n(?P<text>.*?)\n?^(?P=name)>>>",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


def stated_length(text: str) -> float | None:
    """Bytes of the answer that a prompt asks for; None where it does not say."""
    small = text.lower()
    if _MARKS in small and (found := _REWRITTEN.search(text)):
        return float(len(found["text"].encode()))
    return max(map(_length, _LENGTH.finditer(small)), default=None)


def _length(found: re.Match[str]) -> float:
    first = _number(found["first"])
    last = _number(found["last"]) if found["last"] else first
    before = found.string[max(0, found.start() - _LOOKED_BACK) : found.start()]
    share = OF_LIMIT if _LIMIT.search(before) else 1.0
    return (first + last) / 2 * UNIT_BYTES[found["unit"]] * share


def _number(text: str) -> float:
    return _NUMBERS.get(text) or float(text.replace(",", ""))
