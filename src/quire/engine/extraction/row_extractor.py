"""Row extractor: rows and a schema in, the same rows with typed answers out, resumed as one."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.runs import HeldError, Progress
from quire.domain.workbench import NAMES_IN_EXTRACT, refuse_misnamed
from quire.engine.context import EngineContext
from quire.engine.extraction.asked_schemas import AskedSchema, resolve_asked
from quire.engine.extraction.file_rows import (
    BLOCK_UNIT,
    FileRows,
    read_files,
    unit_frame,
)
from quire.engine.extraction.frame_answers import ROWS, AnswerForm, RunFacts, give_back
from quire.engine.extraction.frame_documents import frame_document, make_reader
from quire.engine.extraction.frame_kinds import Frame, path_names, read_frame
from quire.engine.extraction.row_outcomes import in_row_order, run_outcomes, task_answers
from quire.engine.extraction.row_stream import (
    OutcomeReader,
    StreamedRow,
    StreamedRows,
    skipped_rows,
    stream_run,
)
from quire.engine.forecasts import Plan
from quire.engine.foreign_values import CallerObject, Cell, ForeignRows, Said
from quire.engine.kept_schemas import SchemaSource
from quire.engine.library import Library
from quire.engine.run_handle import RunHandle
from quire.engine.run_lines import choose_line, progress_line
from quire.engine.wallets import Dollars

ASKS_NOTHING = "has this already: reuse=False asks nothing again; new=True, too, asks all, and pays"
SAME_CALL = "the same call"  # what goes on with a run that stopped

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once


class ExtractionParts(NamedTuple):
    """What an extractor asks of its engine."""

    context: EngineContext
    library: Library
    run: Callable[..., RunHandle]
    plan: Callable[..., Plan]
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWishes:
    """What a caller says besides the rows and the schema."""

    prompt: str | None = None
    text: str | None = None  # a column, or a template over columns
    key: str | None = None  # the column that names rows
    model: str | None = None
    limit: int | None = None
    max_cost: float | None = None
    wallet: str | None = None
    budget: Dollars | None = None
    retry: bool = False  # ask failed rows once more
    policy: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowJob:
    """The caller's rows in the ledger, and what is asked of them."""

    frame: Frame
    asked: AskedSchema
    documents: tuple[DocumentId, ...]  # none: no row says anything
    positions: Sequence[int]  # of the row that each block is
    wishes: RowWishes

    @property
    def order(self) -> dict[str, CallerObject]:
        """What runs and plans are told alike."""
        return {
            "schema": self.asked.schema,
            "over": self.documents,
            "model": self.wishes.model,
            **self.wishes.policy,
        }

    @property
    def is_of_larger_units(self) -> bool:
        """Whether documents, sections or pages are asked about, and not blocks."""
        return str(self.wishes.policy.get("per", BLOCK_UNIT)) != BLOCK_UNIT

    def find_positions(self, document: DocumentId, index: int) -> list[int]:
        """Which rows a block is: several, where files say the same."""
        if isinstance(self.frame, FileRows):
            return self.frame.find_positions(document, index)
        return [self.positions[index]]


class RowExtractor:
    """Asks a schema of every row, and gives the rows back with the answers."""

    def __init__(self, parts: ExtractionParts) -> None:
        """Work with an engine."""
        self._parts = parts

    def extract(
        self,
        data: ForeignRows,
        schema: SchemaSource,
        *,
        as_: str | None = None,
        progress: bool | None = None,
        **said: Said,
    ) -> ForeignRows:
        """As `quire.extract`, with this engine's ledger."""
        job = self.prepare(data, schema, read_row_wishes(said))
        wanted = AnswerForm(job.frame, job.asked, as_)
        wanted.check()
        if not job.documents:
            return give_back(wanted, in_row_order(iter(()), (), len(job.frame)), RunFacts())
        run = self.start(job)
        before = run.progress()
        try:
            with progress_line(choose_line(progress), run.progress) as watch:
                run.wait(watch)
        except HeldError as held:
            partial = self._collect(job, wanted, run, before)
            raise HeldError(held.progress, SAME_CALL, partial) from None
        except KeyboardInterrupt as stop:
            raise _interruption(run) from stop
        return self._collect(job, wanted, run, before)

    def plan(self, data: ForeignRows, schema: SchemaSource, **said: Said) -> Plan:
        """What the same call of `extract` would take; sends nothing."""
        said.pop("as_", None)
        job = self.prepare(data, schema, read_row_wishes(said))
        if not job.documents:
            raise UsageError("no row has a text, so there is nothing to ask about")
        order = job.order
        order.pop("new", None)
        return self._parts.plan(**order)

    def stream(
        self, data: ForeignRows, schema: SchemaSource, **said: Said
    ) -> Iterator[dict[str, Cell]]:
        """As `quire.stream`, with this engine's ledger."""
        job = self.prepare(data, schema, read_row_wishes(said))
        rows = StreamedRows(job.frame, job.asked.schema)
        if not isinstance(job.frame, FileRows):
            yield from rows.make(skipped_rows(job.positions, len(job.frame)))
        if not job.documents:
            return
        if job.is_of_larger_units:  # few, and known when all is over
            found = self.extract(data, schema, as_=ROWS, progress=False, **said)
            yield from map(StreamedRow.at, count(), found)
            return
        run = self.start(job)
        ledger = self._parts.context.ledger
        reader = OutcomeReader(ledger, run.id, job.find_positions)
        try:
            for outcomes in stream_run(run, reader, self._parts.stop):
                yield from rows.make(outcomes)
        except HeldError as held:
            raise HeldError(held.progress, SAME_CALL) from None
        except KeyboardInterrupt as stop:
            raise _interruption(run) from stop

    def prepare(self, data: ForeignRows, schema: SchemaSource, wishes: RowWishes) -> RowJob:
        """Put the rows and the schema into the ledger, where they are not there yet."""
        paths = path_names(data)
        library = self._parts.library
        if paths is not None:
            files = read_files(library, paths, text=wishes.text, key=wishes.key)
            asked = resolve_asked(library, schema, wishes.prompt)
            types = wishes.policy.get("block_types", ())
            fields = asked.schema.properties
            frame = FileRows(self._parts.context.ledger, files, types, fields)
            documents = frame.document_ids
            policy = {**wishes.policy, "per": wishes.policy.get("per") or frame.usual_unit}
            wishes = replace(wishes, policy=policy)
            return RowJob(
                frame=frame, asked=asked, documents=documents, positions=(), wishes=wishes
            )
        if "per" in wishes.policy:
            raise UsageError("per= is for files: each row of a frame is asked about by itself")
        return self._prepare_rows(read_frame(data), schema, wishes)

    def _prepare_rows(self, frame: Frame, schema: SchemaSource, wishes: RowWishes) -> RowJob:
        library = self._parts.library
        found = frame_document(make_reader(frame, wishes.text, wishes.key))
        return RowJob(
            frame=frame,
            asked=resolve_asked(library, schema, wishes.prompt),
            documents=library.add_parsed([found.parsed]) if found else (),
            positions=found.positions if found else (),
            wishes=wishes,
        )

    def start(self, job: RowJob) -> RunHandle:
        """Begin its run, or go on with it, also where something held it."""
        wishes = job.wishes
        money = {"max_cost_usd": wishes.max_cost, "budget_usd": wishes.budget}
        order = {**job.order, **money, "limit": wishes.limit, "wallet": wishes.wallet}
        run = self._parts.run(**order)
        if run.goes_on and not self._is_about(run, job):  # what it was about was purged since
            run = self._parts.run(**{**order, "new": True})
        if run.goes_on and run.progress().unasked_holds:
            run.resume()
        if wishes.policy.get("reuse") is False and run.is_over_already:
            _log.warning("run %s %s", run.id, ASKS_NOTHING)
        if wishes.retry:
            run.retry()
        return run

    def _is_about(self, run: RunHandle, job: RowJob) -> bool:
        with self._parts.context.ledger.snapshot() as tx:
            return [document for document, _ in tx.runs.inputs_of_run(run.id)] == [*job.documents]

    def _collect(self, job: RowJob, wanted: AnswerForm, run: RunHandle, before: Progress) -> Any:
        outcomes = run_outcomes(self._parts.context.ledger, run.id)
        if isinstance(job.frame, FileRows) and job.is_of_larger_units:
            answers = task_answers(self._parts.context.ledger, run.id)
            units = job.frame.find_units(run.rows(), answers, job.asked.schema)
            wanted = wanted._replace(frame=unit_frame(units))
            outcomes = iter([unit.outcome for unit in units])
        elif isinstance(job.frame, FileRows):
            outcomes = job.frame.for_each_file(outcomes)
        else:
            outcomes = in_row_order(outcomes, job.positions, len(job.frame))
        now = run.progress()
        facts = RunFacts(run.id, now.cost_pico - before.cost_pico, now.is_simulated)
        return give_back(wanted, outcomes, facts)


def _interruption(run: RunHandle) -> KeyboardInterrupt:
    """What is said where somebody stopped the work."""
    return KeyboardInterrupt(f"run {run.id} stopped, all answers are kept: {SAME_CALL} goes on")


def read_row_wishes(said: dict[str, Said]) -> RowWishes:
    """What was said by name; what is no wish of ours is the policy's."""
    refuse_misnamed(said, NAMES_IN_EXTRACT)
    ours = {name for name in RowWishes.__dataclass_fields__ if name != "policy"}
    policy = {name: value for name, value in said.items() if name not in ours}
    limit = said.get("limit")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise UsageError(f"limit={limit!r} is no number of rows from 1 on")
    return RowWishes(**{name: said[name] for name in said if name in ours}, policy=policy)
