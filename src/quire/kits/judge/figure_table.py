"""The table of figures: every figure of an experiment in a row, for export and comparison."""

from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations
from typing import NamedTuple

from quire.domain.data import Json
from quire.kits.judge.findings import Findings
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Metrics

FIGURES = "figures"
FIGURE_COLUMNS = {
    "run_id": "integer",
    "question": "text",
    "figure": "text",
    "model_id": "text",
    "other_model_id": "text",
    "item": "text",
    "value": "number",
    "low": "number",
    "high": "number",
    "observations": "integer",
    "clusters": "integer",
}


class FigureRow(NamedTuple):
    """One figure: what it answers, whose it is, and its estimate."""

    question: str
    figure: str
    model: str | None
    other: str | None
    item: str | None  # a line, a bundle, a stage of the run, a bin
    found: Estimate

    def values(self, run_id: int) -> tuple[Json, ...]:
        """The cells of `FIGURE_COLUMNS`."""
        return (run_id, *self[:5], *self.found)


def figure_rows(metrics: Metrics, findings: Findings) -> Iterator[FigureRow]:
    """Every figure, those of single bundles and bins too."""
    yield from _score_figures(metrics)
    yield from _agreement_figures(findings)
    yield from _bias_figures(findings)
    for drift in findings.drift:
        yield from _estimates("drift", drift, drift.model)
    yield from _truth_figures(findings)
    yield from _rubric_figures(findings)
    for bundle in findings.evidence:
        divided = bundle.divided
        yield FigureRow("evidence", "divided", None, None, bundle.bundle, divided)
        for part in bundle.by_model:
            yield from _estimates("evidence", part, part.model, item=bundle.bundle)
    for refusals in findings.refusals:
        yield from _estimates("refusals", refusals, refusals.model, item=refusals.stage)


def _estimates(
    question: str, holder: object, model: str | None, other: str | None = None,
    item: str | None = None, prefix: str = "",
) -> Iterator[FigureRow]:  # fmt: skip
    """The estimates among the fields of a dataclass, by name."""
    for field in fields(holder):  # type: ignore[arg-type]  # a dataclass
        found = getattr(holder, field.name)
        if isinstance(found, Estimate):
            yield FigureRow(question, prefix + field.name, model, other, item, found)


def _score_figures(metrics: Metrics) -> Iterator[FigureRow]:
    for figures in metrics.by_model:
        yield from _estimates("scores", figures, figures.model)
        for stage, share in enumerate(figures.stage_shares_of_decoded, 1):
            name = "stage_share_of_decoded"
            yield FigureRow("scores", name, figures.model, None, str(stage), share)
    for one, other in combinations(metrics.divergence, 2):
        found = metrics.divergence[one][other]
        yield FigureRow("pairs", "divergence", one, other, None, found)
    for name, deltas in (("matched_delta", metrics.deltas), ("swap_delta", metrics.swap_deltas)):
        for delta in deltas:
            yield FigureRow("pairs", name, delta.of, delta.against, None, delta.stages)


def _agreement_figures(findings: Findings) -> Iterator[FigureRow]:
    for within in findings.agreement.within:
        yield from _estimates("agreement", within, within.model, prefix="within_")
    if findings.agreement.between:
        yield from _estimates("agreement", findings.agreement.between, None, prefix="between_")
    for pair in findings.agreement.pairs:
        yield from _estimates("agreement", pair, pair.models[0], pair.models[1], prefix="between_")


def _bias_figures(findings: Findings) -> Iterator[FigureRow]:
    for bias in findings.display_bias:
        for slot in bias.slots:
            share = f"{bias.kind}_share"
            yield FigureRow("display_bias", share, bias.model, None, slot.slot, slot.chosen)
            expected = Estimate(slot.expected)
            yield FigureRow(
                "display_bias", f"{bias.kind}_expected", bias.model, None, slot.slot, expected
            )
        for name in ("chi_square", "p_value", "adjusted_p_value"):
            found = Estimate(
                getattr(bias, name), observations=bias.observations, clusters=bias.clusters
            )
            yield FigureRow("display_bias", f"{bias.kind}_{name}", bias.model, None, None, found)


def _truth_figures(findings: Findings) -> Iterator[FigureRow]:
    for item in findings.correctness:
        yield from _estimates("accuracy", item, item.model)
        for name in ("chance", "commonest_truth"):
            found = Estimate(getattr(item, name))
            yield FigureRow("accuracy", name, item.model, None, None, found)
        for point in item.curve:
            kept = f"{point.kept:.4f}"
            yield FigureRow("accuracy", "of_kept", item.model, None, kept, point.accuracy)
            guessed = Estimate(point.chance)
            yield FigureRow("accuracy", "chance_of_kept", item.model, None, kept, guessed)
    for critic in findings.calibration:
        prefix = f"{critic.against}_"
        yield from _estimates("calibration", critic, critic.model, prefix=prefix)
        for part in critic.bins:
            name = f"{part.low:.1f}-{part.high:.1f}"
            yield FigureRow("calibration", f"{prefix}bin", critic.model, None, name, part.found)


def _rubric_figures(findings: Findings) -> Iterator[FigureRow]:
    for rubrics in findings.rubrics:
        yield from _estimates("rubrics", rubrics, rubrics.model)
        for relation in rubrics.relations:
            name = f"{relation.quality}_and_{relation.outcome}"
            yield FigureRow("rubrics", name, rubrics.model, None, None, relation.correlation)
