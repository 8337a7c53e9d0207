"""The whole gate: a response and its stop become verdicts."""

import json

import pytest

from quire.domain.data import Json
from quire.domain.gates import Blame, Judgement, ResponseJudgement
from quire.domain.requests import Stop
from quire.gates.packed_json import judge_pack
from quire.gates.shape import Shape

SHAPE = Shape(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }
)


def judge(text: str, stop: Stop = Stop.END) -> ResponseJudgement:
    """Judge for the ids a and b."""
    return judge_pack(text, stop, ["a", "b"], SHAPE, nested=False)


def answer(*records: Json) -> str:
    """Write the asked form."""
    return json.dumps({"results": records})


def test_good_records_are_accepted_with_their_fields() -> None:
    result = judge(answer({"block_uid": "b", "x": 2}, {"block_uid": "a", "x": 1}))

    assert {uid: verdict.data for uid, verdict in result.verdicts.items()} == {
        "a": {"x": 1},
        "b": {"x": 2},
    }
    assert all(verdict.judgement is Judgement.ACCEPT for verdict in result.verdicts.values())


def test_wrong_fields_cost_their_own_task_and_nobody_else() -> None:
    result = judge(answer({"block_uid": "a", "x": "one"}, {"block_uid": "b", "x": 2}))

    assert result.verdicts["a"].judgement is Judgement.RETRY
    assert result.verdicts["a"].blame is Blame.TASK
    assert result.verdicts["a"].reasons == ('/x: "one" is not of type "integer"',)
    assert result.verdicts["b"].judgement is Judgement.ACCEPT


def test_a_skipped_block_goes_again_at_the_packs_expense() -> None:
    result = judge(answer({"block_uid": "a", "x": 1}))

    assert result.verdicts["b"].reasons == ("model skipped this block",)
    assert result.verdicts["b"].blame is Blame.PACK


def test_a_cut_answer_keeps_closed_records_and_sends_the_rest_again() -> None:
    whole = answer({"block_uid": "a", "x": 1}, {"block_uid": "b", "x": 2})

    result = judge(whole[: whole.index('"b"') + 10], Stop.LENGTH)

    assert result.truncated
    assert result.verdicts["a"].data == {"x": 1}
    assert result.verdicts["b"].reasons == ("answer was cut off",)
    assert result.verdicts["b"].blame is Blame.PACK


@pytest.mark.parametrize("text", ["", "   ", '{"resu', "I will now"])
def test_an_answer_cut_before_any_record_says_so_for_everyone(text: str) -> None:
    result = judge(text, Stop.LENGTH)

    assert result.truncated
    assert {verdict.reasons for verdict in result.verdicts.values()} == {("answer was cut off",)}


def test_the_stop_is_read_before_the_text() -> None:
    result = judge(answer({"block_uid": "a", "x": 1}), Stop.REFUSAL)

    assert all(verdict.judgement is Judgement.RETRY for verdict in result.verdicts.values())
    assert result.verdicts["a"].reasons[0].startswith("model refused: ")
    assert result.verdicts["a"].blame is Blame.PACK


def test_a_refusals_text_is_clipped() -> None:
    assert len(judge("I am sorry. " * 1_000, Stop.REFUSAL).verdicts["a"].reasons[0]) < 250


def test_a_wordless_refusal_is_told_in_two_words() -> None:
    assert judge("", Stop.REFUSAL).verdicts["a"].reasons == ("model refused",)


def test_an_empty_answer_is_the_packs_fault() -> None:
    verdict = judge(" \n").verdicts["b"]

    assert verdict.reasons == ("empty answer",)
    assert verdict.blame is Blame.PACK


def test_an_answer_that_is_not_json_says_why_for_everyone() -> None:
    result = judge("Certainly! The answer is 7.")

    assert result.verdicts["a"] == result.verdicts["b"]
    assert result.verdicts["a"].reasons[0].startswith("answer is not JSON: ")
    assert result.verdicts["a"].blame is Blame.PACK


def test_a_block_lost_behind_broken_json_says_what_broke() -> None:
    result = judge('{"results":[{"block_uid":"a","x":1} and {"block_uid":"b","x":2}]}')

    assert result.verdicts["a"].judgement is Judgement.ACCEPT
    assert result.verdicts["b"].reasons[0].startswith("answer is not JSON: unexpected 'a'")


def test_strangers_and_duplicates_are_counted() -> None:
    mine: Json = {"block_uid": "a", "x": 1}

    result = judge(answer(mine, mine, {"block_uid": "c", "x": 3}))

    assert result.strays == (("c",), ("a",), 1)


def test_an_empty_list_of_results_skips_everyone() -> None:
    assert judge(answer()).verdicts["a"].reasons == ("model skipped this block",)


def test_a_schema_with_our_key_is_answered_inside_data() -> None:
    gate = Shape({"type": "object", "properties": {"data": {"type": "integer"}}})

    result = judge_pack(
        answer({"block_uid": "a", "data": {"data": 7}}), Stop.END, ["a"], gate, True
    )

    assert result.verdicts["a"].data == {"data": 7}


def test_the_fast_way_says_what_the_careful_way_says() -> None:
    records: list[Json] = [{"block_uid": "a", "x": 1}, {"block_uid": "b", "x": 2}]
    fast = judge(answer(*records))
    careful = judge(answer(*records[::-1]))

    assert fast.clean
    assert not careful.clean
    assert fast.verdicts == careful.verdicts


@pytest.mark.parametrize(
    "records",
    [
        [{"block_uid": "a", "x": 1}],
        [{"block_uid": "a", "x": 1}, {"block_uid": "b", "x": "two"}],
        [{"block_uid": "a", "x": 1}, {"block_uid": "b", "data": {"x": 2}}],
        [{"block_uid": "a", "x": 1}, {"block_uid": "c", "x": 2}],
        [{"block_uid": "a", "x": 1}, "b"],
        [],
    ],
)
def test_the_fast_way_leaves_everything_unusual_to_the_careful_way(records: list[Json]) -> None:
    assert not judge(answer(*records)).clean
