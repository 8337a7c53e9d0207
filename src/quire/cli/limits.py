"""Commands about limits: what models allow, in profiles with versions, and what was learnt."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.printing import moment, note, print_json, print_table, say
from quire.cli.session import engine_for, print_outcome
from quire.domain.data import Json
from quire.domain.quantities import quantity
from quire.engine.json_views.money_views import limit_version_json

if TYPE_CHECKING:
    from quire.engine.limits import PastVersion, ProfileVersion

app = typer.Typer(
    help="Say what models allow a minute and in batches; all workers keep to it together.",
    epilog="Example: quire limits set openai/gpt-5.6-luna --requests 500 --input 200000",
    no_args_is_help=True,
)

Size = int | None
_COLUMNS = ("profile", "~model", ">version", "*limits", "set")
_WORDS = {
    "requests": "{:,} requests",
    "input": "{:,} tokens in",
    "output": "{:,} tokens out",
    "total": "{:,} tokens",
    "enqueued": "{:,} tokens in batches",
    "jobs": "{:,} batches at once",
}


def _size(what: str, *flags: str) -> object:
    return option("N", f"{what}; 0: no limit.", *flags, min=0)


@app.command("set", epilog="Example: quire limits set openai/gpt-5.6-luna --batch-jobs 4")
def set_limits(
    context: typer.Context,
    model: Annotated[str, argument("MODEL", "Whose limits.")],
    *,
    requests: Annotated[Size, _size("Calls a minute")] = None,
    input_tokens: Annotated[Size, _size("Tokens in a minute", "--input")] = None,
    output: Annotated[Size, _size("Tokens out a minute")] = None,
    total: Annotated[Size, _size("Tokens in and out a minute")] = None,
    batch_tokens: Annotated[Size, _size("Tokens waiting in batches")] = None,
    batch_jobs: Annotated[Size, _size("Batches waiting at once")] = None,
    profile: Annotated[str, option("NAME", "Which profile (default).")] = "default",
    as_json: AsJson = False,
) -> None:
    """Make a new version of a profile; what is not named stays. Running runs keep to it too."""
    sizes = {
        "requests": requests,
        "input": input_tokens,
        "output": output,
        "total": total,
        "enqueued": batch_tokens,
        "jobs": batch_jobs,
    }
    with engine_for(context, make=True) as engine:
        version, is_new = engine.limits.set(model, sizes, profile)
    what = "is kept to from now on" if is_new else "says so already"
    said = f"version {version.version} of {version.profile} for {version.model} {what}"
    print_outcome(context, as_json, {**limit_version_json(version), "new": is_new}, said)


@app.command(epilog="Example: quire limits show --json")
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the limits that are kept to, and what was learnt from refusals."""
    with engine_for(context) as engine:
        found, learnt = engine.limits.newest(), engine.limits.learnt()
    if as_json:
        pools: list[Json] = [{"model": pool.model, "requests": pool.requests} for pool in learnt]
        print_json({"profiles": [limit_version_json(item) for item in found], "learnt": pools})
        return
    if found:
        print_table(_COLUMNS, [_version_row(item) for item in found])
    else:
        note("no limits are set; `quire limits set MODEL --requests N` sets one")
    for pool in learnt:
        rate = quantity(pool.requests, "request")
        say(f"{pool.model} allows about {rate} a minute, by its refusals")


@app.command(epilog="Example: quire limits history")
def history(context: typer.Context, as_json: AsJson = False) -> None:
    """Show every version of every profile, when it was set, and which runs began with it."""
    with engine_for(context) as engine:
        found = engine.limits.history()
    if as_json:
        print_json([{**limit_version_json(item.version), "runs": [*item.runs]} for item in found])
    elif found:
        print_table((*_COLUMNS, "runs"), [_past_row(item) for item in found])
    else:
        note("no limits were ever set")


def _past_row(past: "PastVersion") -> tuple[object, ...]:
    return *_version_row(past.version), ", ".join(map(str, past.runs))


def _version_row(item: "ProfileVersion") -> tuple[object, ...]:
    sizes = {kind: getattr(item.limits, kind) for kind in _WORDS}
    said = ", ".join(_WORDS[kind].format(size) for kind, size in sizes.items() if size is not None)
    return item.profile, item.model, item.version, said or "none", moment(item.set_at)
