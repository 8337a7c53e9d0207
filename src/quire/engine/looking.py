"""Looking: what people ask the ledger: failures, prompts, requests with all that became of them."""

import re
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
from quire.domain.runs import Event, StageProgress
from quire.domain.tasks import Failure, TaskView
from quire.engine.ordering import find_schema
from quire.engine.wording import about, sent_text, text_alone
from quire.export.choosing import Source, chosen, each_block_once, source_of
from quire.export.rows import ExportedRow, block_rows
from quire.export.stages import StageRow, stage_rows
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.views import AttemptView, MemberView, RequestLine, RequestView
from quire.pipeline.contexts import Contexts
from quire.pipeline.progress import asks_a_schema, at_rest, progress
from quire.pipeline.stalls import cause_of
from quire.recipes.registry import Registry

FAILURES = 10_000  # looked at, at most
CULPRITS = 5  # named of those that block others
_CULPRIT = re.compile(r"task (\d+)(?= of |, which it reads)")  # of what blocks a task


class FailureGroup(NamedTuple):
    """Failures of one cause."""

    cause: str
    failures: list[Failure]
    stage: str = ""


class FirstRows(NamedTuple):
    """The first results of a stage: of blocks where it is about every block, else of tasks."""

    stage: str
    fields: tuple[str, ...]
    blocks: list[ExportedRow] | None = None
    tasks: Sequence[StageRow] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What a run was told at its start."""

    id: RunId
    state: str
    schema: str  # or the recipe, where it is more than a schema
    fields: tuple[str, ...]  # of the schema, in its own order; none of a recipe
    model: ModelFacts
    policy: JsonObject  # each value with its source
    started_at: datetime
    ended_at: datetime | None
    recipe: str = ""  # its name, where it is more than a schema
    models: tuple[str, ...] = ()  # that are asked besides


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """Exactly what is or would be sent about a task."""

    task: TaskView
    request_id: RequestId | None  # None: never sent yet; shown as it would go alone
    model: str
    system: str
    user: str
    stage: str = ""
    about: str = ""


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
        self.contexts = Contexts(registry)

    def head(self, run: RunId) -> RunHead:
        """What a run is about."""
        with self._ledger.snapshot() as tx:
            source = source_of(tx, run)
        return _head(source)

    def schema(self, name: str) -> Schema:
        """A kept schema by its name, or by the start of its fingerprint."""
        with self._ledger.snapshot() as tx:
            return find_schema(tx, name)

    def idle(self) -> bool:
        """Whether every run is at rest, so that a worker has nothing to do until somebody acts.

        Batches of runs that have ended are collected first: what they answered is paid.
        """
        with self._ledger.snapshot() as tx:
            going = [progress(tx, each.run_id, self.contexts) for each in tx.runs.wishes()]
            return all(map(at_rest, going)) and not tx.batch_views.left_over()

    def running(self) -> list[RunId]:
        """The runs that have not ended."""
        with self._ledger.snapshot() as tx:
            return [each.run_id for each in tx.runs.wishes()]

    def sample(self, run: RunId, only: str, limit: int, stage: str | None = None) -> FirstRows:
        """The first rows of a run's last stage, or of another: blocks or tasks."""
        with self._ledger.snapshot() as tx:
            source = source_of(tx, run)
            wanted = chosen(source.recipe, stage)
            fields = tuple(wanted.schema.properties) if wanted.schema else ()
            if each_block_once(wanted):
                blocks = islice(block_rows(tx, source, wanted, only), limit)
                return FirstRows(wanted.name, fields, list(blocks))
            tasks = islice(stage_rows(tx, source, wanted, only), limit)
            return FirstRows(wanted.name, fields, tasks=list(tasks))

    def documents(self, names: Sequence[str]) -> list[DocumentId]:
        """Documents by number, title, file name or fingerprint; each name must mean one."""
        with self._ledger.snapshot() as tx:
            return [one_document(name, tx.documents.match(name)).id for name in names]

    def failures(self, run: RunId, *, blocked: bool = False) -> list[FailureGroup]:
        """Failed tasks, or blocked ones, by stage and cause, the commonest of a stage first."""
        found: list[FailureGroup] = []
        with self._ledger.snapshot() as tx:
            stages = progress(tx, run, self.contexts).stages
            for stage in tx.runs.stages(run):
                groups: dict[str, list[Failure]] = defaultdict(list)
                if blocked:
                    groups |= _Culprits(tx, run, stages).groups(
                        tx.tasks.blocked(stage.id, FAILURES)
                    )
                else:
                    for failure in tx.tasks.failures(stage.id, FAILURES):
                        groups[cause_of(stages, failure.error)].append(failure)
                ordered = sorted(groups.items(), key=lambda each: -len(each[1]))
                found += [FailureGroup(cause, failed, stage.name) for cause, failed in ordered]
        return found

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
            context = self.contexts.any_of_stage(tx, RunId(view.run_id), view.stage_id)
            if view.request_id is not None:
                user = sent_text(tx, self.contexts, self._request(tx, view.request_id))
            else:
                user = text_alone(tx, context, task)
        models = [each.name for each in context.told.models]
        plain = len(context.told.stages) == 1 and not context.stage.templated
        return PromptView(
            task=view,
            request_id=view.request_id,
            model=models[view.model_no],
            system=context.prefix.system,
            user=user or "(purged)",
            stage="" if plain else context.stage.name,
            about="" if plain else about(view, models, samples=context.stage.samples > 1),
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
            context = self.contexts.any_of_stage(tx, view.run_id, view.stage_id)
            return ExchangeView(
                request=view,
                system=context.prefix.system,
                user=sent_text(tx, self.contexts, view),
                attempts=tx.views.attempts(request),
                members=tx.views.members(request),
            )


class _Culprits:
    """Finds the tasks that block others, through all that are blocked themselves."""

    def __init__(self, tx: Transaction, run: RunId, stages: Sequence[StageProgress]) -> None:
        self._tx, self._stages = tx, stages
        self._names = {each.id: each.name for each in tx.runs.stages(run)}
        self._found: dict[TaskId, TaskView | None] = {}

    def groups(self, blocked: Sequence[Failure]) -> dict[str, list[Failure]]:
        """Blocked tasks by what became of those that block them, which are named."""
        groups: dict[tuple[str, str, str], list[Failure]] = defaultdict(list)
        culprits: dict[tuple[str, str, str], dict[TaskId, None]] = defaultdict(dict)
        for each in blocked:
            culprit = self._culprit(each.error)
            if culprit is None:
                groups["", "", cause_of(self._stages, each.error)].append(each)
                continue
            why = cause_of(self._stages, culprit.error or "") if culprit.state == "failed" else ""
            key = (self._names.get(culprit.stage_id, ""), culprit.state, why)
            groups[key].append(each)
            culprits[key][culprit.id] = None
        return {_blocked_by(key, list(culprits[key])): each for key, each in groups.items()}

    def _culprit(self, error: str) -> TaskView | None:
        """The last of the chain of tasks that an error of a blocked one begins with."""
        culprit: TaskView | None = None
        while match := _CULPRIT.match(error):
            culprit = self._view(TaskId(int(match[1]))) or culprit
            if culprit is None or culprit.id != int(match[1]) or culprit.state != "blocked":
                break
            error = culprit.error or ""
        return culprit

    def _view(self, task: TaskId) -> TaskView | None:
        if task not in self._found:
            self._found[task] = self._tx.tasks.view(task)
        return self._found[task]


def _blocked_by(key: tuple[str, str, str], tasks: Sequence[TaskId]) -> str:
    """What became of the tasks that block others, in words."""
    stage, state, why = key
    if not tasks:
        return why
    more = len(tasks) - CULPRITS
    named = ", ".join(map(str, tasks[:CULPRITS])) + (f" and {more:,} more" if more > 0 else "")
    several = len(tasks) > 1
    if state not in ("failed", "cancelled", "blocked"):
        state = "asked again"
    became = "failed" if state == "failed" else f"{'are' if several else 'is'} {state}"
    return f"{stage} task{'s' * several} {named} {became}{f': {why}' if why else ''}"


def _head(source: Source) -> RunHead:
    run, recipe = source.run, source.recipe
    plain = asks_a_schema(run.recipe)
    return RunHead(
        id=run.id,
        state=run.state,
        schema=recipe.stages[0].record.ref if plain else recipe.name,
        fields=tuple(recipe.stages[0].record.properties) if plain else (),
        model=ModelFacts.from_json(run.model),
        policy=run.policy,
        started_at=run.created_at,
        ended_at=run.ended_at,
        recipe="" if plain else recipe.name,
        models=source.models[1:],
    )


def one_document(name: str, found: Sequence[Document]) -> Document:
    """The document that a name means, or what is wrong with the name."""
    if not found:
        raise NotFound(f"there is no document {name!r}; `quire documents` lists them")
    if len(found) > 1:
        titles = ", ".join(f"{each.id} ({each.title})" for each in found)
        raise UsageError(f"{name!r} means several documents: {titles}; give the number")
    return found[0]
