"""The page of a call: the prompt as it was sent, every answer, and what became of each task."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse

from quire.domain.ids import RequestId
from quire.engine.curl_commands import curl_command
from quire.server.access import AskedEngine, Principal, find_principal
from quire.web.call_view import (
    colours_of,
    compare_answers,
    judge_records,
    mark_ids,
    read_prompt,
)
from quire.web.pages import render

router = APIRouter()


@router.get("/calls/{call}")
def show_call(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    call: Annotated[int, Path(ge=1, le=2**63 - 1)],
) -> HTMLResponse:
    """Show one call, down to the raw answer."""
    view = engine.queries.exchange(RequestId(call))
    colours = colours_of(view.members)
    prompt = read_prompt(view)
    return render(
        request,
        "call.html",
        principal,
        view=view,
        prompt=prompt,
        records=judge_records(view, prompt),
        answers=[(attempt, mark_ids(attempt.decoded or "", colours)) for attempt in view.attempts],
        difference=compare_answers(view.attempts),
        curl=curl_command(engine.context, view.request.id),
    )
