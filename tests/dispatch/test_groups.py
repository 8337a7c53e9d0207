"""Calls go out and come back in groups, each with one commit, also when a limit binds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from quire.domain.accounts import Level, Pool
from quire.domain.data import JsonObject
from quire.ledger.stored_values import to_micros
from quire.planning.provider_limits import PARTS
from tests.world import Calm, World, sentences

Worlds = Callable[..., World]
MODEL = "simulated/small"


class CountingRuntime(Calm):
    """The real world, which counts the points that it passes."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self.reached: Counter[str] = Counter()
        self.points: list[str] = []

    def reach(self, point: str) -> None:
        """Count it."""
        self.reached[point] += 1
        self.points.append(point)


def test_a_limit_that_binds_lets_calls_go_in_groups(world: Worlds) -> None:
    runtime = CountingRuntime()
    here = world(faults="latency=0.02", runtime=runtime)
    facts: JsonObject = {"like": MODEL, "limits": {"requests": 6_000}}
    here.engine.context.settings = replace(here.engine.settings, models={MODEL: facts})
    here.ingest(sentences(120))
    run = here.start(pack_size=1, concurrency=16)
    with here.engine.ledger.transaction() as tx:  # thirty are owed: from here on, 85 a second
        empty = Level(to_micros(runtime.now()), -30 * PARTS, 0, 0, 0)
        tx.levels.add_limit_level(Pool(MODEL, 0), empty)

    assert run.wait().done == 120

    claims = runtime.reached["after_claim"]
    assert claims <= 20  # of sixteen, as many as may be under way; of four, it would be thirty


class StoppedClock(CountingRuntime):
    """A clock that stands still: whoever waits for a moment waits for ever."""

    def __init__(self) -> None:
        """Stop."""
        super().__init__()
        self._moment = super().now()

    def now(self) -> datetime:
        """Say the same for ever."""
        return self._moment


def test_answers_let_more_of_the_first_calls_go_without_a_wait(tmp_path: Path) -> None:
    here = World(str(tmp_path / "quire.db"), runtime=StoppedClock())
    here.ingest(sentences(120))

    run = here.start(pack_size=1, concurrency=64)

    assert run.wait().done == 120
    here.close()


def test_the_first_calls_go_after_one_sweep_and_one_packing(tmp_path: Path) -> None:
    runtime = CountingRuntime()
    here = World(str(tmp_path / "quire.db"), runtime=runtime)
    here.ingest(sentences(12))
    here.run()
    here.close()

    before = runtime.points[: runtime.points.index("after_claim")]
    assert before == [
        *("after_start", "after_expand", "before_settle", "after_settle", "before_record")
    ]
