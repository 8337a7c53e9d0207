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
_LENGTH = re.compile(
    r"\b(?P<limit>at most|no more than|not more than|up to|fewer than|less than|a maximum of)?"
    r"\s*(?:about|around|roughly|some|exactly|approximately)?\s*"
    rf"\b(?P<first>{_NUMBER})(?:\s*(?:to|or|-|–)\s*(?P<last>{_NUMBER}))?"
    rf"[\s-]+(?P<unit>{'|'.join(UNIT_BYTES)})s?\b",
    re.IGNORECASE,
)


_REWRITTEN = re.compile(
    r"\b(?:clean|rewrite|translate) the text between the marks\b.*?"
    r"^<<<(?P<name>[^\n]+)\n(?P<text>.*?)\n?^(?P=name)>>>",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


def stated_length(text: str) -> float | None:
    """Bytes of the answer that a prompt asks for; None where it does not say."""
    if found := _REWRITTEN.search(text):
        return float(len(found["text"].encode()))
    return max(map(_length, _LENGTH.finditer(text)), default=None)


def _length(found: re.Match[str]) -> float:
    first = _number(found["first"])
    last = _number(found["last"]) if found["last"] else first
    share = OF_LIMIT if found["limit"] else 1.0
    return (first + last) / 2 * UNIT_BYTES[found["unit"].lower()] * share


def _number(text: str) -> float:
    return _NUMBERS.get(text.lower()) or float(text.replace(",", ""))
