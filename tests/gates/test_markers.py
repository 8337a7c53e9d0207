"""Whatever a model writes, the markers gate decodes it within its range or says why not."""

from time import process_time, thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.gates import Judgement
from tests.gates.marker_answers import GATE, LETTERS, OPAQUE, decode

PIECES = [
    "VERDICT:", "RUBRIC:", "QUALITY:", "EXPERT_AGREEMENT:", "ABSTAIN", "A", "B", "C", "VcGZjk",
    "dqqCdj", "x81KwP", "\n", "\n\n", "**", "- ", "> ", "`", "```\n", "(", ")", "[", "]", ", ", "/",
    "1) Weak :: a; b; c\n", "2) Mid :: a; b; c\n", "3) Strong :: a; b; c\n", " :: ", ";", ".8",
    "0.5", "1.7", "85%", "0,8", "observability=", "discriminability=", "\u200b", "\x00", "\ud800",
    "\r", "\u2028", "：", "Because of this.", "9" * 400,
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=14).map("".join)
PARAMS: list[dict[str, Json]] = [
    {"kind": "rubric", "scale_size": 3},
    {"kind": "quality"},
    {"kind": "agreement"},
    {"kind": "verdict", "scale_size": 3, "method": "single", "abstain": True},
    {"kind": "verdict", "scale_size": 3, "method": "subset", "abstain": False},
]


@given(TEXTS, st.sampled_from(PARAMS), st.sampled_from([LETTERS, OPAQUE]))
def test_any_text_at_all_gets_a_verdict(
    text: str, params: dict[str, Json], labels: dict[str, Json]
) -> None:
    verdict = decode(text, params, labels)

    assert verdict.judgement in (Judgement.ACCEPT, Judgement.RETRY)
    assert (verdict.data is None) == (verdict.judgement is Judgement.RETRY) == bool(verdict.reasons)


@given(TEXTS, st.booleans(), st.booleans(), st.sampled_from([LETTERS, OPAQUE]))
def test_a_decoded_verdict_lies_within_what_was_shown(
    text: str, subset: bool, abstain: bool, labels: dict[str, Json]
) -> None:
    method = "subset" if subset else "single"
    params: dict[str, Json] = {"kind": "verdict", "method": method, "abstain": abstain}

    found = decode(f"Thus.\n{text}\nVERDICT: {text}", params, labels).data

    if isinstance(found, dict):
        scores = found["decoded_scores"]
        assert isinstance(scores, list)
        assert {*scores} <= {1, 2, 3}
        assert found["abstained"] is (not scores)
        assert abstain or not found["abstained"]
        assert subset or len(scores) <= 1
        assert found["reasoning"]


@given(st.text(max_size=12))
def test_a_decoded_score_lies_from_0_to_1(said: str) -> None:
    found = decode(f"Thus.\nEXPERT_AGREEMENT: {said}", {"kind": "agreement"}).data

    if isinstance(found, dict):
        assert 0 <= found["expert_agreement_prob"] <= 1


@pytest.mark.parametrize("piece", ["* ", "VERDICT: ", "(", "1) a :: ", "; ", "> ", "a=", "9"])
def test_a_long_answer_is_read_in_time(piece: str) -> None:
    text = "Thus.\n" + piece * 20_000 + "\nVERDICT: " + piece * 20_000

    started = process_time()
    for params in PARAMS:
        decode(text, params, LETTERS)

    assert process_time() - started < 5


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, ["kind must be one of rubric, verdict, quality, agreement"]),
        ({"kind": "score"}, ["kind must be one of rubric, verdict, quality, agreement"]),
        ({"kind": "rubric"}, ["scale_size is missing; a rubric needs it"]),
        ({"kind": "rubric", "scale_size": 1}, ["scale_size must be a whole number from 2 to 100"]),
        ({"kind": "quality", "scale_size": 3}, ["scale_size is not a parameter; there are kind"]),
        (
            {"kind": "verdict", "metod": "single", "abstain": "yes"},
            [
                "metod is not a parameter; did you mean method?",
                "method is missing; a verdict needs it",
                "abstain must be true or false",
            ],
        ),
        ({"kind": "verdict", "method": "many"}, ["method must be single or subset"]),
        ({"kind": "rubric", "scale_size": "parameters.scale_size"}, []),
    ],
)
def test_every_mistake_in_its_parameters_is_told(params: dict[str, Json], said: list[str]) -> None:
    assert GATE.mistakes(params) == said


@pytest.mark.parametrize(
    ("begin", "repeated", "end", "kind"),
    [
        ("VERDICT: both ", " ", "and", "verdict"),
        ("VERDICT: A", " ", "(x", "verdict"),
        ("VERDICT: A ", "both ", "x", "verdict"),
        ("VERDICT: B", "</a>", "x", "verdict"),
        ("VERDICT: B (", "the next not ", "x)", "verdict"),
        ("VERDICT: ABSTAIN ", "(", "x", "verdict"),
        ("QUALITY: ", "a", "", "quality"),
        ("QUALITY: ", "a (", "", "quality"),
        ("EXPERT_AGREEMENT: a", " ", "x", "agreement"),
        ("EXPERT_AGREEMENT: 0.8 (range ", "0 ", ")", "agreement"),
        ("RUBRIC:\n1) a", " ", "x", "rubric"),
    ],
)
def test_the_same_text_in_longer_lines_costs_no_more(
    begin: str, repeated: str, end: str, kind: str
) -> None:
    """What is quadratic within a line would cost ten times as much in lines ten times as long."""
    params = next(params for params in PARAMS if params["kind"] == kind)

    def cost(length: int) -> float:
        line = begin + repeated * ((length - len(begin + end)) // len(repeated)) + end
        text = "Thus.\n" + f"{line}\n" * (38_000 // length)
        began = thread_time()
        decode(text, params, LETTERS)
        return thread_time() - began

    ratios = (cost(1_900) / cost(190) for _ in range(10))

    assert any(ratio < 3 for ratio in ratios)
