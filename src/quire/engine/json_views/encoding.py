"""Encoding: values of Quire as JSON; amounts in picodollars go out as dollars."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import orjson

from quire.domain.pricing import to_usd

_PICO = "_pico"  # ends the name of an amount in picodollars
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z | orjson.OPT_PASSTHROUGH_DATACLASS


def json_bytes(value: object, *, indent: bool = False) -> bytes:
    """One JSON value as text, on a line or for people."""
    option = _OPTIONS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(value, default=_json_default, option=option)
    except orjson.JSONEncodeError:  # maybe a number beyond 64 bits: documents may hold any
        return orjson.dumps(_with_any_number(value), default=_json_default, option=option)


def _with_any_number(value: Any) -> object:
    """The same, with integers that orjson does not write by itself as the text they are."""
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else orjson.Fragment(str(value))
    if isinstance(value, dict):
        return {key: _with_any_number(item) for key, item in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [_with_any_number(item) for item in value]
    if isinstance(value, tuple | Mapping) or is_dataclass(value):
        return _with_any_number(_json_default(value))
    return value


def _in_usd(values: Mapping[str, Any]) -> dict[str, object]:
    """The same for programs, which count in dollars: names that end in _pico end in _usd."""
    return {
        f"{name.removesuffix(_PICO)}_usd" if name.endswith(_PICO) else name: (
            to_usd(value) if name.endswith(_PICO) and value is not None else value
        )
        for name, value in values.items()
    }


def _json_default(value: Any) -> object:
    """What orjson does not know by itself."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _in_usd(value._asdict())
    if is_dataclass(value):
        return _in_usd({field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
