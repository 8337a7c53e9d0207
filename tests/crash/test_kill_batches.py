"""kill -9 at every point of a batch's life; the server's own record says what was made twice."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quire.dispatch import collector
from quire.dispatch.runtime import BATCH_POINTS
from quire.domain.ids import RunId
from quire.domain.states import AttemptState, RunState
from quire.engine import RunHandle
from quire.pipeline.calls import prepare
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server
from tests.crash.pace import VARIABLE, PacedClock
from tests.crash.test_simulation import WALLET, assert_all_is_paid_from_the_wallet
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.rehearsed import (
    ANTHROPIC,
    BASES,
    KEYS,
    OPENAI,
    ByClock,
    Rehearsed,
    billed_entries,
)
from tests.time_limits import PATIENCE, at_most
from tests.world import sentences

SPEED = 240.0  # times real time
EARLY = 10  # that go first and alone, instead of fifty
BLOCKS = 25  # one a call: ten in the first batch, and more than one group of rows in the second
GROUP = 10  # answers stored in one transaction, instead of a thousand
SECOND = 2  # the time at which a point is deadly: one batch is through, the other is on its way
HOUR = 3600.0  # after which a batch that no listing shows was never made

SUBMITTING = BATCH_POINTS[: BATCH_POINTS.index("after_confirm")]
DEATHS = [
    *((OPENAI, point) for point in BATCH_POINTS),
    *((ANTHROPIC, point) for point in SUBMITTING),
]


VICTIM = f"""
from quire.dispatch import collector
from quire.pipeline.calls import prepare
from tests.crash import victim
collector.GROUP, prepare.EARLY_TASKS = {GROUP}, {EARLY}
victim.main()
"""


@pytest.fixture
def clock() -> PacedClock:
    """The time of this test, at the server and in every process."""
    return PacedClock(SPEED)


@pytest.fixture
def here(
    request: pytest.FixtureRequest,
    ledger_url: str,
    clock: PacedClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Rehearsed]:
    """An engine and a server of its own, both of which other processes find."""
    with rehearsal_server(models=CATALOG, clock=clock, batch_latency="20s") as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        environment |= {"QUIRE_POLL": "20", "QUIRE_LEASE": "2400", "NO_PROXY": "*"}
        environment["TMPDIR"] = str(tmp_path)  # the killed leave their files behind
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(collector, "GROUP", GROUP)
        monkeypatch.setattr(prepare, "EARLY_TASKS", EARLY)
        runtime, lease, poll = ByClock(clock), 2400.0, 20.0
        made = Rehearsed(
            ledger_url, runtime=runtime, server=server, asks=request.param, lease=lease, poll=poll
        )
        yield made
        made.close()


def die(warm: list[str], here: Rehearsed, clock: PacedClock, run: RunId, point: str) -> int:
    """Let a process work on a run until it dies at a point; returns how it ended."""
    command = [*warm, "-c", VICTIM, here.url, str(run), point, str(SECOND)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(clock.pace))
        return subprocess.run([*command, ""], timeout=PATIENCE, check=False).returncode


def exported_rows(run: RunHandle) -> list[tuple[Any, ...]]:
    """Data and status of every block."""
    names = ("block_index", "status", "word_count", "first_40_chars", "has_question")
    return [tuple(row.get(name) for name in names) for row in run.rows()]


def undisturbed_rows(texts: list[str]) -> list[tuple[Any, ...]]:
    """What a run exports that nothing happened to; the simulated model answers by these rules."""
    return [
        (index, "accepted", len(text.split()), text[:40], "?" in text)
        for index, text in enumerate(texts)
    ]


def assert_all_is_done_and_paid_once(here: Rehearsed, run: RunHandle) -> None:
    """By the server's own record: nothing was made twice, and the ledger's spend is its bill."""
    made, entries = here.server.batches(), here.server.entries()
    carried_out = list(billed_entries(entries))
    progress, attempts = run.progress(), here.attempts(run.id)

    assert sum(record["rows"] for record in made) == BLOCKS  # no call in two batches
    assert len({record["digest"] for record in made}) == len(made) == 2
    assert [entry.route for entry, _ in carried_out] == ["batch"] * BLOCKS
    assert sum(entry.blocks for entry, _ in carried_out) == BLOCKS
    assert (progress.cost_pico, progress.presumed_pico) == (here.bill(), 0)
    assert {attempt.state for attempt in attempts} <= {"settled", "refused"}
    assert len([attempt for attempt in attempts if attempt.state == AttemptState.SETTLED]) == BLOCKS
    assert [batch.state for batch in here.engine.batches()] == ["collected"] * 2
    assert_counts_agree(here, run.id)
    assert_all_is_paid_from_the_wallet(here, run.id)


@pytest.mark.parametrize(("here", "point"), DEATHS, indirect=["here"])
def test_a_process_killed_in_the_midst_of_a_batch_is_taken_over_and_nothing_is_made_twice(
    here: Rehearsed, clock: PacedClock, warm: list[str], point: str
) -> None:
    here.ingest(texts := sentences(BLOCKS))
    here.engine.wallets.create(WALLET, 1)
    run = here.start(route="batch", min_batch_size=2, packing=False, wallet=WALLET)

    ended = die(warm, here, clock, run.id, point)
    if point == "before_create":  # only time tells that the provider never got it
        here.server.advance(HOUR)
    finished = run.wait(at_most())  # this process takes over

    assert ended == -signal.SIGKILL
    assert finished.state == RunState.FINISHED
    assert exported_rows(run) == undisturbed_rows(texts)
    assert_all_is_done_and_paid_once(here, run)
