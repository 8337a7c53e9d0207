"""The canonical form of JSON has exactly one way to write each value."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json, canonical_json, json_or_text, stored_json, strict_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_sorted_at_every_depth_and_items_keep_their_order() -> None:
    written = canonical_json({"b": [{"d": 1, "c": 2}, 0], "a": None})

    assert written == '{"a":null,"b":[{"c":2,"d":1},0]}'


def test_text_that_is_not_ascii_stays_as_it_is() -> None:
    assert canonical_json("naïve 📚") == '"naïve 📚"'


def test_large_integers_keep_every_digit() -> None:
    assert canonical_json(12345678901234567890123) == "12345678901234567890123"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json([number])


@given(VALUES)
def test_reading_the_canonical_form_gives_the_value_back(value: Json) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), VALUES, min_size=2, max_size=5))
def test_the_order_in_which_keys_were_added_leaves_no_trace(value: dict[str, Json]) -> None:
    turned = dict(reversed(value.items()))

    assert canonical_json(turned) == canonical_json(value)


def test_what_the_ledger_keeps_is_read_to_the_last_digit() -> None:
    assert stored_json("[12345678901234567890123]") == [12345678901234567890123]
    assert stored_json(None) is None


@pytest.mark.parametrize("raw", [b'{"a":1,"a":2}', b"[NaN]", b'"\\ud800"', b"{"])
def test_what_comes_from_outside_is_read_strictly(raw: bytes) -> None:
    with pytest.raises(ValueError, match="at line 1"):
        strict_json(raw)


@pytest.mark.parametrize(
    ("typed", "meant"), [("3", 3), ("[1]", [1]), ("three", "three"), ("[" * 9999, "[" * 9999)]
)
def test_what_is_typed_is_json_where_it_can_be(typed: str, meant: Json) -> None:
    assert json_or_text(typed) == meant


@given(
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=5)
)
def test_small_records_are_written_as_python_writes_them(value: dict[str, Json]) -> None:
    python = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert canonical_json(value) == python.encode(value)


@given(VALUES)
def test_what_was_stored_is_read_as_python_reads_it(value: Json) -> None:
    text = canonical_json(value)

    assert repr(stored_json(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["[" * 300 + "]" * 300, '"\\ud800"', '{"a":1,"a":2}', "1e400"])
def test_what_was_stored_is_read_however_strange_it_is(text: str) -> None:
    assert stored_json(text) == json.loads(text)
