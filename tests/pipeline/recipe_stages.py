"""Recipes to try things out with: stages of text and of records, short to write."""

from collections.abc import Mapping
from typing import Any

from quire.domain.data import Json
from quire.domain.ids import schema_uid
from quire.domain.models import Params
from quire.domain.recipes import GateUse, Recipe, Schema, Stage
from quire.engine import Engine, RunHandle
from tests.world import METADATA

SMALL = "simulated/small"
NOTED: dict[str, Json] = {
    "title": "noted",
    "type": "object",
    "additionalProperties": False,
    "properties": {"approved": {"type": "boolean"}, "word_count": {"type": "integer"}},
    "required": ["approved", "word_count"],
}


def text_stage(name: str, about: str, prompt: str, **more: Any) -> Stage:
    """A stage that is answered in text."""
    fields: dict[str, Any] = {"gates": (GateUse("text"),), "templated": True, **more}
    return Stage(
        name=name,
        about=about,
        schema=None,
        instructions="Be brief.",
        prompt=prompt,
        params=Params(),
        **fields,
    )


def record_stage(
    name: str, about: str, prompt: str, body: Mapping[str, Json] = METADATA, **more: Any
) -> Stage:
    """A stage that is answered with records."""
    fields: dict[str, Any] = {"templated": True, **more}
    return Stage(
        name=name,
        about=about,
        schema=Schema(ref=name, uid=schema_uid(body), body=body),
        instructions="Be brief.",
        prompt=prompt,
        params=Params(),
        **fields,
    )


def recipe(*stages: Stage, **parameters: Json) -> Recipe:
    """A recipe of these stages."""
    return Recipe(name="example", stages=stages, parameters=parameters)


def task_states(engine: Engine, run: RunHandle) -> dict[str, dict[str, int]]:
    """The tasks of each stage by state, counted, and checked against the tallies."""
    with engine.ledger.snapshot() as tx:
        found = {}
        for stage in tx.runs.stages_of_run(run.id):
            counted = tx.tallies.recount_tasks(stage.id)
            tallied = tx.tallies.tallies_of_stage(stage.id)
            assert counted == {state: tallied.get(state, 0) for state in counted}
            found[stage.name] = counted
    return found


def task_outcomes(engine: Engine, run: RunHandle, stage: str) -> list[tuple[str, str | None]]:
    """State and error of every task of a stage, in order."""
    with engine.ledger.snapshot() as tx:
        key = next(
            run_stage.id for run_stage in tx.runs.stages_of_run(run.id) if run_stage.name == stage
        )
        found: list[tuple[str, str | None]] = []
        for related in tx.lineage.first_tasks_of_stage(key, 10_000):
            view = tx.tasks.get_task(related.id)
            assert view is not None
            found.append((view.state, view.error))
    return found


def sent_texts(engine: Engine, run: RunHandle, stage: str) -> list[str]:
    """What was sent for a stage, call by call."""
    with engine.ledger.snapshot() as tx:
        key = next(
            run_stage.id for run_stage in tx.runs.stages_of_run(run.id) if run_stage.name == stage
        )
        lanes = {lane.id: lane.stage_id for lane in tx.requests.lanes_of_run(run.id)}
        requests = [request.id for request in tx.views.list_requests(run.id, 0, 10_000)]
        views = [tx.views.get_request(request) for request in requests]
    assert lanes
    chosen = [view.id for view in views if view is not None and view.stage_id == key]
    return [engine.queries.exchange(request_id).user or "" for request_id in chosen]
