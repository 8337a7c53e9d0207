"""Holds a request against the types that a vendor publishes: unknown fields are mistakes too."""

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import typing_extensions

_WRAPPERS = (
    typing_extensions.Required,
    typing_extensions.NotRequired,
    typing.Required,
    typing.NotRequired,
    typing.Annotated,
)


def mistakes(value: object, kind: Any, at: str = "") -> list[str]:
    """What about a value does not fit a type; a union is satisfied by its best-fitting member."""
    origin = get_origin(kind)
    if origin in _WRAPPERS:
        return mistakes(value, get_args(kind)[0], at)
    if origin in (Union, types.UnionType):
        return min((mistakes(value, arg, at) for arg in get_args(kind)), key=_weight)
    if origin is Literal:
        words = get_args(kind)
        return [] if value in words else [f"{at}: {value!r} is none of {words}"]
    if typing_extensions.is_typeddict(kind):
        return _of_object(value, kind, at)
    if origin is not None and isinstance(origin, type):
        return _of_container(value, origin, get_args(kind), at)
    return _of_plain(value, kind, at)


def _weight(found: list[str]) -> tuple[int, int]:
    """Fewest mistakes first; among equals, those that lie deepest say most."""
    return len(found), -max((name.count(".") for name in found), default=0)


def _of_object(value: object, kind: Any, at: str) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{at}: not an object", f"{at}: of {kind.__name__}"]
    fields = typing_extensions.get_type_hints(kind, include_extras=True)
    found = [f"{at}.{name}: {kind.__name__} has no such field" for name in value.keys() - fields]
    found += [f"{at}.{name}: missing" for name in kind.__required_keys__ - value.keys()]
    for name in value.keys() & fields:
        found += mistakes(value[name], fields[name], f"{at}.{name}")
    return found


def _of_container(value: object, origin: type, inner: tuple[Any, ...], at: str) -> list[str]:
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return [f"{at}: not an object"]
        return [
            mistake for key in value for mistake in mistakes(value[key], inner[1], f"{at}.{key}")
        ]
    if issubclass(origin, Iterable) or origin.__name__ == "SequenceNotStr":
        if not isinstance(value, Sequence) or isinstance(value, str):
            return [f"{at}: not an array"]
        return [
            mistake
            for index, item in enumerate(value)
            for mistake in mistakes(item, inner[0], f"{at}.{index}")
        ]
    return [f"{at}: of a type that is not understood: {origin}"]


def _of_plain(value: object, kind: Any, at: str) -> list[str]:
    kind = type(None) if kind is None else kind
    fits = kind in (Any, object) or type(value) is kind or (kind is float and type(value) is int)
    return [] if fits else [f"{at}: {value!r} is not {kind}"]
