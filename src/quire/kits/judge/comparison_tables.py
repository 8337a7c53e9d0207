"""Tables of a comparison: what stands out, contrasts and figures, each with interval and n."""

from collections.abc import Sequence
from html import escape

from quire.domain.quantities import quantity
from quire.engine import render_meanings, render_table
from quire.kits.judge.comparison import ExperimentComparison, contrast_label, experiment_labels
from quire.kits.judge.contrast_questions import QUESTIONS, Question
from quire.kits.judge.contrasts import BY_EVIDENCE, BY_SAMPLE, Contrast
from quire.kits.judge.folding_table import folding_table
from quire.kits.judge.intervals import Estimate

_PAIRINGS = {BY_EVIDENCE: "by piece", BY_SAMPLE: "by sample"}
_HEAD = (
    "Contrast", "Model", "First", "Second", "Difference", "95 % interval", "All together", "n",
    "Paired",
)  # fmt: skip
_MEANINGS = {
    "Figure": "What is compared; each has a section below.",
    "Contrast": "The setting that differs, first less second; then what both have in common.",
    "First": "The figure of the first, over what is paired only.",
    "Second": "The same of the second.",
    "Difference": "First less second.",
    "95 % interval": "Of this difference alone; none where nothing moves from sample to sample.",
    "All together": "So long that those of all contrasts of this page hold at once in 95 of 100"
    " such comparisons (Bonferroni).",
    "n": "Pairs of verdicts, or verdicts of both where these are not paired one by one; in how many"
    " samples.",
    "Paired": "By piece: the same model on the same evidence in the sample of the same seed, where"
    " both gave such a verdict. By sample: all of a sample beside all of it. Not: the two share no"
    " samples.",
}
MOST_SHOWN = 40  # of what stands out; the files have all


def standing_out_table(comparison: ExperimentComparison) -> str:
    """The contrasts that are hardly chance among so many, the largest of each figure first."""
    out = [item for item in comparison.contrasts if item.stands_out]
    titles = {question.name: question for question in QUESTIONS}
    order = {question.name: place for place, question in enumerate(QUESTIONS)}
    out.sort(key=lambda item: (order[item.question], -abs(item.difference.value or 0)))
    if not out:
        known = "no contrast has an interval" if not _has_intervals(comparison) else "none does"
        return (
            "<section class='card wide'><h2>What stands out</h2><p>Among all contrasts of this"
            f" page, {known} (by Holm's procedure). That shows no difference; it does not show"
            " that there is none: the intervals say how large one may be.</p>"
            f"{render_meanings(_HEAD, _MEANINGS)}</section>"
        )
    rows = [
        [
            f"<a href='#{item.question}'>{escape(titles[item.question].title)}</a>",
            escape(contrast_label(comparison, item)),
            *_cells(item),
        ]
        for item in out[:MOST_SHOWN]
    ]
    more = f" The first {MOST_SHOWN} of {len(out)} are shown." if len(out) > MOST_SHOWN else ""
    return render_table(
        "What stands out",
        "Contrasts whose intervals exclude 0 also among all of this page, by Holm's procedure,"
        f" which errs in at most 5 of 100 such comparisons.{more} What is not here may differ"
        " all the same: the intervals below say by how much at most.",
        ("Figure", *_HEAD),
        rows,
        total=False,
        meanings=_MEANINGS,
    )


def _has_intervals(comparison: ExperimentComparison) -> bool:
    return any(item.difference.low is not None for item in comparison.contrasts)


def contrast_table(comparison: ExperimentComparison, question: Question) -> str:
    """All contrasts of one figure."""
    found = [item for item in comparison.contrasts if item.question == question.name]
    if not found:
        return "<p>No two of these experiments can be compared by it.</p>"
    rows = [
        [escape(contrast_label(comparison, item)), *_bold(_cells(item), item.stands_out)]
        for item in found
    ]
    title = f"{quantity(len(found), 'contrast')} as a table"
    return folding_table(title, _HEAD, rows)  # its columns are those of what stands out


def level_table(comparison: ExperimentComparison, question: Question) -> str:
    """The figure of every experiment and model."""
    labels = experiment_labels(comparison)
    known = [
        level
        for level in comparison.levels
        if level.question == question.name and level.figure.value is not None
    ]
    rows = [
        [
            escape(labels[level.experiment]),
            escape(level.model),
            _decimal(level.figure.value or 0.0),
            _interval(level.figure, signed=False),
            _rests_on(level.figure),
        ]
        for level in known
    ]
    head = ("Experiment", "Model", "Figure", "95 % interval", "n")
    return folding_table(f"{quantity(len(known), 'figure')} as a table", head, rows)


def _cells(item: Contrast) -> list[str]:
    found = item.difference
    return [
        escape(item.model),
        "–" if item.of_value is None else _decimal(item.of_value),
        "–" if item.against_value is None else _decimal(item.against_value),
        "–" if found.value is None else _difference(found.value),
        _interval(found),
        _interval(item.simultaneous),
        _rests_on(found),
        _PAIRINGS.get(item.pairing, "not"),
    ]


def _bold(cells: Sequence[str], stands_out: bool | None) -> list[str]:
    return [f"<strong>{cell}</strong>" if stands_out else cell for cell in cells]


def _rests_on(found: Estimate) -> str:
    return f"{found.observations:,} in {found.clusters:,}"


def _interval(found: Estimate, *, signed: bool = True) -> str:
    if found.low is None or found.high is None:
        return "–"
    form = _difference if signed else _decimal
    return f"{form(found.low)} to {form(found.high)}"


def _decimal(value: float) -> str:
    return f"{round(value, 3) or 0.0:.3f}".replace("-", "−")


def _difference(value: float) -> str:
    rounded = round(value, 3)
    return f"{rounded:+.3f}".replace("-", "−") if rounded else "0.000"
