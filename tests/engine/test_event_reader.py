"""The event reader tells each event of a run once, whenever it comes to light."""

from quire.domain.reasons import EventKind
from quire.engine.event_reader import AT_ONCE, BEHIND, EventReader
from quire.ledger.ledger import Ledger, open_ledger
from tests.ledger.factories import NOW, Place, new_run
from tests.ready_databases import ReadyDatabases


def add_events(ledger: Ledger, place: Place, count: int) -> None:
    with ledger.transaction() as tx:
        for no in range(count):
            tx.events.add_event(
                place.run, EventKind.PROGRESS, NOW, ended=no, tasks=no, done=no, failed=0
            )


def test_every_event_is_told_once_however_many_there_are(ledger_url: str) -> None:
    ledger = open_ledger(ledger_url, durable=False)
    place = new_run(ledger, ["one"])
    add_events(ledger, place, 2 * AT_ONCE + BEHIND)
    reader = EventReader(ledger, place.run, 0)
    told: list[int] = []

    while news := reader.read_news():
        told += [event.id for event in news]
    add_events(ledger, place, 3)
    later = [event.id for event in reader.read_news()]
    with ledger.snapshot() as tx:
        every = [event.id for event in tx.events.events_after(place.run, 0, 10_000)]
    ledger.close()

    assert told + later == every
    assert len(later) == 3


def test_an_event_that_is_committed_late_is_told_after_all(ready_postgres: ReadyDatabases) -> None:
    with ready_postgres.lend() as url:
        ledger = open_ledger(url)
        place = new_run(ledger, ["one"])
        reader = EventReader(ledger, place.run, 0)
        reader.read_news()

        with ledger.transaction() as slow:
            slow.events.add_event(place.run, EventKind.PAUSED, NOW)
            add_events(ledger, place, 2)
            quick = reader.read_news()
        late = reader.read_news()
        ledger.close()

    assert [event.kind for event in quick] == ["progress", "progress"]
    assert [event.kind for event in late] == ["paused"]
    assert late[0].id < quick[0].id
