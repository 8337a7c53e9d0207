"""The command that shows, on a sample, how many blocks may share a call."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli import options as of
from quire.cli.edge import HELD, INTERRUPTED, SOME_FAILED
from quire.cli.opening import opened, session
from quire.cli.printing import SIMULATED, counted, named, note, print_json, print_table, say
from quire.cli.watching import Watcher
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.engine.probing import PlannedProbe, Turn
    from quire.engine.reporting import Report
    from quire.plan.estimating import Excess, Rate
    from quire.plan.probing import Spent

_MOST_FIELDS = 8  # shown of those that differ

Sample = Annotated[int, typer.Option("--sample", min=2, metavar="N", help="Blocks to ask about.")]
Sizes = Annotated[
    str, typer.Option("--sizes", metavar="N,N…", help="Blocks per call to try, 2 to 50 each.")
]
Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance", min=0, max=1, metavar="SHARE", help="Of all fields that packing may change."
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Another one draws other blocks.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask before paying.")]


@of.takes_policy("temperature", "effort", "concurrency", "call_timeout", "caching")
def probe(
    context: typer.Context,
    *,
    schema: of.SchemaName,
    sample: Sample = 50,
    model: of.ModelName = None,
    document: of.Documents = None,
    sizes: Sizes = "5,10,25,50",
    tolerance: Tolerance = 0.02,
    seed: Seed = 0,
    yes: Yes = False,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Ask about a sample alone and packed, compare the answers, recommend a pack size."""
    from quire.engine.probing import plan_probe
    from quire.engine.reporting import Probing

    wanted = Probing(sample=sample, sizes=_sizes(sizes), tolerance=tolerance, seed=seed)
    with opened(context) as engine:
        over = engine.look.documents(document) if document else None
        planned = plan_probe(engine, wanted, schema=schema, model=model, over=over, **policy)
        _tell_forecast(context, engine, planned, yes=yes)
        report = _carry_out(context, engine, planned)
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)


def _carry_out(context: typer.Context, engine: "Engine", planned: "PlannedProbe") -> "Report":
    from quire.engine.probing import carry_out, why_stopped

    try:
        probed = carry_out(engine, planned, _driver(context, engine))
    except KeyboardInterrupt:
        note("quire: interrupted; the same command goes on, and pays nothing twice")
        raise typer.Exit(INTERRUPTED) from None
    if probed.report is None:
        assert probed.stopped is not None
        note(f"quire: {why_stopped(probed.stopped)}")
        raise typer.Exit(HELD if probed.stopped.holds else SOME_FAILED)
    return probed.report


def _sizes(text: str) -> tuple[int, ...]:
    parts = [each.strip() for each in text.split(",") if each.strip()]
    if not all(re.fullmatch(r"[0-9]{1,9}", each) for each in parts):
        raise UsageError(f"--sizes takes whole numbers with commas between them, not {text!r}")
    return tuple(map(int, parts))


def _tell_forecast(
    context: typer.Context, engine: "Engine", planned: "PlannedProbe", *, yes: bool
) -> None:
    """Say what the probe will cost; on a terminal, ask before real money is spent."""
    from quire.engine.probing import owed

    left = owed(engine, planned)
    cost = dollars(sum(each.forecast.cost for each in left))
    calls = sum(each.forecast.requests for each in left)
    facts = planned.ask.facts
    if not session(context).quiet:
        blocks = counted(len(planned.blocks), "block")
        drawn = (
            f"{blocks} of {planned.available:,}, from {counted(len(planned.inputs), 'document')}"
        )
        rest = f"forecast {counted(calls, 'call')}, {cost}" if left else "all of it is here already"
        note(f"probe of {planned.ask.recipe.stages[0].record.ref} with {named(facts.name)}:")
        note(f"  {drawn} · {rest}")
    paid = left and facts.provider != SIMULATED
    if paid and not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm(f"Pay about {cost} for this probe?", abort=True, err=True)


def _driver(context: typer.Context, engine: "Engine") -> "Callable[[Turn, RunId], Progress]":
    """Work on the probe's runs, one after the other, each with its live line."""
    from quire.pipeline.progress import at_rest

    quiet = session(context).quiet

    def drive(turn: "Turn", run: RunId) -> Progress:
        if not quiet:
            once_more = ", once more" if turn.turn > 1 else ""
            per_call = "one block per call" if turn.size == 1 else f"{turn.size} blocks per call"
            note(f"run {run}: {per_call}{once_more}")
        with Watcher(engine.progress(run), quiet=quiet) as watcher:

            def done() -> bool:
                now = engine.progress(run)
                watcher(now)
                return at_rest(now)

            if engine.work(done, signals=True, tell=watcher.tell) and not done():
                raise KeyboardInterrupt
        return engine.progress(run)

    return drive


def _print_report(report: "Report") -> None:
    columns = (
        *(">size", ">calls", ">a call", ">in", ">out", ">$/1,000"),
        *(">mismatched", ">over noise", "*finding"),
    )
    print_table(columns, _rows(report))
    say()
    say(
        "size: blocks allowed per call. a call: blocks it carried, on average. in, out: tokens.\n"
        "mismatched: % of fields that differ from the first time alone; again is the model's own\n"
        "noise, over noise what packing adds to it. Brackets hold intervals at 95 %."
    )
    for line in _remarks(report):
        say(line)
    say(_recommended(report))
    say(f"next: quire run --schema {report.schema} --model {report.model} --pack-size probed")


def _rows(report: "Report") -> Iterator[tuple[object, ...]]:
    yield ("1", *_spent(report.alone), "–", "–", "")
    yield ("again", *_spent(report.again), _rate(report.noise.fields), "–", "")
    for trial in report.trials:
        compared = trial.compared
        yield (
            str(trial.size),
            *_spent(trial.spent),
            _rate(compared.fields),
            _excess(compared.excess),
            report.finding(trial).value,
        )


def _spent(spent: "Spent") -> tuple[object, ...]:
    price = dollars(round(spent.cost_per_thousand))
    a_call = f"{spent.blocks_per_call:.4g}"
    return spent.calls, a_call, spent.input_tokens, spent.output_tokens, price


def _rate(rate: "Rate") -> str:
    return f"{100 * rate.share:.1f} [{100 * rate.low:.1f}–{100 * rate.high:.1f}]"


def _excess(excess: "Excess") -> str:
    return f"{100 * excess.share:+.1f} [{100 * excess.low:.1f}–{100 * excess.high:.1f}]"


def _remarks(report: "Report") -> Iterator[str]:
    """What the table leaves out: full calls, blocks without an answer, fields that differ."""
    for trial in report.trials:
        if trial.carried < trial.size:
            yield f"at {trial.size}, calls were full with {trial.carried} blocks"
    silent = [(each.size, each.compared.unanswered) for each in report.trials]
    if any(count for _, count in silent):
        told = ", ".join(f"{count:,} at {size}" for size, count in silent if count)
        yield f"blocks without an answer, counted as mismatched: {told}"
    fields = _differing(report)
    if fields:
        yield f"fields that differ most: {', '.join(fields)}"
    yield f"the probe cost {dollars(report.cost)}"


def _differing(report: "Report") -> list[str]:
    """Fields by how often they differ in packs, each with how often they do alone."""
    counts: Counter[str] = Counter()
    for trial in report.trials:
        counts.update(trial.compared.by_field)
    asked = report.blocks * len(report.trials)
    return [
        f"{field} {100 * count / asked:.0f} %"
        f" (alone {100 * report.noise.by_field.get(field, 0) / report.blocks:.0f} %)"
        for field, count in counts.most_common(_MOST_FIELDS)
        if count
    ]


def _recommended(report: "Report") -> str:
    tolerance = f"{100 * report.probing.tolerance:g} %"
    if report.size == 1:
        return f"recommended: one block per call; no larger size is cheaper and within {tolerance}"
    said = report.recommended.finding.value
    needed = report.recommended.blocks_to_be_sure
    more = f"; {needed:,} blocks that all agree would show it" if needed else ""
    return f"recommended: {report.size} blocks per call, {said} {tolerance}{more}"
