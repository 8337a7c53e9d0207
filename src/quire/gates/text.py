"""The text gate: an answer in plain words, held to a length and to patterns."""

from collections.abc import Iterator
from dataclasses import dataclass

from quire.domain.data import Json, JsonObject
from quire.domain.gates import EMPTY, GateInput, Judgement, Verdict
from quire.gates.expressions import matches, pattern_mistake
from quire.gates.gate_parameters import is_reference, is_whole, resolve_references, unknown_names

_LENGTHS = ("min_length", "max_length")
_PATTERNS = ("must_match", "must_not_match")


@dataclass(frozen=True, slots=True)
class TextGate:
    """Accepts the trimmed text; lengths are counted in characters."""

    name: str = "text"
    version: str = "text/3"

    def mistakes(self, params: JsonObject) -> list[str]:
        """Check names, lengths and patterns; a pattern may be a list of patterns."""
        return [
            *unknown_names(params, (*_LENGTHS, *_PATTERNS)),
            *_length_mistakes(
                {name: value for name, value in params.items() if not is_reference(value)}
            ),
            *_pattern_mistakes(params),
        ]

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Say everything that is wrong with the text at once."""
        given = resolve_references(params, answer.facts)
        if broken := [*_length_mistakes(given), *_pattern_mistakes(given)]:
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
    for name, wanted in zip(_PATTERNS, (True, False), strict=True):
        for pattern in _pattern_list(given.get(name)):
            if matches(pattern, text) is not wanted:
                yield f"answer {name.replace('_', ' ')} {pattern}"


def _length_mistakes(given: JsonObject) -> Iterator[str]:
    for name in _LENGTHS:
        if name in given and not is_whole(given[name]):
            yield f"{name} must be a whole number of at least 0"
    least, most = given.get("min_length"), given.get("max_length")
    if is_whole(least) and is_whole(most) and least > most:
        yield f"min_length {least} is above max_length {most}"


def _pattern_mistakes(given: JsonObject) -> Iterator[str]:
    for name in _PATTERNS:
        if name in given:
            value = given[name]
            patterns = value if isinstance(value, list | tuple) else [value]
            yield from (f"{name} {wrong}" for wrong in map(pattern_mistake, patterns) if wrong)


def _pattern_list(value: Json) -> list[str]:
    patterns = value if isinstance(value, list | tuple) else [value]
    return [pattern for pattern in patterns if isinstance(pattern, str)]
