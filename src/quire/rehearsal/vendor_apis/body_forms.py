"""The forms that request bodies must have, and the first thing that is wrong with one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jsonschema_rs

from quire.domain.data import Json
from quire.rehearsal.vendor_protocol import ApiProblem, ProblemKind

Form: TypeAlias = dict[str, Json]

TEXT: Form = {"type": "string"}
WORD: Form = {"type": "string", "minLength": 1}
FLAG: Form = {"type": "boolean"}
WHOLE: Form = {"type": "integer"}
NUMBER: Form = {"type": "number"}
OBJECT: Form = {"type": "object"}
ANYTHING: Form = {}
PAIRS: Form = {
    "type": ["object", "null"],
    "maxProperties": 16,
    "propertyNames": {"maxLength": 64},
    "additionalProperties": {"type": "string", "maxLength": 512},
}
_PROBLEM_KINDS = {
    "additionalProperties": ProblemKind.UNKNOWN_FIELD,
    "required": ProblemKind.MISSING_FIELD,
    "type": ProblemKind.MISTYPED_FIELD,
}


class BodyMistake(NamedTuple):
    """What is wrong with a body, and where."""

    kind: ProblemKind
    place: tuple[str | int, ...]
    detail: str
    expected: str = ""  # types, where it is of another one


class BodyForm:
    """A form, compiled to check bodies with."""

    def __init__(self, form: Form) -> None:
        """Compile it once; checking a right body costs microseconds."""
        self._validator = jsonschema_rs.validator_for(form)

    def mistake(self, body: Json) -> BodyMistake | None:
        """Find the first thing that is wrong with a body."""
        try:
            if self._validator.is_valid(body):
                return None
            return _mistake(next(iter(self._validator.iter_errors(body))))
        except ValueError as error:  # nested deeper than any vendor reads, or numbers beyond size
            return BodyMistake(ProblemKind.INVALID, (), str(error).partition("\n")[0])

    def check(self, body: Json, problem: Callable[[BodyMistake], ApiProblem]) -> Any:
        """The body if it has the form; else what is wrong with it, in a vendor's words."""
        if found := self.mistake(body):
            raise problem(found)
        return body


def record(required: str = "", /, **fields: Form) -> Form:
    """An object of these fields and no others; those that must be there are named first."""
    form: Form = {"type": "object", "properties": fields, "required": required.split()}
    return {**form, "additionalProperties": False}


def choice(*values: str) -> Form:
    """One of these words."""
    return {"enum": list(values)}


def any_of(*forms: Form) -> Form:
    """Any of these forms."""
    return {"anyOf": list(forms)}


def nullable(form: Form) -> Form:
    """That form, or null."""
    return {"anyOf": [form, {"type": "null"}]}


def list_of(form: Form, least: int = 0) -> Form:
    """A list of that form."""
    return {"type": "array", "items": form, "minItems": least}


def number_between(low: float, high: float | None = None, *, whole: bool = False) -> Form:
    """A number within bounds, or null."""
    form: Form = {"type": ["integer" if whole else "number", "null"], "minimum": low}
    return form if high is None else {**form, "maximum": high}


def dotted_path(place: Sequence[str | int], brackets: bool = True) -> str:
    """Write a place as vendors do: input[0].content, or messages.0.content."""
    written = ""
    for key in place:
        if isinstance(key, int) and brackets:
            written += f"[{key}]"
        else:
            written += f".{key}" if written else str(key)
    return written


def json_type(value: object) -> str:
    """Name the JSON type of a value."""
    for kind, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    ):
        if isinstance(value, kind):
            return name
    return "null"


def _mistake(error: Any) -> BodyMistake:
    kind, place = error.kind, tuple(error.instance_path)
    problem_kind = _PROBLEM_KINDS.get(kind.name, ProblemKind.INVALID)
    if kind.name == "anyOf":
        return _closest_mistake(error, place)
    if problem_kind is ProblemKind.UNKNOWN_FIELD:
        return BodyMistake(problem_kind, (*place, kind.unexpected[0]), "")
    if problem_kind is ProblemKind.MISSING_FIELD:
        return BodyMistake(problem_kind, (*place, kind.property), "")
    if problem_kind is ProblemKind.MISTYPED_FIELD:
        expected = ", ".join(sorted(kind.types))
        return BodyMistake(problem_kind, place, json_type(error.instance), expected)
    return BodyMistake(problem_kind, place, _shorten(error.message))


def _closest_mistake(error: Any, place: tuple[str | int, ...]) -> BodyMistake:
    """Of several forms, go by the one that came closest."""
    inner = [item for branch in error.kind.context for item in branch[:1]]
    deepest = max(inner, key=lambda item: len(item.instance_path))
    if len(deepest.instance_path) > len(place) or deepest.kind.name in _PROBLEM_KINDS.keys() - {
        "type"
    }:
        return _mistake(deepest)
    if all(item.kind.name == "type" for item in inner):
        expected = ", ".join(sorted({name for item in inner for name in item.kind.types}))
        return BodyMistake(ProblemKind.MISTYPED_FIELD, place, json_type(error.instance), expected)
    return BodyMistake(ProblemKind.INVALID, place, _shorten(error.message))


def _shorten(message: str) -> str:
    """A message that quotes a long value, without most of it."""
    return message if len(message) <= 300 else f"{message[:150]} … {message[-140:]}"
