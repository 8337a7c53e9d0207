"""Records are compared field by field: what says the same, what differs, what is missing."""

import pytest

from quire.domain.data import Json
from quire.planning.pack_probe import compare_answers, is_same, leaves


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a  b\n", " a b"),
        (1, 1.0),
        (None, None),
        (["x ", 2], ["x", 2]),
        ([{"a": 1, "b": None}], [{"a": 1}]),
        ([], []),
        (2**70, 2**70),
    ],
)
def test_these_say_the_same(one: Json, other: Json) -> None:
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "ab"),
        ("Alice", "alice"),
        (1, True),
        (0, False),
        (1, "1"),
        (0.1, 0.1000001),
        (None, ""),
        (None, False),
        (["a", "b"], ["b", "a"]),
        (["a"], ["a", "a"]),
        ("ab", ["a", "b"]),
        ([{"a": 1}], [{"a": 2}]),
        ({}, []),
        (2**70, 2**70 + 1),
    ],
)
def test_these_do_not(one: Json, other: Json) -> None:
    assert not is_same(one, other)
    assert not is_same(other, one)


def test_a_record_is_taken_apart_down_to_what_is_no_object() -> None:
    record: Json = {"a": {"b": 1, "c/d": {"~": None}}, "list": [{"x": 1}], "none": {}}

    assert leaves(record) == {
        "/a/b": 1,
        "/a/c~1d/~0": None,
        "/list": [{"x": 1}],
        "/none": {},
    }
    assert leaves(None) is None


def test_every_field_of_every_block_is_compared_with_its_own_noise() -> None:
    alone: dict[str, Json] = {"1": {"a": 1, "b": "x"}, "2": {"a": 2, "b": "y"}}
    again: dict[str, Json] = {"1": {"a": 1, "b": "z"}, "2": {"a": 2, "b": "y"}}
    packed: dict[str, Json] = {"1": {"a": 9, "b": "q"}, "2": {"a": 2, "b": " y "}}

    found = compare_answers(alone, again, packed)

    assert (found.fields.hits, found.fields.of) == (2, 4)
    assert (found.noise.hits, found.noise.of) == (1, 4)
    assert (found.blocks.hits, found.blocks.of) == (1, 2)
    assert found.excess.share == pytest.approx(0.25)
    assert found.by_field == {"/a": 1, "/b": 1}
    assert found.unanswered == 0


def test_a_block_without_an_answer_differs_in_all_its_fields() -> None:
    alone: dict[str, Json] = {"1": {"a": 1, "b": None}, "2": {"a": 2}}

    found = compare_answers(alone, alone, {"1": None, "2": {"a": 2}})

    assert (found.fields.hits, found.fields.of) == (2, 3)
    assert (found.blocks.hits, found.unanswered) == (1, 1)
    assert found.noise.hits == 0


def test_a_block_that_nobody_ever_answered_says_nothing() -> None:
    found = compare_answers({"1": None}, {"1": None}, {"1": None})

    assert (found.fields.of, found.blocks.hits, found.unanswered) == (0, 0, 1)


def test_a_block_that_was_answered_in_company_only_differs() -> None:
    found = compare_answers({"1": None}, {"1": None}, {"1": {"a": 1}})

    assert (found.fields.hits, found.fields.of, found.noise.hits) == (1, 1, 0)


def test_a_field_that_is_left_out_says_the_same_as_null() -> None:
    found = compare_answers({"1": {"a": None, "b": 1}}, {"1": {"b": 1}}, {"1": {"b": 1, "c": None}})

    assert (found.fields.hits, found.fields.of) == (0, 3)
