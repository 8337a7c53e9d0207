"""What a rehearsed job came to: for people a table and a few lines, for programs one object."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from quire.cli.printing import (
    Cell,
    Narrowing,
    clip,
    note,
    print_json,
    print_table,
    quantity,
    say,
    shorter,
)
from quire.cli.run_summary import exit_code, mean_pack, mean_pack_words
from quire.domain.pricing import dollars

if TYPE_CHECKING:
    from quire.engine.rehearsals import RehearsalResult


MAX_CAUSES = 5  # of failures, told to people
_NARROWING: tuple[Narrowing, ...] = (("", shorter), ("written", None), ("of it cached", None))


def print_rehearsal(done: "RehearsalResult", *, as_json: bool) -> int:
    """Print what came of it; returns the exit code that a run would have."""
    code = exit_code(done.progress, interrupted=done.interrupted)
    if as_json:
        _print_rehearsal_json(done, code)
    else:
        _print_rehearsal_lines(done)
    return code


def _print_rehearsal_json(done: "RehearsalResult", code: int) -> None:
    """Print one object."""
    now = done.progress
    print_json(
        {
            "model": done.model,
            "schema": done.schema,
            "blocks": now.total,
            "all_blocks": done.all_blocks,
            "done": now.done,
            "failed": now.failed,
            "seconds": round(done.seconds, 3),
            "calls": now.calls,
            "blocks_per_call": mean_pack(now),
            "resent": now.resent,
            "splits": now.splits,
            "tokens": _token_counts(done),
            "billed_micro_dollars": done.billed,
            "cost_micro_dollars": now.cost,
            "presumed_micro_dollars": now.presumed,
            "all_blocks_micro_dollars": done.projected_cost,
            "forecast": _forecast_json(done),
            "failures": [
                {"cause": failure.cause, "blocks": len(failure.failures)}
                for failure in done.failures
            ],
            "holds": [{"kind": hold.kind.value, "detail": hold.detail} for hold in now.holds],
            "server": done.server_stats,
            "interrupted": done.interrupted,
            "exit_code": code,
        }
    )


def _token_counts(done: "RehearsalResult") -> dict[str, int]:
    usage = done.usage
    return {
        "input": usage.input_total,
        "cached": usage.cached,
        "written": usage.written_short + usage.written_long,
        "output": usage.output,
        "reasoning": usage.reasoning,
    }


def _forecast_json(done: "RehearsalResult") -> dict[str, object]:
    expected = done.forecast.expected
    return {
        "variant": expected.name,
        "calls": expected.requests,
        "input_tokens": expected.input_tokens,
        "cached_tokens": expected.cached_tokens,
        "output_tokens": expected.output_tokens,
        "cost_micro_dollars": expected.cost,
    }


def _print_rehearsal_lines(done: "RehearsalResult") -> None:
    """Print what came of it beside what was forecast, and what went wrong on the way."""
    now = done.progress
    part = f" of {done.all_blocks:,}" if now.total < done.all_blocks else ""
    say(f"rehearsed {quantity(now.total, 'block')}{part} · {done.schema} · {done.model}")
    say()
    _print_comparison(done)
    say()
    say(_summary(done))
    for line in (*_billing_notes(done), *_server_notes(done)):
        say(line)
    for failure in done.failures[:MAX_CAUSES]:
        say(f"failed: {quantity(len(failure.failures), 'block')}: {clip(failure.cause, 120)}")
    if now.total < done.all_blocks and done.projected_cost:
        say(f"all {done.all_blocks:,} blocks would cost about {dollars(done.projected_cost)}")
    for hold in now.holds:
        note(f"quire: the run would be held ({hold.kind.value}): {hold.detail}")


def _billing_notes(done: "RehearsalResult") -> Iterator[str]:
    """What the ledger says, where that is not what was billed."""
    now = done.progress
    presumed = f" + at most {dollars(now.presumed)} presumed" if now.presumed else ""
    if done.billed != now.cost or presumed:
        lost = done.billed != now.cost
        why = ": the difference is answers that got lost" if lost else ""
        yield f"billed {dollars(done.billed)}; the ledger says {dollars(now.cost)}{presumed}{why}"


def _server_notes(done: "RehearsalResult") -> Iterator[str]:
    """What the server saw beside calls that went well."""
    if said := batch_summary(done.server_stats):
        yield said
    if said := list_counts(fault_counts(done.server_stats)):
        yield f"faults: {said}"
    if list(done.server_stats["statuses"]) != ["200"]:
        yield f"statuses: {list_counts(done.server_stats['statuses'])}"


def batch_summary(seen: Mapping[str, Any]) -> str:
    """The batches that a server was given, and how they ended."""
    batches = seen["batches"]
    if not batches["created"]:
        return ""
    made = quantity(batches["created"], "batch", "batches")
    ends = list_counts(batches["ends"])
    return f"{made} of {quantity(batches['rows'], 'call')} in all" + (f"; {ends}" if ends else "")


def fault_counts(seen: Mapping[str, Any]) -> dict[str, int]:
    """The faults that struck: calls, and whole batches."""
    counts: dict[str, int] = dict(seen["faults"])
    for name, number in seen["batches"]["faults"].items():
        counts[name] = max(number, counts.get(name, 0))
    return counts


def list_counts(counts: Mapping[str, int]) -> str:
    """Numbers of things, each with its name, by name."""
    return ", ".join(f"{what}: {number:,}" for what, number in sorted(counts.items()))


def _print_comparison(done: "RehearsalResult") -> None:
    usage, forecast = done.usage, done.forecast.expected
    rows = (
        (
            Cell(f"forecast ({forecast.name})", "forecast"),
            forecast.requests,
            forecast.input_tokens,
            forecast.cached_tokens,
            None,
            forecast.output_tokens,
            dollars(forecast.cost),
        ),
        (
            Cell("rehearsed", "rehearsed"),
            done.progress.calls,
            usage.input_total,
            usage.cached,
            usage.written_short + usage.written_long,
            usage.output,
            dollars(done.billed),
        ),
    )
    columns = (">calls", ">tokens in", ">of it cached", ">written", ">tokens out", ">cost")
    print_table(("", *columns), rows, narrowing=_NARROWING)


def _summary(done: "RehearsalResult") -> str:
    now = done.progress
    parts = [
        f"{now.done:,} done, {now.failed:,} failed",
        f"{done.seconds:,.1f} s",
        f"{mean_pack_words(now)} per call",
        f"{now.resent:,} sent again",
        quantity(now.splits, "split"),
    ]
    return " · ".join(parts)
