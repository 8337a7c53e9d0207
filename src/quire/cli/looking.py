"""Commands that look at runs: which there are, how they stand, what failed, what happened."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.describing import blocks_each, progress_json
from quire.cli.opening import chosen, opened
from quire.cli.options import AsJson, RunNumber
from quire.cli.outstanding import batches_out
from quire.cli.printing import (
    Narrowing,
    brief_moment,
    clipped,
    counted,
    last_part,
    moment,
    print_json,
    print_pairs,
    print_table,
    say,
    shown,
)
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine.looking import RunHead

TASKS_SHOWN = 5  # of each cause of failure
_RUNS_GIVE_WAY: tuple[Narrowing, ...] = (
    ("started", brief_moment),
    ("model", last_part),
    ("started", None),
    ("model", lambda name: clipped(name, 16)),
    ("model", None),
)


def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, the newest first."""
    from quire.engine.standing import standing

    with opened(context) as engine:
        workers = engine.workers()
        found = [
            (engine.look.head(each.id), engine.progress(each.id)) for each in engine.runs(limit)
        ]
    if as_json:
        print_json([progress_json(head, now, (), workers) for head, now in found])
    elif not found:
        say("no runs yet; `quire run --schema SCHEMA` starts one")
    else:
        columns = (">run", "state", "schema", "*model", ">blocks", ">done", ">failed", ">cost")
        rows = (
            (
                head.id,
                standing(now, workers),
                head.schema,
                head.model.name,
                now.total,
                now.done,
                now.failed,
                dollars(now.cost) + (f" + ≤ {dollars(now.presumed)}" if now.presumed else ""),
                moment(head.started_at),
            )
            for head, now in found
        )
        print_table((*columns, "started"), rows, narrowing=_RUNS_GIVE_WAY)


def status(
    context: typer.Context,
    run: RunNumber = None,
    policy: Annotated[
        bool,
        typer.Option("--policy", metavar="", help="Also the policy, each value with its source."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a run stands, and why nothing moves when nothing moves."""
    with opened(context) as engine:
        number = chosen(engine, run)
        head, now, why = engine.look.head(number), engine.progress(number), engine.why(number)
        workers = engine.workers()
        views = engine.batches(number) if now.batches else []
    if as_json:
        extra = {"policy": head.policy} if policy else {}
        print_json(progress_json(head, now, why, workers) | extra)
        return
    print_pairs(_status(head, now, workers, views))
    for line in why:
        say(f"\n{line}" if line is why[0] else line)
    if policy:
        say()
        rows = ((name, *_sourced(value)) for name, value in head.policy.items())
        print_table(("policy", "value", "from"), rows)


def _status(
    head: "RunHead", now: Progress, workers: int, views: "Sequence[BatchView]"
) -> list[tuple[str, str]]:
    from quire.engine.standing import standing

    simulated = f" ({head.model.note})" if head.model.note else ""
    counts = ", ".join(f"{count:,} {state}" for state, count in now.counts.items())
    untouched = now.total - sum(now.counts.values())
    fate = "to come" if now.state == "running" else "never asked"
    blocks = ", ".join(part for part in (counts, untouched and f"{untouched:,} {fate}") if part)
    presumed = (
        f" + at most {dollars(now.presumed)} presumed for calls whose outcome is unknown"
        if now.presumed
        else ""
    )
    return [
        (f"run {now.run_id}", standing(now, workers)),
        ("schema", head.schema),
        ("model", f"{head.model.name}{simulated}"),
        ("blocks", f"{now.total:,}: {blocks}"),
        ("limit", f"{now.task_limit:,} blocks" if now.task_limit is not None else ""),
        (
            "packs",
            f"{now.packs:,} made, {blocks_each(now)} each on average,"
            f" {counted(now.splits, 'split')}",
        ),
        ("calls", f"{now.calls:,} answered, {now.resent:,} sent again"),
        ("batches", batches_out(now, workers, views)),
        ("tokens", f"{now.input_tokens:,} in, {now.output_tokens:,} out"),
        *([("cached", f"{now.cached_tokens:,} of the tokens in")] if now.cached_tokens else []),
        ("cost", f"{dollars(now.cost)}{presumed}"),
        ("started", moment(head.started_at)),
        ("ended", moment(head.ended_at)),
    ]


def _sourced(value: object) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return shown(value), ""
    told = value.get("value")
    return ("–" if told is None else shown(told)), shown(value.get("source"))


def failures(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """Show why blocks failed, the commonest cause first."""
    with opened(context) as engine:
        number = chosen(engine, run)
        groups = engine.look.failures(number)
    if as_json:
        print_json(
            [
                {"cause": each.cause, "count": len(each.failures), "failures": each.failures}
                for each in groups
            ]
        )
    elif not groups:
        say(f"run {number} has no failed blocks")
    else:
        rows = (
            (len(group.failures), group.cause, _some([each.task_id for each in group.failures]))
            for group in groups
        )
        print_table((">blocks", "*cause", "*tasks"), rows)
        first = groups[0].failures[0].task_id
        say(f"\nnext: quire prompt {first} shows what was asked; quire retry {number} asks again")


def _some(tasks: list[int]) -> str:
    more = len(tasks) - TASKS_SHOWN
    listed = " ".join(map(str, tasks[:TASKS_SHOWN]))
    return f"{listed} and {more:,} more" if more > 0 else listed


def events(
    context: typer.Context,
    run: RunNumber = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Tell a run's history."""
    with opened(context) as engine:
        found = engine.look.events(chosen(engine, run), limit)
    if as_json:
        print_json(found)
    else:
        print_table(
            ("at", "event", "*detail"),
            ((moment(each.at), each.kind, each.detail) for each in found),
        )
