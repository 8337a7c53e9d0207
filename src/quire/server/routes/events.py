"""Routes about events: what happened to a run, a page at a time or as it happens."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from quire.server.access import AccessRole, AskedEngine, requires, site_of
from quire.server.event_broadcast import Topic
from quire.server.json_answers import (
    LARGEST,
    USUAL_ITEMS,
    AnswerShape,
    Cursor,
    Limit,
    Number,
    Page,
    answer_page,
    read_cursor,
)
from quire.server.stream_access import while_let_in

router = APIRouter(tags=["events"], dependencies=[requires(AccessRole.VIEWER)])
STREAM = "text/event-stream"


class EventShape(AnswerShape):
    """A line of history."""

    id: int
    at: str
    kind: str = Field(examples=["run_started"])
    detail: str


@router.get(
    "/v1/runs/{run}/events",
    response_model=Page[EventShape],
    responses={200: {"content": {STREAM: {}}}},
)
async def list_events(  # noqa: PLR0913, PLR0917 - each is a part of the request
    request: Request,
    engine: AskedEngine,
    run: Number,
    cursor: Cursor = None,
    limit: Limit = USUAL_ITEMS,
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    last_event: Annotated[
        str | None, Header(alias="Last-Event-ID", max_length=30, description="Go on after it.")
    ] = None,
) -> Response:
    """Tell what happened, the oldest first; with `Accept: text/event-stream` as it happens.

    A stream begins with how the run stands, `{"status": …}` as `GET /v1/runs/{run}` says it, and
    tells it again when it changes; each event comes under its number, and whoever comes back with
    Last-Event-ID misses none.
    """
    number = (await run_in_threadpool(engine.queries.must_get, run)).id
    if STREAM not in request.headers.get("accept", ""):
        begin = read_cursor(cursor, after or 0)
        found = await run_in_threadpool(engine.queries.events_after, number, begin, limit + 1)
        return answer_page(found, limit, lambda event: event.id)
    begin_after = last_event if last_event is not None and last_event.isdecimal() else after
    topic = Topic(engine.ledger.workspace, number)
    messages = site_of(request).broadcast.follow(
        topic, engine, None if begin_after is None else min(int(begin_after), LARGEST)
    )
    return StreamingResponse(
        while_let_in(request, messages),
        media_type=STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
