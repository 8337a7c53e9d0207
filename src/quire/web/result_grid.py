"""The result grid: a page of a stage's results, its filters, and one record whole."""

import json
from collections.abc import Mapping
from typing import Any

from quire.domain.data import Json, stored_json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId, TaskId
from quire.engine import Engine
from quire.engine.result_pages import ResultFilter, ResultRow, shown_value
from quire.export.result_selection import ALL, find_result_source, sink_stages
from quire.ledger.ledger import Transaction
from quire.web.run_standing import RunStanding

CLIPPED = 240  # characters of a cell; the record's own page has all of it
MOST_PARSED = 20_000  # characters of a row that is shown by its values
FIELD = "field."  # before the name of a field in an address
ROWS = 50


def read_grid(engine: Engine, run: RunStanding, asked: Mapping[str, str]) -> dict[str, Any]:
    """A page of results, as an address asks for it."""
    with engine.ledger.snapshot() as tx:
        stages = _stages(tx, run.id)
    stage = asked.get("stage") or stages[-1]
    chosen = _read_filter(asked)
    cursor = asked.get("cursor")
    page = engine.result_pages.page(run.id, stage, chosen, after=cursor, limit=ROWS)
    rows = [_row(row, page.fields) for row in page.rows]
    return {
        "grid": page,
        "rows": rows,
        "numeric": [_is_numeric(rows, at) for at in range(len(page.fields))],
        "with_text": any(row["text"] for row in rows),
        "found": engine.result_pages.count(run.id, stage, chosen),
        "all_rows": engine.result_pages.count(run.id, stage),
        "most_rows": ROWS,
        "stages": stages,
        "chosen": chosen,
        "cursor": cursor,
        "has_critics": any(item.critic for item in run.now.stages),
        "scored": any(row.score is not None for row in page.rows) or chosen.score_min is not None,
    }


def _stages(tx: Transaction, run: RunId) -> list[str]:
    """Stages that people look at the results of, what the recipe is for last."""
    recipe = find_result_source(tx, run).recipe
    last = sink_stages(recipe)[-1].name
    return [stage.name for stage in recipe.stages if stage.name != last] + [last]


def _read_filter(asked: Mapping[str, str]) -> ResultFilter:
    fields = {
        name.removeprefix(FIELD): value
        for name, value in asked.items()
        if name.startswith(FIELD) and value
    }
    return ResultFilter(
        only=asked.get("only") or ALL,
        text=asked.get("q", ""),
        fields=fields,
        score_min=_read_score(asked.get("score_min", "")),
        score_max=_read_score(asked.get("score_max", "")),
    )


def _read_score(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"a critic's score is a number such as 0.8, not {text!r}") from None


def _row(row: ResultRow, fields: tuple[str, ...]) -> dict[str, Any]:
    return {
        "row": row,
        "text": _clip(_without_keys(row.text)),
        "title": _clip(row.title),
        "part": _clip(row.part),
        "error": _clip(row.error),
        "cells": [_cell(row.data.get(name)) for name in fields],
    }


def _cell(value: Json) -> dict[str, Any]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {"text": _clip(shown_value(value)), "number": number, "none": value is None}


def _is_numeric(rows: list[dict[str, Any]], at: int) -> bool:
    return any(row["cells"][at]["number"] for row in rows)


def _without_keys(text: str) -> str:
    """A row of a table or of JSON by its values: its keys are the same in every row."""
    if not text.startswith("{") or len(text) > MOST_PARSED:
        return text
    try:
        row = json.loads(text)
    except ValueError:
        return text
    shown = (shown_value(value) for value in row.values()) if isinstance(row, dict) else ()
    return " · ".join(filter(None, shown)) or text


def _clip(text: str) -> str:
    line = " ".join(text[: 4 * CLIPPED].split())
    return line if len(line) <= CLIPPED else line[: CLIPPED - 1] + "…"


def read_record(engine: Engine, run: int, task: int) -> dict[str, Any]:
    """One result with all of its fields, what critics said, and the call it came in."""
    record = engine.result_pages.record(run, task)
    view = engine.queries.prompt(TaskId(task))
    before, after = engine.result_pages.neighbours(task)
    item = engine.review.item(task)
    with engine.ledger.snapshot() as tx:
        recipe = find_result_source(tx, RunId(run)).recipe
    critics = {stage.name for stage in recipe.stages if stage.critic}
    return {
        "record": record,
        "critics": [
            (critic, stored_json(critic.data) if critic.data else None) for critic in record.critics
        ],
        "source": item.source,
        "before": before,
        "after": after,
        "call": view.request_id,
        "stage": view.stage,
        "reviewable": item.result_id is not None and item.stage not in critics,
    }
