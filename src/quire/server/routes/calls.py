"""Routes about calls: those of a run, one with all that became of it, and what a task is asked."""

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.ids import RequestId, RunId, TaskId
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import (
    USUAL_ITEMS,
    AnswerShape,
    Cursor,
    Limit,
    Number,
    Page,
    answer_json,
    answer_page,
    read_cursor,
)

router = APIRouter(tags=["calls"], dependencies=[requires(AccessRole.VIEWER)])


class CallLineShape(AnswerShape):
    """A call of a run, in a line."""

    id: int
    kind: str = Field(examples=["answer"])
    state: str
    tasks: int
    cost_usd: float


class CallShape(AnswerShape):
    """A call with its text, attempts, responses and tasks."""

    request: AnswerShape
    system: str
    user: str | None
    attempts: list[AnswerShape]
    members: list[AnswerShape]


class PromptShape(AnswerShape):
    """Exactly what is or would be sent about a task."""

    task: AnswerShape
    model: str
    system: str
    user: str


@router.get("/v1/runs/{run}/calls", response_model=Page[CallLineShape])
def list_calls(
    engine: AskedEngine, run: Number, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List the calls of a run, in the order they were made."""
    engine.queries.must_get(run)
    found = engine.queries.requests(RunId(run), read_cursor(cursor), limit + 1)
    return answer_page(found, limit, lambda line: line.id)


@router.get("/v1/calls/{call}", response_model=CallShape)
def get_call(engine: AskedEngine, call: Number) -> Response:
    """Show one call and all that became of it."""
    return answer_json(engine.queries.exchange(RequestId(call)))


@router.get("/v1/tasks/{task}/prompt", response_model=PromptShape)
def get_prompt(engine: AskedEngine, task: Number) -> Response:
    """Show exactly what was last sent about a task, or what would be."""
    return answer_json(engine.queries.prompt(TaskId(task)))
