"""Scores are decoded rightly or refused with a reason: nothing is clamped, nothing is assumed."""

import pytest

from tests.gates.marker_answers import REASONING, data, decode, reason

AGREED = [
    ("0.8", 0.8, "as asked"),
    (".8", 0.8, "can mean nothing else"),
    ("0", 0.0, "the lower end"),
    ("1", 1.0, "the upper end"),
    ("1.00", 1.0, "the same"),
    ("85%", 0.85, "clearly a percentage"),
    ("33.3 %", 0.333, "clearly a percentage"),
    ("100%", 1.0, "clearly a percentage"),
    ("**0.8**", 0.8, "bold"),
    ("`0.8`.", 0.8, "code, and the end of a sentence"),
    ("0.8 (high)", 0.8, "a remark without a number"),
]
DISAGREED = [
    ("10", "10 is not between 0 and 1", "others read 1.0"),
    ("1.7", "1.7 is not between 0 and 1", "others read 1.0"),
    ("0,8", "write decimals with a point", "others read 0"),
    (",8", "write decimals with a point", "a comma may part two numbers"),
    ("-0.2", "is not a number from 0 to 1", "below"),
    ("101%", "is not between 0 and 1", "above"),
    ("8/10", "is not a number from 0 to 1", "a fraction was not asked for"),
    ("0.8-0.9", "is not a number from 0 to 1", "a range is no number"),
    ("above 0.8", "is not a number from 0 to 1", "a sentence"),
    ("0.8 (was 0.6)", "holds more than one number", "which one?"),
    ("high", "is not a number from 0 to 1", "a word"),
    ("1e-3", "is not a number from 0 to 1", "not asked for"),
    ("nan", "is not a number from 0 to 1", "not a number at all"),
    ("0.8.1", "is not a number from 0 to 1", "a version"),
    ("٠.٨", "is not a number from 0 to 1", "other digits"),
    ("0." + "9" * 500, "is not a number from 0 to 1", "endless"),
]


@pytest.mark.parametrize(
    "marker", ["EXPERT_AGREEMENT:", "**EXPERT_AGREEMENT:**", "- Expert_Agreement :"]
)
@pytest.mark.parametrize(("said", "share", "why"), AGREED)
def test_an_agreement_that_can_mean_one_thing_only_is_decoded(
    marker: str, said: str, share: float, why: str
) -> None:
    found = data(decode(f"{REASONING}\n{marker} {said}", {"kind": "agreement"}))

    assert found == {"reasoning": REASONING, "expert_agreement_prob": share}, why


@pytest.mark.parametrize(("said", "reasons", "why"), DISAGREED)
def test_any_other_agreement_is_refused(said: str, reasons: str, why: str) -> None:
    verdict = decode(f"{REASONING}\nEXPERT_AGREEMENT: {said}", {"kind": "agreement"})

    assert reasons in reason(verdict), why


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EXPERT_AGREEMENT: 0.8", "no reasoning"),
        (f"{REASONING}\nEXPERT_AGREEMENT: 0.8\nDone.", "goes on after"),
        (f"{REASONING}\nEXPERT_AGREEMENT: 0.8\nEXPERT_AGREEMENT: 0.3", "lines that differ"),
        (f"{REASONING}\nEXPERTAGREEMENT: 0.8", "no line that begins with EXPERT_AGREEMENT:"),
        (f"{REASONING} EXPERT_AGREEMENT: 0.8", "no line that begins with EXPERT_AGREEMENT:"),
    ],
)
def test_an_agreement_in_the_wrong_place_is_refused(text: str, said: str) -> None:
    assert said in reason(decode(text, {"kind": "agreement"}))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("observability=0.8, discriminability=0.6", "as asked"),
        ("observability=0.8; discriminability=0.6", "a semicolon parts as well as a comma"),
        ("observability=0.8 discriminability=0.6", "blanks do, too"),
        ("observability = .8 , discriminability = 60%", "as any number may be written"),
        ("Observability: 0.8 and Discriminability: 0.6.", "the names say which is which"),
        ("discriminability=0.6, observability=0.8", "the names say which is which"),
        ("**observability**=0.8, **discriminability**=`0.6`", "marks"),
    ],
)
def test_a_quality_whose_scores_are_named_is_decoded(said: str, why: str) -> None:
    found = data(decode(f"{REASONING}\nQUALITY: {said}", {"kind": "quality"}))

    assert found == {
        "reasoning": REASONING,
        "observability_score": 0.8,
        "discriminability_score": 0.6,
    }, why


@pytest.mark.parametrize(
    ("said", "reasons", "why"),
    [
        ("0.8; 0.6", "must be observability=", "which is which would be a guess"),
        ("a; b", "must be observability=", "no numbers, no names"),
        ("observability=0.8", "must be observability=", "one is missing"),
        ("observability=0.8, observability=0.6", "must be observability=", "the same twice"),
        ("observability=1.8, discriminability=0.6", "1.8 is not between 0 and 1", "out of range"),
        ("observability=0,8, discriminability=0,6", "decimals with a point", "commas part them"),
        ("observability=0.8 or 0.7, discriminability=0.6", "must be", "which one?"),
        ("observability=high, discriminability=low", "is not a number", "words"),
        ("observability=0.8, discriminability=0.6, clarity=1", "must be", "nobody asked"),
        ("observability=0.8, discriminability=0.6 overall good", "must be", "it goes on"),
    ],
)
def test_any_other_quality_is_refused(said: str, reasons: str, why: str) -> None:
    assert reasons in reason(decode(f"{REASONING}\nQUALITY: {said}", {"kind": "quality"})), why
