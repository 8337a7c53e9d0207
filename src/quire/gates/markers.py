"""The markers gate: reasoning first, then a marker that ends the answer; decoded or refused.

`kind` says which: `rubric` (scale_size), `verdict` (method, abstain, labels, scale_size, stages),
`quality`, `agreement`. A value may be written as "parameters.NAME". Nothing is ever guessed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import JsonObject
from quire.domain.gates import GateInput, Judgement, Verdict
from quire.gates.gate_parameters import is_reference, is_whole, resolve_references, unknown_names
from quire.gates.marker_kinds import read_agreement, read_quality, read_rubric
from quire.gates.marker_lines import Decoded, Refusal
from quire.gates.marker_verdicts import METHODS, labels_of, read_verdict

MOST_STAGES = 100
_SOME_WORDS = "(thought)"  # stands for reasoning; no marker begins so
_REASONING = "reasoning"


class _Kind(NamedTuple):
    read: Callable[[str, JsonObject, JsonObject], Decoded | Refusal]
    parameters: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


_KINDS: Mapping[str, _Kind] = {
    "rubric": _Kind(read_rubric, ("scale_size",), ("scale_size",)),
    "verdict": _Kind(
        read_verdict, ("method", "abstain", "labels", "scale_size", "stages"), ("method",)
    ),
    "quality": _Kind(read_quality),
    "agreement": _Kind(read_agreement),
}


@dataclass(frozen=True, slots=True)
class MarkersGate:
    """Accepts what the marker says, with the reasoning before it."""

    name: str = "markers"
    version: str = "markers/7"

    def mistakes(self, params: JsonObject) -> list[str]:
        """Check the kind and its parameters; references are checked when they are known."""
        known = {name: value for name, value in params.items() if not is_reference(value)}
        return [*_name_mistakes(params), *_value_mistakes(known)]

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Decode the end of the answer, or say why it cannot be."""
        given = resolve_references(params, answer.facts)
        broken = [*_name_mistakes(given), *_value_mistakes(given)]
        if not broken and given["kind"] == "verdict":
            labels = labels_of(given, answer.facts)
            broken += [labels.reason] if isinstance(labels, Refusal) else []
        if broken:
            return Verdict(Judgement.FAIL, None, tuple(broken))
        read = _KINDS[str(given["kind"])].read
        decoded = read(answer.text, given, answer.facts)
        if isinstance(decoded, Refusal) and answer.thought:  # which may be all the reasoning it has
            again = read(f"{_SOME_WORDS}\n{answer.text}", given, answer.facts)
            decoded = (
                decoded if isinstance(again, Refusal) else again | {_REASONING: answer.thought}
            )
        if isinstance(decoded, Refusal):
            return Verdict(Judgement.RETRY, None, (decoded.reason,))
        return Verdict(Judgement.ACCEPT, decoded)


def _name_mistakes(params: JsonObject) -> Iterator[str]:
    kind = params.get("kind")
    if is_reference(kind):
        return
    if not isinstance(kind, str) or kind not in _KINDS:
        yield f"kind must be one of {', '.join(_KINDS)}"
        return
    yield from unknown_names(params, ("kind", *_KINDS[kind].parameters))
    for name in _KINDS[kind].needed:
        if name not in params:
            yield f"{name} is missing; a {kind} needs it"


def _value_mistakes(given: JsonObject) -> Iterator[str]:
    size = given.get("scale_size", 2)
    if not is_whole(size, 2) or size > MOST_STAGES:
        yield f"scale_size must be a whole number from 2 to {MOST_STAGES}"
    if given.get("method", METHODS[0]) not in METHODS:
        yield f"method must be {' or '.join(METHODS)}"
    if not isinstance(given.get("abstain", False), bool):
        yield "abstain must be true or false"
    stages = given.get("stages", [])
    if not isinstance(stages, list | tuple) and not is_reference(stages):  # not answered yet
        yield "stages must be those of a rubric, each with label and criteria"
    if not isinstance(given.get("labels", ""), str | Mapping):
        yield "labels must be the name of what the task knows of its identifiers"
