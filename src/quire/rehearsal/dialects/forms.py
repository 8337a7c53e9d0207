"""The forms that request bodies must have, and the first thing that is wrong with one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jsonschema_rs

from quire.domain.data import Json
from quire.rehearsal.asked import Trouble

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
_KINDS = {
    "additionalProperties": Trouble.UNKNOWN_FIELD,
    "required": Trouble.MISSING_FIELD,
    "type": Trouble.MISTYPED_FIELD,
}


class Mistake(NamedTuple):
    """What is wrong with a body, and where."""

    trouble: Trouble
    place: tuple[str | int, ...]
    detail: str
    expected: str = ""  # types, where it is of another one


class Body:
    """A form, compiled to check bodies with."""

    def __init__(self, form: Form) -> None:
        """Compile it once; checking a right body costs microseconds."""
        self._validator = jsonschema_rs.validator_for(form)

    def mistake(self, body: Json) -> Mistake | None:
        """Find the first thing that is wrong with a body."""
        try:
            if self._validator.is_valid(body):
                return None
            return _mistake(next(iter(self._validator.iter_errors(body))))
        except ValueError as error:  # nested deeper than any vendor reads, or numbers beyond size
            return Mistake(Trouble.INVALID, (), str(error).partition("\n")[0])


def closed(fields: Mapping[str, Form], required: Iterable[str] = ()) -> Form:
    """An object of these fields and no others."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(required),
        "additionalProperties": False,
    }


def choice(*values: str) -> Form:
    """One of these words."""
    return {"enum": list(values)}


def either(*forms: Form) -> Form:
    """Any of these forms."""
    return {"anyOf": list(forms)}


def maybe(form: Form) -> Form:
    """That form, or null."""
    return {"anyOf": [form, {"type": "null"}]}


def several(form: Form, least: int = 0) -> Form:
    """A list of that form."""
    return {"type": "array", "items": form, "minItems": least}


def between(low: float, high: float | None = None, *, whole: bool = False) -> Form:
    """A number within bounds, or null."""
    form: Form = {"type": ["integer" if whole else "number", "null"], "minimum": low}
    return form if high is None else {**form, "maximum": high}


def dotted(place: Sequence[str | int], brackets: bool = True) -> str:
    """Write a place as vendors do: input[0].content, or messages.0.content."""
    written = ""
    for key in place:
        if isinstance(key, int) and brackets:
            written += f"[{key}]"
        else:
            written += f".{key}" if written else str(key)
    return written


def kind_of(value: object) -> str:
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


def _mistake(error: Any) -> Mistake:
    kind, place = error.kind, tuple(error.instance_path)
    trouble = _KINDS.get(kind.name, Trouble.INVALID)
    if kind.name == "anyOf":
        return _closest(error, place)
    if trouble is Trouble.UNKNOWN_FIELD:
        return Mistake(trouble, (*place, kind.unexpected[0]), "")
    if trouble is Trouble.MISSING_FIELD:
        return Mistake(trouble, (*place, kind.property), "")
    if trouble is Trouble.MISTYPED_FIELD:
        return Mistake(trouble, place, kind_of(error.instance), ", ".join(sorted(kind.types)))
    return Mistake(trouble, place, _short(error.message))


def _closest(error: Any, place: tuple[str | int, ...]) -> Mistake:
    """Of several forms, go by the one that came closest."""
    inner = [each for branch in error.kind.context for each in branch[:1]]
    deepest = max(inner, key=lambda each: len(each.instance_path))
    if len(deepest.instance_path) > len(place) or deepest.kind.name in _KINDS.keys() - {"type"}:
        return _mistake(deepest)
    if all(each.kind.name == "type" for each in inner):
        expected = ", ".join(sorted({name for each in inner for name in each.kind.types}))
        return Mistake(Trouble.MISTYPED_FIELD, place, kind_of(error.instance), expected)
    return Mistake(Trouble.INVALID, place, _short(error.message))


def _short(message: str) -> str:
    """A message that quotes a long value, without most of it."""
    return message if len(message) <= 300 else f"{message[:150]} … {message[-140:]}"
