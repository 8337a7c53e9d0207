"""Gather: tasks that may be packed, each in the words it is asked with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import orjson

from quire.domain.ids import RequestId, TaskId
from quire.domain.lineage import MemberRow, SubjectRow
from quire.domain.requests import Kind
from quire.domain.states import TASK_OPEN, TASK_OWED
from quire.domain.tasks import ReadyTask
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import Note
from quire.pipeline.contexts import LaneContext
from quire.pipeline.render import Rendered, render
from quire.plan.prompting import complaint
from quire.plan.rendering import Item, pack_text

REPAIR = Kind.REPAIR.value


class Gathered(NamedTuple):
    """Tasks ready to be packed."""

    tasks: list[ReadyTask]
    used: dict[TaskId, str]  # of those that read results: which ones, as JSON
    mended: Mapping[TaskId, str] = MappingProxyType({})  # why their earlier answers did not do


def gather(tx: Transaction, context: LaneContext, limit: int) -> Gathered:
    """Take what may be packed; who cannot be put into words is given up, with the reason."""
    if context.by_block:
        return _mend(tx, tx.tasks.ready(context.stage_id, limit))
    told, asking = context.told, context.asking
    ready = tx.subjects.ready(context.stage_id, context.model_no, limit)
    orphans = _orphans(tx, context, ready)
    if orphans:  # nobody waits for their word: what they judge made way
        tx.tasks.move("cancel", sorted(orphans), ["ready"])
        ready = [task for task in ready if task not in orphans]
    unfounded = _unfounded(tx, context, ready)
    if unfounded:  # an input made way while the task was made
        tx.tasks.move("reset", sorted(unfounded), ["ready"])
        ready = [task for task in ready if task not in unfounded]
    done = render(tx, told, asking, ready)
    if done.failed:
        notes = [Note(task, error=why) for task, why in done.failed.items()]
        tx.tasks.note(notes)
        tx.tasks.move("give_up", list(done.failed), ["ready"])
    tasks = [_ready(done, task) for task in done.contents]
    used = {task: json.dumps(done.used[task]) for task in done.contents if done.used[task]}
    return Gathered(tasks, used, _complaints(done.rows.values()))


def _orphans(tx: Transaction, context: LaneContext, ready: Sequence[TaskId]) -> set[TaskId]:
    if not context.stage.critic or not ready:
        return set()
    inputs = tx.subjects.inputs(ready)
    current = {task: {row.result_id for row in rows} for task, rows in inputs.items()}
    rows = tx.subjects.rows(ready)
    return {row.id for row in rows if row.judged_result_id not in current.get(row.id, set())}


def _unfounded(tx: Transaction, context: LaneContext, ready: Sequence[TaskId]) -> set[TaskId]:
    if not context.reads or context.stage.critic or not ready:
        return set()
    owed = TASK_OWED if context.told.gathers(context.stage) else (*TASK_OPEN, "failed", "cancelled")
    inputs = tx.subjects.inputs(ready)
    return {task for task, rows in inputs.items() if any(row.state in owed for row in rows)}


def _mend(tx: Transaction, ready: list[ReadyTask]) -> Gathered:
    """Of plain questions about blocks, those that go alone may have to say why they go again."""
    alone = [each.id for each in ready if each.pack_cap == 1]
    return Gathered(ready, {}, _complaints(tx.subjects.rows(alone)) if alone else {})


def _complaints(rows: Iterable[SubjectRow]) -> dict[TaskId, str]:
    return {row.id: row.error or "" for row in rows if row.next_kind == REPAIR}


def _ready(done: Rendered, task: TaskId) -> ReadyTask:
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
    prompt, item = context.stage.prompt, context.asking.item
    if not reasons or (item is not None and "critique" in item.names):
        return prompt
    return f"{prompt}\n\n{complaint(reasons)}"


def text_of_pack(
    context: LaneContext, names: Sequence[str], tasks: Sequence[Item], reasons: str | None = None
) -> str:
    """The text of one call: a pack of items, or the one message where answers are text."""
    if context.stage.schema is None:
        return tasks[0].content
    return pack_text(prompt_of(context, reasons), names, tasks)


def gathered_again(
    tx: Transaction, context: LaneContext, requests: Sequence[RequestId]
) -> dict[RequestId, str]:
    """The texts of requests once more, where what they read has not changed in the meantime."""
    members = tx.subjects.members(requests) if requests else []
    done = render(tx, context.told, context.asking, sorted({each.task_id for each in members}))
    texts: dict[RequestId, str] = {}
    for request, group in groupby(members, lambda each: each.request_id):
        carried = list(group)
        if all(_unchanged(done, each) for each in carried):
            items = [_item(done, each.task_id) for each in carried]
            names = [each.wire_id for each in carried]
            reasons = _complaints([done.rows[carried[0].task_id]]).get(carried[0].task_id)
            texts[RequestId(request)] = text_of_pack(context, names, items, reasons)
    return texts


def unchanged(tx: Transaction, requests: Sequence[RequestId]) -> set[RequestId]:
    """Which requests would still be made from the same results."""
    members = tx.subjects.members(requests)
    inputs = tx.subjects.inputs(sorted({each.task_id for each in members}))
    changed = {
        each.request_id
        for each in members
        if json.loads(each.used or "[]") != [row.result_id for row in inputs.get(each.task_id, ())]
    }
    return {RequestId(each.request_id) for each in members} - {RequestId(e) for e in changed}


def _unchanged(done: Rendered, member: MemberRow) -> bool:
    task = member.task_id
    return task in done.contents and json.loads(member.used or "[]") == done.used[task]


def _item(done: Rendered, task: TaskId) -> Item:
    row = done.rows[task]
    return Item(row.block_index, row.block_type or "other", done.contents[task])
