"""Looking: what people ask the ledger: failures, prompts, requests with all that became of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from quire.domain.data import JsonObject
from quire.domain.documents import Document
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import DocumentId, RequestId, RunId, TaskId
from quire.domain.models import ModelFacts
from quire.domain.recipes import Schema
from quire.domain.runs import Event, Run
from quire.domain.tasks import Failure, TaskView
from quire.engine.ordering import find_schema
from quire.export.rows import ExportedRow, exported, rows
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.views import AttemptView, MemberView, RequestLine, RequestView
from quire.pipeline.contexts import Contexts, StageContext
from quire.pipeline.progress import at_rest, progress
from quire.plan.rendering import Item, payload_hash, user_text
from quire.recipes.registry import Registry

FAILURES = 10_000  # looked at, at most


class FailureGroup(NamedTuple):
    """Failures of one cause."""

    cause: str
    failures: list[Failure]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What a run was told at its start."""

    id: RunId
    state: str
    schema: str
    fields: tuple[str, ...]  # of the schema, in its own order
    model: ModelFacts
    policy: JsonObject  # each value with its source
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """Exactly what is or would be sent about a task."""

    task: TaskView
    request_id: RequestId | None  # None: never sent yet; shown as it would go alone
    model: str
    system: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeView:
    """One request with its text, attempts, responses and tasks."""

    request: RequestView
    system: str
    user: str | None  # None once purged
    attempts: list[AttemptView]
    members: list[MemberView]


class Looking:
    """Read-only views of a ledger."""

    def __init__(self, ledger: Ledger, registry: Registry | None = None) -> None:
        """Look at one ledger."""
        self._ledger = ledger
        self._contexts = Contexts(registry)

    def head(self, run: RunId) -> RunHead:
        """What a run is about."""
        with self._ledger.snapshot() as tx:
            found, schema = exported(tx, run)
        return _head(found, schema.ref, tuple(schema.properties))

    def schema(self, name: str) -> Schema:
        """A kept schema by its name, or by the start of its fingerprint."""
        with self._ledger.snapshot() as tx:
            return find_schema(tx, name)

    def idle(self) -> bool:
        """Whether every run is at rest, so that a worker has nothing to do until somebody acts."""
        with self._ledger.snapshot() as tx:
            return all(at_rest(progress(tx, each.run_id)) for each in tx.runs.wishes())

    def running(self) -> list[RunId]:
        """The runs that have not ended."""
        with self._ledger.snapshot() as tx:
            return [each.run_id for each in tx.runs.wishes()]

    def sample(self, run: RunId, only: str, limit: int) -> list[ExportedRow]:
        """A run's first rows, with their blocks."""
        with self._ledger.snapshot() as tx:
            return list(islice(rows(tx, run, only), limit))

    def documents(self, names: Sequence[str]) -> list[DocumentId]:
        """Documents by number, title, file name or fingerprint; each name must mean one."""
        with self._ledger.snapshot() as tx:
            return [one_document(name, tx.documents.match(name)).id for name in names]

    def failures(self, run: RunId) -> list[FailureGroup]:
        """Failed tasks grouped by cause, the commonest first."""
        groups: dict[str, list[Failure]] = defaultdict(list)
        with self._ledger.snapshot() as tx:
            for stage in tx.runs.stages(run):
                for failure in tx.tasks.failures(stage.id, FAILURES):
                    groups[failure.error].append(failure)
        ordered = sorted(groups.items(), key=lambda each: -len(each[1]))
        return [FailureGroup(cause, failures) for cause, failures in ordered]

    def events(self, run: RunId, limit: int = 50) -> list[Event]:
        """A run's history."""
        with self._ledger.snapshot() as tx:
            return tx.events.of_run(run, limit)

    def requests(self, run: RunId, after: int = 0, limit: int = 100) -> list[RequestLine]:
        """A page of a run's requests."""
        with self._ledger.snapshot() as tx:
            return tx.views.requests(run, after, limit)

    def prompt(self, task: TaskId) -> PromptView:
        """Show what was last sent about a task, or what would be."""
        with self._ledger.snapshot() as tx:
            view = tx.tasks.view(task)
            if view is None:
                raise NotFound(f"there is no task {task}; `quire failures RUN` shows some numbers")
            context = self._contexts.of_stage(tx, RunId(view.run_id), view.stage_id)
            if view.request_id is not None:
                user = _sent_text(tx, context, self._request(tx, view.request_id))
            else:
                user = _alone(tx, context, task)
        return PromptView(
            task=view,
            request_id=view.request_id,
            model=context.facts.name,
            system=context.prefix.system,
            user=user or "(purged)",
        )

    def _request(self, tx: Transaction, request: RequestId) -> RequestView:
        view = tx.views.request(request)
        if view is None:
            raise NotFound(f"there is no request {request}; `quire ledger RUN` lists them")
        return view

    def exchange(self, request: RequestId) -> ExchangeView:
        """One request and all that became of it."""
        with self._ledger.snapshot() as tx:
            view = self._request(tx, request)
            context = self._contexts.of_stage(tx, view.run_id, view.stage_id)
            return ExchangeView(
                request=view,
                system=context.prefix.system,
                user=_sent_text(tx, context, view),
                attempts=tx.views.attempts(request),
                members=tx.views.members(request),
            )


def _head(run: Run, schema: str, fields: tuple[str, ...]) -> RunHead:
    return RunHead(
        id=run.id,
        state=run.state,
        schema=schema,
        fields=fields,
        model=ModelFacts.from_json(run.model),
        policy=run.policy,
        started_at=run.created_at,
        ended_at=run.ended_at,
    )


def _sent_text(tx: Transaction, context: StageContext, view: RequestView) -> str | None:
    """The text of a request, stored or rendered again; None once one of its blocks was purged."""
    contents = tx.requests.contents([view.id])
    items = [
        Item(each.block_index, each.block_type, each.content)
        for each in contents
        if each.content is not None
    ]
    if view.body is not None or len(items) < len(contents):
        return view.body
    text = user_text(context.stage.prompt, view.id, items)
    if payload_hash(context.sending(view.max_output).payload_head, text) != view.payload_hash:
        return "(another version of Quire rendered this request, and its text was not stored)"
    return text


def _alone(tx: Transaction, context: StageContext, task: TaskId) -> str | None:
    ready = tx.tasks.content(task)
    if ready is None:
        return None
    item = Item(ready.block_index, ready.block_type, ready.content)
    return user_text(context.stage.prompt, 0, [item])


def one_document(name: str, found: Sequence[Document]) -> Document:
    """The document that a name means, or what is wrong with the name."""
    if not found:
        raise NotFound(f"there is no document {name!r}; `quire documents` lists them")
    if len(found) > 1:
        titles = ", ".join(f"{each.id} ({each.title})" for each in found)
        raise UsageError(f"{name!r} means several documents: {titles}; give the number")
    return found[0]
