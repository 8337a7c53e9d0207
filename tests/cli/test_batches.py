"""Provider batches are listed, shown, cancelled, and found again by a person."""

from dataclasses import replace
from datetime import timedelta

import pytest

from quire.cli.batches import _batch_row, _cost_words, _state_words
from quire.dispatch.runtime import Runtime
from quire.domain.ids import BatchId, RunId
from quire.domain.reasons import HoldCause
from quire.domain.states import BatchState
from quire.engine import Engine, open_engine
from quire.pipeline.batches.reconcile import mark_unknown
from quire.pipeline.batches.submit import confirm_created, record_intent
from tests.cli.conftest import Quire
from tests.cli.test_progress_words import view

NONCE = "qabcdefghij"


def submit_batch(engine: Engine, run: int) -> BatchId:
    """A batch of a run that is about to be made at the provider."""
    now = Runtime().now()
    with engine.ledger.transaction() as tx:
        lane = tx.requests.lanes_of_run(RunId(run))[0]
        batch = tx.batches.add_batch(lane.id, now)
        assert record_intent(tx, batch, None, f"{NONCE[:-1]}{batch}", now)
    return batch


def make_batch(engine: Engine, run: int, look_in: timedelta = timedelta(hours=5)) -> BatchId:
    """A batch that the provider has."""
    batch, now = submit_batch(engine, run), Runtime().now()
    with engine.ledger.transaction() as tx:
        found = tx.batches.get_batch(batch)
        assert found
        assert confirm_created(tx, found, f"batch_{batch}", now + look_in, now)
    return batch


def make_unknown_batch(engine: Engine, run: int) -> BatchId:
    """A batch of which nobody knows whether the provider has it; the run waits for a person."""
    batch, now = submit_batch(engine, run), Runtime().now()
    with engine.ledger.transaction() as tx:
        found = tx.batches.get_batch(batch)
        assert found
        assert mark_unknown(tx, found, "the connection was cut", now)
        tx.holds.add_hold(RunId(run), HoldCause.BATCH_UNKNOWN, now, batch=batch)
    return batch


@pytest.fixture
def waiting(ready: Quire) -> Quire:
    """The commands, with a run that nobody has worked on yet."""
    ready("run", "-s", "clauses", "--detach")
    return ready


def test_without_batches_the_list_says_how_to_make_some(waiting: Quire) -> None:
    assert "no batches yet; `quire run --route batch`" in waiting("batches").stdout
    assert "run 1 has no batches" in waiting("batches", 1).stdout
    assert waiting.json("batches") == []
    assert "there is no run 9" in waiting("batches", 9, code=2).stderr


def test_batches_are_listed_for_all_runs_or_for_one(waiting: Quire) -> None:
    waiting("run", "-s", "clauses", "--detach", "--new")
    with open_engine() as engine:
        first, second = make_batch(engine, 1), make_batch(engine, 2)

    lines = waiting("batches").stdout.splitlines()[2:]

    assert [line.split()[:4] for line in lines] == [
        [str(second), "2", "simulated/small", "open"],
        [str(first), "1", "simulated/small", "open"],
    ]
    assert [item["id"] for item in waiting.json("batches", 1)] == [first]
    assert waiting.json("batches", "list", 2)[0]["ref"] == f"batch_{second}"


def test_one_batch_is_shown_with_all_that_is_known(waiting: Quire) -> None:
    with open_engine() as engine:
        batch = make_batch(engine, 1)

    text = waiting("batches", "show", batch).stdout

    assert f"batch {batch}" in text
    assert f"batch_{batch}" in text
    assert waiting.json("batches", "show", batch)["run_id"] == 1
    assert "there is no batch 99" in waiting("batches", "show", 99, code=2).stderr


def test_a_batch_is_cancelled_once(waiting: Quire) -> None:
    with open_engine() as engine:
        batch = make_batch(engine, 1)

    first = waiting("batches", "cancel", batch).stdout
    again = waiting.json("batches", "cancel", batch)
    asks = "the next worker asks the provider: `quire attach 1`, or `quire work`"

    assert first == f"batch {batch} is to be cancelled; {asks}\n"
    assert waiting("batches", "cancel", batch).stdout == (
        f"batch {batch} was to be cancelled already; {asks}\n"
    )
    assert again == {"batch": batch, "changed": False}
    assert "open, cancelling" in waiting("batches").stdout


def test_a_person_says_where_a_lost_batch_is(waiting: Quire) -> None:
    with open_engine() as engine:
        batch = make_unknown_batch(engine, 1)

    held = waiting("run", "-s", "clauses", code=4)
    shown = waiting("batches", "show", batch).stdout
    printed = waiting("batches", "adopt", batch, "--ref", "batch_abc").stdout

    assert "quire batches 1 shows which" in held.stdout
    assert f"quire batches adopt {batch} --ref REF" in shown
    assert f"batch {batch} is batch_abc; a worker goes on with it: `quire attach 1`" in printed
    assert [waiting.json("batches")[0][name] for name in ("state", "ref")] == ["open", "batch_abc"]
    assert waiting.json("status")["holds"] == []


def test_a_person_says_that_a_lost_batch_is_not_there(waiting: Quire) -> None:
    with open_engine() as engine:
        batch = make_unknown_batch(engine, 1)

    printed = waiting.json("batches", "adopt", batch, "--absent")

    assert printed["state"] == "draft"
    assert waiting.json("status")["holds"] == []


@pytest.mark.parametrize("flags", [[], ["--ref", " "], ["--ref", "x", "--absent"]])
def test_a_person_says_one_thing_about_a_lost_batch(waiting: Quire, flags: list[str]) -> None:
    with open_engine() as engine:
        batch = make_unknown_batch(engine, 1)

    assert "say one of both" in waiting("batches", "adopt", batch, *flags, code=2).stderr
    assert waiting.json("batches")[0]["state"] == "unknown"


def test_a_batch_that_is_on_its_way_is_not_adopted(waiting: Quire) -> None:
    with open_engine() as engine:
        batch = submit_batch(engine, 1)

    refused = waiting("batches", "adopt", batch, "--ref", "batch_other", code=2)

    assert f"batch {batch} is submitting; only one" in refused.stderr
    assert "can be adopted" in refused.stderr


def test_a_look_that_is_overdue_says_what_it_needs(waiting: Quire) -> None:
    with open_engine() as engine:
        batch = make_batch(engine, 1, look_in=timedelta(minutes=-5))

    listed = waiting("batches").stdout
    shown = " ".join(waiting("batches", "show", batch).stdout.split())

    assert "due since" in listed
    assert listed.endswith("\nneeds a worker: quire work\n")
    assert "needs a worker: quire work" in shown
    assert "needs a worker: quire work" in waiting("status").stdout


def test_status_and_runs_say_that_batches_are_out(waiting: Quire) -> None:
    with open_engine() as engine:
        make_batch(engine, 1)

    status = waiting.json("status")

    assert (status["batches"], status["standing"]) == (1, "stopped")
    assert status["next_poll_at"]
    shown = " ".join(waiting("status").stdout.split())
    assert "1 batch out, next look in 5 h" in shown
    assert "time left until simulated ends the batch, no limit is named" in shown
    assert status["time_left"]["batches"] == 1


def test_attaching_comes_back_to_a_run_and_carries_it_out(waiting: Quire) -> None:
    attached = waiting("attach", 1)
    again = waiting("attach")

    about = "clauses over 1 document, 30 blocks"
    assert attached.stderr.startswith(f"run 1 goes on, 0 done so far: {about}")
    assert attached.stdout.startswith("run 1 is done: 30 of 30 blocks done")
    assert again.stdout == attached.stdout
    assert again.stderr == ""
    assert waiting.json("attach", 1)["exit_code"] == 0


def test_attaching_to_a_run_that_is_held_says_so(waiting: Quire) -> None:
    waiting("pause", 1)

    assert "held (user): paused" in waiting("attach", 1, code=4).stderr
    assert "there is no run 7" in waiting("attach", 7, code=2).stderr


@pytest.mark.parametrize(
    ("model", "sought"),
    [
        ("openai/gpt-5.6-luna", "next: look for qabcdefghi1 at the provider"),
        ("anthropic/claude-haiku-4-5", "next: look for a batch of 0 calls made after 20"),
    ],
)
def test_a_lost_batch_is_sought_by_what_its_provider_shows(
    ready: Quire, model: str, sought: str
) -> None:
    ready("run", "-s", "clauses", "-m", model, "--detach")
    with open_engine() as engine:
        batch = make_unknown_batch(engine, 1)

    shown = ready("batches", "show", batch).stdout

    assert sought in shown
    assert ("qabcdefghi1" in shown) == ("qabcdefghi1" in sought)


def test_a_batch_that_is_collected_is_not_being_cancelled_any_more() -> None:
    wished = replace(view(state=BatchState.COLLECTED), cancelling=True, end_reason="cancelled")

    assert _state_words(wished) == "collected, cancelled"
    assert (
        _state_words(replace(wished, state=BatchState.OPEN, end_reason=None)) == "open, cancelling"
    )
    assert _state_words(replace(wished, end_reason="queue_full")) == "collected, queue was full"


def test_what_is_presumed_of_a_batch_is_not_told_as_known() -> None:
    given_up = replace(
        view(state=BatchState.ABANDONED), cost_pico=11_300_000_000, attempts={"written_off": 2}
    )

    assert _cost_words(given_up) == "at most $0.0113, presumed for 2 calls whose outcome is unknown"
    assert _batch_row(given_up, 0)[6] == "≤ $0.0113"
    assert _cost_words(replace(given_up, attempts={"settled": 2})) == "$0.0113"
