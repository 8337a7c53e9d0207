"""Alphas of experiments beside each other: whose there are, and who is told of."""

from dataclasses import replace

from quire.kits.judge.comparison import compare_experiments
from quire.kits.judge.findings import find
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.place_preferences import place_caution
from tests.kits.judge.test_contrasts import ALPHAS, arm


def test_alphas_of_experiments_are_those_of_their_reports() -> None:
    rows = arm(1)

    levels = compare_experiments([rows, arm(2, randomizations=())]).levels

    found = find(rows).agreement
    assert found.between is not None
    wanted = {("model_agreement", "all models"): found.between.apart_ordinal}
    for item in found.within:
        wanted["self_agreement", item.model] = item.stages_ordinal
        wanted["choice_by_place", item.model] = item.lines_above_stages
    known = [level for level in levels if level.question in ALPHAS]
    assert {(x.question, x.model): x.figure for x in known if x.experiment == "arm-1"} == wanted
    unshuffled = {x.question for x in known if x.experiment == "arm-2"}
    assert unshuffled == {"self_agreement", "model_agreement"}


def test_models_together_are_compared_only_where_they_are_the_same() -> None:
    one = arm(1)
    other = arm(2, models=one.experiment.models[:2])

    found = compare_experiments([one, other]).contrasts

    names = {contrast.question for contrast in found}
    assert "self_agreement" in names
    assert "model_agreement" not in names


def test_who_chooses_by_place_is_named_with_the_experiments() -> None:
    comparison = compare_experiments([arm(1), arm(2, evidence_view="cleaned")])
    models = comparison.models
    sure, unsure = (
        Estimate(0.4, 0.3, 0.5, clusters=6), Estimate(0.1, -0.2, 0.4, clusters=6)
    )  # fmt: skip
    known = [level for level in comparison.levels if level.question == "choice_by_place"]

    def told(*choosing: tuple[str, str]) -> str:
        levels = tuple(
            level._replace(figure=sure if (level.experiment, level.model) in choosing else unsure)
            for level in known
        )
        return place_caution(replace(comparison, levels=levels))

    assert told() == ""
    said = told(("arm-1", models[0]), ("arm-2", models[0]), ("arm-2", models[1]))
    assert f"In 3 of {len(known)} cases" in said
    sure = Estimate(0.4, 0.1, 0.7, clusters=6)  # alone, but not as one of six
    assert told(("arm-1", models[0])) == ""
    assert f"{models[0]} (all) and {models[1]} (cleaned)" in said
