"""Answers that are valid and yet differ: by the model's own noise, or only in packs."""

import json
from collections.abc import Sequence

from jsonschema_rs import validator_for

from quire.domain.data import Json
from quire.simulated.call_outcomes import respond
from quire.simulated.fault_scripts import NO_FAULTS, Faults, parse_fault_script
from tests.simulated.calls import make_call, record_schema

FIELDS: dict[str, Json] = {
    "word_count": {"type": "integer"},
    "topic": {"type": "string"},
    "risk": {"enum": ["low", "high"]},
}
TEN = [f"Clause {n} binds Party {n}." for n in range(10)]


def answer_records(
    contents: Sequence[str], faults: Faults, attempt: int = 1, fields: dict[str, Json] = FIELDS
) -> list[dict[str, Json]]:
    """Ask about some blocks."""
    found: list[dict[str, Json]] = json.loads(
        respond(make_call(contents, fields, attempt=attempt), faults).text
    )["results"]
    return found


def changed_places(one: Sequence[dict[str, Json]], other: Sequence[dict[str, Json]]) -> list[int]:
    """How many fields of each record differ."""
    return [
        sum(first[name] != second[name] for name in first)
        for first, second in zip(one, other, strict=True)
    ]


def test_drift_changes_one_field_of_every_block_that_it_strikes_and_leaves_it_valid() -> None:
    usual = answer_records(TEN, NO_FAULTS)

    drifted = answer_records(TEN, parse_fault_script("drift=1"))

    assert changed_places(usual, drifted) == [1] * 10
    assert all(map(validator_for(record_schema(FIELDS)).is_valid, drifted))


def test_a_block_alone_does_not_drift() -> None:
    assert answer_records(TEN[:1], parse_fault_script("drift=1")) == answer_records(
        TEN[:1], NO_FAULTS
    )


def test_small_packs_do_not_drift_where_the_script_says_so() -> None:
    faults = parse_fault_script("drift=1,drift_above=9")

    assert answer_records(TEN[:9], faults) == answer_records(TEN[:9], NO_FAULTS)
    assert changed_places(answer_records(TEN, faults), answer_records(TEN, NO_FAULTS)) == [1] * 10


def test_noise_strikes_blocks_alone_too_and_others_every_time() -> None:
    faults, usual = parse_fault_script("noise=0.5"), answer_records(TEN, NO_FAULTS)

    times = [changed_places(usual, answer_records(TEN, faults, attempt)) for attempt in range(1, 6)]

    assert len({*map(tuple, times)}) == 5
    assert answer_records(TEN[:1], parse_fault_script("noise=1")) != usual[:1]


def test_where_the_schema_leaves_no_choice_nothing_drifts() -> None:
    fixed: dict[str, Json] = {"risk": {"const": "low"}}

    assert answer_records(TEN, parse_fault_script("drift=1"), fields=fixed) == answer_records(
        TEN, NO_FAULTS, fields=fixed
    )
