"""Answers in pieces in the life of a run: retried, purged, learnt from and looked at."""

from collections.abc import Callable

import pytest

from quire.domain.recipes import GateUse, HistoryEntry
from quire.domain.requests import CONTINUE, Role
from tests.pipeline.continued_model import TurningModel, let_model_speak
from tests.pipeline.test_continuation import (
    END,
    LENGTH,
    WORDS,
    essay,
    rows_of,
    run_recipe,
    say_in_pieces,
    tasks,
    whole_text,
)
from tests.world import World, until_rest

Worlds = Callable[..., World]

FIXED = (
    HistoryEntry(role=Role.USER, content="Be exact."),
    HistoryEntry(role=Role.ASSISTANT, content="I will."),
)


def test_what_was_sent_is_shown_with_all_its_turns(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    model = let_model_speak(here, say_in_pieces("It began. ", "It ended."))
    run = run_recipe(here, essay(50))

    last = here.engine.queries.requests(run.id)[-1]
    view = here.engine.queries.exchange(last.id)

    assert isinstance(model, TurningModel)
    assert (view.user, view.turns) == (model.asked[1].user, model.asked[1].turns)


def test_a_task_that_failed_in_the_midst_goes_on_when_it_is_retried(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    here.model.script = ["truncate=1", "400=1"]
    run = run_recipe(here, essay(4000), max_tries=1)
    assert tasks(here, run) == [("failed", 1, 1, 0)]

    run.retry()
    until_rest(run)

    assert tasks(here, run) == [("done", 1, 0, 1)]
    assert here.model.calls == 3
    assert rows_of(run)[0]["text"] == whole_text(world)


def test_a_chain_that_failed_as_a_whole_begins_anew_when_it_is_retried(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    gate = GateUse("text", {"must_not_match": "wrong"})
    pieces = iter([("It is ", LENGTH), ("all wrong.", END), ("It is ", LENGTH), ("right.", END)])
    let_model_speak(here, lambda call: next(pieces))
    run = run_recipe(here, essay(50, gates=(gate,)), max_tries=1)
    assert tasks(here, run) == [("failed", 1, 1, 1)]

    run.retry()
    until_rest(run)

    assert rows_of(run)[0]["text"] == "It is right."
    assert tasks(here, run) == [("done", 2, 0, 1)]


def test_purging_erases_pieces_with_their_words(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    let_model_speak(here, say_in_pieces("It began. ", "It ended."))
    run = run_recipe(here, essay(50))
    last = here.engine.queries.requests(run.id)[-1].id

    here.engine.purge("doc")

    view = here.engine.queries.exchange(last)
    assert (view.user, view.turns) == (None, ())
    assert [call.gap for call in view.chain] == [None]


def test_sizes_are_learnt_from_whole_answers(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    let_model_speak(here, say_in_pieces("It began. " * 40, "It went on. " * 40, "It ended."))
    run = run_recipe(here, essay(200))

    with here.engine.ledger.snapshot() as tx:
        lane = tx.requests.lanes_of_run(run.id)[0].id
        assert tx.attempts.output_samples(lane, 9) == []
        (sample,) = tx.pieces.assembled_samples(lane, 9)
    assert sample.output_tokens == 100 + 120 + 2
    assert sample.tasks == 1


def test_the_calls_of_a_chain_are_shown_with_tokens_and_cost(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    let_model_speak(here, say_in_pieces("It began there. ", "It went on so. ", "It ended."))
    run = run_recipe(here, essay(50))
    first = here.engine.queries.requests(run.id)[0].id

    chain = here.engine.queries.exchange(first).chain

    assert [(call.piece, call.gap and call.gap.trigger.value) for call in chain] == [
        (0, "length"),
        (1, "length"),
        (None, None),
    ]
    assert [call.output_tokens for call in chain] == [4, 3, 2]
    assert sum(call.cost_pico for call in chain) == run.progress().cost_pico


@pytest.mark.parametrize("bodies", ["lean", "full"])
def test_history_stands_before_the_three_messages(world: Worlds, bodies: str) -> None:
    here = world()
    here.ingest([WORDS])
    model = let_model_speak(
        here,
        lambda call: (
            ("It ended.", END) if call.user.startswith(CONTINUE) else ("It began. ", LENGTH)
        ),
    )

    run = run_recipe(here, essay(50, history=FIXED), ledger=bodies)

    first, second = model.asked
    assert len(first.turns) == len(FIXED)
    assert second.turns[: len(FIXED)] == first.turns
    assert [turn.text for turn in second.turns[len(FIXED) :]] == [first.user, "It began. "]
    assert rows_of(run)[0]["text"] == "It began. It ended."
    last = here.engine.queries.requests(run.id)[-1].id
    assert here.engine.queries.exchange(last).turns == second.turns
