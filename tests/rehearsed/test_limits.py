"""Limits a minute: workers share them, learn them from headers, and slow down in time."""

import subprocess
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.states import RunState
from quire.pipeline.answers.progress import stall_reasons
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import (
    ANTHROPIC,
    GEMINI,
    OPENAI,
    FastClock,
    Rehearsed,
    side_by_side,
)
from tests.time_limits import PATIENCE
from tests.world import sentences

SPEED = 20  # a minute takes three seconds
LATE = 1.2  # as calls arrive later than they are let go, a minute may see some of the one before
WIDE: dict[str, Any] = {"pack_size": 1, "concurrency": 64}


def most_in_a_minute(here: Rehearsed) -> dict[str, int]:
    """The fullest minute that the server saw."""
    most: dict[str, int] = here.server.stats()["models"][here.asks]["most_in_a_minute"]
    return most


def refused(here: Rehearsed) -> int:
    """How often the server said that there were too many."""
    count: int = here.server.stats()["statuses"].get("429", 0)
    return count


def test_two_workers_together_never_send_more_requests_than_the_limit(
    rehearse: Rehearse, ledger_url: str
) -> None:
    clock, tables = FastClock(SPEED), {ANTHROPIC: {"limits": {"requests": 50}}}
    one = rehearse(ANTHROPIC, url=ledger_url, clock=clock, tables=tables, limit="requests=50")
    two = rehearse(ANTHROPIC, url=ledger_url, clock=clock, tables=tables, server=one.server)
    one.ingest(sentences(75))
    run = one.start(**WIDE)

    side_by_side(one, two, run=run.id)

    assert run.progress().done == 75  # in one minute, that would have been too many
    assert most_in_a_minute(one)["requests"] <= 50 * LATE
    assert refused(one) == 0


@pytest.mark.parametrize(
    ("asks", "kind", "most", "blocks"),
    [(ANTHROPIC, "input", 7_000, 40), (ANTHROPIC, "output", 450, 24), (OPENAI, "total", 5_000, 30)],
)
def test_two_workers_together_never_send_more_tokens_than_the_limit(
    rehearse: Rehearse, asks: str, kind: str, most: int, blocks: int
) -> None:
    clock, tables = FastClock(SPEED), {asks: {"limits": {kind: most}}}
    one = rehearse(asks, clock=clock, tables=tables, limit=f"{kind}={most}")
    two = rehearse(asks, clock=clock, tables=tables, server=one.server)
    one.ingest(sentences(blocks))
    run = one.start(**WIDE)

    side_by_side(one, two, run=run.id)

    assert run.progress().done == blocks
    assert most_in_a_minute(one)[kind] <= most * LATE
    assert refused(one) == 0


def test_calls_wait_for_a_limit_by_what_answers_take_not_by_the_most_they_may_write(
    rehearse: Rehearse,
) -> None:
    clock, tables = FastClock(SPEED), {OPENAI: {"limits": {"total": 30_000}}}
    here = rehearse(OPENAI, clock=clock, tables=tables, limit="total=30000", latency="4")
    here.ingest(sentences(20))

    run = here.run(**WIDE)

    assert run.progress().done == 20
    assert here.server.stats()["most_in_flight"] >= 3
    assert refused(here) == 0


def test_worker_processes_share_a_limit_profile(
    rehearse: Rehearse, ledger_url: str, warm: list[str]
) -> None:
    here = rehearse(OPENAI, url=ledger_url, tables={OPENAI: {"limits": {"requests": 300}}})
    here.ingest(sentences(50))
    here.start(**WIDE)

    work = [*warm, "quire.cli", "--ledger", ledger_url, "work", "--workers", "2", "--until-idle"]
    done = subprocess.run(work, capture_output=True, timeout=PATIENCE)

    assert done.returncode == 0, done.stderr
    moments = sorted(entry.at for entry in here.server.entries())
    assert len(moments) == 50
    # Thirty may go at once, then five a second at most: of all workers together.
    assert at_most(moments, burst=30, a_second=5.0)
    assert moments[-1] - moments[0] >= 2.0


@pytest.mark.parametrize("asks", [ANTHROPIC, OPENAI])
def test_limits_that_the_headers_tell_are_learnt_and_kept_to(rehearse: Rehearse, asks: str) -> None:
    here = rehearse(asks, clock=FastClock(SPEED), limit="requests=50")
    here.ingest(sentences(70))

    run = here.run(**WIDE)

    assert run.progress().done == 70
    assert refused(here) <= 2
    assert most_in_a_minute(here)["requests"] <= 50 * LATE
    with here.engine.ledger.snapshot() as tx:
        ((pool, _, learnt),) = tx.levels.list_limit_levels(here.runtime.now())
    assert (pool.model, learnt.requests) == (asks, 50)


def test_a_second_run_begins_with_what_the_first_one_learnt(rehearse: Rehearse) -> None:
    clock = FastClock(SPEED)
    here = rehearse(ANTHROPIC, clock=clock, limit="requests=50")
    here.ingest(sentences(45))
    here.run(**WIDE)
    here.close()
    again = rehearse(ANTHROPIC, clock=clock, server=here.server)

    run = again.run(new=True, **WIDE)

    assert run.progress().done == 45
    assert refused(here) <= 2
    assert most_in_a_minute(here)["requests"] <= 50 * LATE


@pytest.mark.parametrize("asks", [GEMINI, OPENAI])
def test_a_server_that_lets_few_in_answers_everything_in_the_end(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, clock=FastClock(SPEED), limit="requests=24", latency="0.02")
    here.ingest(sentences(42))

    run = here.run(**WIDE)

    ended = run.progress()
    assert (ended.done, ended.failed) == (42, 0)
    assert ended.cost_pico == here.bill()
    assert ended.resent == refused(here)


def test_calls_pushed_back_at_random_cost_nothing_and_narrow_the_window(
    rehearse: Rehearse,
) -> None:
    here = rehearse(OPENAI, faults="429=0.1,retry_after=0.05,seed=5", latency="0.02")
    here.ingest(sentences(150))

    run = here.run(**WIDE)

    together = in_flight(here)
    assert run.progress().done == 150
    assert refused(here) > 0
    assert max(together) < 64  # it never dared as much as the policy allows
    assert run.progress().cost_pico == here.bill()


def in_flight(here: Rehearsed) -> list[int]:
    """How many calls were out when each one came, by the server's log."""
    counts = Counter(int(entry.at * 50) for entry in here.server.entries())  # in 20 ms
    return list(counts.values())


def at_most(moments: list[float], burst: int, a_second: float) -> bool:
    """Whether no stretch of time holds more than what may go at once and what comes back in it."""
    slack = 1 + a_second * 2.0  # a process's first call arrives later than it is sent
    return all(
        last - first + 1 <= burst + a_second * (moments[last] - moments[first]) + slack
        for first in range(len(moments))
        for last in range(first, len(moments))
    )


def test_status_says_which_limit_holds_calls_back(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest(sentences(40))
    slow = {here.asks: {"limits": {"requests": 20}}}
    here.engine.context.settings = replace(here.engine.settings, models=slow)
    run = here.start(pack_size=1)
    told: list[str] = []

    def is_told() -> bool:
        with here.engine.ledger.snapshot() as tx:
            why = stall_reasons(tx, here.engine.progress(run.id), 1, here.runtime.now())
        told.extend(map(str, why))
        return bool(told) or run.progress().state == RunState.FINISHED

    here.engine.work(is_told)

    assert told == [f"calls are held back: {here.asks} allows 20 requests a minute"]
