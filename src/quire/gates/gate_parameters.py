"""Parameters of gates: plain values, or references to what the recipe or the task knows."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeGuard

from quire.domain.data import Json, JsonObject

INPUTS = "inputs."  # of a result that the task reads
_PLACES = ("parameters.", "part.", INPUTS)


def is_reference(value: Json) -> TypeGuard[str]:
    """Say whether the value stands for another that is known only when a task is judged."""
    return isinstance(value, str) and value.startswith(_PLACES)


def resolve_references(params: JsonObject, facts: JsonObject) -> dict[str, Json]:
    """Put what they refer to in the place of references; those that lead nowhere are kept."""
    return {name: _resolve_value(value, facts) for name, value in params.items()}


def refers_to_inputs(params: JsonObject) -> bool:
    """Whether a value stands for a part of a result that the task reads."""
    return any(is_reference(value) and value.startswith(INPUTS) for value in params.values())


def unknown_names(params: JsonObject, known: Iterable[str]) -> list[str]:
    """Say which parameters nobody asked for, with the name that was probably meant."""
    names = tuple(known)
    mistakes = []
    for name in params:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}"
            mistakes.append(f"{name} is not a parameter; {hint}")
    return mistakes


def is_whole(value: Json, least: int = 0) -> TypeGuard[int]:
    """Say whether it is a count."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: Json) -> TypeGuard[int | float]:
    """Say whether it is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _resolve_value(value: Json, facts: JsonObject) -> Json:
    if not is_reference(value):
        return value
    found: Json = facts
    for step in value.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return value
        found = found[step]
    return found
