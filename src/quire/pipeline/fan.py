"""Fan: a stage is expanded into the tasks that its grouping makes, a chunk at a time."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from quire.domain.data import plain_json
from quire.domain.groupings import Driven, Driver, Grouping, Part, Surroundings
from quire.domain.ids import BlockId, DocumentId, TaskId
from quire.domain.lineage import NewPart, Related
from quire.domain.recipes import Stage
from quire.domain.runs import RunStage
from quire.ledger.ledger import Transaction
from quire.pipeline.told import Told
from quire.pipeline.trace import Traced, trace

MOST_DOCUMENTS = 100_000  # that a grouping may look at


class Thing(NamedTuple):
    """One thing that a stage is expanded over, with its place in the order."""

    driven: Driven
    place: bytes
    block_id: BlockId | None = None
    document_id: DocumentId | None = None
    task: Related | None = None


class Fanned(NamedTuple):
    """What one chunk came to."""

    added: int
    exhausted: bool  # there is nothing more to expand over, as things stand


class _Made(NamedTuple):
    thing: Thing
    part: Part
    no: int  # its place among the parts of the thing


def fan(tx: Transaction, told: Told, stage: RunStage, limit: int) -> Fanned:
    """Owe the next answers of a stage; the cursor moves in the same transaction."""
    spec = told.stages[stage.id]
    grouping = told.grouping_of(spec)
    around = surroundings(tx, told, spec, grouping)
    place = tx.lineage.cursor(stage.id)
    made_before = stage.cursor_block + 1 if place else 0
    wanted = 2 + limit // max(1, grouping.count(1, around))  # the one at the cursor, and the next
    things = _things(tx, told, spec, place, wanted)
    made: list[_Made] = []
    exhausted = len(things) < wanted
    for thing in things:
        first = made_before if thing.place == place else 0
        room = limit - len(made)
        parts = list(islice(grouping.fan(thing.driven, around), first, first + room + 1))
        made += [_Made(thing, part, first + no) for no, part in enumerate(parts[:room])]
        place, made_before = thing.place, first + len(parts[:room])
        if len(parts) > room:
            exhausted = False
            break
    if made:
        _add(tx, told, stage, made)
    tx.lineage.set_cursor(stage.id, place, made_before, len(made))
    return Fanned(len(made), exhausted)


def surroundings(tx: Transaction, told: Told, spec: Stage, grouping: Grouping) -> Surroundings:
    """What a grouping may look at besides the thing itself."""
    documents: Sequence[DocumentId] = ()
    if grouping.wants_documents:
        listed = tx.lineage.documents(told.run_id, spec.over, 0, MOST_DOCUMENTS)
        documents = tuple(document for _, document in listed)
    return Surroundings(
        parameters=told.recipe.parameters,
        settings=spec.settings,
        samples=spec.samples,
        models=told.models_of(spec),
        documents=documents,
    )


def _things(tx: Transaction, told: Told, spec: Stage, place: bytes, limit: int) -> list[Thing]:
    """What comes next, the one at `place` first: some of its tasks may still be owed."""
    run, key = told.run_id, int.from_bytes(place, "big")
    match told.driver_of(spec):
        case Driver.ONCE:
            return [Thing(Driven(0), _place(0))]
        case Driver.DOCUMENT:
            listed = tx.lineage.documents(run, spec.over, key, limit)
            return [
                Thing(Driven(document), _place(ordinal), document_id=document)
                for ordinal, document in listed
            ]
        case Driver.BLOCK:
            blocks = tx.lineage.blocks(run, spec.over, key, limit)
            return [Thing(Driven(block), _place(block), block, doc) for block, doc in blocks]
        case Driver.RESULT:
            return list(_results(tx, told, spec, place, limit))


def _results(tx: Transaction, told: Told, spec: Stage, place: bytes, limit: int) -> Iterator[Thing]:
    for each in tx.lineage.drivers(told.stage_ids[spec.of], place, limit):
        yield Thing(
            Driven(each.id, told.models[each.model_no].name, each.sample, told.part(each.part)),
            bytes(each.subject_hash),
            each.block_id,
            each.document_id,
            Related(each.id, each.state),
        )


def _place(key: int) -> bytes:
    """Ascending, so that the index grows at its end."""
    return key.to_bytes(8, "big")


def _add(tx: Transaction, told: Told, stage: RunStage, made: Sequence[_Made]) -> None:
    spec = told.stages[stage.id]
    gathers = told.gathers(spec)
    traced = [
        Traced(each.thing.block_id, _document(each), _shown(each), each.thing.task) for each in made
    ]
    read = [[] for _ in made] if gathers else trace(tx, told, spec, traced)
    rows = [
        _row(told, each, reads, gathers=gathers) for each, reads in zip(made, read, strict=True)
    ]
    ids = tx.lineage.add(stage.run_id, stage.id, rows)
    tx.lineage.add_inputs([(task, _ids(reads)) for task, reads in zip(ids, read, strict=True)])
    tx.lineage.add_documents([(task, _shown(each)) for task, each in zip(ids, made, strict=True)])
    for task in ids if gathers else ():
        tx.lineage.add_all_inputs(task, [told.stage_ids[name] for name in spec.upstream])


def _row(told: Told, made: _Made, reads: Sequence[Related], *, gathers: bool) -> NewPart:
    part, thing = made.part, made.thing
    number = told.model_numbers.get(part.model or told.models[0].name)
    state, error = ("waiting", None) if gathers else readiness(reads)
    if number is None:
        state, error = "failed", f"its grouping asks {part.model!r}, which the run was not told of"
    return NewPart(
        thing.block_id,
        _document(made),
        number or 0,
        part.sample,
        plain_json(part.part) if part.part else None,
        None,
        thing.place + made.no.to_bytes(4, "big"),
        b"",  # what is asked is known when it is put into words
        state,
        error,
    )


def readiness(reads: Sequence[Related]) -> tuple[str, str | None]:
    """The state of a task by what it reads: it may go, must wait, or cannot go and why."""
    for each in reads:
        if each.state in ("failed", "blocked", "cancelled"):
            return "blocked", f"task {each.id}, which it reads, is {each.state}"
    done = all(each.state == "done" for each in reads)
    return ("ready" if done else "waiting"), None


def _shown(made: _Made) -> tuple[DocumentId, ...]:
    return made.part.documents


def _document(made: _Made) -> DocumentId | None:
    """The document it is about: its own, or the only one that is shown."""
    shown = _shown(made)
    return shown[0] if len(shown) == 1 else made.thing.document_id


def _ids(reads: Sequence[Related]) -> list[TaskId]:
    return [each.id for each in reads]
