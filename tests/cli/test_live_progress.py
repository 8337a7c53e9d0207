"""What happens again and again is told now and then, with how often."""

from pathlib import Path

from quire.cli.live_progress import SECONDS_BETWEEN, EventFeed, LineThrottle
from quire.domain.reasons import EventKind
from tests.world import NOW, World, sentences


def test_messages_of_a_kind_are_summed_up() -> None:
    said: list[str] = []
    moments = iter([0.0, 1.0, 2.0, 3.0, SECONDS_BETWEEN, SECONDS_BETWEEN + 1])
    tell = LineThrottle(said.append, lambda: next(moments))

    tell("429 slow down, request req_1; trying again")
    tell("429 slow down, request req_2; trying again")
    tell("500 broken, request req_3; trying again")
    tell("429 slow down, request req_4; trying again")
    tell("429 slow down, request req_5; trying again")
    tell("429 slow down, request req_6; trying again")
    tell.flush()
    tell.flush()

    assert said == [
        "429 slow down, request req_1; trying again",
        "500 broken, request req_3; trying again",
        "429 slow down, request req_5; trying again (2 more like it)",
        "429 slow down, request req_6; trying again (1 time more)",
    ]


def test_a_batch_that_was_made_twice_is_told_of_as_it_is_found(tmp_path: Path) -> None:
    here, said = World(str(tmp_path / "quire.db")), list[str]()
    here.ingest(sentences(1))
    run = here.start()
    news = EventFeed(here.engine, said.append, run.id)
    twice = "batch 1 was made a second time, as batch_0; that one is cancelled"
    with here.engine.ledger.transaction() as tx:
        tx.events.add_event(run.id, EventKind.BATCH_MADE_TWICE, NOW, batch=1, ref="batch_0")

    news()

    assert [name.partition(" ")[2] for name in said] == [f"run {run.id}: {twice}"]
    here.close()
