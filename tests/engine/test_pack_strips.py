"""Strips: every pack in its place, halves behind what was split, few bins for many packs."""

from collections.abc import Callable

import pytest

from quire.domain.errors import UsageError
from tests.world import World, sentences

Worlds = Callable[..., World]


def test_a_run_that_is_through_has_a_cell_for_every_pack(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    run = here.run(pack_size=8)

    strip = here.engine.pack_strips.make(run.id)

    assert strip.ended
    assert strip.counts == {"done": 5, "failed": 0, "again": 0, "out": 0, "waiting": 0}
    assert [cell.tasks for cell in strip.bins] == [8] * 5
    assert sum(cell.cost_pico for cell in strip.bins) == run.progress().cost_pico
    assert strip.cells == strip.packs == 5


def test_halves_follow_the_pack_that_was_split(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(24))
    here.model.script = ["", "truncate=1"]
    run = here.run(pack_size=8, concurrency=1)

    strip = here.engine.pack_strips.make(run.id)

    split = next(no for no, cell in enumerate(strip.bins) if cell.again)
    half = strip.bins[split + 1]
    assert half.done
    assert half.tasks < strip.bins[split].tasks
    assert half.request_id > max(cell.request_id for cell in strip.bins if cell.tasks == 8)
    assert strip.counts["again"] == 1


def test_what_is_not_packed_yet_is_to_come(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    run = here.run(pack_size=8, limit=16)

    strip = here.engine.pack_strips.make(run.id)

    assert (strip.packs, strip.to_come) == (2, 0)
    assert not strip.ended


def test_a_stage_that_is_not_there_is_told_with_those_that_are(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(8))
    run = here.run(pack_size=8)

    with pytest.raises(UsageError, match="it has extract"):
        here.engine.pack_strips.make(run.id, "digest")
