"""Commands that look at runs: which there are, how they stand, what failed, what happened."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.describing import blocks_each, progress_json
from quire.cli.opening import chosen, opened
from quire.cli.options import AsJson, RunNumber
from quire.cli.outstanding import batches_out, in_words
from quire.cli.printing import (
    Narrowing,
    brief_moment,
    clipped,
    counted,
    last_part,
    moment,
    named,
    print_json,
    print_pairs,
    print_table,
    say,
    shown,
)
from quire.cli.staging import print_stages
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine.looking import RunHead

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
        found = [
            (engine.look.head(each.id), engine.progress(each.id), engine.workers(each.id))
            for each in engine.runs(limit)
        ]
    if as_json:
        print_json([progress_json(head, now, (), workers) for head, now, workers in found])
    elif not found:
        say("no runs yet; `quire run --schema SCHEMA` starts one")
    else:
        recipes = any(head.recipe for head, *_ in found)
        what, of = ("recipe", ">tasks") if recipes else ("schema", ">blocks")
        columns = (">run", "state", what, "*model", of, ">done", ">failed", ">cost")
        rows = (
            (
                head.id,
                standing(now, workers),
                head.schema,
                head.model.name + (f" +{len(head.models)}" if head.models else ""),
                now.total,
                now.done,
                now.failed,
                dollars(now.cost) + (f" + ≤ {dollars(now.presumed)}" if now.presumed else ""),
                moment(head.started_at),
            )
            for head, now, workers in found
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
        workers = engine.workers(number)
        views = engine.batches(number) if now.batches else []
        own = engine.stage_policies(number) if policy else {}
    if as_json:
        extra = {"policy": head.policy, "stage_policies": own} if policy else {}
        print_json(progress_json(head, now, why, workers) | extra)
        return
    print_pairs(_status(head, now, workers, views))
    if now.recipe:
        say()
        print_stages(now)
    for line in why:
        say(in_words(f"\n{line}" if line is why[0] else line))
    if policy:
        say()
        rows = [(name, *_sourced(value)) for name, value in head.policy.items()]
        for stage, told in own.items():
            rows += [(name, shown(value), f"stage {stage}") for name, value in told.items()]
        print_table(("policy", "value", "from"), rows)


def _status(
    head: "RunHead", now: Progress, workers: int, views: "Sequence[BatchView]"
) -> list[tuple[str, str]]:
    from quire.engine.standing import standing

    noun = "task" if now.recipe else "block"
    simulated = f" ({head.model.note})" if head.model.note else ""
    counts = ", ".join(f"{count:,} {state}" for state, count in now.counts.items())
    untouched = 0 if now.recipe else now.total - sum(now.counts.values())
    fate = "to come" if now.state == "running" else "never asked"
    blocks = ", ".join(part for part in (counts, untouched and f"{untouched:,} {fate}") if part)
    presumed = (
        f" + at most {dollars(now.presumed)} presumed for calls whose outcome is unknown"
        if now.presumed
        else ""
    )
    return [
        (f"run {now.run_id}", standing(now, workers)),
        ("recipe" if now.recipe else "schema", head.schema),
        ("model", ", ".join([f"{head.model.name}{simulated}", *map(named, head.models)])),
        (f"{noun}s", f"{now.total:,}: {blocks}" if blocks else f"{now.total:,}"),
        ("limit", _limit(now)),
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


def _limit(now: Progress) -> str:
    if now.task_limit is None:
        return ""
    return f"{now.task_limit:,} {'tasks of its first stages' if now.recipe else 'blocks'}"


def _sourced(value: object) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return shown(value), ""
    told = value.get("value")
    return ("–" if told is None else shown(told)), shown(value.get("source"))


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
            ((moment(each.at), each.kind, in_words(each.detail)) for each in found),
        )
