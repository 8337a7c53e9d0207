"""The command that shows what was spent: by run, stage, model, day, key or outcome, with bars."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli import options as of
from quire.cli.printing import (
    Narrowing,
    clip,
    print_json,
    print_table,
    quantity,
    say,
    short_model_name,
)
from quire.cli.session import engine_and_run, engine_for
from quire.domain.pricing import cost_words, dollars
from quire.domain.spend import SpendBy, SpendOutcome
from quire.engine.json_views.money_views import spend_json

if TYPE_CHECKING:
    from quire.engine import SpendSums
    from quire.engine.spend import SpendView

BAR = 16  # cells of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NARROWING: tuple[Narrowing, ...] = (
    ("attempts", None),
    ("model", short_model_name),
    ("of it cached", None),
    ("reused", None),
    ("stage", lambda name: clip(name, 20)),
    ("key", lambda name: clip(name, 24)),
    ("tokens out", None),
    ("tokens in", None),
    ("model", lambda name: clip(name, 20)),
)
_FORECAST_NARROWING: tuple[Narrowing, ...] = (
    ("model", short_model_name),
    ("low", None),
    ("high", None),
    ("calls", None),
    ("model", None),
    ("out, forecast", None),
    ("tokens out", None),
    ("in, forecast", None),
    ("tokens in", None),
    ("stage", lambda name: clip(name, 20)),
)
_OUTCOME_WORDS = {
    SpendOutcome.ACCEPTED: "all its answers are in the results",
    SpendOutcome.REPAIRED: "the same, asked with the reasons why the last one did not do",
    SpendOutcome.SPLIT: "a pack of which some were asked again",
    SpendOutcome.RETRIED: "did not do, or a critic or a person refused it: asked again",
    SpendOutcome.REFUSED: "the provider or the model declined",
    SpendOutcome.REUSED: "nothing was sent: the answer was there, of this run or an earlier one",
    SpendOutcome.LOST: "nobody knows whether it was carried out; its cost is presumed",
    SpendOutcome.WASTED: "paid, and in no result",
    SpendOutcome.EMBEDDED: "ranked passages of prompts that were too large",
    SpendOutcome.WAITING: "out, not judged yet, or about to be gone on with",
}


def spend(
    context: typer.Context,
    run: Annotated[int | None, of.argument("RUN", "A run's number; all runs by default.")] = None,
    by: Annotated[
        str | None,
        of.option("WHAT", f"{', '.join(SpendBy)}; of one run its stages.", "--by"),
    ] = None,
    forecast: Annotated[
        bool,
        of.flag("Forecast beside actual, by stage; else of the newest run.", "--forecast"),
    ] = False,
    as_json: of.AsJson = False,
) -> None:
    """Show what was spent and what for, and what caching, batches, packing and reuse saved."""
    if forecast:
        _show_forecast(context, run, as_json=as_json)
        return
    with engine_for(context) as engine:
        view = engine.spend.view(by, run)
    if as_json:
        print_json(spend_json(view))
    elif not view.lines:
        say("nothing was sent yet")
    else:
        _print_view(view)


def _show_forecast(context: typer.Context, run: int | None, *, as_json: bool) -> None:
    """Print what each stage of a run was forecast to take when it began, and what it took."""
    with engine_and_run(context, run) as (engine, number):
        rows = engine.spend.compare_forecast(number)
    if as_json:
        print_json({"run": number, "rows": rows})
    elif not rows:
        say(f"no forecast was kept with run {number}; runs that begin now keep theirs")
    else:
        _print_forecast(rows)


def _print_forecast(rows: Sequence[Mapping[str, Any]]) -> None:
    from quire.engine import describe_forecast_error

    columns = (
        *("stage", "model", ">calls", ">in, forecast", ">tokens in", ">out, forecast"),
        *(">tokens out", ">low", ">forecast", ">high", ">spent", ">off"),
    )
    print_table(columns, map(_forecast_cells, rows), narrowing=_FORECAST_NARROWING)
    names = ("low", "forecast_cost", "high", "cost")
    low, cost, high, spent = (sum(row[f"{name}_pico"] for row in rows) for name in names)
    say()
    off = describe_forecast_error(cost, spent)
    say(f"together: {dollars(spent)} ({off}; between {dollars(low)} and {dollars(high)})")


def _forecast_cells(row: Mapping[str, Any]) -> list[object]:
    over = row["percent_over"]
    return [
        row["stage"],
        row["model"],
        row["calls"],
        row["forecast_input_tokens"],
        row["input_tokens"],
        row["forecast_output_tokens"],
        row["output_tokens"],
        *(dollars(row[f"{name}_pico"]) for name in ("low", "forecast_cost", "high", "cost")),
        "–" if over is None else f"{over:+.1f} %",
    ]


def _print_view(view: "SpendView") -> None:
    total = view.total
    names = [name for name in view.lines[0].about if name != "run" or view.run_id is None]
    names = names or ["run"]
    alike = total.simulated in {0, total.cost}
    longest = max(line.sums.cost + line.sums.presumed for line in view.lines)
    rows = [
        {f">{name}" if name == "run" else name: line.about[name] or "–" for name in names}
        | _cells(line.sums, longest, alike=alike)
        for line in view.lines
    ]
    columns = [name for name in rows[0] if any(row[name] != "–" for row in rows) or name in names]
    print_table(columns, ([row[name] for name in columns] for row in rows), narrowing=_NARROWING)
    say()
    say(f"together: {_total_words(total)}{_simulated_note(total)}")
    for line in (*_saving_lines(total), *_outcome_notes(view)):
        say(line)


def _cells(sums: "SpendSums", longest: int, *, alike: bool) -> dict[str, object]:
    """The cells of a line; a column in which nobody has anything is left out.

    Where all is simulated, or nothing (`alike`), the line below says so.
    """
    return {
        ">attempts": sums.attempts,
        ">calls": sums.calls,
        ">tokens in": sums.input_tokens,
        ">of it cached": sums.cached_tokens or "–",
        ">tokens out": sums.output_tokens,
        ">cost": dollars(sums.cost) if alike else cost_words(sums.cost, sums.simulated),
        ">reused": sums.reused or "–",
        ">presumed": f"≤ {dollars(sums.presumed)}" if sums.presumed else "–",
        "share": bar(sums.cost + sums.presumed, longest),
    }


def bar(amount: int, longest: int, cells: int = BAR) -> str:
    """A bar as long as an amount is of the longest, in eighths of a cell."""
    if amount <= 0 or longest <= 0:
        return ""
    eighths = max(1, amount * cells * 8 // longest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _total_words(total: "SpendSums") -> str:
    presumed = f" + at most {dollars(total.presumed)} presumed" if total.presumed else ""
    calls = quantity(total.calls, "call")
    return (
        f"{calls}, {total.input_tokens:,} tokens in, {total.output_tokens:,} out,"
        f" {dollars(total.cost)}{presumed}"
    )


def _simulated_note(total: "SpendSums") -> str:
    if not total.simulated:
        return ""
    if total.simulated == total.cost:
        return " · simulated"
    return f" · {dollars(total.simulated)} of it simulated"


def _saving_lines(total: "SpendSums") -> Iterator[str]:
    """A line each for what caching, batches and packing saved, and against what."""
    if total.cached_tokens or total.written_tokens:
        saved = _saving_words(total.caching_saved)
        tokens = f"{total.cached_tokens:,} tokens read, {total.written_tokens:,} written"
        yield f"caching {saved}: {tokens}, against all input at full price"
    if total.batched_calls:
        saved, calls = _saving_words(total.batches_saved), quantity(total.batched_calls, "call")
        yield f"batches {saved}: {calls}, against the same calls sent direct"
    if total.packing_saved:
        yield (
            f"packing saved about {dollars(total.packing_saved)}: {quantity(total.tasks, 'task')}"
            f" in {quantity(total.calls, 'call')}, against the prefix sent with each of them"
        )
    if total.reused:
        answers = quantity(total.reused, "answer was", "answers were")
        yield f"reuse saved {dollars(total.reuse_saved)}: {answers} there, and nothing was asked"


def _saving_words(amount: int) -> str:
    return f"saved {dollars(amount)}" if amount >= 0 else f"cost {dollars(-amount)} more"


def _outcome_notes(view: "SpendView") -> Iterator[str]:
    if view.by is SpendBy.OUTCOME:
        for line in view.lines:
            outcome = SpendOutcome(str(line.about["outcome"]))
            yield f"{outcome.value}: {_OUTCOME_WORDS[outcome]}"
