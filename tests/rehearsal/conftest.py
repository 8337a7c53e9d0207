"""A rehearsal server that makes no mistakes, shared by the tests of one file."""

from collections.abc import Iterator

import pytest

from quire.rehearsal.thread import Rehearsing, rehearsing
from tests.rehearsal.asking import MODELS


@pytest.fixture(scope="module")
def server() -> Iterator[Rehearsing]:
    """A server without faults that knows a few models."""
    with rehearsing(models=MODELS) as running:
        yield running
