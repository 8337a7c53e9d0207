"""Routes that steer runs; each does nothing a second time with the same Idempotency-Key."""

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.errors import NotFound
from quire.domain.ids import RunId, TaskId
from quire.engine.json_views.run_views import regate_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.command_ids import CommandId
from quire.server.json_answers import (
    LARGEST,
    AnswerShape,
    Body,
    Budget,
    Number,
    answer_json,
)

router = APIRouter(tags=["controls"], dependencies=[requires(AccessRole.OPERATOR)])


class ChangeShape(AnswerShape):
    """What a command changed: whether, or how many tasks."""

    run: int
    changed: bool | int


class RegateExampleShape(AnswerShape):
    """A task that is judged otherwise."""

    task_id: int
    kind: str = Field(description="changed, accepted or refused.", examples=["changed"])
    before: str = Field(description="What was said of its answer.")
    after: str = Field(description="What is said now.")


class RegateShape(AnswerShape):
    """What judging again says of one stage."""

    stage: str
    gate_version: str = Field(description="The gates as they are now.")
    applied: bool = Field(description="What changes was carried out.")
    counts: dict[str, int] = Field(
        description="Tasks by what becomes of them.", examples=[{"same": 97, "changed": 0}]
    )
    stale: int = Field(description="Results that were made from what changed.")
    examples: list[RegateExampleShape] = Field(description="Some of what changes.")


class RegateListShape(AnswerShape):
    """What judging again says, stage by stage."""

    run: int
    items: list[RegateShape] = Field(description="A row for each stage.")


class ResumeBody(Body):
    """How a run goes on."""

    budget_usd: Budget | None = Field(default=None, examples=[5])
    no_limit: bool = False  # beyond the tasks that it was limited to


class RetryBody(Body):
    """What is owed again."""

    stage: str | None = Field(default=None, max_length=200, examples=["extract"])
    stale: bool = False
    like: int | None = Field(default=None, ge=1, le=LARGEST)  # a failed task: those of its cause


class StopAfterBody(Body):
    """The last stage to carry out; null takes that back."""

    stage: str | None = Field(max_length=200, examples=["extract"])


class RerunBody(Body):
    """The first stage to ask again."""

    from_stage: str = Field(min_length=1, max_length=200, examples=["extract"])


class RegateBody(Body):
    """Which answers are judged again, and whether what changes is carried out."""

    stage: str | None = Field(default=None, max_length=200, examples=["extract"])
    apply: bool = False


class WaiveBody(Body):
    """Failed tasks that an exact run goes on without."""

    tasks: list[int] = Field(min_length=1, max_length=10_000, examples=[[1, 2]])


def _answer_change(run: int, changed: bool | int) -> Response:
    return answer_json({"run": run, "changed": changed})


@router.post("/v1/runs/{run}/pause", response_model=ChangeShape)
def pause_run(engine: AskedEngine, run: Number, command: CommandId = None) -> Response:
    """Send nothing more for a run; calls that are out are still collected."""
    return _answer_change(run, engine.commands.pause(RunId(run), command))


@router.post("/v1/runs/{run}/resume", response_model=ChangeShape)
def resume_run(
    engine: AskedEngine,
    run: Number,
    asked: ResumeBody | None = None,
    command: CommandId = None,
) -> Response:
    """Lift every hold of a run; change what it may spend, or ask all of it, where that is said."""
    said = asked or ResumeBody()
    changed = engine.commands.resume(
        RunId(run), command, budget_usd=said.budget_usd, no_limit=said.no_limit
    )
    return _answer_change(run, changed)


@router.post("/v1/runs/{run}/cancel", response_model=ChangeShape)
def cancel_run(engine: AskedEngine, run: Number, command: CommandId = None) -> Response:
    """End a run: what is not sent yet never is, what is out is still collected."""
    return _answer_change(run, engine.commands.cancel(RunId(run), command))


@router.post("/v1/runs/{run}/retry", response_model=ChangeShape)
def retry_run(
    engine: AskedEngine, run: Number, asked: RetryBody | None = None, command: CommandId = None
) -> Response:
    """Owe what failed again, with fresh tries: all, a stage, one cause; or what is stale."""
    said = asked or RetryBody()
    owed = engine.commands.retry(
        RunId(run), command, stage=said.stage, stale=said.stale, like=said.like
    )
    return _answer_change(run, owed)


@router.post("/v1/runs/{run}/stop-after", response_model=ChangeShape)
def stop_run_after(
    engine: AskedEngine, run: Number, asked: StopAfterBody, command: CommandId = None
) -> Response:
    """Hold a run when a stage is over; its critics belong to it."""
    return _answer_change(run, engine.commands.stop_after(RunId(run), asked.stage, command))


@router.post("/v1/runs/{run}/rerun", response_model=ChangeShape)
def rerun_stages(
    engine: AskedEngine, run: Number, asked: RerunBody, command: CommandId = None
) -> Response:
    """Ask a stage and all after it again, and pay again."""
    return _answer_change(run, engine.commands.rerun(RunId(run), asked.from_stage, command))


@router.post("/v1/runs/{run}/regate", response_model=RegateListShape)
def regate_run(
    engine: AskedEngine,
    run: Number,
    asked: RegateBody | None = None,
    command: CommandId = None,
) -> Response:
    """Judge stored answers with the gates as they are now, for nothing, and say what changes."""
    said = asked or RegateBody()
    found = engine.commands.regate(RunId(run), said.stage, apply=said.apply, command=command)
    return answer_json({"run": run, "items": [regate_json(report) for report in found]})


@router.post("/v1/runs/{run}/waive", response_model=ChangeShape)
def waive_tasks(
    engine: AskedEngine, run: Number, asked: WaiveBody, command: CommandId = None
) -> Response:
    """Let an exact run go on without some of its failed tasks."""
    for task in asked.tasks:
        if not 0 < task <= LARGEST or engine.queries.prompt(TaskId(task)).task.run_id != run:
            raise NotFound(f"run {run} has no task {task}")
    waived = engine.commands.waive([TaskId(task) for task in asked.tasks], command)
    return _answer_change(run, waived)
