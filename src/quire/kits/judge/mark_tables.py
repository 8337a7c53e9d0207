"""Mark tables: what each mark of a plot is, with its interval and what it rests on."""

from collections.abc import Sequence
from html import escape

from quire.domain.quantities import quantity
from quire.engine import render_meanings, render_table
from quire.kits.judge.calibration import TRUTH
from quire.kits.judge.column_meanings import MEANINGS
from quire.kits.judge.findings import Findings
from quire.kits.judge.folding_table import folding_table
from quire.kits.judge.metrics import Metrics
from quire.kits.judge.report_tables import cell, difference, percent


def curve_table(findings: Findings) -> str:
    """How right the verdicts are that are kept, mark by mark."""
    rows = [
        [
            escape(item.model),
            percent(point.kept),
            f"{point.least_agreement:.2f}",
            cell(point.accuracy, percent),
            percent(point.chance),
        ]
        for item in findings.correctness
        for point in item.curve
    ]
    head = ("Model", "Kept", "Critic says at least", "Accuracy", "Chance")
    return _fold_marks("Accuracy against abstention, mark by mark", "curve", head, rows)


def bins_table(findings: Findings) -> str:
    """What came true of what critics said, mark by mark."""
    rows = [
        [
            escape(item.model),
            "truth" if item.against == TRUTH else "other models",
            f"{part.low:.1f} to {part.high:.1f}",
            percent(part.said),
            cell(part.found, percent),
        ]
        for item in findings.calibration
        for part in item.bins
    ]
    head = ("Model", "Against", "Bin", "Said", "Found")
    return _fold_marks("What critics said and what came true, mark by mark", "bins", head, rows)


def swap_table(metrics: Metrics) -> str:
    """How models judge on their rivals' rubrics."""
    if not metrics.swap_deltas:
        return ""
    return render_table(
        "Do models judge otherwise on a rival's rubric?",
        "Expected stage on the rival's rubric less that on the model's own, for the same sample and"
        " bundle. An interval that holds 0: none is seen. Rubrics are scales of their own, so that"
        " a difference may be that of the scales.",
        ("Model", "Rubric of", "Higher by"),
        [
            [escape(delta.of), escape(delta.against), cell(delta.stages, difference)]
            for delta in metrics.swap_deltas
        ],
        total=False,
        meanings=MEANINGS["swaps"],
    )


def _fold_marks(title: str, name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    table = folding_table(f"{quantity(len(rows), 'mark')} as a table", head, rows)
    return (
        f"<section class='card wide'><h2>{escape(title)}</h2>{table}"
        f"{render_meanings(head, MEANINGS[name])}</section>"
    )
