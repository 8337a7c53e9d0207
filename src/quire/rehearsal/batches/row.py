"""A row of a batch: the call that it stands for, what became of it, and how that is written."""

from typing import NamedTuple

import orjson

from quire.domain.batches import RowEnd
from quire.domain.data import Json
from quire.rehearsal.dialects.dialect import Dialect, Incoming

HOUR = 3_600.0


class Flaw(Exception):
    """Why a batch fails as a whole, and nothing of it runs."""

    def __init__(self, code: str, message: str, *, param: str | None = None, line: int = 0) -> None:
        """Say what is wrong, and in which line; 0: in none of them."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.line = line


class RowCall(NamedTuple):
    """One row, understood as the call that it stands for."""

    custom_id: str
    dialect: Dialect  # of the endpoint that would answer it
    incoming: Incoming  # as that endpoint would get it
    body: bytes


class Row(NamedTuple):
    """What became of one row."""

    ordinal: int
    custom_id: str
    end: RowEnd
    number: int  # unlike any other on this server, for ids
    status: int = 0  # of the answer or of the error; 0 where the row never ran
    body: orjson.Fragment | str = ""  # a Fragment is JSON; a string is what no reader of JSON takes


class Written(NamedTuple):
    """A line of results, and the name of the result that it belongs to."""

    result: str
    line: Json
