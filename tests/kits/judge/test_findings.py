"""Findings: equal to what a stranger computes from the exported files, by definition."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from quire.kits.judge.calibration import measure_calibration
from quire.kits.judge.drift import measure_drift
from quire.kits.judge.experiment import Evidence, all_pairs
from quire.kits.judge.experiment_export import write_tables
from quire.kits.judge.experiment_runs import typed_tables
from quire.kits.judge.findings import Findings, find
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Score
from quire.kits.judge.randomization import RANDOMIZATIONS
from tests.kits.judge import own_statistics as own
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun

METHODS = {"single": {"scale_size": 3}, "subset": {"scale_size": 4}}


@pytest.fixture(scope="module", params=list(METHODS))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The findings of an experiment, and its exported tables as frames."""
    evidence = tuple(Evidence(title=f"{n}", text=f"Text {n}.", truth=1 + n % 3) for n in range(8))
    wanted = experiment(
        samples=9,
        models=experiment().models[:2],
        evidence=evidence,
        windows=(),
        task_type="control",
        method=request.param,
        randomizations=RANDOMIZATIONS,
        swaps=all_pairs(experiment().models[:2]),
        **METHODS[request.param],
    )
    rows = FakeRun(wanted).rows()
    folder: Path = tmp_path_factory.mktemp("findings")
    write_tables(rows, typed_tables(rows), folder)
    frames = {path.stem: pandas.read_csv(path) for path in folder.glob("*.csv")}
    scores = frames["scores"]
    scores = scores[~scores.is_swap & (scores.parse_status == "parsed")].copy()
    scores["value"] = scores.decoded_scores.map(lambda text: tuple(sorted(json.loads(text))))
    return find(rows), scores, frames


def test_figures_are_exported_as_they_are(both: tuple[Findings, Any, Any]) -> None:
    findings, _, frames = both
    alone = frames["figures"][frames["figures"].other_model_id.isna()]
    figures = alone.set_index(["question", "figure", "model_id"]).sort_index()

    for within in findings.agreement.within:
        (row,) = figures.loc[[("agreement", "within_stages_ordinal", within.model)]].to_dict(
            "records"
        )
        found = [row[name] for name in ("value", "low", "high", "observations", "clusters")]
        assert found == pytest.approx(list(within.stages_ordinal))
    assert set(frames["figures"].question) == {
        "scores", "pairs", "agreement", "display_bias", "drift", "accuracy", "calibration",
        "rubrics", "evidence", "refusals",
    }  # fmt: skip
    keys = ["question", "figure", "model_id", "other_model_id", "item"]
    assert not frames["figures"].duplicated(keys).any()


def _answered(scores: Any) -> Any:
    return scores[scores.value.map(len) > 0]


def _same(
    found: Estimate, frame: Any, figure: Callable[[Any], float], kind: str = "below one"
) -> None:
    value = figure(frame)
    without = own.without_samples(frame, figure)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.clusters == len(without)
    if any(map(numpy.isnan, without)) or not own.jackknife_error(without):
        assert (found.low, found.high) == (None, None)
        return
    assert (found.low, found.high) == pytest.approx(own.interval(value, without, kind), abs=1e-5)


def _same_alpha(found: Estimate, frame: Any, level: str, *keys: str, apart: bool = False) -> None:
    figure = partial(own.alpha_apart, level=level) if apart else _alpha(level, *keys)
    assert found.value == pytest.approx(figure(frame), abs=1e-9)
    assert found.clusters == frame.sample_ordinal.nunique()
    wanted = own.alpha_interval(frame, figure, level, keys, apart)
    assert (found.low, found.high) == pytest.approx(wanted, abs=1e-5)


def _alpha(level: str, *keys: str) -> Callable[[Any], float]:
    def figure(frame: Any) -> float:
        return own.alpha({key: list(unit) for key, unit in frame.groupby([*keys]).value}, level)

    return figure


def test_agreement_within_models(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both
    items = frames["score_items"].groupby("score_id").display_position.agg(sorted)

    for within in findings.agreement.within:
        mine = _answered(scores[scores.model_id == within.model])
        placed = mine.assign(value=mine.score_id.map(items).map(tuple))
        _same_alpha(within.stages_nominal, mine, "nominal", "bundle_signature")
        _same_alpha(within.stages_ordinal, mine, "ordinal", "bundle_signature")
        _same_alpha(within.positions_nominal, placed, "nominal", "bundle_signature")
        _same_alpha(within.positions_ordinal, placed, "ordinal", "bundle_signature")

        def above(frame: Any, placed: Any = placed) -> float:
            lines, stages = placed.loc[frame.index], frame
            figure = _alpha("ordinal", "bundle_signature")
            return figure(lines) - figure(stages)

        _same(within.lines_above_stages, mine, above, "plain")


def test_agreement_between_models(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, _ = both
    answered = _answered(scores)
    keys = ("sample_ordinal", "bundle_signature")
    (pair,) = findings.agreement.pairs
    one, other = (answered[answered.model_id == model] for model in pair.models)

    def kappa(frame: Any) -> float:
        return own.kappa(list(zip(frame.value_x, frame.value_y, strict=True)))

    _same_alpha(pair.matched_nominal, answered, "nominal", *keys)
    _same_alpha(pair.matched_ordinal, answered, "ordinal", *keys)
    _same_alpha(pair.apart_nominal, answered, "nominal", "bundle_signature", apart=True)
    _same_alpha(pair.apart_ordinal, answered, "ordinal", "bundle_signature", apart=True)
    assert pair.kappa is not None
    _same(pair.kappa, one.merge(other, on=[*keys]), kappa)
    assert findings.agreement.between is not None
    assert findings.agreement.between.matched_nominal == pair.matched_nominal


def test_chosen_lines_and_identifiers(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both
    size = len(json.loads(frames["samples"].display_order[0]))
    items = frames["score_items"].merge(scores[["score_id", "subset_size"]], on="score_id")
    tokens = frames["samples"].set_index("sample_id").label_mapping.map(json.loads)
    items["weight"] = 1 / items.subset_size
    items["alphabet"] = [
        sorted(tokens[sample], key=str.lower).index(token) + 1
        for sample, token in zip(items.sample_id, items.token, strict=True)
    ]

    for bias in findings.display_bias:
        if bias.kind == "beginning":
            continue
        mine = items[items.model_id == bias.model]
        column = "display_position" if bias.kind == "position" else "alphabet"
        counts = mine.groupby(column).weight.sum().reindex(range(1, size + 1)).fillna(0)
        answered = mine.weight.sum()
        assert [slot.chosen.value for slot in bias.slots] == pytest.approx(counts / answered)
        assert [slot.expected for slot in bias.slots] == pytest.approx([1 / size] * size)
        chi_square = ((counts - answered / size) ** 2 / (answered / size)).sum()
        assert bias.chi_square == pytest.approx(chi_square)
        assert bias.p_value is not None
        assert bias.observations == round(answered)


def test_tests_of_displays_are_adjusted_for_how_many_they_are(both: Any) -> None:
    findings, _, frames = both
    order = sorted(findings.display_bias, key=lambda bias: bias.p_value)
    products = [(len(order) - place) * bias.p_value for place, bias in enumerate(order)]

    wanted = numpy.minimum(1, numpy.maximum.accumulate(products))

    assert len(order) == 6
    assert [bias.adjusted_p_value for bias in order] == pytest.approx(wanted)
    exported = frames["figures"][frames["figures"].figure.str.endswith("_adjusted_p_value")]
    assert sorted(exported.value) == pytest.approx(sorted(wanted))


def test_identifiers_by_what_they_begin_with(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both
    items = frames["score_items"].merge(scores[["score_id", "subset_size"]], on="score_id")
    tokens = frames["samples"].set_index("sample_id").label_mapping.map(json.loads)

    def sort(token: str) -> str:
        return (
            ("a capital", "a small letter")[token[0].islower()]
            if token[0].isalpha()
            else ("a digit")
        )

    for bias in (item for item in findings.display_bias if item.kind == "beginning"):
        mine = items[items.model_id == bias.model]
        chosen: dict[str, float] = {}
        shown: dict[str, float] = {}
        for sample, token, size in zip(mine.sample_id, mine.token, mine.subset_size, strict=True):
            chosen[sort(token)] = chosen.get(sort(token), 0) + 1 / size
            for other in tokens[sample]:
                part = 1 / size / len(tokens[sample])
                shown[sort(other)] = shown.get(sort(other), 0) + part
        total = sum(chosen.values())
        for slot in bias.slots:
            assert slot.chosen.value == pytest.approx(chosen.get(slot.slot, 0) / total)
            assert slot.expected == pytest.approx(shown[slot.slot] / total)


def test_drift(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, _ = both

    for drift in findings.drift:
        mine = scores[scores.model_id == drift.model].assign(
            abstained=lambda frame: (frame.value.map(len) == 0).astype(float)
        )
        answered = _answered(mine).assign(stage=lambda frame: frame.value.map(numpy.mean))
        for found, frame, column in (
            (drift.expected_stage, answered, "stage"),
            (drift.abstain_rate, mine, "abstained"),
        ):
            reach = frame.sample_ordinal.max() - frame.sample_ordinal.min()

            def change(kept: Any, column: str = column, reach: float = reach) -> float:
                return float(numpy.polyfit(kept.sample_ordinal, kept[column], 1)[0] * reach)

            _same(found, frame, change, "plain")


def test_changes_of_few_samples_stay_within_what_can_be() -> None:
    said = [(1,), (1,), (), (3,), (3,), ()]  # of two pieces in each of three samples
    scores = [
        Score("m", n // 2, f"e{n % 2}", decoded=True, stages=named, agreement=float(n < 1), truth=1)
        for n, named in enumerate(said)
    ]

    (drift,) = measure_drift(scores, 3)
    (calibration,) = measure_calibration(scores)

    assert drift.abstain_rate[:3] == (0.5, -1, 1)
    assert drift.expected_stage[:3] == (2, -2, 2)
    assert calibration.excess.low == -1


def test_correctness(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both
    size = len(json.loads(frames["samples"].display_order[0]))

    for found in findings.correctness:
        mine = scores[scores.model_id == found.model].copy()
        mine["truth"] = mine.ground_truth_stage.map(lambda stage: (int(stage),))
        mine["right"] = (mine.value == mine.truth).astype(float)
        answered = _answered(mine)
        _same(found.accuracy, answered, lambda frame: frame.right.mean(), "share")
        _same(found.right_of_all, mine, lambda frame: frame.right.mean(), "share")
        _same(
            found.kappa,
            answered,
            lambda frame: own.kappa(list(zip(frame.value, frame.truth, strict=True))),
        )
        accuracy = answered.right.mean()
        assert found.corrected.value == pytest.approx((accuracy - 1 / size) / (1 - 1 / size))
        assert found.answered.value == pytest.approx(len(answered) / len(mine))
        assert found.commonest_truth == mine.truth.value_counts(normalize=True).max()
        heard = answered.dropna(subset=["expert_agreement_prob"])
        _same(found.discrimination, heard, _area, "share")
        for point in found.curve:
            kept = heard[heard.expert_agreement_prob >= point.least_agreement]
            assert point.kept == pytest.approx(len(kept) / len(mine))
            assert point.accuracy.value == pytest.approx(kept.right.mean())
        assert found.curve[0].kept == pytest.approx(len(heard) / len(mine))


def _area(frame: Any) -> float:
    hits, misses = (
        frame[frame.right == right].expert_agreement_prob.to_numpy() for right in (1, 0)
    )
    if not len(hits) or not len(misses):
        return float("nan")
    wins = (hits[:, None] > misses) + (hits[:, None] == misses) / 2
    return float(wins.mean())


def test_calibration(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, _ = both
    answered = _answered(scores)

    for found in findings.calibration:
        mine = answered[answered.model_id == found.model].dropna(subset=["expert_agreement_prob"])
        mine = mine.assign(said=mine.expert_agreement_prob)
        others = answered[answered.model_id != found.model].groupby("bundle_signature").value
        if found.against == "truth":
            mine["true"] = [
                float(value == (int(truth),))
                for value, truth in zip(mine.value, mine.ground_truth_stage, strict=True)
            ]
        else:
            mine["true"] = [
                float(numpy.mean([other == value for other in others.get_group(bundle)]))
                for value, bundle in zip(mine.value, mine.bundle_signature, strict=True)
            ]
        _same(found.found, mine, lambda frame: frame.true.mean(), "share")
        _same(found.excess, mine, lambda frame: (frame.said - frame.true).mean(), "plain")
        _same(found.brier, mine, lambda frame: ((frame.said - frame.true) ** 2).mean(), "share")
        _same(found.correlation, mine, lambda frame: frame.said.corr(frame.true), "correlation")
        for bin_ in found.bins:
            inside = mine[(mine.said >= bin_.low) & (mine.said < bin_.high + (bin_.high == 1))]
            assert bin_.found.value == pytest.approx(inside.true.mean())
            assert bin_.said == pytest.approx(inside.said.mean())
            assert bin_.found.observations == len(inside)


def test_rubric_quality(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both

    for found in findings.rubrics:
        rubrics = frames["rubrics"][frames["rubrics"].model_id == found.model]
        assert found.observability.value == pytest.approx(rubrics.observability_score.mean())
        mine = scores[scores.model_id == found.model]
        rows = [
            _rubric_row(rubric, mine, _answered(mine))
            for rubric in rubrics.dropna(subset=["observability_score"]).itertuples()
            if (mine.sample_ordinal == rubric.sample_ordinal).any()
        ]
        table = pandas.DataFrame(rows)
        for relation in found.relations:

            def correlate(frame: Any, relation: Any = relation) -> float:
                return float(frame[relation.quality].corr(frame[relation.outcome]))

            _same(relation.correlation, table, correlate, "correlation")


def _rubric_row(rubric: Any, mine: Any, answered: Any) -> dict[str, float]:
    here = answered[answered.sample_ordinal == rubric.sample_ordinal]
    elsewhere = answered[answered.sample_ordinal != rubric.sample_ordinal]
    same = [
        numpy.mean([other == row.value for other in said])
        for row in here.itertuples()
        if len(said := elsewhere[elsewhere.bundle_signature == row.bundle_signature].value)
    ]
    error = (here.value.map(numpy.mean) - here.ground_truth_stage).abs().mean()
    every = (mine.sample_ordinal == rubric.sample_ordinal).sum()
    return {
        "sample_ordinal": rubric.sample_ordinal,
        "observability": rubric.observability_score,
        "discriminability": rubric.discriminability_score,
        "agreement": float(numpy.mean(same)),
        "abstain_rate": 1 - len(here) / every,
        "stage_error": error,
    }


def test_evidence(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both
    answered = _answered(scores)
    every = frames["scores"]

    assert len(findings.evidence) == 8
    order = [found.divided.value or 0 for found in findings.evidence]
    assert order == sorted(order, reverse=True)
    for found in findings.evidence:
        here = answered[answered.bundle_signature == found.bundle]
        _same(found.divided, here, own.division, "plain")
        for part in found.by_model:
            mine = here[here.model_id == part.model]
            made = every[(every.bundle_signature == found.bundle) & ~every.is_swap]
            assert part.expected_stage.value == pytest.approx(mine.value.map(numpy.mean).mean())
            assert part.answered == len(mine)
            assert part.answered + part.abstained + part.missing == 9
            assert (
                part.missing
                == ((made.model_id == part.model) & (made.parse_status != "parsed")).sum()
            )


def test_refusals(both: tuple[Findings, Any, Any]) -> None:
    findings, _, frames = both
    tables = {"rubric_gen": "rubrics", "score_gen": "scores"}

    for found in (item for item in findings.refusals if item.stage in tables):
        rows = frames[tables[found.stage]]
        mine = rows[rows.model_id == found.model]
        refused = mine.attempt_count - (mine.parse_status == "parsed")
        assert found.refused == refused.sum()
        assert found.rate.value == pytest.approx(refused.sum() / mine.attempt_count.sum())
        assert found.failed == (mine.state == "failed").sum()
        assert found.tasks == len(mine)
