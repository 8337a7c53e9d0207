"""Filling the queue and claiming cost the same with ten times the tasks, and behind held runs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT
from quire.ledger.ledger import Ledger, Transaction, open_ledger
from quire.pipeline.calls.claim import Sender, claim
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from tests.ledger.crowd import fill_ledger, put_held_runs_first
from tests.ledger.factories import NOW, Place, add_worker
from tests.ledger.statement_costs import Action, cost_of
from tests.postgres import Databases

FEW, MANY = 500, 5_000
HELD = 100


class Pair(NamedTuple):
    """Two ledgers alike but for their size; every measurement leaves them as they were."""

    few: Ledger
    many: Ledger
    places: tuple[Place, Place]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: Databases
) -> Iterator[Pair]:
    """Ledgers with few tasks and with ten times as many, on one kind of database."""
    with ExitStack() as stack:
        if request.param == "postgres":
            urls = [stack.enter_context(postgres.database()) for _ in range(2)]
        else:
            folder = tmp_path_factory.mktemp("growth")
            urls = [str(folder / name) for name in ("few.db", "many.db")]
        few, many = (stack.enter_context(_open(url)) for url in urls)
        yield Pair(few, many, (fill_ledger(few, FEW), fill_ledger(many, MANY)))


def test_filling_the_queue_and_claiming_cost_the_same_with_ten_times_the_tasks(pair: Pair) -> None:
    assert 0 < cost_of(pair.many, _send_more) <= 2 * cost_of(pair.few, _send_more)


def test_filling_the_queue_and_claiming_cost_the_same_behind_a_hundred_held_runs(
    pair: Pair,
) -> None:
    with put_held_runs_first(pair.many, HELD):
        behind = cost_of(pair.many, _send_more)

    assert 0 < behind <= 2 * cost_of(pair.few, _send_more)


def test_the_sweeps_cost_the_same_with_ten_times_the_tasks(pair: Pair) -> None:
    assert 0 < cost_of(pair.many, _sweep) <= 2 * cost_of(pair.few, _sweep)


def test_the_next_chunk_of_a_document_costs_the_same_however_long_it_is(pair: Pair) -> None:
    def read_on(place: Place, after: int) -> Action:
        return lambda tx: _expect(200, tx.documents.next_subjects(place.run, 0, after, 200))

    small = cost_of(pair.few, read_on(pair.places[0], FEW // 2))
    large = cost_of(pair.many, read_on(pair.places[1], MANY // 2))

    assert 0 < large <= 2 * small


def test_a_page_of_the_grid_costs_the_same_wherever_it_begins(pair: Pair) -> None:
    def turn_to(place: Place, after: bytes) -> Action:
        return lambda tx: _expect(200, tx.results.outcomes_after(place.stage, after, 200))

    small = cost_of(pair.few, turn_to(pair.places[0], b""))
    large = cost_of(pair.many, turn_to(pair.places[1], b""))
    later = cost_of(pair.many, turn_to(pair.places[1], _middle_subject(pair.many, pair.places[1])))

    assert 0 < large <= 2 * small
    assert later <= 2 * small


def _middle_subject(ledger: Ledger, place: Place) -> bytes:
    with ledger.snapshot() as tx:
        return bytes(tx.results.outcomes_after(place.stage, b"", MANY // 2)[-1].subject)


@contextmanager
def _open(url: str) -> Iterator[Ledger]:
    ledger = open_ledger(url, durable=False)
    yield ledger
    ledger.close()


def _send_more(tx: Transaction) -> None:
    """What a courier does when it has room: fill the queue and claim from it."""
    (lane,) = tx.requests.open_lanes(NOW)
    contexts = Contexts()
    context = contexts.of_lane(tx, lane)
    assert prepare(tx, contexts, context, NOW) > 16
    _expect(8, claim(tx, contexts, context, Sender(add_worker(tx), KEYLESS_ACCOUNT), 8, NOW))


def _sweep(tx: Transaction) -> None:
    """What a worker looks for again and again, most often in vain."""
    assert tx.attempts.take_answered(256) == []
    assert tx.attempts.unknown_attempts(NOW, 1000) == []
    assert tx.attempts.undecoded_responses() == []
    tx.attempts.open_attempts_of_workers(tx.workers.silent_workers(NOW))
    (wishes,) = tx.runs.running_wishes()
    (stage,) = tx.runs.stages_of_run(wishes.run_id)
    assert tx.tallies.tallies_of_stage(stage.id)["done"] > 0
    assert tx.tallies.crowded_stages(200) == []


def _expect(count: int, found: Sequence[object]) -> None:
    assert len(found) == count
