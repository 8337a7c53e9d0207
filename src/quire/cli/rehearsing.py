"""Commands that rehearse: a provider's server on this machine that costs nothing."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli.opening import session
from quire.cli.options import AsJson
from quire.cli.printing import counted, note, print_json, print_table, say
from quire.domain.errors import SettingsInvalid

if TYPE_CHECKING:
    from quire.rehearsal.memory import Scene
    from quire.rehearsal.server import Rehearsal

ANY_KEY = "rehearsal-0000"
_BASES = (
    ("OPENAI_BASE_URL", "/v1"),
    ("ANTHROPIC_BASE_URL", ""),
    ("GOOGLE_GEMINI_BASE_URL", ""),
)
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")

Host = Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")]
Port = Annotated[
    int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any that is free.")
]
LatencyRule = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How long an answer takes: 0.05, 2s, uniform:1s-3s, lognormal:2s.",
        show_default=False,
    ),
]
FaultRates = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=RATE", help="What goes wrong; may be repeated.", show_default=False),
]
LimitRates = Annotated[
    str,
    typer.Option(
        metavar="KIND=N,…",
        help="Limits a minute for each key and model: requests, input, output, total.",
        show_default=False,
    ),
]
KeyStandings = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=valid|invalid|spent",
        help="How a key stands; by default every key is valid. May be repeated.",
        show_default=False,
    ),
]
Thinking = Annotated[
    int, typer.Option(metavar="TOKENS", min=0, help="Reasoning billed with every answer.")
]
Strict = Annotated[
    bool, typer.Option("--strict", metavar="", help="Refuse models that the catalog lacks.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Of chance.")]
LogFile = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="Write a line of JSON for every request.", show_default=False
    ),
]

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
    " refuse skip duplicate conflict wrong stranger; each as NAME=RATE, or NAME@WORD to strike"
    " wherever a block contains WORD. What was seen: GET /_rehearsal/stats, /_rehearsal/log."
)
def serve(
    context: typer.Context,
    *,
    host: Host = "127.0.0.1",
    port: Port = 8900,
    latency: LatencyRule = "",
    fault: FaultRates = None,
    limit: LimitRates = "",
    key: KeyStandings = None,
    thinking: Thinking = 0,
    strict: Strict = False,
    seed: Seed = 0,
    log: LogFile = "",
    as_json: AsJson = False,
) -> None:
    """Serve what OpenAI, Anthropic and Google would, until Ctrl-C; nothing is sent to them."""
    import asyncio  # not for --help

    from quire.providers.catalog import CATALOG
    from quire.rehearsal.memory import Scene

    scene = Scene(
        faults=",".join(fault or ()),
        latency=latency,
        limit=limit,
        keys=_standings(key or ()),
        models=CATALOG,
        strict=strict,
        thinking=thinking,
        seed=seed,
        log=log,
    )
    quiet = session(context).quiet
    told = () if quiet else (_note,) if as_json else (_export, _note)
    seen = asyncio.run(_play(scene, host, port, told))
    if as_json:
        print_json(seen)
    elif not quiet:
        _summarise(seen)


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


def _summarise(seen: Mapping[str, Any]) -> None:
    """Print what every model did, and what came back."""
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
        for name, model in seen["models"].items()
    ]
    if rows:
        print_table(
            ("*model", ">requests", ">answered", ">blocks", ">in", ">read", ">written", ">out"),
            rows,
        )
    say(f"{counted(seen['requests'], 'request')}, {seen['most_in_flight']:,} at most in flight")
    for name in ("statuses", "faults"):
        if seen[name]:
            told = ", ".join(f"{what}: {number:,}" for what, number in sorted(seen[name].items()))
            say(f"{name}: {told}")


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
