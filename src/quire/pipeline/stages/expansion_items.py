"""Expansion items: the things that a stage is expanded over, in a fixed order, from a place on.

A place is what the cursor remembers: items come in the order of their places, and a later chunk
goes on from the last. Blocks, documents, and tasks that lineages or groups are named by, have their
number for a place, results their subject, and pairs both: a result's subject, an anchor's number.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.domain.groupings import ABOUT_RESULTS, Driver, DriverItem, Part
from quire.domain.ids import BlockId, DocumentId, TaskId
from quire.domain.recipes import Stage
from quire.domain.tasks import DriverTask, RelatedTask, TaskGroup
from quire.ledger.ledger import Transaction
from quire.pipeline.run_spec import RunSpec

MOST_MEMBERS = 50_000  # tasks of lineages or groups that are read in one transaction
_KEY_BYTES = 8


class ExpansionItem(NamedTuple):
    """One thing that a stage is expanded over, with its place in the order."""

    driven: DriverItem
    place: bytes
    block_id: BlockId | None = None
    document_id: DocumentId | None = None
    task: RelatedTask | None = None  # whose result it is
    key: RelatedTask | None = None  # the anchor of a pair; what a lineage or group is named by
    origin: TaskId | None = None  # where its lineage began; None: it begins with its tasks
    group: TaskId | None = None  # the task whose result its tasks are directly about


class NextItems(NamedTuple):
    """What comes next."""

    items: Sequence[ExpansionItem]
    exhausted: bool  # there is nothing after them, as things stand
    last: bytes  # the place they were looked for up to


class NewTask(NamedTuple):
    """One task that an item is expanded into."""

    item: ExpansionItem
    part: Part
    no: int  # its place among the parts of the thing

    @property
    def document_id(self) -> DocumentId | None:
        """The document it is about: its own, or the only one that is shown."""
        shown = self.part.documents
        return shown[0] if len(shown) == 1 else self.item.document_id


def next_items(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, place: bytes, limit: int
) -> NextItems:
    """What comes next, the one at `place` first: some of its tasks may still be owed."""
    match spec.driver_of(recipe_stage):
        case Driver.PAIR:
            return _pair_items(tx, spec, recipe_stage, place, limit)
        case Driver.LINEAGE | Driver.GROUP:
            return _group_items(tx, spec, recipe_stage, place, limit)
        case _:
            items = _single_items(tx, spec, recipe_stage, place, limit)
            return NextItems(items, len(items) < limit, place)


def _single_items(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, place: bytes, limit: int
) -> list[ExpansionItem]:
    run, key = spec.run_id, int.from_bytes(place, "big")
    match spec.driver_of(recipe_stage):
        case Driver.DOCUMENT:
            listed = tx.lineage.input_documents(run, recipe_stage.over, key, limit)
            return [
                ExpansionItem(DriverItem(document), _place_key(ordinal), document_id=document)
                for ordinal, document in listed
            ]
        case Driver.BLOCK:
            blocks = tx.lineage.input_blocks(run, recipe_stage.over, key, limit)
            return [
                ExpansionItem(DriverItem(block), _place_key(block), block, doc)
                for block, doc in blocks
            ]
        case Driver.RESULT:
            stage = spec.stage_ids[recipe_stage.of]
            drivers = tx.lineage.drivers_of_stage(stage, place, limit)
            return [_result_item(spec, driver) for driver in drivers]
        case _:
            return [ExpansionItem(DriverItem(0), _place_key(0))]


def _result_item(spec: RunSpec, driver: DriverTask) -> ExpansionItem:
    return ExpansionItem(
        DriverItem(
            driver.id,
            spec.models[driver.model_no].name,
            driver.sample,
            spec.parse_part(driver.part),
        ),
        bytes(driver.subject_hash),
        driver.block_id,
        driver.document_id,
        task=_as_related(driver),
        origin=driver.lineage,
        group=driver.id,
    )


def _pair_items(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, place: bytes, limit: int
) -> NextItems:
    """Results, each with the anchors of its origin; one without an anchor makes no pair."""
    anchor_stage = spec.lineage.anchor(recipe_stage)
    assert anchor_stage is not None  # checked with the recipe
    paired = spec.stage_ids[recipe_stage.of]
    drivers = tx.lineage.drivers_of_stage(paired, place[:-_KEY_BYTES], limit)
    origins = sorted({driver.lineage for driver in drivers})
    anchors = tx.lineage.tasks_of_lineages(spec.stage_ids[anchor_stage.name], origins)
    pairs = [
        _result_item(spec, driver)._replace(
            place=bytes(driver.subject_hash) + _place_key(anchor.id), key=anchor, group=anchor.id
        )
        for driver in drivers
        for anchor in anchors[driver.lineage]
    ]
    beyond = b"\xff" * _KEY_BYTES  # after every anchor
    last = bytes(drivers[-1].subject_hash) + beyond if drivers else place
    return NextItems([pair for pair in pairs if pair.place >= place], len(drivers) < limit, last)


def _group_items(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, place: bytes, limit: int
) -> NextItems:
    """Lineages or groups of the results of one stage, not more than can be read at once."""
    stage, key = spec.stage_ids[recipe_stage.of], int.from_bytes(place, "big")
    if spec.driver_of(recipe_stage) is Driver.GROUP:
        groups = tx.lineage.groups_of_stage(stage, key, limit)
    elif spec.driver_of(spec.stage_named(recipe_stage.of)) in ABOUT_RESULTS:
        groups = tx.lineage.lineages_of_stage(stage, key, limit)
    else:  # each began a lineage itself
        drivers = tx.lineage.drivers_of_stage(stage, place, limit)
        items = [_result_item(spec, driver) for driver in drivers]
        roots = [item._replace(task=None, key=item.task) for item in items]
        return NextItems(roots, len(roots) < limit, place)
    chosen = list(_within_members(groups))
    drivers_by_id = tx.lineage.drivers_by_id([group.id for group in chosen])
    items = [
        _result_item(spec, driver)._replace(
            place=_place_key(driver.id), task=None, key=_as_related(driver)
        )
        for driver in drivers_by_id.values()
    ]
    last = _place_key(chosen[-1].id) if chosen else place
    return NextItems(items, len(chosen) == len(groups) < limit, last)


def _within_members(groups: Sequence[TaskGroup]) -> Iterator[TaskGroup]:
    """As many as can be read at once, and two at least: the one at the cursor, and the next."""
    members = 0
    for number, group in enumerate(groups):
        members += group.members
        if number >= 2 and members > MOST_MEMBERS:
            return
        yield group


def _as_related(driver: DriverTask) -> RelatedTask:
    return RelatedTask(driver.id, driver.state, driver.model_no)


def _place_key(key: int) -> bytes:
    """Ascending, so that the index grows at its end."""
    return key.to_bytes(_KEY_BYTES, "big")
