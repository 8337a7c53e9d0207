"""Commands that steer: runs as a whole, stored answers judged again, single results decided on."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, OnlyStage, RunNumber, argument, flag, option
from quire.cli.order_options import Budget, Params, Prompt, TypedOrder, order_from_options
from quire.cli.printing import note, print_json, print_table, quantity, say
from quire.cli.review import Reviewer, decider_name
from quire.cli.session import engine_and_run, engine_for, print_outcome, session
from quire.domain.data import Json, json_or_text
from quire.domain.errors import UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.reasons import HoldKind
from quire.domain.states import RunState
from quire.engine.json_views.run_views import regate_json

if TYPE_CHECKING:
    from quire.engine import DecisionOutcome, EditableData, Engine, RegateReport, RunHandle


def pause(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """Send nothing more for a run; calls that are out are still collected."""
    with engine_and_run(context, run) as (engine, number):
        changed = engine.pause(number)
    said = "is paused" if changed else "was paused already"
    _print_change(
        context, as_json, number, changed, f"{said}; `quire resume {number}` lets it go on"
    )


def resume(
    context: typer.Context,
    run: RunNumber = None,
    budget: Budget = None,
    no_limit: Annotated[
        bool, flag("Ask all of it, beyond the --limit that it began with.", "--no-limit")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Lift every hold of a run, and change what it may spend where --budget says so."""
    with engine_and_run(context, run) as (engine, number):
        lack = "" if budget is not None else _lack_of_money(engine, number)
        changed = engine.resume(number, budget_usd=budget, no_limit=no_limit)
        if changed and lack:
            said = f"is held again before its next call: {lack}"
        else:
            said = f"may go on; {_continue_hint(engine, number)}" if changed else "was not held"
    _print_change(context, as_json, number, changed, said)


def _lack_of_money(engine: "Engine", run: RunId) -> str:
    """What a run that is held for money needs; "" where it is not."""
    holds = engine.progress(run).holds
    return "".join(hold.detail for hold in holds if hold.kind is HoldKind.FUNDS)


def cancel(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """End a run: what is not sent yet never is, what is out is still collected."""
    with engine_and_run(context, run) as (engine, number):
        changed = engine.cancel(number)
        state = engine.progress(number).state
    if not changed:
        said = "was cancelled already"
    elif state == RunState.CANCELLED:
        said = "is cancelled"
    else:
        said = f"will be cancelled by its worker; with none, `quire attach {number}` does it"
    _print_change(context, as_json, number, changed, said)


def stop_after(
    context: typer.Context,
    run: Annotated[int, argument("RUN", "A run's number.")],
    stage: Annotated[str | None, argument("STAGE", "The last stage to carry out.")] = None,
    clear: Annotated[bool, flag("Take it back: go on to the end.", "--clear")] = False,
    as_json: AsJson = False,
) -> None:
    """Hold a run when a stage is over; its critics belong to it."""
    if clear is (stage is not None):
        raise UsageError("name the STAGE to stop after, or give --clear to take it back")
    with engine_and_run(context, run) as (engine, number):
        changed = engine.stop_after(number, stage)
        go_on = _continue_hint(engine, number)
    if stage is None:
        said = f"does not stop any more; {go_on}" if changed else "was not to stop"
    else:
        said = f"stops after {stage}" if changed else f"was to stop after {stage} already"
        said += f"; `quire resume {number}` goes on then"
    _print_change(context, as_json, number, changed, said)


def retry(
    context: typer.Context,
    run: RunNumber = None,
    stage: OnlyStage = None,
    stale: Annotated[
        bool, flag("Not what failed, but what was made from older results.", "--stale")
    ] = False,
    like: Annotated[
        int | None, option("TASK", "Only what failed for the reason that this one did.", "--like")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Owe what failed again, with fresh tries."""
    with engine_and_run(context, run) as (engine, number):
        granted = engine.retry(number, stage=stage, stale=stale, like=like)
        noun = engine.progress(number).noun
        said = f"owes {quantity(granted, noun)} again; {_continue_hint(engine, number)}"
    nothing = f"has no {'stale' if stale else 'failed'} {noun}s{f' in {stage}' if stage else ''}"
    _print_change(context, as_json, number, granted, said if granted else nothing)


def waive(
    context: typer.Context,
    tasks: Annotated[list[int], argument("TASK...", "As `quire failures` numbers them.")],
    as_json: AsJson = False,
) -> None:
    """Let an exact run go on without some of its failed tasks."""
    with engine_for(context) as engine:
        waived = engine.waive([TaskId(task) for task in tasks])
    said = f"{quantity(waived, 'task')} waived" if waived else "waived before"
    line = f"{said}: the run goes on without, and what reads them stays blocked"
    print_outcome(context, as_json, {"tasks": tasks, "changed": waived}, line)


def rerun(
    context: typer.Context,
    run: RunNumber = None,
    *,
    from_stage: Annotated[str, option("STAGE", "The first stage to ask again.", "--from")] = "",
    recipe: Annotated[
        str | None,
        option("FILE", "Ask as this changed recipe says, in a new run.", "--recipe", "-r"),
    ] = None,
    param: Params = None,
    prompt: Prompt = None,
    as_json: AsJson = False,
) -> None:
    """Ask a stage and all after it again, and pay again; what comes before it stays.

    With --recipe the run stays as it is: a new one keeps its results of the stages before.
    Of a changed experiment `quire judge run FILE --reuse RUN --from STAGE` begins such a run.
    """
    if not from_stage:
        raise UsageError("name the first stage to ask again: --from STAGE")
    if recipe is None and (param or prompt):
        name = "--param" if param else "--prompt"
        raise UsageError(f"{name} is for a changed recipe: it goes with --recipe")
    with engine_and_run(context, run) as (engine, number):
        if recipe is not None:
            typed = TypedOrder(None, recipe, param=param, reuse=number, from_stage=from_stage)
            typed = typed._replace(prompt=prompt)
            started = engine.start(order_from_options(engine, typed, None, {}))
            kept = f"keeps the results of run {number} before {from_stage}"
            said = _describe_reuse(engine, started, kept)
            _print_change(context, as_json, started.id, not started.goes_on, said)
            return
        owed = engine.rerun(number, from_stage)
        go_on = _continue_hint(engine, number)
    said = f"asks {quantity(owed, 'task')} again, from {from_stage} on; {go_on}"
    nothing = f"has nothing in {from_stage} to ask again"
    _print_change(context, as_json, number, owed, said if owed else nothing)


def _describe_reuse(engine: "Engine", started: "RunHandle", kept: str) -> str:
    """What becomes of a changed recipe: a new run, or the one that was begun with it before."""
    state = started.progress().state
    if state != RunState.RUNNING:
        return f"has this already and is {state}: nothing is asked again"
    known = "has this already and " if started.goes_on else ""
    return f"{known}{kept}; {_continue_hint(engine, started.id)}"


def _continue_hint(engine: "Engine", run: RunId) -> str:
    """Who goes on with a run: a worker that lives, or one that must be started; or nobody yet."""
    if kinds := [hold.kind for hold in engine.get(run).progress().holds]:
        return f"it is held ({', '.join(kinds)}): `quire status {run}` says what lets it go on"
    if engine.workers(run):
        return f"a worker is there and goes on with it: `quire status {run}` shows how"
    return f"no worker is there: `quire attach {run}` or `quire work` goes on with it"


def _print_change(context: typer.Context, as_json: bool, run: int, changed: int, said: str) -> None:
    print_outcome(context, as_json, {"run": run, "changed": changed}, f"run {run} {said}")


REGATE_COLUMNS = (
    "stage",
    ">same",
    ">changed",
    ">accepted",
    ">refused",
    ">confirmed",
    ">unanswered",
)


def regate(
    context: typer.Context,
    run: RunNumber = None,
    stage: OnlyStage = None,
    apply: Annotated[bool, flag("Carry out what it says.", "--apply")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge stored answers with the gates as they are now, for nothing, and say what changes."""
    with engine_and_run(context, run) as (engine, number):
        found = engine.regate(number, stage, apply=apply)
    if as_json:
        print_json([regate_json(report) for report in found])
    elif not session(context).quiet:
        print_table(REGATE_COLUMNS, ((report.stage, *report.counts.values()) for report in found))
        for line in _regate_lines(number, found, stage, apply=apply):
            say(line)


def _regate_lines(
    run: RunId, found: "Sequence[RegateReport]", stage: str | None, *, apply: bool
) -> Iterator[str]:
    for report in found:
        for example in report.examples:
            yield f"\n{report.stage}, task {example.task_id}, {example.kind}:"
            yield f"  before: {example.before}"
            yield f"  now:    {example.after}"
    yield ""
    differs = sum(report.difference_count for report in found)
    if not differs:
        yield "nothing changes"
    elif not apply:
        only = f" --stage {stage}" if stage else ""
        yield (
            f"{quantity(differs, 'task')} would change; nothing is changed yet:"
            f" `quire regate {run}{only} --apply` does"
        )
    else:
        yield from _applied_lines(run, differs, sum(report.stale for report in found))


def _applied_lines(run: RunId, differs: int, stale: int) -> Iterator[str]:
    yield f"{quantity(differs, 'task')} changed"
    if stale:
        yield (
            f"{quantity(stale, 'task')} of later stages used what changed:"
            f" `quire retry {run} --stale` asks them again"
        )


Task = Annotated[int, argument("TASK", "A task's number, as `quire export` writes it.")]


def approve(
    context: typer.Context,
    tasks: Annotated[
        list[int], argument("TASK...", "Tasks' numbers, as `quire export` writes them.")
    ],
    who: Reviewer = None,
    as_json: AsJson = False,
) -> None:
    """Confirm results: nothing replaces them any more, and no critic is waited for."""
    refused: list[UsageError] = []
    for task in dict.fromkeys(tasks):
        try:
            with engine_for(context) as engine:
                decision = engine.approve(TaskId(task), decider_name(engine, who))
        except UsageError as error:
            if len(tasks) == 1:
                raise
            refused.append(error)
            note(str(error))
            continue
        _print_decision(context, as_json, task, decision, "is approved")
    if refused:
        raise typer.Exit(1)


def reject(
    context: typer.Context,
    task: Task,
    why: Annotated[str, option("TEXT", "What is wrong; the model is told so.", "--note")] = "",
    who: Reviewer = None,
    as_json: AsJson = False,
) -> None:
    """Refuse a result: it is asked again with the note, and paid again."""
    if not why.strip():
        raise UsageError("say what is wrong with it: --note TEXT")
    from quire.cli.review_screen import cost_text

    with engine_for(context) as engine:
        before = engine.review.reject_cost(task)  # by the answer that stands until now
        decision = engine.reject(TaskId(task), why, decider_name(engine, who))
        simulated = engine.queries.head(decision.run_id).is_simulated
    cost = cost_text(before, simulated=simulated)
    go_on = f"`quire attach {decision.run_id}` goes on with its run"
    said = f"is rejected and asked again, {cost}; {go_on}"
    _print_decision(context, as_json, task, decision, said)


def edit(
    context: typer.Context,
    task: Task,
    changes: Annotated[
        list[str] | None,
        option(
            "FIELD=VALUE",
            "One field's new value: text where text is now (or null, if allowed), else JSON.",
            "--set",
        ),
    ] = None,
    source: Annotated[
        str | None,
        option("FILE", "All of the new data, as JSON; - reads it from a pipe.", "--data"),
    ] = None,
    who: Reviewer = None,
    as_json: AsJson = False,
) -> None:
    """Put your own data in the place of a result; it must pass the gates of its stage."""
    if (source is None) is (not changes):
        raise UsageError(
            "give the new data with --set FIELD=VALUE …, or all of it with --data FILE"
        )
    with engine_for(context) as engine:
        data = (
            _read_data(source)
            if source
            else _apply_changes(engine.editable_data(TaskId(task)), changes or [])
        )
        decision = engine.edit(TaskId(task), data, decider_name(engine, who))
    _print_decision(context, as_json, task, decision, "is edited")


def _apply_changes(now: "EditableData", changes: Sequence[str]) -> Json:
    """The data with some of its fields set."""
    fields: dict[str, Json] = dict(now.data) if isinstance(now.data, dict) else {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name:
            raise UsageError(f"--set wants FIELD=VALUE, not {change!r}")
        null = name in now.nullable and value in ("null", '"null"')  # and the text, if quoted
        is_text = isinstance(fields.get(name), str) and not null
        fields[name] = value if is_text else json_or_text(value)
    return fields


def _read_data(source: str) -> Json:
    """All of the new data from a file or a pipe."""
    called = "standard input" if source == "-" else source
    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        data: Json = json.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read {called}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{called} is not JSON: {error}") from error
    return data


def _print_decision(
    context: typer.Context, as_json: bool, task: int, decision: "DecisionOutcome", said: str
) -> None:
    lines = [f"task {task} of {decision.stage} {said}"]
    if decision.stale:
        lines.append(
            f"{quantity(decision.stale, 'task')} of later stages used what was there before:"
            f" `quire retry {decision.run_id} --stale` asks them again"
        )
    print_outcome(context, as_json, {"task": task, **decision._asdict()}, *lines)
