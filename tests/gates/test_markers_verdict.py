"""Verdicts are decoded rightly or refused with a reason: the misparses of others, one by one."""

import pytest

from quire.domain.data import Json
from quire.domain.gates import Judgement
from tests.gates.marker_answers import LETTERS, OPAQUE, REASONING, data, decode, reason

SINGLE: dict[str, Json] = {"kind": "verdict", "method": "single", "scale_size": 3}
SUBSET: dict[str, Json] = {**SINGLE, "method": "subset"}
ABSTAIN: dict[str, Json] = {**SINGLE, "abstain": True}

# what the model wrote, the stages it means, and why that is no guess
DECODED: list[tuple[str, list[int], str]] = [
    ("VERDICT: B", [2], "as asked"),
    ("verdict: B", [2], "the marker's case means nothing"),
    ("**VERDICT:** B", [2], "bold around the marker"),
    ("**VERDICT: B**", [2], "bold around the line"),
    ("__VERDICT__: B", [2], "the other bold"),
    ("- VERDICT: B", [2], "a bullet"),
    ("* VERDICT: `B`", [2], "another bullet, and code"),
    ("### VERDICT: B", [2], "a heading"),
    ('VERDICT: "B"', [2], "quotation marks"),
    ("VERDICT: [B]", [2], "the brackets that identifiers are shown in"),
    ("VERDICT: B.", [2], "the end of a sentence"),
    ("VERDICT: VERDICT: B", [2], "the marker stuttered"),
    ("VERDICT： B", [2], "a colon of another alphabet"),
    ("VERDICT: b", [2], "no two identifiers differ by case alone"),
    ("My VERDICT: B", [2], "a word before the marker"),
    ("**VERDICT:**\nB", [2], "the identifier alone on the next line"),
    ("VERDICT: B (moderate)", [2], "a remark that names no identifier"),
    ("```\nVERDICT: B\n```", [2], "a fence closes after it"),
    ("VERDICT: B\n\n  \n", [2], "blank lines are no lines"),
    ("VERDICT: B\n\nVERDICT: B", [2], "said twice, the same"),
    ("> VERDICT: C\n\nThat was the article.\nVERDICT: B", [2], "a quotation is not its own word"),
    ('It says "VERDICT: C" in the text.\nVERDICT: B', [2], "the evidence quoted inside a line"),
    ("I end with\nVERDICT: <identifier>\nas asked.\nVERDICT: B", [2], "the form repeated"),
]
REFUSED: list[tuple[str, str, str]] = [
    ("VERDICT: ABSTAIN (weak)", "abstained, which was not allowed", "others read the letter A"),
    ("VERDICT: ABSTAIN", "abstained, which was not allowed", "it was not offered"),
    ("VERDICT: None", "None is not among the identifiers A, B, C", "others read N as stage 14"),
    ("VERDICT: Stage 3", "Stage 3 is not among", "others read S as stage 19; 3 was never shown"),
    ("VERDICT: 3", "3 is not among", "a number is no identifier that was shown"),
    ("VERDICT:", "nothing follows VERDICT:", "blank"),
    ("VERDICT: **", "nothing follows VERDICT:", "blank but for marks"),
    ("VERDICT: D", "D is not among", "beyond the scale"),
    ("VERDICT: B (but maybe c)", "names an identifier in its remark", "which one?"),
    ("VERDICT: A, B", "names 2 identifiers where one is wanted", "which one?"),
    ("VERDICT: A or B", "is not among", "which one?"),
    ("VERDICT: B (or C)", "names an identifier in its remark", "which one?"),
    ("VERDICT: B because of C", "in its remark", "it names another one"),
    ("VERDICT: A\n\nNo, rather:\nVERDICT: B", "two VERDICT: lines that differ", "contradiction"),
    ("VERDICT: B\nIt is a close call.", "goes on after its VERDICT: line", "not the last line"),
    ("So the answer is B.", "no line that begins with VERDICT:", "no marker"),
    ("But my VERDICT: B", "no line that begins with VERDICT:", "a marker begins its line"),
    ("**VERDICT:**\nB\nC", "goes on after", "which of the lines is it?"),
    ("VERDICT B", "no line that begins with VERDICT:", "no colon"),
    ("OVERDICT: B", "no line that begins with VERDICT:", "another word"),
]


@pytest.mark.parametrize(("text", "stages", "why"), DECODED)
def test_an_answer_that_can_mean_one_thing_only_is_decoded(
    text: str, stages: list[int], why: str
) -> None:
    found = data(decode(f"{REASONING}\n\n{text}", SINGLE, LETTERS))

    assert found["decoded_scores"] == stages, why
    assert found["abstained"] is False
    assert str(found["reasoning"]).startswith(REASONING)


@pytest.mark.parametrize(("text", "said", "why"), REFUSED)
def test_an_answer_that_may_mean_something_else_is_refused(text: str, said: str, why: str) -> None:
    assert said in reason(decode(f"{REASONING}\n\n{text}", SINGLE, LETTERS)), why


@pytest.mark.parametrize(
    "text", ["VERDICT: B", "\n\nVERDICT: B", "**\nVERDICT: B", "```\nVERDICT: B"]
)
def test_a_verdict_without_reasoning_is_refused(text: str) -> None:
    assert reason(decode(text, SINGLE, LETTERS)) == "no reasoning comes before VERDICT:"


@pytest.mark.parametrize(
    "said",
    ["ABSTAIN", "abstain", "**ABSTAIN**", "ABSTAIN.", "ABSTAIN (weak)", "ABSTAIN - too little"],
)
def test_an_abstention_may_have_a_remark_where_it_is_allowed(said: str) -> None:
    found = data(decode(f"{REASONING}\nVERDICT: {said}", ABSTAIN, LETTERS))

    assert (found["abstained"], found["decoded_scores"]) == (True, [])


@pytest.mark.parametrize(
    ("said", "reasons"),
    [
        ("ABSTAIN (or B)", "both abstains and names an identifier"),
        ("ABSTAIN, B", "both abstains and names an identifier"),
        ("B, ABSTAIN", "is not among"),
        ("ABSTAIN (leaning b)", "both abstains and names an identifier"),
        ("ABSTAIN weakly", "is not among"),
    ],
)
def test_an_abstention_that_also_decides_is_refused(said: str, reasons: str) -> None:
    params = {**ABSTAIN, "method": "subset"}

    assert reasons in reason(decode(f"{REASONING}\nVERDICT: {said}", params, LETTERS))


@pytest.mark.parametrize(
    ("said", "stages"),
    [
        ("dqqCdj", [1]),
        ("VcGZjk, dqqCdj", [1, 2]),
        ("[VcGZjk, x81KwP]", [2, 3]),
        ("[VcGZjk] / [x81KwP]", [2, 3]),
        ("`VcGZjk`, **x81KwP**", [2, 3]),
        ("x81KwP VcGZjk dqqCdj", [1, 2, 3]),
        ("dqqCdj, dqqCdj", [1]),
    ],
)
def test_a_subset_is_decoded_to_its_stages_in_order(said: str, stages: list[int]) -> None:
    found = data(decode(f"{REASONING}\nVERDICT: {said}", SUBSET, OPAQUE))

    assert found["decoded_scores"] == stages
    assert found["raw_verdict"] == said.replace("`VcGZjk`, **x81KwP**", "VcGZjk`, **x81KwP")


@pytest.mark.parametrize(
    "said",
    [
        "VcGZj, dqqCdj",
        "VcGZjkdqqCdj",
        "VcGZjk, dqqCdj, none",
        "Stage 1",
    ],
)
def test_garbled_identifiers_are_refused_although_others_beside_them_are_known(said: str) -> None:
    verdict = decode(f"{REASONING}\nVERDICT: {said}", SUBSET, OPAQUE)

    assert "is not among the identifiers VcGZjk, dqqCdj, x81KwP" in reason(verdict)


def test_without_identifiers_of_its_own_a_scale_has_letters() -> None:
    assert data(decode(f"{REASONING}\nVERDICT: C", SINGLE))["decoded_scores"] == [3]
    assert "D is not among" in reason(decode(f"{REASONING}\nVERDICT: D", SINGLE))


def test_values_may_be_named_by_the_parameters_of_the_recipe() -> None:
    params = {**SINGLE, "scale_size": "parameters.scale_size", "labels": "part.labels"}

    assert data(decode(f"{REASONING}\nVERDICT: B", params, LETTERS))["decoded_scores"] == [2]


@pytest.mark.parametrize(
    ("params", "labels", "said"),
    [
        ({**SINGLE, "labels": "shown"}, LETTERS, "does not say which identifiers"),
        ({**SINGLE, "scale_size": "parameters.size"}, LETTERS, "scale_size must be a whole number"),
        ({"kind": "verdict", "method": "single"}, None, "does not say which identifiers"),
        (SINGLE, {"A": 1, "B": 4}, "stages, 1 to 3"),
        (SINGLE, {"A": 1, "B": 1}, "different stages"),
        (SINGLE, {"A": 1, "abstain": 2}, "must lead from identifiers"),
        (SINGLE, {"A": 1, "B": True}, "must lead from identifiers"),
        ({**SINGLE, "scale_size": 30}, None, "30 stages have no letters"),
    ],
)
def test_a_task_that_cannot_be_judged_fails_and_is_not_paid_for_again(
    params: dict[str, Json], labels: dict[str, Json] | None, said: str
) -> None:
    verdict = decode(f"{REASONING}\nVERDICT: A", params, labels)

    assert verdict.judgement is Judgement.FAIL
    assert said in verdict.reasons[0]
