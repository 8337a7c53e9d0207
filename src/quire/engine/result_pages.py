"""Result pages: the results of a stage a page at a time, filtered, from anywhere in a million.

The idea. A page begins behind a cursor, which is a place in an index, and looks at no more than
`MOST_LOOKED_AT` tasks, whatever the filter. Where few of them fit, the page is short and its cursor
says where to look on, so that no question reads a whole stage.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from quire.domain.data import Json, stored_json
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import RunId, StageId, TaskId
from quire.domain.recipes import Stage
from quire.domain.task_wording import span_text
from quire.engine.context import EngineContext
from quire.engine.row_counts import RowCount, count_confirmed, count_exported, count_statuses
from quire.export.critic_words import ExportedVerdict, critic_verdicts, data_columns
from quire.export.result_selection import (
    ALL,
    CONFIRMED,
    ONLY,
    UNREVIEWED,
    WITH_DATA,
    ResultSource,
    RowFilter,
    choose_stage,
    find_result_source,
    sink_stages,
    task_status,
)
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import CritiqueRow, Results, StageOutcome
from quire.planning.critic_standing import critic_standing

MOST_LOOKED_AT = 2000  # tasks, for one page
AT_ONCE = 200  # read at a time
MOST_ROWS = 500  # of a page
_INDEXED: Mapping[str, Callable[[Results], Callable[[StageId, int, int], list[StageOutcome]]]] = {
    # statuses whose tasks are found without a look at the others
    "failed": lambda results: results.failed_outcomes_after,
    "proposed": lambda results: results.proposed_outcomes_after,
    "blocked": lambda results: results.blocked_outcomes_after,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFilter:
    """Which results a page shows."""

    only: str = ALL  # as in exports
    text: str = ""  # in the data or in the block, whatever the case
    fields: Mapping[str, str] = field(default_factory=dict)  # that have these values, as shown
    score_min: float | None = None  # of the lowest that a critic gave
    score_max: float | None = None

    @property
    def is_by_standing(self) -> bool:
        """Whether it looks at nothing but how tasks stand, which is summed up."""
        return not (self.text or self.fields) and self.score_min is self.score_max is None

    def takes(self, row: "ResultRow") -> bool:
        """Whether a row is wanted."""
        if not RowFilter(self.only).takes(row.status):
            return False
        if any(shown_value(row.data.get(name)) != value for name, value in self.fields.items()):
            return False
        if self.text and not row.contains(self.text.casefold()):
            return False
        return self._takes_score(row.score)

    def _takes_score(self, score: float | None) -> bool:
        if self.score_min is None and self.score_max is None:
            return True
        low = 0.0 if self.score_min is None else self.score_min
        high = float("inf") if self.score_max is None else self.score_max
        return score is not None and low <= score <= high


EVERY_RESULT = ResultFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One task with its result, as a row of the grid."""

    task_id: TaskId
    title: str  # of the document
    part: str  # where in it
    text: str  # of its block
    model: str
    status: str
    data: Mapping[str, Json]
    error: str
    score: float | None
    review: str
    stale: bool
    critics: tuple[ExportedVerdict, ...] = ()

    def contains(self, folded: str) -> bool:
        """Whether a text is in it, given in one case."""
        return folded in self.text.casefold() or any(
            folded in shown_value(value).casefold() for value in self.data.values()
        )

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "task_id": self.task_id,
            "title": self.title,
            "part": self.part,
            "text": self.text,
            "model": self.model,
            "status": self.status,
            "data": dict(self.data) or None,
            "error": self.error or None,
            "score": self.score,
            "review": self.review,
            "stale": self.stale,
        }


class ResultPage(NamedTuple):
    """A page of the grid."""

    stage: str
    fields: tuple[str, ...]  # columns of the data
    rows: list[ResultRow]
    next: str | None  # the cursor of the page behind it; None: this is the last
    looked_at: int  # tasks, of which the rows were chosen


class ResultPages:
    """Turns pages of an engine's results."""

    def __init__(self, context: EngineContext) -> None:
        """Look at the context's ledger."""
        self._context = context

    def page(
        self,
        run: int,
        stage: str | None = None,
        chosen: ResultFilter = EVERY_RESULT,
        *,
        after: str | None = None,
        limit: int = 50,
    ) -> ResultPage:
        """The rows behind a cursor; without a stage, of the recipe's last one."""
        if chosen.only not in ONLY:
            raise UsageError(f"results are filtered by {', '.join(ONLY)}, not by {chosen.only!r}")
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, RunId(run))
            wanted = choose_stage(source.recipe, stage or sink_stages(source.recipe)[-1].name)
            reader = _Reader(tx, source, source.stage_ids[wanted.name], chosen)
            rows, cursor = reader.read(after, max(1, min(limit, MOST_ROWS)))
        return ResultPage(wanted.name, _columns(wanted, rows), rows, cursor, reader.looked_at)

    def count(
        self, run: int, stage: str | None = None, chosen: ResultFilter = EVERY_RESULT
    ) -> RowCount:
        """How many rows a filter takes: exactly, or of the first tasks so many."""
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, RunId(run))
            wanted = choose_stage(source.recipe, stage or sink_stages(source.recipe)[-1].name)
            number = source.stage_ids[wanted.name]
            if chosen.is_by_standing and chosen.only == CONFIRMED:
                return count_confirmed(tx, number)
            if chosen.is_by_standing and chosen.only != UNREVIEWED:
                rows = count_statuses(tx.tallies.tallies_by_stage(RunId(run)).get(number, {}))
                return RowCount(sum(rows.values()) if chosen.only == ALL else rows[chosen.only])
            reader = _Reader(tx, source, number, chosen)
            found, more = reader.read(None, MOST_LOOKED_AT)
        return RowCount(len(found), more is None)

    def export_counts(self, run: int) -> dict[str, dict[str, RowCount]]:
        """How many rows exports of a run have, by stage and by what they are limited to."""
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, RunId(run))
            tallies = tx.tallies.tallies_by_stage(RunId(run))
            return {
                stage.name: count_exported(
                    tx, source, stage, tallies.get(source.stage_ids[stage.name], {})
                )
                for stage in source.recipe.stages
            }

    def record(self, run: int, task: int) -> ResultRow:
        """One result, whole."""
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, RunId(run))
            found, view = tx.results.outcome_of_task(TaskId(task)), tx.tasks.get_task(TaskId(task))
            if found is None or view is None or view.run_id != source.run.id:
                raise NotFound(f"run {run} has no task {task}")
            words = tx.results.critiques_of_tasks([found.task_id])
        return _to_row(source, found, words.get(found.task_id, ()))

    def neighbours(self, task: int) -> tuple[TaskId | None, TaskId | None]:
        """The tasks before and after one, in the order of the grid."""
        with self._context.ledger.snapshot() as tx:
            return tx.tasks.task_before(TaskId(task)), tx.tasks.task_after(TaskId(task))


def _columns(stage: Stage, rows: Sequence[ResultRow]) -> tuple[str, ...]:
    """What its schema says, or without one what its gates made of the answers."""
    if stage.schema:
        return tuple(stage.schema.properties)
    return tuple(dict.fromkeys(name for row in rows for name in row.data)) or ("text",)


class _Reader:
    """Reads tasks until a page is full, or enough of them were looked at."""

    def __init__(
        self, tx: Transaction, source: ResultSource, stage: StageId, chosen: ResultFilter
    ) -> None:
        self._tx, self._source, self._stage, self._chosen = tx, source, stage, chosen
        self._indexed = _INDEXED.get(chosen.only)
        self.looked_at = 0

    def read(self, cursor: str | None, limit: int) -> tuple[list[ResultRow], str | None]:
        """The rows behind a cursor that are wanted, and the next cursor."""
        place, rows = _parse_cursor(cursor), []
        while self.looked_at < MOST_LOOKED_AT:
            chunk = self._next(place, AT_ONCE)
            for row, place in self._to_rows(chunk):
                self.looked_at += 1
                if self._chosen.takes(row):
                    rows.append(row)
                if len(rows) == limit:
                    return rows, self._cursor(place)
            if len(chunk) < AT_ONCE:
                return rows, None
        return rows, self._cursor(place)

    def _next(self, place: bytes, limit: int) -> list[StageOutcome]:
        results = self._tx.results
        if self._indexed is None:
            return results.outcomes_after(self._stage, place, limit)
        return self._indexed(results)(self._stage, int.from_bytes(place, "big"), limit)

    def _to_rows(self, chunk: Sequence[StageOutcome]) -> Iterator[tuple[ResultRow, bytes]]:
        """Rows, each with its place in the index."""
        words = self._tx.results.critiques_of_tasks([outcome.task_id for outcome in chunk])
        for outcome in chunk:
            number = int(outcome.task_id).to_bytes(8, "big")
            place = bytes(outcome.subject) if self._indexed is None else number
            yield _to_row(self._source, outcome, words.get(outcome.task_id, ())), place

    def _cursor(self, place: bytes) -> str | None:
        return _write_cursor(place) if self._next(place, 1) else None


def _to_row(source: ResultSource, outcome: StageOutcome, words: Sequence[CritiqueRow]) -> ResultRow:
    status = task_status(outcome.state, outcome.review_state)
    critics = critic_verdicts(source, words) if words else ()
    return ResultRow(
        task_id=outcome.task_id,
        title=outcome.title or outcome.source or "",
        part=_describe_part(outcome),
        text=outcome.content or "",
        model=source.models[outcome.model_no],
        status=status,
        data=data_columns(stored_json(outcome.data)) if status in WITH_DATA else {},
        error=outcome.error or "",
        score=_lowest_score(source, critics),
        review=outcome.review_state or "unreviewed",
        stale=outcome.stale_since is not None,
        critics=critics,
    )


def _describe_part(outcome: StageOutcome) -> str:
    """Where in its document what it is about stands."""
    if outcome.block_index is not None:
        return str(outcome.block_index)
    return span_text(stored_json(outcome.part))


def _lowest_score(source: ResultSource, critics: Sequence[ExportedVerdict]) -> float | None:
    """The lowest score that a critic gave, 0 to 1, where one gave any."""
    stages = {stage.name: stage for stage in source.recipe.stages}
    said = (
        critic_standing(stages[critic.stage], stored_json(critic.data)).score
        for critic in critics
        if critic.data
    )
    return min((score for score in said if score is not None), default=None)


def shown_value(value: Json) -> str:
    """A value as people see and type it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(shown_value, value))
    if isinstance(value, dict):
        return "; ".join(f"{name}: {shown_value(part)}" for name, part in value.items())
    return str(value)


def _write_cursor(place: bytes) -> str:
    return base64.urlsafe_b64encode(place).decode().rstrip("=")


def _parse_cursor(cursor: str | None) -> bytes:
    text = cursor or ""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"{cursor!r} is no cursor; leave it out to begin again") from None
