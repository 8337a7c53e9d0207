"""The same question is asked once: in a run, and from run to run; what does not do is asked."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.data import Json
from quire.domain.errors import CostAboveLimit
from quire.domain.ids import WorkspaceId
from quire.domain.recipes import Stage
from quire.domain.states import RunState
from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.settings import Settings
from quire.simulated.fault_scripts import NO_FAULTS
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, task_states, text_stage
from tests.pipeline.taste_gate import TASTE, documents, set_taste, tasks_of
from tests.world import METADATA, World, sentences, until_rest

Worlds = Callable[..., World]


def calls_of(here: World, order: Callable[[], RunHandle]) -> tuple[RunHandle, int]:
    """Carry out an order; how many calls were made for it."""
    before = here.model.calls
    run = order()
    until_rest(run)
    return run, here.model.calls - before


def data_of(run: RunHandle) -> list[object]:
    """What a run found, without what names it."""
    names = ("word_count", "first_40_chars", "has_question")
    return [tuple(row[name] for name in names) for row in run.rows()]


def test_the_same_job_once_more_costs_nothing(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(60))
    first = here.run()

    again, calls = calls_of(here, lambda: here.start(new=True))

    end = again.progress()
    assert (calls, end.calls, end.cost_usd, end.done) == (0, 0, 0, 60)
    assert again.id != first.id
    assert data_of(again) == data_of(first)


def test_one_word_of_the_prompt_asks_everything_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    here.run(pack_size=1)
    told: dict[str, Json] = {
        **METADATA,
        "title": "told",
        "prompt_config": {"system_instructions": "Say otherwise."},
    }

    _, calls = calls_of(here, lambda: here.start(told, pack_size=1))

    assert calls == 30


def test_changed_blocks_alone_are_asked(world: Worlds) -> None:
    here = world()
    texts = sentences(1000)
    here.ingest(texts, "first")
    here.run(pack_size=1, concurrency=64)
    for place in (3, 500, 999):
        texts[place] = f"Quite another block, the one at {place}."
    here.ingest(texts, "second")
    over = here.engine.library.documents()[-1].id

    changed, calls = calls_of(
        here,
        lambda: here.engine.start(
            here.engine.orders.resolve(
                schema=METADATA, model=SMALL, over=[over], policy={"pack_size": 1}
            )
        ),
    )

    assert (calls, changed.progress().done) == (3, 1000)


def test_equal_blocks_of_a_run_are_asked_once(world: Worlds) -> None:
    here = world()
    here.ingest([text for text in sentences(20) for _ in range(4)])

    run, calls = calls_of(here, lambda: here.start(pack_size=1))

    assert (calls, run.progress().done) == (20, 80)
    found = data_of(run)
    assert [found[place] for place in range(0, 80, 4)] == [found[it] for it in range(3, 80, 4)]


def test_every_block_is_asked_where_reuse_is_off(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10) + sentences(10))
    _, calls = calls_of(here, lambda: here.start(pack_size=1, reuse="off"))
    assert calls == 20

    _, calls = calls_of(here, lambda: here.start(pack_size=1, reuse=False, new=True))
    assert calls == 20

    # what was asked then may be taken by whoever wants to
    _, calls = calls_of(here, lambda: here.start(pack_size=1, new=True))
    assert calls == 0


def test_other_packs_and_other_company_ask_the_same(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    here.run(pack_size=10)

    run, calls = calls_of(here, lambda: here.start(pack_size=7, max_tries=5))

    assert (calls, run.progress().done) == (0, 30)


@pytest.mark.parametrize("policy", [{"temperature": 0.5}, {"effort": "high"}])
def test_other_parameters_ask_something_else(world: Worlds, policy: dict[str, Any]) -> None:
    here = world()
    here.ingest(sentences(5))
    here.run(pack_size=1)

    _, calls = calls_of(here, lambda: here.start(pack_size=1, **policy))

    assert calls == 5


def test_those_who_follow_a_task_that_fails_ask_for_themselves(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(["It says MARK."] * 3 + sentences(5))

    run, calls = calls_of(here, lambda: here.start(pack_size=1, max_tries=2))

    assert [state for state, _, _ in here.task_tries(run.id)] == ["failed"] * 3 + ["done"] * 5
    assert calls == 3 * 2 + 5
    assert run.progress().state == RunState.FINISHED


def test_a_failed_answer_is_never_taken(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(["It says MARK.", "Nothing."])
    here.run(pack_size=1, max_tries=1)
    here.model.faults = NO_FAULTS

    run, calls = calls_of(here, lambda: here.start(pack_size=1, max_tries=1, new=True))

    assert (calls, run.progress().done) == (1, 2)


def test_edits_arrive_and_what_was_rejected_or_purged_is_asked_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4), "kept")
    here.ingest(["A block that will be purged."], "purged")
    here.ingest(["A block that will be purged."], "twin")
    first = here.run(pack_size=1)
    tasks = tasks_of(here, first, "extract")
    first.edit(tasks[0], {"word_count": 1, "first_40_chars": "mine", "has_question": False})
    first.reject(tasks[1], "no")
    first.approve(tasks[2])
    purged = next(item for item in here.engine.library.documents() if item.title == "purged")
    here.engine.library.purge(str(purged.id))
    here.model.calls = 0

    second, calls = calls_of(here, lambda: here.start(pack_size=1, new=True))

    # the rejected one, and the twin of what was purged
    assert (calls, second.progress().done) == (2, 5)
    assert data_of(second)[0] == data_of(first)[0]


def test_a_rerun_and_a_rejection_always_ask(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3) * 2)
    run = here.run(pack_size=1)

    _, calls = calls_of(here, lambda: _rerun(run))
    assert calls == 6

    run.reject(tasks_of(here, run, "extract")[0], "no")
    _, calls = calls_of(here, lambda: run)
    assert calls == 1


def test_what_is_stale_is_asked_again_though_another_run_has_an_answer(world: Worlds) -> None:
    here = world()
    documents(here, 2)
    runs = [run_recipe(here, SUMMARY, POINTS)[0] for _ in range(2)]
    for run in runs:
        run.edit(tasks_of(here, run, "summary")[0], {"text": "In other words."})

    asked = []
    for run in runs:
        assert run.retry(stale=True) == 1
        asked.append(calls_of(here, lambda run=run: run)[1])  # type: ignore[misc]

    assert asked == [1, 1]
    texts = [run.rows(stage="points")[0]["text"] for run in runs]
    assert texts == ["simulated: Points of In other words."] * 2


def _rerun(run: RunHandle) -> RunHandle:
    run.rerun("extract")
    return run


def test_an_answer_is_judged_by_the_gates_of_today(world: Worlds) -> None:
    here = world()
    set_taste(here)
    documents(here, 3)
    stage = text_stage("say", "each_document", "Say:\n{{ document.text }}", gates=TASTE)
    first = here.engine.run(recipe=recipe(stage), model=SMALL)
    first.wait()
    set_taste(here, refuses="number1", mark="!", version="2")

    def order() -> RunHandle:
        return here.engine.run(recipe=recipe(stage), model=SMALL, new=True, max_tries=1)

    second, calls = calls_of(here, order)

    assert calls == 1  # the one that the new gate refuses
    texts = [row.get("text") for row in second.rows()]
    assert [str(text).endswith("!") for text in texts] == [True, False, True]


SUMMARY = text_stage("summary", "each_document", "Sum up:\n{{ document.text }}")
POINTS = text_stage("points", "each_result", "Points of {{ inputs.summary.text }}", of="summary")
TITLES = text_stage("titles", "each_result", "Title of {{ inputs.points.text }}", of="points")
RHYMES = text_stage("rhymes", "each_result", "Rhyme on {{ inputs.titles.text }}", of="titles")
FOUR = (SUMMARY, POINTS, TITLES, RHYMES)


def run_recipe(here: World, *stages: Stage, **more: object) -> tuple[RunHandle, int]:
    """Run a recipe of these stages; how many calls that took."""
    return calls_of(
        here,
        lambda: here.engine.run(recipe=recipe(*stages), model=SMALL, new=True, **more),  # type: ignore[arg-type]
    )


def test_a_changed_stage_and_what_follows_is_asked_again(world: Worlds) -> None:
    here = world()
    documents(here, 3)
    _, calls = run_recipe(here, *FOUR)
    assert calls == 12

    changed = replace(TITLES, prompt="A short title of {{ inputs.points.text }}")
    second, calls = run_recipe(here, SUMMARY, POINTS, changed, RHYMES)

    assert calls == 6
    assert {name: counts["done"] for name, counts in task_states(here.engine, second).items()} == (
        {"summary": 3, "points": 3, "titles": 3, "rhymes": 3}
    )
    _, calls = run_recipe(here, *FOUR)
    assert calls == 0


def test_samples_are_taken_only_for_the_same_sample(world: Worlds) -> None:
    here = world()
    documents(here, 2)
    drawn = text_stage("drawn", "samples", "Say.", samples=3)
    _, calls = run_recipe(here, drawn)
    assert calls == 3

    _, calls = run_recipe(here, drawn)
    assert calls == 0
    _, calls = run_recipe(here, replace(drawn, samples=5))
    assert calls == 2
    other = replace(recipe(drawn), name="other")
    _, calls = calls_of(here, lambda: here.engine.run(recipe=other, model=SMALL))
    assert calls == 3


CHECK = record_stage(
    "check",
    "each_result",
    "Well?\n{{ judged.asked }}\n{{ judged.answer }}",
    NOTED,
    of="summary",
    critic="gate",
    accepts="answer.word_count >= 0",
)


def test_who_follows_is_judged_by_the_critic_too_and_its_word_is_shared(world: Worlds) -> None:
    here = world()
    for name in ("one", "two", "three"):
        here.ingest(["The very same text."], name)

    first, calls = run_recipe(here, SUMMARY, CHECK)
    assert calls == 2
    states = {"summary": {"done": 3}, "check": {"done": 3}}
    assert task_states(here.engine, first) == states

    second, calls = run_recipe(here, SUMMARY, CHECK)
    assert calls == 0
    assert task_states(here.engine, second) == states


def test_what_its_critic_has_not_passed_is_asked_again(world: Worlds) -> None:
    here = world()
    documents(here, 2)
    vetoing = replace(CHECK, accepts="answer.word_count < 0")
    run_recipe(here, SUMMARY, vetoing, max_tries=1)

    second, calls = run_recipe(here, SUMMARY)

    assert calls == 2
    assert task_states(here.engine, second) == {"summary": {"done": 2}}


def test_another_workspace_asks_for_itself(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.run(pack_size=1)
    other = World.__new__(World)
    other.__dict__.update(here.__dict__)
    settings = Settings(ledger=here.url, lease=here.lease, grace=here.grace)
    ledger = open_ledger(here.url, workspace=WorkspaceId("elsewhere"))
    other.engine = Engine(make_context(settings, ledger, here.runtime))
    other.engine.context.providers = here.engine.context.providers
    other.ingest(sentences(5))

    _, calls = calls_of(other, lambda: other.start(pack_size=1))
    other.engine.close()

    assert calls == 5


def test_a_run_that_takes_answers_says_where_they_come_from(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    first = here.run()
    second, _ = calls_of(here, lambda: here.start(new=True))

    raw = Raw(here.url)
    found = raw.rows(
        "SELECT was.run_id, count(*) FROM results r JOIN tasks t ON t.id = r.task_id"
        " JOIN results o ON o.id = r.reused_from JOIN tasks was ON was.id = o.task_id"
        " WHERE t.run_id = 2 GROUP BY was.run_id"
    )
    raw.close()
    assert found == [(first.id, 3)]
    assert [row["reused_from"] for row in second.rows()] == [1, 2, 3]
    assert [row["reused_from"] for row in first.rows()] == [None] * 3
    end = second.progress()
    assert end.reused == 3
    assert end.saved_usd == pytest.approx(first.progress().cost_usd)


def test_answers_that_were_taken_are_judged_again_like_any_other(world: Worlds) -> None:
    here = world()
    set_taste(here)
    documents(here, 3)
    stage = text_stage("say", "each_document", "Say:\n{{ document.text }}", gates=TASTE)
    run_recipe(here, stage)
    second, calls = run_recipe(here, stage)
    assert calls == 0
    set_taste(here, refuses="number1", version="2")

    (report,) = second.regate(apply=True)

    assert (report.counts["same"], report.counts["refused"]) == (2, 1)
    assert task_states(here.engine, second) == {"say": {"done": 2, "failed": 1}}


def test_whoever_is_asked_once_more_takes_no_answer_of_another_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    here.run(pack_size=2)
    taken = here.run(pack_size=2, new=True)
    asked = here.model.calls
    assert taken.progress().reused == 6

    taken.rerun("extract")
    taken.wait()

    assert here.model.calls == 2 * asked


def test_a_run_that_asks_everything_does_so_when_it_goes_on(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    here.run(pack_size=1)
    asking = here.run(pack_size=1, new=True, limit=2, reuse=False)

    more, unsaid = calls_of(here, lambda: here.start(pack_size=1, limit=4))
    _, said = calls_of(here, lambda: here.start(pack_size=1, reuse=True))

    assert more.id == asking.id
    assert (unsaid, said) == (2, 0)  # its own setting, until another one is said
    assert more.progress().reused == 2


def test_what_a_run_that_asks_everything_still_costs_counts_when_it_goes_on(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    here.run(pack_size=1)
    here.run(pack_size=1, new=True, limit=2, reuse=False)
    policy: dict[str, Json] = {"pack_size": 1}
    order = here.engine.orders.resolve(schema=METADATA, model=SMALL, policy=policy)

    with pytest.raises(CostAboveLimit):
        here.engine.start(order, max_cost_usd=0.0)


def test_what_shared_a_call_with_a_purged_document_is_not_asked_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3), "kept")
    here.ingest(["Erase this."], "erased")
    kept = data_of(here.run())[:3]
    here.engine.library.purge("erased")

    again, calls = calls_of(here, lambda: here.start(new=True))

    assert (calls, again.progress().reused, data_of(again)) == (0, 3, kept)
