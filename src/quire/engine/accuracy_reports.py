"""Accuracy reports: runs held against gold, or against what people decided of their results.

What is held against gold is the model's own answer, also where a person has edited it since. Where
there is no gold, results that people approved or edited are it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

import orjson

from quire.domain.data import Json, JsonObject, as_object, canonical_json, stored_json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.recipes import Schema
from quire.domain.states import ReviewState
from quire.engine.context import EngineContext
from quire.engine.gold_rows import (
    IDENTITIES,
    MOST_NAMED,
    Gold,
    GoldSource,
    gold_keys,
    identity_text,
    read_gold_rows,
)
from quire.engine.html_tables import html_table
from quire.export.accuracy_json import accuracy_as_json
from quire.export.accuracy_page import interval, render_accuracy
from quire.export.flat_tables import flat_table
from quire.export.result_selection import WITH_DATA, RowFilter, choose_stage, find_result_source
from quire.planning.accuracy import (
    GoldPair,
    RunAccuracy,
    RunDifference,
    compare_runs,
    measure_accuracy,
)
from quire.planning.value_matching import MatchRule, parse_rule, read_gold, rule_of_field

CONFIRMED = (ReviewState.APPROVED.value, ReviewState.EDITED.value)
REVIEWS = "reviewed results"  # what stands in the place of gold's name
PAGE, FIGURES = "accuracy.html", "accuracy.json"
OWN_COLUMNS = (*IDENTITIES, "text", "status", "error", "review", "conv_uid", "part")
RECORD = "record"  # what a row is about, where that is no block: see _name_record


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyReport:
    """How right runs are, one by one and beside each other."""

    gold: str  # the file, or that reviews were taken
    key: str  # the column by which gold found its rows
    runs: tuple[RunAccuracy, ...]
    differences: tuple[RunDifference, ...]
    schema: Mapping[str, JsonObject]  # the fields
    unmatched: tuple[str, ...] = ()  # gold that no run has a row for
    ignored: tuple[str, ...] = ()  # columns of gold that are no fields
    shared: tuple[str, ...] = ()  # names of gold that several rows of a run have: the first counts
    simulated: bool = False

    def _repr_html_(self) -> str:
        """How a notebook shows it: a line a field, of every run."""
        rows = [
            (
                *(run.label, field.name, f"{field.accuracy.share:.1%}", interval(field.accuracy)),
                *(f"{field.precision.share:.1%}", f"{field.recall.share:.1%}", field.accuracy.of),
            )
            for run in self.runs
            for field in run.fields
        ]
        columns = ("run", "field", "accuracy", "95 %", "precision", "recall", "rows")
        return html_table(columns, rows, f"held against {self.gold}")

    def as_json(self) -> dict[str, object]:
        """The same for programs: every figure with its n and its interval."""
        return {
            "gold": self.gold,
            "key": self.key,
            **accuracy_as_json(self.runs, self.differences),
            "unmatched": self.unmatched,
            "ignored": self.ignored,
            "shared": self.shared,
            "simulated": self.simulated,
        }


class _RunRow(NamedTuple):
    """One row of a run as it is held against gold."""

    columns: Mapping[str, Json]  # ours: key, source, text, status …
    data: JsonObject | None  # as it stands now
    answer: JsonObject | None  # as the model gave it
    said: JsonObject  # by critics


class _ScoredRun(NamedTuple):
    label: str
    schema: Schema
    rows: list[_RunRow]
    simulated: bool


class AccuracyReports:
    """Runs of a ledger, held against what is right."""

    def __init__(self, context: EngineContext) -> None:
        """Read the context's ledger."""
        self._context = context

    def score(
        self,
        runs: Sequence[int],
        gold: GoldSource | None = None,
        *,
        key: str | None = None,
        match: Mapping[str, str] | None = None,
        stage: str | None = None,
    ) -> AccuracyReport:
        """Hold runs against gold: a file of rows, rows, or where it is None what people decided.

        `key` is the column of gold that names rows, also `column=source` where rows go by another
        identity; `match` says how fields are compared: exact, normalised, numeric:0.01, set.
        """
        found = [self._read_run(RunId(run), stage) for run in runs]
        schema = found[0].schema.properties
        known = (
            _gold_of_reviews(found)
            if gold is None
            else read_gold_rows(gold, key, _identities(found))
        )
        rules = _choose_rules(known, schema, match or {})
        measured = tuple(_measure(run, known, rules) for run in found)
        matched = {pair.name for run in measured for pair in run.pairs}
        if not matched:
            raise _unmatched_error(found, known)
        return AccuracyReport(
            gold=known.name,
            key=known.key,
            runs=measured,
            differences=tuple(compare_runs(measured)),
            schema={name: schema[name] for name in rules},
            unmatched=tuple(name for name in known.rows if name not in matched),
            shared=_shared_names(found, known),
            ignored=tuple(_columns_without_field(known, schema)),
            simulated=any(run.simulated for run in found),
        )

    def write_page(self, report: AccuracyReport, folder: Path) -> Path:
        """Write a page of a report with its plots, and its figures as JSON; returns the page."""
        updated = f"{self._context.runtime.now():%Y-%m-%d %H:%M} UTC"
        page = render_accuracy(report.runs, report.differences, report.gold, updated)
        figures = orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2) + b"\n"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / FIGURES).write_bytes(figures)
            (folder / PAGE).write_text(page, "utf-8")
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
        return folder / PAGE

    def _read_run(self, run: RunId, stage: str | None) -> _ScoredRun:
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, run)
            wanted = choose_stage(source.recipe, stage)
            if wanted.schema is None:
                raise UsageError(f"{wanted.name} of run {run} answers in text; gold is for records")
            before = tx.results.answers_before_edits(source.stage_ids[wanted.name])
            rows = flat_table(tx, source, wanted, RowFilter()).as_mappings()
        fields = wanted.schema.properties
        model = source.models[0] if len(source.models) == 1 else ", ".join(source.models)
        return _ScoredRun(
            label=f"run {run} ({model})",
            schema=wanted.schema,
            rows=[_read_row(row, fields, before) for row in rows],
            simulated=source.models[0].startswith("simulated/"),
        )


def _read_row(
    row: Mapping[str, Json], fields: Mapping[str, JsonObject], before: Mapping[TaskId, str]
) -> _RunRow:
    """A flat row taken apart: our columns give way to the schema's where they share a name."""
    ours = {name: row.get(f"quire_{name}" if name in fields else name) for name in OWN_COLUMNS}
    ours[RECORD] = _name_record(ours)
    has_data = ours["status"] in WITH_DATA
    data = {name: row.get(name) for name in fields} if has_data else None
    task = ours["task_id"]
    first = before.get(TaskId(task)) if isinstance(task, int) else None
    said = {name: value for name, value in row.items() if "." in name and name not in fields}
    return _RunRow(ours, data, as_object(stored_json(first)) if first else data, said)


def _name_record(ours: Mapping[str, Json]) -> str:
    """Which document it is, and which part of it: titles alone are often the same."""
    part = "" if ours["part"] is None else f" {canonical_json(ours['part'])}"
    return f"{ours['title'] or ''} ({str(ours['conv_uid'])[:12]}){part}"


def _gold_of_reviews(runs: Sequence[_ScoredRun]) -> Gold:
    """What people approved or edited, by the block, document or part that it is about."""
    by = "block_uid" if runs[0].rows and runs[0].rows[0].columns.get("block_uid") else RECORD
    rows = {
        identity_text(row.columns.get(by)): row.data
        for run in runs
        for row in run.rows
        if row.columns.get("review") in CONFIRMED and row.data is not None
    }
    if not rows:
        raise UsageError(
            "nobody has reviewed these results, and no gold is given",
            "`--gold gold.csv` names a file; `quire approve` and `quire edit` make gold of results",
        )
    return Gold(REVIEWS, rows, by, by)


def _identities(runs: Sequence[_ScoredRun]) -> dict[str, set[str]]:
    """What rows go by; a file also by its name without the folders."""
    found = {
        name: {identity_text(row.columns.get(name)) for run in runs for row in run.rows} - {""}
        for name in IDENTITIES
    }
    found["source"] |= {PurePath(path).name for path in found["source"]}
    return found


def _columns_without_field(gold: Gold, schema: Mapping[str, JsonObject]) -> list[str]:
    columns = dict.fromkeys(name for row in gold.rows.values() for name in row)
    return [name for name in columns if name not in schema and name != gold.key]


def _choose_rules(
    gold: Gold, schema: Mapping[str, JsonObject], match: Mapping[str, str]
) -> dict[str, MatchRule]:
    """How each field that gold knows is compared."""
    for name in match:
        if name not in schema:
            raise UsageError(f"--match {name}: the schema has {', '.join(schema)}")
    columns = {name for row in gold.rows.values() for name in row}
    rules = {
        name: parse_rule(match[name]) if name in match else rule_of_field(field)
        for name, field in schema.items()
        if name in columns
    }
    if not rules:
        raise UsageError(
            f"{gold.name} has no column that is a field of the schema",
            f"fields are {', '.join(schema)}; columns are {', '.join(sorted(columns))}",
        )
    return rules


def _measure(run: _ScoredRun, gold: Gold, rules: Mapping[str, MatchRule]) -> RunAccuracy:
    schema = run.schema.properties
    identities = [identity_text(row.columns.get(gold.identity)) for row in run.rows]
    pairs: dict[str, GoldPair] = {}
    for row, name in zip(run.rows, gold_keys(identities, gold), strict=True):
        if name is not None and name not in pairs:
            stated = gold.rows[name]
            pairs[name] = GoldPair(
                name=name,
                text=str(row.columns.get("text") or ""),
                answer=row.answer,
                gold={field: read_gold(stated.get(field), schema[field]) for field in rules},
                task_id=row.columns["task_id"],  # type: ignore[arg-type]
                status=str(row.columns.get("status") or ""),
                error=str(row.columns.get("error") or ""),
                said=row.said,
                review=str(row.columns.get("review") or ""),
            )
    return measure_accuracy(run.label, list(pairs.values()), rules, schema)


def _shared_names(runs: Sequence[_ScoredRun], gold: Gold) -> tuple[str, ...]:
    """What names several tasks of a run; several paths of one are the same."""
    found: set[str] = set()
    for run in runs:
        identities = [identity_text(row.columns.get(gold.identity)) for row in run.rows]
        tasks: dict[str, Json] = {}
        for row, name in zip(run.rows, gold_keys(identities, gold), strict=True):
            task = row.columns["task_id"]
            if name is not None and tasks.setdefault(name, task) != task:
                found.add(name)
    return tuple(sorted(found))


def _unmatched_error(runs: Sequence[_ScoredRun], gold: Gold) -> UsageError:
    """Say what both sides go by, so that the difference is seen."""
    found = [identity_text(row.columns.get(gold.identity)) for run in runs for row in run.rows]
    rows = ", ".join([text or "(none)" for text in found][:MOST_NAMED])
    return UsageError(
        f"no row of {', '.join(run.label for run in runs)} is named by {gold.key} of {gold.name}",
        f"gold has {', '.join(list(gold.rows)[:MOST_NAMED])}; rows go by {gold.identity}: {rows};"
        " --key COLUMN=IDENTITY takes another",
    )
