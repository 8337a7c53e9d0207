"""The JSON gate of a single answer: one object in the text, held against the stage's schema."""

import json
from dataclasses import dataclass
from functools import lru_cache

from quire.domain.data import Json, JsonObject, canonical_json, strict_json
from quire.domain.gates import GateInput, Judgement, Verdict
from quire.gates.gate_parameters import unknown_names
from quire.gates.packed_json import GATE_VERSION
from quire.gates.records import MORE_THAN_ONE, AnswerRoot, find_roots, flaw_of, unquote_json
from quire.gates.shape import Shape


@dataclass(frozen=True, slots=True)
class JsonGate:
    """Accepts an object that satisfies the schema; packed answers are mapped before."""

    name: str = "json"
    version: str = GATE_VERSION

    def mistakes(self, params: JsonObject) -> list[str]:
        """It has no parameters."""
        return unknown_names(params, ())

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Read one object, unless a gate before has read it, and validate it."""
        data = answer.data
        if data is None:
            data, problem = _read_object(answer.text)
            if problem:
                return Verdict(Judgement.RETRY, None, (problem,))
        if answer.record_schema is None:
            return Verdict(Judgement.ACCEPT, data)
        shape = _compile_shape(canonical_json(answer.record_schema))
        return shape.judge(_unwrap(data, shape))


def _read_object(text: str) -> tuple[Json, str]:
    """Read the one JSON value that stands in a text, and what is wrong with it."""
    whole = text.strip().startswith('"')  # then all of it may be a string that holds JSON
    roots = [AnswerRoot(0, len(text), "")] if whole else find_roots(text)
    if len(roots) != 1:
        return None, MORE_THAN_ONE if roots else "answer is not JSON"
    try:
        value = unquote_json(strict_json(text[roots[0].start : roots[0].end].encode()))
    except ValueError as error:
        return None, f"answer is not JSON: {error}"
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None, "answer is not one JSON object"
    flaw = flaw_of(value)
    return (None, f"the record {flaw}") if flaw else (value, "")


def _unwrap(data: Json, shape: Shape) -> Json:
    """Take a lone record out of the wrapping that packed answers have."""
    if isinstance(data, dict) and [*data] == ["results"] and "results" not in shape.fields:
        results = data["results"]
        data = results[0] if isinstance(results, list) and len(results) == 1 else data
    if isinstance(data, dict) and "block_uid" not in shape.fields:
        return {name: value for name, value in data.items() if name != "block_uid"}
    return data


@lru_cache(maxsize=64)
def _compile_shape(schema: str) -> Shape:
    return Shape(json.loads(schema))
