"""The user-schema contract: finds every mistake of a schema file, each with its JSON pointer."""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, isfinite
from typing import TypeAlias, TypeGuard

import jsonschema_rs

from quire.domain.data import Json
from quire.domain.errors import Mistake
from quire.domain.gates import clip
from quire.recipes.setting_rules import PROMPT_RULES, is_whole, unknown_message

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
DEEPEST = 20  # levels of nested fields; deeper ones are a generator's accident
_RANGES = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))
_KEYWORD_TYPES = {  # keywords that other types ignore in silence
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), ("string",)),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), ("number", "integer")),
    **dict.fromkeys(("items", "minItems", "maxItems"), ("array",)),
    **dict.fromkeys(("properties", "required", "additionalProperties"), ("object",)),
}
_Check: TypeAlias = Callable[[Json, str], Iterator[Mistake]]


def find_mistakes(body: Json) -> list[Mistake]:
    """Check a whole schema file; an empty list means that it keeps the contract."""
    if not isinstance(body, dict):
        return [Mistake("", "a schema must be a JSON object")]
    return list(_root_mistakes(body))


def pointer(*steps: str | int) -> str:
    """Join steps to a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def _root_mistakes(body: dict[str, Json]) -> Iterator[Mistake]:
    if body.get("type") != "object":
        yield Mistake("/type", 'must be "object"')
    if body.get("additionalProperties") is not False:
        yield Mistake("/additionalProperties", "must be false")
    if body.get("properties", {}) == {}:
        yield Mistake("/properties", "must have at least one field")
    for keyword, value in body.items():
        check = _ROOT_KEYWORDS.get(keyword)
        if check is None:
            yield Mistake(pointer(keyword), unknown_message(keyword, _ROOT_KEYWORDS))
        else:
            yield from check(value, pointer(keyword))
    yield from _unknown_required_fields(body, "")


def _check_prompt_config(config: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(config, dict):
        yield Mistake(place, "must be an object")
        return
    for name, value in config.items():
        if name not in PROMPT_RULES:
            yield Mistake(place + pointer(name), unknown_message(name, PROMPT_RULES))
        elif not PROMPT_RULES[name].allows(value):
            yield Mistake(place + pointer(name), f"must be {PROMPT_RULES[name].wanted}")


def _field_mistakes(field: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(field, dict):
        yield Mistake(place, "must be an object that describes the field")
        return
    if place.count("/") > 2 * DEEPEST:
        yield Mistake(place, f"is nested more than {DEEPEST} levels deep")
        return
    found = list(_keyword_mistakes(field, place))
    yield from found
    spoilt = {mistake.pointer.removeprefix(place).split("/")[1] for mistake in found}
    sound = {name: value for name, value in field.items() if pointer(name)[1:] not in spoilt}
    yield from _impossible_values(sound, place)


def _keyword_mistakes(field: dict[str, Json], place: str) -> Iterator[Mistake]:
    unsupported = [keyword for keyword in field if keyword not in _KEYWORDS]
    for keyword in unsupported:
        yield Mistake(
            place + pointer(keyword),
            f"keyword is not supported; supported are {', '.join(_KEYWORDS)}",
        )
    for keyword, value in field.items():
        if keyword in _KEYWORDS:
            yield from _KEYWORDS[keyword](value, place + pointer(keyword))
    yield from _misplaced_keywords(field, place)
    empty = list(_empty_ranges(field, place))
    yield from empty or _ranges_without_number(field, place)
    yield from _unknown_required_fields(field, place)


def _check_that(is_right: Callable[[Json], bool], message: str) -> _Check:
    def check(value: Json, place: str) -> Iterator[Mistake]:
        if not is_right(value):
            yield Mistake(place, message)

    return check


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_accept_anything = _check_that(lambda value: True, "")
_check_text = _check_that(lambda value: isinstance(value, str), "must be text")
_check_list = _check_that(lambda value: isinstance(value, list), "must be a list")
_check_enum = _check_that(
    lambda value: isinstance(value, list) and bool(value), "must be a list of at least one value"
)
_check_size = _check_that(
    lambda value: isinstance(value, int) and is_whole(value) and value >= 0,
    "must be a whole number of at least 0",
)
_check_number = _check_that(_is_number, "must be a number")
_check_step = _check_that(
    lambda value: _is_number(value) and not value <= 0, "must be a number above 0"
)
_check_required = _check_that(
    lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "must be a list of field names",
)


def _check_type(value: Json, place: str) -> Iterator[Mistake]:
    names = value if isinstance(value, list) else [value]
    if (
        not names
        or any(name not in TYPES for name in names)
        or len(set(map(str, names))) < len(names)
    ):
        yield Mistake(place, f"must be one of {', '.join(TYPES)}, or a list of them")


def _check_pattern(value: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(value, str):
        yield Mistake(place, "must be text")
        return
    try:
        jsonschema_rs.validator_for({"pattern": value})
    except ValueError:
        yield Mistake(place, "is not a regular expression")


def _check_properties(value: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(value, dict):
        yield Mistake(place, "must be an object of fields")
        return
    for name, field in value.items():
        yield from _field_mistakes(field, place + pointer(name))


def _check_additional(value: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(value, bool):
        yield from _field_mistakes(value, place)


_KEYWORDS: dict[str, _Check] = {
    "type": _check_type,
    "description": _check_text,
    "title": _check_text,
    "enum": _check_enum,
    "const": _accept_anything,
    "default": _accept_anything,
    "examples": _check_list,
    "minLength": _check_size,
    "maxLength": _check_size,
    "pattern": _check_pattern,
    "format": _check_text,
    "minimum": _check_number,
    "maximum": _check_number,
    "multipleOf": _check_step,
    "items": _field_mistakes,
    "minItems": _check_size,
    "maxItems": _check_size,
    "properties": _check_properties,
    "required": _check_required,
    "additionalProperties": _check_additional,
}


_ROOT_KEYWORDS: dict[str, _Check] = {
    "type": _accept_anything,  # these two have only one right value
    "additionalProperties": _accept_anything,
    "properties": _check_properties,
    "required": _check_required,
    "description": _check_text,
    "title": _check_text,
    "examples": _check_list,
    "$id": _check_text,
    "$schema": _check_text,
    "$comment": _check_text,
    "prompt_config": _check_prompt_config,
}


def _misplaced_keywords(field: dict[str, Json], place: str) -> Iterator[Mistake]:
    kind = field.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if any(item not in TYPES for item in kinds):
        return  # without a usable type every keyword may have a meaning
    for keyword, types in _KEYWORD_TYPES.items():
        if keyword in field and not any(item in types for item in kinds):
            yield Mistake(place + pointer(keyword), f"is only for {' and '.join(types)} fields")


def _empty_ranges(field: dict[str, Json], place: str) -> Iterator[Mistake]:
    for low, high in _RANGES:
        least, most = field.get(low), field.get(high)
        if isinstance(least, (int, float)) and isinstance(most, (int, float)) and least > most:
            yield Mistake(place + pointer(low), f"is above {high}: no value could satisfy both")


def _ranges_without_number(field: dict[str, Json], place: str) -> Iterator[Mistake]:
    """Find ranges that are not empty, but hold no number of the kind that is asked for."""
    least, most, step = (
        _exact_fraction(field.get(name)) for name in ("minimum", "maximum", "multipleOf")
    )
    kind = field.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "integer" in kinds and "number" not in kinds:
        step = Fraction((step or Fraction(1)).numerator)
    if least is None or most is None or step is None or step <= 0:
        return
    if ceil(least / step) * step > most:
        what = "whole number" if step == 1 else f"multiple of {step}"
        yield Mistake(place + pointer("minimum"), f"there is no {what} from here to maximum")


def _exact_fraction(value: Json) -> Fraction | None:
    if not _is_number(value) or not isfinite(value):
        return None
    return Fraction(str(value))  # as it was written: 0.1 is a tenth


def _impossible_values(field: dict[str, Json], place: str) -> Iterator[Mistake]:
    """Find lists of values of which the rest of the field allows none."""
    for keyword in ("enum", "const"):
        values = field.get(keyword, [])
        listed = values if keyword == "enum" and isinstance(values, list) else [values]
        if keyword in field and not any(map(jsonschema_rs.validator_for(field).is_valid, listed)):
            yield Mistake(
                place + pointer(keyword),
                "no value could satisfy both this and the rest"
                f" ({_describe_others(field, keyword)})",
            )
            return


def _describe_others(field: dict[str, Json], keyword: str) -> str:
    left_out = ("title", "description", "default", "examples", keyword)
    return ", ".join(
        f"{name} {clip(json.dumps(field[name]), 40)}" for name in field if name not in left_out
    )


def _unknown_required_fields(field: dict[str, Json], place: str) -> Iterator[Mistake]:
    required, properties = field.get("required"), field.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        return
    for index, name in enumerate(required):
        if isinstance(name, str) and name not in properties:
            yield Mistake(place + pointer("required", index), f"no field is named {name!r}")
        elif isinstance(name, str) and name in required[:index]:
            yield Mistake(place + pointer("required", index), f"names {name!r} twice")
