"""The stated rules by which the simulated model drafts a schema from a wish.

The wish stands after "Wanted:". What commas and "and" part becomes fields, each named by its own
words; what follows "of every", "of each" or "for" says what they are of, and names the schema. A
type is chosen by the first word that is known: an amount is a number, a due date a date, "whether"
asks yes or no, a kind is a choice among the commonest capitalised words of the blocks and `other`,
names are a list; anything else is text.
"""

import re
from collections import Counter

from quire.domain.data import Json

DRAFT_FIELDS = {"title", "instructions", "fields"}  # by which it knows what it is asked for
WISH = re.compile(r"^Wanted: (.*)$", re.MULTILINE)

_OF_WHAT = re.compile(r"\b(?:of|for|in) (?:every|each|all|any|the)\b(.*)", re.IGNORECASE)
_PARTS = re.compile(r"\s*(?:[,;]|\band\b)\s*", re.IGNORECASE)
_CAPITALISED = re.compile(r"\b[A-Z][a-z]{2,}\b")
_COMMON = {"any", "all", "block", "each", "every", "for", "the", "these", "this", "with"}
_HINTS = (
    ("yes_no", "whether"),
    ("date", "date day deadline due birthday"),
    ("number", "amount price cost sum fee total rent value percentage rate salary"),
    ("integer", "count number many year age pages words"),
    ("choice", "kind type category status class sort sentiment"),
    ("list", "names terms parties people topics keywords list"),
)
_CHOICES = 4


def draft_record(content: str) -> dict[str, Json]:
    """A draft from what a block says is wanted."""
    found = WISH.search(content)
    wish = found[1] if found else content[:200]
    subject = _OF_WHAT.search(wish)
    phrases = [part for part in _PARTS.split(_OF_WHAT.sub("", wish)) if _words(part)]
    fields = {_name(phrase): _field(phrase, content) for phrase in phrases[:20]}
    of_what = " ".join(_words(subject[1])[:4]) if subject else ""
    return {
        "title": _name(of_what) if of_what else "record",
        "instructions": f"Fill in what was wished for: {wish.strip()[:700]}.",
        "fields": [*fields.values()] or [_field("summary", content)],
    }


def _field(phrase: str, content: str) -> Json:
    words = set(_words(phrase))
    kind = next((kind for kind, hints in _HINTS if words & set(hints.split())), "text")
    choices = _commonest_names(content) if kind == "choice" else []
    return {
        "name": _name(phrase),
        "type": kind,
        "description": f"{phrase.strip().capitalize()}, as the block says it.",
        "required": kind in ("choice", "yes_no", "list"),
        "choices": [*choices],
    }


def _commonest_names(content: str) -> list[str]:
    samples = WISH.sub("", content)
    words = (word.lower() for word in _CAPITALISED.findall(samples))
    counts = Counter(word for word in words if word not in _COMMON)
    names = sorted(counts, key=lambda name: (-counts[name], name))[:_CHOICES]
    return [*names, "other"] if names else ["yes", "no", "other"]


def _words(phrase: str) -> list[str]:
    return re.findall("[a-z0-9]+", phrase.lower())


def _name(phrase: str) -> str:
    """A field's name: the words of a phrase, the first of them not a number."""
    words = "_".join(_words(phrase))[:40].strip("_")
    return words if words[:1].isalpha() else f"field_{words}"[:40]
