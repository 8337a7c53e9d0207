"""A run whose answers begin to fail, or to cost too much, is held before the rest is paid for."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.recipes import GATE
from quire.domain.requests import Call
from quire.domain.runs import Progress
from quire.domain.states import RunState
from quire.engine import RunHandle
from quire.pipeline.contexts import FIRST_SETTLE_GROUP
from quire.providers.protocol import RawResponse
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.pipeline.scripted_model import let_model_say
from tests.world import OneProvider, Scripted, World, sentences, until_rest

Worlds = Callable[..., World]
RUBBISH = "Sorry, I cannot help with that."


class Talkative(Scripted):
    """Bills thousands of tokens for every short answer."""

    def __init__(self, cheap_calls: int = 0) -> None:
        super().__init__()
        self.cheap_calls = cheap_calls  # billed as usual, before it begins

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer as usual, and bill more."""
        usual = await super().send(call, account)
        if self.calls <= self.cheap_calls:
            return usual
        body = json.loads(usual.raw)
        body["usage"]["output_tokens"] = 8_000
        return usual._replace(raw=json.dumps(body).encode())


def causes(now: Progress) -> list[HoldCause | None]:
    return [hold.cause for hold in now.holds]


def turning(good: int, bad: int) -> list[str]:
    """Blocks that all can be asked about, and then blocks that get nothing but rubbish."""
    return [*sentences(good), *(f"BAD {text}" for text in sentences(bad))]


@pytest.mark.parametrize("pack_size", [1, 3, 10])
def test_a_model_that_answers_rubbish_is_held_after_its_first_calls(
    world: Worlds, pack_size: int
) -> None:
    here = world()
    here.ingest(sentences(100))
    model = let_model_say(here, lambda _: RUBBISH)

    now = here.run(pack_size=pack_size, concurrency=4).progress()

    cause = HoldCause.ANSWERS_FAILING if pack_size == 10 else HoldCause.FIRST_CALLS_FAILED
    assert causes(now) == [cause]
    assert now.holds[0].kind is HoldKind.FAILURES
    assert model.calls <= 20  # ten at once, and what goes again before the first are judged


def test_a_hold_for_answers_that_were_refused_says_why(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(100))
    let_model_say(here, lambda _: "")

    (hold,) = here.run(pack_size=1, concurrency=4).progress().holds

    assert hold.cause is HoldCause.FIRST_CALLS_FAILED
    assert hold.fields["alike"] == hold.fields["refused"]
    assert f"was acceptable, {hold.fields['alike']} of {hold.fields['refused']} because: " in (
        hold.detail
    )
    assert str(hold.fields["reason"]) in hold.detail


@pytest.mark.parametrize("packing", ["on", "off"])
def test_rubbish_that_begins_later_holds_the_run_too(world: Worlds, packing: str) -> None:
    here = world()
    here.ingest(turning(150, 300))
    model = let_model_say(here, lambda user: RUBBISH if "BAD" in user else None)
    run = here.run(packing=packing, concurrency=4)

    now = run.progress()

    assert (now.state, now.done) == (RunState.RUNNING, 150)
    assert set(causes(now)) <= {HoldCause.ANSWERS_FAILING, HoldCause.TASKS_FAILING}
    assert now.holds
    waiting = FIRST_SETTLE_GROUP  # answers that are judged together, while others are asked for
    assert model.calls <= (15 + 30 if packing == "on" else 150 + 170) + waiting


def test_who_goes_on_is_held_again_only_if_it_gets_worse(world: Worlds) -> None:
    here = world(faults="wrong@BAD")
    some = [f"BAD {text}" if no % 3 == 0 else text for no, text in enumerate(sentences(240))]
    here.ingest([*sentences(100), *some, *(f"BAD {text}" for text in sentences(200))])
    run = here.run(pack_size=10, max_tries=1, concurrency=1, reuse=False)
    first = run.progress()

    run.resume()
    second = until_rest(run)

    assert causes(first) == [HoldCause.TASKS_FAILING]
    assert first.failed < 80  # of a third, once more than a fifth of a window had failed
    assert causes(second) == [HoldCause.TASKS_FAILING]
    assert 80 < second.failed < 200  # a third failed for a while, and then all


@pytest.mark.parametrize("good", [0, 100])
def test_who_asks_again_what_failed_goes_on_without_another_command(
    world: Worlds, good: int
) -> None:
    here = world()
    here.ingest(turning(good, 100))
    mended: list[str] = []
    let_model_say(here, lambda user: RUBBISH if "BAD" in user and not mended else None)
    run = here.run(pack_size=1, max_tries=1, concurrency=1)
    before = run.progress()

    mended.append("by somebody")
    owed = run.retry()
    lifted = run.progress()
    now = until_rest(run)

    assert len(before.holds) == 1
    assert owed == before.failed > 0
    assert not lifted.holds
    assert (now.state, now.done, now.failed) == (RunState.FINISHED, good + 100, 0)


def test_who_asks_again_what_fails_again_is_held_again(world: Worlds) -> None:
    here = world(faults="wrong@BAD")
    here.ingest(turning(100, 300))
    run = here.run(pack_size=10, max_tries=1, concurrency=1)
    first = run.progress()

    run.retry()
    second = until_rest(run)

    assert causes(first) == causes(second) == [HoldCause.TASKS_FAILING]
    assert second.failed < 200


def test_a_share_that_is_allowed_holds_nothing(world: Worlds) -> None:
    here = world(faults="wrong@BAD")
    here.ingest([f"BAD {text}" if no % 3 == 0 else text for no, text in enumerate(sentences(200))])

    now = here.run(pack_size=10, max_tries=1, hold_failed_percent=60).progress()

    assert (now.state, now.failed) == (RunState.FINISHED, 67)


def test_few_tasks_are_asked_to_the_end_although_all_fail(world: Worlds) -> None:
    here = world(faults="wrong=1")
    here.ingest(sentences(10))

    now = here.run(pack_size=1, max_tries=3).progress()

    assert (now.state, now.failed) == (RunState.FINISHED, 10)


def test_two_workers_of_one_ledger_count_failures_together(world: Worlds) -> None:
    both = [world(), world()]
    both[0].ingest(turning(150, 400))
    models = [let_model_say(here, lambda user: RUBBISH if "BAD" in user else None) for here in both]
    run = both[0].start(packing="off", concurrency=4)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda here: here.engine.drive(run.id), both))

    assert run.progress().holds
    assert sum(model.calls for model in models) < 150 + 200


def test_answers_that_cost_far_more_than_was_forecast_hold_the_run(world: Worlds) -> None:
    here = world()
    for number in range(120):
        here.ingest([f"Document {number}."], name=f"document {number}")
    here.engine.context.providers = OneProvider(Talkative())
    stage = text_stage("summary", "each_document", "{{ document.text }}")

    run: RunHandle = here.engine.run(recipe=recipe(stage), model=SMALL)
    now = until_rest(run)

    assert causes(now) == [HoldCause.COST_OVER_FORECAST]
    assert int(now.holds[0].fields["percent"]) > 300
    assert now.done < 120
    run.resume()
    assert run.wait().state == RunState.FINISHED


@pytest.mark.parametrize("cheap_calls", [0, 12])
def test_packs_that_cost_too_much_hold_the_run_though_all_is_packed_and_accepted(
    world: Worlds, cheap_calls: int
) -> None:
    here = world()
    here.ingest(sentences(300))
    model = Talkative(cheap_calls)
    here.engine.context.providers = OneProvider(model)

    now = here.run(pack_size=10, concurrency=1).progress()

    assert causes(now) == [HoldCause.COST_OVER_FORECAST]
    assert model.calls <= cheap_calls + 10
    assert now.done < 250


@pytest.mark.parametrize("reusing", [False, True])
def test_a_critic_that_vetoes_half_holds_a_run_that_reuses_answers_as_it_does_a_fresh_one(
    world: Worlds, reusing: bool
) -> None:
    here = world()
    here.ingest([f"BAD {text}" if no % 2 else text for no, text in enumerate(sentences(160))])
    facts = record_stage("facts", "each_block", "Fill in.", templated=False)
    check = record_stage(
        "check", "each_result", "Well?\n{{ judged.asked }}", NOTED, of="facts", critic="record"
    )
    gate = replace(check, critic=GATE, accepts="answer.approved")
    let_model_say(
        here,
        lambda user: {"approved": "BAD" not in user, "word_count": 1} if "Well?" in user else None,
    )
    first = here.engine.run(recipe=recipe(facts, check), model=SMALL, packing="off", concurrency=4)
    assert first.wait().state == RunState.FINISHED

    run = here.engine.run(
        recipe=recipe(facts, gate),
        model=SMALL,
        reuse=(first.id, "check") if reusing else None,
        packing="off",
        concurrency=4,
    )
    now = until_rest(run)

    assert causes(now) == [HoldCause.TASKS_FAILING]
    assert now.holds[0].fields["stage"] == "facts"
    assert now.failed < 50  # of 80
