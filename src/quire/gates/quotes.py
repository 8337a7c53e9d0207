"""The quote gate: the words given for a value must stand in the block, and where is found here.

White space does not count, nor do the forms of quotation marks and dashes, ligatures, soft hyphens
and other letters that only look different: models write them as they are used to. What is kept is
the block's own text.
"""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from quire.domain.gates import Judgement, Verdict, clip
from quire.domain.quotes import Quote, QuotedField, WrittenQuote, take_quotes

QUOTE_GATE_VERSION = "quotes/1"  # raised when the same quote would be judged differently

_LONGEST_WORDS = 80
LONGEST_BLOCK = 20_000  # characters; what is longer is a document
_MARKS = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″＂", '"'),
        **dict.fromkeys("‘’‚‛‹›′`´", "'"),
        **dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff"),
    }
)
_PAIRS = ('"', "'")


def judge_quotes(verdict: Verdict, fields: Sequence[QuotedField], content: str) -> Verdict:
    """An accepted record without its quotes, which are noted; refused where one is not there."""
    if verdict.judgement is not Judgement.ACCEPT or not isinstance(verdict.data, dict):
        return verdict
    data, written = take_quotes(verdict.data, fields)
    found = [(quote, find_words(quote.words, content)) for quote in written]
    if content.strip():  # else there is nothing that could be quoted
        missing = [quote for quote, place in found if place is None]
        if missing:
            return Verdict(Judgement.RETRY, None, tuple(map(_reason, missing)))
    quotes = (
        Quote(quote.path, content[place[0] : place[1]], *place)
        for quote, place in found
        if place is not None
    )
    return verdict._replace(data=data, notes=(*verdict.notes, *(q.as_note() for q in quotes)))


def _reason(quote: WrittenQuote) -> str:
    if not isinstance(quote.words, str) or not quote.words.strip():
        return f"{quote.name}: is missing: the words of the block that show {quote.path}"
    shown = json.dumps(clip(quote.words, _LONGEST_WORDS), ensure_ascii=False)
    return f"{quote.name}: {shown} does not stand in the block"


def find_words(words: object, content: str) -> tuple[int, int] | None:
    """Where words first stand in a text, from and to; None where they do not."""
    if not isinstance(words, str) or not words.strip():
        return None
    at = content.find(words)
    if at >= 0:
        return at, at + len(words)
    letters, places = _comparable(content)
    for wanted in _readings(words):
        at = letters.find(wanted)
        if wanted and at >= 0:
            return places[at], places[at + len(wanted) - 1] + 1
    return None


def _readings(words: str) -> Iterable[str]:
    """The words as they are compared; then without marks that the model put around them."""
    wanted = _comparable(words)[0].strip()
    yield wanted
    if len(wanted) > 2 and wanted[0] == wanted[-1] and wanted[0] in _PAIRS:
        yield wanted[1:-1].strip()


@lru_cache(maxsize=64)  # several quotes of one block, and packs that are judged again
def _comparable_block(text: str) -> tuple[str, list[int]]:
    return _compare_forms(text)


@lru_cache(maxsize=1)  # several quotes of a whole document, which takes much memory
def _comparable_document(text: str) -> tuple[str, list[int]]:
    return _compare_forms(text)


def _comparable(text: str) -> tuple[str, list[int]]:
    """A text in the form that is compared, and where each of its letters stands in the text."""
    return (_comparable_block if len(text) <= LONGEST_BLOCK else _comparable_document)(text)


def _compare_forms(text: str) -> tuple[str, list[int]]:
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        for form in _plain_forms(letter):
            blank = form.isspace()
            if blank and letters and letters[-1] == " ":
                continue
            letters.append(" " if blank else form)
            places.append(place)
    return "".join(letters), places


@lru_cache(maxsize=4096)
def _plain_forms(letter: str) -> str:
    return unicodedata.normalize("NFKD", letter.translate(_MARKS)).translate(_MARKS)
