"""Options that several commands take, and the policy among them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

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
OnlyStage = Annotated[
    str | None, typer.Option("--stage", metavar="NAME", help="Only this stage.", show_default=False)
]
RunNumber = Annotated[
    int | None,
    typer.Argument(
        metavar="RUN", help="A run's number; the newest by default.", show_default=False
    ),
]
SchemaName = Annotated[
    str, typer.Option("--schema", "-s", metavar="NAME", help="A kept schema, or a schema's file.")
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
        help="Stop after N blocks (of a recipe: N tasks of its first stages); the same command"
        " without it goes on.",
        show_default=False,
    ),
]
New = Annotated[bool, typer.Option("--new", metavar="", help="Begin again, from nothing.")]
Detach = Annotated[
    bool, typer.Option("--detach", metavar="", help="Only record it; `quire work` carries it out.")
]

Command = Callable[..., None]

_BUILT_IN = Policy()
_KEYWORD, _KEYWORDS = Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD


def _policy_option(*names: str, metavar: str | None = None, help: str) -> Any:
    return typer.Option(
        *names, metavar=metavar, help=help, rich_help_panel="Policy", show_default=False
    )


PackSize = Annotated[
    str | None,
    _policy_option(
        "--pack-size",
        metavar="N|probed",
        help="Blocks per call, 1 to 25, or what a probe showed; else the schema decides.",
    ),
]
Packing = Annotated[
    bool | None,
    _policy_option("--packing/--no-packing", metavar="", help="Several blocks per call, or one."),
]
MaxTries = Annotated[
    int | None,
    _policy_option(
        "--max-tries",
        metavar="N",
        help=f"Wrong answers before a block fails ({_BUILT_IN.max_tries}).",
    ),
]
MaxCalls = Annotated[
    int | None,
    _policy_option(
        "--max-calls", metavar="N", help=f"Calls a block may travel in ({_BUILT_IN.max_calls})."
    ),
]
Concurrency = Annotated[
    int | None,
    _policy_option(
        "--concurrency", metavar="N", help=f"Calls in flight ({_BUILT_IN.concurrency})."
    ),
]
CallTimeout = Annotated[
    float | None,
    _policy_option(
        "--call-timeout",
        metavar="SECONDS",
        help=f"When a call counts as lost ({_BUILT_IN.call_timeout:g}).",
    ),
]
Temperature = Annotated[
    float | None,
    _policy_option("--temperature", metavar="T", help="0 to 2; else the provider decides."),
]
Effort = Annotated[
    str | None,
    _policy_option(
        "--effort", metavar="WORD", help="How hard a reasoning model thinks: low, high…"
    ),
]
Caching = Annotated[
    bool | None,
    _policy_option("--caching/--no-caching", metavar="", help="Let the provider keep the prefix."),
]
EstimatedOutput = Annotated[
    int | None,
    _policy_option(
        "--estimated-output-per-task",
        metavar="TOKENS",
        help=f"The least output to expect of a block ({_BUILT_IN.estimated_output_per_task}).",
    ),
]
LedgerBodies = Annotated[
    str | None,
    _policy_option(
        "--ledger-bodies", metavar="lean|full", help="Render bodies again, or store them."
    ),
]

Route = Annotated[
    str | None,
    _policy_option(
        "--route",
        metavar="ROUTE",
        help="direct; batch: within hours, for less; auto: as suits best; paced: steadily"
        f" ({_BUILT_IN.route}).",
    ),
]
Deadline = Annotated[
    str | None,
    _policy_option(
        "--deadline",
        metavar="TIME",
        help="2h, 30m… after the start; then all that is owed goes direct.",
    ),
]
MinBatchSize = Annotated[
    int | None,
    _policy_option(
        "--min-batch-size",
        metavar="N",
        help=f"Fewer calls than that go direct ({_BUILT_IN.min_batch_size}).",
    ),
]
BatchWait = Annotated[
    float | None,
    _policy_option(
        "--batch-wait",
        metavar="SECONDS",
        help=f"How long a batch waits for more calls ({_BUILT_IN.batch_wait:g}).",
    ),
]
CompletionMode = Annotated[
    str | None,
    _policy_option(
        "--completion-mode",
        metavar="MODE",
        help="exact: a failure holds the run; best_effort: the rest goes on; throughput: nobody"
        f" waits for a whole stage ({_BUILT_IN.completion_mode}).",
    ),
]
RepairAfter = Annotated[
    int | None,
    _policy_option(
        "--repair-after-failures",
        metavar="N",
        help="Wrong answers before a block is asked with the reasons; 0: never"
        f" ({_BUILT_IN.repair_after_failures}).",
    ),
]

POLICY_OPTIONS: Mapping[str, Any] = {  # by the name of what they set
    "pack_size": PackSize,
    "packing": Packing,
    "max_tries": MaxTries,
    "max_calls": MaxCalls,
    "repair_after_failures": RepairAfter,
    "completion_mode": CompletionMode,
    "concurrency": Concurrency,
    "call_timeout": CallTimeout,
    "temperature": Temperature,
    "effort": Effort,
    "caching": Caching,
    "route": Route,
    "deadline": Deadline,
    "min_batch_size": MinBatchSize,
    "batch_wait": BatchWait,
    "estimated_output_per_task": EstimatedOutput,
    "ledger": LedgerBodies,
}
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
            Parameter(name, _KEYWORD, default=None, annotation=POLICY_OPTIONS[name])
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


def _typed_policy(typed: Mapping[str, Json]) -> dict[str, Json]:
    """What was typed of a policy; a number is read as one where a word may stand as well."""
    values = {name: typed[name] for name in POLICY_OPTIONS if typed.get(name) is not None}
    for name in _NUMBERS_OR_WORDS:  # what is neither is refused by its rule
        value = values.get(name)
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value):
            values[name] = int(value)
    return values
