"""Matching records to wire ids."""

import pytest

from quire.domain.data import Json
from quire.domain.gates import Blame, Judgement
from quire.gates.packed_json import MappedRecords, map_records
from quire.gates.records import Record


def map_values(*values: Json, nested: bool = False, unwrap: bool = True) -> MappedRecords:
    """Match to the ids a and b."""
    return map_records(
        [Record(value) for value in values], ["a", "b"], nested=nested, unwrap=unwrap
    )


def test_flat_fields_are_taken_without_the_id() -> None:
    assert map_values({"block_uid": "a", "x": 1}).fields == {"a": {"x": 1}}


def test_a_lone_data_object_is_unwrapped() -> None:
    assert map_values({"block_uid": "a", "data": {"x": 1}}).fields == {"a": {"x": 1}}


def test_data_is_an_ordinary_field_where_the_schema_has_one() -> None:
    result = map_values({"block_uid": "a", "data": {"x": 1}}, unwrap=False)

    assert result.fields == {"a": {"data": {"x": 1}}}


def test_data_beside_other_fields_is_not_unwrapped() -> None:
    assert map_values({"block_uid": "a", "data": {}, "x": 1}).fields == {"a": {"data": {}, "x": 1}}


def test_a_users_block_uid_inside_data_is_kept() -> None:
    result = map_values(
        {"block_uid": "a", "data": {"block_uid": "b", "data": 2}}, nested=True, unwrap=False
    )

    assert result.fields == {"a": {"block_uid": "b", "data": 2}}


@pytest.mark.parametrize("extra", [{"x": 1}, {"data": 5}, {"data": {}, "x": 1}])
def test_nested_fields_outside_data_are_refused(extra: dict[str, Json]) -> None:
    result = map_values({"block_uid": "a", **extra}, nested=True, unwrap=False)

    assert result.fields == {}
    assert result.refused["a"].blame is Blame.TASK


@pytest.mark.parametrize(
    "value", [{"block_uid": "z"}, {"block_uid": 1}, {"block_uid": ["a"]}, {"x": 1}, "a", None, []]
)
def test_records_without_an_expected_id_are_counted_and_ignored(value: Json) -> None:
    result = map_values({"block_uid": "a"}, value)

    assert result.fields == {"a": {}}
    assert result.strays.unknown_count == 1


def test_of_duplicates_that_agree_the_first_counts() -> None:
    result = map_values({"block_uid": "a", "x": 1, "y": 2}, {"y": 2, "x": 1, "block_uid": "a"})

    assert result.fields == {"a": {"x": 1, "y": 2}}
    assert result.strays.duplicates == ("a",)


@pytest.mark.parametrize("other", [2, True, 1.0, None])
def test_duplicates_that_differ_are_both_refused(other: Json) -> None:
    result = map_values(
        {"block_uid": "a", "x": 1}, {"block_uid": "a", "x": other}, {"block_uid": "b", "x": 1}
    )

    assert result.fields == {"b": {"x": 1}}
    assert result.refused["a"].blame is Blame.PACK
    assert result.strays.duplicates == ("a",)


def test_a_third_duplicate_that_differs_refuses_all_three() -> None:
    same: Json = {"block_uid": "a", "x": 1}

    assert "a" in map_values(same, same, {"block_uid": "a"}).refused


def test_a_flawed_record_is_refused_and_costs_its_own_task() -> None:
    result = map_records(
        [Record({"block_uid": "a"}, "has the same key twice")], ["a"], nested=False, unwrap=True
    )

    verdict = result.refused["a"]
    assert verdict.judgement is Judgement.RETRY
    assert verdict.blame is Blame.TASK
    assert verdict.reasons == ("the record has the same key twice",)


def test_a_flawed_duplicate_refuses_the_good_one_too() -> None:
    good, flawed = Record({"block_uid": "a", "x": 1}), Record({"block_uid": "a"}, "holds NaN")

    for pair in ([good, flawed], [flawed, good]):
        result = map_records(pair, ["a"], nested=False, unwrap=True)
        assert result.refused["a"].blame is Blame.PACK
