"""Commands that rehearse: a provider's server on this machine that costs nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli import options as of
from quire.cli import order_options
from quire.cli.live_progress import work_watched
from quire.cli.options import AsJson
from quire.cli.printing import (
    Cell,
    Narrowing,
    clip,
    note,
    print_json,
    print_table,
    quantity,
    say,
    short_model_name,
    shorter,
)
from quire.cli.progress_words import direct_reason
from quire.cli.run_summary import exit_code, mean_pack_words
from quire.cli.session import engine_for, session
from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid
from quire.domain.ids import RunId
from quire.domain.pricing import dollars, to_usd
from quire.domain.states import CredentialState
from quire.engine.json_views.run_views import mean_pack

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.engine.rehearsals import RehearsalResult

Host = Annotated[str, of.option("HOST", "Where to listen.")]
Latency = Annotated[
    str, of.option("TIME", "How long an answer takes: 0.05, 2s, uniform:1s-3s, lognormal:2s.")
]
BatchLatency = Annotated[
    str, of.option("TIME", "How long a batch takes, in the same forms; 1s unless told.")
]
BatchHits = Annotated[
    float,
    of.option(
        "SHARE", "Of the rows of batches, how many find a prefix that is kept.", min=0.0, max=1.0
    ),
]
FaultRates = Annotated[
    list[str] | None, of.option("NAME=RATE", "What goes wrong; may be repeated.")
]
LimitRates = Annotated[
    str,
    of.option(
        "KIND=N,…", "Limits a minute for each key and model: requests, input, output, total."
    ),
]
KeyStates = Annotated[
    list[str] | None,
    of.option(
        "KEY=valid|invalid|spent",
        "How a key stands; by default every key is valid. May be repeated.",
    ),
]
Thinking = Annotated[int, of.option("TOKENS", "Reasoning billed with every answer.", min=0)]
Strict = Annotated[bool, of.flag("Refuse models that the catalog lacks.", "--strict")]
Seed = Annotated[int, of.option("N", "Of chance.", min=0)]
LogFile = Annotated[str, of.option("FILE", "Write a line of JSON for every request.")]
Sample = Annotated[
    int | None, of.option("N", "Rehearse N blocks, spread over all documents.", min=1)
]
LimitProfile = Annotated[
    str,
    of.option(
        "KIND=N,…",
        "Limits a minute: requests, input, output, total; or `model`: what is known of it.",
    ),
]


MAX_CAUSES = 5  # of failures, told to people
_NARROWING: tuple[Narrowing, ...] = (("", shorter), ("written", None), ("of it cached", None))
ANY_KEY = "rehearsal-0000"
_BASE_URLS = (
    ("OPENAI_BASE_URL", "/v1"),
    ("ANTHROPIC_BASE_URL", ""),
    ("GOOGLE_GEMINI_BASE_URL", ""),
)
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")

app = typer.Typer(
    help="Rehearse: the vendors' servers on this machine, in front of the simulated model.",
    epilog="Example: quire rehearse serve --latency lognormal:2s --fault 429=0.02",
    no_args_is_help=True,
)


@app.command(
    epilog="Example: quire rehearse serve --latency 0.05 --fault 429=0.02 --fault drop=0.001"
    " --limit requests=600,input=200000\n\n"
    "Faults: 400 413 429 500 503 529 key spend drop hang slow garbage empty malformed truncate"
    " refuse skip duplicate conflict wrong stranger missing_marker two_markers bold bullets"
    " out_of_range comma_decimal abstain_remark no_reasoning stage_number garbled_id; each as"
    " NAME=RATE, or NAME@WORD to strike wherever a block contains WORD.\n\n"
    "Of batches: batch_drop batch_500 batch_full batch_stuck batch_expire batch_cancel batch_errors"
    " batch_shuffle batch_duplicate batch_missing batch_404 batch_truncate; each as NAME=RATE, or"
    " NAME@N for the first N. What was seen: GET /_rehearsal/stats, /_rehearsal/batches,"
    " /_rehearsal/log."
)
def serve(
    context: typer.Context,
    *,
    host: Host = "127.0.0.1",
    port: of.Port = 8900,
    latency: Latency = "",
    batch_latency: BatchLatency = "",
    batch_hits: BatchHits = 0.9,
    fault: FaultRates = None,
    limit: LimitRates = "",
    key: KeyStates = None,
    thinking: Thinking = 0,
    strict: Strict = False,
    seed: Seed = 0,
    log: LogFile = "",
    as_json: AsJson = False,
) -> None:
    """Serve what OpenAI, Anthropic and Google would, until Ctrl-C; nothing is sent to them."""
    from quire.engine.local_servers import serve_rehearsal

    keys = _parse_key_states(key or ())
    config = {
        "faults": ",".join(fault or ()),
        "latency": latency,
        "batch_latency": batch_latency,
        "batch_hits": batch_hits,
        "limit": limit,
        "keys": keys,
        "strict": strict,
        "thinking": thinking,
        "seed": seed,
        "log": log,
    }
    quiet = session(context).quiet

    def announce(url: str) -> None:
        if not quiet:
            _print_address(url, keys, exports=not as_json)

    _print_seen(serve_rehearsal(config, host, port, announce), as_json=as_json, quiet=quiet)


@app.command(
    epilog="Example: quire rehearse run --schema clauses --model openai/gpt-5.6-luna --sample 500"
    " --fault 429=0.02 --latency lognormal:2s --limit-profile requests=500,input=200000\n\n"
    "Faults are those of `quire rehearse serve`. Exit codes are those of `quire run`."
)
@of.takes_policy(without=("ledger",))
def run(
    context: typer.Context,
    *,
    schema: of.SchemaName,
    model: of.ModelName = None,
    document: of.Documents = None,
    per: order_options.Per = None,
    sample: Sample = None,
    fault: FaultRates = None,
    latency: Latency = "",
    batch_latency: BatchLatency = "",
    batch_hits: BatchHits = 0.9,
    limit_profile: LimitProfile = "",
    thinking: Thinking = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
    **policy: Json,
) -> None:
    """Carry your job out before a server on this machine: no key, no cost, nothing kept."""
    from quire.engine.rehearsals import RehearsalSpec, rehearse

    server = {"faults": ",".join(fault or ()), "latency": latency, "limit": limit_profile}
    batches = {"batch_latency": batch_latency, "batch_hits": batch_hits}
    with engine_for(context) as engine:
        part = RehearsalSpec(
            schema=schema,
            model=model,
            documents=engine.library.resolve_documents(document) if document else None,
            sample=sample,
            per=per,
            policy=policy,
            server_config={**server, **batches, "thinking": thinking, "seed": seed},
        )
        is_done = rehearse(engine, part, _run_driver(quiet=session(context).quiet))
    raise typer.Exit(_print_rehearsal(is_done, as_json=as_json))


def _run_driver(*, quiet: bool) -> "Callable[[Engine, RunId], bool]":
    """Work until a run is at rest, showing how far it is; true if somebody interrupted."""

    def drive(engine: "Engine", run: RunId) -> bool:
        start = engine.progress(run)
        if not quiet:
            head = engine.queries.head(run)
            about = f"{head.name} over {quantity(start.total, start.noun)} with {head.model.name}"
            note(f"rehearsing {about}; nothing leaves this machine")
        return work_watched(engine, start, quiet, only=start.run_id)

    return drive


def _print_address(url: str, keys: Mapping[str, str], *, exports: bool) -> None:
    if exports:
        for name, path in _BASE_URLS:
            say(f"export {name}={url}{path}")
        for name in _KEYS:
            say(f"export {name}={_key_to_export(keys)}")
    which = "only the keys you gave" if keys else "any key"
    note(f"rehearsing at {url}; {which} will do; Ctrl-C ends it")


def _key_to_export(keys: Mapping[str, str]) -> str:
    """A key that is accepted, if there is one: of those given, where some were."""
    valid = [key for key, state in keys.items() if state == CredentialState.VALID]
    return next(iter([*valid, *keys]), ANY_KEY)


def _print_seen(seen: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """Print what was seen: all of it, or what every model did and what came back."""
    if as_json:
        print_json(seen)
    elif not quiet:
        _print_models(seen["models"])
        _note_sums(seen)


def _print_models(models: Mapping[str, Any]) -> None:
    rows = [
        (
            name,
            model["requests"],
            model["answered"],
            model["blocks"],
            model["tokens"]["input"],
            model["tokens"]["cached"],
            model["tokens"]["written_short"] + model["tokens"]["written_long"],
            model["tokens"]["output"],
        )
        for name, model in models.items()
    ]
    if rows:
        columns = (
            "*model",
            ">requests",
            ">answered",
            ">blocks",
            ">in",
            ">read",
            ">written",
            ">out",
        )
        print_table(columns, rows, to_stderr=True, narrowing=[("model", short_model_name)])


def _note_sums(seen: Mapping[str, Any]) -> None:
    note(f"{quantity(seen['requests'], 'request')}, {seen['most_in_flight']:,} at most in flight")
    if said := _batch_summary(seen):
        note(said)
    for name, counts in (("statuses", seen["statuses"]), ("faults", _fault_counts(seen))):
        if counts:
            note(f"{name}: {_list_counts(counts)}")


def _parse_key_states(typed: Sequence[str]) -> dict[str, str]:
    states: dict[str, str] = {}
    for name in typed:
        key, sign, state = name.rpartition("=")
        if not sign or not key:
            raise SettingsInvalid(
                f"the key …{name[-4:]} says nothing; write KEY=valid, KEY=invalid or KEY=spent"
            )
        states[key] = state
    return states


def _print_rehearsal(done: "RehearsalResult", *, as_json: bool) -> int:
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
            "billed_usd": to_usd(done.billed),
            "cost_usd": now.cost_usd,
            "presumed_usd": now.presumed_usd,
            "all_blocks_usd": to_usd(done.projected_cost),
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
        "cost_usd": expected.cost_usd,
    }


def _print_rehearsal_lines(done: "RehearsalResult") -> None:
    """Print what came of it beside what was forecast, and what went wrong on the way."""
    now = done.progress
    part = f" of {done.all_blocks:,}" if now.total < done.all_blocks else ""
    say(f"rehearsed {quantity(now.total, now.noun)}{part} · {done.schema} · {done.model}")
    say()
    _print_comparison(done)
    say()
    say(_summary(done))
    for line in (*_billing_notes(done), *_server_notes(done)):
        say(line)
    for failure in done.failures[:MAX_CAUSES]:
        say(f"failed: {quantity(len(failure.failures), now.noun)}: {clip(failure.cause, 120)}")
    if now.total < done.all_blocks and done.projected_cost:
        whole = f"all of it, {quantity(done.all_blocks, 'block')}"
        say(f"{whole}, would cost about {dollars(done.projected_cost)}")
    for hold in now.holds:
        note(f"quire: the run would be held ({hold.kind.value}): {hold.detail}")


def _billing_notes(done: "RehearsalResult") -> Iterator[str]:
    """What the ledger says, where that is not what was billed."""
    now = done.progress
    presumed = f" + at most {dollars(now.presumed_pico)} presumed" if now.presumed_pico else ""
    if done.billed != now.cost_pico or presumed:
        lost = done.billed != now.cost_pico
        why = ": the difference is answers that got lost" if lost else ""
        ours = f"{dollars(now.cost_pico)}{presumed}{why}"
        yield f"billed {dollars(done.billed)}; the ledger says {ours}"


def _server_notes(done: "RehearsalResult") -> Iterator[str]:
    """What the server saw beside calls that went well."""
    if said := _batch_summary(done.server_stats) or direct_reason(done.head, done.progress):
        yield said
    if said := _list_counts(_fault_counts(done.server_stats)):
        yield f"faults: {said}"
    if list(done.server_stats["statuses"]) != ["200"]:
        yield f"statuses: {_list_counts(done.server_stats['statuses'])}"


def _batch_summary(seen: Mapping[str, Any]) -> str:
    """The batches that a server was given, and how they ended."""
    batches = seen["batches"]
    if not batches["created"]:
        return ""
    made = quantity(batches["created"], "batch", "batches")
    ends = _list_counts(batches["ends"])
    return f"{made} of {quantity(batches['rows'], 'call')} in all" + (f"; {ends}" if ends else "")


def _fault_counts(seen: Mapping[str, Any]) -> dict[str, int]:
    """The faults that struck: calls, and whole batches."""
    counts: dict[str, int] = dict(seen["faults"])
    for name, number in seen["batches"]["faults"].items():
        counts[name] = max(number, counts.get(name, 0))
    return counts


def _list_counts(counts: Mapping[str, int]) -> str:
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
