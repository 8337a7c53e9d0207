"""The text gate: an answer in plain words, held to a length and to patterns."""

from collections.abc import Iterator
from dataclasses import dataclass

from quire.domain.data import Json, JsonObject
from quire.domain.gates import GateInput
from quire.domain.results import Judgement, Verdict
from quire.gates.parameters import is_whole, refers, resolved, unknown_names
from quire.gates.patterns import matches, pattern_mistake
from quire.gates.refusals import EMPTY

_LENGTHS = ("min_length", "max_length")
_PATTERNS = ("must_match", "must_not_match")


@dataclass(frozen=True, slots=True)
class TextGate:
    """Accepts the trimmed text; lengths are counted in characters."""

    name: str = "text"
    version: str = "text/1"

    def mistakes(self, params: JsonObject) -> list[str]:
        """Check names, lengths and patterns; a pattern may be a list of patterns."""
        return [
            *unknown_names(params, (*_LENGTHS, *_PATTERNS)),
            *_wrong_lengths({name: value for name, value in params.items() if not refers(value)}),
            *_wrong_patterns(params),
        ]

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Say everything that is wrong with the text at once."""
        given = resolved(params, answer.facts)
        if broken := [*_wrong_lengths(given), *_wrong_patterns(given)]:
            return Verdict(Judgement.FAIL, None, tuple(broken))
        text = answer.text.strip()
        if reasons := tuple(_objections(text, given)):
            return Verdict(Judgement.RETRY, None, reasons)
        # after another gate it only looks on: the data are those of the gate that read the answer
        data: Json = {"text": text} if answer.data is None else answer.data
        return Verdict(Judgement.ACCEPT, data)


def _objections(text: str, given: JsonObject) -> Iterator[str]:
    if not text:
        yield EMPTY
        return
    least, most = given.get("min_length"), given.get("max_length")
    if is_whole(least) and len(text) < least:
        yield f"answer has {len(text):,} characters; at least {least:,} are wanted"
    if is_whole(most) and len(text) > most:
        yield f"answer has {len(text):,} characters; at most {most:,} are wanted"
    for pattern in _listed(given.get("must_match")):
        if not matches(pattern, text):
            yield f"answer must match {pattern}"
    for pattern in _listed(given.get("must_not_match")):
        if matches(pattern, text):
            yield f"answer must not match {pattern}"


def _wrong_lengths(given: JsonObject) -> Iterator[str]:
    for name in _LENGTHS:
        if name in given and not is_whole(given[name]):
            yield f"{name} must be a whole number of at least 0"
    least, most = given.get("min_length"), given.get("max_length")
    if is_whole(least) and is_whole(most) and least > most:
        yield f"min_length {least} is above max_length {most}"


def _wrong_patterns(given: JsonObject) -> Iterator[str]:
    for name in _PATTERNS:
        if name in given:
            value = given[name]
            each = value if isinstance(value, list | tuple) else [value]
            yield from (f"{name} {wrong}" for wrong in map(pattern_mistake, each) if wrong)


def _listed(value: Json) -> list[str]:
    each = value if isinstance(value, list | tuple) else [value]
    return [pattern for pattern in each if isinstance(pattern, str)]
