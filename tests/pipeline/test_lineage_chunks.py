"""Pairs, lineages and groups are expanded in chunks: none is skipped, and none made twice."""

from collections.abc import Callable

import pytest

from quire.domain.recipes import Stage
from quire.domain.states import TaskMove
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages import expand, expansion_items
from quire.pipeline.stages.advance import advance
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import SMALL, recipe, task_states, text_stage
from tests.pipeline.taste_gate import documents
from tests.world import NOW, World

Worlds = Callable[..., World]
IDEA = text_stage("idea", "each_document", "{{ document.title }}")
VIEW = text_stage("view", "samples", "{{ inputs.idea.text }}", of="idea", samples=3)
STAGES = {
    "pairs_by_origin": text_stage(
        "it", "pairs_by_origin", "{{ inputs.view.text }}", of="view", needs=("idea",), samples=2
    ),
    "by_lineage": text_stage("it", "by_lineage", "{{ inputs.view|length }}", of="view", samples=5),
    "by_group": text_stage("it", "by_group", "{{ inputs.view|length }}", of="view", samples=5),
    "roots": text_stage("it", "by_lineage", "{{ inputs.idea|length }}", of="idea", samples=5),
}


@pytest.mark.parametrize("chunk", [1, 4, 7])
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_chunks_of_any_size_make_the_same_tasks(
    world: Worlds, monkeypatch: pytest.MonkeyPatch, stage: Stage, chunk: int
) -> None:
    monkeypatch.setattr(expand, "CHUNK", chunk)
    monkeypatch.setattr(expansion_items, "MOST_MEMBERS", chunk)
    here, contexts = world(), Contexts()
    documents(here, 4)
    asked = recipe(IDEA, VIEW, stage)
    run = here.engine.run(recipe=asked, model=SMALL, completion_mode="throughput")

    chunks = 0
    while here.engine.progress(run.id).stages[-1].state != "open":
        with here.engine.ledger.transaction() as tx:
            chunks += advance(tx, contexts, NOW).expanded > 0
            for run_stage in tx.runs.stages_of_run(run.id)[:2]:
                tx.tasks.move_tasks_of_stage(TaskMove.ACCEPT, run_stage.id)

    made = {"pairs_by_origin": 4 * 3 * 2}.get(stage.about, 4 * 5)
    assert sum(task_states(here.engine, run)["it"].values()) == made
    assert chunks >= made / chunk
    raw = Raw(here.url)
    rows = raw.rows(
        "SELECT t.origin_id, t.group_id, t.sample, count(ti.input_task_id) FROM tasks t"
        " JOIN stages s ON s.id = t.stage_id AND s.name = 'it'"
        " JOIN task_inputs ti ON ti.task_id = t.id GROUP BY t.id, t.origin_id, t.group_id, t.sample"
    )
    raw.close()
    assert len(rows) == made
    assert {row[3] for row in rows} == {{"by_lineage": 3, "by_group": 3}.get(stage.about, 2)} or (
        stage.of == "idea" and {row[3] for row in rows} == {1}
    )
    assert all(row[0] == row[1] for row in rows)
