"""Wording: what was said of a task, or would be, put into the same words again."""

import json
from collections.abc import Iterator, Sequence

from quire.domain.ids import TaskId
from quire.domain.tasks import TaskView
from quire.ledger.ledger import Transaction
from quire.ledger.tables.views import RequestView
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.criticise import LONGEST
from quire.pipeline.gather import REPAIR, text_of_pack
from quire.pipeline.render import Rendered, render
from quire.plan.prompting import text_of
from quire.plan.rendering import Item, payload_hash, user_text

CHANGED = (
    "(what it was made from has changed since, or another version of Quire rendered it, and its"
    " text was not stored; --ledger-bodies full stores texts)"
)

MOST_TRIED = 200  # ways to word a request, where it is not known which it was


def sent_text(tx: Transaction, contexts: Contexts, view: RequestView) -> str | None:
    """The text of a request, stored or rendered again; None once part of it was purged."""
    if view.body is not None or view.purged:
        return view.body
    lanes = [
        contexts.of_lane(tx, lane)
        for lane in tx.requests.lanes_of_run(view.run_id)
        if lane.stage_id == view.stage_id
    ]
    heads = {each.sending(view.max_output).payload_head for each in lanes}
    for text in _texts(tx, lanes[0], view):
        if text is None:
            return None
        if any(payload_hash(head, text) == view.payload_hash for head in heads):
            return text
    return CHANGED


def _texts(tx: Transaction, context: LaneContext, view: RequestView) -> Iterator[str | None]:
    """Ways to say it: the plain one about blocks, then from what it read, with what it was told."""
    if context.by_block and view.kind != REPAIR:
        contents = tx.requests.contents([view.id])
        items = [
            Item(each.block_index, each.block_type, each.content)
            for each in contents
            if each.content is not None
        ]
        if len(items) < len(contents):
            yield None
        yield user_text(context.stage.prompt, view.id, items)
        return
    members = tx.subjects.members([view.id])
    tasks = [each.task_id for each in members]
    used = {each.task_id: json.loads(each.used) for each in members if each.used}
    for critiques in _critiques(tx, context, tasks, mended=view.kind == REPAIR):
        done = render(tx, context.told, context.asking, tasks, used or None, critiques)
        if all(task in done.contents for task in tasks):
            names = [each.wire_id for each in members]
            yield text_of_pack(context, names, [_item(done, task) for task in tasks])


def _critiques(
    tx: Transaction, context: LaneContext, tasks: Sequence[TaskId], *, mended: bool
) -> Iterator[dict[TaskId, str]]:
    """What may have been said against earlier answers when it was asked, the likeliest first.

    It is written nowhere which it was; but the fingerprint of what was sent tells.
    """
    if not mended and not context.stage.critic:
        yield {}
        return
    own = [{}, *_said_of(tx, tasks[0])] if mended else [{}]
    judged = tx.subjects.judged(tasks) if context.stage.critic else []
    above = [{}, *_said_of(tx, judged[0].task_id)] if judged else [{}]
    tried = [theirs | ours for ours in reversed(own) for theirs in above]
    yield from tried[:MOST_TRIED]


def _said_of(tx: Transaction, task: TaskId) -> list[dict[TaskId, str]]:
    """All that gates and critics ever said against answers of a task."""
    words = [f"{stage}: {text_of(data)}"[:LONGEST] for stage, data in tx.exports.ever_said(task)]
    view = tx.tasks.view(task)
    now = [view.error] if view and view.error else []
    return [{task: each} for each in dict.fromkeys([*tx.exports.refusals(task), *words, *now])]


def text_alone(tx: Transaction, context: LaneContext, task: TaskId) -> str | None:
    """The text that a task would be asked with if it went now, and alone; None once purged."""
    if context.by_block:
        ready = tx.tasks.content(task)
        if ready is None:
            return None
        item = Item(ready.block_index, ready.block_type, ready.content)
        return user_text(context.stage.prompt, 0, [item])
    done = render(tx, context.told, context.asking, [task])
    if task in done.failed:
        return f"(it cannot be put into words yet: {done.failed[task]})"
    if context.stage.schema is None:
        return done.contents[task]
    return user_text(context.stage.prompt, 0, [_item(done, task)])


def about(view: TaskView, models: Sequence[str], *, samples: bool) -> str:
    """What a task is about, in a few words; who is asked only where there are several."""
    parts = [subject(view.block_uid, view.title, view.reads)]
    if len(models) > 1:
        parts.append(models[view.model_no])
    if samples:
        parts.append(f"sample {view.sample}")
    return ", ".join(parts)


def subject(block_uid: str, title: str, reads: int | None) -> str:
    """The block, result or document that a task is about."""
    what = block_uid or title
    if reads is not None:
        return f"{what}, result of task {reads}" if what else f"result of task {reads}"
    return what or "the run"


def _item(done: Rendered, task: TaskId) -> Item:
    row = done.rows[task]
    return Item(row.block_index, row.block_type or "other", done.contents[task])
