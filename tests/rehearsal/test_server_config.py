"""What a server's configuration may say: latencies, keys, schemas in words or Google's form."""

import json
from random import Random
from statistics import median
from typing import Any

import pytest

from quire.domain.errors import SettingsInvalid
from quire.rehearsal.response_schemas import (
    convert_openapi,
    find_schema_in_words,
    inline_references,
)
from quire.rehearsal.server import rehearsal_server
from quire.rehearsal.timing import Latency, parse_latency
from quire.rehearsal.vendor_protocol import ApiProblem
from tests.rehearsal.clients import SCHEMA
from tests.rehearsal.plain_http import ask


@pytest.mark.parametrize(
    ("text", "latency"),
    [
        ("0.05", Latency(low=0.05, high=0.05)),
        ("2s", Latency(low=2, high=2)),
        ("50ms", Latency(low=0.05, high=0.05)),
        ("3h", Latency(low=10_800, high=10_800)),
        ("uniform:1s-3s", Latency(low=1, high=3)),
        ("lognormal:2s", Latency(low=2, high=2, tail=True)),
    ],
)
def test_a_latency_is_read(text: str, latency: Latency) -> None:
    assert parse_latency(text) == latency


@pytest.mark.parametrize(
    "text", ["soon", "-1", "inf", "uniform:3-1", "uniform:1", "normal:2s", "s"]
)
def test_a_latency_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingsInvalid, match="says nothing"):
        parse_latency(text)


def test_latencies_are_drawn_as_their_rule_says_and_alike_from_the_same_seed() -> None:
    even, tailed = parse_latency("uniform:1s-3s"), parse_latency("lognormal:2s")
    evens = [even.draw(Random(seed)) for seed in range(500)]
    tails = [tailed.draw(Random(seed)) for seed in range(500)]

    assert 1 <= min(evens) < max(evens) <= 3
    assert 1.7 < median(tails) < 2.3
    assert max(tails) > 5
    assert tails == [tailed.draw(Random(seed)) for seed in range(500)]
    assert Latency(low=0.2, high=0.2).draw(Random(0)) == 0.2


def test_a_slow_answer_takes_ten_times_as_long() -> None:
    assert Latency().slow_wait(0.0) == 1.0
    assert Latency().slow_wait(2.0) == 20.0


def test_a_key_can_only_stand_in_three_ways() -> None:
    with (
        pytest.raises(SettingsInvalid, match="valid, invalid or spent"),
        rehearsal_server(keys={"k": "x"}),
    ):
        pass


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_of_rows_is_between_none_and_all(share: float) -> None:
    with (
        pytest.raises(SettingsInvalid, match="is no share of rows"),
        rehearsal_server(batch_hits=share),
    ):
        pass


def test_where_one_key_is_valid_the_others_are_not() -> None:
    with rehearsal_server(keys={"good-key": "valid"}) as server:
        statuses = [
            ask(server.url, "/v1/models", headers={"authorization": f"Bearer {key}"}).status
            for key in ("good-key", "other-key")
        ]

    assert statuses == [200, 401]


def test_a_schema_in_words_is_found_in_the_last_line_that_has_one() -> None:
    fields = {"type": "object", "properties": {"tone": {"type": "string"}}}
    system = f'Do so: {{"results":[]}}\n{json.dumps(fields)}\nAnswer with JSON.'

    found: Any = find_schema_in_words(system)

    record = found["properties"]["results"]["items"]["properties"]
    assert [*record] == ["block_uid", "tone"]
    assert find_schema_in_words("no schema here\n{half") is None


def test_fields_of_our_own_names_are_asked_for_inside_data() -> None:
    found: Any = find_schema_in_words(json.dumps({"properties": {"data": {"type": "string"}}}))

    record = found["properties"]["results"]["items"]["properties"]
    assert [*record] == ["block_uid", "data"]
    assert [*record["data"]["properties"]] == ["data"]


def test_references_are_put_in_their_place_and_recursion_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema: Any = {
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/node"}},
        "$defs": {"node": node},
    }

    flat = inline_references(schema)

    assert "$ref" not in json.dumps(flat)
    assert inline_references(SCHEMA) == SCHEMA
    with pytest.raises(ApiProblem, match="points at nothing"):
        inline_references({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}})


def test_googles_older_schemas_are_understood() -> None:
    turned = convert_openapi(
        {
            "type": "OBJECT",
            "properties": {
                "max_items": {"type": "ARRAY", "items": {"type": "STRING"}, "max_items": 3},
                "type": {"type": "STRING", "nullable": True, "enum": ["A", "B"]},
            },
            "property_ordering": ["type"],
        }
    )

    assert turned == {
        "type": "object",
        "properties": {
            "max_items": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "type": {"type": ["string", "null"], "enum": ["A", "B"]},
        },
    }
