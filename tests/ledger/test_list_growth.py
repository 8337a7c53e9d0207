"""A page of any list costs the same with ten times as much in the ledger, wherever it begins."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from quire.domain.ids import DocumentId
from quire.ledger.ledger import Ledger, Transaction, open_ledger
from tests.ledger.crowd import FIRST, PACK, fill_ledger, fill_lists
from tests.ledger.factories import Place
from tests.ledger.statement_costs import cost_of
from tests.postgres import Databases

FEW, MANY = 600, 6_000
NEWEST = 10**12
Look = Callable[[Transaction, Place, int], Sequence[object]]  # the last: how many tasks there are

LISTS: dict[str, Look] = {
    "documents": lambda tx, _, __: tx.list_pages.documents_before(NEWEST, 51),
    "documents further on": lambda tx, _, tasks: tx.list_pages.documents_before(
        FIRST + tasks // 2, 51
    ),
    "paths of documents": lambda tx, _, __: [
        *tx.sources.sources_of_documents([DocumentId(FIRST + no) for no in range(1, 51)])
    ],
    "titles to jump to": lambda tx, _, __: tx.list_pages.newest_titles(200),
    "documents in use": lambda tx, _, __: [tx.list_pages.count_usual(200)],
    "blocks": lambda tx, place, tasks: tx.list_pages.blocks_after(place.document, tasks // 2, 101),
    "calls": lambda tx, place, _: tx.views.list_requests(place.run, 0, 16),
    "calls further on": lambda tx, place, tasks: tx.views.list_requests(
        place.run, FIRST + tasks // PACK // 4, 16
    ),
    "events": lambda tx, place, _: tx.events.events_of_run(place.run, 200),
    "events since": lambda tx, place, tasks: tx.events.events_after(place.run, tasks // 2, 200),
    "failures": lambda tx, place, _: tx.tasks.failures_of_stage(place.stage, 100),
    "runs": lambda tx, _, __: tx.list_pages.runs_before(NEWEST, "", 51),
}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: Databases
) -> Iterator[list[tuple[Ledger, Place, int]]]:
    """Two ledgers alike but for their size, on one kind of database."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("lists")
        filled = []
        for tasks in (FEW, MANY):
            url = str(folder / f"{tasks}.db")
            if request.param == "postgres":
                url = stack.enter_context(postgres.database())
            ledger = open_ledger(url, durable=False)
            stack.callback(ledger.close)
            place = fill_ledger(ledger, tasks)
            fill_lists(ledger, place, tasks)
            filled.append((ledger, place, tasks))
        yield filled


@pytest.mark.parametrize("name", LISTS)
def test_a_page_of_a_list_costs_the_same_with_ten_times_as_much(
    name: str, pair: list[tuple[Ledger, Place, int]]
) -> None:
    few, many = (_cost(*one, LISTS[name]) for one in pair)

    assert 0 < many <= 2 * few


def _cost(ledger: Ledger, place: Place, tasks: int, look: Look) -> int:
    def act(tx: Transaction) -> None:
        assert look(tx, place, tasks)

    return cost_of(ledger, act)
