"""A rehearsal server that makes no mistakes, shared by the tests of one file."""

from collections.abc import Iterator

import pytest

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import MODELS


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalThread]:
    """A server without faults that knows a few models."""
    with rehearsal_server(models=MODELS) as running:
        yield running
