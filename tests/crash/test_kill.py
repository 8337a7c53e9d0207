"""kill -9 at every point the code declares; the model's own call log says what was sent twice."""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.dispatch.runtime import POINTS
from quire.domain.states import RunState
from tests.time_limits import PATIENCE
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]

CONCURRENCY = 4


def victim(warm: list[str], here: World, run: int, point: str, log: Path) -> int:
    """Let a process work on a run; returns how it ended."""
    command = [*warm, "tests.crash.victim", here.url, str(run), point, "1"]
    return subprocess.run([*command, f"log={log}"], timeout=PATIENCE, check=False).returncode


@pytest.mark.parametrize("point", POINTS)
def test_a_process_killed_at_a_point_is_taken_over_and_nothing_is_lost(
    world: Worlds, warm: list[str], tmp_path: Path, point: str
) -> None:
    log = tmp_path / "calls.log"
    here = world(faults=f"log={log}")
    here.ingest(texts := sentences(60))
    run = here.start(pack_size=4, concurrency=CONCURRENCY)

    ended = victim(warm, here, run.id, point, log)
    run.wait()  # this process takes over

    assert ended == -signal.SIGKILL
    assert run.progress().state == RunState.FINISHED
    assert [row["first_40_chars"] for row in run.rows()] == [text[:40] for text in texts]
    sent = Counter(line.split()[2] for line in log.read_text().splitlines())
    assert sum(sent.values()) - len(sent) <= CONCURRENCY


@pytest.mark.parametrize("point", ["after_claim", "after_send", "after_record"])
def test_a_killed_process_takes_no_money_with_it(
    world: Worlds, warm: list[str], tmp_path: Path, point: str
) -> None:
    log = tmp_path / "calls.log"
    here = world(faults=f"log={log}")
    here.ingest(sentences(60))
    wallet = here.engine.wallets.create("team", 1)
    order = here.engine.orders.resolve(
        schema=METADATA, model="simulated/small", policy={"pack_size": 4, "concurrency": 4}
    )
    run = here.engine.start(here.engine.orders.with_funds(order, "team", "0.5"))

    ended = victim(warm, here, run.id, point, log)
    after = run.wait()  # this process takes over

    assert ended == -signal.SIGKILL
    assert (after.state, after.done) == (RunState.FINISHED, 60)
    left = here.engine.wallets.get("team").balance
    assert left == wallet.balance - after.cost_pico - after.presumed_pico
    assert sum(entry.amount for entry in here.engine.wallets.entries("team")) == left
    with here.engine.ledger.snapshot() as tx:
        assert tx.checks.unbalanced_wallets() == []
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []
