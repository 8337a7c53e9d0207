"""A server that says only 429: what it allows is learnt from its refusals, by all workers alike."""

from typing import Any

import pytest

from quire.engine import RunHandle
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import (
    GEMINI,
    OPENAI,
    FastClock,
    Rehearsed,
    side_by_side,
)

WIDE: dict[str, Any] = {"pack_size": 1, "concurrency": 64}
SPEED = 10
ALLOWED = 24  # a minute: so few that a busy machine asks for more
BLOCKS = 2 * ALLOWED
# Where nothing is learnt, it says no about as often as it answers. On an idle machine a twentieth
# is in vain, which tests/planning/test_learnt_rates.py holds by a clock of its own; on a busy one
# refusals are heard of late, and are more.
MOST_IN_VAIN = 0.5


def refused(here: Rehearsed) -> int:
    """How often the server said no."""
    count: int = here.server.stats()["statuses"].get("429", 0)
    return count


def begin(here: Rehearsed) -> RunHandle:
    """Order a run about twice as many blocks as a minute allows."""
    here.ingest([f"Sentence number {number} about nothing." for number in range(BLOCKS)])
    return here.start(**WIDE)


@pytest.mark.parametrize(
    ("asks", "limit"),
    [(OPENAI, f"requests={ALLOWED},silent"), (GEMINI, f"requests={ALLOWED},sliding,silent")],
)
def test_a_server_that_says_only_429_is_seldom_asked_in_vain(
    rehearse: Rehearse, asks: str, limit: str
) -> None:
    here = rehearse(asks, clock=FastClock(SPEED), limit=limit, latency="0.1")
    run = begin(here)

    here.engine.drive(run.id)

    assert run.progress().done == BLOCKS
    assert 0 < refused(here) <= MOST_IN_VAIN * BLOCKS
    with here.engine.ledger.snapshot() as tx:
        ((pool, _),) = tx.levels.list_learnt_rates()
    assert pool.model == asks


def test_two_workers_share_what_they_learn(rehearse: Rehearse, ledger_url: str) -> None:
    clock = FastClock(SPEED)
    one = rehearse(url=ledger_url, clock=clock, limit=f"requests={ALLOWED},silent", latency="0.1")
    two = rehearse(url=ledger_url, clock=clock, server=one.server)
    run = begin(one)

    side_by_side(one, two, run=run.id)

    assert run.progress().done == BLOCKS
    assert 0 < refused(one) <= MOST_IN_VAIN * BLOCKS


def test_a_server_that_states_its_limits_is_believed_and_nothing_is_learnt(
    rehearse: Rehearse,
) -> None:
    here = rehearse(clock=FastClock(20), limit="requests=40")
    here.ingest([f"Sentence number {number}." for number in range(60)])

    here.run(**WIDE)

    with here.engine.ledger.snapshot() as tx:
        assert tx.levels.list_learnt_rates() == []


def test_where_nothing_is_refused_no_pool_is_written_down(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest([f"Sentence number {number}." for number in range(20)])

    here.run(**WIDE)

    with here.engine.ledger.snapshot() as tx:
        assert tx.levels.list_limit_levels(here.runtime.now()) == []
