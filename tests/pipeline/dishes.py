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
    told: dict[str, Any] = {"gates": (GateUse("text"),), "templated": True, **more}
    return Stage(
        name=name,
        about=about,
        schema=None,
        instructions="Be brief.",
        prompt=prompt,
        params=Params(),
        **told,
    )


def record_stage(
    name: str, about: str, prompt: str, body: Mapping[str, Json] = METADATA, **more: Any
) -> Stage:
    """A stage that is answered with records."""
    told: dict[str, Any] = {"templated": True, **more}
    return Stage(
        name=name,
        about=about,
        schema=Schema(ref=name, uid=schema_uid(body), body=body),
        instructions="Be brief.",
        prompt=prompt,
        params=Params(),
        **told,
    )


def recipe(*stages: Stage, **parameters: Json) -> Recipe:
    """A recipe of these stages."""
    return Recipe(name="dish", stages=stages, parameters=parameters)


def states(engine: Engine, run: RunHandle) -> dict[str, dict[str, int]]:
    """The tasks of each stage by state, counted, and checked against the tallies."""
    with engine.ledger.snapshot() as tx:
        found = {}
        for stage in tx.runs.stages(run.id):
            counted = tx.tallies.recount(stage.id)
            tallied = tx.tallies.of_stage(stage.id)
            assert counted == {state: tallied.get(state, 0) for state in counted}
            found[stage.name] = counted
    return found


def answers(engine: Engine, run: RunHandle, stage: str) -> list[tuple[str, str | None]]:
    """State and error of every task of a stage, in order."""
    with engine.ledger.snapshot() as tx:
        key = next(each.id for each in tx.runs.stages(run.id) if each.name == stage)
        found = []
        for related in tx.lineage.few(key, 10_000):
            view = tx.tasks.view(related.id)
            assert view is not None
            found.append((view.state, view.error))
    return found


def sent(engine: Engine, run: RunHandle, stage: str) -> list[str]:
    """What was sent for a stage, call by call."""
    with engine.ledger.snapshot() as tx:
        key = next(each.id for each in tx.runs.stages(run.id) if each.name == stage)
        lanes = {each.id: each.stage_id for each in tx.requests.lanes_of_run(run.id)}
        requests = [each.id for each in tx.views.requests(run.id, 0, 10_000)]
        views = [tx.views.request(each) for each in requests]
    assert lanes
    chosen = [each.id for each in views if each is not None and each.stage_id == key]
    return [engine.look.exchange(each).user or "" for each in chosen]
