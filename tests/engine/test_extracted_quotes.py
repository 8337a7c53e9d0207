"""Rows that one call turns into typed rows have the words that show their values."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel

import quire
from tests.world import World

MODEL = "simulated/small"
ROWS = [{"body": "The printer is on fire."}, {"body": "Where is my refund?"}]


class Complaint(BaseModel):
    """Say what is wrong."""

    product: str = quire.field(quote=True)


def extract(here: World, data: Any) -> Any:
    return here.engine.extract(data, Complaint, text="body", model=MODEL)


READERS: dict[str, Callable[[World], Any]] = {
    "pandas": lambda here: extract(here, pd.DataFrame(ROWS)).to_dict("records"),
    "rows": lambda here: extract(here, ROWS),
    "stream": lambda here: here.engine.stream(ROWS, Complaint, text="body", model=MODEL),
}


@pytest.mark.parametrize("reader", READERS)
def test_words_that_show_a_value_stand_in_columns_beside_it(
    world: Callable[..., World], reader: str
) -> None:
    found = list(READERS[reader](world()))

    assert len(found) == 2
    for row in found:
        assert row["body"][row["product_start"] : row["product_end"]] == row["product_quote"]
