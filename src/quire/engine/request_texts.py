"""Request texts: what was sent about a task, or would be, rendered again."""

from collections.abc import Iterator, Sequence

from quire.domain.data import stored_json
from quire.domain.ids import TaskId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.recipes import Stage
from quire.domain.requests import CallText, RequestKind
from quire.domain.task_wording import span_text, task_error_text
from quire.domain.tasks import SubjectRow, TaskView
from quire.ledger.ledger import Transaction
from quire.ledger.tables.views import RequestView
from quire.pipeline.calls.render import (
    REPAIR,
    RenderedTasks,
    render,
    render_rows,
    text_of_pack,
)
from quire.pipeline.calls.stored_texts import verified_texts
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.prompt_variables import result_text
from quire.planning.rendering import BlockItem, payload_hash, user_text

CHANGED = (
    "(what it was made from has changed since, or another version of Quire rendered it, and its"
    " text was not stored; --ledger-bodies full stores texts)"
)

MOST_TRIED = 200  # ways to word a request, where it is not known which it was


def request_text(tx: Transaction, contexts: Contexts, view: RequestView) -> CallText | None:
    """What a request says, stored or rendered again; None once part of it was purged."""
    if view.purged:
        return None if view.body is None else CallText(view.body)
    if view.kind == RequestKind.EMBED:
        return CallText(view.body or "")
    if view.kind == RequestKind.CONTINUATION:
        return _continuation(tx, contexts, view)
    context = contexts.any_of_stage(tx, view.run_id, view.stage_id)
    if view.body is not None and not context.stage.history:
        return CallText(view.body)
    return _answer_text(tx, contexts, view)


def _continuation(tx: Transaction, contexts: Contexts, view: RequestView) -> CallText:
    queued = tx.pieces.request_as_queued(view.id)
    assert queued is not None
    context = contexts.of_lane_id(tx, view.run_id, queued.lane_id)
    return verified_texts(tx, context, [queued]).get(view.id, CallText(CHANGED))


def _answer_text(tx: Transaction, contexts: Contexts, view: RequestView) -> CallText | None:
    lanes = [
        contexts.of_lane(tx, lane)
        for lane in tx.requests.lanes_of_run(view.run_id)
        if lane.stage_id == view.stage_id
    ]
    heads = {context.request_head(view.max_output).payload_head for context in lanes}
    for text in _candidate_texts(tx, lanes[0], view):
        if text is None:
            return None
        if view.body is not None:
            text = text._replace(user=view.body)
        if any(payload_hash(head, text.user, text.turns) == view.payload_hash for head in heads):
            return text
    return CallText(CHANGED if view.body is None else view.body)


def _candidate_texts(
    tx: Transaction, context: LaneContext, view: RequestView
) -> Iterator[CallText | None]:
    """Ways to say it: the plain one about blocks, then from what it read, with what it was told."""
    if context.by_block and view.kind != REPAIR:
        contents = tx.requests.member_contents([view.id])
        items = [
            BlockItem(content.block_index, content.block_type, content.content)
            for content in contents
            if content.content is not None
        ]
        if len(items) < len(contents):
            yield None
        yield CallText(user_text(context.stage.prompt, view.id, items))
        return
    members = tx.subjects.members_of_requests([view.id])
    tasks = [member.task_id for member in members]
    used = {member.task_id: stored_json(member.used) for member in members if member.used}
    for critiques in _candidate_critiques(tx, context, tasks, mended=view.kind == REPAIR):
        for rows in _candidate_rows(tx, tasks):
            done = render_rows(
                tx, context.spec, context.stage_prompt, rows, used or None, critiques
            )
            if all(task in done.contents for task in tasks):
                names = [member.wire_id for member in members]
                text = text_of_pack(context, names, [_item(done, task) for task in tasks])
                yield CallText(text, done.turns.get(tasks[0], ()))


def _candidate_rows(tx: Transaction, tasks: Sequence[TaskId]) -> Iterator[list[SubjectRow]]:
    """The tasks as they were compressed the last time, or before that, or not at all."""
    rows = tx.subjects.subjects_of_tasks(tasks)
    yield rows
    if len(rows) == 1:
        for no in reversed(range(rows[0].compression)):
            yield [rows[0]._replace(compression=no)]


def _candidate_critiques(
    tx: Transaction, context: LaneContext, tasks: Sequence[TaskId], *, mended: bool
) -> Iterator[dict[TaskId, str]]:
    """What may have been said against earlier answers when it was asked, the likeliest first.

    It is written nowhere which it was; but the fingerprint of what was sent tells.
    """
    if not mended and not context.stage.critic:
        yield {}
        return
    own = [{}, *_past_critiques(tx, tasks[0])] if mended else [{}]
    judged = tx.subjects.judged_answers(tasks) if context.stage.critic else []
    above = [{}, *_past_critiques(tx, judged[0].task_id)] if judged else [{}]
    tried = [theirs | ours for ours in reversed(own) for theirs in above]
    yield from tried[:MOST_TRIED]


def _past_critiques(tx: Transaction, task: TaskId) -> list[dict[TaskId, str]]:
    """All that gates and critics ever said against answers of a task."""
    words = [
        task_error_text(TaskError(TaskErrorKind.CRITIC_OBJECTED, result_text(data), stage))
        for stage, data in tx.results.all_critiques_of_task(task)
    ]
    view = tx.tasks.get_task(task)
    now = [view.error] if view and view.error else []
    return [
        {task: fromkey}
        for fromkey in dict.fromkeys([*tx.results.refusals_of_task(task), *words, *now])
    ]


def text_alone(tx: Transaction, context: LaneContext, task: TaskId) -> CallText | None:
    """What a task would be asked if it went now, and alone; None once purged."""
    if context.by_block:
        ready = tx.tasks.task_content(task)
        if ready is None:
            return None
        item = BlockItem(ready.block_index, ready.block_type, ready.content)
        return CallText(user_text(context.stage.prompt, 0, [item]))
    done = render(tx, context.spec, context.stage_prompt, [task])
    if task in done.failed:
        return CallText(f"(it cannot be put into words yet: {done.failed[task]})")
    text = done.contents[task]
    if context.stage.schema is not None:
        text = user_text(context.stage.prompt, 0, [_item(done, task)])
    return CallText(text, done.turns.get(task, ()))


def describe_subject(view: TaskView, models: Sequence[str], stage: Stage) -> str:
    """What a task is about, in a few words; who is asked only where there are several."""
    parts = [subject(view.block_uid, view.title, view.reads if stage.of else None)]
    parts += filter(None, [span_text(stored_json(view.part))])
    if len(models) > 1:
        parts.append(models[view.model_no])
    if stage.samples > 1:
        parts.append(f"sample {view.sample}")
    return ", ".join(parts)


def subject(block_uid: str, title: str, reads: int | None) -> str:
    """The block, result or document that a task is about."""
    what = block_uid or title
    if reads is not None:
        return f"{what}, result of task {reads}" if what else f"result of task {reads}"
    return what or "the run"


def _item(done: RenderedTasks, task: TaskId) -> BlockItem:
    row = done.rows[task]
    return BlockItem(row.block_index, row.block_type or "other", done.contents[task])
