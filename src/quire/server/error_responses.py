"""Errors as responses: one shape, the words of the command line, a status by who must act."""

from fastapi.responses import JSONResponse
from pydantic import BaseModel

from quire.domain.errors import (
    Conflict,
    EditInvalid,
    Error,
    IllegalMove,
    LedgerError,
    NotFound,
    OutOfFunds,
    SchemaInvalid,
    UsageError,
)
from quire.server.access import Forbidden, TooManyTries, Unauthorized
from quire.server.draft_desk import Busy

# The first class that fits decides.
STATUS: tuple[tuple[type[Error], int], ...] = (
    (TooManyTries, 429),
    (Unauthorized, 401),
    (OutOfFunds, 402),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (IllegalMove, 409),
    (Busy, 429),
    (UsageError, 422),
    (LedgerError, 503),
    (Error, 500),
)


class MistakeBody(BaseModel):
    """One thing wrong with what was sent, and where."""

    pointer: str  # JSON pointer; "" is the whole
    message: str


class ProblemBody(BaseModel):
    """What went wrong, and what to do."""

    kind: str  # of the error, such as NotFound
    message: str
    fix: str = ""
    mistakes: list[MistakeBody] = []  # each with its place, where there may be several


class ApiErrorBody(BaseModel):
    """The one shape of every error."""

    error: ProblemBody


def status_of(error: Error) -> int:
    """The HTTP status of an error."""
    return next(status for kind, status in STATUS if isinstance(error, kind))


def error_response(error: Error) -> JSONResponse:
    """An error as a response."""
    body = ProblemBody(
        kind=type(error).__name__,
        message=error.message,
        fix=error.fix,
        mistakes=[
            MistakeBody(pointer=mistake.pointer, message=mistake.message)
            for mistake in error.mistakes
        ]
        if isinstance(error, EditInvalid | SchemaInvalid)
        else [],
    )
    later = None
    if isinstance(error, Busy | TooManyTries):
        later = {"Retry-After": str(error.seconds)}
    return JSONResponse(ApiErrorBody(error=body).model_dump(), status_of(error), later)


def plain_error(status: int, kind: str, message: str) -> JSONResponse:
    """The same shape for what the framework refuses."""
    body = ProblemBody(kind=kind, message=message)
    return JSONResponse(ApiErrorBody(error=body).model_dump(), status)
