"""Commands about policy: what a workspace decides about runs that begin."""

import getpass
from typing import Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.printing import cell_text, moment, print_json, print_list, say
from quire.cli.session import engine_for, print_outcome
from quire.domain.data import Json, json_or_text
from quire.domain.errors import UsageError

app = typer.Typer(
    help="Policy: what this workspace decides about runs that begin.",
    epilog="Example: quire policy set pack_size=10",
    no_args_is_help=True,
)


@app.command(epilog="Example: quire policy show")
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what a run that begins now would get: effective = value (source)."""
    with engine_for(context) as engine:
        found = engine.workspace_policy.show()
    if as_json:
        print_json(found)
        return
    for name, entry in found.items():
        assert isinstance(entry, dict)
        value = "none" if entry["value"] is None else cell_text(entry["value"])
        say(f"{name} = {value} ({entry['source']})")


@app.command("set", epilog="Example: quire policy set pack_size=10 route=")
def set_values(
    context: typer.Context,
    changes: Annotated[
        list[str], argument("NAME=VALUE...", "Without a value it is left to quire.toml again.")
    ],
    as_json: AsJson = False,
) -> None:
    """Decide about runs that begin from now on, all of it or nothing."""
    values: dict[str, Json] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name:
            raise UsageError(f"give NAME=VALUE, not {change!r}")
        values[name] = json_or_text(value) if value else None
    with engine_for(context, make=True) as engine:
        found = engine.workspace_policy.set(values, getpass.getuser())
    print_outcome(context, as_json, found, f"{', '.join(changes)}: for runs that begin from now on")


@app.command(epilog="Example: quire policy history")
def history(
    context: typer.Context,
    limit: Annotated[int, option("N", "How many.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """Show who decided what, the newest first."""
    with engine_for(context) as engine:
        found = engine.workspace_policy.history(limit=limit)
    rows = (
        (moment(change.at), change.who, change.name, cell_text(change.value)) for change in found
    )
    nothing = "nothing was decided yet; `quire policy set NAME=VALUE` decides"
    print_list(as_json, found, nothing, ("at", "who", "setting", "value"), rows)
