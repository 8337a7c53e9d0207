"""Queries: what people ask the ledger: status, stalls, failures, prompts, requests."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.dispatch.runtime import dead_neighbours, host_name, living_workers
from quire.domain.data import Json, JsonObject
from quire.domain.errors import NotFound
from quire.domain.fallbacks import KnownFallback
from quire.domain.gates import NO_STRAYS, StrayIds
from quire.domain.ids import DocumentId, RequestId, RunId, TaskId
from quire.domain.models import SIMULATED, ModelFacts
from quire.domain.recipes import EACH_BLOCK, RUN_TITLE, Recipe
from quire.domain.requests import Turn
from quire.domain.runs import Event, Progress, Run, Stall
from quire.domain.states import RunState, TaskState
from quire.domain.task_wording import shared_cause
from quire.domain.tasks import Failure, TaskView
from quire.engine.attempt_rows import tables_of_run
from quire.engine.event_reader import EventReader
from quire.engine.request_texts import describe_subject, request_text, text_alone
from quire.engine.result_queries import ResultQueries
from quire.engine.whole_answers import shown_outcomes
from quire.export.flat_tables import FlatTable
from quire.export.result_selection import ResultSource, find_result_source
from quire.gates.packed_json import refused_record
from quire.gates.thoughts import split_thoughts
from quire.ledger.ledger import Transaction
from quire.ledger.tables.pieces import ChainCall
from quire.ledger.tables.results import TaskOutcome
from quire.ledger.tables.views import AttemptView, MemberView, RequestLine, RequestView
from quire.pipeline.answers.progress import is_at_rest, progress, stage_stall_reasons, stall_reasons
from quire.pipeline.calls.rescue import cut_off_calls
from quire.pipeline.commands.decide import EditableData, editable_data, run_of
from quire.pipeline.contexts import Contexts
from quire.pipeline.run_spec import read_run_spec

FAILURES = 10_000  # looked at, at most
MOST_BLOCKERS = 5  # named of those that block others


class FailureGroup(NamedTuple):
    """Failures of one cause."""

    cause: str
    failures: list[Failure]
    stage: str = ""


class RefusedAnswer(NamedTuple):
    """What a failed task was last answered, and what a critic said of that."""

    record: Json = None  # as the model wrote it; None: it was never answered
    critic: str = ""  # its stage
    critique: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What a run was told at its start."""

    id: RunId
    state: RunState
    kind: str  # schema or recipe
    name: str  # of the schema or the recipe
    model: ModelFacts
    policy: JsonObject  # each value with its source
    started_at: datetime
    ended_at: datetime | None
    models: tuple[str, ...] = ()  # that are asked besides
    documents: int = 0  # that it is about
    blocks: int = 0
    started_by: str = ""  # the person, where one signed in

    @property
    def is_simulated(self) -> bool:
        """Whether no model of it costs money."""
        names = (self.model.name, *self.models)
        return all(name.partition("/")[0] == SIMULATED for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """Exactly what is or would be sent about a task."""

    task: TaskView
    request_id: RequestId | None  # None: never sent yet; shown as it would go alone
    model: str
    system: str
    user: str
    turns: tuple[Turn, ...] = ()  # what was said before
    stage: str = ""
    about: str = ""
    stray_ids: StrayIds = NO_STRAYS  # in answers to that request: not what was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeView:
    """One request with its text, attempts, responses and tasks."""

    request: RequestView
    system: str
    user: str | None  # None once purged
    attempts: list[AttemptView]
    members: list[MemberView]
    stage: str = ""  # of a recipe
    turns: tuple[Turn, ...] = ()  # what was said before
    chain: list[ChainCall] = field(default_factory=list)  # of an answer that came in pieces


class RunOutcomes(NamedTuple):
    """A run, what it was about, and what became of its tasks, read one by one."""

    run: Run
    models: tuple[str, ...]  # by number
    documents: Mapping[DocumentId, str]  # with their texts, in the order of the run
    tasks: Iterator[tuple[TaskOutcome, tuple[DocumentId, ...]]]  # each with what it was shown
    tables: Mapping[str, FlatTable]  # its attempts as messages, with their runs and stages


class Queries(ResultQueries):
    """Read-only views of a ledger."""

    @property
    def contexts(self) -> Contexts:
        """What runs were told, remembered from one question to the next."""
        return self._context.contexts

    def newest_run(self) -> RunId | None:
        """The run that is meant where none is named; those of probes are named."""
        with self._context.ledger.snapshot() as tx:
            return tx.runs.newest_run()

    def fallbacks_of_model(self, model: str) -> list[KnownFallback]:
        """The weaker ways that a model is asked in, because its server refuses others."""
        with self._context.ledger.snapshot() as tx:
            return tx.fallbacks.fallbacks_of_model(model)

    def runs(self, limit: int = 20, *, drafts: bool = False) -> list[Run]:
        """The newest runs first; those that drafted schemas only where they are asked for."""
        with self._context.ledger.snapshot() as tx:
            return tx.runs.list_runs(limit, drafts=drafts)

    def must_get(self, run: int) -> Run:
        """A run by its number."""
        with self._context.ledger.snapshot() as tx:
            return tx.runs.must_get_run(RunId(run))

    def progress(self, run: RunId) -> Progress:
        """How far a run is, and how many workers serve it."""
        with self._context.ledger.snapshot() as tx:
            found = progress(tx, run, self.contexts)
            now = self._context.runtime.now()
            lease = timedelta(seconds=self._context.settings.lease)
            if found.state == RunState.RUNNING:
                found = replace(found, workers=living_workers(tx, now - lease, run))
            if not found.in_flight:
                return found
            dead = dead_neighbours(tx, host_name())
            cut_off = cut_off_calls(tx, run, lease, now, dead)
        return replace(
            found,
            in_flight=found.in_flight - len(cut_off),
            cut_off=len(cut_off),
            presumed_pico=found.presumed_pico + sum(cut_off),
        )

    def workers(self, run: RunId | None = None) -> int:
        """How many workers live; with a run, how many of them serve it."""
        since = self._context.runtime.now() - timedelta(seconds=self._context.settings.lease)
        with self._context.ledger.snapshot() as tx:
            return living_workers(tx, since, run)

    def stall_reasons(self, run: RunId) -> list[str]:
        """Why a run does not move, if it does not."""
        return [str(stall) for stall in self.stalls(run)]

    def stalls(self, run: RunId) -> list[Stall]:
        """The same by kind."""
        workers = self.workers(run)
        with self._context.ledger.snapshot() as tx:
            now = progress(tx, run, self.contexts)
            stalls = stall_reasons(tx, now, workers, self._context.runtime.now())
            return [*stalls, *stage_stall_reasons(tx, now, workers)]

    def stage_policies(self, run: RunId) -> dict[str, JsonObject]:
        """What stages of a run are told in the place of its policy, by name."""
        with self._context.ledger.snapshot() as tx:
            spec = read_run_spec(tx, run, self._context.registry)
        own = {stage.name: spec.policy_overrides(stage) for stage in spec.recipe.stages}
        return {name: words for name, words in own.items() if words}

    def editable_data(self, task: TaskId) -> EditableData:
        """The data of a result that may be edited, as it is now."""
        with self._context.ledger.snapshot() as tx:
            spec = read_run_spec(tx, run_of(tx, task), self._context.registry)
            return editable_data(tx, spec, task)

    def head(self, run: RunId) -> RunHead:
        """What a run is about."""
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, run)
            documents, blocks = tx.runs.count_run_inputs(run)
        return replace(_head(source), documents=documents, blocks=blocks)

    def is_idle(self) -> bool:
        """Whether every run is at rest, so that a worker has nothing to do until somebody acts.

        Batches of runs that have ended are collected first: what they answered is paid.
        """
        with self._context.ledger.snapshot() as tx:
            going = [progress(tx, wish.run_id, self.contexts) for wish in tx.runs.running_wishes()]
            return all(map(is_at_rest, going)) and not tx.views.count_uncollected_of_ended_runs()

    def running_runs(self) -> list[RunId]:
        """The runs that have not ended."""
        with self._context.ledger.snapshot() as tx:
            return [wish.run_id for wish in tx.runs.running_wishes()]

    def failures(self, run: RunId, *, blocked: bool = False) -> list[FailureGroup]:
        """Failed tasks, or blocked ones, by stage and cause, the commonest of a stage first."""
        found: list[FailureGroup] = []
        with self._context.ledger.snapshot() as tx:
            tx.runs.must_get_run(run)
            for stage in tx.runs.stages_of_run(run):
                groups: dict[str, list[Failure]] = defaultdict(list)
                if blocked:
                    groups |= _Blockers(tx, run).groups(
                        tx.tasks.blocked_tasks_of_stage(stage.id, FAILURES)
                    )
                else:
                    for failure in tx.tasks.failures_of_stage(stage.id, FAILURES):
                        groups[_cause(failure)].append(failure)
                ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
                found += [FailureGroup(cause, failed, stage.name) for cause, failed in ordered]
        return found

    def failed_alike(self, run: RunId, task: TaskId) -> list[TaskId]:
        """The failed tasks of the group that one of them is in."""
        for group in self.failures(run):
            found = [failure.task_id for failure in group.failures]
            if task in found:
                return found
        raise NotFound(
            f"task {task} of run {run} has not failed", f"quire failures {run} lists them"
        )

    def refused_answers(self, tasks: Sequence[TaskId]) -> dict[TaskId, RefusedAnswer]:
        """What some failed tasks were last answered, and why a critic refused it."""
        with self._context.ledger.snapshot() as tx:
            answers = tx.results.last_answers_of_tasks(tasks)
            critiques = tx.results.last_critiques_of_tasks(tasks)
        records = {task: refused_record(text, uid) for task, (uid, text) in answers.items()}
        return {
            task: RefusedAnswer(records.get(task), *critiques.get(task, ("", None)))
            for task in tasks
        }

    @contextmanager
    def outcomes(self, run: RunId) -> Iterator[RunOutcomes]:
        """All that became of a run, from one snapshot, to be read while it is open."""
        with self._context.ledger.snapshot() as tx:
            found = tx.runs.must_get_run(run)
            documents = tx.results.all_documents_of_run(run)
            texts = tx.subjects.document_texts(documents)
            models = tuple(model.name for model in tx.runs.models_of_run(found))
            by_document = {document: texts.get(document, "") for document in documents}
            spec = self.contexts.spec_of(tx, run)
            tables = tables_of_run(tx, self.contexts, run)
            yield RunOutcomes(found, models, by_document, shown_outcomes(tx, run, spec), tables)

    def events(self, run: RunId, limit: int = 50) -> list[Event]:
        """A run's history."""
        with self._context.ledger.snapshot() as tx:
            return tx.events.events_of_run(run, limit)

    def events_after(self, run: RunId, after: int, limit: int = 200) -> list[Event]:
        """What happened to a run after an event, by its number."""
        with self._context.ledger.snapshot() as tx:
            return tx.events.events_after(run, after, limit)

    def read_events(self, run: RunId, after: int = 0) -> EventReader:
        """What happens to a run after an event, for who asks again and again."""
        return EventReader(self._context.ledger, run, after)

    def requests(self, run: RunId, after: int = 0, limit: int = 100) -> list[RequestLine]:
        """A page of a run's requests."""
        with self._context.ledger.snapshot() as tx:
            return tx.views.list_requests(run, after, limit)

    def prompt(self, task: TaskId) -> PromptView:
        """Show what was last sent about a task, or what would be."""
        with self._context.ledger.snapshot() as tx:
            view = tx.tasks.get_task(task)
            if view is None:
                raise NotFound(f"there is no task {task}; `quire failures RUN` shows some numbers")
            context = self.contexts.any_of_stage(tx, RunId(view.run_id), view.stage_id)
            strays = NO_STRAYS
            if view.request_id is not None:
                request = self._request(tx, view.request_id)
                text, strays = request_text(tx, self.contexts, request), request.stray_ids
            else:
                text = text_alone(tx, context, task)
        models = [model.name for model in context.spec.models]
        plain = context.spec.recipe.is_single_schema
        blocks = plain and context.stage.about == EACH_BLOCK
        return PromptView(
            task=view,
            request_id=view.request_id,
            model=models[view.model_no],
            system=context.prefix.system,
            user=text.user if text else "(purged)",
            turns=text.turns if text else (),
            stray_ids=strays,
            stage="" if plain else context.stage.name,
            about="" if blocks else describe_subject(view, models, context.stage),
        )

    def _request(self, tx: Transaction, request: RequestId) -> RequestView:
        view = tx.views.get_request(request)
        if view is None:
            raise NotFound(f"there is no request {request}; `quire ledger RUN` lists them")
        return view

    def exchange(self, request: RequestId) -> ExchangeView:
        """One request and all that became of it."""
        with self._context.ledger.snapshot() as tx:
            view = self._request(tx, request)
            context = self.contexts.any_of_stage(tx, view.run_id, view.stage_id)
            text = request_text(tx, self.contexts, view)
            return ExchangeView(
                request=view,
                system=context.prefix.system,
                user=text and text.user,
                stage="" if context.spec.recipe.is_single_schema else context.stage.name,
                turns=text.turns if text else (),
                chain=tx.pieces.calls_of_chain(request),
                attempts=[*map(_split_thoughts, tx.views.attempts_of_request(request))],
                members=tx.views.verdicts_of_request(request),
            )


def _split_thoughts(attempt: AttemptView) -> AttemptView:
    """Show what the model thought before its answer as reasoning, as the gates see it."""
    spoken = split_thoughts(attempt.decoded or "")
    if not spoken.thought:
        return attempt
    reasoning = "\n".join(filter(None, (attempt.reasoning, spoken.thought)))
    return attempt._replace(decoded=spoken.text, reasoning=reasoning)


class _Blockers:
    """Finds the tasks that block others, through all that are blocked themselves."""

    def __init__(self, tx: Transaction, run: RunId) -> None:
        self._tx = tx
        self._names = {stage.id: stage.name for stage in tx.runs.stages_of_run(run)}
        self._views: dict[TaskId, TaskView | None] = {}

    def groups(self, blocked: Sequence[Failure]) -> dict[str, list[Failure]]:
        """Blocked tasks by what became of those that block them, which are named."""
        groups: dict[tuple[str, str, str], list[Failure]] = defaultdict(list)
        blockers: dict[tuple[str, str, str], dict[TaskId, None]] = defaultdict(dict)
        for failure in blocked:
            blocker = self._blocker(failure.error_task)
            if blocker is None:
                groups["", "", _cause(failure)].append(failure)
                continue
            why = _cause(blocker) if blocker.state == TaskState.FAILED else ""
            key = (self._names.get(blocker.stage_id, ""), blocker.state, why)
            groups[key].append(failure)
            blockers[key][blocker.id] = None
        return {
            _describe_blockers(key, list(blockers[key])): group for key, group in groups.items()
        }

    def _blocker(self, task: TaskId | None) -> TaskView | None:
        """The last of the chain of tasks that begins with the one that blocks another."""
        blocker: TaskView | None = None
        while task is not None and (view := self._view(task)):
            blocker = view
            task = view.error_task if view.state == TaskState.BLOCKED else None
        return blocker

    def _view(self, task: TaskId) -> TaskView | None:
        if task not in self._views:
            self._views[task] = self._tx.tasks.get_task(task)
        return self._views[task]


def _cause(task: Failure | TaskView) -> str:
    return shared_cause(task.error_kind, task.error_stage, task.error or "")


def _describe_blockers(key: tuple[str, str, str], tasks: Sequence[TaskId]) -> str:
    """What became of the tasks that block others, in words."""
    stage, state, why = key
    if not tasks:
        return why
    more = len(tasks) - MOST_BLOCKERS
    named = ", ".join(map(str, tasks[:MOST_BLOCKERS])) + (f" and {more:,} more" if more > 0 else "")
    several = len(tasks) > 1
    if state not in (TaskState.FAILED, TaskState.CANCELLED, TaskState.BLOCKED):
        state = "asked again"
    became = "failed" if state == TaskState.FAILED else f"{'are' if several else 'is'} {state}"
    return f"{stage} task{'s' * several} {named} {became}{f': {why}' if why else ''}"


def name_recipe(recipe: Recipe) -> str:
    """What people call a recipe: of a single schema, the schema; else its run's own title."""
    if isinstance(title := recipe.facts.get(RUN_TITLE), str):
        return title
    return recipe.stages[0].record.label if recipe.is_single_schema else recipe.name


def _head(source: ResultSource) -> RunHead:
    run, recipe = source.run, source.recipe
    single = recipe.is_single_schema
    return RunHead(
        id=run.id,
        state=run.state,
        kind="schema" if single else "recipe",
        name=name_recipe(recipe),
        model=ModelFacts.from_json(run.model),
        policy=run.policy,
        started_at=run.created_at,
        ended_at=run.ended_at,
        models=source.models[1:],
        started_by=run.started_by,
    )
