"""Contrasts that a design decides, that nothing moves, and that nothing is known of."""

from dataclasses import replace

from quire.kits.judge.comparison import compare_experiments
from quire.kits.judge.comparison_charts import comparison_charts
from quire.kits.judge.contrast_families import find_family
from quire.kits.judge.contrast_questions import QUESTIONS
from quire.kits.judge.contrasts import find_contrasts
from tests.kits.judge.test_contrasts import arm


def test_what_the_design_decides_is_no_contrast() -> None:
    one, other = arm(1, method="single"), arm(2, method="single", evidence_view="cleaned")

    found = compare_experiments([one, other]).contrasts

    assert "singleton_rate" not in {contrast.question for contrast in found}


def test_what_one_design_decides_is_left_out_and_corrected_for_by_nothing() -> None:
    one, other, third = arm(1), arm(2, abstain_enabled=False), arm(3, method="single")

    found = compare_experiments([one, other, third])

    places = {(level.question, level.experiment) for level in found.levels}
    assert {name for question, name in places if question == "abstain_rate"} == {"arm-1", "arm-3"}
    assert {name for question, name in places if question == "singleton_rate"} == {"arm-1", "arm-2"}
    of = {(contrast.question, contrast.of) for contrast in found.contrasts}
    assert ("abstain_rate", "arm-2") not in of
    assert ("singleton_rate", "arm-3") not in of
    assert ("abstain_rate", "arm-3") in of
    told = " ".join(found.cautions)
    assert "Abstentions of 1 of 3 of these experiments are decided by their design" in told


def test_a_contrast_that_nothing_is_known_of_is_not_drawn_but_named() -> None:
    comparison = compare_experiments([arm(1), arm(2, evidence_view="cleaned")])
    model, (one, other) = comparison.models[0], comparison.arms
    silent = tuple(s._replace(stages=()) if s.model == model else s for s in other.scores)
    contrasts = find_contrasts([one, other._replace(scores=silent)])
    position = next(question for question in QUESTIONS if question.name == "position")

    _, chart = comparison_charts(replace(comparison, contrasts=tuple(contrasts)), position)

    assert "1 contrast is not drawn" in chart.note
    assert [row[1] for row in chart.numbers.rows] == list(comparison.models[1:])
    unknown = [item.model for item in contrasts if item.difference.value is None]
    assert unknown.count(model) == len(unknown) > 0


def test_a_contrast_in_which_nothing_moves_is_shown_without_an_interval() -> None:
    arms = compare_experiments([arm(1), arm(2, evidence_view="cleaned")]).arms
    every = [
        item._replace(scores=tuple(s._replace(stages=s.stages[:1]) for s in item.scores))
        for item in arms
    ]

    single = [item for item in find_family(every) if item.question == "singleton_rate"]

    assert [item.difference[:3] for item in single] == [(0.0, None, None)] * 3
    assert not any(item.stands_out for item in single)
