"""A call is answered within its limits, or disturbed in exactly the way the script says."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from quire.domain.data import Json
from quire.domain.requests import Call, Stop
from quire.simulated.call_outcomes import SimulatedOutcome, respond
from quire.simulated.fault_scripts import NO_FAULTS, Faults, parse_fault_script
from tests.simulated.calls import CONTENT, make_call, record_schema

FIELDS: dict[str, dict[str, Json]] = {
    "word_count": {"type": "integer"},
    "topic": {"type": "string"},
    "names": {"type": "array", "items": {"type": "string"}},
    "risk": {"enum": ["low", "high"]},
}
RECORD = record_schema(FIELDS)
TEN = [f"Clause {n} binds Party {n}." for n in range(1, 10)] + ["Clause ten is a CULPRIT."]


def call(contents: Sequence[str], *, attempt: int = 1, max_tokens: int | None = None) -> Call:
    return make_call(contents, FIELDS, attempt=attempt, max_tokens=max_tokens)


def results(outcome: SimulatedOutcome) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = json.loads(outcome.text)["results"]
    return found


def ids(outcome: SimulatedOutcome) -> list[Json]:
    return [result["block_uid"] for result in results(outcome)]


ALL = [f"{n}x" for n in range(1, 11)]


def test_without_faults_every_block_is_answered_and_every_record_is_valid() -> None:
    outcome = respond(call(TEN), NO_FAULTS)

    assert ids(outcome) == ALL
    assert outcome.stop is Stop.END
    assert all(map(validator_for(RECORD).is_valid, results(outcome)))


def test_tokens_are_a_quarter_of_the_bytes_rounded_up() -> None:
    asked = call(["Überfällig – 5 €"])
    outcome = respond(asked, NO_FAULTS)

    sent = len((asked.system + asked.user).encode())
    assert outcome.usage.input == -(-sent // 4)
    assert outcome.usage.output == -(-len(outcome.text.encode()) // 4)


def test_skip_leaves_only_its_block_out() -> None:
    assert ids(respond(call(TEN), parse_fault_script("skip@CULPRIT"))) == ALL[:9]


def test_duplicate_answers_its_block_twice_alike() -> None:
    found = results(respond(call(TEN), parse_fault_script("duplicate@CULPRIT")))

    assert [record["block_uid"] for record in found] == [*ALL, "10x"]
    assert found[-1] == found[-2]


def test_conflict_answers_its_block_twice_with_valid_records_that_differ() -> None:
    found = results(respond(call(TEN), parse_fault_script("conflict@CULPRIT")))

    assert [record["block_uid"] for record in found] == [*ALL, "10x"]
    assert found[-1] != found[-2]
    assert all(map(validator_for(RECORD).is_valid, found))


def test_conflict_differs_even_where_the_schema_leaves_no_choice() -> None:
    asked = make_call(["CULPRIT"], {"kind": {"const": "clause"}})

    first, second = results(respond(asked, parse_fault_script("conflict@CULPRIT")))

    assert first != second


def test_wrong_makes_every_field_of_its_block_invalid_and_no_other_block() -> None:
    found = results(respond(call(TEN), parse_fault_script("wrong@CULPRIT")))
    valid = validator_for(RECORD).is_valid

    assert [valid(record) for record in found] == [True] * 9 + [False]
    assert [record["block_uid"] for record in found] == ALL
    for name, schema in FIELDS.items():
        assert not validator_for(schema).is_valid(found[9][name])


def test_stranger_adds_a_record_with_an_id_that_was_never_sent() -> None:
    found = ids(respond(call(TEN), parse_fault_script("stranger=1")))

    assert found[:10] == ALL
    assert len(found) == 11
    assert found[10] not in ALL


def test_malformed_does_not_parse_though_it_claims_to_have_ended() -> None:
    outcome = respond(call(TEN), parse_fault_script("malformed=1"))

    assert outcome.stop is Stop.END
    with pytest.raises(json.JSONDecodeError):
        json.loads(outcome.text)


def test_refusing_one_block_refuses_the_whole_call() -> None:
    faults = parse_fault_script("refuse@CULPRIT")

    assert respond(call(TEN), faults).stop is Stop.REFUSAL
    assert respond(call(TEN[9:]), faults).stop is Stop.REFUSAL
    assert ids(respond(call(TEN[:9]), faults)) == ALL[:9]


def test_empty_answers_with_nothing_and_is_billed_for_its_input() -> None:
    outcome = respond(call(TEN), parse_fault_script("empty=1"))

    assert (outcome.text, outcome.stop, outcome.usage.output) == ("", Stop.END, 0)
    assert outcome.usage.input > 0


def test_truncate_stops_in_the_middle_and_says_so() -> None:
    whole = respond(call(TEN), NO_FAULTS)
    cut = respond(call(TEN), parse_fault_script("truncate@CULPRIT"))

    assert cut.stop is Stop.LENGTH
    assert whole.text.startswith(cut.text)
    assert 0 < len(cut.text) < len(whole.text)


@given(st.integers(1, 400), CONTENT)
def test_no_answer_is_longer_than_its_limit_and_only_a_cut_one_says_so(
    limit: int, content: str
) -> None:
    whole = respond(call([content, *TEN]), NO_FAULTS)
    limited = respond(call([content, *TEN], max_tokens=limit), NO_FAULTS)

    assert limited.usage.output <= limit
    assert whole.text.startswith(limited.text)
    assert (limited.stop is Stop.LENGTH) == (limited.text != whole.text)


def test_a_cut_never_leaves_part_of_a_character() -> None:
    whole = respond(call(["€" * 60]), NO_FAULTS).text

    for limit in range(1, 60):
        assert whole.startswith(respond(call(["€" * 60], max_tokens=limit), NO_FAULTS).text)


def test_an_answer_that_fills_its_limit_to_the_last_byte_is_not_cut() -> None:
    sizes = {len(respond(call(["a" * n]), NO_FAULTS).text): n for n in range(1, 9)}
    full = next(size for size in sizes if size % 4 == 0)

    outcome = respond(call(["a" * sizes[full]], max_tokens=full // 4), NO_FAULTS)

    assert (outcome.stop, outcome.usage.output) == (Stop.END, full // 4)


def test_the_tightest_of_the_limits_holds() -> None:
    asked = call(TEN, max_tokens=100)

    assert respond(asked, NO_FAULTS, max_output=50).usage.output == 50
    assert respond(asked, NO_FAULTS, max_output=5000).usage.output == 100
    assert respond(asked, Faults(truncate_at=20), max_output=50).usage.output == 20


def test_packed_answers_are_longer_by_the_given_share_and_say_the_same() -> None:
    plain = respond(call(TEN), NO_FAULTS)
    longer = respond(call(TEN), parse_fault_script("longer=0.28"))

    assert results(longer) == results(plain)
    assert len(longer.text.encode()) == pytest.approx(1.28 * len(plain.text.encode()), abs=1)


def test_a_longer_answer_loses_as_large_a_share_of_its_records_to_a_limit() -> None:
    half = respond(call(TEN), NO_FAULTS).usage.output // 2

    def kept(faults: Faults) -> int:
        return respond(call(TEN, max_tokens=half), faults).text.count('"risk"')

    assert kept(parse_fault_script("longer=0.28")) < kept(NO_FAULTS)


def test_an_answer_for_one_block_is_not_longer() -> None:
    assert respond(call(TEN[:1]), parse_fault_script("longer=0.28")) == respond(
        call(TEN[:1]), NO_FAULTS
    )


@pytest.mark.parametrize("name", ["key", "429", "500", "413", "400", "hang", "drop", "garbage"])
def test_faults_of_the_transport_leave_a_call_without_an_answer(name: str) -> None:
    outcome = respond(call(TEN), parse_fault_script(f"{name}@CULPRIT"))

    assert (outcome.fault, outcome.text) == (name, "")
    assert [block.uid for block in outcome.blocks] == ALL
    assert respond(call(TEN[:9]), parse_fault_script(f"{name}@CULPRIT")).fault == ""


def test_a_later_attempt_of_the_same_call_draws_anew() -> None:
    faults = parse_fault_script("skip=0.5")
    answered = [ids(respond(call(TEN, attempt=item), faults)) for item in (1, 1, 2)]

    assert answered[0] == answered[1]
    assert answered[0] != answered[2]
