"""kill -9 at every point the code declares; the model's own call log says what was sent twice."""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.dispatch.runtime import POINTS
from quire.domain.states import RunState
from tests.crash.test_simulation import WALLET, assert_all_is_paid_from_the_wallet
from tests.pipeline.test_money import assert_counts_agree
from tests.time_limits import PATIENCE
from tests.world import World, sentences

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
    here.engine.wallets.create(WALLET, 1)
    run = here.start(pack_size=4, concurrency=CONCURRENCY, wallet=WALLET)

    ended = victim(warm, here, run.id, point, log)
    run.wait()  # this process takes over

    assert ended == -signal.SIGKILL
    assert run.progress().state == RunState.FINISHED
    assert [row["first_40_chars"] for row in run.rows()] == [text[:40] for text in texts]
    sent = Counter(line.split()[2] for line in log.read_text().splitlines())
    assert sum(sent.values()) - len(sent) <= CONCURRENCY
    assert_counts_agree(here, run.id)
    assert_all_is_paid_from_the_wallet(here, run.id)
