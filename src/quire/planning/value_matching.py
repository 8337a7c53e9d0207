"""Value matching: whether an answer's value says what a gold value says, by the kind of its field.

Four kinds. *Exact*: the same JSON value, for choices, yes and no, and objects. *Normalised*: the
same text but for case, white space, Unicode forms and the punctuation around it. *Numeric*: within
a tolerance, relative to the gold value. *Set*: the same elements in any order; each element counts
for precision and recall.

Gold values come from files in which everything may be text, so they are read as the field's schema
wants them before they are compared.
"""

import math
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, as_object, canonical_json, json_or_text
from quire.domain.errors import UsageError

TOLERANCE = 1e-6  # of numbers, where nothing is said: what writing them down may lose
YES, NO = frozenset(("true", "yes", "y", "1")), frozenset(("false", "no", "n", "0"))
_QUOTES = str.maketrans("‘’‚‛“”„‟‐‑‒–—−", "''''\"\"\"\"------")
_AROUND = string.whitespace + ".,;:!?\"'`()[]{}«»…"


class MatchKind(StrEnum):
    """How two values are compared."""

    EXACT = "exact"
    NORMALISED = "normalised"
    NUMERIC = "numeric"
    SET = "set"


class MatchRule(NamedTuple):
    """How values of one field are compared."""

    kind: MatchKind
    tolerance: float = TOLERANCE  # of numbers: relative to the gold value, absolute where that is 0

    def __str__(self) -> str:
        """The rule as it is typed."""
        is_stated = self.kind is MatchKind.NUMERIC and self.tolerance != TOLERANCE
        return f"{self.kind}:{self.tolerance:g}" if is_stated else self.kind.value


class ValueMatch(NamedTuple):
    """One answer beside its gold value."""

    right: bool  # says all that the gold value says, and nothing else; both may be null
    hits: int  # values, or elements of a set, that are in both
    answered: int  # in the answer
    wanted: int  # in the gold value


def parse_rule(text: str) -> MatchRule:
    """A rule as it is typed: `exact`, `set`, `numeric:0.01`."""
    name, colon, tolerance = text.partition(":")
    kinds = [kind.value for kind in MatchKind]
    if name not in kinds or (colon and name != MatchKind.NUMERIC):
        raise UsageError(f"a match is one of {', '.join(kinds)} or numeric:0.01, not {text!r}")
    if not colon:
        return MatchRule(MatchKind(name))
    try:
        stated = float(tolerance)
    except ValueError:
        stated = -1.0
    if not (0 <= stated < math.inf):
        raise UsageError(f"the tolerance of {text!r} is not a number from 0 on")
    return MatchRule(MatchKind.NUMERIC, stated)


def field_types(field: JsonObject) -> set[str]:
    """The JSON types that a field may have, null aside."""
    stated = field.get("type")
    types = {stated} if isinstance(stated, str) else {item for item in _items(stated)}
    for option in _items(field.get("anyOf")) + _items(field.get("oneOf")):
        types |= field_types(as_object(option))
    return {str(item) for item in types} - {"null"}


def choices_of(field: JsonObject) -> list[Json]:
    """The values that a field may have where its schema lists them; null is none of them."""
    listed = [*_items(field.get("enum")), *([field["const"]] if "const" in field else [])]
    for option in _items(field.get("anyOf")) + _items(field.get("oneOf")):
        listed += choices_of(as_object(option))
    if not listed and field_types(field) == {"boolean"}:
        return [False, True]
    return [value for value in listed if value is not None]


def rule_of_field(field: JsonObject) -> MatchRule:
    """How a field is compared where nobody says so."""
    types = field_types(field)
    if choices_of(field):
        return MatchRule(MatchKind.EXACT)
    if types and types <= {"integer", "number"}:
        return MatchRule(MatchKind.NUMERIC)
    if types == {"array"}:
        return MatchRule(MatchKind.SET)
    return MatchRule(MatchKind.NORMALISED if types <= {"string"} else MatchKind.EXACT)


def read_gold(value: Json, field: JsonObject) -> Json:
    """A gold value as its field wants it: files of rows know only text.

    Nothing, and the word null, are null; a list may be JSON, or texts parted by semicolons.
    """
    if not isinstance(value, str):
        return value
    text, types = value.strip(), field_types(field)
    if not text or (text == "null" and "null" not in choices_of(field)):
        return None
    if types and types <= {"integer", "number"}:
        number = json_or_text(text.replace(",", "") if text.count(",") else text)
        return number if isinstance(number, int | float) else value
    if types == {"boolean"}:
        lowered = text.lower()
        return True if lowered in YES else False if lowered in NO else value
    if types == {"array"}:
        found = json_or_text(text)
        listed = found if isinstance(found, list) else [part.strip() for part in text.split(";")]
        inner = as_object(field.get("items"))
        return [read_gold(item, inner) for item in listed if item != ""]
    return json_or_text(text) if "string" not in types and types else value


def match_values(answer: Json, gold: Json, rule: MatchRule) -> ValueMatch:
    """Hold an answer's value against the gold value."""
    if rule.kind is MatchKind.SET:
        return _match_sets(_items(answer), _items(gold), is_null=answer is None is gold)
    answered, wanted = int(answer is not None), int(gold is not None)
    if not (answered and wanted):
        return ValueMatch(answer is gold, 0, answered, wanted)
    same = _is_match(answer, gold, rule)
    return ValueMatch(same, int(same), 1, 1)


def _match_sets(answer: Sequence[Json], gold: Sequence[Json], *, is_null: bool) -> ValueMatch:
    """Elements are compared as normalised values, and each counts once."""
    said = Counter({_element(item): 1 for item in answer})
    meant = Counter({_element(item): 1 for item in gold})
    hits = (said & meant).total()
    return ValueMatch(is_null or said == meant, hits, said.total(), meant.total())


def _is_match(answer: Json, gold: Json, rule: MatchRule) -> bool:
    if rule.kind is MatchKind.NUMERIC:
        return _is_near(answer, gold, rule.tolerance)
    if rule.kind is MatchKind.NORMALISED:
        return _element(answer) == _element(gold)
    return _element_exact(answer) == _element_exact(gold)


def _is_near(answer: Json, gold: Json, tolerance: float) -> bool:
    """Whether two numbers are as near as the tolerance says; what is no number, as text."""
    numbers = [value for value in (answer, gold) if isinstance(value, int | float)]
    if len(numbers) < 2 or isinstance(answer, bool) or isinstance(gold, bool):
        return _element(answer) == _element(gold)
    one, other = numbers
    return one == other or abs(one - other) <= tolerance * (abs(other) or 1)


def normalise(text: str) -> str:
    """Text as it is compared: one case, one form of each sign, single spaces, nothing around it."""
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()
    return " ".join(plain.split()).strip(_AROUND) or plain.strip()


def _element(value: Json) -> str:
    return normalise(value) if isinstance(value, str) else _element_exact(value)


def _element_exact(value: Json) -> str:
    return value.strip() if isinstance(value, str) else canonical_json(_plain(value))


def _plain(value: Json) -> Json:
    """Numbers as JSON means them: 1.0 is 1."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _items(value: Json) -> list[Json]:
    """A list's elements; what is no list is one element, and nothing is none."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
