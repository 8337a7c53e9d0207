"""What became of a person's decisions, read from the ledger."""

import json

from quire.domain.data import Json
from quire.domain.ids import TaskId
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.world import World


def current_result(here: World, task: TaskId) -> tuple[str, str, Json]:
    """Origin, review state and data of a task's current result."""
    raw = Raw(here.url)
    ((origin, review, data),) = raw.rows(
        "SELECT origin, review_state, data FROM results"
        f" WHERE task_id = {task} AND superseded_at IS NULL"
    )
    raw.close()
    return origin, review, json.loads(data)


def decision_events(run: RunHandle, here: World) -> list[tuple[str, str]]:
    """What was told of decisions."""
    with here.engine.ledger.snapshot() as tx:
        kinds = ("approved", "edited", "rejected")
        return [(e.kind, e.detail) for e in tx.events.events_of_run(run.id) if e.kind in kinds]
