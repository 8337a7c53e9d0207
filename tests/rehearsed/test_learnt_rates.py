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
# Where nothing is learnt, it says no about as often as it answers. On an idle machine a twentieth
# is in vain, which tests/planning/test_learnt_rates.py holds by a clock of its own; on a busy one
# refusals are heard of late, and are more.
MOST_IN_VAIN = 0.5


def refused(here: Rehearsed) -> int:
    """How often the server said no."""
    count: int = here.server.stats()["statuses"].get("429", 0)
    return count


def begin(here: Rehearsed, blocks: int) -> RunHandle:
    """Order a run about so many blocks."""
    here.ingest([f"Sentence number {number} about nothing." for number in range(blocks)])
    return here.start(**WIDE)


@pytest.mark.parametrize(
    ("asks", "limit"), [(OPENAI, "requests=120,silent"), (GEMINI, "requests=120,sliding,silent")]
)
def test_a_server_that_says_only_429_is_seldom_asked_in_vain(
    rehearse: Rehearse, asks: str, limit: str
) -> None:
    here = rehearse(asks, clock=FastClock(SPEED), limit=limit, latency="0.1")
    run = begin(here, 240)

    here.engine.drive(run.id)

    assert run.progress().done == 240
    assert 0 < refused(here) <= MOST_IN_VAIN * 240
    with here.engine.ledger.snapshot() as tx:
        ((pool, _),) = tx.levels.list_learnt_rates()
    assert pool.model == asks


def test_two_workers_share_what_they_learn(rehearse: Rehearse, ledger_url: str) -> None:
    clock = FastClock(SPEED)
    one = rehearse(url=ledger_url, clock=clock, limit="requests=120,silent", latency="0.1")
    two = rehearse(url=ledger_url, clock=clock, server=one.server)
    run = begin(one, 240)

    side_by_side(one, two, run=run.id)

    assert run.progress().done == 240
    assert 0 < refused(one) <= MOST_IN_VAIN * 240


def test_a_server_that_states_its_limits_is_believed_and_nothing_is_learnt(
    rehearse: Rehearse,
) -> None:
    here = rehearse(clock=FastClock(20), limit="requests=100")
    here.ingest([f"Sentence number {number}." for number in range(150)])

    here.run(**WIDE)

    with here.engine.ledger.snapshot() as tx:
        assert tx.levels.list_learnt_rates() == []


def test_where_nothing_is_refused_no_pool_is_written_down(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest([f"Sentence number {number}." for number in range(50)])

    here.run(**WIDE)

    with here.engine.ledger.snapshot() as tx:
        assert tx.levels.list_limit_levels(here.runtime.now()) == []
