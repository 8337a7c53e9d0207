"""The report's rubrics: what each stage meant where a verdict was given, by model and sample."""

from collections.abc import Mapping, Sequence
from html import escape

from quire.domain.data import Json
from quire.kits.judge.experiment_tables import TableRow

MOST_RUBRICS = 600  # on one page
Anchors = Mapping[str, str]  # by the name of a rubric


def rubric_anchors(tables: Mapping[str, list[TableRow]]) -> Anchors:
    """Where each rubric stands that could be read, as far as there is room for it."""
    read = [str(row["rubric_id"]) for row in tables["rubrics"] if row["stages"]]
    return {name: f"rubric-{number}" for number, name in enumerate(read[:MOST_RUBRICS], 1)}


def rubric_section(tables: Mapping[str, list[TableRow]]) -> str:
    """Every rubric, to be opened; empty where there is none."""
    anchors = rubric_anchors(tables)
    items = "".join(
        f"<details class='case'><summary>{escape(_title(row))}</summary>"
        f"<div id='{anchors[str(row['rubric_id'])]}'>{_stages(row['stages'])}</div></details>"
        for row in tables["rubrics"]
        if str(row["rubric_id"]) in anchors
    )
    if not items:
        return ""
    more = sum(bool(row["stages"]) for row in tables["rubrics"]) - len(anchors)
    left = f" {more:,} more stand in the export's table rubrics." if more else ""
    return (
        "<section class='card wide'><h2>What stages meant</h2><p>The rubrics that verdicts were"
        f" given on, each with the criteria of its stages, weakest first.{left}</p>"
        f"{items}</section>"
    )


def _title(row: TableRow) -> str:
    if row["parse_status"] == "given":
        return "The rubric that was given"
    return f"{row['model_id']}, sample {row['sample_ordinal']}"


def _stages(stages: Json) -> str:
    assert isinstance(stages, Sequence)
    lines = []
    for stage in stages:
        assert isinstance(stage, Mapping)
        criteria = stage["criteria"]
        listed = "; ".join(map(str, criteria)) if isinstance(criteria, Sequence) else ""
        lines.append(
            f"<dt>{escape(str(stage['stage_number']))}. {escape(str(stage['label']))}</dt>"
            f"<dd>{escape(listed)}</dd>"
        )
    return f"<dl>{''.join(lines)}</dl>"
