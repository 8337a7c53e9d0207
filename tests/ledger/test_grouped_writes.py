"""Many rows at once are written as one by one, however they are cut into groups."""

import re

import pytest

from quire.domain.errors import LedgerError
from quire.domain.states import RequestMove, RequestState
from quire.ledger.ledger import Ledger
from quire.ledger.statements import ROWS_PER_INSERT, migrations, spell_out_checks
from tests.ledger.factories import add_document, new_run
from tests.ledger.raw import Raw


@pytest.mark.parametrize(
    "count", [1, ROWS_PER_INSERT - 1, ROWS_PER_INSERT, ROWS_PER_INSERT + 1, 3 * ROWS_PER_INSERT + 5]
)
def test_every_row_of_a_group_is_written_in_order(ledger: Ledger, raw: Raw, count: int) -> None:
    contents = [f"paragraph {place}" for place in range(count)]

    with ledger.transaction() as tx:
        add_document(tx, contents)

    written = raw.rows("SELECT block_index, content FROM blocks ORDER BY id")
    assert written == list(enumerate(contents))


def test_a_group_that_has_moved_on_is_reported(ledger: Ledger, raw: Raw) -> None:
    new_run(ledger)

    with (
        pytest.raises(LedgerError, match="1 requests to close were not out"),
        ledger.transaction() as tx,
    ):
        tx.requests.move_request_group(RequestMove.CLOSE, tx.requests.take_ids(1), RequestState.OUT)


def test_a_checked_list_is_spelled_out() -> None:
    text = "state TEXT CHECK (state IN\n    ('a', 'b', 'c')), n INTEGER CHECK (n >= 0)"

    spelled = spell_out_checks(text)

    assert spelled == (
        "state TEXT CHECK (state = 'a' OR state = 'b' OR state = 'c'), n INTEGER CHECK (n >= 0)"
    )


def test_no_list_is_checked_on_sqlite() -> None:
    script = "".join(migrations("sqlite").values())

    assert not re.search(r"CHECK \(\w+ IN\b", script)
