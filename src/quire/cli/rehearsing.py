"""Commands that rehearse: a provider's server on this machine that costs nothing."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from quire.cli import options as of
from quire.cli import scenes as at
from quire.cli.opening import opened, session
from quire.cli.options import AsJson
from quire.cli.printing import counted, last_part, note, print_json, print_table, say
from quire.cli.watching import Watcher
from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid
from quire.domain.ids import RunId

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.rehearsal.memory import Scene
    from quire.rehearsal.server import Rehearsal

ANY_KEY = "rehearsal-0000"
_BASES = (
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


@app.callback()
def rehearse() -> None:
    """Rehearse: the vendors' servers on this machine, in front of the simulated model."""


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
    host: at.Host = "127.0.0.1",
    port: at.Port = 8900,
    latency: at.LatencyRule = "",
    batch_latency: at.BatchLatency = "",
    batch_hits: at.BatchHits = 0.9,
    fault: at.FaultRates = None,
    limit: at.LimitRates = "",
    key: at.KeyStandings = None,
    thinking: at.Thinking = 0,
    strict: at.Strict = False,
    seed: at.Seed = 0,
    log: at.LogFile = "",
    as_json: AsJson = False,
) -> None:
    """Serve what OpenAI, Anthropic and Google would, until Ctrl-C; nothing is sent to them."""
    import asyncio  # not for --help

    from quire.providers.catalog import CATALOG
    from quire.rehearsal.memory import Scene

    scene = Scene(
        faults=",".join(fault or ()),
        latency=latency,
        batch_latency=batch_latency,
        batch_hits=batch_hits,
        limit=limit,
        keys=_standings(key or ()),
        models=CATALOG,
        strict=strict,
        thinking=thinking,
        seed=seed,
        log=log,
    )
    quiet = session(context).quiet
    noting = _note_some if key else _note
    told = () if quiet else (noting,) if as_json else (_export, noting)
    _summarise(asyncio.run(_play(scene, host, port, told)), as_json=as_json, quiet=quiet)


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
    sample: at.Sample = None,
    fault: at.FaultRates = None,
    latency: at.LatencyRule = "",
    batch_latency: at.BatchLatency = "",
    batch_hits: at.BatchHits = 0.9,
    limit_profile: at.LimitProfile = "",
    thinking: at.Thinking = 0,
    seed: at.Seed = 0,
    as_json: AsJson = False,
    **policy: Json,
) -> None:
    """Carry your job out before a server on this machine: no key, no cost, nothing kept."""
    from quire.cli.rehearsed import tell_end
    from quire.engine.rehearsing import Part, rehearse

    scene = {"faults": ",".join(fault or ()), "latency": latency, "limit": limit_profile}
    batches = {"batch_latency": batch_latency, "batch_hits": batch_hits}
    with opened(context) as engine:
        part = Part(
            schema=schema,
            model=model,
            documents=engine.look.documents(document) if document else None,
            sample=sample,
            policy=policy,
            scene={**scene, **batches, "thinking": thinking, "seed": seed},
        )
        done = rehearse(engine, part, _driving(quiet=session(context).quiet))
    raise typer.Exit(tell_end(done, as_json=as_json))


def _driving(*, quiet: bool) -> "Callable[[Engine, RunId], bool]":
    """Work until a run is at rest, showing how far it is; true if somebody interrupted."""

    def drive(engine: "Engine", run: RunId) -> bool:
        from quire.pipeline.progress import at_rest

        start = engine.progress(run)
        if not quiet:
            head = engine.look.head(run)
            about = f"{head.schema} over {counted(start.total, 'block')} with {head.model.name}"
            note(f"rehearsing {about}; nothing leaves this machine")
        with Watcher(start, quiet=quiet, batches=lambda: engine.batches(run)) as watcher:

            def done() -> bool:
                now = engine.progress(run)
                watcher(now)
                return at_rest(now)

            return engine.work(done, signals=True, tell=watcher.tell)

    return drive


async def _play(
    scene: "Scene", host: str, port: int, tell: Sequence[Callable[[str], None]]
) -> Mapping[str, Any]:
    """Serve until a signal comes, and return what was seen."""
    import asyncio

    from quire.rehearsal.server import Rehearsal

    rehearsal = Rehearsal(scene)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        url = await _start(rehearsal, host, port)
        for each in tell:
            each(url)
        await stop.wait()
        return rehearsal.stats
    finally:
        await rehearsal.stop()


async def _start(rehearsal: "Rehearsal", host: str, port: int) -> str:
    try:
        return await rehearsal.start(host, port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise SettingsInvalid(
            f"cannot listen on {host}:{port} ({why}); give --host or --port another value"
        ) from None


def _export(url: str) -> None:
    for name, path in _BASES:
        say(f"export {name}={url}{path}")
    for name in _KEYS:
        say(f"export {name}={ANY_KEY}")


def _note(url: str) -> None:
    note(f"rehearsing at {url}; any key will do; Ctrl-C ends it")


def _note_some(url: str) -> None:
    note(f"rehearsing at {url}; only the keys you gave will do; Ctrl-C ends it")


def _summarise(seen: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
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
        print_table(columns, rows, beside=True, narrowing=[("model", last_part)])


def _note_sums(seen: Mapping[str, Any]) -> None:
    from quire.cli.rehearsed import batches_seen, faults_seen

    note(f"{counted(seen['requests'], 'request')}, {seen['most_in_flight']:,} at most in flight")
    if said := batches_seen(seen):
        note(said)
    for name, counts in (("statuses", seen["statuses"]), ("faults", faults_seen(seen))):
        if counts:
            told = ", ".join(f"{what}: {number:,}" for what, number in sorted(counts.items()))
            note(f"{name}: {told}")


def _standings(told: Sequence[str]) -> dict[str, str]:
    standings: dict[str, str] = {}
    for each in told:
        key, sign, standing = each.rpartition("=")
        if not sign or not key:
            raise SettingsInvalid(
                f"the key …{each[-4:]} says nothing; write KEY=valid, KEY=invalid or KEY=spent"
            )
        standings[key] = standing
    return standings
