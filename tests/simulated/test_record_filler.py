"""What the simulated model writes follows its stated rules and satisfies the schema."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from quire.domain.data import Json
from quire.simulated.field_values import read_block_text
from quire.simulated.record_filler import compile_filler
from tests.simulated.calls import CONTENT

NAMES = st.sampled_from(
    ["word_count", "first_40_chars", "has_question", "final_content", "topic", "owner", "grade"]
)
PATTERNS = st.sampled_from(
    [r"^[A-Z]{2}-\d{4}$", r"^\d{4}-\d{2}-\d{2}$", r"^(low|high)$", r"^[^\s]+$", r"^\w{3,}$"]
)


@st.composite
def bounds(draw: st.DrawFn, low: str, high: str, most: int) -> dict[str, Json]:
    first, second = sorted(draw(st.tuples(*[st.integers(0, most)] * 2)))
    both: dict[str, Json] = {low: first, high: second}
    return {key: both[key] for key in draw(st.sets(st.sampled_from([low, high])))}


@st.composite
def numeric(draw: st.DrawFn, kind: str) -> dict[str, Json]:
    step = draw(st.sampled_from([None, 1, 5, 0.5] + ([0.01, 0.1] if kind == "number" else [])))
    schema = draw(bounds("minimum", "maximum", 10_000))
    shift = draw(st.integers(-20_000, 10_000))
    schema = {key: int(str(value)) + shift for key, value in schema.items()}
    if step is not None and len(schema) < 2:
        schema["multipleOf"] = step
    return {"type": kind, **schema}


@st.composite
def scalars(draw: st.DrawFn) -> dict[str, Json]:
    plain = st.builds(lambda item: {"type": "string", **item}, bounds("minLength", "maxLength", 90))
    kinds: list[st.SearchStrategy[dict[str, Json]]] = [
        plain,
        st.builds(lambda item: {"type": "string", "pattern": item}, PATTERNS),
        st.sampled_from(["date", "date-time", "time", "email", "uri", "uuid"]).map(
            lambda name: {"type": "string", "format": name}
        ),
        numeric("integer"),
        numeric("number"),
        st.just({"type": "boolean"}),
        st.lists(st.text(max_size=5) | st.integers() | st.none(), min_size=1, max_size=5).map(
            lambda item: {"enum": item}
        ),
        st.just({"const": {"a": [1, None]}}),
    ]
    schema = draw(st.one_of(kinds))
    if isinstance(schema.get("type"), str) and draw(st.booleans()):
        schema = {**schema, "type": [schema["type"], "null"]}
    if draw(st.booleans()):
        schema = {**schema, "default": draw(st.sampled_from([None, 5, "none", [], False]))}
    return schema


def containers(inner: st.SearchStrategy[dict[str, Json]]) -> st.SearchStrategy[dict[str, Json]]:
    arrays: st.SearchStrategy[dict[str, Json]] = st.builds(
        lambda items, size: {"type": "array", "items": items, **size},
        inner,
        bounds("minItems", "maxItems", 8),
    )
    objects: st.SearchStrategy[dict[str, Json]] = st.dictionaries(NAMES, inner, max_size=4).map(
        lambda record: {
            "type": "object",
            "properties": record,
            "required": [*record],
            "additionalProperties": False,
        }
    )
    return arrays | objects


SCHEMAS = st.recursive(scalars(), containers, max_leaves=6)


@given(SCHEMAS, NAMES, CONTENT)
@example({"type": "number", "minimum": 0.501, "maximum": 0.502}, "grade", "x")
@example({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.01}, "grade", "x")
@example({"type": "integer", "multipleOf": 7, "minimum": 8, "maximum": 15}, "word_count", "")
@example({"type": "array", "items": {"type": "string", "maxLength": 1}, "minItems": 9}, "x", "A B")
def test_what_is_written_satisfies_its_schema(
    schema: dict[str, Json], name: str, content: str
) -> None:
    written = compile_filler(schema, name)(read_block_text(content))

    assert validator_for(schema, validate_formats=True).is_valid(written), (schema, written)


def fill(schema: Json, name: str, content: str) -> Json:
    return compile_filler(schema, name)(read_block_text(content))


def test_fields_that_restate_the_block_carry_all_of_it_with_single_spaces() -> None:
    for name in ("content", "revised_text", "full_rewrite"):
        assert fill({"type": "string"}, name, " One  two\n\nthree ") == "One two three"


def test_other_strings_are_the_first_eight_words() -> None:
    assert fill({"type": "string"}, "topic", "a b c d e f g h i j") == "a b c d e f g h"


def test_strings_are_clipped_and_padded_to_their_lengths() -> None:
    assert fill({"type": "string", "maxLength": 5}, "topic", "Payment is due") == "Payme"
    assert fill({"type": "string", "minLength": 5}, "topic", "Hi") == "Hi..."


def test_a_date_in_the_block_is_preferred_to_an_invented_one() -> None:
    schema: Json = {"type": "string", "format": "date"}

    assert fill(schema, "due", "Due on 2031-02-30 or 2031-03-01.") == "2031-03-01"


def test_a_match_of_the_pattern_in_the_block_is_preferred_to_an_invented_one() -> None:
    schema: Json = {"type": "string", "pattern": r"^[A-Z]{3}-\d+$"}

    assert fill(schema, "order", "See order KLM-204 of May.") == "KLM-204"
    assert fill(schema, "order", "See your order.") == "AAA-1"


def test_an_array_of_strings_holds_the_distinct_capitalised_words() -> None:
    schema: Json = {"type": "array", "items": {"type": "string"}, "maxItems": 3}
    content = "Ada met Grace and Ada saw Alan, then Edsger."

    assert fill(schema, "people", content) == ["Ada", "Grace", "Alan"]
    assert fill(schema, "people", "nobody here") == []


def test_forbidden_repeats_are_left_out_of_an_array() -> None:
    schema: Json = {
        "type": "array",
        "items": {"enum": ["a", "b", "c"]},
        "minItems": 3,
        "uniqueItems": True,
    }

    written = fill(schema, "kinds", "any block")

    assert isinstance(written, list)
    assert sorted(map(str, written)) == ["a", "b", "c"]


def test_every_member_of_an_enum_is_chosen_by_some_block_and_null_by_about_a_quarter() -> None:
    schema: Json = {"type": ["string", "null"], "enum": ["low", "mid", "high", None]}

    written = [fill(schema, "risk", f"block {n}") for n in range(400)]

    assert set(written) == {"low", "mid", "high", None}
    assert 60 < written.count(None) < 140


def test_two_booleans_of_one_block_are_chosen_independently() -> None:
    pairs = {
        (fill({"type": "boolean"}, "is_new", text), fill({"type": "boolean"}, "is_old", text))
        for text in map(str, range(100))
    }

    assert len(pairs) == 4


def test_probe_and_restating_fields_are_never_null() -> None:
    nullable: Json = {"type": ["string", "null"]}

    for n in range(50):
        assert fill(nullable, "first_40_chars", f"block {n}") == f"block {n}"
        assert fill(nullable, "final_content", f"block {n}") == f"block {n}"


def test_a_block_without_words_gets_the_default_only_if_it_is_valid() -> None:
    valid: Json = {"type": "string", "default": "none given"}
    invalid: Json = {"type": "string", "default": 7}

    assert fill(valid, "topic", " \n") == "none given"
    assert fill(valid, "topic", "Rent") == "Rent"
    assert fill(invalid, "topic", " \n") == ""


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_a_union_with_null_is_written_by_its_other_branch(union: str) -> None:
    schema: Json = {union: [{"type": "null"}, {"type": "integer", "minimum": 5, "maximum": 6}]}

    assert {fill(schema, "level", f"block {n}") for n in range(60)} == {None, 5, 6}


def test_a_constant_is_written_as_it_is() -> None:
    assert fill({"const": None}, "topic", "words") is None
