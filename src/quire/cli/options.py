"""Options that several commands take, and the policy among them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from quire.domain.data import Json
from quire.domain.policy import Policy


def option(metavar: str, help: str, *flags: str, **bounds: Any) -> Any:
    """An option that takes a value; without flags it is called like its parameter."""
    return typer.Option(*flags, metavar=metavar, help=help, **bounds)


def flag(help: str, *flags: str) -> Any:
    """An option that is there or not."""
    return typer.Option(*flags, metavar="", help=help)


def argument(metavar: str, help: str) -> Any:
    """What is typed without a flag."""
    return typer.Argument(metavar=metavar, help=help)


LedgerUrl = Annotated[
    str | None,
    option(
        "URL",
        "A file or postgresql://…; by default what quire.toml or QUIRE_LEDGER names.",
        "--ledger",
    ),
]
Every = Annotated[bool, flag("All of them.", "--all")]
AsJson = Annotated[bool, flag("Print JSON.", "--json")]
Port = Annotated[int, option("PORT", "0 takes any that is free.", min=0, max=65535)]
OnlyStage = Annotated[str | None, option("NAME", "Only this stage.", "--stage")]
RunNumber = Annotated[int | None, argument("RUN", "A run's number; the newest by default.")]
SchemaName = Annotated[str, option("NAME", "A kept schema, or a schema's file.", "--schema", "-s")]
ModelName = Annotated[str | None, option("MODEL", "provider/model.", "--model", "-m")]
Only = Annotated[
    str,
    option(
        "STATUS",
        "Take only rows that stand so: accepted (confirmed ones too), confirmed, failed, pending,"
        " proposed, blocked or cancelled.",
        "--only",
    ),
]
Since = Annotated[
    str | None,
    option("MOMENT", "Take only what changed since, such as 2026-11-18T09:30 (UTC).", "--since"),
]

Documents = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Ask about this document only, by number, title, path or file name, or about those of a"
        " folder or quoted glob; may be repeated.",
        "--document",
    ),
]
Limit = Annotated[
    int | None,
    option(
        "N",
        "Stop after N blocks (of a recipe: N tasks of its first stages); the same command"
        " without it goes on.",
        min=1,
    ),
]
New = Annotated[bool, flag("Begin another run; with --no-reuse it asks everything again.", "--new")]
MaxCost = Annotated[
    float | None,
    option("DOLLARS", "Refuse to start what may cost more, by its forecast.", "--max-cost", min=0),
]
Detach = Annotated[bool, flag("Only record it; `quire work` carries it out.", "--detach")]

Command = Callable[..., None]

_BUILT_IN = Policy()
_KEYWORD, _KEYWORDS = Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD


# What sets each part of a policy: its type, what to type, what it says.
POLICY_OPTIONS: Mapping[str, tuple[type, str, str]] = {
    "pack_size": (
        str,
        "N|probed",
        "Blocks per call, 1 to 25, or what a probe showed; else the schema decides.",
    ),
    "packing": (bool, "", "Several blocks per call, or one."),
    "reuse_answers": (bool, "", "Ask again what was answered before; else that costs nothing."),
    "max_tries": (int, "N", f"Wrong answers before a block fails ({_BUILT_IN.max_tries})."),
    "max_calls": (int, "N", f"Calls a block may travel in ({_BUILT_IN.max_calls})."),
    "max_continuations": (
        int,
        "N",
        f"Calls that go on with one unfinished answer; 0: none ({_BUILT_IN.max_continuations}).",
    ),
    "lenient": (bool, "", "Read lossless slips of form; else where no schema binds answers."),
    "repair_after_failures": (
        int,
        "N",
        "Wrong answers before a block is asked with the reasons; 0: never"
        f" ({_BUILT_IN.repair_after_failures}).",
    ),
    "hold_failed_percent": (
        int,
        "PERCENT",
        f"Hold the run if more of the last tasks fail ({_BUILT_IN.hold_failed_percent}).",
    ),
    "hold_cost_percent": (
        int,
        "PERCENT",
        "Hold the run if the last answers cost more of their forecast"
        f" ({_BUILT_IN.hold_cost_percent}).",
    ),
    "completion_mode": (
        str,
        "MODE",
        "exact: a failure holds the run; best_effort: the rest goes on; throughput: nobody"
        f" waits for a whole stage ({_BUILT_IN.completion_mode}).",
    ),
    "review": (
        str,
        "MODE",
        "required: exports hold only what a person confirmed; optional: what was accepted too"
        f" ({_BUILT_IN.review}).",
    ),
    "concurrency": (int, "N", f"Calls in flight ({_BUILT_IN.concurrency})."),
    "call_timeout": (float, "SECONDS", f"When a call counts as lost ({_BUILT_IN.call_timeout:g})."),
    "temperature": (float, "T", "0 to 2; else the provider decides."),
    "effort": (str, "WORD", "How hard a reasoning model thinks: low, high…"),
    "caching": (bool, "", "Let the provider keep the prefix."),
    "route": (
        str,
        "ROUTE",
        "direct; batch: within hours, for less; auto: as suits best; paced: steadily"
        f" ({_BUILT_IN.route}).",
    ),
    "deadline": (str, "TIME", "2h, 30m… after the start; then all that is owed goes direct."),
    "min_batch_size": (int, "N", f"Fewer calls than that go direct ({_BUILT_IN.min_batch_size})."),
    "limits": (str, "NAME", "The limit profile to keep to: see `quire limits` (default)."),
    "batch_wait": (
        float,
        "SECONDS",
        f"How long a batch waits for more calls ({_BUILT_IN.batch_wait:g}).",
    ),
    "estimated_output_per_task": (
        int,
        "TOKENS",
        f"The least output to expect of a block ({_BUILT_IN.estimated_output_per_task}).",
    ),
    "embedder": (
        str,
        "WHO",
        "Who ranks passages of prompts that are too large: auto, local, words, or a model of"
        f" embeddings ({_BUILT_IN.embedder}).",
    ),
    "ledger": (str, "lean|full", "Render bodies again, or store them."),
}
_OTHER_FLAGS = {"ledger": "ledger_bodies"}  # --ledger says where the ledger is
_ONLY_FLAGS = {"reuse_answers": " /--no-reuse"}  # --reuse names a run
_NUMBERS_OR_WORDS = ("pack_size", "deadline")


def takes_policy(*names: str, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command the options of a policy, all or some; it gets as `**policy` those typed."""
    offered = [name for name in names or POLICY_OPTIONS if name not in without]

    def add_options(command: Command) -> Command:
        own = [
            parameter
            for parameter in signature(command).parameters.values()
            if parameter.kind != _KEYWORDS
        ]
        given = [
            Parameter(name, _KEYWORD, default=None, annotation=_policy_option(name))
            for name in offered
        ]

        @wraps(command)
        def with_policy(**arguments: Any) -> None:
            values = {name: arguments.pop(name, None) for name in offered}
            command(**arguments, **_typed_policy(values))

        vars(with_policy)["__signature__"] = Signature([*own, *given])
        with_policy.__annotations__ = {
            parameter.name: parameter.annotation for parameter in (*own, *given)
        }
        return with_policy

    return add_options


def _policy_option(name: str) -> Any:
    kind, metavar, help = POLICY_OPTIONS[name]
    flag = _OTHER_FLAGS.get(name, name).replace("_", "-")
    flags = f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}"
    flags = _ONLY_FLAGS.get(name, flags)
    option = typer.Option(flags, metavar=metavar, help=help, rich_help_panel="Policy")
    return Annotated[kind | None, option]


def _typed_policy(typed: Mapping[str, Json]) -> dict[str, Json]:
    """What was typed of a policy; a number is read as one where a word may stand as well."""
    values = {name: typed[name] for name in POLICY_OPTIONS if typed.get(name) is not None}
    for name in _NUMBERS_OR_WORDS:  # what is neither is refused by its rule
        value = values.get(name)
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value):
            values[name] = int(value)
    return values
