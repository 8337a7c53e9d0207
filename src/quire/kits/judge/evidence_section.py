"""The report's evidence: a table of bundles, and for each its texts, verdicts and reasons."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from quire.engine import render_table
from quire.kits.judge.evidence_figures import BundleFigures
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_tables import TableRow
from quire.kits.judge.findings import Findings
from quire.kits.judge.report_tables import cell, difference
from quire.kits.judge.rubric_section import Anchors, rubric_anchors, rubric_section

MOST_REASONS = 3_000  # on one page
LONGEST_TEXT, LONGEST_REASON = 6_000, 1_500  # characters
_BETWEEN = "|"


def evidence_section(
    rows: ExperimentRows, findings: Findings, tables: Mapping[str, list[TableRow]]
) -> str:
    """The bundles, those that divide the models most first, each with what was said of it."""
    pieces = {str(row["evidence_id"]): row for row in tables["evidences"]}
    models = rows.experiment.models
    details = "".join(_bundles(rows, findings, tables, pieces))
    return (
        render_table(
            "Evidence, piece by piece",
            "Divided: how much oftener verdicts of different models differ than those of one model"
            " (shares, of different samples); at 0 the models differ no more than one from itself."
            " By model the expected stage. A title leads to the texts, verdicts and reasons.",
            ("Evidence", "Divided", "Truth", *models),
            [_row(number, item, pieces) for number, item in enumerate(findings.evidence, 1)],
            total=False,
        )
        + f"<section class='card wide'><h2>Texts, verdicts and reasons</h2>{details}</section>"
        + rubric_section(tables)
    )


def _row(number: int, item: BundleFigures, pieces: Mapping[str, TableRow]) -> list[str]:
    return [
        f"<a href='#bundle-{number}'>{number}. {escape(_title(item, pieces))}</a>",
        cell(item.divided, difference),
        "–" if item.truth is None else str(item.truth),
        *(
            f"{cell(part.expected_stage)}<small>{part.abstained:,} abstained</small>"
            for part in item.by_model
        ),
    ]


def _title(item: BundleFigures, pieces: Mapping[str, TableRow]) -> str:
    names = [str(pieces[name]["title"] or name) for name in item.bundle.split(_BETWEEN)]
    shown = " + ".join(names)
    return shown if len(shown) <= 70 else shown[:69] + "…"


def _bundles(
    rows: ExperimentRows,
    findings: Findings,
    tables: Mapping[str, list[TableRow]],
    pieces: Mapping[str, TableRow],
) -> Iterator[str]:
    said: dict[str, list[TableRow]] = {}
    anchors = rubric_anchors(tables)
    for score in tables["scores"]:
        if score["is_swap"] is not True:
            said.setdefault(str(score["bundle_signature"]), []).append(score)
    left = MOST_REASONS
    for number, item in enumerate(findings.evidence, 1):
        mine = said[item.bundle]
        yield (
            f"<details class='case'><summary><strong>{number}. {escape(_title(item, pieces))}"
            f"</strong></summary><div id='bundle-{number}'>{_texts(rows, item, pieces)}"
            f"{_grid(rows, mine, anchors)}{_reasons(rows, mine, left)}</div></details>"
        )
        left = max(0, left - len(mine))


def _texts(rows: ExperimentRows, item: BundleFigures, pieces: Mapping[str, TableRow]) -> str:
    column = f"{rows.experiment.evidence_view}_content"
    parts = []
    for name in item.bundle.split(_BETWEEN):
        text = str(pieces[name][column] or "(the text was purged, or the view was not made)")
        url = pieces[name]["url"]
        where = f"<small>{escape(str(url))}</small>" if url else ""
        parts.append(f"{where}<pre>{escape(_clip(text, LONGEST_TEXT))}</pre>")
    return "".join(parts)


def _grid(rows: ExperimentRows, scores: Sequence[TableRow], anchors: Anchors) -> str:
    """What each model said in each sample: stages, a for an abstention, a dot for none."""
    found = {
        (score["model_id"], score["sample_ordinal"]): _linked_mark(score, anchors)
        for score in scores
    }
    samples = range(rows.experiment.samples)
    head = "".join(f"<th>{sample}</th>" for sample in samples)
    lines = "".join(
        f"<tr><th>{escape(model)}</th>"
        + "".join(f"<td>{found.get((model, sample), '·')}</td>" for sample in samples)
        + "</tr>"
        for model in rows.experiment.models
    )
    return (
        "<p>Verdicts by sample: stages; a, abstained; ·, not read or not there. A verdict leads to"
        " the rubric it was given on, which says what its stages meant.</p>"
        "<div class='scroll'><table class='matrix verdicts'><thead><tr><th>sample</th>"
        f"{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _linked_mark(score: TableRow, anchors: Anchors) -> str:
    anchor = anchors.get(str(score["rubric_id"]))
    return f"<a href='#{anchor}'>{_mark(score)}</a>" if anchor else _mark(score)


def _mark(score: TableRow) -> str:
    if score["decoded_scores"] is None and not score["abstained"]:
        return "·"
    stages = score["decoded_scores"]
    named = [str(stage) for stage in stages] if isinstance(stages, Sequence) else []
    return "+".join(sorted(named)) if named else "a"


def _reasons(rows: ExperimentRows, scores: Sequence[TableRow], left: int) -> str:
    if left < len(scores):
        return "<p>Its reasons are in the export's table scores; this page has no more room.</p>"
    parts = []
    for model in rows.experiment.models:
        lines = "".join(
            f"<dt>sample {score['sample_ordinal']}: {_mark(score)}</dt>"
            f"<dd>{escape(_clip(str(score['justification'] or ''), LONGEST_REASON))}</dd>"
            for score in scores
            if score["model_id"] == model and score["justification"]
        )
        parts.append(
            f"<details><summary>Reasons of {escape(model)}</summary><dl>{lines}</dl></details>"
        )
    return "".join(parts)


def _clip(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
