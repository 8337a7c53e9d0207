"""The command that shows, on a sample, how many blocks may share a call."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli import options as of
from quire.cli.live_progress import work_watched
from quire.cli.printing import SIMULATED, model_label, note, print_json, print_table, quantity, say
from quire.cli.session import HELD, INTERRUPTED, SOME_FAILED, engine_for, session
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.pricing import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine import Engine, Excess, ProbeSpend, ShareEstimate
    from quire.engine.probes import ProbePlan, ProbeReport, ProbeTurn


_MAX_FIELDS = 8  # shown of those that differ

Sample = Annotated[int, of.option("N", "Blocks to ask about.", "--sample", min=2)]
Sizes = Annotated[str, of.option("N,N…", "Blocks per call to try, 2 to 50 each.", "--sizes")]
Tolerance = Annotated[
    float, of.option("SHARE", "Of all fields that packing may change.", "--tolerance", min=0, max=1)
]
Seed = Annotated[int, of.option("N", "Another one draws other blocks.", "--seed")]
Yes = Annotated[bool, of.flag("Do not ask before paying.", "--yes", "-y")]


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
    from quire.engine.probes import ProbeSpec, plan_probe

    wanted = ProbeSpec(sample=sample, sizes=_parse_sizes(sizes), tolerance=tolerance, seed=seed)
    with engine_for(context) as engine:
        over = engine.library.resolve_documents(document) if document else None
        planned = plan_probe(engine, wanted, schema=schema, model=model, over=over, **policy)
        _print_forecast(context, engine, planned, yes=yes)
        report = _run_probe(context, engine, planned)
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)


def _run_probe(context: typer.Context, engine: "Engine", planned: "ProbePlan") -> "ProbeReport":
    from quire.engine.probes import run_probe, stop_reason

    try:
        probed = run_probe(engine, planned, _run_driver(context, engine))
    except KeyboardInterrupt:
        note("quire: interrupted; the same command goes on, and pays nothing twice")
        raise typer.Exit(INTERRUPTED) from None
    if probed.report is None:
        assert probed.stopped is not None
        note(f"quire: {stop_reason(probed.stopped)}")
        raise typer.Exit(HELD if probed.stopped.holds else SOME_FAILED)
    return probed.report


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = [name.strip() for name in text.split(",") if name.strip()]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise UsageError(f"--sizes takes whole numbers with commas between them, not {text!r}")
    return tuple(map(int, parts))


def _print_forecast(
    context: typer.Context, engine: "Engine", planned: "ProbePlan", *, yes: bool
) -> None:
    """Say what the probe will cost; on a terminal, ask before real money is spent."""
    from quire.engine.probes import unfinished_turns

    left = unfinished_turns(engine, planned)
    cost = dollars(sum(turn.forecast.cost for turn in left))
    calls = sum(turn.forecast.requests for turn in left)
    facts = planned.order.facts
    if not session(context).quiet:
        blocks = quantity(len(planned.blocks), "block")
        drawn = (
            f"{blocks} of {planned.available:,}, from {quantity(len(planned.inputs), 'document')}"
        )
        rest = (
            f"forecast {quantity(calls, 'call')}, {cost}" if left else "all of it is here already"
        )
        schema = planned.order.recipe.stages[0].record.label
        note(f"probe of {schema} with {model_label(facts.name)}:")
        note(f"  {drawn} · {rest}")
        for size, why in planned.untried_sizes().items():
            note(f"  not tried: {quantity(size, 'block')} per call: {why}")
    paid = left and facts.provider != SIMULATED
    if paid and not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError("without a terminal to ask on, a probe that is paid for needs --yes")
        typer.confirm(f"Pay about {cost} for this probe?", abort=True, err=True)


def _run_driver(
    context: typer.Context, engine: "Engine"
) -> "Callable[[ProbeTurn, RunId], Progress]":
    """Work on the probe's runs, one after the other, each with its live line."""
    from quire.engine import is_at_rest

    quiet = session(context).quiet

    def drive(turn: "ProbeTurn", run: RunId) -> Progress:
        if not quiet:
            once_more = ", once more" if turn.turn > 1 else ""
            per_call = "one block per call" if turn.size == 1 else f"{turn.size} blocks per call"
            note(f"run {run}: {per_call}{once_more}")
        interrupted = work_watched(engine, engine.progress(run), quiet, only=run)
        now = engine.progress(run)
        if interrupted and not is_at_rest(now):
            raise KeyboardInterrupt
        return now

    return drive


def _print_report(report: "ProbeReport") -> None:
    priced = any(spend.cost for spend in (report.alone, *(item.spend for item in report.trials)))
    price = ">$/1,000" if priced else ">tokens"
    columns = (">size", ">calls", ">a call", price, ">mismatched", ">over noise", "*finding")
    print_table(columns, _report_rows(report, priced=priced))
    say()
    say(
        f"size: blocks allowed per call. a call: blocks it carried. {price[1:]}:"
        f" {'dollars' if priced else 'tokens'} a\n"
        "thousand blocks. mismatched: % of fields that differ from the first time alone;\n"
        "again is the model's own noise, over noise what packing adds to it. Brackets\n"
        "hold intervals at 95 %. `--json` has the tokens of each size."
    )
    for line in _remarks(report):
        say(line)
    say(_recommendation(report))
    say(f"next: quire run --schema {report.schema} --model {report.model} --pack-size probed")


def _report_rows(report: "ProbeReport", *, priced: bool) -> Iterator[tuple[object, ...]]:
    yield ("1", *_spending_cells(report.alone, priced=priced), "–", "–", "")
    again = _spending_cells(report.again, priced=priced)
    yield ("again", *again, _rate_cell(report.noise.fields), "–", "")
    for trial in report.trials:
        compared = trial.comparison
        yield (
            str(trial.size),
            *_spending_cells(trial.spend, priced=priced),
            _rate_cell(compared.fields),
            _excess_cell(compared.excess),
            report.verdict(trial).value,
        )


def _spending_cells(spent: "ProbeSpend", *, priced: bool) -> tuple[object, ...]:
    tokens = round(1000 * (spent.input_tokens + spent.output_tokens) / max(spent.blocks, 1))
    price = dollars(round(spent.cost_per_thousand)) if priced else tokens
    return spent.calls, f"{spent.blocks_per_call:.4g}", price


def _rate_cell(rate: "ShareEstimate") -> str:
    return f"{100 * rate.share:.1f} [{100 * rate.low:.1f}–{100 * rate.high:.1f}]"


def _excess_cell(excess: "Excess") -> str:
    return f"{100 * excess.share:+.1f} [{100 * excess.low:.1f}–{100 * excess.high:.1f}]"


def _remarks(report: "ProbeReport") -> Iterator[str]:
    """What the table leaves out: full calls, blocks without an answer, fields that differ."""
    for trial in report.trials:
        if trial.actual_size < trial.size:
            yield f"at {trial.size}, calls were full with {quantity(trial.actual_size, 'block')}"
    silent = [(item.size, item.comparison.unanswered) for item in report.trials]
    if any(count for _, count in silent):
        counts = ", ".join(f"{count:,} at {size}" for size, count in silent if count)
        yield f"blocks without an answer, counted as mismatched: {counts}"
    fields = _differing_fields(report)
    if fields:
        yield f"fields that differ most: {', '.join(fields)}"
    presumed = (
        f" + at most {dollars(report.presumed_cost)} presumed" if report.presumed_cost else ""
    )
    yield f"the probe cost {dollars(report.cost)}{presumed}"


def _differing_fields(report: "ProbeReport") -> list[str]:
    """Fields by how often they differ in packs, each with how often they do alone."""
    counts: Counter[str] = Counter()
    for trial in report.trials:
        counts.update(trial.comparison.by_field)
    total = report.blocks * len(report.trials)
    return [
        f"{field} {100 * count / total:.0f} %"
        f" (alone {100 * report.noise.by_field.get(field, 0) / report.blocks:.0f} %)"
        for field, count in counts.most_common(_MAX_FIELDS)
        if count
    ]


def _recommendation(report: "ProbeReport") -> str:
    tolerance = f"{100 * report.spec.tolerance:g} %"
    if report.size == 1:
        return f"recommended: one block per call; no larger size is cheaper and within {tolerance}"
    said = report.recommended.parity.value
    needed = report.recommended.blocks_to_be_sure
    more = f"; {needed:,} blocks that all agree would show it" if needed else ""
    return f"recommended: {report.size} blocks per call, {said} {tolerance}{more}"
