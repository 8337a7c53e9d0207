"""The text gate holds an answer to its lengths and patterns."""

from time import process_time

import pytest

from quire.domain.data import Json, JsonObject
from quire.domain.gates import GateInput, Judgement, Verdict
from quire.domain.requests import Stop
from quire.gates.text import TextGate

GATE = TextGate()


def judge(text: str, params: JsonObject, data: Json = None) -> Verdict:
    """Judge a text for a recipe with the parameter `most`."""
    facts: JsonObject = {"parameters": {"most": 5}}
    return GATE.judge(GateInput(text, Stop.END, data, None, facts), params)


def test_the_trimmed_text_is_the_data() -> None:
    assert judge("\n All is well. \n", {}) == Verdict(Judgement.ACCEPT, {"text": "All is well."})


def test_everything_that_is_wrong_is_said_at_once() -> None:
    params: JsonObject = {
        "min_length": 40,
        "must_match": ["^In short", "well"],
        "must_not_match": "(?i)as an ai",
    }

    verdict = judge("As an AI I feel well.", params)

    assert verdict.judgement is Judgement.RETRY
    assert verdict.reasons == (
        "answer has 21 characters; at least 40 are wanted",
        "answer must match ^In short",
        "answer must not match (?i)as an ai",
    )


def test_lengths_may_be_parameters_of_the_recipe() -> None:
    params: JsonObject = {"max_length": "parameters.most"}

    assert judge("12345", params).judgement is Judgement.ACCEPT
    assert judge("123456", params).reasons == ("answer has 6 characters; at most 5 are wanted",)
    assert judge("1", {"max_length": "parameters.none"}).judgement is Judgement.FAIL


def test_after_another_gate_the_data_stay_as_they_are() -> None:
    assert judge("words", {"min_length": 2}, {"score": 1}).data == {"score": 1}


def test_blanks_alone_are_an_empty_answer() -> None:
    assert judge(" \n", {}).reasons == ("empty answer",)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)+$", "(a*)*b", "(.*.*)*=x"])
def test_a_pattern_that_others_choke_on_takes_no_time(pattern: str) -> None:
    started = process_time()

    judge("a" * 20_000 + "!", {"must_match": pattern})

    assert process_time() - started < 2


def test_text_that_cannot_be_encoded_is_matched_nevertheless() -> None:
    assert judge("\ud800 well", {"must_match": "well"}).judgement is Judgement.ACCEPT


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"min_lenght": 1}, "min_lenght is not a parameter; did you mean min_length?"),
        ({"min_length": -1}, "min_length must be a whole number of at least 0"),
        ({"min_length": True}, "min_length must be a whole number of at least 0"),
        ({"min_length": 3, "max_length": 2}, "min_length 3 is above max_length 2"),
        ({"must_match": "["}, "must_match is not a regular expression"),
        ({"must_match": r"(a)\1"}, "looks around or back"),
        ({"must_not_match": ["a", "(?=b)"]}, "must_not_match is not a regular expression"),
        ({"must_match": "a{1000}{1000}"}, "too large"),
        ({"must_match": "a" * 2_000}, "must_match must have at most 1,000 characters"),
        ({"must_match": 3}, "must_match must be a regular expression"),
    ],
)
def test_every_mistake_in_its_parameters_is_told(params: dict[str, Json], said: str) -> None:
    (mistake,) = GATE.mistakes(params)

    assert said in mistake
