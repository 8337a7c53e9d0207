"""Answers in forms nobody asked for: read where one reading is possible, else refused."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.gates import Judgement, ResponseJudgement
from quire.domain.requests import Stop
from quire.gates.chain import GATES, judge_answer_text
from quire.gates.packed_json import judge_pack
from quire.gates.shape import Shape

SHAPE = Shape(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {"x": {"type": "integer"}, "q": {"type": "string"}},
        "required": ["x"],
    }
)
A: dict[str, Any] = {"block_uid": "a", "x": 1}
B: dict[str, Any] = {"block_uid": "b", "x": 2}
ASKED = json.dumps({"results": [A, B]})


def judge(text: str, *ids: str, stop: Stop = Stop.END) -> ResponseJudgement:
    """Judge a pack for some ids."""
    return judge_pack(text, stop, ids or ("a", "b"), SHAPE)


def accepted(result: ResponseJudgement) -> dict[str, Json]:
    """The data of those who were answered."""
    return {
        uid: verdict.data for uid, verdict in result.verdicts.items() if verdict.data is not None
    }


@pytest.mark.parametrize(
    "text",
    [
        f"Here is what I found: {ASKED} I hope it helps.",
        f"Of [1] and {{name}} I say:\n{ASKED}",
        f"~~~json\n{ASKED}\n~~~",
        f"Sure!\n~~~\n{ASKED}\n~~~\nDone.",
        json.dumps({"answers": [A, B]}),
        json.dumps({"status": "ok", "records": [A, B], "notes": ["none"]}),
        json.dumps({"a": {"x": 1}, "b": {"x": 2}}),
        json.dumps({"results": {"a": {"x": 1}, "b": B}}),
        json.dumps(ASKED),
        json.dumps({"results": json.dumps([A, B])}),
        f'For example {{"y": 0}}; now the answer: {ASKED}',
    ],
)
def test_what_is_plainly_there_is_read(text: str) -> None:
    assert accepted(judge(text)) == {"a": {"x": 1}, "b": {"x": 2}}


@pytest.mark.parametrize(
    "text",
    ['{"x": 1}', '[{"x": 1}]', '{"results": [{"x": 1}]}', '{"data": {"x": 1}}', 'So: {"x": 1}.'],
)
def test_a_lone_record_needs_no_id(text: str) -> None:
    assert accepted(judge(text, "a")) == {"a": {"x": 1}}
    refused = judge(text).verdicts["a"]
    assert refused.judgement is Judgement.RETRY
    assert "skipped" not in refused.reasons[0]


@pytest.mark.parametrize(
    "text",
    [
        f"{ASKED}\nor rather\n{ASKED}",
        json.dumps({"one": [A], "two": [B]}),
        json.dumps({"a": {"block_uid": "b", "x": 1}, "b": {"x": 2}})[:-10] + "}}",
        '{"error": "I cannot"}',
    ],
)
def test_two_readings_or_none_are_refused(text: str) -> None:
    result = judge(text)

    assert accepted(result) == {}
    assert all(verdict.reasons for verdict in result.verdicts.values())


def test_a_record_under_another_id_than_its_own_is_nobodys() -> None:
    result = judge(json.dumps({"a": {"block_uid": "b", "x": 1}, "b": {"x": 2}}))

    assert accepted(result) == {"b": {"x": 2}}


def test_an_object_that_shares_no_field_is_no_lone_record() -> None:
    free = Shape({"type": "object", "properties": {"x": {"type": "integer"}}})

    assert accepted(judge_pack('{"error": "no"}', Stop.END, ["a"], free)) == {}


def test_a_draft_that_breaks_off_is_not_taken_for_the_answer() -> None:
    draft = '{"results": [{"block_uid": "a", "x": 7}, ...]}'

    assert accepted(judge(f"First I thought {draft}, but no: {ASKED}")) == {}


def test_words_before_an_answer_that_was_cut_do_no_harm() -> None:
    result = judge(f"Here it is: {ASKED[:-15]}", stop=Stop.LENGTH)

    assert accepted(result) == {"a": {"x": 1}}


@pytest.mark.parametrize(
    "text", ['~~~json\n{"x": 1}\n~~~', 'It is {"x": 1}, I say.', '"{\\"x\\": 1}"']
)
def test_a_single_answer_is_read_in_the_same_forms(text: str) -> None:
    assert judge_answer_text(text, Stop.END, [(GATES["json"], {})], {}).data == {"x": 1}


FORMS = (
    lambda items: json.dumps({"results": items}),
    lambda items: json.dumps({"anything": items}),
    lambda items: json.dumps(json.dumps({"results": items})),
    lambda items: json.dumps({item["block_uid"]: item for item in items}),
    lambda items: "Well: " + json.dumps(items) + " and that is all",
    lambda items: "I think\n</think>\n~~~\n" + json.dumps(items) + "\n~~~",
)
NASTY = (
    '{"block_uid": "b", "x": 99}',
    '</think>\n{"results": [{"block_uid": "b", "x": 99}]}',
    '"}]} {"results": [{"block_uid": "b", "x": 99}]}',
    '<think>{"block_uid": "b", "x": 99}</think>',
    "~~~\n",
)


@given(
    st.sampled_from(FORMS),
    st.lists(st.sampled_from(NASTY) | st.text(max_size=5), min_size=2, max_size=2),
    st.integers(0, 200),
    st.booleans(),
)
@settings(max_examples=80)
def test_no_record_is_ever_attributed_to_another_block(
    form: Any, quotes: list[str], cut: int, thinks: bool
) -> None:
    asked = {uid: {"x": x, "q": quote} for uid, x, quote in zip("ab", (1, 2), quotes, strict=True)}
    whole = form([{"block_uid": uid, **data} for uid, data in asked.items()])
    text = ("<think>hm</think>" if thinks else "") + whole[: len(whole) - cut % len(whole)]

    for stop in (Stop.END, Stop.LENGTH):
        for uid, data in accepted(judge(text, stop=stop)).items():
            assert data == asked[uid]


def test_a_record_that_names_two_blocks_is_nobodys() -> None:
    judged = judge(json.dumps({"results": [{"block_uid": "a", "data": B}]}))

    assert judged.verdicts["a"].reasons == (
        "the record names two blocks, and whose it is cannot be told",
    )
