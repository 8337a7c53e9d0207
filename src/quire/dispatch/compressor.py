"""The compressor: shortens prompts that are too large, beside the calls, one group at a time."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from quire.dispatch.loop_context import LoopContext
from quire.domain.extracts import Ranker
from quire.domain.ids import RunId, WorkerId
from quire.pipeline.calls.compress import (
    CompressedTask,
    OversizedTask,
    compress_task,
    store_compressed,
    take_oversized,
)
from quire.plan.lexical_ranking import LexicalRanker
from quire.providers.model_facts import token_counter


class Compressor:
    """Works on one ledger's oversized prompts; what it computes is stored by its next step."""

    def __init__(self, context: LoopContext, done: asyncio.Event) -> None:
        """`done` is set when a group is ready."""
        self._contexts, _, _, self._runtime, self._thread = context
        self._done = done
        self._ready: list[CompressedTask] = []
        self.busy = False
        self.choose_ranker: Callable[[], Ranker] = LexicalRanker
        self.only: RunId | None = None  # for whom prompts are compressed; None = for every run

    async def step(
        self, group: asyncio.TaskGroup, worker: WorkerId, now: datetime, *, going: bool = True
    ) -> int:
        """Store what is ready, and begin with what waits; returns how much was done."""
        moved = await self._store(worker) if self._ready else 0
        if self.busy or not going:
            return moved
        ranker = self.choose_ranker()
        taken = await self._thread.transact(
            take_oversized, self._contexts, worker, ranker.version, now, self.only
        )
        if taken:
            self._runtime.reach("after_take")
            self.busy = True
            group.create_task(self._compress(taken, ranker))
        return moved + len(taken)

    async def _store(self, worker: WorkerId) -> int:
        self._runtime.reach("before_extracts")
        stored = await self._thread.transact(store_compressed, worker, self._ready)
        self._ready = []
        self._runtime.reach("after_extracts")
        return len(stored)

    async def _compress(self, taken: Sequence[OversizedTask], ranker: Ranker) -> None:
        try:
            self._ready = await asyncio.to_thread(_compress_all, taken, ranker)
        finally:
            self.busy = False
            self._done.set()


def _compress_all(taken: Sequence[OversizedTask], ranker: Ranker) -> list[CompressedTask]:
    """One after the other; what was made for one prompt is there for the next that is the same."""
    made: dict[str, dict[tuple[bytes, int], str]] = {}
    done: list[CompressedTask] = []
    for oversized in taken:
        shared = made.setdefault(oversized.prompt, {})
        item = compress_task(
            oversized._replace(known={**oversized.known, **shared}),
            ranker,
            token_counter(oversized.context.facts),
        )
        shared |= {(key, it.size): it.text for key, it in item.compression.extracts.items()}
        done.append(item)
    return done
