"""A changed recipe keeps an earlier run's results of what did not change, and pays for the rest."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.errors import Conflict, UsageError
from quire.domain.recipes import Stage
from quire.domain.states import RunState
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import SMALL, recipe, task_states, text_stage
from tests.pipeline.taste_gate import ALL_DONE, CHECK, DIGEST, POINTS, SUMMARY, start_run, tasks_of
from tests.world import World

Worlds = Callable[..., World]
OTHER_POINTS = replace(POINTS, prompt="Another {{ sample }}: {{ inputs.summary.text }}")
VETO = replace(CHECK, critic="gate", accepts="answer.word_count >= 0")


def start_changed(here: World, earlier: RunHandle, from_stage: str, *stages: Stage) -> RunHandle:
    """Start a run of changed stages that keeps what it may."""
    return here.engine.run(
        recipe=recipe(*stages), reuse=(earlier.id, from_stage), reuse_answers=False
    )


@pytest.mark.parametrize(
    ("from_stage", "stages", "calls"),
    [
        ("points", (SUMMARY, CHECK, OTHER_POINTS, DIGEST), 6 + 1),
        ("digest", (SUMMARY, CHECK, POINTS, replace(DIGEST, prompt="{{ inputs.points }}")), 1),
        ("check", (SUMMARY, replace(CHECK, prompt="So? {{ judged.answer }}"), POINTS, DIGEST), 3),
        ("check", (SUMMARY, VETO, POINTS, DIGEST), 3 + 6 + 1),
        ("extra", (*(SUMMARY, CHECK, POINTS, DIGEST), replace(DIGEST, name="extra")), 1),
    ],
)
def test_only_what_changed_and_what_follows_is_asked_again(
    world: Worlds, from_stage: str, stages: tuple[Stage, ...], calls: int
) -> None:
    here = world()
    earlier = start_run(here)
    earlier.wait()
    before, paid = here.model.calls, earlier.progress().cost_usd

    changed = start_changed(here, earlier, from_stage, *stages)
    end = changed.wait()

    assert here.model.calls - before == end.calls == calls
    extra = {"extra": {"done": 1}} if from_stage == "extra" else {}
    assert task_states(here.engine, changed) == ALL_DONE | extra
    assert task_states(here.engine, earlier) == ALL_DONE
    assert (end.state, earlier.progress().cost_usd) == (RunState.FINISHED, paid)
    texts = [row["text"] for row in changed.rows(stage="summary")]
    assert texts == [row["text"] for row in earlier.rows(stage="summary")]


def test_what_is_kept_says_where_it_comes_from_and_stays_confirmed(world: Worlds) -> None:
    here = world()
    earlier = start_run(here)
    earlier.wait()
    earlier.approve(tasks_of(here, earlier, "summary")[0])
    changed = start_changed(here, earlier, "points", SUMMARY, CHECK, OTHER_POINTS, DIGEST)
    changed.wait()

    raw = Raw(here.url)
    kept = raw.rows(
        "SELECT s.name, was.run_id, count(*), sum(CASE WHEN r.review_state = 'approved' THEN 1"
        " ELSE 0 END) FROM results r JOIN tasks t ON t.id = r.task_id"
        " JOIN stages s ON s.id = t.stage_id JOIN results o ON o.id = r.reused_from"
        " JOIN tasks was ON was.id = o.task_id WHERE t.run_id = 2 GROUP BY s.name, was.run_id"
        " ORDER BY s.name"
    )
    raw.close()
    assert kept == [("check", 1, 3, 0), ("summary", 1, 3, 1)]
    events = here.engine.queries.events(changed.id, 50)
    assert "results of 6 tasks come from run 1" in [event.detail for event in events]


def test_a_result_that_was_kept_can_be_steered_like_any_other(world: Worlds) -> None:
    here = world()
    earlier = start_run(here)
    earlier.wait()
    changed = start_changed(here, earlier, "points", SUMMARY, CHECK, OTHER_POINTS, DIGEST)
    changed.wait()
    before = here.model.calls

    changed.reject(tasks_of(here, changed, "summary")[0], "shorter")
    changed.wait()

    assert here.model.calls - before == 2  # the answer, and its critic
    assert changed.retry(stale=True) == 2 + 1  # its points, and the digest of all
    changed.wait()
    assert task_states(here.engine, changed)["digest"] == {"done": 1}


def test_the_plan_says_what_would_be_asked_again(world: Worlds) -> None:
    here = world()
    earlier = start_run(here)
    earlier.wait()
    order = recipe(SUMMARY, CHECK, OTHER_POINTS, DIGEST)

    planned = here.engine.plan(recipe=order, reuse=(earlier.id, "points"))

    assert {stage.stage: (stage.reused, stage.calls) for stage in planned.stages} == {
        "summary": (True, 0),
        "check": (True, 0),
        "points": (False, 6),
        "digest": (False, 1),
    }
    assert (planned.calls, planned.tasks) == (7, 7)


def test_the_same_command_again_goes_on_and_pays_nothing(world: Worlds) -> None:
    here = world()
    earlier = start_run(here)
    earlier.wait()
    stages = (SUMMARY, CHECK, OTHER_POINTS, DIGEST)
    changed = start_changed(here, earlier, "points", *stages)
    changed.wait()
    calls = here.model.calls

    again = start_changed(here, earlier, "points", *stages)
    again.wait()

    assert (again.id, again.goes_on, here.model.calls) == (changed.id, True, calls)


@pytest.mark.parametrize(
    ("from_stage", "stages", "says"),
    [
        ("digest", (SUMMARY, CHECK, OTHER_POINTS, DIGEST), "points differs too.*--from points"),
        ("summary", (SUMMARY, CHECK, POINTS, DIGEST), "nothing before summary can be kept"),
        ("points", (SUMMARY, CHECK, POINTS, DIGEST), "nothing changed since run 1.*--from points"),
        ("verdict", (SUMMARY, CHECK, POINTS, DIGEST), "the recipe has no stage 'verdict'; stages"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_spent(
    world: Worlds, from_stage: str, stages: tuple[Stage, ...], says: str
) -> None:
    here = world()
    earlier = start_run(here)
    earlier.wait()

    with pytest.raises(UsageError, match=says):
        start_changed(here, earlier, from_stage, *stages)

    assert len(here.engine.runs()) == 1


def test_a_run_that_is_not_over_or_about_others_keeps_nothing(world: Worlds) -> None:
    here = world()
    earlier = start_run(here)
    stages = (SUMMARY, CHECK, OTHER_POINTS, DIGEST)
    with pytest.raises(Conflict, match="summary of run 1 is not over"):
        start_changed(here, earlier, "points", *stages)
    earlier.wait()
    here.ingest(["One more."], "more")

    with pytest.raises(UsageError, match="run 1 is about other documents"):
        here.engine.run(
            recipe=recipe(*stages),
            model=SMALL,
            over=[document.id for document in here.engine.documents()],
            reuse=(earlier.id, "points"),
        )


def test_the_same_documents_for_other_inputs_are_refused(world: Worlds) -> None:
    here = world()
    for name in ("one", "two"):
        here.ingest([f"Of {name}."], name)
    one, two = (document.id for document in here.engine.documents())
    stages = [
        text_stage(name, "each_document", "Sum up: {{ document.text }}", over=name)
        for name in ("contracts", "letters")
    ]
    last = text_stage("last", "all_to_one", "{{ inputs.contracts }}", needs=("contracts",))
    inputs = ("contracts", "letters")
    before = replace(recipe(*stages, last), inputs=inputs)
    after = replace(
        recipe(*stages, replace(last, prompt="So: {{ inputs.contracts }}")), inputs=inputs
    )
    earlier = here.engine.run(
        recipe=before, model=SMALL, over={"contracts": [one], "letters": [two]}
    )
    earlier.wait()

    with pytest.raises(UsageError, match="run 1 is about other documents"):
        here.engine.run(
            recipe=after, over={"contracts": [two], "letters": [one]}, reuse=(earlier.id, "last")
        )
    here.engine.run(recipe=after, reuse=(earlier.id, "last")).wait()
