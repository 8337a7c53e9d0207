"""Values match by the kind of their field, and gold is read as its field wants it."""

import pytest

from quire.domain.data import Json, JsonObject
from quire.domain.errors import UsageError
from quire.planning.value_matching import (
    MatchKind,
    MatchRule,
    ValueMatch,
    choices_of,
    match_values,
    parse_rule,
    read_gold,
    rule_of_field,
)

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": ["number", "null"]}
CHOICE: JsonObject = {"anyOf": [{"enum": ["low", "high"]}, {"type": "null"}]}
TAGS: JsonObject = {"type": "array", "items": {"type": "string"}}
FLAG: JsonObject = {"type": "boolean"}


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        (TEXT, "normalised"),
        (NUMBER, "numeric"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "numeric"),
        (CHOICE, "exact"),
        (FLAG, "exact"),
        (TAGS, "set"),
        ({"type": "object", "properties": {}}, "exact"),
        ({"type": ["string", "number"]}, "exact"),
    ],
)
def test_a_field_is_compared_by_its_kind(field: JsonObject, rule: str) -> None:
    assert str(rule_of_field(field)) == rule


@pytest.mark.parametrize(
    ("rule", "answer", "gold", "right"),
    [
        ("normalised", "  The “Tenant”\n", 'the "tenant".', True),
        ("normalised", "Ｔｅｎａｎｔ", "tenant", True),
        ("normalised", "tenant", "tenants", False),
        ("normalised", "-5", "5", False),
        ("normalised", "?", "!", False),
        ("exact", "High", "high", False),
        ("exact", {"a": 1.0, "b": [2]}, {"b": [2], "a": 1}, True),
        ("exact", True, 1, False),
        ("exact", None, None, True),
        ("exact", None, "high", False),
        ("numeric", 1000.0001, 1000, True),
        ("numeric", 1001, 1000, False),
        ("numeric:0.01", 1009, 1000, True),
        ("numeric:0.5", 0.4, 0, True),
        ("numeric", True, 1, False),
        ("numeric", "n/a", 1, False),
        ("set", ["b", "A", "a"], ["a", "B"], True),
        ("set", [], None, True),
        ("set", ["a"], [], False),
    ],
)
def test_values_match_as_their_rule_says(rule: str, answer: Json, gold: Json, right: bool) -> None:
    assert match_values(answer, gold, parse_rule(rule)).right is right


def test_elements_of_a_set_count_for_precision_and_recall() -> None:
    found = match_values(["a", "b", "c"], ["B", "d"], MatchRule(MatchKind.SET))

    assert found == ValueMatch(right=False, hits=1, answered=3, wanted=2)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (NUMBER, "1,250.5", 1250.5),
        (NUMBER, "12", 12),
        (NUMBER, "", None),
        (NUMBER, "many", "many"),
        (FLAG, "Yes", True),
        (FLAG, "0", False),
        (FLAG, "perhaps", "perhaps"),
        (TAGS, '["a;b", "c"]', ["a;b", "c"]),
        (TAGS, "a; b;", ["a", "b"]),
        ({"type": "array", "items": {"type": "integer"}}, "1; 2", [1, 2]),
        (TEXT, "12", "12"),
        (TEXT, "null", None),
        ({"enum": ["null", "x"]}, "null", "null"),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        (CHOICE, " high ", " high "),
        (NUMBER, 7, 7),
    ],
)
def test_gold_is_read_as_its_field_wants_it(field: JsonObject, text: Json, value: Json) -> None:
    assert read_gold(text, field) == value


def test_choices_are_what_the_schema_lists() -> None:
    assert choices_of(CHOICE) == ["low", "high"]
    assert choices_of({"const": "x"}) == ["x"]
    assert choices_of(FLAG) == [False, True]
    assert choices_of(TEXT) == []


@pytest.mark.parametrize("text", ["fuzzy", "exact:1", "numeric:much", "numeric:-1", "numeric:inf"])
def test_a_rule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="numeric"):
        parse_rule(text)
