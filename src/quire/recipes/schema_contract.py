"""The user-schema contract: finds every mistake of a normalised schema, each with its pointer."""

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, isfinite
from typing import TypeAlias, TypeGuard

import jsonschema_rs

from quire.domain.data import Json
from quire.domain.errors import Mistake
from quire.domain.gates import clip
from quire.domain.quotes import QUOTE
from quire.recipes.schema_dialects import TYPES
from quire.recipes.setting_rules import PROMPT_RULES, is_whole, unknown_message

DEEPEST = 20  # levels of nested fields; deeper ones are a generator's accident
_RANGES = (
    *(("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems")),
    *(("minProperties", "maxProperties"), ("minContains", "maxContains")),
)
_STRICT_RANGES = (
    *(("exclusiveMinimum", "maximum"), ("minimum", "exclusiveMaximum")),
    *(("exclusiveMinimum", "exclusiveMaximum"),),
)
_KEYWORD_TYPES = {  # keywords that other types ignore in silence
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), ("string",)),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), ("number", "integer")),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), ("number", "integer")),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems"), ("array",)),
    **dict.fromkeys(("prefixItems", "contains", "minContains", "maxContains"), ("array",)),
    **dict.fromkeys(("properties", "required", "additionalProperties"), ("object",)),
    **dict.fromkeys(("minProperties", "maxProperties", "propertyNames"), ("object",)),
    **dict.fromkeys(("patternProperties", "dependentRequired", "dependentSchemas"), ("object",)),
}
_QUOTABLE = re.compile(rf"/properties/[^/]*(/items/properties/[^/]*)?/{QUOTE}")
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
        yield Mistake("/type", f'must be "object"{_hint_of_type(body.get("type"))}')
    if body.get("additionalProperties") is not False:
        message = "must be false: the fields of a record are known; free keys go into a field of it"
        yield Mistake("/additionalProperties", message)
    if body.get("properties", {}) == {}:
        yield Mistake("/properties", "must have at least one field")
    for keyword, value in body.items():
        check = _ROOT_KEYWORDS.get(keyword)
        if check is None:
            yield Mistake(pointer(keyword), unknown_message(keyword, _ROOT_KEYWORDS))
        else:
            yield from check(value, pointer(keyword))
    yield from _unknown_required_fields(body, "")


def _hint_of_type(kind: Json) -> str:
    return ": a record is an object, so put the list into a field of it" if kind == "array" else ""


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
    for keyword in (keyword for keyword in field if keyword not in _KEYWORDS):
        yield Mistake(place + pointer(keyword), unknown_message(keyword, _KEYWORDS))
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
_check_flag = _check_that(lambda value: isinstance(value, bool), "must be true or false")
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


def _check_patterns(value: Json, place: str) -> Iterator[Mistake]:
    yield from _check_properties(value, place)
    for pattern in value if isinstance(value, dict) else ():
        yield from _check_pattern(pattern, place + pointer(pattern))


def _check_additional(value: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(value, bool):
        yield from _field_mistakes(value, place)


def _check_options(value: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(value, list) or not value:
        yield Mistake(place, "must be a list of at least one schema")
        return
    for number, option in enumerate(value):
        yield from _field_mistakes(option, place + pointer(number))


def _check_names_by_name(value: Json, place: str) -> Iterator[Mistake]:
    if not isinstance(value, dict):
        yield Mistake(place, "must be an object of lists of field names")
        return
    for name, names in value.items():
        yield from _check_required(names, place + pointer(name))


def _check_quote(value: Json, place: str) -> Iterator[Mistake]:
    yield from _check_flag(value, place)
    if value is True and not _QUOTABLE.fullmatch(place):
        yield Mistake(
            place, "a quote is for a field at the top, or of the objects in a list that is there"
        )


def _check_reference(value: Json, place: str) -> Iterator[Mistake]:
    yield Mistake(place, f"refers to {value!r}, which is not in this schema: put it under $defs")


_CONDITIONS: dict[str, _Check] = {  # vendors cannot bind most of them; our gate checks them all
    "anyOf": _check_options,
    "oneOf": _check_options,
    "allOf": _check_options,
    "not": _field_mistakes,
    "if": _field_mistakes,
    "then": _field_mistakes,
    "else": _field_mistakes,
    "dependentRequired": _check_names_by_name,
    "dependentSchemas": _check_properties,
}

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
    "exclusiveMinimum": _check_number,
    "exclusiveMaximum": _check_number,
    "items": _field_mistakes,
    "prefixItems": _check_options,
    "minItems": _check_size,
    "maxItems": _check_size,
    "uniqueItems": _check_flag,
    "contains": _field_mistakes,
    "minContains": _check_size,
    "maxContains": _check_size,
    "properties": _check_properties,
    "required": _check_required,
    "additionalProperties": _check_additional,
    "patternProperties": _check_patterns,
    "propertyNames": _field_mistakes,
    "minProperties": _check_size,
    "maxProperties": _check_size,
    **_CONDITIONS,
    "$ref": _check_reference,
    QUOTE: _check_quote,
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
    "default": _accept_anything,
    "minProperties": _check_size,
    "maxProperties": _check_size,
    **_CONDITIONS,
    "$ref": _check_reference,
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
    for low, high in _STRICT_RANGES:
        least, most = field.get(low), field.get(high)
        if _is_number(least) and _is_number(most) and least >= most:
            yield Mistake(place + pointer(low), f"is not below {high}: nothing lies between them")


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
    if "properties" not in field and "type" not in field:
        return  # a part of a rule about the fields around it, such as: one of these two
    for index, name in enumerate(required):
        if isinstance(name, str) and name not in properties:
            yield Mistake(place + pointer("required", index), f"no field is named {name!r}")
        elif isinstance(name, str) and name in required[:index]:
            yield Mistake(place + pointer("required", index), f"names {name!r} twice")
