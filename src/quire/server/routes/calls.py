"""Routes about calls: those of a run, one with all that became of it, and what a task is asked."""

from datetime import datetime

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
    Settings,
    answer_json,
    answer_page,
    read_cursor,
)

router = APIRouter(tags=["calls"], dependencies=[requires(AccessRole.VIEWER)])


class StrayIdsShape(AnswerShape):
    """Ids in answers that are not what was asked for."""

    unknown: list[str] = Field(description="Ids that were never sent, the first of them.")
    duplicates: list[str] = Field(description="Ids that were answered more than once.")
    unknown_count: int = Field(description="Records that belong to nobody.")


class CallLineShape(AnswerShape):
    """A call of a run, in a line."""

    id: int = Field(description="The number of the call.")
    kind: str = Field(examples=["answer"])
    tasks: int = Field(description="How many tasks it carries.")
    max_output: int
    state: str = Field(examples=["done"])
    sent: int
    purged: bool
    accepted: int = Field(description="Tasks whose answer was accepted.")
    cost_usd: float = Field(description="Dollars; the most, where some of it is presumed.")
    presumed: int = Field(description="Sendings of which nobody knows what they cost.")
    sent_at: datetime | None = Field(description="The last time; null: not sent yet.")
    document: str | None = Field(description="The title of the first document it is about.")
    documents: int = Field(description="How many documents it is about.")
    stray_ids: StrayIdsShape
    stage: str
    model: str


class CallHeadShape(AnswerShape):
    """A call: which, of what, and how it stands."""

    id: int = Field(description="The number of the call.")
    run_id: int
    stage_id: int
    kind: str = Field(examples=["answer"])
    tasks: int = Field(description="How many tasks it carries.")
    max_output: int
    state: str = Field(examples=["done"])
    sent: int
    payload_hash: str = Field(description="The fingerprint of what is sent, in hexadecimal.")
    body: str | None = Field(description="What was sent, where bodies are kept in full.")
    purged: bool
    stray_ids: StrayIdsShape


class AttemptShape(AnswerShape):
    """One sending of a call, and what came back."""

    id: int = Field(description="The number of the attempt.")
    no: int = Field(description="Which sending of the call, from 1.")
    state: str = Field(examples=["settled"])
    provider: str
    model: str
    params: Settings = Field(description="What the call was told besides, such as temperature.")
    sent_at: datetime = Field(description="When it was sent.")
    ended_at: datetime | None = Field(description="When its fate was known; null: it is out.")
    input_tokens: int | None = Field(description="Input tokens; null: nobody said.")
    output_tokens: int | None = Field(description="Output tokens; null: nobody said.")
    cached_tokens: int | None = Field(description="Of the input, read from the cache.")
    written_tokens: int | None = Field(description="Of the input, written to the cache.")
    reasoning_tokens: int | None = Field(description="Of the output, thought and not answered.")
    reserved_usd: float = Field(description="The most it could cost, set aside before it was sent.")
    cost_usd: float | None = Field(description="Dollars; null: not known yet.")
    cost_basis: str | None = Field(
        description="What the cost rests on: usage, presumed or free.", examples=["usage"]
    )
    error: str | None
    credential: str | None = Field(description="The name of the key that it went out with.")
    raw: str | None = Field(description="The response as it came; null: none, or purged.")
    decoded: str | None = Field(description="The text of the answer.")
    reasoning: str | None = Field(description="What the model thought before it answered.")
    stop: str | None = Field(description="Why the answer ended.", examples=["end"])
    batch_id: int | None = Field(description="The batch it travelled in; null: by itself.")


class MemberShape(AnswerShape):
    """One task of a call, and what was said of its answer."""

    ordinal: int = Field(description="Its place in the call, from 0.")
    wire_id: str = Field(description="Its name in the call.")
    task_id: int
    version: int = Field(description="Which answer of the task was asked for.")
    state: str = Field(description="How the task stands now.", examples=["done"])
    verdict: str | None = Field(description="accept, retry or fail; null: not judged.")
    reasons: str | None = Field(description="Why, in words.")


class TurnShape(AnswerShape):
    """Something that was said before the last message."""

    role: str = Field(description="Who said it.", examples=["assistant"])
    text: str = Field(description="What was said.")


class ChainCallShape(AnswerShape):
    """One call of an answer that came in pieces."""

    request_id: int = Field(description="The number of the call.")
    sending: int = Field(description="Which sending of it, from 1.")
    piece: int | None = Field(description="Which piece, from 0; null: it brought none.")
    gap: str | None = Field(description="Why another call followed.")
    state: str = Field(examples=["settled"])
    input_tokens: int
    output_tokens: int
    cost_usd: float


class CallShape(AnswerShape):
    """A call with its text, attempts, responses and tasks."""

    request: CallHeadShape = Field(description="The call itself.")
    system: str
    user: str | None = Field(description="The last message; null: it was purged.")
    attempts: list[AttemptShape] = Field(description="Every sending, in order.")
    members: list[MemberShape] = Field(description="The tasks it carries, in order.")
    stage: str = Field(description="Of a recipe; empty of a schema.")
    turns: list[TurnShape]
    chain: list[ChainCallShape] = Field(description="The calls of an answer in pieces.")


class TaskHeadShape(AnswerShape):
    """A task: what it is about, and how it stands."""

    id: int = Field(description="The number of the task.")
    run_id: int
    stage_id: int
    block_uid: str
    state: str = Field(examples=["done"])
    tries: int
    calls: int = Field(description="Calls that it rode in.")
    error: str | None
    request_id: int | None = Field(description="The call it last rode in; null: none yet.")
    title: str
    model_no: int
    sample: int
    reads: int | None
    error_kind: str | None
    error_stage: str | None
    error_task: int | None
    part: str | None


class PromptShape(AnswerShape):
    """Exactly what is or would be sent about a task."""

    task: TaskHeadShape = Field(description="The task.")
    request_id: int | None = Field(description="The call; null: shown as it would go alone.")
    model: str
    system: str
    user: str = Field(description="The last message.")
    turns: list[TurnShape]
    stage: str = Field(description="Of a recipe; empty of a schema.")
    about: str = Field(description="What the task is about, in words; empty of a block.")
    stray_ids: StrayIdsShape


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
