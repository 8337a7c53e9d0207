"""The compressor: shortens prompts that are too large, beside the calls, one group at a time.

Where a provider's embeddings rank the passages, a group goes twice: first its passages are cut,
and what is not embedded yet is asked for; the courier carries those calls like any other. Once
they are over the tasks are there again, and are ranked by what the ledger has.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from quire.dispatch.loop_context import LoopContext
from quire.domain.embeddings import AUTO, LOCAL, WORDS
from quire.domain.errors import Undecodable
from quire.domain.extracts import Ranker
from quire.domain.ids import RunId, WorkerId
from quire.local.embeddings import EmbeddingRanker, embeddings_installed
from quire.pipeline.calls.compress import (
    CompressedTask,
    OversizedTask,
    Ranking,
    compress_task,
    store_compressed,
    take_oversized,
)
from quire.pipeline.calls.embed import FoundEmbeddings, WantedEmbeddings, request_embeddings
from quire.planning.embedding_groups import embedder_version, prompt_groups, text_groups
from quire.planning.lexical_ranking import LexicalRanker
from quire.planning.rare_words import RareWordRanker
from quire.planning.vector_ranking import VectorRanker
from quire.providers.embedding_formats import Vector, read_vectors
from quire.providers.model_facts import provider_of, token_counter
from quire.providers.vendors import vendor_facts


class Compressor:
    """Works on one ledger's oversized prompts; what it computes is stored by its next step."""

    def __init__(self, context: LoopContext, done: asyncio.Event) -> None:
        """`done` is set when a group is ready."""
        self._contexts, _, _, self._runtime, self._thread = context
        self._done = done
        self._ready: list[CompressedTask] = []
        self._wanted: list[WantedEmbeddings] = []  # to be looked for, and asked for, by a step
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
        if self._wanted:
            return moved + await self._look_for_embeddings(group, worker, now)
        rankers = self._rankers()
        versions = {name: ranker.version for name, ranker in rankers.items()}
        taken = await self._thread.transact(
            take_oversized, self._contexts, worker, versions, now, self.only
        )
        if taken:
            self._runtime.reach("after_take")
            self._begin(group, lambda: self._compress(taken, rankers))
        return moved + len(taken)

    def _rankers(self) -> dict[str, Ranker]:
        found = embeddings_installed()
        local: Ranker = RareWordRanker(EmbeddingRanker()) if found else LexicalRanker()
        return {AUTO: self.choose_ranker(), LOCAL: local, WORDS: LexicalRanker()}

    async def _store(self, worker: WorkerId) -> int:
        self._runtime.reach("before_extracts")
        stored = await self._thread.transact(store_compressed, worker, self._ready)
        self._ready = []
        self._runtime.reach("after_extracts")
        return len(stored)

    async def _look_for_embeddings(
        self, group: asyncio.TaskGroup, worker: WorkerId, now: datetime
    ) -> int:
        found = await self._thread.transact(
            request_embeddings, self._contexts, worker, self._wanted, now
        )
        moved, self._wanted = len(self._wanted), []
        self._runtime.reach("after_embeddings")
        if found:
            self._begin(group, lambda: self._rank(found))
        return moved

    def _begin(self, group: asyncio.TaskGroup, work: Callable[[], None]) -> None:
        """Compute beside the loop; one thing at a time."""
        self.busy = True
        group.create_task(self._carry_out(work))

    async def _carry_out(self, work: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(work)
        finally:
            self.busy = False
            self._done.set()

    def _compress(self, taken: Sequence[OversizedTask], rankers: dict[str, Ranker]) -> None:
        here = [task for task in taken if task.ranking.lane is None]
        chosen = [rankers.get(task.ranking.name, rankers[WORDS]) for task in here]
        self._ready = _compress_all(here, chosen)
        self._wanted = [_cut_passages(task) for task in taken if task.ranking.lane is not None]

    def _rank(self, found: Sequence[FoundEmbeddings]) -> None:
        """One after the other: the vectors of a long text are larger than it is."""
        done: list[CompressedTask] = []
        for item in found:
            task, ranker = item.wanted.oversized, _vector_ranker(item)
            if isinstance(ranker, LexicalRanker):
                words = Ranking(WORDS, ranker.version, instead=True)
                task = task._replace(known={}, ranking=words)
            done += _compress_all([task], [ranker])
        self._ready = done


def _compress_all(
    taken: Sequence[OversizedTask], rankers: Sequence[Ranker]
) -> list[CompressedTask]:
    """One after the other; what was made for one prompt is there for the next that is the same."""
    made: dict[tuple[str, str], dict[tuple[bytes, int], str]] = {}
    done: list[CompressedTask] = []
    for oversized, ranker in zip(taken, rankers, strict=True):
        shared = made.setdefault((ranker.version, oversized.prompt), {})
        item = compress_task(
            oversized._replace(known={**oversized.known, **shared}),
            ranker,
            token_counter(oversized.context.facts),
        )
        shared |= {(key, it.size): it.text for key, it in item.compression.extracts.items()}
        done.append(item)
    return done


def _cut_passages(task: OversizedTask) -> WantedEmbeddings:
    """The passages that a task's prompt is compressed by, and the parts of what it asks."""
    name, version, lane, _ = task.ranking
    rules = vendor_facts(provider_of(name)).embeddings
    assert rules is not None  # whoever has none is refused when a run is ordered
    assert lane is not None
    texts = [text_groups(shown.text, rules, version) for shown in task.texts]
    groups = [group for some in texts for group in some]
    # the prompt last: it shares a call with what is left of the last text
    return WantedEmbeddings(task, lane, groups + prompt_groups(task.prompt, rules, version), rules)


def _vector_ranker(found: FoundEmbeddings) -> Ranker:
    """Rank by what was stored; by shared words where that cannot be read, or is not there."""
    if not found.places:
        return LexicalRanker()
    vectors: dict[str, Vector] = {}
    try:
        read = {request: read_vectors(raw) for request, raw in found.responses.items()}
        for group in found.wanted.groups:
            place = found.places[group.key]
            made = read[place.request_id][place.first :][: len(group.passages)]
            vectors.update(zip(group.passages, made, strict=True))
    except (Undecodable, LookupError, ValueError):
        return LexicalRanker()
    spec, name = found.wanted.oversized.context.spec, found.wanted.oversized.ranking.name
    version = embedder_version(spec.models[spec.model_numbers[name]])
    return RareWordRanker(VectorRanker(version, vectors))
