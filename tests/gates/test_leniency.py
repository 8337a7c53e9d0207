"""Slips of form are read where nothing is lost, and noted; everything else is refused as before."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quire.domain.data import Json, canonical_json
from quire.domain.gates import Judgement
from quire.domain.requests import Stop
from quire.domain.task_wording import note_text
from quire.gates.leniency import loosen
from quire.gates.packed_json import judge_pack
from quire.gates.shape import Shape

SCHEMA: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "n": {"type": "integer"},
        "share": {"type": ["number", "null"]},
        "ok": {"type": "boolean"},
        "name": {"type": "string"},
        "years": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    },
    "required": ["n"],
}
LENIENT, STRICT = Shape(SCHEMA, lenient=True), Shape(SCHEMA)


@pytest.mark.parametrize(
    ("given_data", "read"),
    [
        ({"n": "12"}, {"n": 12}),
        ({"n": 1, "ok": "true"}, {"n": 1, "ok": True}),
        ({"n": 1, "share": "0.5"}, {"n": 1, "share": 0.5}),
        ({"n": 1, "mood": "fine"}, {"n": 1}),
        ({"n": 1, "years": ["1999", None]}, {"n": 1, "years": [1999, None]}),
    ],
)
def test_lossless_slips_are_read_and_noted(given_data: Json, read: Json) -> None:
    verdict = LENIENT.judge(given_data)

    assert (verdict.judgement, verdict.data) == (Judgement.ACCEPT, read)
    assert len(verdict.notes) == 1
    assert STRICT.judge(given_data).judgement is Judgement.RETRY


def test_a_whole_number_written_as_a_fraction_is_whole() -> None:
    for shape in (LENIENT, STRICT):
        verdict = shape.judge({"n": 12.0, "share": 2.0, "years": [1e3, None, 7]})

        assert canonical_json(verdict.data) == '{"n":12,"share":2.0,"years":[1000,null,7]}'
        assert verdict.notes == ()


def test_the_usual_packed_answer_is_written_with_whole_numbers_too() -> None:
    text = '{"results": [{"block_uid": "a", "n": 12.0}]}'

    judged = judge_pack(text, Stop.END, ["a"], STRICT)

    assert (judged.clean, canonical_json(judged.verdicts["a"].data)) == (True, '{"n":12}')


def test_a_number_too_large_to_be_exact_stays_as_it_was_written() -> None:
    assert STRICT.judge({"n": 1e300}).data == {"n": 1e300}


@pytest.mark.parametrize(
    "data",
    [
        *({"n": "012"}, {"n": "12.5"}, {"n": "1e3"}, {"n": " 12"}, {"n": "9" * 30}, {"n": 12.5}),
        *({"n": "twelve"}, {"n": 1, "ok": "True"}, {"n": 1, "ok": 1}, {"n": 1, "share": "0.50"}),
        *({"n": 1, "name": 12}, {"error": "no"}, {"n": None}, {}),
    ],
)
def test_what_would_lose_something_is_refused_as_before(data: Json) -> None:
    assert LENIENT.judge(data) == STRICT.judge(data)
    assert LENIENT.judge(data).judgement is Judgement.RETRY


def test_what_fits_is_not_touched() -> None:
    data: Json = {"n": 1, "name": "12", "ok": False}

    assert LENIENT.judge(data) == (Judgement.ACCEPT, data, (), "task", ())


def test_a_packed_record_carries_its_notes() -> None:
    text = json.dumps({"results": [{"block_uid": "a", "n": "12"}]})

    judged = judge_pack(text, Stop.END, ["a"], LENIENT)

    assert judged.verdicts["a"].data == {"n": 12}
    assert [note_text(note) for note in judged.verdicts["a"].notes] == ['/n: "12" is read as 12']
    assert not judged.clean


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8))
@settings(max_examples=60)
def test_what_is_converted_can_be_put_back(value: int | float | str) -> None:
    read, notes = loosen({"n": value}, SCHEMA)

    assert isinstance(read, dict)
    if notes:
        assert str(read["n"]) == value or read["n"] == value
