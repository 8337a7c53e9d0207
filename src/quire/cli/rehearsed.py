"""What a rehearsed job came to: for people a table and a few lines, for programs one object."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from quire.cli.describing import blocks_each, mean_pack
from quire.cli.ending import exit_code
from quire.cli.printing import Narrowing, clipped, counted, note, print_json, print_table, say
from quire.domain.money import dollars

if TYPE_CHECKING:
    from quire.engine.rehearsing import Rehearsed

CAUSES = 5  # of failures, told to people
_GIVE_WAY: tuple[Narrowing, ...] = (
    ("", lambda name: name.partition(" (")[0]),
    ("written", None),
    ("of it cached", None),
)


def tell_end(done: "Rehearsed", *, as_json: bool) -> int:
    """Print what came of it; returns the exit code that a run would have."""
    code = exit_code(done.progress, interrupted=done.interrupted)
    if as_json:
        _tell_json(done, code)
    else:
        _tell(done)
    return code


def _tell_json(done: "Rehearsed", code: int) -> None:
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
            "tokens": _tokens(done),
            "billed_micro_dollars": done.billed,
            "cost_micro_dollars": now.cost,
            "presumed_micro_dollars": now.presumed,
            "all_blocks_micro_dollars": done.whole,
            "forecast": _forecast(done),
            "failures": [
                {"cause": each.cause, "blocks": len(each.failures)} for each in done.failures
            ],
            "holds": [{"kind": hold.kind.value, "detail": hold.detail} for hold in now.holds],
            "server": done.seen,
            "interrupted": done.interrupted,
            "exit_code": code,
        }
    )


def _tokens(done: "Rehearsed") -> dict[str, int]:
    usage = done.usage
    return {
        "input": usage.input_total,
        "cached": usage.cached,
        "written": usage.written_short + usage.written_long,
        "output": usage.output,
        "reasoning": usage.reasoning,
    }


def _forecast(done: "Rehearsed") -> dict[str, object]:
    expected = done.forecast.expected
    return {
        "variant": expected.name,
        "calls": expected.requests,
        "input_tokens": expected.input_tokens,
        "cached_tokens": expected.cached_tokens,
        "output_tokens": expected.output_tokens,
        "cost_micro_dollars": expected.cost,
    }


def _tell(done: "Rehearsed") -> None:
    """Print what came of it beside what was forecast, and what went wrong on the way."""
    now = done.progress
    part = f" of {done.all_blocks:,}" if now.total < done.all_blocks else ""
    say(f"rehearsed {counted(now.total, 'block')}{part} · {done.schema} · {done.model}")
    say()
    _print_comparison(done)
    say()
    say(_summary(done))
    for line in (*_money(done), *_server(done)):
        say(line)
    for each in done.failures[:CAUSES]:
        say(f"failed: {counted(len(each.failures), 'block')}: {clipped(each.cause, 120)}")
    if now.total < done.all_blocks and done.whole:
        say(f"all {done.all_blocks:,} blocks would cost about {dollars(done.whole)}")
    for hold in now.holds:
        note(f"quire: the run would be held ({hold.kind.value}): {hold.detail}")


def _money(done: "Rehearsed") -> Iterator[str]:
    """What the ledger says, where that is not what was billed."""
    now = done.progress
    presumed = f" + at most {dollars(now.presumed)} presumed" if now.presumed else ""
    if done.billed != now.cost or presumed:
        lost = done.billed != now.cost
        why = ": the difference is answers that got lost" if lost else ""
        yield f"billed {dollars(done.billed)}; the ledger says {dollars(now.cost)}{presumed}{why}"


def _server(done: "Rehearsed") -> Iterator[str]:
    """What the server saw beside calls that went well."""
    if said := batches_seen(done.seen):
        yield said
    if said := _listed(faults_seen(done.seen)):
        yield f"faults: {said}"
    if list(done.seen["statuses"]) != ["200"]:
        yield f"statuses: {_listed(done.seen['statuses'])}"


def batches_seen(seen: Mapping[str, Any]) -> str:
    """The batches that a server was given, and how they ended."""
    batches = seen["batches"]
    if not batches["created"]:
        return ""
    made = counted(batches["created"], "batch", "batches")
    ends = _listed(batches["ends"])
    return f"{made} of {counted(batches['rows'], 'call')} in all" + (f"; {ends}" if ends else "")


def faults_seen(seen: Mapping[str, Any]) -> dict[str, int]:
    """The faults that struck: calls, and whole batches."""
    told: dict[str, int] = dict(seen["faults"])
    for name, number in seen["batches"]["faults"].items():
        told[name] = max(number, told.get(name, 0))
    return told


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{what}: {number:,}" for what, number in sorted(counts.items()))


def _print_comparison(done: "Rehearsed") -> None:
    usage, forecast = done.usage, done.forecast.expected
    rows = (
        (
            f"forecast ({forecast.name})",
            forecast.requests,
            forecast.input_tokens,
            forecast.cached_tokens,
            None,
            forecast.output_tokens,
            dollars(forecast.cost),
        ),
        (
            "rehearsed",
            done.progress.calls,
            usage.input_total,
            usage.cached,
            usage.written_short + usage.written_long,
            usage.output,
            dollars(done.billed),
        ),
    )
    columns = (">calls", ">tokens in", ">of it cached", ">written", ">tokens out", ">cost")
    print_table(("", *columns), rows, narrowing=_GIVE_WAY)


def _summary(done: "Rehearsed") -> str:
    now = done.progress
    parts = [
        f"{now.done:,} done, {now.failed:,} failed",
        f"{done.seconds:,.1f} s",
        f"{blocks_each(now)} per call",
        f"{now.resent:,} sent again",
        counted(now.splits, "split"),
    ]
    return " · ".join(parts)
