"""Limit profiles: set in the ledger, kept to by all workers, also by runs that are under way."""

from itertools import pairwise
from typing import Any

import pytest

from quire.domain.errors import NotFound, UsageError
from quire.domain.models import Limits
from quire.domain.states import RunState
from quire.pipeline.answers.progress import stall_reasons
from tests.cli.conftest import Quire
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, FastClock, QuickClock, Rehearsed, side_by_side
from tests.time_limits import at_most
from tests.world import sentences

SPEED = 20  # a minute takes three seconds
LATE = 1.2  # as calls arrive later than they are let go, a minute may see some of the one before
WIDE: dict[str, Any] = {"pack_size": 1, "concurrency": 64}


def stalls(here: Rehearsed, run: Any) -> list[str]:
    """What status says of a run."""
    with here.engine.ledger.snapshot() as tx:
        return [*map(str, stall_reasons(tx, here.engine.progress(run.id), 1, here.runtime.now()))]


def test_two_workers_never_exceed_a_profile_in_any_minute(
    rehearse: Rehearse, ledger_url: str
) -> None:
    clock = FastClock(SPEED)
    one = rehearse(url=ledger_url, clock=clock, limit="requests=50,silent")
    two = rehearse(url=ledger_url, clock=clock, server=one.server)
    one.engine.limits.set(OPENAI, {"requests": 50})
    one.ingest(sentences(75))
    run = one.start(**WIDE)

    side_by_side(one, two, run=run.id)

    seen = one.server.stats()
    assert run.progress().done == 75  # in one minute, that would have been too many
    assert seen["models"][OPENAI]["most_in_a_minute"]["requests"] <= 50 * LATE
    assert seen["statuses"].get("429", 0) == 0


def test_a_new_version_holds_for_a_run_that_is_under_way(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest(sentences(40))
    here.engine.limits.set(OPENAI, {"requests": 6_000})
    run = here.start(pack_size=1)
    here.engine.limits.set(OPENAI, {"requests": 20})
    told: list[str] = []

    def is_told() -> bool:
        told.extend(stalls(here, run))
        return bool(told) or run.progress().state == RunState.FINISHED

    here.engine.work(is_told)

    assert told == [f"calls are held back: {OPENAI} allows 20 requests a minute"]
    first, second = here.engine.limits.history()
    assert (first.version.limits, first.runs) == (Limits(requests=6_000), [run.id])
    assert (second.version.version, second.runs) == (2, [])


def test_a_run_keeps_the_profile_that_it_names(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest(sentences(3))
    here.engine.limits.set(OPENAI, {"requests": 600})
    here.engine.limits.set(OPENAI, {"requests": 60}, "night")

    run = here.run(limits="night")

    (day, night) = here.engine.limits.history()
    assert (day.version.profile, day.runs) == ("default", [])
    assert (night.version.profile, night.runs) == ("night", [run.id])
    with here.engine.ledger.snapshot() as tx:
        assert tx.runs.must_get_run(run.id).policy["limits"] == {"value": "night", "source": "flag"}
    with pytest.raises(NotFound, match="no limit profile noon"):
        here.run(limits="noon", new=True)


def test_what_is_not_named_stays_and_0_takes_a_limit_away(rehearse: Rehearse) -> None:
    limits = rehearse().engine.limits
    limits.set(OPENAI, {"requests": 500, "input": 200_000, "jobs": 4})

    version, is_new = limits.set(OPENAI, {"requests": None, "input": 0, "enqueued": 9})

    assert is_new
    assert version.limits == Limits(requests=500, enqueued=9, jobs=4)
    assert limits.set(OPENAI, {"enqueued": 9}) == (limits.newest()[0], False)
    with pytest.raises(UsageError, match="nothing is to be set"):
        limits.set(OPENAI, {"requests": None})


@pytest.mark.parametrize(
    ("sizes", "why"),
    [({"jobs": 1}, "1 of 1 batch to work off"), ({"enqueued": 6_000}, "of 6,000 tokens")],
)
def test_calls_wait_for_a_place_in_a_batch_and_status_says_so(
    rehearse: Rehearse, sizes: dict[str, int], why: str
) -> None:
    here = rehearse(clock=QuickClock(60), batch_latency="20s")
    here.ingest(sentences(100))
    here.engine.limits.set(OPENAI, sizes)
    batched: dict[str, Any] = {"route": "batch", "min_batch_size": 2, "batch_wait": 0.0}
    runs = [here.start(**batched, pack_size=size) for size in (4, 5)]
    told: set[str] = set()

    def is_over() -> bool:
        told.update(reason for run in runs for reason in stalls(here, run) if "place" in reason)
        return all(run.progress().state == RunState.FINISHED for run in runs)

    here.engine.work(is_over)

    assert [run.wait(at_most()).done for run in runs] == [100, 100]
    times = sorted((job["created_at"], job["ended_at"]) for job in here.server.batches())
    if "jobs" in sizes:
        assert all(ended <= later for (_, ended), (later, _) in pairwise(times))
    assert any(why in reason for reason in told)


def test_limits_are_set_and_shown_by_commands(quire: Quire) -> None:
    quire("limits", "set", OPENAI, "--requests", "500", "--batch-jobs", "4")
    quire("limits", "set", OPENAI, "--requests", "600")

    again = quire("limits", "set", OPENAI, "--requests", "600")
    shown = quire("limits", "show")
    past = quire.json("limits", "history")

    assert "version 2 of default" in again.stdout
    assert "says so already" in again.stdout
    assert "600 requests" in shown.stdout
    assert [item["requests"] for item in past] == [500, 600]
    assert [item["batch_jobs"] for item in past] == [4, 4]
