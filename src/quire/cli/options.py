"""Options that several commands take, and the policy among them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeGuard

import typer

from quire.domain.data import Json
from quire.domain.policy import Policy

LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        help="A file or postgresql://…; by default what quire.toml or QUIRE_LEDGER names.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")]
RunNumber = Annotated[
    int | None,
    typer.Argument(
        metavar="RUN", help="A run's number; the newest by default.", show_default=False
    ),
]
SchemaName = Annotated[
    str,
    typer.Option("--schema", "-s", metavar="NAME", help="A kept schema, or a schema's file."),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="MODEL", help="provider/model.", show_default=False),
]
Only = Annotated[
    str, typer.Option("--only", metavar="all|accepted|failed", help="Which blocks to take.")
]

Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        metavar="NAME",
        help="Ask about this document only, by number, title or file name; may be repeated.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Stop after N blocks; the same command without it goes on.",
        show_default=False,
    ),
]
New = Annotated[bool, typer.Option("--new", metavar="", help="Begin again, from nothing.")]
Detach = Annotated[
    bool,
    typer.Option("--detach", metavar="", help="Only record it; `quire work` carries it out."),
]

_BUILT_IN = Policy()


def _policy(*names: str, metavar: str | None = None, help: str) -> Any:
    return typer.Option(
        *names, metavar=metavar, help=help, rich_help_panel="Policy", show_default=False
    )


PackSize = Annotated[
    str | None,
    _policy(
        "--pack-size",
        metavar="N|probed",
        help="Blocks per call, 1 to 25, or what a probe showed; else the schema decides.",
    ),
]
Packing = Annotated[
    bool | None,
    _policy("--packing/--no-packing", metavar="", help="Several blocks per call, or one."),
]
MaxTries = Annotated[
    int | None,
    _policy(
        "--max-tries",
        metavar="N",
        help=f"Wrong answers before a block fails ({_BUILT_IN.max_tries}).",
    ),
]
MaxCalls = Annotated[
    int | None,
    _policy(
        "--max-calls", metavar="N", help=f"Calls a block may travel in ({_BUILT_IN.max_calls})."
    ),
]
Concurrency = Annotated[
    int | None,
    _policy("--concurrency", metavar="N", help=f"Calls in flight ({_BUILT_IN.concurrency})."),
]
CallTimeout = Annotated[
    float | None,
    _policy(
        "--call-timeout",
        metavar="SECONDS",
        help=f"When a call counts as lost ({_BUILT_IN.call_timeout:g}).",
    ),
]
Temperature = Annotated[
    float | None, _policy("--temperature", metavar="T", help="0 to 2; else the provider decides.")
]
Effort = Annotated[
    str | None,
    _policy("--effort", metavar="WORD", help="How hard a reasoning model thinks: low, high…"),
]
Caching = Annotated[
    bool | None,
    _policy("--caching/--no-caching", metavar="", help="Let the provider keep the prefix."),
]
EstimatedOutput = Annotated[
    int | None,
    _policy(
        "--estimated-output-per-task",
        metavar="TOKENS",
        help=f"The least output to expect of a block ({_BUILT_IN.estimated_output_per_task}).",
    ),
]
LedgerBodies = Annotated[
    str | None,
    _policy("--ledger-bodies", metavar="lean|full", help="Render bodies again, or store them."),
]

_POLICY_NAMES = {
    "pack_size": "pack_size",
    "packing": "packing",
    "max_tries": "max_tries",
    "max_calls": "max_calls",
    "concurrency": "concurrency",
    "call_timeout": "call_timeout",
    "temperature": "temperature",
    "effort": "effort",
    "caching": "caching",
    "estimated_output_per_task": "estimated_output_per_task",
    "ledger_bodies": "ledger",
}


def told_policy(typed: Mapping[str, Json]) -> dict[str, Json]:
    """The policy flags that were given, of everything that was typed."""
    told = {
        name: typed[flag] for flag, name in _POLICY_NAMES.items() if typed.get(flag) is not None
    }
    size = told.get("pack_size")  # a number, or a word; what is neither is refused by its rule
    return told | {"pack_size": int(size)} if _is_number(size) else told


def _is_number(text: Json) -> TypeGuard[str]:
    return isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,9}", text) is not None
