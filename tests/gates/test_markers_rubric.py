"""Rubrics are decoded stage by stage, or refused with a reason."""

import pytest

from quire.domain.data import Json
from tests.gates.marker_answers import REASONING, data, decode, reason

THREE: dict[str, Json] = {"kind": "rubric", "scale_size": 3}
ONE, TWO, LAST = (
    "1) Weak :: no strikes; no arrests; no bans",
    "2) Ambiguous / Mixed Evidence. :: some strikes; some arrests; some bans",
    "3) Strong :: many strikes; many arrests; many bans",
)
WANTED: list[Json] = [
    {"stage_number": 1, "label": "Weak", "criteria": ["no strikes", "no arrests", "no bans"]},
    {
        "stage_number": 2,
        "label": "Ambiguous / Mixed Evidence.",
        "criteria": ["some strikes", "some arrests", "some bans"],
    },
    {
        "stage_number": 3,
        "label": "Strong",
        "criteria": ["many strikes", "many arrests", "many bans"],
    },
]


def rubric(*lines: str, header: str = "RUBRIC:") -> str:
    """Write an answer with these lines in its block."""
    return "\n".join([REASONING, "", header, *lines])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (rubric(ONE, TWO, LAST), "as asked"),
        (rubric(ONE, "", TWO, "", LAST, ""), "blank lines"),
        (rubric(ONE, TWO, LAST, header="**RUBRIC:**"), "bold"),
        (rubric(ONE, TWO, LAST, header="## Rubric:"), "a heading"),
        (rubric("```", ONE, TWO, LAST, "```"), "a fence"),
        (rubric(*(f"- {item}" for item in (ONE, TWO, LAST))), "bullets"),
        (rubric(ONE.replace("1) Weak", "**1) Weak**"), TWO, LAST), "bold labels"),
        (rubric(ONE.replace("1)", "1."), TWO, LAST), "a point after the number"),
        (rubric(ONE.replace("; no bans", "; and no bans;"), TWO, LAST), "a joining word"),
        (rubric(ONE, TWO, LAST, "", "RUBRIC:", ONE, TWO, LAST), "twice the same"),
        (rubric("1) <label> :: <criteria>", "RUBRIC:", ONE, TWO, LAST), "the form repeated"),
    ],
)
def test_a_rubric_that_can_mean_one_thing_only_is_decoded(text: str, why: str) -> None:
    found = data(decode(text, THREE))

    assert found["stages"] == WANTED, why
    assert str(found["reasoning"]).startswith(REASONING)


def test_semicolons_inside_of_brackets_part_nothing() -> None:
    line = '1) Weak :: laws (bans; fines); no "free press"; courts [high; low]'

    found = data(decode(rubric(line, TWO, LAST), THREE))

    assert found["stages"][0]["criteria"] == [  # type: ignore[index,call-overload]
        "laws (bans; fines)",
        'no "free press"',
        "courts [high; low]",
    ]


@pytest.mark.parametrize(
    ("text", "said", "why"),
    [
        (rubric(ONE, TWO), "rubric has 2 stages, not 3", "one is missing"),
        (rubric(ONE, TWO, LAST, "4) More :: a; b; c"), "rubric has 4 stages", "one too many"),
        (rubric("1) Weak :: a, b; c", TWO, LAST), "has 2 criteria", "a criterion may hold commas"),
        (rubric("1) Weak :: a; b", TWO, LAST), "has 2 criteria", "too few"),
        (rubric("1) Weak :: a; b; c; d; e; f; g", TWO, LAST), "has 7 criteria", "too many"),
        (rubric("1) Weak: a; b; c", TWO, LAST), "is not of the form", "where the label ends?"),
        (rubric("1) :: a; b; c", TWO, LAST), "stage 1 has no label", "no label"),
        (rubric(LAST, TWO, ONE), "stage 1 is numbered 3", "the scale would be turned around"),
        (rubric(ONE, TWO.replace("2)", "1)"), LAST), "stage 2 is numbered 1", "which is it?"),
        (
            rubric(ONE, "2) weak :: a; b; c", LAST),
            "two stages have the label",
            "told apart by what?",
        ),
        (rubric(ONE, TWO, LAST, "This is the scale."), "is not of the form", "it goes on"),
        (rubric("1) Weak ::", "- a", "- b", "- c", TWO, LAST), "has 0 criteria", "another form"),
        (rubric(ONE, TWO, LAST, header="Here is it:"), "no line RUBRIC:", "no marker"),
        (rubric(TWO, LAST, header=f"RUBRIC: {ONE}"), "on lines of their own", "another form"),
        ("\n".join(["RUBRIC:", ONE, TWO, LAST]), "no reasoning", "no reasoning"),
        (
            rubric(ONE, TWO, LAST, "RUBRIC:", ONE, TWO, LAST.replace("Strong", "Firm")),
            "two rubrics that differ",
            "a contradiction",
        ),
        (
            rubric(ONE, TWO, LAST, "Or rather:", "RUBRIC:", ONE, TWO, LAST.replace("many", "all")),
            "two rubrics that differ",
            "a contradiction with words between",
        ),
        (rubric(), "rubric has 0 stages", "blank"),
    ],
)
def test_any_other_rubric_is_refused(text: str, said: str, why: str) -> None:
    assert said in reason(decode(text, THREE)), why


def test_the_size_of_the_scale_may_be_a_parameter_of_the_recipe() -> None:
    params = {"kind": "rubric", "scale_size": "parameters.scale_size"}

    assert data(decode(rubric(ONE, TWO, LAST), params))["stages"] == WANTED
