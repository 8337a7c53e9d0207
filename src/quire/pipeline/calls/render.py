"""Render: ready tasks are gathered and put into the words they are asked with, now or once more."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import orjson

from quire.domain.continuation import AnswerPiece
from quire.domain.data import stored_json
from quire.domain.errors import PromptTooLong, TemplateFailed
from quire.domain.ids import AttemptId, DocumentId, RequestId, ResultId, TaskId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.recipes import Stage
from quire.domain.requests import CallText, RequestKind, Turn
from quire.domain.states import TaskMove, TaskState
from quire.domain.tasks import InputRow, JudgedRow, MemberRow, ReadyTask, SubjectRow
from quire.gates.assembly import assemble_pieces
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.calls.reading_limits import readable_at_once
from quire.pipeline.calls.ready_checks import orphan_critics, unfounded_tasks
from quire.pipeline.calls.span_texts import span_texts
from quire.pipeline.contexts import LaneContext
from quire.pipeline.run_spec import RunSpec, StagePrompt
from quire.planning.compressible_parts import with_extracts
from quire.planning.history import shorten_turns
from quire.planning.prompt_variables import (
    Material,
    PromptAnswer,
    PromptDocument,
    PromptResult,
    repair_note,
    task_content,
)
from quire.planning.rendering import BlockItem, pack_text, render_prefix

Used = Mapping[TaskId, Sequence[ResultId | None]]  # by ordinal of the input

Critiques = Mapping[TaskId, str]  # why earlier answers were refused, in the place of the present


class RenderedTasks(NamedTuple):
    """Some tasks in words."""

    rows: dict[TaskId, SubjectRow]
    contents: dict[TaskId, str]
    used: dict[TaskId, list[ResultId | None]]  # what each was made from
    failed: dict[TaskId, str]  # who cannot be put into words, and why
    too_long: set[TaskId]  # of these, who can once documents and results are shortened
    turns: dict[TaskId, tuple[Turn, ...]]  # what was said before, where a stage has a history


class _RenderInputs(NamedTuple):
    """Documents and results that some tasks speak of."""

    documents: dict[DocumentId, PromptDocument]
    inputs: dict[TaskId, list[InputRow]]
    shown: dict[TaskId, list[DocumentId]]
    judged: dict[TaskId, PromptAnswer]
    spans: dict[TaskId, str]  # the part of its document that a task is about


def render(
    tx: Transaction,
    spec: RunSpec,
    stage_prompt: StagePrompt,
    tasks: Sequence[TaskId],
    used: Used | None = None,
    critiques: Critiques | None = None,
) -> RenderedTasks:
    """Put tasks into words, from what is current or from what was used and said before."""
    rows = tx.subjects.subjects_of_tasks(tasks) if tasks else []
    return render_rows(tx, spec, stage_prompt, rows, used, critiques)


def render_rows(
    tx: Transaction,
    spec: RunSpec,
    stage_prompt: StagePrompt,
    rows: Sequence[SubjectRow],
    used: Used | None = None,
    critiques: Critiques | None = None,
) -> RenderedTasks:
    """Put tasks into words as their rows say; a row also says how it was compressed."""
    if critiques is not None:
        rows = [_with_critique(row, critiques.get(row.id, "")) for row in rows]
    loaded = _load_inputs(tx, spec, stage_prompt, rows, used, critiques)
    done = RenderedTasks({row.id: row for row in rows}, {}, {}, {}, set(), {})
    for row in rows:
        material = _material(spec, stage_prompt.stage, row, loaded)
        extracts: Mapping[bytes, str] = {}
        if row.compression:
            extracts = tx.extracts.extracts_of_compression(row.id, row.compression)
        try:
            if stage_prompt.history is not None:
                said = stage_prompt.history.turns(material)
                done.turns[row.id] = shorten_turns(said, extracts)
            done.contents[row.id] = render_material(stage_prompt, with_extracts(material, extracts))
        except TemplateFailed as error:
            done.failed[row.id] = str(error)
            is_own = stage_prompt.history is None or row.id in done.turns
            if isinstance(error, PromptTooLong) and is_own:
                done.too_long.add(row.id)
        done.used[row.id] = [input_row.result_id for input_row in loaded.inputs.get(row.id, ())]
    return done


def render_material(stage_prompt: StagePrompt, material: Material) -> str:
    """What is sent of one task, from all that is known of it; a NUL in it says nothing."""
    stage, item = stage_prompt.stage, stage_prompt.item
    text = task_content(material, item, stage.prompt, records=stage.schema is not None)
    return text.replace("\0", "")  # which PostgreSQL does not store


def load_materials(
    tx: Transaction, context: LaneContext, tasks: Sequence[TaskId]
) -> list[Material]:
    """All that is known of some tasks, with nothing compressed."""
    spec, stage_prompt = context.spec, context.stage_prompt
    rows = tx.subjects.subjects_of_tasks(tasks)
    loaded = _load_inputs(tx, spec, stage_prompt, rows, None, None)
    return [_material(spec, stage_prompt.stage, row, loaded) for row in rows]


def _with_critique(row: SubjectRow, critique: str) -> SubjectRow:
    """A task as it was when an earlier answer had been refused for this reason; "": none had."""
    kind = RequestKind.REPAIR if critique else RequestKind.ANSWER
    return row._replace(next_kind=kind.value, error=critique)


def _load_inputs(
    tx: Transaction,
    spec: RunSpec,
    stage_prompt: StagePrompt,
    rows: Sequence[SubjectRow],
    used: Used | None,
    critiques: Critiques | None,
) -> _RenderInputs:
    tasks = [row.id for row in rows]
    inputs = tx.subjects.inputs_of_tasks(tasks) if stage_prompt.stage.upstream and tasks else {}
    if used is not None and inputs:
        inputs = _inputs_as_used(tx, inputs, used)
    shown = tx.subjects.documents_shown_by_tasks(tasks) if tasks else {}
    spans = span_texts(tx, rows) if stage_prompt.shows_spans else {}
    own = {row.document_id for row in rows if row.document_id is not None}
    wanted = own | {document for documents in shown.values() for document in documents}
    wanted |= {e.document_id for many in inputs.values() for e in many if e.document_id is not None}
    read = wanted - own if spans else wanted
    documents = _documents(tx, stage_prompt, sorted(wanted), sorted(read)) if wanted else {}
    judged: dict[TaskId, PromptAnswer] = {}
    if stage_prompt.stage.critic and tasks:
        judged = _judged_results(tx, spec, stage_prompt.stage, tasks, critiques)
    return _RenderInputs(documents, inputs, shown, judged, spans)


def _inputs_as_used(
    tx: Transaction, inputs: dict[TaskId, list[InputRow]], used: Used
) -> dict[TaskId, list[InputRow]]:
    """The inputs with the results that were used, current or not."""
    ids = {result_id for results in used.values() for result_id in results if result_id is not None}
    data = tx.subjects.data_of_results(sorted(ids))
    return {
        task: [
            row._replace(result_id=result, data=data.get(result) if result else None)
            for row, result in zip(rows, used[task], strict=False)
        ]
        if task in used  # an answer that was taken from elsewhere was never rendered here
        else rows
        for task, rows in inputs.items()
    }


def _documents(
    tx: Transaction,
    stage_prompt: StagePrompt,
    ids: Sequence[DocumentId],
    read: Sequence[DocumentId],
) -> dict[DocumentId, PromptDocument]:
    titles = tx.subjects.document_titles(ids)
    texts = tx.subjects.document_texts(read) if stage_prompt.shows_documents and read else {}
    return {
        document_id: PromptDocument(title=title, name=locator, text=texts.get(document_id, ""))
        for document_id, (title, locator) in titles.items()
    }


def _judged_results(
    tx: Transaction,
    spec: RunSpec,
    critic: Stage,
    critics: Sequence[TaskId],
    critiques: Critiques | None,
) -> dict[TaskId, PromptAnswer]:
    """What critics judge: the question is put into the same words again, from what it used."""
    rows = tx.subjects.judged_answers(critics)
    above = spec.stage_prompts[critic.of]
    used = {row.task_id: stored_json(row.used) for row in rows if row.used}
    asked = render(tx, spec, above, [row.task_id for row in rows], used, critiques).contents
    attempts = [row.attempt_id for row in rows if row.attempt_id is not None]
    chains = tx.pieces.chains_before(attempts) if above.stage.schema is None else {}
    system = render_prefix(above.stage).system
    prompt = above.stage.prompt if above.stage.schema is not None else ""
    return {
        row.critic_id: PromptAnswer(
            asked="\n\n".join(filter(None, [prompt, asked.get(row.task_id, "")])),
            system=system,
            answer=_whole_text(row, chains) if above.stage.schema is None else row.data or "",
            data=stored_json(row.data),
        )
        for row in rows
    }


def _whole_text(row: JudgedRow, chains: Mapping[AttemptId, Sequence[AnswerPiece]]) -> str:
    """An answer in text, with the pieces that came before it."""
    chain = chains.get(row.attempt_id, ()) if row.attempt_id is not None else ()
    return assemble_pieces(chain, row.answer, json=False) if chain else row.answer


def _material(spec: RunSpec, stage: Stage, row: SubjectRow, loaded: _RenderInputs) -> Material:
    inputs = loaded.inputs.get(row.id, [])
    own = loaded.documents.get(row.document_id) if row.document_id is not None else None
    if own is not None and row.id in loaded.spans:
        own = replace(own, text=loaded.spans[row.id])
    shown = [
        _with_views(loaded.documents[document_id], document_id, inputs)
        for document_id in loaded.shown.get(row.id, ())
        if document_id in loaded.documents
    ]
    return Material(
        row=row,
        parameters=spec.recipe.parameters,
        model=spec.models[row.model_no].name,
        part=spec.parse_part(row.part),
        document=own,
        documents=shown,
        inputs=_named_inputs(spec, stage, inputs, loaded.documents),
        of="" if stage.critic else stage.of,
        judged_answer=loaded.judged.get(row.id),
    )


def _with_views(
    shown: PromptDocument, document: DocumentId, inputs: Iterable[InputRow]
) -> PromptDocument:
    """A document with what earlier stages made of it."""
    views = {
        row.stage: _read_input(row, {}, ()).text
        for row in inputs
        if row.document_id == document and row.data is not None
    }
    return replace(shown, views=views)


def _named_inputs(
    spec: RunSpec,
    stage: Stage,
    rows: Sequence[InputRow],
    documents: Mapping[DocumentId, PromptDocument],
) -> dict[str, PromptResult | Sequence[PromptResult]]:
    names = [model.name for model in spec.models]
    found: dict[str, list[PromptResult]] = defaultdict(list)
    for row in rows:
        if row.data is not None:
            found[row.stage].append(_read_input(row, documents, names))
    named: dict[str, PromptResult | Sequence[PromptResult]] = {}
    for name in stage.upstream:
        reads = found.get(name, [])
        if reads_many(spec, stage, name):
            named[name] = reads
        elif reads:
            named[name] = reads[0]
    return named


def _read_input(
    row: InputRow, documents: Mapping[DocumentId, PromptDocument], models: Sequence[str]
) -> PromptResult:
    shown = documents.get(row.document_id) if row.document_id is not None else None
    return PromptResult(
        data=stored_json(row.data),
        document=shown.title if shown else "",
        model=models[row.model_no] if models else "",
        sample=row.sample,
    )


def reads_many(spec: RunSpec, stage: Stage, needed: str) -> bool:
    """Whether a task of this stage reads several results of that one: then templates get a list."""
    return needed in spec.list_inputs[stage.name]


REPAIR = RequestKind.REPAIR.value


NO_TURNS: Mapping[TaskId, tuple[Turn, ...]] = {}


class GatheredTasks(NamedTuple):
    """Tasks ready to be packed."""

    tasks: list[ReadyTask]
    used: dict[TaskId, str]  # of those that read results: which ones, as JSON
    repair_reasons: dict[TaskId, str]  # why their earlier answers did not do
    compressed: frozenset[TaskId] = frozenset()  # whose prompts were looked at before
    continued: frozenset[TaskId] = frozenset()  # whose answers are not whole, and are gone on with
    turns: Mapping[TaskId, tuple[Turn, ...]] = NO_TURNS  # what was said before each
    rendered: RenderedTasks | None = None  # in which words; None: as their blocks stand


def gather_ready(tx: Transaction, context: LaneContext, limit: int) -> GatheredTasks:
    """Take what may be packed; who cannot be put into words is given up, with the reason."""
    if context.by_block:
        return _with_repair_reasons(tx, tx.tasks.ready_tasks(context.stage_id, limit))
    spec, stage_prompt = context.spec, context.stage_prompt
    ready = tx.subjects.ready_parts(context.stage_id, context.model_no, limit)
    orphans = orphan_critics(tx, context, ready)
    if orphans:  # nobody waits for their word: what they judge made way
        tx.tasks.move_tasks(TaskMove.CANCEL, sorted(orphans), [TaskState.READY])
        ready = [task for task in ready if task not in orphans]
    unfounded = unfounded_tasks(tx, context, ready)
    if unfounded:  # an input made way while the task was made
        tx.tasks.move_tasks(TaskMove.RESET, sorted(unfounded), [TaskState.READY])
        ready = [task for task in ready if task not in unfounded]
    if stage_prompt.shows_documents:
        ready = [*readable_at_once(tx, ready, spans=stage_prompt.shows_spans)]
    done = render(tx, spec, stage_prompt, ready)
    if done.failed:
        _set_aside_unworded(tx, done)
    tasks = [_ready_task(done, task) for task in done.contents]
    used = {task: json.dumps(done.used[task]) for task in done.contents if done.used[task]}
    rows = done.rows.values()
    compressed = frozenset(row.id for row in rows if row.compression)
    return GatheredTasks(
        tasks, used, _complaints(rows), compressed, _continued_tasks(rows), done.turns, done
    )


def _set_aside_unworded(tx: Transaction, done: RenderedTasks) -> None:
    """Have prompts compressed that are longer than any may be; whoever else has none fails."""
    waiting = [task for task in done.too_long if not done.rows[task].compression]
    if waiting:
        tx.extracts.want_compression(sorted(waiting))
    errors = {
        task: TaskError(TaskErrorKind.TEMPLATE, why)
        for task, why in done.failed.items()
        if task not in waiting
    }
    tx.tasks.note_tasks([TaskNote(task, error=error) for task, error in errors.items()])
    tx.tasks.move_tasks(TaskMove.GIVE_UP, list(errors), [TaskState.READY])


def _with_repair_reasons(tx: Transaction, ready: list[ReadyTask]) -> GatheredTasks:
    """Of plain questions about blocks, those that go alone may have to say why they go again."""
    alone = [task.id for task in ready if task.pack_cap == 1]
    rows = tx.subjects.subjects_of_tasks(alone) if alone else []
    return GatheredTasks(ready, {}, _complaints(rows), continued=_continued_tasks(rows))


def _complaints(rows: Iterable[SubjectRow]) -> dict[TaskId, str]:
    return {row.id: row.error or "" for row in rows if row.next_kind == REPAIR}


def _continued_tasks(rows: Iterable[SubjectRow]) -> frozenset[TaskId]:
    return frozenset(row.id for row in rows if row.next_kind == RequestKind.CONTINUATION)


def _ready_task(done: RenderedTasks, task: TaskId) -> ReadyTask:
    row, content = done.rows[task], done.contents[task]
    return ReadyTask(
        task,
        row.version,
        row.calls,
        1 if row.next_kind == REPAIR else row.pack_cap,  # the complaint is about it alone
        row.output_floor,
        len(orjson.dumps(content)),
        row.block_index,
        row.block_type or "other",
        content,
    )


def prompt_of(context: LaneContext, reasons: str | None) -> str:
    """What stands before the items: the stage's prompt, and why an earlier answer did not do."""
    prompt, item = context.stage.prompt, context.stage_prompt.item
    if not reasons or (item is not None and "critique" in item.names):
        return prompt
    return f"{prompt}\n\n{repair_note(reasons)}"


def text_of_pack(
    context: LaneContext,
    names: Sequence[str],
    tasks: Sequence[BlockItem],
    reasons: str | None = None,
) -> str:
    """The text of one call: a pack of items, or the one message where answers are text."""
    if context.stage.schema is None:
        return tasks[0].content
    return pack_text(prompt_of(context, reasons), names, tasks)


def rerender_requests(
    tx: Transaction, context: LaneContext, requests: Sequence[RequestId]
) -> dict[RequestId, CallText]:
    """The texts of requests once more, where what they read has not changed in the meantime."""
    members = tx.subjects.members_of_requests(requests) if requests else []
    done = render(
        tx, context.spec, context.stage_prompt, sorted({member.task_id for member in members})
    )
    texts: dict[RequestId, CallText] = {}
    for request, group in groupby(members, lambda row: row.request_id):
        carried = list(group)
        if all(row.task_id in done.contents and _is_made_from(row, done.used) for row in carried):
            items = [_item(done, row.task_id) for row in carried]
            names = [row.wire_id for row in carried]
            reasons = _complaints([done.rows[carried[0].task_id]]).get(carried[0].task_id)
            text = text_of_pack(context, names, items, reasons)
            texts[request] = CallText(text, done.turns.get(carried[0].task_id, ()))
    return texts


def unchanged_requests(tx: Transaction, requests: Sequence[RequestId]) -> set[RequestId]:
    """Which requests would still be made from the same results."""
    members = tx.subjects.members_of_requests(requests)
    inputs = tx.subjects.inputs_of_tasks(sorted({member.task_id for member in members}))
    current = {task: [row.result_id for row in rows] for task, rows in inputs.items()}
    changed = {member.request_id for member in members if not _is_made_from(member, current)}
    return {member.request_id for member in members} - changed


def _is_made_from(member: MemberRow, used: Used) -> bool:
    return (stored_json(member.used) or []) == used.get(member.task_id, [])


def _item(done: RenderedTasks, task: TaskId) -> BlockItem:
    row = done.rows[task]
    return BlockItem(row.block_index, row.block_type or "other", done.contents[task])
