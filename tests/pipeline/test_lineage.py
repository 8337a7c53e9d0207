"""Lineage: results know where they come from, and stages are expanded over pairs and lineages."""

from collections.abc import Callable

import pytest

from quire.domain.errors import UsageError
from quire.domain.recipes import Recipe, Stage
from quire.domain.states import RunState
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import recipe, task_states, text_stage
from tests.world import World, sentences

Worlds = Callable[..., World]
MODELS = ("simulated/small", "simulated/large", "simulated/small-2026-01-01")


def all_of(name: str) -> str:
    """A template that reads all results of a stage."""
    return f"{{% for each in inputs.{name} %}}{{{{ each.text }}}} {{% endfor %}}"


def chain() -> Recipe:
    """Thesis, critiques, pairs, lineages, one for each model, and two that read their own."""
    return recipe(
        text_stage("thesis", "all_to_one", "Answer.", all_models=True),
        text_stage(
            "antithesis", "each_result", "{{ inputs.thesis.text }}", of="thesis", all_models=True
        ),
        text_stage(
            "pairwise",
            "pairs_by_origin",
            "{{ inputs.thesis.text }} {{ inputs.antithesis.text }}",
            of="antithesis",
            needs=("thesis",),
            all_models=True,
        ),
        text_stage(
            "reduced",
            "by_lineage",
            "{{ inputs.thesis.text }} " + all_of("pairwise"),
            of="pairwise",
            needs=("thesis",),
            all_models=True,
        ),
        text_stage("synthesis", "each_model", all_of("reduced"), needs=("reduced",)),
        own_stage("parenthesis", "synthesis"),
        own_stage("paralysis", "parenthesis"),
    )


def own_stage(name: str, above: str) -> Stage:
    """A stage of which each model reads its own result of another."""
    prompt = f"{{{{ inputs.{above}.text }}}}"
    return text_stage(name, "each_model", prompt, needs=(above,), own_model=("*",))


def start(here: World, count: int, asked: Recipe | None = None, **policy: object) -> RunHandle:
    """Start the chain with so many models."""
    here.ingest(sentences(2))
    return here.engine.run(recipe=asked or chain(), models=MODELS[:count], **policy)  # type: ignore[arg-type]


COUNTS = [
    (1, (1, 1, 1, 1, 1, 1, 1)),
    (2, (2, 4, 8, 4, 2, 2, 2)),
    (3, (3, 9, 27, 9, 3, 3, 3)),
]
MODES = ("best_effort", "exact", "throughput")


# Of one model and of three a mode makes as much of a difference as of two.
@pytest.mark.parametrize(
    ("models", "counts", "mode"),
    [
        pytest.param(*case, mode, marks=() if 2 in case or mode == MODES[0] else pytest.mark.soak)
        for case in COUNTS
        for mode in MODES
    ],
)
def test_the_chain_of_a_dialectic_has_its_stated_counts(
    world: Worlds, models: int, counts: tuple[int, ...], mode: str
) -> None:
    here = world()

    run = start(here, models, completion_mode=mode)
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    names = [stage.name for stage in chain().stages]
    assert task_states(here.engine, run) == {
        name: {"done": count} for name, count in zip(names, counts, strict=True)
    }


def planned(here: World, asked: Recipe, count: int) -> dict[str, int]:
    """The tasks that a plan counts, stage by stage."""
    tasks: dict[str, int] = {}
    for stage in here.engine.plan(recipe=asked, models=MODELS[:count]).stages:
        tasks[stage.stage] = tasks.get(stage.stage, 0) + stage.tasks
    return tasks


def made(here: World, run: RunHandle) -> dict[str, int]:
    """The tasks that were expanded, stage by stage."""
    return {name: sum(of.values()) for name, of in task_states(here.engine, run).items()}


@pytest.mark.parametrize("models", [1, 3])
def test_a_plan_counts_what_is_then_expanded(world: Worlds, models: int) -> None:
    here = world()
    for name in ("a", "b"):
        here.ingest([f"{name} {text}" for text in sentences(2)], name=name)
    draft = text_stage("draft", "samples", "{{ document.title }}", of="idea", samples=2)
    asked = recipe(
        text_stage("idea", "each_document", "{{ document.text }}", all_models=True),
        draft,
        text_stage("group", "by_group", all_of("draft"), of="draft", all_models=True),
        text_stage("line", "by_lineage", all_of("group"), of="group", samples=2),
        text_stage(
            "pair",
            "pairs_by_origin",
            "{{ inputs.draft.text }} {{ inputs.group.text }}",
            of="group",
            needs=("draft",),
        ),
        *(text_stage("last", "each_model", all_of("pair"), needs=("pair",)),),
    )

    stated = planned(here, asked, models)
    run = here.engine.run(recipe=asked, models=MODELS[:models])
    run.wait()

    assert stated == made(here, run)
    ideas = 2 * models
    assert stated == {
        "idea": ideas,
        "draft": 2 * ideas,
        "group": ideas * models,
        "line": 2 * ideas,
        "pair": ideas * 2 * models,
        "last": models,
    }


def test_every_task_knows_its_origin_its_group_and_what_it_reads(world: Worlds) -> None:
    here = world()
    run = start(here, 2)
    run.wait()

    raw = Raw(here.url)
    rows = raw.rows(
        "SELECT s.name, t.id, t.model_no, t.origin_id, t.group_id FROM tasks t"
        " JOIN stages s ON s.id = t.stage_id ORDER BY t.id"
    )
    inputs = raw.rows("SELECT task_id, input_task_id FROM task_inputs ORDER BY task_id, ordinal")
    raw.close()
    tasks = {row[1]: row for row in rows}
    reads = {task: [tasks[row[1]] for row in inputs if row[0] == task] for task in tasks}
    theses = [row[1] for row in rows if row[0] == "thesis"]
    for name, task, model, origin, group in rows:
        above = [read[0] for read in reads[task]]
        if name in ("thesis", "synthesis", "parenthesis", "paralysis"):
            assert (origin, group) == (None, None)
        if name == "antithesis":
            assert origin == group == reads[task][0][1]
            assert above == ["thesis"]
        if name == "pairwise":
            critique, thesis = reads[task]
            assert (critique[3], group) == (origin, thesis[1])
            assert above == ["antithesis", "thesis"]
        if name == "reduced":
            assert origin == group == reads[task][-1][1]
            assert above == ["pairwise"] * 4 + ["thesis"]
            assert {read[3] for read in reads[task][:-1]} == {origin}
        if name == "synthesis":
            assert above == ["reduced"] * 4
        if name in ("parenthesis", "paralysis"):
            assert [read[2] for read in reads[task]] == [model]
    assert {row[3] for row in rows if row[0] == "reduced"} == set(theses)


def test_a_critic_is_of_the_lineage_that_it_judges(world: Worlds) -> None:
    here = world()
    thesis, antithesis, *_ = chain().stages
    judge = text_stage(
        "judge", "each_result", "{{ judged.answer }}", of="antithesis", critic="record"
    )
    run = start(here, 2, recipe(thesis, antithesis, judge))
    run.wait()

    raw = Raw(here.url)
    rows = raw.rows(
        "SELECT count(*) FROM tasks c JOIN stages s ON s.id = c.stage_id AND s.name = 'judge'"
        " JOIN tasks t ON t.id = c.group_id AND t.origin_id = c.origin_id"
    )
    raw.close()
    assert rows == [(4,)]


def test_a_model_that_is_asked_by_nobody_above_is_refused(world: Worlds) -> None:
    here = world()
    one = text_stage("one", "all_to_one", "Go.")

    with pytest.raises(UsageError, match="large is to read its own results of one in two"):
        start(here, 2, recipe(one, own_stage("two", "one")))
