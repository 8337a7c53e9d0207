"""Regate: stored answers are judged with the gates as they are now, for nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import IllegalMove
from quire.domain.ids import RunId, StageId, TaskId
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.controls import AnsweredTask
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.control import begin_command, carry_out, going_run
from quire.pipeline.rejudge import CONFIRMED, KINDS, Change, is_confirmed, rejudge
from quire.pipeline.renew import named
from quire.pipeline.revise import revise
from quire.plan.prompting import text_of

CHUNK = 500  # tasks judged in one transaction
SHOWN = 5  # examples of each kind
LONGEST = 200  # characters of an example's data
DIFFERENT = ("changed", "accepted", "refused")


class Regating(NamedTuple):
    """What is to be judged again."""

    run_id: RunId
    stage: str | None = None  # None: all of them
    apply: bool = False
    command: str | None = None


class Example(NamedTuple):
    """One task that newer gates see differently."""

    task_id: TaskId
    kind: str  # changed, accepted or refused
    before: str
    after: str


@dataclass(slots=True)
class Regated:
    """What newer gates say of one stage."""

    stage: str
    gate_version: str
    applied: bool
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    stale: int = 0  # dependants that were marked
    examples: list[Example] = field(default_factory=list)

    @property
    def differs(self) -> int:
        """How many tasks would change, or did."""
        return sum(self.counts[kind] for kind in DIFFERENT)


def regate(
    ledger: Ledger, contexts: Contexts, asked: Regating, clock: Callable[[], datetime]
) -> list[Regated]:
    """Judge a run's stored answers again, a chunk at a time; the same twice changes nothing."""
    with ledger.snapshot() as tx:
        told = contexts.told(tx, asked.run_id)
        stages = told.recipe.stages if asked.stage is None else (named(told, asked.stage),)
        if asked.apply:
            _check(tx, asked)
            if asked.command is not None and tx.controls.knows(asked.command):
                return []
    found = [_stage(ledger, contexts, asked, told.stage_ids[each.name], clock) for each in stages]
    if asked.apply:
        carry_out(ledger, lambda tx: _conclude(tx, asked, found, clock()))
    return found


def _check(tx: Transaction, asked: Regating) -> None:
    if going_run(tx, asked.run_id).state == "cancelled":
        raise IllegalMove(
            f"run {asked.run_id} is cancelled; `quire retry {asked.run_id}` opens it again"
        )


def _conclude(tx: Transaction, asked: Regating, found: Sequence[Regated], now: datetime) -> None:
    """Note the command once all of it is carried out: what was cut short is carried out again."""
    if begin_command(tx, asked.run_id, "regate", now, asked.command):
        for each in found:
            if each.differs:
                said = ", ".join(f"{each.counts[kind]} {kind}" for kind in DIFFERENT)
                tx.events.add(asked.run_id, "regated", f"{each.stage}: {said}", now)
        tx.notify()


def _stage(
    ledger: Ledger,
    contexts: Contexts,
    asked: Regating,
    stage: StageId,
    clock: Callable[[], datetime],
) -> Regated:
    with ledger.snapshot() as tx:
        context = contexts.any_of_stage(tx, asked.run_id, stage)
    done = Regated(context.stage.name, context.gate_version, asked.apply)
    after, more = 0, True
    while more:
        chunk = _chunk(ledger, context, asked, after, clock)
        _count(done, chunk)
        more = len(chunk.tasks) == CHUNK
        after = chunk.tasks[-1].id if chunk.tasks else after
    return done


class _Chunk(NamedTuple):
    """Some tasks judged again."""

    tasks: list[AnsweredTask]
    said: list[tuple[AnsweredTask, str, Change | None]]
    stale: int = 0  # dependants that were marked


def _chunk(
    ledger: Ledger,
    context: LaneContext,
    asked: Regating,
    after: int,
    clock: Callable[[], datetime],
) -> _Chunk:
    """Judge the next tasks, and if that is asked for carry out what it says, all together."""

    def judge(tx: Transaction) -> _Chunk:
        tasks = tx.controls.answered_tasks(context.stage_id, after, CHUNK)
        return _Chunk(tasks, list(rejudge(tx, context, tasks)))

    def apply(tx: Transaction) -> _Chunk:
        begin_command(tx, asked.run_id, "regate", clock(), None)
        _check(tx, asked)
        judged = judge(tx)
        changes = [change for _, _, change in judged.said if change is not None]
        return judged._replace(stale=revise(tx, context, changes, clock()) if changes else 0)

    if asked.apply:
        return carry_out(ledger, apply)
    with ledger.snapshot() as tx:
        return judge(tx)


def _count(done: Regated, chunk: _Chunk) -> None:
    done.stale += chunk.stale
    done.counts[CONFIRMED] += sum(is_confirmed(each) for each in chunk.tasks)
    for task, kind, change in chunk.said:
        done.counts[kind] += 1
        if change is not None and sum(each.kind == kind for each in done.examples) < SHOWN:
            done.examples.append(_example(task, kind, change))


def _example(task: AnsweredTask, kind: str, change: Change) -> Example:
    before = task.data if task.data is not None else task.error or "failed"
    after = "; ".join(change.reasons) if change.said is None else text_of(change.said.verdict.data)
    return Example(task.id, kind, before[:LONGEST], after[:LONGEST])
