"""What tests of accounts may ask for: a ledger of each kind, and a box to seal keys in."""

from collections.abc import Iterator

import pytest

from quire.accounts.encryption import Box
from quire.domain.accounts import Secret
from quire.ledger.ledger import Ledger, open_ledger

SECRET = Secret("a secret key that nobody guesses")


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """A fresh ledger: on SQLite, then on PostgreSQL."""
    opened = open_ledger(ledger_url, durable=False)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def box() -> Box:
    """A box under one secret."""
    return Box(SECRET)
