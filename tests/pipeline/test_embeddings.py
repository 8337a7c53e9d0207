"""Passages ranked by a provider's embeddings: asked for once, counted, and never in the way."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quire.dispatch.runtime import EMBEDDING_POINTS
from quire.domain.errors import UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.reasons import EventKind
from quire.domain.requests import RequestKind
from quire.domain.states import RequestState
from quire.engine import RunHandle
from quire.ledger.tables.views import RequestLine
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import SMALL, recipe
from tests.pipeline.test_compression import ASK, FACT, Died, DyingAt, long_document
from tests.pipeline.test_purge import SECRET, everything_on_disk
from tests.rehearsed.rehearsed import ByClock, QuickClock
from tests.world import World

Worlds = Callable[..., World]

EMBEDDER = "simulated/embedder"
LONG = 2_400  # sentences, a quarter more than fit the window of the small model


def embeddings(here: World, run: RunId) -> list[RequestLine]:
    """The calls for embeddings of a run."""
    lines = here.engine.queries.requests(run)
    return [line for line in lines if line.kind == RequestKind.EMBED]


def tell_failures(here: World, run: RunId) -> list[str]:
    """What the history says of embeddings that did not come."""
    found = here.engine.queries.events(run, 500)
    return [event.detail for event in found if event.kind == EventKind.EMBEDDER_FAILED]


def notes(run: RunHandle) -> list[str]:
    """The kinds of what is noted on the results of a run."""
    rows: list[Any] = run.rows()
    return sorted(note["kind"] for row in rows for note in row["notes"])


def start(here: World, **policy: Any) -> RunHandle:
    """Ask about a long document, ranked by embeddings."""
    return here.engine.run(recipe=recipe(ASK), model=SMALL, embedder=EMBEDDER, **policy)


def test_passages_are_ranked_by_a_models_embeddings_which_are_paid_and_counted(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(long_document(LONG))

    run = start(here)
    now = run.wait()

    assert (now.done, now.failed) == (1, 0)
    assert FACT in here.engine.queries.prompt(TaskId(1)).user
    calls = embeddings(here, run.id)
    assert calls
    assert {(call.state, call.sent, call.model) for call in calls} == {
        (RequestState.CLOSED, 1, EMBEDDER)
    }
    others = [it for it in here.engine.queries.requests(run.id) if it not in calls]
    assert now.cost_pico == sum(call.cost_pico for call in (*calls, *others))
    assert now.calls == len(calls) + len(others)
    assert notes(run) == ["compressed"]


def test_ten_tasks_with_one_prompt_pay_for_every_passage_once(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(4_200))
    stages = recipe(replace(ASK, samples=10))

    run = here.engine.run(recipe=stages, model=SMALL, embedder=EMBEDDER)
    now = run.wait()

    with here.engine.ledger.snapshot() as tx:
        views = [tx.views.get_request(call.id) for call in embeddings(here, run.id)]
    passages = [text for view in views if view and view.body for text in json.loads(view.body)]
    assert now.done == 10
    assert len(passages) > 1000
    assert len(set(passages)) == len(passages)


def test_a_stage_may_name_who_ranks_for_it(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONG))
    stage = replace(ASK, policy={"embedder": EMBEDDER})

    run = here.engine.run(recipe=recipe(stage), model=SMALL)
    now = run.wait()

    assert (now.done, now.failed) == (1, 0)
    assert embeddings(here, run.id)


def test_prompts_that_fit_need_no_embeddings(world: Worlds) -> None:
    here = world()
    here.ingest(["A word.", "Another."])

    run = start(here)
    now = run.wait()

    assert (now.done, now.calls, embeddings(here, run.id)) == (1, 1, [])


@pytest.mark.parametrize("point", [*EMBEDDING_POINTS, "after_record", "before_extracts"])
def test_a_worker_that_dies_between_a_call_for_embeddings_and_its_extract_pays_once(
    world: Worlds, point: str
) -> None:
    here = world(runtime=DyingAt(point))
    here.ingest(long_document(LONG))
    run = start(here)
    with pytest.raises((Died, BaseExceptionGroup)):
        run.wait()

    now = run.wait()

    calls = embeddings(here, run.id)
    assert (now.done, now.failed, now.presumed_pico) == (1, 0, 0)
    assert {(call.state, call.sent) for call in calls} == {(RequestState.CLOSED, 1)}
    assert here.model.calls == len(calls) + 1
    assert notes(run) == ["compressed"]


def test_a_call_for_embeddings_that_is_lost_is_presumed_and_goes_again(world: Worlds) -> None:
    here = world(runtime=ByClock(QuickClock(60)))
    here.ingest(long_document(LONG))
    here.model.script = ["drop=1"]

    run = start(here)
    now = run.wait()

    assert (now.done, now.failed) == (1, 0)
    assert now.presumed_pico > 0
    assert sorted({call.sent for call in embeddings(here, run.id)}) == [1, 2]
    assert notes(run) == ["compressed"]


def marked_document(subject: str) -> list[str]:
    """A long document with a word at its end, which no extract by words keeps."""
    return [*long_document(LONG, subject), f"{'QUAGMIRE ' * 26}."]


@pytest.mark.parametrize("fault", ["400", "413", "garbage", "key", "500", "drop"])
def test_words_rank_where_no_embeddings_come_and_that_is_told_once(
    world: Worlds, fault: str
) -> None:
    here = world(faults=f"{fault}@QUAGMIRE", runtime=ByClock(QuickClock(60)))
    for subject in ("pears", "plums"):
        here.ingest(marked_document(subject), name=subject)

    run = start(here)
    now = run.wait()

    assert (now.state, now.done, now.failed) == ("finished", 2, 0)
    assert FACT in here.engine.queries.prompt(TaskId(1)).user
    assert len(tell_failures(here, run.id)) == 1
    assert notes(run) == ["compressed", "compressed", "ranked_by_words", "ranked_by_words"]


def test_one_text_that_is_refused_is_ranked_by_words_and_others_are_not(world: Worlds) -> None:
    here = world(faults="400@QUAGMIRE")
    here.ingest(long_document(LONG))
    here.ingest(marked_document("plums"), name="another")

    run = start(here)
    now = run.wait()

    assert (now.done, now.failed, len(tell_failures(here, run.id))) == (2, 0, 1)
    assert notes(run) == ["compressed", "compressed", "ranked_by_words"]


def test_purging_a_document_erases_the_embeddings_of_its_passages(world: Worlds) -> None:
    here = world()
    here.ingest([*long_document(LONG), f"{SECRET} is a word."], name="secret")
    run = start(here)
    run.wait()
    assert SECRET.encode() in everything_on_disk(here)
    calls, raw = embeddings(here, run.id), Raw(here.url)

    here.engine.purge("secret")

    assert SECRET.encode() not in everything_on_disk(here)
    assert raw.rows("SELECT count(*) FROM embeddings") == [(0,)]
    left = "SELECT count(*) FROM requests WHERE body IS NOT NULL"
    assert raw.rows(left) == [(0,)]
    raw.close()
    assert [call.cost_pico for call in embeddings(here, run.id)] == [
        call.cost_pico for call in calls
    ]


REFUSED = {
    "anthropic/claude-haiku-4-5": "anthropic makes no embeddings",
    "openai/gpt-5": "openai/gpt-5 makes no embeddings",
    "openai/text-embedding-9": "nothing is known of openai/text-embedding-9",
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_makes_no_embeddings_is_refused_before_anything_is_spent(
    world: Worlds, name: str
) -> None:
    here = world()
    here.ingest(["A word."])

    with pytest.raises(UsageError) as refused:
        here.engine.run(recipe=recipe(ASK), model=SMALL, embedder=name)

    assert REFUSED[name] in str(refused.value)
    assert here.model.calls == 0


def test_a_model_of_embeddings_is_not_asked_for_answers(world: Worlds) -> None:
    here = world()
    here.ingest(["A word."])

    with pytest.raises(UsageError, match="answers nothing"):
        here.engine.run(recipe=recipe(ASK), model=EMBEDDER)
